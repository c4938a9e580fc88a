"""The tree of a CEL expression, and its parser. Operators are calls (`_==_`), macros are written out.

Go: `cel-go/parser/parser.go`, `cel-go/parser/macro.go`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubedev.api.cel.lexer import CompileError, Token, tokens
from kubedev.api.int64 import fits_int64

__all__ = [
    "Bind",
    "Call",
    "Comprehension",
    "Expression",
    "Ident",
    "ListOf",
    "Literal",
    "MapOf",
    "Select",
    "parse",
]

RECURSION_LIMIT = 250
RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"}
    | {"namespace", "return", "var", "void", "while"}
)
LEVELS: tuple[dict[str, str], ...] = (
    {"||": "_||_"},
    {"&&": "_&&_"},
    {"<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in"},
    {"+": "_+_", "-": "_-_"},
    {"*": "_*_", "/": "_/_", "%": "_%_"},
)
"""The operators between two operands, those that bind least first."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written."""

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an operand; with `test` only whether it is there (`has`)."""

    at: int
    operand: "Expression"
    field: str
    test: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments; a `member` is called on the first of them."""

    at: int
    function: str
    args: tuple["Expression", ...]
    member: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list as it is written."""

    at: int
    items: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map as it is written."""

    at: int
    entries: tuple[tuple["Expression", "Expression"], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A macro over a list, or over the keys of a map: exists, all, exists_one, filter, or map.

    `test` is asked of each; `transform` is what `map` makes of it.
    """

    at: int
    macro: str
    range: "Expression"
    variable: str
    test: "Expression | None"
    transform: "Expression | None" = None


@dataclass(frozen=True, slots=True)
class Bind:
    """`cel.bind`: a name for a value, within one expression."""

    at: int
    name: str
    value: "Expression"
    body: "Expression"


Expression = Literal | Ident | Select | Call | ListOf | MapOf | Comprehension | Bind


def parse(text: str) -> Expression:
    """The tree of an expression. Raises CompileError where it is none."""
    parser = Parser(text)
    found = parser.expression()
    if parser.next.kind != "end":
        raise parser.unexpected("an operator or the end")
    return found


class Parser:
    """Reads one expression, a word at a time."""

    def __init__(self, text: str) -> None:
        self.words = tokens(text)
        self.next: Token = next(self.words)
        self.depth = 0

    def take(self) -> Token:
        word = self.next
        if word.kind != "end":
            self.next = next(self.words)
        return word

    def skip(self, *kinds: str) -> bool:
        """Take the next word if it is one of these signs."""
        found = self.next.kind in kinds
        if found:
            self.take()
        return found

    def need(self, kind: str, what: str = "") -> Token:
        """Take the next word, which has to be of a kind."""
        if self.next.kind != kind:
            raise self.unexpected(what or f"'{kind}'")
        return self.take()

    def unexpected(self, wanted: str) -> CompileError:
        return CompileError(f"Syntax error: expected {wanted}, got '{self.next.value}'", self.next.at)

    def expression(self) -> Expression:
        self.depth += 1
        if self.depth > RECURSION_LIMIT:
            raise CompileError(f"expression recursion limit exceeded: {RECURSION_LIMIT}", self.next.at)
        found = self.binary(0)
        at = self.next.at
        if self.skip("?"):
            yes = self.binary(0)
            self.need(":")
            found = Call(at, "_?_:_", (found, yes, self.expression()))
        self.depth -= 1
        return found

    def binary(self, level: int) -> Expression:
        """Operands between operators of a level, from the left; `&&` and `||` take any number of them."""
        if level == len(LEVELS):
            return self.unary()
        found = self.binary(level + 1)
        while (function := LEVELS[level].get(self.operator())) is not None:
            at = self.take().at
            operand = self.binary(level + 1)
            goes_on = isinstance(found, Call) and found.function == function in ("_&&_", "_||_")
            before = found.args if isinstance(found, Call) and goes_on else (found,)
            found = Call(at, function, (*before, operand))
        return found

    def operator(self) -> str:
        """The next word as an operator: a sign, or `in`."""
        return "in" if self.next[:2] == ("name", "in") else self.next.kind

    def unary(self) -> Expression:
        sign, at, times = self.next.kind, self.next.at, 0
        if sign not in ("!", "-"):
            return self.member()
        while self.skip(sign):
            times += 1
        if (
            sign == "-"
            and times == 1
            and self.next.kind == "literal"
            and type(self.next.value) in (int, float)
        ):
            word = self.take()
            return self.members(Literal(at, -word.value))
        operand = self.member()
        return operand if times % 2 == 0 else Call(at, "!_" if sign == "!" else "-_", (operand,))

    def member(self) -> Expression:
        return self.members(self.primary())

    def members(self, found: Expression) -> Expression:
        """What follows an operand: fields, calls and indices."""
        while True:
            at = self.next.at
            if self.skip("."):
                name = self.need("name", "a field or a method")
                called = self.next.kind == "("
                found = self.call(found, name.value) if called else Select(at, found, name.value)
            elif self.skip("["):
                found = Call(at, "_[_]", (found, self.expression()))
                self.need("]")
            else:
                return found

    def call(self, target: Expression, name: str) -> Expression:
        """A call on a target, or the macro of that name."""
        at, args = self.next.at, self.arguments()
        if isinstance(target, Ident) and target.name == "cel" and name == "bind" and len(args) == 3:
            return Bind(at, variable(args[0], "bind"), args[1], args[2])
        if (name, len(args)) in COMPREHENSIONS:
            return COMPREHENSIONS[name, len(args)](at, name, target, args)
        return Call(at, name, (target, *args), member=True)

    def arguments(self) -> tuple[Expression, ...]:
        self.need("(")
        return self.listed(")")

    def listed(self, end: str) -> tuple[Expression, ...]:
        """Expressions up to the end of their list; in brackets a comma may stand before it."""
        found: list[Expression] = []
        while not self.skip(end):
            if found:
                self.need(",", f"',' or '{end}'")
                if end == "]" and self.skip(end):
                    break
            found.append(self.expression())
        return tuple(found)

    def primary(self) -> Expression:
        leading = self.skip(".")
        word = self.take()
        if word.kind == "name" and word.value != "in":
            return self.named(word)
        if not leading and word.kind == "literal":
            if type(word.value) is int and not fits_int64(word.value):
                raise CompileError("Syntax error: invalid int literal", word.at)
            return Literal(word.at, word.value)
        if not leading and word.kind == "(":
            found = self.expression()
            self.need(")")
            return found
        if not leading and word.kind == "[":
            return ListOf(word.at, self.listed("]"))
        if not leading and word.kind == "{":
            return MapOf(word.at, self.entries())
        wanted = "a name" if leading else "a value, a name, '(', '[', '{', '!' or '-'"
        raise CompileError(f"Syntax error: expected {wanted}, got '{word.value}'", word.at)

    def named(self, word: Token) -> Expression:
        """A variable, a call, or `has`."""
        if self.next.kind != "(":
            if word.value in RESERVED:
                raise CompileError(f"Syntax error: reserved identifier: {word.value}", word.at)
            return Ident(word.at, word.value)
        at, args = self.next.at, self.arguments()
        if word.value == "has" and len(args) == 1:
            tested = args[0]
            if not isinstance(tested, Select):
                problem = "invalid argument to has() macro: expected a field, such as has(device.driver)"
                raise CompileError(problem, at)
            return Select(at, tested.operand, tested.field, test=True)
        return Call(at, word.value, args)

    def entries(self) -> tuple[tuple[Expression, Expression], ...]:
        found: list[tuple[Expression, Expression]] = []
        while not self.skip("}"):
            if found:
                self.need(",", "',' or '}'")
                if self.skip("}"):
                    break
            key = self.expression()
            self.need(":")
            found.append((key, self.expression()))
        return tuple(found)


def variable(found: Expression, macro: str) -> str:
    """The name that a macro is given for each of its values."""
    if not isinstance(found, Ident):
        raise CompileError(f"argument of {macro}() must be a simple name", found.at)
    return found.name


Args = tuple[Expression, ...]


def testing(at: int, macro: str, target: Expression, args: Args) -> Expression:
    return Comprehension(at, macro, target, variable(args[0], macro), args[1])


def mapping(at: int, macro: str, target: Expression, args: Args) -> Expression:
    test = args[1] if len(args) == 3 else None
    return Comprehension(at, macro, target, variable(args[0], macro), test, args[-1])


COMPREHENSIONS: dict[tuple[str, int], Callable[[int, str, Expression, Args], Expression]] = {
    **{(name, 2): testing for name in ("exists", "all", "exists_one", "filter")},
    ("map", 2): mapping,
    ("map", 3): mapping,
}
"""The macros by name and number of arguments."""
