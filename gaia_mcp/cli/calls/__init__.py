"""What a call needs in addition to its session: its plan, its arguments, and answers to the server's requests.

The plan is what is given on the command line, read before the server is started: the server, the tool, the words of the
arguments, and the answers of `--answer` and `--answers`. The words are read again with the schema of the tool. An error
names the word; its hint is a corrected command line, if the tool is known.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import ServerUnknownError
from gaia_mcp.core.files import read_rest, read_typed
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import home_expanded
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.toolspec.arguments import (
    DASHES,
    ArgumentSyntaxError,
    Assignment,
    Given,
    NoKeyError,
    NotJSONError,
    OptionUnknownError,
    given_keys,
    is_text,
    read_arguments,
    read_assignment,
    read_json,
    read_object,
    split_arguments,
)
from gaia_mcp.toolspec.schema import default_of, properties_of, required_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gaia_mcp.cli.checks.locked import LockedTools, Locking
    from gaia_mcp.cli.grammar import ServerWords
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.deadline import Deadline

HOW_TO_GIVE = "--args takes a JSON object, @FILE with one, or - for stdin"
# Together with the problem before it, this fits two lines of a usual terminal.
SIGNATURE_CHARS = 120
HOW_TO_WRITE = "arguments are key=value, key:=JSON or key=@FILE"
HOW_TO_QUOTE = """quote JSON as one word: '{"key": "value"}'"""
# A tool that asks until it gets a different answer would never end, because the given answers do not change.
MAX_ANSWERED = 100
HOW_TO_ANSWER = "write --answer key=value or --answer key:=JSON"
HOW_TO_LIST = "--answers takes a JSON object, a file with one, or - for stdin"
# The possible answers to an elicitation in URL mode.
ACTIONS = ("accept", "decline", "cancel")


class Plan(NamedTuple):
    """A call. The arguments in `words` override the members of `base`, the object of `--args`. `is_base_read`: the
    object was read from a file or from standard input.
    """

    entry: ServerEntry
    tool: str
    words: list[str]
    base: dict[str, Any]
    is_base_read: bool = False


def planned(
    line: CommandLine, store: ConfigStore, typed: ServerWords, args: str | None, deadline: Deadline | None = None
) -> Plan:
    """The call that `NAME TOOL [ARG...]` and `--args` describe; also `NAME.TOOL [ARG...]`, and `TOOL [ARG...] --
    COMMAND [ARG...]`.

    Raises `UsageError`, and as `find_server` does.
    """
    entry, tool, given = _split(line, store, typed)
    line.uses(entry)
    check_utf8((tool, *given))
    read = check_words(line, entry, tool, given)
    if args is not None and read.base is not None:
        raise UsageError("--args and a JSON object cannot be used together", hint="leave --args out")
    if args is None:
        return Plan(entry, tool, given, {})
    return Plan(entry, tool, given, base_arguments(args, deadline), args.startswith(("@", "-")))


def typed(
    assignments: Sequence[Assignment], schema: Any, base: dict[str, Any] | None = None, deadline: Deadline | None = None
) -> dict[str, Any]:
    """The arguments, converted to the types of a tool's schema, over `base`; files are read. Raises `UsageError`."""
    from gaia_mcp.toolspec.arguments import typed_arguments

    try:
        return typed_arguments(assignments, schema, partial(read_file, deadline=deadline), base)
    except ArgumentSyntaxError as problem:
        raise syntax_error(problem) from None


def text_arguments(words: Sequence[str]) -> dict[str, Any]:
    """The arguments of a prompt or a template, whose keys are not known yet. Raises `UsageError`."""
    for word, option, value in split_arguments(words, None):
        if option and value is None:
            raise UsageError(f"{word} needs a value", hint=f"write {word}=VALUE")
    given = read_given(words)
    return typed(given.assignments, {}, given.base)


def _split(line: CommandLine, store: ConfigStore, typed: ServerWords) -> tuple[ServerEntry, str, list[str]]:
    """Returns the server, the tool and the arguments."""
    servers = store.names()
    first, *rest = typed.words
    if first.startswith("-") and first not in servers:
        raise option_unknown(line, first)
    if first in servers and not typed.has_command(servers):
        # The usual case: nothing more is loaded.
        entry = store.entry(first)
    else:
        from gaia_mcp.cli.entries.targets import find_entry, find_server, tool_of

        if not typed.has_command(servers) and (parts := tool_of(first, servers)) is not None:
            return find_entry(store, parts[0]), parts[1], rest
        try:
            entry, rest = find_server(line, store, typed)
        except ServerUnknownError:
            server, dot, _ = first.partition(".")
            if dot and (not rest or "=" in rest[0]):
                raise store.unknown(server) from None
            raise
    if not rest:
        raise UsageError(
            f"no tool of {entry.name!r} given", hint=f"see its tools with: {line.to_type('tools', entry.name)}"
        )
    if rest[0].startswith("-"):
        raise option_unknown(line, rest[0])
    return entry, rest[0], rest[1:]


def base_arguments(args: str | None, deadline: Deadline | None = None) -> dict[str, Any]:
    """The object that `--args` gives. Raises `UsageError`, and `InputLateError` at the `deadline`."""
    if args is None:
        return {}
    try:
        if args == "-":
            return read_object(read_file("-", deadline=deadline), "standard input")
        if args.startswith("@"):
            return read_object(read_file(args[1:], HOW_TO_GIVE, deadline), args[1:])
        return read_object(args, "--args")
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=HOW_TO_GIVE) from None


def read_file(name: str, hint: str = "", deadline: Deadline | None = None) -> str:
    """The text of the file or pipe that an argument names; `-` means standard input.

    Raises `UsageError` with this `hint` if it cannot be read, `InputLateError` if it has not ended by the `deadline`,
    and `ConfigFileError` for the home folder of an unknown user.
    """
    remaining = deadline.remaining if deadline is not None else None
    try:
        if name == "-":
            return read_rest(sys.stdin.buffer, MAX_RECORD_BYTES, remaining).decode()
        return read_typed(home_expanded(Path(name)), MAX_RECORD_BYTES, remaining).decode()
    except TimeoutError:
        assert deadline is not None  # noqa: S101 (nothing else limits the time)
        from gaia_mcp.core.errors import InputLateError

        raise InputLateError("standard input" if name == "-" else name, deadline.allowed) from None
    except OSError as problem:
        text = json.dumps(f"@{name}", ensure_ascii=False)
        literal = f"key=@FILE takes the value from a file; for the text itself: key:={shlex.quote(text)}"
        raise UsageError(f"{name!r} cannot be read: {problem.strerror}", hint=hint or literal) from None
    except UnicodeDecodeError:
        shown = "standard input" if name == "-" else repr(name)
        raise UsageError(f"{shown} is not UTF-8 text", hint="encode it first, for instance with base64") from None


def check_utf8(words: Iterable[str]) -> None:
    """Raises `UsageError` for a word that is not UTF-8, because no message can contain it."""
    for word in words:
        if not is_text(word):
            shown = os.fsencode(word).decode("utf-8", "backslashreplace")
            raise UsageError(f"'{shown}' is not UTF-8", hint="type it in UTF-8, or encode it, for instance with base64")


def check_no_option(line: CommandLine, word: str) -> None:
    """Raises `UsageError` for an option where a name is expected."""
    if word.startswith("-"):
        raise option_unknown(line, word)


def read_given(words: Sequence[str]) -> Given:
    """The arguments in `words`, without the schema of any tool. Raises `UsageError`."""
    try:
        return read_arguments(words)
    except ArgumentSyntaxError as problem:
        raise syntax_error(problem) from None


def check_words(line: CommandLine, entry: ServerEntry, tool: str, words: Sequence[str]) -> Given:
    """The arguments in `words`, as far as they can be read without the schema. Raises `UsageError`."""
    try:
        given = read_arguments(words)
        for key, value, is_raw in given.assignments:
            if is_raw and not value.startswith("@"):
                read_json(value, key)
        return given
    except NoKeyError as problem:
        raise _without_key(line, str(problem), entry.name, tool, words, seen_schema(entry, tool)) from None
    except OptionUnknownError as problem:
        raise option_unknown(line, problem.option) from None
    except ArgumentSyntaxError as problem:
        raise syntax_error(problem) from None


def read_words(line: CommandLine, server: str, tool: str, words: Sequence[str], schema: Any) -> Given:
    """The arguments in `words`, read with the schema of their tool. Raises `UsageError`."""
    try:
        return read_arguments(words, schema)
    except NoKeyError as problem:
        raise _without_key(line, str(problem), server, tool, words, schema) from None
    except OptionUnknownError as problem:
        raise option_unknown(line, problem.option, server, tool, schema) from None
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=_how_to_see(line, server, tool)) from None


def syntax_error(problem: ArgumentSyntaxError) -> UsageError:
    """The error for arguments with invalid syntax, worded the same before and after the schema is known."""
    return UsageError(str(problem), hint=HOW_TO_QUOTE if isinstance(problem, NotJSONError) else HOW_TO_WRITE)


def option_unknown(line: CommandLine, option: str, server: str = "", tool: str = "", schema: Any = None) -> UsageError:
    """The error for an option that the command does not have, and that is not an argument of `tool`, if `tool` is
    given.
    """
    from gaia_mcp.cli.grammar.parsing import PROGRAM
    from gaia_mcp.core.names import near_misses

    command = line.command or "call"
    ours = [name for each in PROGRAM.commands["mcp"].commands[command].options for name in each.names]
    # The dashes are common to all options, and would make every name similar.
    close = near_misses(option.lstrip("-"), [name.lstrip("-") for name in [*properties_of(schema), *ours]])
    meant = f"did you mean {' or '.join(repr(f'{DASHES}{name}') for name in close)}?" if close else ""
    if not tool:
        return UsageError(f"no such option: {option}", hint=meant or f"see: {line.to_type(command, more='--help')}")
    problem = f"no such option: {option}, and tool {tool!r} of {server!r} has no such argument"
    return UsageError(problem, hint=meant or _how_to_see(line, server, tool))


def _without_key(
    line: CommandLine, problem: str, server: str, tool: str, words: Sequence[str], schema: Any
) -> UsageError:
    from gaia_mcp.toolspec.describe import signature

    if schema is None:
        return UsageError(problem, hint=f"{HOW_TO_WRITE}; see them with: {line.to_type('tools', server)}")
    problem = f"{problem}; the tool is {signature(tool, schema, SIGNATURE_CHARS)}"
    keyed = _with_keys(words, schema)
    return UsageError(problem, hint=f"write: {line.to_type('call', server, tool, *keyed)}" if keyed else HOW_TO_WRITE)


def _with_keys(words: Sequence[str], schema: Any) -> list[str]:
    """`words` with keys added to the values that have none, in the order of the tool's parameters; empty if there are
    too few parameters.
    """
    from gaia_mcp.toolspec.schema import needed_of, parts_of, types_of

    known, given, needed = properties_of(schema), given_keys(words, schema), needed_of(schema)
    keys = [key for key in [*needed, *(key for key in known if key not in needed)] if key not in given]
    keyed: list[str] = []
    for word, option, value in split_arguments(words, schema):
        if option:
            keyed.append(word if value is None or "=" in word else f"{word}={value}")
        elif "=" in word or word.startswith("{"):
            keyed.append(word)
        elif word in keys:
            keyed.append(f"{word}=VALUE")
        elif not keys:
            return []
        else:
            keyed.append(f"{keys[0]}={word}")
            if not any("array" in types_of(part) for part in parts_of(known.get(keys[0]), schema)):
                keys.pop(0)
    return keyed


def seen_schema(entry: ServerEntry, tool: str) -> Any:
    """The cached schema of a tool; None if it is not cached."""
    from gaia_mcp.core.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    tools = ServerCache(cache_folder(), entry).seen() or []
    return next((each.get("inputSchema") for each in tools if each["name"] == tool), None)


def _how_to_see(line: CommandLine, server: str, tool: str) -> str:
    return f"show its parameters: {line.to_type('call', server, tool, more='--help')}"


def locked_tools_of(screen: Screen, server: str, locking: Locking | None) -> LockedTools | None:
    """The tools that these options require; None without them. Raises `ContractError` if the lock file does not have
    the server, and as `LockedTools.wanted` does.
    """
    if locking is None:
        return None
    from gaia_mcp.cli.checks.locked import LockedTools

    locked_tools = LockedTools.wanted(screen, locking)
    if locked_tools is not None:
        locked_tools.contract(server)
    return locked_tools


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
