"""The duties of a plugin that starts: it serves, registers, and says what it wants to be asked."""

import posixpath

from kubedev.api.gourl import URLError, dial_address
from kubedev.api.messages import VERSION, DevicePluginOptions
from kubedev.api.names import is_extended_resource_name
from kubedev.deviceplugin.duties.duty import Duty, Finding, broken, fine, not_tried, warning
from kubedev.deviceplugin.duties.seen import Registered, Seen

__all__ = ["DUTIES", "NOT_LET_IN"]

NOT_LET_IN = "the kubelet did not let it in"
NO_CALL = "it did not call Register"
DIAL = "failed to dial device plugin"
OPTIONS = "failed to get device plugin options"


def _registers(seen: Seen) -> Finding:
    if mine := seen.mine():
        return fine(f"it called Register after {mine[0].seconds:.1f} s")
    if seen.ended:
        return broken(f"{seen.ended[0]}, before it called Register for {seen.resource}")
    if others := sorted({r.request.resource_name for r in seen.registered}):
        return broken(f"it registered {', '.join(map(repr, others))}, and not {seen.resource}")
    return broken(f"it did not call Register within {seen.limits.register:g} s")


def _version(seen: Seen) -> Finding:
    wrong = [r for r in seen.registered if r.request.version != VERSION]
    if wrong:
        return broken(f"version {wrong[0].request.version!r}; the kubelet answers: {wrong[0].error}")
    return fine(VERSION) if seen.registered else not_tried(NO_CALL)


def _name(seen: Seen) -> Finding:
    names = dict.fromkeys(r.request.resource_name for r in seen.registered)
    wrong = [name for name in names if not is_extended_resource_name(name)]
    if wrong:
        return broken(f"{wrong[0]!r} is not the name of an extended resource")
    return fine(", ".join(names)) if names else not_tried(NO_CALL)


def _acceptable(seen: Seen) -> Registered | None:
    """The first call of Register for the resource with a version and a name that the kubelet takes."""
    right = (r for r in seen.mine() if r.request.version == VERSION)
    return next((r for r in right if is_extended_resource_name(r.request.resource_name)), None)


def _endpoint(seen: Seen) -> Finding:
    register = _acceptable(seen)
    if register is None:
        return not_tried("the kubelet did not come to it" if seen.mine() else NO_CALL)
    endpoint = register.request.endpoint
    path = posixpath.normpath(posixpath.join(seen.directory, endpoint.lstrip("/")))
    failed = (register.error or "").startswith(DIAL)
    try:
        dialed = dial_address(path)
    except URLError as error:
        return broken(f"{endpoint!r} is read as part of a URL: {error}")
    if failed and dialed != path:
        return broken(f"{endpoint!r} is read as part of a URL: the kubelet dials {dialed!r}")
    if failed and (not endpoint or "/" in endpoint):
        return broken(f"{endpoint!r} is joined to the socket directory: the kubelet dials {path!r}")
    if posixpath.dirname(path) != posixpath.normpath(seen.directory) and ".." in endpoint.split("/"):
        return warning(f"{endpoint!r} leads out of the socket directory")
    return fine(endpoint)


def _serves(seen: Seen) -> Finding:
    register = _acceptable(seen)
    if register is None:
        return not_tried("the kubelet did not come to it" if seen.mine() else NO_CALL)
    if _endpoint(seen).outcome == "broken":
        return not_tried("its endpoint cannot be dialed")
    if (register.error or "").startswith(DIAL):
        text = f"nobody answered on {register.request.endpoint!r}; the kubelet says: {register.error}"
        return warning(f"{text}; a later call was let in") if seen.let_in() else broken(text)
    if register.serving is False:
        return warning("its socket took no connection when Register came, but did a little later")
    return fine("its socket took a connection when Register came")


def _options(seen: Seen) -> Finding:
    register = _acceptable(seen)
    if register is None or (register.error or "").startswith(DIAL):
        return not_tried("the kubelet did not come to it" if seen.mine() else NO_CALL)
    if register.error is not None:
        return broken(f"the kubelet answers Register with: {register.error}")
    if register.options is None:
        return not_tried("it was not asked")
    told = register.request.options
    if told is not None and told != register.options:
        return warning(
            f"Register says: {_words(told)}; GetDevicePluginOptions, which counts: {_words(register.options)}"
        )
    return fine(_words(register.options))


def _words(options: DevicePluginOptions) -> str:
    wanted = [
        name
        for name, value in (
            ("GetPreferredAllocation", options.get_preferred_allocation_available),
            ("PreStartContainer", options.pre_start_required),
        )
        if value
    ]
    return f"asks for {' and '.join(wanted)}" if wanted else "asks for nothing more"


_SERVER = "pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go"

DUTIES = (
    Duty(
        "registers",
        "It calls Register on kubelet.sock for its resource soon after its start, and goes on running.",
        "kubernetes.io, Device Plugins: Device plugin registration",
        "Call v1beta1.Registration/Register on kubelet.sock in the socket directory. {dir} and {socket} in the command "
        "tell the plugin where they are; one that knows a fixed path only needs it mounted there.",
        "start",
        _registers,
    ),
    Duty(
        "version",
        f"Register says version {VERSION}, letter by letter.",
        f"{_SERVER}: Register, isVersionCompatibleWithPlugin",
        f"Send {VERSION!r} as version.",
        "start",
        _version,
    ),
    Duty(
        "resource-name",
        "The resource is an extended one: DOMAIN/NAME, not of kubernetes.io, the part after the slash at most 63 long.",
        "pkg/apis/core/v1/helper/helpers.go: IsExtendedResourceName",
        "Choose a name such as example.com/gpu.",
        "start",
        _name,
    ),
    Duty(
        "endpoint",
        "The endpoint is the plain file name of its socket in the socket directory.",
        f"{_SERVER}: Register; google.golang.org/grpc/clientconn.go: initParsedTargetAndResolverBuilder",
        "Send the file name alone, without %, ?, # and control characters: the kubelet reads it as part of a URL.",
        "start",
        _endpoint,
    ),
    Duty(
        "serves-first",
        "It serves on its socket before it calls Register: the kubelet calls back before it answers.",
        "pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go: Connect, dial",
        "Listen, start the gRPC server, and only then call Register.",
        "start",
        _serves,
    ),
    Duty(
        "options",
        "It answers GetDevicePluginOptions, and says there what it wants to be asked.",
        "pkg/kubelet/cm/devicemanager/plugin/v1beta1/handler.go: PluginConnected; manager.go: PluginConnected",
        "Answer GetDevicePluginOptions, at least with an empty message; the options in Register are not read.",
        "start",
        _options,
    ),
)
