"""How Go prints a string into an error text."""

import unicodedata

__all__ = ["quote"]

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
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
