"""How Go prints a string into an error text, and how the kubelet's files are summed up."""

import unicodedata

__all__ = ["fnv_32a", "quote"]

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """The text in double quotes, unprintable characters escaped (`strconv.Quote`, the verb %q)."""
    return f'"{"".join(map(_escape, text))}"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == " " or unicodedata.category(char)[0] not in "CZ":
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python keeps it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def fnv_32a(text: str) -> int:
    """The FNV-1a hash of a text, 32 bits: the checksum of the kubelet's files (`hash/fnv: New32a`)."""
    value = 2166136261
    for octet in text.encode(errors="surrogateescape"):
        value = (value ^ octet) * 16777619 & 0xFFFFFFFF
    return value
