"""JSON Schema, as far as tools need it: is it one, does a value fit, how is it said in a line.

The validating itself is jsonschema-rs, which is imported only when there is something to validate. Nothing is ever
fetched from a network.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

# A schema refers to itself at most this deep before we stop following.
MAX_REFERENCES = 32


class Misfit(NamedTuple):
    """One thing that does not fit: where (`a.b[0]`, empty for the whole), what, and by which keyword."""

    where: str
    what: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SchemaError(ValueError):
    """The schema itself is not usable: not valid, of an unknown dialect, or referring to what it does not hold."""


def check_schema(schema: Any) -> None:
    """Raises `SchemaError` saying why `schema` cannot be used."""
    _validator(_canonical(schema))


def misfits(schema: Any, value: Any) -> list[Misfit]:
    """Everything in which `value` does not fit `schema`, missing and unknown members first.

    Raises `SchemaError` when the schema cannot be used.
    """
    if _is_trivial(schema, value):
        return []
    validator = _validator(_canonical(schema))
    found = [
        Misfit(_dotted(error.instance_path), _worded(error), error.kind.name) for error in validator.iter_errors(value)
    ]
    return sorted(found, key=lambda misfit: misfit.keyword not in ("required", "additionalProperties"))


def properties_of(schema: Any) -> dict[str, Any]:
    """The properties of an object schema, in its order, with those of its `allOf` and local references."""
    schema = resolved(schema, schema)
    found: dict[str, Any] = {}
    if isinstance(own := schema.get("properties"), dict):
        found.update(own)
    for part in schema.get("allOf", []) if isinstance(schema.get("allOf"), list) else []:
        found.update(properties_of({**resolved(part, schema), "$defs": schema.get("$defs", {})}))
    return found


def required_of(schema: Any) -> list[str]:
    """The names of the required properties."""
    required = resolved(schema, schema).get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


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
    """A schema's type in a few words: `string`, `integer | null`, `"a" | "b"`, `array of string`."""
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
        inner = type_in_words(schema.get("items"), root)
        return f"array of {inner}" if inner != "any" else "array"
    if isinstance(kinds, str):
        return kinds
    for union in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(union), list) and parts:
            return " | ".join(dict.fromkeys(type_in_words(part, root) for part in parts))
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
    try:
        return json.dumps(schema)
    except (RecursionError, ValueError) as cause:
        raise SchemaError("nested too deeply") from cause


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
    if not reference.startswith("#"):
        return None
    target = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, dict) or key not in target:
            return None
        target = target[key]
    return target
