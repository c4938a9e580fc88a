"""The text of a configuration file as values: what kube-scheduler's strict decoder reads, or refuses.

Only the first document counts, as in Go. Texts that come from the YAML or JSON library itself begin as Go's do
(`yaml: `, `json: `).

Go: `cmd/kube-scheduler/app/options/configfile.go: loadConfig`,
`k8s.io/apimachinery/pkg/runtime/serializer/json`, `k8s.io/kube-scheduler/config/v1/types.go: DecodeNestedObjects`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kubedev.api.gonumbers import format_duration, parse_duration
from kubedev.api.gotext import quote
from kubedev.api.yaml_reader import YAMLError, read
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.schema import ARGS_KINDS, FIELDS, GROUP, KIND, VERSION, zero_of

__all__ = ["decode", "decode_document"]

SCHEME = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:29"
RANGES = {"int32": 2**31, "int64": 2**63}
STRICT = "strict decoding error: "

Values = dict[str, Any]


def decode(text: str) -> Values:
    """The configuration in the file, with the arguments of known plugins decoded. Raises ConfigurationError."""
    duplicates, document = parse_yaml(text)
    return decode_document(document, text, duplicates)


def decode_document(document: Any, text: str = "", duplicates: Sequence[str] = ()) -> Values:
    """The same of a document that was read already; `text` is where it comes from, for errors."""
    values = document if isinstance(document, Mapping) else {}
    if document is not None and values is not document:
        got = type_error(document, "struct", "struct", "")
        raise refused(f"couldn't get version/kind; json parse error: {got}")
    version, kind = header(values, "", "", text)
    if version == VERSION and kind in ARGS_KINDS:
        raise refused(f"couldn't decode as {KIND}, got {version}, Kind={kind}: ")
    if (version, kind) != (VERSION, KIND):
        raise refused(not_registered(version, kind))
    unknown: list[str] = list(duplicates)
    decoded: Values = read_struct(values, KIND, "", unknown)
    unknown += decode_arguments(decoded)
    if unknown:
        raise refused(STRICT + ", ".join(unknown))
    return decoded


def refused(text: str) -> ConfigurationError:
    """The error of this stage."""
    return ConfigurationError("decode", (text,))


def parse_yaml(text: str) -> tuple[list[str], Any]:
    """The first document, and what stands twice in it. Raises ConfigurationError for what is no YAML."""
    twice: list[YAMLError] = []
    try:
        document = read(text, twice=twice)
    except YAMLError as error:
        raise refused(f"yaml: {error}") from None
    lines = "".join(f"\n  {error}" for error in twice)
    return [f"yaml: unmarshal errors:{lines}"] if twice else [], document


def header(values: Mapping[str, Any], version: str, kind: str, text: str) -> tuple[str, str]:
    """apiVersion and kind, those given where none stand."""
    for name in ("apiVersion", "kind"):
        if values.get(name) is not None and not isinstance(values[name], str):
            got = type_error(values[name], "string", "struct", name)
            raise refused(f"couldn't get version/kind; json parse error: {got}")
    version, kind = values.get("apiVersion") or version, values.get("kind") or kind
    if version.count("/") > 1:
        raise refused(f"unexpected GroupVersion string: {version}")
    if not kind:
        raise refused(f"Object 'Kind' is missing in '{text}'")
    if not version:
        raise refused(f"Object 'apiVersion' is missing in '{text}'")
    return version, kind


def not_registered(version: str, kind: str) -> str:
    """The text for a kind or version that nobody knows. Go: `runtime.NewNotRegisteredErrForKind`."""
    return f"no kind {quote(kind)} is registered for version {quote(version)} in scheme {quote(SCHEME)}"


def decode_arguments(decoded: Values) -> list[str]:
    """Decode the arguments of known plugins in place; the strict errors come back, the others are raised."""
    strict = []
    for i, profile in enumerate(decoded.get("profiles", ())):
        for j, config in enumerate(profile.get("pluginConfig", ())):
            where = f"decoding .profiles[{i}].pluginConfig[{j}]: "
            name = config.get("name", "")
            if f"{name}Args" not in ARGS_KINDS:
                continue
            try:
                unknown, config["args"] = decode_one(name, config.get("args"))
            except ConfigurationError as error:
                raise refused(where + error.texts[0]) from None
            if unknown:
                text = ", ".join(unknown)
                strict.append(f"{where}{STRICT}decoding args for plugin {name}: {STRICT}{text}")
    return strict


def decode_one(name: str, args: Any) -> tuple[list[str], Values]:
    """One plugin's arguments. Go: `PluginConfig.decodeNestedObjects`."""
    wanted, doing = f"{name}Args", f"decoding args for plugin {name}: "
    if args is not None and not isinstance(args, Mapping):
        got = type_error(args, "struct", "struct", "")
        raise refused(f"{doing}couldn't get version/kind; json parse error: {got}")
    values = args or {}
    try:
        version, kind = header(values, VERSION, wanted, "")
        if version != VERSION or kind not in (*ARGS_KINDS, KIND):
            raise refused(not_registered(version, kind))
        unknown: list[str] = []
        decoded = read_struct(values, kind, "", unknown)
    except ConfigurationError as error:
        raise refused(doing + error.texts[0]) from None
    if kind != wanted:
        raise refused(f"args for plugin {name} were not of type {wanted}.{GROUP}, got {kind}.{GROUP}")
    return unknown, {**decoded, "apiVersion": VERSION, "kind": wanted}


# Values by their Go types


def read_struct(values: Mapping[str, Any], type_name: str, path: str, unknown: list[str]) -> Values:
    """The known fields of an object; the others are noted as unknown. Absent and null are the same."""
    fields, found = FIELDS[type_name], {}
    for key in sorted(values, key=str):
        at = f"{path}.{key}" if path else str(key)
        if key not in fields:
            unknown.append(f"unknown field {quote(at)}")
        elif values[key] is not None:
            found[key] = read_value(values[key], fields[key].type, (type_name, at), unknown)
    empty = {key: zero_of(field.type) for key, field in fields.items() if field.always}
    return {**empty, **found}


def read_value(value: Any, type_name: str, where: tuple[str, str], unknown: list[str]) -> Any:
    """A value of a Go type, or the JSON library's error. `where` is the struct and the path."""
    struct, path = where
    if type_name == "any":
        return value
    if value is None:
        return read_struct({}, type_name, path, unknown) if type_name in FIELDS else zero_of(type_name)
    if type_name.startswith("[]"):
        if not isinstance(value, list):
            raise refused(type_error(value, type_name, struct, path))
        items = enumerate(value)
        return [read_value(item, type_name[2:], (struct, f"{path}[{i}]"), unknown) for i, item in items]
    if type_name in FIELDS:
        if not isinstance(value, Mapping):
            raise refused(type_error(value, type_name, struct, path))
        return read_struct(value, type_name, path, unknown)
    if type_name in RANGES and isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        value = int(value)  # JSON has one kind of number, and Go writes such a one without a fraction
    if not is_of_type(value, type_name):
        raise refused(type_error(value, type_name, struct, path))
    if type_name == "Duration":
        try:
            return format_duration(parse_duration(value))
        except ValueError as error:
            raise refused(str(error)) from None
    return value


def is_of_type(value: Any, type_name: str) -> bool:
    """Whether a scalar is one of this Go type."""
    if type_name in ("string", "Duration"):
        return isinstance(value, str)
    if type_name == "bool":
        return isinstance(value, bool)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if type_name == "float32":
        return number
    limit = RANGES[type_name]
    return number and isinstance(value, int) and -limit <= value < limit


def type_error(value: Any, type_name: str, struct: str, path: str) -> str:
    """What Go's JSON library says of a value of the wrong type."""
    kinds = {bool: "bool", str: "string", int: "number", float: "number", list: "array"}
    kind = kinds.get(type(value), "object")
    shown = f"{kind} {value}" if kind == "number" else kind
    return f"json: cannot unmarshal {shown} into Go struct field {struct}.{path} of type {type_name}"
