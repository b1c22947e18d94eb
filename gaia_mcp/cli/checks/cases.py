"""A file of cases for `test-client --spec`: what to call, and what is expected of the answer. YAML, JSON or TOML.

`SCHEMA` is the format, and what the file is checked against. Everything in it is checked before a server is started:
a mistake is an error with the number of its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.files import read_typed
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import home_expanded, shown
from gaia_mcp.text.strict_json import Repeated, TextProblemError
from gaia_mcp.toolspec import validation
from gaia_mcp.toolspec.validation import SchemaError, ValidationError, schema_of

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine

# A line of YAML takes some 50 µs to read.
MAX_BYTES = 1 << 20
MAX_REPEATED = 10_000
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_EXPECT = {
    "type": "object",
    "description": "What is expected; without it, a result that reports no failure.",
    "properties": {
        "isError": {"type": "boolean", "description": "Whether the tool reports a failure. Default: false."},
        "text": {"type": "string", "description": "The whole text of the answer."},
        "contains": {**_TEXTS, "description": "Texts that the answer contains."},
        "matches": {**_TEXTS, "description": "Regular expressions that match somewhere in the text of the answer."},
        "structured": {"description": "A part of the structured result: members that it does not have are ignored."},
        "schema": {
            "type": ["object", "boolean"],
            "description": "A JSON Schema for the structured result, or for the text, read as JSON.",
        },
        "code": {"type": "integer", "description": "The code of a JSON-RPC error."},
        "exitCode": {"type": "integer", "description": "The exit code that `gaia mcp call` would have."},
        "answers": {
            "type": "object",
            "description": "The answers to what the server asks; each of them has to be asked.",
        },
        "max_ms": {"type": "number", "exclusiveMinimum": 0, "description": "The longest time of one call."},
    },
    "additionalProperties": False,
}
KINDS = ("tool", "prompt", "resource")
_CASE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "Default: that of what is called."},
        "tool": {"type": "string", "minLength": 1},
        "prompt": {"type": "string", "minLength": 1},
        "resource": {"type": "string", "minLength": 1, "description": "The URI."},
        "arguments": {"type": "object"},
        "expect": _EXPECT,
        "save": {
            "type": "object",
            "description": "Values for later cases, which write them as ${NAME}: the JSON Pointer of each in the "
            "result, or `text`.",
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string", "pattern": "^(text|/.*)$"},
        },
        "skip": {"type": "string", "minLength": 1, "description": "Why it is not run."},
        "only": {"type": "boolean", "description": "Run no case but those with this."},
        "repeat": {"type": "integer", "minimum": 1, "maximum": MAX_REPEATED, "description": "Default: 1."},
    },
    "oneOf": [{"required": [kind]} for kind in KINDS],
    "additionalProperties": False,
}
_CASES = {"type": "array", "items": {"$ref": "#/$defs/case"}}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Checks of an MCP server",
    "type": "object",
    "properties": {
        "variables": {
            "type": "object",
            "description": "Values that are written as ${NAME}, as are those of the environment.",
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        },
        "setup": {**_CASES, "description": "Run first. If one fails, the checks are skipped."},
        "checks": {**_CASES, "minItems": 1},
        "teardown": {**_CASES, "description": "Run last, in any case."},
    },
    "required": ["checks"],
    "additionalProperties": False,
    "$defs": {"case": _CASE},
}
SECTIONS = ("setup", "checks", "teardown")
# `$${` is a literal `${`.
_REFERENCE = re.compile(r"(?P<escape>\$)?\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]{0,1000}))?\}")


class Case(NamedTuple):
    """A call, and what is expected: the case `number`, from 0, of a section, one of `SECTIONS`. `kind` is one of
    `KINDS`.
    """

    name: str
    section: str
    number: int
    kind: str
    target: str
    arguments: dict[str, Any]
    expect: dict[str, Any]
    save: dict[str, str]
    skip: str
    repeat: int


class CaseFile(NamedTuple):
    """The cases in their order, the values of the variables, and the variables of the environment that it names.
    `shown` are the values that may be printed: with `${NAME}` for what a variable of the environment contains.
    """

    document: Document
    cases: Sequence[Case]
    variables: dict[str, Any]
    environ: dict[str, str]
    shown: dict[str, Any]

    def place(self, case: Case) -> tuple[Path, int]:
        """The file, and the number of the line of a case; 0 if it is unknown."""
        return self.document.path, self.document.line_of((case.section, case.number))


class VariableError(ValueError):
    """A variable that cannot be replaced; `name` is its name."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


def read_cases(line: CommandLine, typed: str, environ: Mapping[str, str]) -> CaseFile:
    """The cases in a file. Raises `UsageError` with the line of the first mistake."""
    path = home_expanded(Path(typed))
    how_to_begin = f"write one with: {line.to_type('init', more='--spec NAME')}"
    try:
        text = read_typed(path, MAX_BYTES).decode()
    except OSError as problem:
        raise UsageError(f"{typed!r} cannot be read: {problem.strerror}", hint=how_to_begin) from None
    except UnicodeDecodeError:
        raise UsageError(f"{typed!r} is not UTF-8 text", hint=how_to_begin) from None
    document = Document(path, text, f"see the format with: {line.to_type('test-client', more='--spec-schema')}")
    found = _found(document)
    environment = {name: environ[name] for name in _references(document.value) if name in environ}
    placeholders = {name: f"${{{name}}}" for name in environ}
    raw = document.value.get("variables", {})
    try:
        variables, shown_variables = _resolved(raw, environ), _resolved(raw, placeholders)
    except VariableError as problem:
        raise document.error(("variables", problem.name), str(problem)) from None
    known = {*environ, *variables}
    for case in found:
        _check_expectations(document, (case.section, case.number), case)
        for name in () if case.skip else _references([case.target, case.arguments, case.expect], required=True):
            if name not in known:
                unset = f"${{{name}}} is set by no variable, and saved by no case before"
                raise document.error((case.section, case.number), unset, did_you_mean(name, known))
        known.update(case.save)
    return CaseFile(document, found, variables, environment, {**placeholders, **shown_variables})


class Document:
    """The value of a file, of which `error` names the line, with `hint` unless there is a better one."""

    def __init__(self, path: Path, text: str, hint: str) -> None:
        self.path = path
        self._hint = hint
        self._text = text
        try:
            self.value = self._parsed()
        except TextProblemError as problem:
            placed = problem.placed(text)
            raise self._error_at(placed.line, placed.problem, "") from None

    def _parsed(self) -> Any:
        if self.path.suffix == ".toml":
            from gaia_mcp.text import toml

            return toml.parse(self._text)
        if self.path.suffix == ".json":
            from gaia_mcp.text import jsonc

            return jsonc.parse(self._text)
        from gaia_mcp.text import yaml

        return yaml.parse(self._text)

    def error(self, path: tuple[str | int, ...], problem: str, hint: str = "") -> UsageError:
        """The error for the value at a path."""
        return self._error_at(self.line_of(path), problem, hint)

    def _error_at(self, line: int, problem: str, hint: str) -> UsageError:
        where = f"{shown(self.path)}:{line}" if line else shown(self.path)
        return UsageError(f"{where}: {problem}", hint=hint or self._hint)

    def line_of(self, path: tuple[str | int, ...]) -> int:
        """The number of the line of the value at a path, from 1; 0 if it is unknown."""
        if self.path.suffix == ".toml":
            section, number = [*path, 0, 0][:2]
            lines = [line.replace(" ", "") for line in self._text.splitlines()]
            starts = [at for at, line in enumerate(lines, 1) if line.startswith((f"[{section}]", f"[[{section}]]"))]
            return starts[number] if isinstance(number, int) and number < len(starts) else 0
        from gaia_mcp.text.yaml import offset_in

        if not path:
            return 1
        return self._text.count("\n", 0, offset_in(self._nodes, path)) + 1 if self._nodes is not None else 0

    @cached_property
    def _nodes(self) -> Any:
        """The document with the positions of its values, None for JSON that is no YAML."""
        from gaia_mcp.text.yaml import composed

        try:
            return composed(self._text)
        except TextProblemError:
            return None


def _found(document: Document) -> list[Case]:
    """The cases. Raises `UsageError`."""
    value = document.value
    for path, problem in _problems(value, ()):
        raise document.error(path, problem)
    errors = schema_of(validation.as_text(SCHEMA)).errors(value)
    for section in SECTIONS if isinstance(value, dict) else ():
        for number, each in enumerate(held if isinstance(held := value.get(section), list) else ()):
            if isinstance(each, dict) and sum(kind in each for kind in KINDS) != 1:
                raise document.error((section, number), f"a case has one of {', '.join(KINDS)}")
    if errors:
        raise _invalid(document, min(errors, key=lambda error: _path_of(error.where)))
    is_limited = any(each.get("only") for each in value["checks"])
    names: dict[str, int] = {}
    found = []
    for section in SECTIONS:
        for number, each in enumerate(value.get(section, ())):
            kind = next(kind for kind in KINDS if kind in each)
            name = each.get("name", each[kind])
            names[name] = names.get(name, 0) + 1
            skip = each.get("skip", "")
            if is_limited and section == "checks" and not each.get("only"):
                skip = skip or "another case has 'only'"
            found.append(
                Case(
                    name if names[name] == 1 else f"{name} ({names[name]})",
                    section,
                    number,
                    kind,
                    each[kind],
                    each.get("arguments", {}),
                    each.get("expect", {}),
                    each.get("save", {}),
                    skip,
                    each.get("repeat", 1),
                )
            )
    return found


def _problems(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What the schema does not find, with the paths: values that JSON does not have, such as dates, keys that are no
    texts, and keys that are there twice.
    """
    if isinstance(value, dict):
        if isinstance(value, Repeated):
            yield path, f"{value.key!r} is there twice"
        for key, held in value.items():
            if not isinstance(key, str):
                yield path, f"{str(key)!r} is no text: quote it"
            yield from _problems(held, (*path, key))
    elif isinstance(value, list):
        for number, held in enumerate(value):
            yield from _problems(held, (*path, number))
    elif not isinstance(value, str | bool | int | float | None) or (isinstance(value, float) and not isfinite(value)):
        yield path, f"{str(value)!r} is no value of JSON: quote it"


def _invalid(document: Document, error: ValidationError) -> UsageError:
    path = _path_of(error.where)
    hint = ""
    if error.keyword == "additionalProperties":
        name = error.what.removeprefix("there is no ").strip("'")
        # The line of the unknown member itself.
        path = (*path, name)
        hint = did_you_mean(name, [*SCHEMA["properties"], *_CASE["properties"], *_EXPECT["properties"]])  # type: ignore[misc]
    return document.error(path, str(error), hint)


def _path_of(where: str) -> tuple[str | int, ...]:
    """The path that a validation error has as `checks[0].expect`."""
    found = re.findall(r"\[(\d+)\]|([^.\[\]]+)", where)
    return tuple(int(number) if number else name for number, name in found)


def _check_expectations(document: Document, path: tuple[str | int, ...], case: Case) -> None:
    """Raises `UsageError` for a regular expression or a schema that cannot be used, unless it is not known yet, and for
    arguments that a prompt or a resource cannot have.
    """
    for pattern in () if any(_references(case.expect.get("matches"))) else texts(case.expect.get("matches", [])):
        try:
            re.compile(pattern)
        except re.error as problem:
            raise document.error(
                (*path, "expect", "matches"), f"{pattern!r} is no regular expression: {problem}"
            ) from None
    if "schema" in case.expect and not any(_references(case.expect["schema"])):
        try:
            schema_of(validation.as_text(case.expect["schema"])).compile()
        except SchemaError as problem:
            raise document.error((*path, "expect", "schema"), f"the schema cannot be used: {problem}") from None
    if case.kind == "prompt" and (other := [key for key, held in case.arguments.items() if not isinstance(held, str)]):
        raise document.error((*path, "arguments", other[0]), f"the argument {other[0]!r} of a prompt is no text")
    if case.kind == "resource" and case.arguments:
        raise document.error((*path, "arguments"), "a resource has no arguments")


def texts(value: Any) -> Sequence[str]:
    """A text, or a list of texts, as a list; another value, of a variable, as its text."""
    return [as_text(each) for each in (value if isinstance(value, list) else [value])]


def _references(value: Any, *, required: bool = False) -> Iterator[str]:
    """The names of the variables in a value; only those without a default if they are `required`."""
    if isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            if not match["escape"] and not (required and match["default"] is not None):
                yield match["name"]
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _references([key, held], required=required)
    elif isinstance(value, list):
        for held in value:
            yield from _references(held, required=required)


def _resolved(variables: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The values of the variables, which may refer to one another and to the environment. Raises `VariableError`."""
    done: dict[str, Any] = {}

    def resolve(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise VariableError(name, f"the variable refers to itself: {' → '.join((*above, name))}")
        for each in _references(variables[name]):
            if each in variables and each not in done:
                resolve(each, (*above, name))
        try:
            done[name] = substituted(variables[name], {**environ, **done})
        except VariableError as problem:
            raise VariableError(name, str(problem)) from None

    for name in variables:
        if name not in done:
            resolve(name, ())
    return done


def substituted(value: Any, known: Mapping[str, Any]) -> Any:
    """`value` with its references replaced; a text that is one reference becomes the value itself. Raises
    `VariableError` for one that is not `known` and has no default.
    """
    if isinstance(value, dict):
        return {str(substituted(key, known)): substituted(held, known) for key, held in value.items()}
    if isinstance(value, list):
        return [substituted(held, known) for held in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole is not None and not whole["escape"] and whole["name"] in known:
        return known[whole["name"]]

    def replaced(match: re.Match[str]) -> str:
        if match["escape"]:
            return match[0][1:]
        found = known.get(match["name"], match["default"])
        if found is None:
            raise VariableError(match["name"], f"${{{match['name']}}} has no value")
        return as_text(found)

    return _REFERENCE.sub(replaced, value)


def as_text(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
