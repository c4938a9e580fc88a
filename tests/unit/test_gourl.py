"""The address that a Go client makes of a path. Expected: what a dialer in Go was given, and what Go's errors said."""

import pytest

from kubedev.api.gourl import URLError, dial_address
from kubedev.api.messages import Call, Dial, RegisterRequest, RpcError
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register

DIR = "/var/lib/kubelet/device-plugins"


@pytest.mark.parametrize(
    ("name", "dialed"),
    [
        ("plain.sock", "plain.sock"),
        ("a b+c;d=e&f:g@h", "a b+c;d=e&f:g@h"),
        ("ü.sock", "ü.sock"),
        ("p%20q.sock", "p q.sock"),
        ("a%41b", "aAb"),
        ("a%2fb", "a/b"),
        ("x%3fy", "x?y"),
        ("q?x=1.sock", "q"),
        ("q?%zz", "q"),
        ("x#y%41", "x"),
        ("x#y\n", "x"),
        ("a#b?c\x02", "a"),
        ("a%ffb", "a\udcffb"),
        ("a\udcff", "a\udcff"),
        ("a%e2%82%ac", "a€"),
    ],
)
def test_p1_a_path_that_is_dialed(name: str, dialed: str) -> None:
    assert dial_address(f"{DIR}/{name}") == f"{DIR}/{dialed}"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("new\nline.sock", r'parse "URL/new\nline.sock": net/url: invalid control character in URL'),
        ("a\x7f", r'parse "URL/a\x7f": net/url: invalid control character in URL'),
        ("q?\x01#x", r'parse "URL/q?\x01": net/url: invalid control character in URL'),
        ("\udcff\t", r'parse "URL/\xff\t": net/url: invalid control character in URL'),
        ("a%zz.sock", 'parse "URL/a%zz.sock": invalid URL escape "%zz"'),
        ("100%", 'parse "URL/100%": invalid URL escape "%"'),
        ("a%4", 'parse "URL/a%4": invalid URL escape "%4"'),
        ("a%4é", r'parse "URL/a%4é": invalid URL escape "%4\xc3"'),
        ("é%.sock", 'parse "URL/é%.sock": invalid URL escape "%.s"'),
        ("a?b#c%", 'parse "URL/a?b#c%": invalid URL escape "%"'),
    ],
)
def test_p1_a_path_that_is_no_url(name: str, error: str) -> None:
    with pytest.raises(URLError) as raised:
        dial_address(f"{DIR}/{name}")
    assert str(raised.value) == error.replace("URL/", f"passthrough:///{DIR}/")


def test_p1_the_kubelet_dials_what_go_would_dial() -> None:
    talk = register(
        DeviceManagerState(), RegisterRequest(endpoint="p%20q.sock", resource_name="a.b/c"), DIR, 1
    )
    state, call = next(talk)
    assert call == Call("a.b/c", f"{DIR}/p q.sock", "Dial", Dial(), 10.0)
    with pytest.raises(StopIteration) as done:
        talk.send((state, RpcError("DeadlineExceeded", "context deadline exceeded")))
    assert done.value.value[1] == "failed to dial device plugin: context deadline exceeded"


def test_p1_a_control_character_is_refused_at_once_and_leaves_nothing() -> None:
    request = RegisterRequest(endpoint="new\nline.sock", resource_name="a.b/c")
    with pytest.raises(StopIteration) as done:
        next(register(DeviceManagerState(), request, DIR, 1))
    state, error = done.value.value
    url = rf'"passthrough:///{DIR}/new\nline.sock"'
    assert error == f"failed to dial device plugin: parse {url}: net/url: invalid control character in URL"
    assert state == DeviceManagerState()
