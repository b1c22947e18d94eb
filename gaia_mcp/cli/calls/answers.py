"""Answers to elicitations from the command line: `--answer` and `--answers`. No person is asked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls.plan import check_utf8, read_file, syntax_error, typed
from gaia_mcp.cli.status import UsageError
from gaia_mcp.names import did_you_mean
from gaia_mcp.toolspec.arguments import ArgumentSyntaxError, Assignment, read_assignment, read_json, read_object
from gaia_mcp.toolspec.schema import default_of, properties_of, required_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A tool that asks until it gets a different answer would never end, because the given answers do not change.
MAX_ANSWERED = 100
HOW_TO_ANSWER = "write --answer key=value or --answer key:=JSON"
HOW_TO_LIST = "--answers takes a JSON object, a file with one, or - for stdin"
# The possible answers to an elicitation in URL mode.
ACTIONS = ("accept", "decline", "cancel")


class Answers:
    """Values by field name and, for elicitations in URL mode, actions by host.

    `assignments` override the members of `base`. The object records which assignments were used.
    """

    def __init__(self, assignments: Sequence[Assignment] = (), base: Mapping[str, Any] | None = None) -> None:
        self.are_given = bool(assignments) or base is not None
        self._assignments = assignments
        self._base = base or {}
        self._asked: dict[str, None] = {}
        self._answered = 0

    def content(self, schema: Any) -> dict[str, Any]:
        """The given values for the fields of a form, converted to the types of `schema`. Raises `UsageError`."""
        known = properties_of(schema)
        self._asked.update(dict.fromkeys(known))
        base = {key: value for key, value in self._base.items() if key in known}
        return typed([one for one in self._assignments if one.key in known], schema, base)

    def action(self, host: str) -> str | None:
        """The given action for a URL on this host, or None. Raises `UsageError` for an invalid action."""
        self._asked[host] = None
        given: Any = self._base.get(host)
        for one in self._assignments:
            given = one.value if one.key == host else given
        if not host or given is None:
            return None
        if given not in ACTIONS:
            problem = f"the answer for {host} is {given!r}, not {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}"
            raise UsageError(problem, hint=f"write --answer {host}=accept")
        return str(given)

    def count(self) -> bool:
        """Count an answered elicitation. Returns False once there are too many."""
        self._answered += 1
        return self._answered <= MAX_ANSWERED

    def unused(self) -> str:
        """A remark about the keys of `--answer` that no elicitation used; empty if all were used."""
        unused = [key for key in dict.fromkeys(one.key for one in self._assignments) if key not in self._asked]
        if not unused:
            return ""
        meant = did_you_mean(unused[0], self._asked) if self._asked else ""
        return f"no question used {', '.join(map(repr, unused))}" + (f"; {meant}" if meant else "")


def read_answers(words: Sequence[str], listed: str | None) -> Answers:
    """The answers that `--answer` and `--answers` give. Raises `UsageError`."""
    check_utf8(words)
    try:
        assignments = [read_assignment(word) for word in words]
        for key, value, is_raw in assignments:
            if is_raw and not value.startswith("@"):
                read_json(value, key)
    except ArgumentSyntaxError as problem:
        raise UsageError(f"--answer: {problem}", hint=syntax_error(problem).hint or HOW_TO_ANSWER) from None
    return Answers(assignments, _read_object(listed) if listed is not None else None)


def with_defaults(content: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """`content`, completed with the defaults of the other fields."""
    defaults = {key: default_of(field, schema) for key, field in properties_of(schema).items()}
    return {**{key: value for key, value in defaults.items() if value is not None}, **content}


def missing_in(content: Mapping[str, Any], schema: Any) -> list[str]:
    """The required fields of a form that have no value."""
    return [key for key in required_of(schema) if key not in content]


def _read_object(listed: str) -> dict[str, Any]:
    try:
        if listed.startswith("{"):
            return read_object(listed, "--answers")
        return read_object(read_file(listed, HOW_TO_LIST), "standard input" if listed == "-" else listed)
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=HOW_TO_LIST) from None
