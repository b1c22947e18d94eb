"""A call as the command line gives it, before its server is started: the server, the tool, and the arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.calls.words import HOW_TO_WRITE, check_words, option_unknown
from gaia_mcp.cli.hints import to_type
from gaia_mcp.cli.status import UsageError
from gaia_mcp.names import split_tool_name
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES
from gaia_mcp.toolspec.assignments import ArgumentSyntaxError, Assignment, read_assignment, read_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore


class Plan(NamedTuple):
    """A call of a configured server. `base` is the object of `--args`; the arguments in `words` replace its members.
    `is_base_read`: it was read from a file, or from standard input.
    """

    entry: ServerEntry
    tool: str
    words: list[str]
    base: dict[str, Any]
    is_base_read: bool = False


def planned(store: ConfigStore, target: str, words: list[str], args: str | None) -> Plan:
    """The call that `NAME TOOL [ARG...]` and `--args` mean.

    Raises `UsageError`, and as `ConfigStore.entry` does.
    """
    server, tool, given = _split(target, words, store.names())
    entry = store.entry(server)
    read = check_words(entry, tool, given)
    if args is not None and read.base is not None:
        raise UsageError("--args and a JSON object exclude each other", hint="leave --args out")
    return Plan(entry, tool, given, base_arguments(args), args is not None and args.startswith(("@", "-")))


def assignment(word: str) -> Assignment:
    """The argument that `word` is. Raises `UsageError`."""
    try:
        return read_assignment(word)
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=HOW_TO_WRITE) from None


def typed(assignments: Sequence[Assignment], schema: Any, base: dict[str, Any] | None = None) -> dict[str, Any]:
    """The arguments in the types of a tool's schema, over `base`; files are read. Raises `UsageError`."""
    from gaia_mcp.toolspec.arguments import typed_arguments

    try:
        return typed_arguments(assignments, schema, read_file, base)
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint=HOW_TO_WRITE) from None


def _split(target: str, words: list[str], servers: list[str]) -> tuple[str, str, list[str]]:
    if target.startswith("-") and target not in servers:
        raise option_unknown(target)
    if target not in servers and (parts := split_tool_name(target, servers)) is not None:
        return parts[0], parts[1], words
    if target in servers and not words:
        hint = f"see its tools with: {to_type('tools', target)}"
        raise UsageError(f"which tool of {target!r}?", hint=hint)
    if target in servers and words[0].startswith("-"):
        raise option_unknown(words[0])
    # An unknown server is reported as such by the store, whatever follows.
    if target not in servers and "." in target and (not words or "=" in words[0]):
        server, _, tool = target.partition(".")
        return server, tool, words
    return target, words[0] if words else "", words[1:]


def base_arguments(args: str | None) -> dict[str, Any]:
    """The object that `--args` gives. Raises `UsageError`."""
    if args is None:
        return {}
    try:
        if args == "-":
            return read_object(sys.stdin.read(), "standard input")
        if args.startswith("@"):
            return read_object(read_file(args[1:]), args[1:])
        return read_object(args, "--args")
    except ArgumentSyntaxError as problem:
        raise UsageError(str(problem), hint="--args takes a JSON object, @FILE with one, or - for stdin") from None


def read_file(name: str) -> str:
    """The text of the file that an argument names, `-` for standard input. Raises `UsageError`."""
    try:
        if name == "-":
            return sys.stdin.read()
        with Path(name).expanduser().open(encoding="utf-8") as file:
            text = file.read(MAX_RECORD_BYTES + 1)
    except OSError as problem:
        raise UsageError(
            f"{name!r} cannot be read: {problem.strerror}", hint="key=@FILE takes the value from a file"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name!r} is not UTF-8 text", hint="encode it first, for instance with base64") from None
    if len(text) > MAX_RECORD_BYTES:
        raise UsageError(f"{name!r} is longer than any message may be", hint="name another file")
    return text
