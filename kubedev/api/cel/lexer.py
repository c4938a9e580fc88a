"""The words of a CEL expression, each with its place in the text. Go: `cel-go/parser/gen/CEL.g4`, `unescape.go`."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kubedev.api.int64 import fits_int64

__all__ = ["CompileError", "Token", "UInt", "tokens"]


class UInt(int):
    """An unsigned number (`5u`), which CEL tells from a signed one."""


class CompileError(ValueError):
    """An expression that nobody can ask; `at` is where in the text, counted from 0 (None: as a whole)."""

    def __init__(self, problem: str, at: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at

    def text(self, expression: str) -> str:
        """What is wrong, with the line and the place below it, in the layout of CEL."""
        if self.at is None:
            return self.problem
        before = expression[: self.at]
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        shown = (expression.splitlines() or [""])[min(line, expression.count("\n"))]
        place = f"ERROR: <input>:{line + 1}:{column + 1}"
        return f"compilation failed: {place}: {self.problem}\n | {shown}\n | {'.' * column}^"


class Token(NamedTuple):
    """A word: `kind` is name, literal, end, or the sign itself; `value` is the literal's, or the name."""

    kind: str
    value: Any
    at: int


QUOTED = r"(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\\\"\n])*\"|'(?:\\.|[^\\'\n])*')"
RAW = r"(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"[^\"\n]*\"|'[^'\n]*')"
WORD = re.compile(
    rf"""(?P<space>\s+|//[^\n]*)
    |(?P<raw>(?:[rR][bB]?|[bB][rR]){RAW})|(?P<quoted>[bB]?{QUOTED})
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<number>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[<>=!]=|[-+*/%!<>.,:?()\[\]{{}}])""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.?))",
    re.DOTALL,
)
NAMED = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
MOST_DIGITS = 20
"""No number of 64 bits has more."""
TOO_LARGE = 1 << 65
CONSTANTS = {"true": True, "false": False, "null": None}


def tokens(text: str) -> Iterator[Token]:
    """The words of a text, and the end of it. Raises CompileError where something is no word."""
    at = 0
    while at < len(text):
        match = WORD.match(text, at)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: '{text[at]}'", at)
        kind = match.lastgroup or ""
        if kind != "space":
            yield word(kind, match[0], at)
        at = match.end()
    yield Token("end", "<EOF>", at)


def word(kind: str, text: str, at: int) -> Token:
    """One word by what it looks like."""
    if kind == "name":
        return Token("literal", CONSTANTS[text], at) if text in CONSTANTS else Token(kind, text, at)
    if kind == "sign":
        return Token(text, text, at)
    return Token("literal", LITERALS[kind](text, at), at)


def number(text: str, at: int) -> int:
    """A whole number; 2^63 is left to whoever puts a minus before it."""
    digits = text.rstrip("uU")
    base = 16 if digits.startswith("0x") else 10
    value = int(digits, base) if len(digits.lstrip("0x")) <= MOST_DIGITS else TOO_LARGE
    if digits != text:
        if value >= 1 << 64:
            raise CompileError("Syntax error: invalid uint literal", at)
        return UInt(value)
    if not fits_int64(-value):
        raise CompileError("Syntax error: invalid int literal", at)
    return value


def raw(text: str, at: int) -> str | bytes:
    """A text as it stands."""
    prefix = 2 if text[1] in "bBrR" else 1
    value = unquoted(text[prefix:])
    return value.encode() if "b" in text[:prefix].lower() else value


def quoted(text: str, at: int) -> str | bytes:
    """A text with what its escapes stand for."""
    of_bytes = text[0] in "bB"
    value = ESCAPE.sub(lambda match: unescaped(match, at), unquoted(text[of_bytes:]))
    return value.encode() if of_bytes else value


def unquoted(text: str) -> str:
    """The text between its quotes."""
    quotes = 3 if text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes]


def unescaped(match: re.Match[str], at: int) -> str:
    """The character that an escape stands for."""
    if match[1]:
        return NAMED.get(match[1], match[1])
    digits = match[2] or match[3] or match[4]
    code = int(digits, 16) if digits else int(match[5], 8) if match[5] else -1
    if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000:
        return chr(code)
    raise CompileError(f"Syntax error: unable to unescape string: {match[0]}", at)


LITERALS = {
    "number": number,
    "double": lambda text, at: float(text),
    "raw": raw,
    "quoted": quoted,
}
"""How the value of a literal is read."""
