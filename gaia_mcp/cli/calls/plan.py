"""A call as given on the command line, before its server is started: the server, the tool, and the arguments."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.calls.words import check_utf8, check_words, option_unknown, read_given, syntax_error
from gaia_mcp.cli.lines import Typed, to_type
from gaia_mcp.cli.status import UsageError
from gaia_mcp.errors import ServerUnknownError
from gaia_mcp.filebytes import read_rest, read_typed
from gaia_mcp.paths import home_expanded
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.toolspec.arguments import ArgumentSyntaxError, Assignment, read_object, split_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.grammar.model import ServerWords
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.deadline import Deadline

HOW_TO_GIVE = "--args takes a JSON object, @FILE with one, or - for stdin"


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
    store: ConfigStore, typed: ServerWords, args: str | None, *, debug: bool = False, deadline: Deadline | None = None
) -> Plan:
    """The call that `NAME TOOL [ARG...]` and `--args` describe; also `NAME.TOOL [ARG...]`, and `TOOL [ARG...] --
    COMMAND [ARG...]`.

    Raises `UsageError`, and as `find_server` does.
    """
    entry, tool, given = _split(store, typed, debug=debug)
    Typed.uses(entry)
    check_utf8((tool, *given))
    read = check_words(entry, tool, given)
    if args is not None and read.base is not None:
        raise UsageError("--args and a JSON object cannot be used together", hint="leave --args out")
    return Plan(entry, tool, given, base_arguments(args, deadline), args is not None and args.startswith(("@", "-")))


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


def _split(store: ConfigStore, typed: ServerWords, *, debug: bool) -> tuple[ServerEntry, str, list[str]]:
    """Returns the server, the tool and the arguments."""
    servers = store.names()
    first, *rest = typed.words
    if first.startswith("-") and first not in servers:
        raise option_unknown(first)
    if first in servers and not typed.has_command(servers):
        # The usual case: nothing more is loaded.
        entry = store.entry(first)
    else:
        from gaia_mcp.cli.entries.targets import find_entry, find_server, tool_of

        if not typed.has_command(servers) and (parts := tool_of(first, servers)) is not None:
            return find_entry(store, parts[0], debug=debug), parts[1], rest
        try:
            entry, rest = find_server(store, typed, debug=debug)
        except ServerUnknownError:
            server, dot, _ = first.partition(".")
            if dot and (not rest or "=" in rest[0]):
                raise store.unknown(server) from None
            raise
    if not rest:
        raise UsageError(f"no tool of {entry.name!r} given", hint=f"see its tools with: {to_type('tools', entry.name)}")
    if rest[0].startswith("-"):
        raise option_unknown(rest[0])
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
        from gaia_mcp.errors import InputLateError

        raise InputLateError("standard input" if name == "-" else name, deadline.allowed) from None
    except OSError as problem:
        text = json.dumps(f"@{name}", ensure_ascii=False)
        literal = f"key=@FILE takes the value from a file; for the text itself: key:={shlex.quote(text)}"
        raise UsageError(f"{name!r} cannot be read: {problem.strerror}", hint=hint or literal) from None
    except UnicodeDecodeError:
        shown = "standard input" if name == "-" else repr(name)
        raise UsageError(f"{shown} is not UTF-8 text", hint="encode it first, for instance with base64") from None
