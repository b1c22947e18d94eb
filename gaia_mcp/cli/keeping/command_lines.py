"""Command lines that run in the keeper: a plain `call` of a server that it holds.

The command that was typed sends its words, its folder and its variables as it got them from the system, and prints what
comes back: everything that a call loads is loaded here already. The call is made by the same code as in a process of
its own, with a session of its own, so that its answer is the same. Everything else is not plain, and runs there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.cli.calls import Answers, planned
from gaia_mcp.cli.calls.answering import Answering
from gaia_mcp.cli.calls.calling import call_of, called_with
from gaia_mcp.cli.grammar import ServerWords, with_group
from gaia_mcp.cli.invocation import Invocation, refused
from gaia_mcp.cli.lines import CommandLine, program_name
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.core.errors import MCPError
from gaia_mcp.fleet.keeper.client import address_in
from gaia_mcp.fleet.keeper.connections import EXIT, PROGRESS
from gaia_mcp.fleet.keeper.errors import read_error
from gaia_mcp.fleet.session import Answerers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.screen.session_view import Waiting
    from gaia_mcp.fleet.keeper.connections import LineClient
    from gaia_mcp.fleet.keeper.process import Keeper
    from gaia_mcp.protocol.events import Progressed

# The parameters of a plain line: none of them reads a file or standard input, or asks a person.
_PARAMETERS = frozenset(
    ("target", "words", "args", "raw", "read_only", "stage", "agent", "as_json", "timeout", "quiet")
)


class Request(NamedTuple):
    """A command line as it was typed: the program, its words, the working folder and the variables; whether its stderr
    is a terminal, and whether a person can be asked there.
    """

    program: str
    words: Sequence[str]
    folder: str
    environ: Mapping[str, str]
    has_terminal: bool = False
    has_person: bool = False


def read_request(data: bytes) -> Request | None:
    """The request in `data`, strings that end with NUL; None if it is of another version, or invalid."""
    try:
        version, program, folder, about, count, *rest = [os.fsdecode(each) for each in data.split(b"\0")]
        words = rest[: int(count)]
        environ = dict(each.split("=", 1) for each in rest[len(words) :] if "=" in each)
    except ValueError:
        return None
    if version != __version__:
        return None
    return Request(program, words, folder, environ, "t" in about, "p" in about)


def run_command_line(data: bytes, keeper: Keeper, client: LineClient) -> None:
    """Run the line in a request for `client`, if it is plain. Raises `OSError` if that has disconnected."""
    request = read_request(data)
    if request is None:
        return
    with suppress(_NotPlainError):
        client.send(EXIT, b"%d" % _run(request, keeper, client))


class _NotPlainError(Exception):
    """The line must run in a process of its own."""


class _View(SessionView):
    """The terminal of the command, which shows what a person waits for."""

    def __init__(self, screen: Screen, what: str, client: LineClient) -> None:
        super().__init__(screen, what)
        self._commander = client

    @property
    def is_watched(self) -> bool:
        return True

    def progressed(self, progress: Progressed) -> None:
        with suppress(OSError):  # It has disconnected, and the call is being cancelled.
            self._commander.send(PROGRESS, json.dumps(progress).encode())


class _Answering(Answering):
    """Asks the person at the terminal of the command."""

    def __init__(self, screen: Screen, client: LineClient) -> None:
        super().__init__(screen, Answers())
        self._commander = client

    def answerers(self, server: str, waiting: Waiting, *, attended: bool = True) -> Answerers:  # noqa: ARG002
        def elicit(params: dict[str, Any]) -> dict[str, Any]:
            try:
                answer = json.loads(self._commander.ask(json.dumps({"server": server, "params": params}).encode()))
            except OSError:
                return {"action": "cancel"}
            if (error := read_error(answer.get("error"))) is not None:
                raise error
            return dict(answer["answer"])

        return Answerers(elicit)


def _run(request: Request, keeper: Keeper, client: LineClient) -> int:
    words = with_group(request.words)
    line = call_of(words)
    if line is None or line.after or not line.values.keys() <= _PARAMETERS:
        raise _NotPlainError
    given = dict(line.values)
    typed = [given.pop("target"), *given.pop("words", [])]
    args, read_only = given.pop("args", None), given.pop("read_only", False)
    if "timeout" in given:
        given["timeout"] = float(given["timeout"])
    # What is read from a file or from standard input is read by the command itself.
    if any("@" in word or word == "-" for word in typed[1:]) or (args or "").startswith(("@", "-")):
        raise _NotPlainError
    typed_line = CommandLine(words, program=program_name(request.program))
    invocation = Invocation.of(typed_line, "call", given, write=client.send)
    screen = invocation.screen
    try:
        store = ConfigStore.locate(environ=request.environ, cwd=Path(request.folder), reads_once=True)
        if (store.project is not None and not store.project.approved) or store.exposed_secrets() is not None:
            raise _NotPlainError
        deadline = invocation.deadline()
        plan = planned(screen.line, store, ServerWords(typed), args, deadline)
        address = address_in(plan.entry, None, request.folder, request.environ)
        holding = keeper.holding(address, plan.entry) if address is not None else None
        plan = plan._replace(entry=invocation.using(plan.entry))
    except MCPError as error:
        # Reported by the command itself.
        raise _NotPlainError from error
    if holding is None:
        raise _NotPlainError
    client.begin(holding.close)
    if holding.remark:
        screen.remark(holding.remark)
    try:
        return called_with(
            invocation,
            _Answering(screen, client) if request.has_person else Answering.of(invocation),
            plan._replace(entry=plan.entry._replace(held=holding)),
            deadline,
            read_only=read_only,
            view_of=(lambda screen, what: _View(screen, what, client)) if request.has_terminal else SessionView,
        )
    except MCPError as error:
        return screen.fail(error)
    except OSError as error:
        return screen.fail(refused(screen.line, error))
