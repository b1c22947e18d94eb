"""Forms for elicitation: the flat schemas that the specification allows, written as a schema or a dataclass.

Knows the restrictions on forms and how an answer is converted to a value, but not whether a client supports forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gaia_mcp.redaction.looks import looks_secret
from gaia_mcp.toolspec.schema import resolved
from gaia_mcp.toolspec.validation import as_text, schema_of

Wire = dict[str, Any]

_ALWAYS = frozenset({"type", "title", "description"})
# Keywords by the type of a field (specification, `PrimitiveSchemaDefinition`).
_KEYWORDS = {
    "string": _ALWAYS | {"minLength", "maxLength", "format", "default", "enum", "enumNames", "oneOf"},
    "number": _ALWAYS | {"minimum", "maximum", "default"},
    "integer": _ALWAYS | {"minimum", "maximum", "default"},
    "boolean": _ALWAYS | {"default"},
    "array": _ALWAYS | {"items", "minItems", "maxItems", "default"},
}
_FORMATS = frozenset({"email", "uri", "date", "date-time"})


class AnswerError(ValueError):
    """The answer is not valid for the question. The text is the reason."""


class Form(NamedTuple):
    """A form: its schema, and the function that converts the content of an answer to a value."""

    schema: Wire
    convert: Callable[[Wire], Any]

    def read(self, content: Wire) -> Any:
        """The value of an answer's content. Raises `AnswerError`."""
        if errors := schema_of(as_text(self.schema)).errors(content):
            raise AnswerError(str(errors[0]))
        try:
            return self.convert(content)
        except ValueError as problem:
            raise AnswerError(str(problem)) from problem


def form_of(shape: Any) -> Form:
    """The form for a schema (a dict) or a type with named members (a dataclass, a typed dictionary).

    Raises `ValueError` for an invalid form, with the field and the reason.
    """
    if isinstance(shape, dict):
        _check(shape)
        return Form(shape, dict)
    from gaia_mcp.toolspec.hints.kinds import Definitions
    from gaia_mcp.toolspec.hints.reading import HintError, Reader

    try:
        kind = Reader().read(shape)
    except HintError as problem:
        raise ValueError(f"{shape!r} is not a form: {problem}") from problem
    definitions = Definitions()
    written = definitions.complete(kind.schema(definitions))
    if not isinstance(written.get("properties"), dict):
        raise ValueError(f"{shape!r} is not a form: a form is a dataclass, or a schema of type 'object'")
    schema = {
        "type": "object",
        "properties": {name: _field(field, written) for name, field in written["properties"].items()},
        "required": list(written.get("required", ())),
    }
    _check(schema)
    return Form(schema, lambda content: kind.convert(content, ""))


def _field(field: Any, root: Wire) -> Wire:
    """A field as a form allows it: with references resolved, and without null, which stands for a missing answer."""
    found = _flat(field, root)
    parts = [part for part in found.get("anyOf", ()) if part.get("type") != "null"]
    if len(parts) == 1:
        beside = {key: value for key, value in found.items() if key != "anyOf"}
        found = {**_flat(parts[0], root), **beside}
    if found.get("default", ...) is None:
        del found["default"]
    if isinstance(items := found.get("items"), dict):
        found["items"] = _flat(items, root)
        # A form does not allow this keyword; the choices of a set are distinct anyway.
        found.pop("uniqueItems", None)
    return found


def _flat(part: Any, root: Wire) -> Wire:
    found = resolved(part, root)
    beside = {key: value for key, value in part.items() if key != "$ref"} if isinstance(part, dict) else {}
    return {**found, **beside} if isinstance(found, dict) else {}


def _check(schema: Wire) -> None:
    """Raises `ValueError` if the specification does not allow this schema in a form."""
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, dict):
        raise ValueError("a form is a schema of type 'object' with 'properties'")
    for name, field in fields.items():
        if (problem := _field_problem(field)) is None and _asks_for_secret(name, field):
            problem = "a form must not ask for a secret; elicit_url asks for it on a page of your own"
        if problem is not None:
            raise ValueError(f"field {name!r} of the form: {problem}")
    for name in schema.get("required", ()):
        if name not in fields:
            raise ValueError(f"the form requires {name!r}, which is not one of its fields")


def _asks_for_secret(name: str, field: Wire) -> bool:
    # A field with choices is not secret, and "key" alone may be the key of a mapping.
    is_free = field["type"] == "string" and not field.keys() & {"enum", "oneOf"}
    return is_free and name.lower() != "key" and looks_secret(name)


def _field_problem(field: Any) -> str | None:
    kind = field.get("type") if isinstance(field, dict) else None
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        return "a form is flat: a field is a string, a number, an integer, a boolean, or a list of choices"
    if unknown := sorted(set(field) - _KEYWORDS[kind]):
        return f"{unknown[0]!r} is not allowed in a form"
    if kind == "string" and "format" in field and field["format"] not in _FORMATS:
        return f"its format must be one of {', '.join(sorted(_FORMATS))}"
    if kind == "array":
        items = field.get("items")
        if not isinstance(items, dict) or not ("enum" in items or "anyOf" in items):
            return "a list in a form is a list of choices: its items have 'enum' or 'anyOf'"
    return None
