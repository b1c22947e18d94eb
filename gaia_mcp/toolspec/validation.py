"""Whether a value fits a JSON Schema, and whether the schema itself is usable.

The validator is jsonschema-rs, which is imported only when there is something to validate. Nothing is ever fetched from
a network.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from gaia_mcp.jsontext import paired
from gaia_mcp.safetext import cut_middle
from gaia_mcp.toolspec.schema import MAX_PARTS

# How the validator says that a value has the wrong type.
_OF_TYPE = " is not of type "


class ValidationError(NamedTuple):
    """One mistake in a value: where (`a.b[0]`, empty for the value itself), what, and by which keyword."""

    where: str
    what: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SchemaError(ValueError):
    """The schema itself is not usable: invalid, of an unknown dialect, or with a reference that leads nowhere."""


def load_validator() -> None:
    """Load the validator ahead of its use, while there is nothing else to do."""
    import jsonschema_rs  # noqa: F401


def check_schema(schema: Any) -> None:
    """Raises `SchemaError` with the reason why `schema` cannot be used."""
    _validator(_as_text(schema))


def validation_errors(schema: Any, value: Any) -> list[ValidationError]:
    """Every mistake in `value`, missing and unknown members first.

    Raises `SchemaError` if the schema cannot be used.
    """
    return Checker(schema).validation_errors(value)


class Checker:
    """A schema that many values are validated against. It is compiled for the first of them."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._ready: Any = None

    def validation_errors(self, value: Any) -> list[ValidationError]:
        """As the function of that name."""
        if self._ready is None:
            if _is_trivial(self._schema, value):
                return []
            self._ready = _validator(_as_text(self._schema))
        try:
            errors = list(self._ready.iter_errors(value))
        except UnicodeEncodeError:
            # Half of a surrogate pair: checked as it is sent.
            return self.validation_errors(json.loads(paired(json.dumps(value))))
        except ValueError as error:
            # Nested too deeply, or not JSON.
            return [ValidationError("", f"cannot be checked: {error}", "json")]
        found = [problem for error in errors for problem in _validation_errors_of(error)]
        return sorted(found, key=lambda problem: problem.keyword not in ("required", "additionalProperties"))


def _as_text(schema: Any) -> str:
    if isinstance(schema, str):
        # The validator would take it for the text of a schema.
        raise SchemaError("a string is not a schema")
    try:
        return paired(json.dumps(schema))
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
    """Whether `value` fits at a glance: no arguments, and none required. Saves loading the validator."""
    return value == {} and isinstance(schema, dict) and set(schema) <= {
        "type", "properties", "additionalProperties", "$schema", "title", "description"
    } and schema.get("type", "object") == "object"  # fmt: skip


def _validation_errors_of(error: Any) -> list[ValidationError]:
    """The mistakes behind one error; for a union, by the part that the value was probably meant for."""
    branches = _branches(error)
    if not branches:
        return [ValidationError(_dotted(error.instance_path), _message(error), error.kind.name)]
    # A list was not meant for the null of `array | null`.
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
    """For a value that fits no part of a union, the errors by each part; nothing for any other error."""
    found = list(getattr(error.kind, "context", ()))
    return found if all(found) and len(found) <= MAX_PARTS else []


def _is_of_another_type(error: Any, union: Any) -> bool:
    """Whether the value at the place of `union` has another type than this part of it allows."""
    if list(error.instance_path) != list(union.instance_path):
        return False
    branches = _branches(error)
    return all(_is_of_another_type(branch[0], union) for branch in branches) if branches else error.kind.name == "type"


def _message(error: Any) -> str:
    kind = error.kind
    name = kind.name
    if name == "required":
        return f"{kind.property!r} is missing"
    if name in ("additionalProperties", "unevaluatedProperties"):
        return f"there is no {' or '.join(repr(key) for key in kind.unexpected)}"
    return cut_middle(str(error.message), 300)


def _dotted(path: Any) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
