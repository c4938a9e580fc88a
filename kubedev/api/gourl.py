"""The address that a Go client dials for a path: gRPC reads it as a URL first.

Source: `google.golang.org/grpc/clientconn.go: initParsedTargetAndResolverBuilder`, `resolver.go: Endpoint`; Go's
`net/url/url.go: Parse`.
"""

import re

from kubedev.api.gotext import quote

__all__ = ["URLError", "dial_address"]

_CONTROL = re.compile("[\0-\x1f\x7f]")
_ESCAPE = re.compile(b"%(.{0,2})", re.DOTALL)
_HEX = re.compile(b"[0-9a-fA-F]{2}")


class URLError(ValueError):
    """A path that cannot be read as a URL; the text is Go's."""


def dial_address(path: str) -> str:
    """The path that is dialed where `path`, an absolute one, is given to gRPC in Go.

    `%41` is read as `A`, and what follows `?` or `#` is lost. Raises URLError for control characters and for a
    percent sign without two hexadecimal digits after it.
    """
    target = f"passthrough:///{path}"
    location, _, fragment = target.partition("#")
    if _CONTROL.search(location):
        raise URLError(f"parse {quote(location)}: net/url: invalid control character in URL")
    address = _unescaped(location.partition("?")[0], location)
    _unescaped(fragment, target)
    return address.removeprefix("passthrough:///")


def _unescaped(text: str, url: str) -> str:
    """The text with its escapes resolved, byte by byte: they may well spell something other than UTF-8."""

    def resolve(escape: re.Match[bytes]) -> bytes:
        if not _HEX.fullmatch(escape[1]):
            wrong = escape[0].decode(errors="surrogateescape")
            raise URLError(f"parse {quote(url)}: invalid URL escape {quote(wrong)}")
        return bytes((int(escape[1], 16),))

    octets = _ESCAPE.sub(resolve, text.encode(errors="surrogateescape"))
    return octets.decode(errors="surrogateescape")
