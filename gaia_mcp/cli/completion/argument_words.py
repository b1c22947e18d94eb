"""The words that say an argument, `key=value`, as a tool's schema has them. Pure: schema and words in, words out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.completion.file_names import file_names
from gaia_mcp.jsontext import is_same
from gaia_mcp.toolspec.arguments import typed_value
from gaia_mcp.toolspec.schema import parts_of, properties_of, required_of, type_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UNIONS = ("anyOf", "oneOf", "allOf")
# What is longer is not typed, but comes from a file.
MAX_VALUE_CHARS = 200


def argument_words(schema: Any, given: Sequence[str], incomplete: str) -> list[tuple[str, str]]:
    """What the word of an argument may become, with descriptions: names that are not `given` yet, the required ones
    first, and after the `=` values.
    """
    known = properties_of(schema)
    key, equals, value = incomplete.partition("=")
    if not equals:
        taken = {word.partition("=")[0].removesuffix(":") for word in given}
        required = [name for name in required_of(schema) if name in known]
        names = [*required, *(name for name in known if name not in required)]
        return [
            (_opened(name, known[name], schema, incomplete), described(name, schema))
            for name in names
            if name not in taken and name
        ]
    if key.endswith(":") and key not in known:
        name = key[:-1]
        return [(f"{name}:={text}", "") for text in _json_values(known.get(name), schema)]
    if value.startswith("@"):
        return [(f"{key}=@{path}", "") for path, _ in file_names(value[1:])]
    return [(f"{key}={text}", note) for text, note in _values(known.get(key), schema)]


def described(name: str, schema: Any) -> str:
    """A parameter's type, whether it is required, its default and its description, in a line."""
    known = properties_of(schema)[name]
    parts = [type_in_words(known, schema)]
    if name in required_of(schema):
        parts.append("required")
    if (default := _default(known, schema)) is not None:
        parts.append(f"default {json.dumps(default, ensure_ascii=False)}")
    text = _first(known, schema, "description")
    return ", ".join(parts) + (f": {text.strip().partition(chr(10))[0]}" if isinstance(text, str) and text else "")


def needs_json(described: Any, schema: Any) -> bool:
    """Whether a parameter takes nothing but objects, or lists of them, which are written as JSON."""
    kinds = {kind for part in parts_of(described, schema, _UNIONS) for kind in _kinds(part)} - {"null"}
    if kinds == {"array"}:
        items = [part["items"] for part in parts_of(described, schema, _UNIONS) if "items" in part]
        kinds = {kind for item in items for part in parts_of(item, schema, _UNIONS) for kind in _kinds(part)}
    return bool(kinds) and kinds <= {"object", "array"}


def _opened(name: str, described: Any, schema: Any, incomplete: str) -> str:
    # Whoever has typed the colon wants JSON.
    return f"{name}:=" if incomplete == f"{name}:" or needs_json(described, schema) else f"{name}="


def _values(described: Any, schema: Any) -> Iterator[tuple[str, str]]:
    """Values to be typed after `=`: only those that really become what is meant."""
    default = _default(described, schema)
    for choice in _choices(described, schema):
        text = choice if isinstance(choice, str) else json.dumps(choice, ensure_ascii=False)
        typed = typed_value(text, described, schema)
        if text.startswith("@") or len(text) > MAX_VALUE_CHARS:
            continue
        if is_same(typed, choice) or typed == [choice]:
            yield text, "default" if is_same(choice, default) else ""


def _json_values(described: Any, schema: Any) -> Iterator[str]:
    for choice in _choices(described, schema):
        text = json.dumps(choice, ensure_ascii=False)
        if len(text) <= MAX_VALUE_CHARS:
            yield text


def _choices(described: Any, schema: Any) -> Iterator[Any]:
    """The values that a parameter may have, as far as they can be listed, and its default."""
    parts = parts_of(described, schema, _UNIONS)
    for item in [part["items"] for part in parts if "items" in part]:
        parts += parts_of(item, schema, _UNIONS)
    for part in parts:
        if "const" in part:
            yield part["const"]
        elif isinstance(part.get("enum"), list):
            yield from part["enum"]
        else:
            kinds = _kinds(part)
            yield from (True, False) if "boolean" in kinds else ()
            yield from (None,) if "null" in kinds else ()
    if (default := _default(described, schema)) is not None:
        yield default


def _kinds(part: dict[str, Any]) -> list[str]:
    kinds = part.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return [kind for kind in kinds if isinstance(kind, str)]


def _default(described: Any, schema: Any) -> Any:
    return _first(described, schema, "default")


def _first(described: Any, schema: Any, key: str) -> Any:
    return next((part[key] for part in parts_of(described, schema, _UNIONS) if key in part), None)
