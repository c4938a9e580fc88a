"""YAML and JSON as kubectl reads them: documents of texts, numbers, true, false, null, lists and objects.

A file is cut at lines that begin with `---`; one that begins with `{` is JSON, or else YAML in flow style. Keys are
texts, none may stand twice. Merge keys count in the order in which they stand, tags of other people count for
nothing. Go source: `sigs.k8s.io/yaml/goyaml.v2/decode.go`, `k8s.io/apimachinery/pkg/util/yaml/decoder.go`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from kubedev.api.gotext import quote
from kubedev.api.yaml_scalars import ScalarError, key_text, plain_scalar, resolved, tagged_scalar

__all__ = ["Document", "YAMLError", "documents", "line_of", "read"]

Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml, which kubectl's reader is a copy of, where it is there: twenty times as fast, and with the same texts."""

MAX_DEPTH = 500
SEPARATOR = re.compile(r"^---(.*)$", re.MULTILINE)
CONTENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
SURROGATES = re.compile("[\ud800-\udfff]")
WANT_MAP = "map merge requires map or sequence of maps as the value"
MERGE = object()
NO_KEY = object()
OPEN = object()
"""What an anchor stands for while its list or object is still being read."""


class YAMLError(ValueError):
    """A text that is no YAML (`syntax`), or none that JSON can have; `line` counts from 1, 0 where it is not known."""

    def __init__(self, line: int, problem: str, syntax: bool = False) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.line = line
        self.problem = problem
        self.syntax = syntax


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its number from 1, the line of the file before its text, its text and what it holds."""

    number: int
    lines_before: int
    text: str
    value: Any


def documents(text: str) -> Iterator[Document]:
    """The documents of a file, empty ones left out; YAMLError where kubectl could not read one."""
    text = SURROGATES.sub("\ufffd", text)
    if text.lstrip().startswith("{") and (found := from_json(text)) is not None:
        yield from (Document(number, 0, text, value) for number, value in enumerate(found, 1))
        return
    number = 0
    for lines_before, chunk in chunks(text):
        if number or CONTENT.search(chunk) or lines_before:
            number += 1
            value = read(chunk, lines_before)
            if value is not None:
                yield Document(number, lines_before, chunk, value)


def chunks(text: str) -> Iterator[tuple[int, str]]:
    """The text between the lines `---`, each with the number of lines before it."""
    start = lines = 0
    for match in SEPARATOR.finditer(text):
        rest = match[1].strip()
        lines_here = lines + text.count("\n", start, match.start())
        if rest and not rest.startswith("#"):
            problem = f"invalid Yaml document separator: {rest[:60]}: write --- on a line of its own"
            raise YAMLError(lines_here + 1, problem)
        yield lines, text[start : match.start()]
        start, lines = min(match.end() + 1, len(text)), lines_here + 1
    yield lines, text[start:]


def from_json(text: str) -> list[Any] | None:
    """The objects of a JSON text, one after another; None where it is no JSON."""

    def number(literal: str) -> Any:
        return plain_scalar(literal)

    def constant(name: str) -> NoReturn:
        raise json.JSONDecodeError(name, text, 0)

    decoder = json.JSONDecoder(
        object_pairs_hook=json_object, parse_int=number, parse_float=number, parse_constant=constant
    )
    found, at = [], 0
    try:
        while rest := text[at:].lstrip():
            at = len(text) - len(rest)
            value, at = decoder.raw_decode(text, at)
            found.append(value)
    except json.JSONDecodeError:
        return None
    except RecursionError:
        raise YAMLError(0, too_deep()) from None
    return found


def json_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, or YAMLError where a key stands twice."""
    result = dict(members)
    if len(result) < len(members):
        for key, _ in members:
            if key not in result:
                raise YAMLError(0, f"key {quote(key)} already set in map")
            del result[key]
    return result


def too_deep() -> str:
    """What is said where lists and objects stand in one another without end."""
    return f"the YAML is nested too deeply, expected at most {MAX_DEPTH} levels: is this a manifest?"


@dataclass(slots=True)
class Frame:
    """A list or object that is being read; `merges` where the key was `<<`."""

    value: Any
    anchor: str | None
    nodes_before: int
    key: Any = NO_KEY
    merges: bool = False
    merge_items: bool = False
    given: set[str] = field(default_factory=set)


class Reader:
    """Puts the events of a document together."""

    def __init__(self, lines_before: int, twice: list[YAMLError] | None) -> None:
        self.lines_before = lines_before
        self.twice = twice
        self.root: Any = None
        self.stack: list[Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = self.aliased = 0

    def refuse(self, event: Any, problem: str) -> NoReturn:
        raise YAMLError(self.lines_before + event.start_mark.line + 1, problem)

    def on(self, event: Any) -> None:
        """Take one event."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self.nodes += 1
            self.on_scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self.nodes += 1
            if len(self.stack) >= MAX_DEPTH:
                self.refuse(event, too_deep())
            if event.anchor:
                self.anchors[event.anchor] = (OPEN, 0)
            above = self.stack[-1] if self.stack else None
            items = above is not None and above.merges and kind is yaml.SequenceStartEvent
            value: Any = {} if kind is yaml.MappingStartEvent else []
            self.stack.append(Frame(value, event.anchor, self.nodes, merge_items=items))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            frame = self.stack.pop()
            if frame.anchor:
                self.anchors[frame.anchor] = (frame.value, self.nodes - frame.nodes_before + 1)
            self.put(event, frame.value, "node")
        elif kind is yaml.AliasEvent:
            self.on_alias(event)

    def on_scalar(self, event: Any) -> None:
        plain = event.tag is None and event.implicit[0]
        frame = self.stack[-1] if self.stack else None
        is_key = frame is not None and frame.key is NO_KEY and isinstance(frame.value, dict)
        if frame and is_key and event.value == "<<" and (plain or event.tag == "tag:yaml.org,2002:merge"):
            frame.key, frame.merges = MERGE, True
            return
        try:
            if plain:
                value: Any = (resolved if is_key else plain_scalar)(event.value)
            else:
                value = event.value if event.tag is None else tagged_scalar(event.tag, event.value)
        except ScalarError as error:
            self.refuse(event, str(error))
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self.put(event, value, "scalar")

    def on_alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            self.refuse(event, f"unknown anchor '{event.anchor}' referenced")
        value, size = self.anchors[event.anchor]
        if value is OPEN:
            self.refuse(event, f"anchor '{event.anchor}' value contains itself")
        self.nodes += size
        self.aliased += size
        if self.aliased > 100 and self.nodes > 1000 and self.aliased / self.nodes > allowed_ratio(self.nodes):
            self.refuse(event, "document contains excessive aliasing")
        self.put(event, value, "alias")

    def put(self, event: Any, value: Any, kind: str) -> None:
        """A value that is complete goes where it belongs."""
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            if frame.merge_items and not isinstance(value, dict):
                self.refuse(event, WANT_MAP)
            frame.value.append(value)
        elif frame.key is NO_KEY:
            frame.key = self.key(event, value)
            if frame.key in frame.given:
                self.on_twice(event, f"key {quote(frame.key)} already set in map")
            frame.given.add(frame.key)
        elif frame.merges:
            self.merge(event, frame, value, kind)
            frame.key, frame.merges = NO_KEY, False
        else:
            frame.value[frame.key] = value
            frame.key = NO_KEY

    def on_twice(self, event: Any, problem: str) -> None:
        if self.twice is None:
            self.refuse(event, problem)
        self.twice.append(YAMLError(self.lines_before + event.start_mark.line + 1, problem))

    def key(self, event: Any, value: Any) -> str:
        if isinstance(value, dict | list):
            what = "an object" if isinstance(value, dict) else "a list"
            self.refuse(event, f"invalid map key: expected a text as key, got {what}")
        try:
            return key_text(value)
        except ScalarError as error:
            self.refuse(event, str(error))

    def merge(self, event: Any, frame: Frame, value: Any, kind: str) -> None:
        if isinstance(value, dict):
            frame.value.update(value)
        elif isinstance(value, list) and kind == "node":
            for each in reversed(value):
                frame.value.update(each)
        else:
            self.refuse(event, WANT_MAP)


def allowed_ratio(nodes: int) -> float:
    """How much of a document may come out of aliases: 99 %, of millions of nodes 10 % (Go: `allowedAliasRatio`)."""
    return min(0.99, max(0.10, 0.99 - 0.89 * (nodes - 400_000) / 3_600_000))


def read(chunk: str, lines_before: int = 0, twice: list[YAMLError] | None = None) -> Any:
    """What the first document of a text holds; keys that stand twice go into `twice` where that is given."""
    reader = Reader(lines_before, twice)
    try:
        for event in yaml.parse(chunk, Parser):
            if type(event) is yaml.DocumentEndEvent:
                break
            reader.on(event)
    except yaml.MarkedYAMLError as error:
        problem = error.problem or str(error).splitlines()[0]
        if problem == "exceeded maximum nesting depth":
            problem = too_deep()
        raise YAMLError(lines_before + line_of_error(error), problem, syntax=True) from None
    except yaml.reader.ReaderError as error:
        line = chunk[: error.position].count("\n") + 1
        reason = str(error.reason).replace("special characters", "control characters")  # as libyaml says it
        raise YAMLError(lines_before + line, reason) from None
    return reader.root


def line_of_error(error: Any) -> int:
    """The line as kubectl tells it: of what is missing, the line before (Go: `parser.fail`)."""
    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        return int(line) + isinstance(error, yaml.scanner.ScannerError)
    return (error.context_mark.line if error.context_mark else 0) or 1


def line_of(document: Document, path: str) -> int:
    """The line of the file where a field stands, or the object around it; 0 where that is not known."""
    try:
        node = yaml.compose(document.text, Parser)
    except (yaml.YAMLError, RecursionError):
        return 0
    line = 0
    while node is not None:
        line = node.start_mark.line + 1 + document.lines_before
        found = step_into(node, path)
        if found is None:
            break
        node, path, line = found[0], found[1], found[2] + 1 + document.lines_before
    return line


def step_into(node: Any, path: str) -> tuple[Any, str, int] | None:
    """The next node on a path such as `spec.containers[0].resources.limits[example.com/gpu]`, and its line."""
    if isinstance(node, yaml.SequenceNode):
        match = re.match(r"\[(\d+)\]\.?", path)
        if match and int(match[1]) < len(node.value):
            item = node.value[int(match[1])]
            return item, path[match.end() :], item.start_mark.line
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = re.escape(str(key.value))
            if match := re.match(rf"(?:{name}|\[{name}\])(?:\.|(?=\[)|$)", path):
                return value, path[match.end() :], key.start_mark.line
    return None
