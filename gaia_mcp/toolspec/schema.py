"""JSON Schema, as far as tools need it: is it one, does a value fit, how is it said in a line.

The validating itself is jsonschema-rs, which is imported only when there is something to validate. Nothing is ever
fetched from a network.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# A schema refers to itself at most this deep before we stop following.
MAX_REFERENCES = 32
# And looks at this many parts of a union, which may contain itself.
MAX_PARTS = 100
# How the validator says that a value has the wrong type.
_OF_TYPE = " is not of type "


class ValidationError(NamedTuple):
    """One thing that does not fit: where (`a.b[0]`, empty for the whole), what, and by which keyword."""

    where: str
    what: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SchemaError(ValueError):
    """The schema itself is not usable: not valid, of an unknown dialect, or referring to what it does not hold."""


def load_validator() -> None:
    """Load what does the validating, for who knows that it will be needed and has nothing else to do just now."""
    import jsonschema_rs  # noqa: F401


def check_schema(schema: Any) -> None:
    """Raises `SchemaError` saying why `schema` cannot be used."""
    _validator(_canonical(schema))


def validation_errors(schema: Any, value: Any) -> list[ValidationError]:
    """Everything in which `value` does not fit `schema`, missing and unknown members first.

    Raises `SchemaError` when the schema cannot be used.
    """
    return Checker(schema).validation_errors(value)


class Checker:
    """A schema that many values are checked against. It is looked at when the first of them comes."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._ready: Any = None

    def validation_errors(self, value: Any) -> list[ValidationError]:
        """As the function of that name."""
        if self._ready is None:
            if _is_trivial(self._schema, value):
                return []
            self._ready = _validator(_canonical(self._schema))
        try:
            errors = list(self._ready.iter_errors(value))
        except ValueError as error:
            # Nested too deeply, or no JSON at all.
            return [ValidationError("", f"cannot be checked: {error}", "json")]
        found = [problem for error in errors for problem in _validation_errors_of(error)]
        return sorted(found, key=lambda problem: problem.keyword not in ("required", "additionalProperties"))


def properties_of(schema: Any) -> dict[str, Any]:
    """The properties of an object schema, in its order, with those of its `allOf` and local references."""
    found: dict[str, Any] = {}
    for part in parts_of(schema, schema, ("allOf",)):
        if isinstance(own := part.get("properties"), dict):
            found.update(own)
    return found


def required_of(schema: Any) -> list[str]:
    """The names of the required properties, with those of its `allOf` and local references."""
    found: dict[str, None] = {}
    for part in parts_of(schema, schema, ("allOf",)):
        if isinstance(required := part.get("required"), list):
            found.update((name, None) for name in required if isinstance(name, str))
    return list(found)


def parts_of(schema: Any, root: Any, unions: tuple[str, ...]) -> list[dict[str, Any]]:
    """`schema` and what it consists of by the keywords `unions`, in the order in which it is written, all resolved."""
    found: list[dict[str, Any]] = []
    waiting = [schema]
    while waiting and len(found) < MAX_PARTS:
        part = resolved(waiting.pop(0), root)
        found.append(part)
        inner = [inner for union in unions if isinstance(part.get(union), list) for inner in part[union]]
        waiting[:0] = inner[:MAX_PARTS]
    return found


def resolved(schema: Any, root: Any) -> dict[str, Any]:
    """`schema` with its local `$ref` followed; an empty schema for whatever is not an object."""
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = _pointed(root, reference)
        if not isinstance(target, dict):
            return {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {}


def type_in_words(schema: Any, root: Any) -> str:
    """A schema's type in a few words: `string`, `integer | null`, `"a" | "b"`, `array of string`.

    `any` for what is nested or repeated beyond reading.
    """
    return _in_words(schema, root, iter(range(MAX_PARTS)))


def _in_words(schema: Any, root: Any, allowance: Iterator[int]) -> str:
    if next(allowance, None) is None:
        return "any"
    schema = resolved(schema, root)
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(str(kind) for kind in kinds)
    if kinds == "array":
        inner = _in_words(schema.get("items"), root, allowance)
        return f"array of {inner}" if inner != "any" else "array"
    if isinstance(kinds, str):
        return kinds
    for union in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(union), list) and parts:
            return " | ".join(dict.fromkeys(_in_words(part, root, allowance) for part in parts[:MAX_PARTS]))
    return "object" if "properties" in schema else "any"


def signature(name: str, schema: Any) -> str:
    """`name(path: string, [limit: integer = 10])`: required parameters first, the others in brackets."""
    required = required_of(schema)
    known = properties_of(schema)
    parts = [f"{key}: {type_in_words(known.get(key), schema)}" for key in required]
    for key, described in known.items():
        if key not in required:
            default = resolved(described, schema).get("default")
            shown = "" if default is None else f" = {json.dumps(default, ensure_ascii=False)}"
            parts.append(f"[{key}: {type_in_words(described, schema)}{shown}]")
    return f"{name}({', '.join(parts)})"


def _canonical(schema: Any) -> str:
    if isinstance(schema, str):
        # The validator would take it for the text of a schema.
        raise SchemaError("a string is no schema, whatever is written in it")
    try:
        return json.dumps(schema)
    except RecursionError as cause:
        raise SchemaError("nested too deeply") from cause
    except (TypeError, ValueError) as cause:
        raise SchemaError(f"not JSON: {cause}") from cause


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    import jsonschema_rs

    try:
        # Patterns by the engine without backtracking where it can: a server's pattern must not hang us.
        return jsonschema_rs.validator_for(json.loads(schema), offline=True, validate_formats=False)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = getattr(error, "message", str(error))
        where = _dotted(getattr(error, "instance_path", []))
        raise SchemaError(f"{where}: {message}" if where else message) from error


def _is_trivial(schema: Any, value: Any) -> bool:
    """Whether anything would fit: no arguments for a tool that names none. Spares loading the validator."""
    return value == {} and isinstance(schema, dict) and set(schema) <= {
        "type", "properties", "additionalProperties", "$schema", "title", "description"
    } and schema.get("type", "object") == "object"  # fmt: skip


def _validation_errors_of(error: Any) -> list[ValidationError]:
    """What is wrong; of a union, by those of its parts that were meant, as far as one can tell."""
    branches = _branches(error)
    if not branches:
        return [ValidationError(_dotted(error.instance_path), _worded(error), error.kind.name)]
    # Whoever has written a list did not mean the null of `array | null`.
    meant = [branch for branch in branches if not _is_of_another_type(branch[0], error)]
    if len(meant) == 1:
        return [problem for inner in meant[0] for problem in _validation_errors_of(inner)]
    where = _dotted(error.instance_path)
    said: dict[str, None] = {}
    for branch in meant or branches:
        first = _validation_errors_of(branch[0])[0]
        said[first.what if first.where == where else str(first)] = None
    texts = list(said)
    if not meant:
        texts = [texts[0], *(text.rpartition(_OF_TYPE)[2] for text in texts[1:])]
    return [ValidationError(where, (", or " if meant else " or ").join(texts), error.kind.name)]


def _branches(error: Any) -> list[Any]:
    """For each part of a union that fits none the errors by it; nothing for another error, as that several fit."""
    found = list(getattr(error.kind, "context", ()))
    return found if all(found) and len(found) <= MAX_PARTS else []


def _is_of_another_type(error: Any, union: Any) -> bool:
    """Whether the value at the place of `union` has a type that this part of it is not about at all."""
    if list(error.instance_path) != list(union.instance_path):
        return False
    branches = _branches(error)
    return all(_is_of_another_type(branch[0], union) for branch in branches) if branches else error.kind.name == "type"


def _worded(error: Any) -> str:
    kind = error.kind
    name = kind.name
    if name == "required":
        return f"{kind.property!r} is missing"
    if name in ("additionalProperties", "unevaluatedProperties"):
        return f"there is no {' or '.join(repr(key) for key in kind.unexpected)}"
    message = str(error.message)
    return message if len(message) <= 300 else message[:299] + "…"


def _dotted(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _pointed(root: Any, reference: str) -> Any:
    """What a local reference such as `#/$defs/Point` points at, None if that is nothing."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    target = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target
