"""What a command sends to the keeper: what it makes of every response, and how it starts one."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.served import own_module
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConnectError, DeadlineError, MCPError, NotConnectedError, ServerExitedError
from gaia_mcp.fleet.keeper import (
    IS_BUSY,
    NOT_HELD,
    OTHER_VERSION,
    SERVER_ERROR,
    SOCKET,
    Address,
    encoded_line,
    errors,
    read_line,
    socket_path,
)
from gaia_mcp.fleet.keeper.requests import Keeper, KeeperEndedError, OtherVersionError, wait_until_gone
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import enough, script
from tests.processes import children
from tests.waiting import PATIENCE_SECONDS, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fleet.keeper.conftest import Running

    MakePeer = Callable[[Callable[[socket.socket], object]], Keeper]

pytestmark = pytest.mark.story

CALC = Address("calc", environ={"A": "\udcff"})
COMPLETION: dict[str, Any] = {"ref": {}, "argument": {}}


def answering(answer: Any, received: list[Any] | None = None) -> Callable[[socket.socket], object]:
    """Answers one request with a line, or with a message whose rest is given."""

    def do(connection: socket.socket) -> None:
        found = read_line(connection, enough())
        assert found is not None
        request = json.loads(found[0])
        if received is not None:
            received.append(request)
        line = answer if isinstance(answer, bytes) else encoded_line({"jsonrpc": "2.0", "id": request["id"], **answer})
        connection.sendall(line)

    return do


def failing(code: int, data: Any = None) -> Callable[[socket.socket], object]:
    """Answers one request with an error."""
    return answering({"error": {"code": code, "message": "the text", "data": data}})


def every_request(keeper: Keeper) -> list[Any]:
    """The results of all requests; of `hold` the class of its error."""
    try:
        keeper.hold(CALC, None, enough())
        held: Any = "held"
    except KeeperEndedError as error:
        held = error.message
    return [
        held,
        keeper.use(CALC, enough()),
        keeper.described(),
        keeper.release(None),
        keeper.socket_of(CALC, enough()),
        keeper.stderr_tail(CALC),
        keeper.completed(CALC, COMPLETION, enough()),
        keeper.end(),
    ]


NOTHING = ["the keeper has ended", None, None, [], None, "", [], True]


def test_without_a_keeper_nothing_is_held(folder: Path) -> None:
    """Ours: also with a socket on which nothing listens, and with a file in place of its folder."""
    keeper = Keeper(folder / SOCKET)
    assert (keeper.is_there(), every_request(keeper)) == (False, NOTHING)
    folder.mkdir(mode=0o700)
    assert every_request(keeper) == NOTHING
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(keeper.path))
    assert (keeper.is_there(), every_request(keeper)) == (True, NOTHING)
    assert every_request(Keeper(keeper.path / "a" / "b")) == NOTHING


@pytest.mark.parametrize(
    "do",
    [
        lambda connection: connection.close(),
        lambda connection: connection.recv(1),
        answering(b'{"jsonrpc": "2.0", '),
        failing(NOT_HELD),
    ],
)
def test_a_keeper_that_ends_before_it_answers_is_one_that_does_not_run(
    peer: MakePeer, do: Callable[[socket.socket], object]
) -> None:
    """Ours: a command that came as it ended does without it; and so it does with one that does not hold the server."""
    assert every_request(peer(do)) == NOTHING


@pytest.mark.parametrize(
    "answer",
    [
        b"{\n", b"[]\n", b"5\n", b"{}\n", b'{"error": 5}\n', b'{"error": {}}\n', b'{"result": 5}\n',
        pytest.param(b"[" * 99_999 + b"\n", id="deep"),
        encoded_line({"error": {"code": OTHER_VERSION, "message": "m", "data": {}}}),
        encoded_line({"error": {"code": OTHER_VERSION, "message": "m"}}),
    ],
)  # fmt: skip
def test_an_invalid_response_is_named(peer: MakePeer, answer: bytes) -> None:
    """Ours: a keeper of another version may send anything."""
    keeper = peer(answering(answer))

    with pytest.raises(ConnectError, match="the keeper has sent an invalid response"):
        keeper.described()
    assert (keeper.stderr_tail(CALC), keeper.completed(CALC, COMPLETION, enough())) == ("", [])


def test_errors_of_the_keeper_are_raised(peer: MakePeer) -> None:
    """Ours: those of a server as they are, any other by its text."""
    exited = ServerExitedError("calc", "at its start", 3, "out of memory")
    outcomes = iter([failing(SERVER_ERROR, errors.as_json(exited)), failing(SERVER_ERROR, 5), failing(-7)])
    keeper = peer(lambda connection: next(outcomes)(connection))

    with pytest.raises(ServerExitedError) as caught:
        keeper.use(CALC, enough())
    assert vars(caught.value) == vars(exited)
    for _ in range(2):
        with pytest.raises(MCPError, match="the text"):
            keeper.hold(CALC, 5.0, enough())


def test_a_keeper_of_another_version_is_named(peer: MakePeer) -> None:
    """Ours: with the number of its calls; it is asked to end."""
    outcomes = iter([failing(OTHER_VERSION, {"running": 2}), failing(IS_BUSY), answering({"result": {}})])
    keeper = peer(lambda connection: next(outcomes)(connection))

    with pytest.raises(OtherVersionError) as caught:
        keeper.use(CALC, enough())
    assert (caught.value.message, caught.value.running) == ("the text", 2)
    assert [keeper.end(), keeper.end()] == [False, True]


def test_a_keeper_that_hangs_is_not_waited_for_without_limit(peer: MakePeer) -> None:
    """Ours: whether it sends nothing, or reads nothing."""
    may_end = threading.Event()
    keeper = peer(lambda _: may_end.wait(PATIENCE_SECONDS))
    many = Address("calc", environ={"A": "x" * 1_000_000})
    for address in (CALC, many):
        with pytest.raises(DeadlineError, match="server 'calc' did not answer at its start within"):
            keeper.hold(address, None, Deadline(0.1))
    may_end.set()


def test_a_folder_that_others_can_enter_is_not_used(folder: Path, peer: MakePeer) -> None:
    """Ours: what listens there may be another's."""
    keeper = peer(failing(NOT_HELD))
    folder.chmod(0o755)
    with pytest.raises(ConnectError, match="can be used by others"):
        keeper.described()
    folder.chmod(0o700)


def test_what_the_system_refuses_is_an_error(folder: Path) -> None:
    """Ours: with its reason; a loop of links is neither a folder nor a socket."""
    folder.mkdir(mode=0o700)
    keeper = Keeper(folder / SOCKET)
    keeper.path.symlink_to(keeper.path)

    for ask in (keeper.described, lambda: keeper.ensure([], os.getpid, enough())):
        with pytest.raises(ConnectError, match="the keeper cannot be reached: Too many levels of symbolic links"):
            ask()


def test_a_held_server_is_connected_to_again(peer: MakePeer) -> None:
    """Ours: by the same request; what has come after the response belongs to the connection."""
    received: list[Any] = []
    response = encoded_line({"jsonrpc": "2.0", "id": 0, "result": {"remark": "r", "revision": "2025-11-25"}})
    outcomes = iter([answering(response + b"{more", received), answering(response, received), failing(NOT_HELD)])
    keeper = peer(lambda connection: next(outcomes)(connection))
    held = keeper.use(CALC, enough())
    assert held is not None

    first, second = held._connected(enough()), held._connected(enough())
    assert (held.remark, held.revision, first.received, second.received) == ("r", "2025-11-25", b"{more", b"")
    assert received[0] == received[1]
    assert received[0]["params"]["environ"] == {"A": "\udcff"}
    with pytest.raises(MCPError, match="Not connected to MCP server 'calc'"):
        held._connected(enough())
    for each in (first, second):
        each.socket.close()


def test_the_results_of_a_real_keeper_are_returned(running: Running) -> None:
    """Ours: as they are printed."""
    running.hold("calc", script("good_handshake"))
    described = running.keeper.described()

    assert described is not None
    assert described["keeper"]["pid"] == os.getpid()
    assert running.keeper.socket_of(Address("calc"), enough()) == f"{running.folder}/calc.sock"
    assert running.keeper.stderr_tail(Address("calc")) == ""
    assert running.keeper.release(["calc"]) == ["calc"]


# Its start.


def log() -> int:
    """A descriptor for its log."""
    return os.open(os.devnull, os.O_WRONLY)


def program(text: str) -> list[str]:
    """A program in place of a keeper."""
    return [sys.executable, "-c", text]


def test_several_commands_start_one_keeper(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a real one, which outlives them; one that runs is not started again."""
    runtime = folder.parent
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    keeper = Keeper.of_user()
    assert keeper.path == socket_path()
    before = set(children())
    threads = [in_thread(lambda: keeper.ensure([*own_module(), "keeper"], log, enough())) for _ in range(4)]
    for thread, _ in threads:
        thread.join(PATIENCE_SECONDS)
    keeper.ensure(["never-started"], log, enough())
    described = keeper.described()
    assert keeper.end()
    wait_until_gone(keeper.path, enough())

    assert [outcomes for _, outcomes in threads] == [[None]] * 4
    assert described is not None
    assert set(children()) - before == {described["keeper"]["pid"]}
    os.waitpid(described["keeper"]["pid"], 0)
    assert list(runtime.rglob("*")) == [keeper.path.parents[1]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("print('another keeper has it', flush=True); input()", "another keeper has it"),
        ("print('no new line', end='')", "no new line"),
        ("", "it has ended"),
    ],
)
def test_a_keeper_that_does_not_start_says_why(folder: Path, text: str, problem: str) -> None:
    """Ours: and it is not left running, or waited for."""
    before = children()
    with pytest.raises(ConnectError, match=f"the keeper could not be started: {problem}"):
        Keeper(folder / SOCKET).ensure(program(text), log, enough())

    assert children() == before


def test_a_keeper_without_a_program_does_not_start(folder: Path) -> None:
    """Ours: with the reason of the system."""
    with pytest.raises(ConnectError, match="could not be started: No such file"):
        Keeper(folder / SOCKET).ensure(["/no/such/program"], log, enough())


def test_a_keeper_that_hangs_at_its_start_is_killed(folder: Path) -> None:
    """Ours: it would go on without a command that knows of it."""
    before = children()
    has_started = folder.parent / "started"
    hangs = f"import time; open({str(has_started)!r}, 'w'); time.sleep(60)"
    looks = count()
    # Not at the first look.
    deadline = deadline_until(lambda: has_started.exists() and next(looks) > 3)
    with pytest.raises(DeadlineError, match="the keeper did not start within"):
        Keeper(folder / SOCKET).ensure(program(hangs), log, deadline)

    assert children() == before


def test_a_keeper_that_is_never_there_is_given_up(folder: Path) -> None:
    """Ours: one that says that it listens, and does not."""
    notes = folder.parent / "notes"
    program_that_ends = program(f"open({str(notes)!r}, 'a').write('x'); print()")
    with pytest.raises(DeadlineError, match="the keeper did not start within"):
        Keeper(folder / SOCKET).ensure(
            program_that_ends, log, deadline_until(lambda: notes.exists() and notes.read_text() == "xx")
        )


def test_a_start_waits_for_that_of_another_command(folder: Path) -> None:
    """Ours: no longer than it may take."""
    may_end, waits = threading.Event(), threading.Event()

    def slow_log() -> int:
        waits.set()
        assert may_end.wait(PATIENCE_SECONDS)
        return log()

    keeper = Keeper(folder / SOCKET)
    first, outcomes = in_thread(lambda: keeper.ensure(program(""), slow_log, enough()))
    assert waits.wait(PATIENCE_SECONDS)
    with pytest.raises(DeadlineError, match="the keeper did not start within"):
        keeper.ensure([], log, Deadline(0.05))
    may_end.set()
    first.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], ConnectError)


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    """Ours: the parts of a file have none."""
    (folder.parent / "file").touch()

    with pytest.raises(ConnectError, match="cannot be used: Not a directory"):
        Keeper(folder.parent / "file" / "a" / "b" / SOCKET).ensure([], log, enough())


def test_a_path_that_is_too_long_is_named(folder: Path) -> None:
    """Ours: the reason of the system would not say which, or what to do."""
    with pytest.raises(ConnectError, match="and 107 are allowed") as caught:
        Keeper(folder / ("k" * 100) / SOCKET).ensure([], log, enough())

    assert "XDG_RUNTIME_DIR" in caught.value.hint


def test_a_keeper_that_ends_is_waited_for(folder: Path) -> None:
    """Ours: until its socket is gone, and no longer than that may take."""
    folder.mkdir()
    wait_until_gone(folder, Deadline(0.05))
    wait_until_gone(folder / SOCKET, enough())


def test_a_full_queue_is_no_reason_to_start_another(folder: Path) -> None:
    """Ours: it belongs to one that runs; the command waits for it, and no longer than it may."""
    folder.mkdir(mode=0o700)
    keeper = Keeper(folder / SOCKET)
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(keeper.path))
        busy.listen(0)
        waiting.connect(str(keeper.path))
        with pytest.raises(ConnectError, match="cannot be reached: Resource temporarily unavailable"):
            keeper.ensure([], log, Deadline(0.05))
    wait_until(lambda: keeper.described() is None)


def test_a_held_server_is_checked_by_its_keeper(running: Running) -> None:
    """Ours: what it does not answer is a matter of the server, and not of the keeper."""
    running.hold("calc", script("good_handshake"))
    running.hold("mute", script("refuses_ping", "hangs"))
    calc, mute = (running.keeper.use(Address(name), enough()) for name in ("calc", "mute"))
    assert calc is not None
    assert mute is not None

    calc.check(enough())
    with pytest.raises(DeadlineError, match="did not answer a ping"):
        mute.check(Deadline(0.2))
    with pytest.raises(DeadlineError, match="did not answer resources/subscribe"):
        mute.check(Deadline(0.2), "file:///a")
    running.keeper.release(["calc"])
    with pytest.raises(NotConnectedError):
        calc.check(enough())
    for each in (calc, mute):
        each.close()
