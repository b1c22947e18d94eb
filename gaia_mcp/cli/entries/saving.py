"""The connection to a server before its entry is saved, and the warnings after it was saved."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.entries.difference import remark_on_held_back
from gaia_mcp.cli.entries.targets import suggested_name
from gaia_mcp.cli.hints import hint_for
from gaia_mcp.cli.lines import LAUNCHERS, Typed, again, needs_arguments, to_type
from gaia_mcp.cli.screen.output import Form, counted, remark, report
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.config.command import Command
from gaia_mcp.errors import DeadlineError, EntryError, MCPError, ServerExitedError, SpawnError
from gaia_mcp.hosts.masking import placeholders, plain_secrets
from gaia_mcp.names import did_you_mean, typeable
from gaia_mcp.paths import cache_folder
from gaia_mcp.redaction import masked_arguments, masked_url
from gaia_mcp.safetext import MASK
from gaia_mcp.session.parallel import ask_all
from gaia_mcp.session.session import connected, unsupported
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from gaia_mcp.cli.entries.given import Given
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.session.session import Session

# A URL without its scheme, as people often type it.
_ADDRESS = r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/.*)?|localhost(?::\d+)?(?:/.*)?"


class Tried(NamedTuple):
    """The result of a connection: the server's name, version and number of tools, for JSON and as the end of a
    sentence.
    """

    facts: dict[str, Any]
    presented: str


# The result for a server that is saved without a connection.
UNTRIED = Tried({}, "")


def tried(entry: ServerEntry, deadline: Deadline | None, given: Given | None = None) -> Tried:
    """Connect to a server once. Raises as `connected` does; the hint then also says that nothing was saved."""
    Typed.used.append(entry)
    try:
        with SessionView(f"starting {entry.name}") as view, connected(entry, view, deadline=deadline) as session:
            peer = session.peer
            found = _tools(session)
    except MCPError as error:
        about_given = _hint_for(given, error) if given is not None else ""
        error.hint = about_given or "; ".join(filter(None, ("nothing was saved", hint_for(error))))
        raise
    return _presented(peer, found)


def tried_all(servers: Sequence[Given], entries: Sequence[ServerEntry], deadline: Deadline | None) -> list[Tried]:
    """Connect to each of the new servers once. Raises the last error after reporting the others, and `EntryError` for
    an incomplete command.
    """
    for entry in entries:
        _check_complete(entry)
        if Form.debug:
            remark_on_held_back(entry)
    if len(entries) == 1:
        return [tried(entries[0], deadline, servers[0])]
    Typed.has_several = True
    Typed.used.extend(entries)
    with SessionView(f"starting {len(entries)} servers") as view:
        results = ask_all(entries, _tools, view, deadline)
    problems = []
    for server, result in zip(servers, results, strict=True):
        if result.error is not None:
            result.error.hint = _hint_for(server, result.error) or result.error.hint
            problems.append(result.error)
    for problem in problems[:-1]:
        report(problem)
    if problems:
        remark("nothing was saved: of servers that are pasted together, all or none are saved")
        raise problems[-1]
    return [_presented(result.peer, result.value) for result in results]


def _check_complete(entry: ServerEntry) -> None:
    # A launcher without arguments would wait for input until the timeout.
    target = entry.target
    if isinstance(target, Command) and not target.args and needs_arguments(target.command):
        start = to_type("add", entry.name, more=f"-- {typeable(target.command)} ARG...")
        whole = f"give the program that it runs: {start}"
        raise EntryError(entry.name, f"its command {target.command!r} alone does not start a server", hint=whole)


def _tools(session: Session) -> int:
    """The number of a server's tools. Also requests prompts and resources, so that completion knows them."""
    found = session.tools()
    if session.problems == [unsupported("tools")]:
        remark(f"{session.entry.name}: {session.problems[0]}")
    for kind, ask in (("prompts", session.prompts), ("resources", session.resources_and_templates)):
        if kind in session.capabilities:
            # Not essential: commands that name a prompt or a resource report the error.
            with suppress(MCPError):
                ask()
    return len(found)


def _presented(peer: Peer | None, tools: int) -> Tried:
    info = peer.info if peer else {}
    named = f": {info.get('name', 'unnamed')} {info.get('version', '')}".rstrip()
    facts = {"serverInfo": info, "protocolVersion": peer.version if peer else "", "tools": tools}
    return Tried(facts, f"{named}, {counted(tools, 'tool')}")


def _hint_for(server: Given, error: MCPError) -> str:
    """A hint for a new server that does not work, based on how it was given; empty if there is none."""
    if isinstance(error, (ServerExitedError, DeadlineError)):
        places = [place.partition(" ") for place in placeholders(server.entry)]
        if variables := [name for kind, _, name in places if kind == "env"]:
            options = [word for name in variables for word in ("--env", f"{name}=VALUE")]
            how = again("set it" if len(variables) == 1 else "set them", *options, server=server.name)
            return f"its variables are placeholders; nothing was saved; {how}"
        if arguments := [int(number) for kind, _, number in places if kind == "args"]:
            return _to_be_edited(masked_arguments(server.entry["args"])[arguments[0]])
    if isinstance(error, SpawnError) and "command" in placeholders(server.entry):
        return _to_be_edited(error.command)
    if isinstance(error, SpawnError) and len(server.words) == 1 and re.fullmatch(_ADDRESS, server.words[0]):
        scheme = "http" if server.words[0].startswith("localhost") else "https"
        url = shlex.quote(masked_url(f"{scheme}://{server.words[0]}"))
        return f"if it is a URL: {to_type('add', server.name, more=url)}"
    if isinstance(error, SpawnError) and error.case == "not-on-path" and server.words and server.name in LAUNCHERS:
        words = [server.name, *server.words]
        name = suggested_name({"command": words[0], "args": words[1:]}) or "NAME"
        named = to_type("add", name, more=f"-- {shlex.join(masked_arguments(words))}")
        return f"the name of the server is missing: {named}"
    return ""


def _to_be_edited(placeholder: str) -> str:
    return f"{placeholder!r} is a placeholder; {again('save it, then edit it,', '--no-check')}"


def warn_of_placeholders(name: str, entry: Mapping[str, Any]) -> None:
    """Print a remark for each value of an entry that is a placeholder."""
    for place in placeholders(entry):
        kind, _, which = place.partition(" ")
        if kind == "env":
            told, change = f"{which} is a placeholder", to_type("edit", name, more=f"--env {typeable(which)}=VALUE")
        elif kind == "header":
            header = shlex.quote(f"{which}: VALUE")
            told, change = f"the header {which} is a placeholder", to_type("edit", name, more=f"--header {header}")
        else:
            value = repr(masked_arguments(entry["args"])[int(which)]) if kind == "args" else f"its {kind}"
            told, change = f"{value} contains a placeholder", to_type("edit", name)
        remark(f"{told}; set it with: {change}")


def warn_of_patterns(entry: ServerEntry) -> None:
    """Print a remark for each name and pattern of the entry's filter that matches no tool, if the tools are cached."""
    tools = ServerCache(cache_folder(), entry).listed()
    if tools is None or entry.tool_filter is None:
        return
    names = [tool["name"] for tool in tools]
    for pattern in entry.tool_filter.without_match(names):
        meant = did_you_mean(pattern, names)
        remark(f"{pattern!r} matches no tool of {entry.name!r}" + (f"; {meant}" if meant else ""))


def warn_of_secrets(entry: Mapping[str, Any]) -> None:
    """Print a remark for each plain-text secret in an entry."""
    for place in plain_secrets(entry):
        if place in placeholders(entry):
            continue  # A placeholder is not yet a secret.
        kind, _, name = place.partition(" ")
        if kind == "env":
            instead = f"--env {name} alone would store a reference to the variable instead"
            remark(f"{name} is stored as plain text; {instead}")
        else:
            kind = "setting" if kind == "settings" else kind
            what = f"the {kind} {name}" if name else _masked_part(entry, kind)
            remark(f"{what} is stored as plain text; use a reference such as ${{TOKEN}} instead")


def _masked_part(entry: Mapping[str, Any], member: str) -> str:
    """Which part of a member's value is a secret: its first masked argument, with the option before it."""
    given = entry[member]
    if not isinstance(given, list):
        return f"the value of {member!r}"
    shown = masked_arguments(given)
    at = next(at for at, argument in enumerate(shown) if argument != given[at])
    option = [shown[at - 1]] if at and shown[at] == MASK and shown[at - 1].startswith("-") else []
    return f"the argument {' '.join([*option, shown[at]])!r}"


def warn_of_files(name: str, arguments: list[str]) -> None:
    """Print a remark if an argument is a file in the working folder, which a server started elsewhere cannot find."""
    for argument in arguments:
        # An agent is FILE:CLASS.
        names = (argument, argument.partition(":")[0])
        if not os.path.isabs(argument) and any(map(os.path.isfile, names)):  # noqa: PTH117
            where = "the server starts in the folder that it is called from"
            keep = to_type("edit", name, more="--cwd .")
            remark(f"{argument!r} is a file of this folder, and {where}; keep it here: {keep}")
            return
