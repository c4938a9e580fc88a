"""Objects out of bytes: JSON with msgspec where it is there, and with the standard library otherwise; YAML.

An Entry is an object that was found, as far as everybody wants to know it; what is in it is read when it is asked for.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from kubedev.tools.why.sources import DumpError, is_json

try:
    from kubedev.tools.why import typed
except ImportError:  # without msgspec
    typed = None  # type: ignore[assignment]

__all__ = ["Entry", "entries", "typed"]

Values = Mapping[str, Any]
TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


class Entry(NamedTuple):
    """An object of a dump: `item` is it as msgspec reads it (None where it does not), `values` gives all of it."""

    version: str
    kind: str
    namespace: str
    name: str
    resource_version: str
    item: Any
    values: Callable[[], Values]


def entries(data: Any, source: str) -> Iterator[Entry]:
    """The objects of one file, those of lists one by one. Raises DumpError."""
    if not is_json(data):
        for document in yaml_documents(bytes(data), source):
            yield from plain(document, source)
    elif typed is not None:
        yield from quick(data, source)
    else:
        for document in json_documents(bytes(data), source):
            yield from plain(document, source)


# The quick way


def quick(data: Any, source: str) -> Iterator[Entry]:
    """JSON documents, one after another, by msgspec."""
    rest, passed = memoryview(data), 0
    while rest.nbytes:
        try:
            top, length = typed.top(rest), rest.nbytes
        except typed.Malformed as error:
            more = TRAILING.search(str(error))
            length = int(more[1]) - 1 if more else 0  # the one more is the character that it stumbled over
            if not length:
                raise broken(source, str(error), passed) from None
            top = typed.top(rest[:length])
        try:
            yield from opened(top, rest[:length], source)
        except typed.Malformed as error:
            raise broken(source, str(error), passed) from None
        rest, passed = rest[length:], passed + length
        if not bytes(rest[:64]).strip() and not bytes(rest).strip():
            return


def opened(top: Any, raw: Any, source: str) -> Iterator[Entry]:
    """The objects of a document: those of a list, or itself."""
    if top is None or top.items is None:
        yield from one(raw, source, ("", ""))
        return
    kind = top.kind.removesuffix("List")
    default = (top.apiVersion, kind) if kind else ("", "")
    for each in top.items:
        yield from one(each, source, default)


def one(raw: Any, source: str, default: tuple[str, str]) -> Iterator[Entry]:
    """One object; `default` are apiVersion and kind where it does not name them, as in a PodList."""
    found = typed.item(raw)
    if found is None:  # it is not as one expects a pod or a node to be: whoever needs it reads all of it
        yield from plain(typed.values(raw), source, default)
    elif found.kind.endswith("List") and (inner := typed.top(raw)) is not None and inner.items is not None:
        yield from opened(inner, raw, source)
    else:
        meta, named = found.metadata, (found.apiVersion or default[0], found.kind or default[1])
        values = partial(typed.values, raw, named)
        yield Entry(*named, meta.namespace, meta.name, meta.resourceVersion, found, values)


# The plain way


def json_documents(data: bytes, source: str) -> Iterator[Any]:
    """JSON documents, one after another, by the standard library."""
    decoder = json.JSONDecoder()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DumpError(f"{source}: is not UTF-8 (byte {error.start})") from None
    place = len(text) - len(text.lstrip())
    while place < len(text):
        try:
            document, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
            what = "truncated" if cut else error.msg
            raise broken(source, f"{what} (byte {error.pos})", 0) from None
        except RecursionError:
            raise broken(source, "nested too deeply", 0) from None
        yield document
        while place < len(text) and text[place].isspace():
            place += 1


def yaml_documents(data: bytes, source: str) -> Iterator[Any]:
    """YAML documents; a time without quotes stays a text, as in kubectl."""
    import yaml  # most dumps are JSON

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """PyYAML's C reader where there is one, without times."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        yield from (found for found in yaml.load_all(data, Loader) if found is not None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise DumpError(
            f"{source}: is neither JSON nor YAML: {getattr(error, 'problem', None) or error}{where}. Expected what "
            "`kubectl get nodes,pods -A -o json` prints; is it cut off?"
        ) from None
    except (RecursionError, ValueError) as error:
        raise DumpError(f"{source}: cannot be read as YAML: {error or 'nested too deeply'}") from None


def plain(document: Any, source: str, default: tuple[str, str] = ("", "")) -> Iterator[Entry]:
    """The objects of a document that was read already."""
    if isinstance(document, list):
        for each in document:
            yield from plain(each, source, default)
        return
    if not isinstance(document, dict):
        raise DumpError(
            f"{source}: expected objects with apiVersion, kind and metadata, got {json.dumps(document)[:60]}"
        )
    kind, version = document.get("kind") or default[1], document.get("apiVersion") or default[0]
    items = document.get("items")
    if isinstance(kind, str) and (kind.endswith("List") or kind == "") and isinstance(items, list):
        inner = (str(version), kind.removesuffix("List")) if kind.removesuffix("List") else ("", "")
        for each in items:
            yield from plain(each, source, inner)
        return
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    named = [str(metadata.get(key) or "") for key in ("namespace", "name", "resourceVersion")]
    values = {"apiVersion": version, **document, "kind": kind}
    yield Entry(str(version), str(kind), named[0], named[1], named[2], None, lambda: values)


def broken(source: str, problem: str, passed: int) -> DumpError:
    """What to say of JSON that is none."""
    if "truncated" in problem:
        return DumpError(
            f"{source}: ends in the middle of an object: was the command interrupted? Make it again"
        )
    after = f" after byte {passed}" if passed else ""
    return DumpError(
        f"{source}: is not JSON: {problem}{after}. Expected what `kubectl get ... -o json` prints"
    )
