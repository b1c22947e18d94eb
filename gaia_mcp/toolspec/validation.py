"""Validating a value against a JSON Schema, checking whether the schema itself is usable, and the error report for
arguments that do not match, for a user, a model or a program.

AMD GAIA's documents promise the text before the schema and before the arguments; programs search for it. The validator
is jsonschema-rs, which is imported only when there is something to validate. Nothing is ever fetched from a network.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.core.names import did_you_mean
from gaia_mcp.text import cut_middle
from gaia_mcp.text.strict_json import paired
from gaia_mcp.toolspec.schema import BRANCHES, MAX_PARTS, parts_of, properties_of

if TYPE_CHECKING:
    from gaia_mcp.toolspec.cost import Cost

# Further errors are not read; a large value may have very many.
MAX_ERRORS = 1000

# The validator's messages for a value of the wrong type, and for a reference to another document.
_OF_TYPE = " is not of type "
_EXPECTED = " was expected"
_ELSEWHERE = re.compile(r"Resource '(.*)' is not present in a registry", re.DOTALL)
# What a schema of plain members consists of, and such a member.
_OF_PLAIN = frozenset(("$schema", "type", "title", "description", "properties", "required", "additionalProperties"))
_OF_PLAIN_MEMBER = frozenset(
    ("type", "title", "description", "default", "enum", "format", "minLength", "maxLength", "minimum", "maximum")
)
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")
# Larger integers are not the same in every implementation of JSON.
_EXACT = 2**53
DETAILS = "Error details:"
EXPECTED_SCHEMA = "Expected tool schema:"
YOUR_ARGUMENTS = "Your arguments:"


class ValidationError(NamedTuple):
    """One error in a value: its path (`a.b[0]`, empty for the value itself), the message, and the schema keyword."""

    where: str
    what: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SchemaError(ValueError):
    """The schema itself is not usable: invalid, of an unknown dialect, or with an unresolvable reference."""


class ExternalReferenceError(SchemaError):
    """The schema refers to another document, which is not fetched, so that nothing can be checked against it."""


class SchemaCostError(SchemaError):
    """Validation against the schema exceeds the limits of time or memory."""


class Schema:
    """A schema, given as JSON text. It is compiled when it is first used.

    The methods have no time limit: `cost` estimates how long they may take.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def cost(self) -> Cost:
        """The cost of a validation. Calculated when first needed: most schemas are trivial."""
        from gaia_mcp.toolspec.cost import Cost

        return Cost(self.text)

    def compile(self) -> None:
        """Compile the schema. Raises `SchemaError` with the reason if it cannot be used."""
        _ = self._validator

    def is_valid(self, value: Any) -> bool:
        """Whether `value` is valid; False also for a value that is not JSON. Raises `SchemaError`."""
        validator = self._validator
        try:
            return bool(validator.is_valid(value))
        except UnicodeEncodeError:
            return self.is_valid(_as_sent(value))
        except ValueError:
            return False

    def errors(self, value: Any) -> list[ValidationError]:
        """The errors of `value`, `MAX_ERRORS` at most; missing and unknown members first. Raises `SchemaError`."""
        validator = self._validator
        try:
            # Faster for a valid value.
            if validator.is_valid(value):
                return []
            errors = list(itertools.islice(validator.iter_errors(value), MAX_ERRORS))
        except UnicodeEncodeError:
            return self.errors(_as_sent(value))
        except ValueError as error:
            # Nested too deeply, or not JSON.
            return [not_checkable(error)]
        found = [problem for error in errors for problem in _validation_errors_of(error)]
        return sorted(found, key=lambda problem: problem.keyword not in ("required", "additionalProperties"))

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs

        try:
            # Patterns by the engine without backtracking where it can: a server's pattern must not hang us.
            return jsonschema_rs.validator_for(json.loads(self.text), offline=True, validate_formats=False)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            message = getattr(error, "message", str(error))
            if (elsewhere := _ELSEWHERE.match(message)) is not None:
                problem = f"it refers to {cut_middle(elsewhere[1], 200)!r}, which is not part of it, and is not fetched"
                raise ExternalReferenceError(problem) from error
            where = _dotted(getattr(error, "instance_path", []))
            raise SchemaError(f"{where}: {message}" if where else message) from error


@lru_cache(maxsize=256)
def schema_of(text: str) -> Schema:
    """The schema with this text. Compiled schemas and their costs are cached."""
    return Schema(text)


def load_validator() -> None:
    """Load the validator ahead of its use, while the program is idle."""
    import jsonschema_rs  # noqa: F401


def as_text(schema: Any) -> str:
    """The JSON text of a schema. Raises `SchemaError` if it has none."""
    if isinstance(schema, str):
        # The validator would parse it as the text of a schema.
        raise SchemaError("a string is not a schema")
    try:
        return paired(json.dumps(schema))
    except RecursionError as cause:
        raise SchemaError("nested too deeply") from cause
    except (TypeError, ValueError) as cause:
        raise SchemaError(f"not JSON: {cause}") from cause


def _as_sent(value: Any) -> Any:
    """A value without lone surrogates, which the validator does not accept."""
    return json.loads(paired(json.dumps(value)))


def not_checkable(problem: Exception) -> ValidationError:
    """The error for a value that the validator cannot read."""
    return ValidationError("", f"cannot be checked: {problem}", "json")


def is_trivial(schema: Any, value: Any) -> bool:
    """Whether `value` is trivially valid: no arguments, and none required. Saves loading the validator."""
    return value == {} and isinstance(schema, dict) and set(schema) <= {
        "type", "properties", "additionalProperties", "$schema", "title", "description"
    } and schema.get("type", "object") == "object"  # fmt: skip


def plain_members(schema: Any) -> dict[str, Any] | None:
    """The members of a schema for objects that have only texts, numbers and booleans, within simple limits; None for
    any other schema, also for one that cannot be used. Most tools have such arguments, and loading the validator takes
    longer than many a call.
    """
    if not isinstance(schema, dict) or schema.get("type") != "object" or not schema.keys() <= _OF_PLAIN:
        return None
    members, required = schema.get("properties", {}), schema.get("required", [])
    is_plain = (
        isinstance(members, dict)
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and len(set(required)) == len(required)
        and isinstance(schema.get("additionalProperties", False), bool)
        and all(isinstance(schema.get(key, ""), str) for key in ("title", "description"))
        and schema.get("$schema", _DIALECTS[0]) in _DIALECTS
    )
    return members if is_plain and all(map(_is_plain_member, members.values())) else None


def _is_plain_member(member: Any) -> bool:
    if not isinstance(member, dict) or not member.keys() <= _OF_PLAIN_MEMBER:
        return False
    choices = member.get("enum", [""])
    return (
        member.get("type", "string" if "enum" in member else "") in ("string", "integer", "number", "boolean")
        and isinstance(choices, list)
        and all(isinstance(choice, str) for choice in choices)
        and 0 < len(choices) == len(set(choices))
        and all(isinstance(member.get(key, ""), str) for key in ("title", "description", "format"))
        and all(type(member.get(key, 0)) is int and member.get(key, 0) >= 0 for key in ("minLength", "maxLength"))
        and all(type(member.get(key, 0)) in (int, float) for key in ("minimum", "maximum"))
    )


def is_plainly_valid(schema: dict[str, Any], members: dict[str, Any], value: Any) -> bool:
    """Whether `value` is certainly valid for a schema with these `plain_members`. Any other value may be valid too."""
    return (
        isinstance(value, dict)
        and value.keys() <= members.keys()
        and all(name in value for name in schema.get("required", ()))
        and all(_is_plainly_valid(members[name], held) for name, held in value.items())
    )


def _is_plainly_valid(member: dict[str, Any], value: Any) -> bool:
    kind = member.get("type", "string")
    if type(value) is str:
        # A surrogate, which the validator does not take, is not printable.
        return (
            kind == "string"
            and (value.isascii() or value.isprintable())
            and value in member.get("enum", (value,))
            and member.get("minLength", 0) <= len(value) <= member.get("maxLength", len(value))
        )
    if "enum" in member:
        return False
    if type(value) is int:
        within = member.get("minimum", value) <= value <= member.get("maximum", value)
        return kind in ("integer", "number") and within and abs(value) <= _EXACT
    return type(value) is bool and kind == "boolean"


def _validation_errors_of(error: Any) -> list[ValidationError]:
    """The errors behind one error of the validator; for a union, those of the branch that was probably intended."""
    branches = _branches(error)
    if not branches:
        return [ValidationError(_dotted(error.instance_path), _message(error), error.kind.name)]
    # A list was not meant for the null of `array | null`.
    meant = [branch for branch in branches if not _is_of_another_type(branch[0], error)]
    if len(meant) == 1:
        return [problem for inner in meant[0] for problem in _validation_errors_of(inner)]
    where = _dotted(error.instance_path)
    said: dict[str, None] = {}
    is_here = True
    for branch in meant or branches:
        first = _validation_errors_of(branch[0])[0]
        said[first.what if first.where == where else str(first)] = None
        is_here = is_here and first.where == where
    texts = list(said)
    if is_here and all(text.endswith(_EXPECTED) for text in texts):
        # Each branch has a value of its own; as for an enumeration.
        allowed = ", ".join(text.removesuffix(_EXPECTED) for text in texts)
        what = f"{json.dumps(error.instance, ensure_ascii=False)} is not one of {allowed}"
        return [ValidationError(where, cut_middle(what, 300), error.kind.name)]
    if not meant:
        texts = [texts[0], *(text.rpartition(_OF_TYPE)[2] for text in texts[1:])]
    return [ValidationError(where, (", or " if meant else " or ").join(texts), error.kind.name)]


def _branches(error: Any) -> list[Any]:
    """For a value that matches no branch of a union, the errors by branch; nothing for any other error."""
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


class InvalidArgumentsError(ValueError):
    """Arguments that match the schema of a tool but are still invalid: not a date, for example.

    `problems` are messages, each with its path.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def report(tool: str, details: Sequence[str], schema: Any, arguments: Any) -> str:
    """The whole report, in several lines. A value that is not JSON is shown as text."""
    lines = [f"MCP tool {tool!r} input validation failed.", "", DETAILS, *details]
    lines += ["", EXPECTED_SCHEMA, _shown(schema), "", YOUR_ARGUMENTS, _shown(arguments)]
    return "\n".join(lines)


def details_of(text: str) -> list[str]:
    """The problems that a `report` contains, in words, without its schema and arguments; empty if it is not one."""
    _, begun, after = text.partition(f"\n\n{DETAILS}\n")
    details, ended, _ = after.partition(f"\n\n{EXPECTED_SCHEMA}\n")
    return [line.removeprefix("- ") for line in details.splitlines()] if begun and ended else []


def problems_in(found: Sequence[ValidationError], schema: Any, arguments: dict[str, Any]) -> list[str]:
    """Every problem as a message, with suggestions for mistyped names; empty if the arguments are valid.

    `found` are the validation errors of the arguments.
    """
    if not found:
        return []
    problems = [_with_suggestion(problem, schema) for problem in found]
    if not any(_is_unknown_name(problem) for problem in found):
        # The schema allows unknown names, but they may be why another one is missing.
        problems += [f"it does not mention {near_miss}" for near_miss in near_misses(schema, arguments)]
    return problems


def near_misses(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """The names that the schema does not mention, but similar ones, each with the suggestion."""
    known = properties_of(schema)
    return [f"{key!r}, {meant}" for key in arguments if key not in known and (meant := did_you_mean(key, known))]


def unknown_names(schema: Any, arguments: dict[str, Any]) -> list[str]:
    """The names that the schema does not mention, each with a suggestion if there is a similar one. Empty if the schema
    lists no names, or allows additional ones.
    """
    parts = parts_of(schema, schema, BRANCHES)
    listed = [members for part in parts if isinstance(members := part.get("properties"), dict)]
    if not any(listed) or any(part.get("additionalProperties") or part.get("patternProperties") for part in parts):
        return near_misses(schema, arguments)
    known = {name for members in listed for name in members}
    unknown = {key: did_you_mean(key, known) for key in arguments if key not in known}
    return [f"{key!r}, {meant}" if meant else repr(key) for key, meant in unknown.items()]


def _with_suggestion(problem: ValidationError, schema: Any) -> str:
    if _is_unknown_name(problem):
        name = problem.what.removeprefix("there is no ").strip("'")
        if meant := did_you_mean(name, properties_of(schema)):
            return f"{problem}, {meant}"
    return str(problem)


def _is_unknown_name(problem: ValidationError) -> bool:
    return problem.keyword == "additionalProperties" and not problem.where


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(it cannot be shown as JSON)"
