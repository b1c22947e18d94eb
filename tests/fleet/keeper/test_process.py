"""The keeper's process: what it holds, whom it serves, and when it ends."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import socket
import threading
import time
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CallCutError,
    CallLostError,
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    PeerError,
    ServerExitedError,
    ServerUnknownError,
)
from gaia_mcp.fleet.keeper import (
    COMPLETE,
    END,
    HOLD,
    IS_BUSY,
    LIST,
    LOCK,
    NOT_HELD,
    OTHER_VERSION,
    RELEASE,
    SOCKET,
    STDERR,
    USE,
    Address,
    encoded_line,
)
from gaia_mcp.fleet.keeper.connections import ON_STDERR, ON_STDOUT, LineClient
from gaia_mcp.fleet.keeper.held import HeldServer, Key
from gaia_mcp.fleet.keeper.process import Keeper as Process
from gaia_mcp.fleet.keeper.process import Place
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import Running, enough, is_closed, request, response_on, script
from tests.processes import PERSON, as_a_person, family
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.story

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
REMEMBERS = script("remembers")


def kept(client: Any, word: str) -> str:
    """What the server kept before this word."""
    return str(client.call("keep", {"label": word})["content"][0]["text"])


def keep(running: Running, word: str, name: str = "calc", **address: Any) -> str:
    """What the server kept before this word, for a client that connects for it."""
    with running.client(name, **address) as client:
        client.open()
        return kept(client, word)


def open_files() -> list[Path]:
    """The open descriptors of this process."""
    return [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]


def make_deaf(connection: socket.socket) -> None:
    """Make the other end wait for this client, which does not read."""
    connection.sendall(encoded_line(INITIALIZE))
    response_on(connection)
    connection.settimeout(0.2)
    with suppress(TimeoutError):
        while True:
            connection.sendall(encoded_line({"jsonrpc": "2.0", "id": "x" * 60_000, "method": "ping"}))


# What it holds.


def test_a_held_server_keeps_what_one_client_has_opened_for_the_next(running: Running) -> None:
    """Ours: this is what it is for."""
    facts = running.hold("calc", REMEMBERS)

    assert [keep(running, word) for word in ("one", "two", "three")] == ["", "one", "two"]
    again = running.hold("calc")
    assert (again["pid"], again["calls"], again["remark"]) == (facts["pid"], 3, "")
    assert running.keeper.release(["calc"]) == ["calc"]
    running.wait_until_ended()


def test_instances_of_one_server_are_held_apart(running: Running) -> None:
    """Ours: each has a process, and a state, of its own."""
    running.hold("calc", REMEMBERS)
    running.hold("calc", instance="b")

    assert [keep(running, "one"), keep(running, "two", instance="b"), keep(running, "three")] == ["", "", "one"]
    assert sorted(running.facts()) == ["calc", "calc@b"]
    assert running.keeper.release(["calc@b", "other"]) == ["calc@b"]
    assert sorted(running.facts()) == ["calc"]


def test_shells_with_other_values_of_its_variables_have_a_server_each(running: Running) -> None:
    """Ours: and variables that the entry does not name do not matter."""
    running.add("calc", {**REMEMBERS, "env": {"TOKEN": "${TOKEN}"}})
    one, two = {"TOKEN": "one"}, {"TOKEN": "two"}

    facts = [running.hold("calc", environ={**os.environ, **each}) for each in (one, two, {**one, "X": "1"})]

    assert facts[0]["pid"] == facts[2]["pid"] != facts[1]["pid"]
    sockets = sorted(Path(each["socket"]).name for each in facts)
    assert sockets == ["calc+2.sock", "calc.sock", "calc.sock"]
    assert sorted(path.name for path in running.folder.iterdir()) == sorted([LOCK, SOCKET, *set(sockets)])


def test_a_changed_entry_restarts_its_server_alone(running: Running) -> None:
    """Ours: with a remark; and what cannot be started is tried again by the next command."""
    other = running.hold("other", REMEMBERS)
    running.hold("calc", REMEMBERS, seconds=100.0)
    keep(running, "one")
    running.add("calc", script("exits_at_once"))
    for _ in range(2):
        with pytest.raises(ServerExitedError):
            running.keeper.use(Address("calc"), enough())
        assert running.facts()["calc"]["state"] == "ended"
    with pytest.raises(ServerExitedError):
        running.hold("calc")
    running.add("calc", {**REMEMBERS, "timeout": 7})
    held = running.keeper.use(Address("calc"), enough())
    assert held is not None
    held.close()

    assert "has changed" in held.remark
    assert keep(running, "two") == ""
    facts = running.facts()
    assert (facts["other"]["pid"], facts["calc"]["keepAlive"]) == (other["pid"], 100.0)


def test_clients_of_a_server_whose_entry_has_changed_are_disconnected(running: Running) -> None:
    """Ours: they would be refused for ever; a client of this program connects again."""
    running.hold("calc", REMEMBERS)
    with running.client("calc") as client, running.connect("calc.sock") as by_hand:
        client.open()
        by_hand.sendall(encoded_line(INITIALIZE))
        response_on(by_hand)
        running.add("calc", {**REMEMBERS, "timeout": 7})
        running.hold("calc")

        assert is_closed(by_hand)
        assert kept(client, "one") == ""


def test_a_server_that_is_ended_during_its_restart_is_not_started(start: Callable[..., Running]) -> None:
    """Ours: it would be held by nothing."""
    running = start(last_seconds=PATIENCE_SECONDS)
    running.hold("calc", REMEMBERS)
    with running.connect("calc.sock") as deaf:
        make_deaf(deaf)
        running.add("calc", {**REMEMBERS, "timeout": 7})
        restart, outcomes = in_thread(lambda: running.hold("calc"))
        # It waits for the client to read.
        wait_until(lambda: running.facts()["calc"]["state"] == "starting")
        end, _ = in_thread(lambda: running.keeper.release(None))
        wait_until(lambda: running.facts() == {})
    restart.join(PATIENCE_SECONDS)
    end.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], ConnectionLostError)
    assert "remembers" not in str(family(os.getpid()))


def test_a_server_that_ends_is_started_again_with_a_remark(running: Running) -> None:
    """Ours: the call that ran reports how it ended; asking for its last words starts nothing."""
    first = running.hold("calc", script("good_handshake"))
    with running.client("calc") as client:
        client.open()
        with pytest.raises(CallLostError) as caught:
            client.call("die", {})
    assert (caught.value.returncode, caught.value.stderr_tail) == (3, "told to die\n")
    assert "told to die" in running.keeper.stderr_tail(Address("calc"))
    assert running.facts()["calc"]["state"] == "ended"
    held = running.keeper.use(Address("calc"), enough())
    assert held is not None
    held.close()

    assert "had ended, and was started again" in held.remark
    facts = running.facts()["calc"]
    assert (facts["state"], facts["calls"], facts["errors"]) == ("open", 1, 1)
    assert facts["pid"] != first["pid"]


def test_a_server_that_does_not_start_is_not_held(running: Running) -> None:
    """Ours: its error is that of a command that starts it."""
    with pytest.raises(ServerExitedError) as caught:
        running.hold("calc", script("exits_at_once"))

    assert "no configuration found" in caught.value.stderr_tail
    running.wait_until_ended()


def test_what_is_not_configured_is_an_error(running: Running) -> None:
    """Ours: as for a command."""
    with pytest.raises(ServerUnknownError):
        running.hold("calc")


def test_many_commands_that_hold_one_server_start_it_once(running: Running) -> None:
    """Ours: also if the first of them wait for its start."""
    running.add("calc", script("slow_start"))
    threads = [in_thread(lambda: running.hold("calc")) for _ in range(20)]
    for thread, _ in threads:
        thread.join(PATIENCE_SECONDS)

    assert len({outcomes[0]["pid"] for _, outcomes in threads}) == 1
    assert sorted(path.name for path in running.folder.glob("*.sock")) == ["calc.sock"]


def test_those_who_wait_for_a_server_that_does_not_start_fail_too(running: Running) -> None:
    """Ours: the place that failed is not one that another command has been told of."""
    running.add("calc", script("exits_at_once"))
    threads = [in_thread(lambda: running.hold("calc")) for _ in range(8)]
    for thread, _ in threads:
        thread.join(PATIENCE_SECONDS)

    # Those that came once the keeper was about to end have found it gone.
    assert all(isinstance(outcomes[0], ConnectError) for _, outcomes in threads)
    running.wait_until_ended()


def test_a_server_that_hangs_at_its_start_is_ended(running: Running) -> None:
    """Ours: only the command that holds it waits, and `down` ends it."""
    running.hold("other", REMEMBERS)
    running.add("hangs", script("hangs_at_start"))
    thread, outcomes = in_thread(lambda: running.hold("hangs"))
    wait_until(lambda: "hangs_at_start" in str(family(os.getpid())))
    assert running.facts()["hangs"] == {"name": "hangs", "state": "starting"}
    assert running.keeper.stderr_tail(Address("hangs")) == ""

    assert keep(running, "one", "other") == ""
    assert running.keeper.release(["other", "hangs"], only_starting=True) == ["hangs"]
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], MCPError)
    assert list(running.facts()) == ["other"]
    assert "hangs_at_start" not in str(family(os.getpid()))


class Starting:
    """A lock that is free at the second attempt, as when a start fails meanwhile."""

    attempts = releases = 0

    def acquire(self, *, blocking: bool) -> bool:
        self.attempts += 1
        return not blocking and self.attempts > 1

    def release(self) -> None:
        self.releases += 1


def test_a_server_is_stopped_again_until_its_start_has_ended() -> None:
    """Ours: at the first time there may have been nothing to stop yet."""
    entry, address = read_entry("calc", REMEMBERS), Address("calc")
    server = HeldServer(Key.of(address, entry), address, entry, None, print)
    place: Any = Place("calc", server)
    place.starting = Starting()

    place.end()

    assert (place.starting.attempts, place.starting.releases) == (2, 1)
    assert server.is_closed
    assert isinstance(place.failure, ConnectionLostError)


def test_a_call_of_a_server_that_is_ended_is_lost(running: Running) -> None:
    """Ours: it may have run; the keeper says what has happened."""
    running.hold("calc", script("hangs_in_call"))
    with running.client("calc") as client:
        client.open()
        thread, outcomes = in_thread(lambda: client.call("echo", {}))
        wait_until(lambda: running.facts()["calc"]["running"])
        assert running.answers(request(END))["error"]["code"] == IS_BUSY
        running.keeper.release(None)
        thread.join(PATIENCE_SECONDS)

        assert isinstance(outcomes[0], CallCutError)
        assert outcomes[0].message == "server 'calc' is not held any more: it was ended during tools/call 'echo'"


def test_a_server_is_ended_once_no_client_was_connected_for_its_time(running: Running) -> None:
    """Ours: a client that is connected stops the time; `up` holds without a limit what was held for a time."""
    running.hold("calc", REMEMBERS, seconds=60.0)
    running.hold("other", REMEMBERS, seconds=60.0)
    assert running.hold("other")["keepAlive"] is None
    with running.client("calc") as client:
        client.open()
        running.clock.now += 1000.0
        assert kept(client, "one") == ""
    running.wait_until_alone()
    running.clock.now += 59.0
    assert keep(running, "two") == "one"
    running.wait_until_alone()
    running.clock.now += 61.0

    wait_until(lambda: list(running.facts()) == ["other"])
    assert running.reports == ["server 'calc' is ended: it was not called for a while"]
    wait_until(lambda: not (running.folder / "calc.sock").exists())


def test_a_clock_that_is_set_ends_no_server(start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: by a person, by the network, or since the machine has slept; only time without a call counts."""
    running = start(clock=signature(Process).parameters["clock"].default)
    running.hold("calc", REMEMBERS, seconds=3600.0)
    assert keep(running, "0") == ""
    clock, years = time.time, 10 * 365 * 24 * 3600.0
    for number, jump in enumerate((years, -years)):
        running.wait_until_alone()
        monkeypatch.setattr(time, "time", lambda jump=jump: clock() + jump)
        running.process._ring()

        assert 0 <= running.facts()["calc"]["idle"] < 3600
        assert keep(running, str(number + 1)) == str(number)


def test_values_of_arguments_are_those_that_the_server_suggests(running: Running) -> None:
    """Ours: for a TAB; a server that cannot is no problem."""
    running.hold("calc", script("good_handshake"))
    running.hold("offers", script("offers", "2025-11-25"))
    completion = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}

    assert running.keeper.completed(Address("calc"), completion, enough()) == []
    assert running.keeper.completed(Address("offers"), completion, enough()) == ["python", "pypy"]
    assert running.keeper.completed(Address("other"), completion, enough()) == []
    assert running.answers(request(COMPLETE, name="calc", completion={}))["error"]["code"] == INVALID_PARAMS


def test_a_command_learns_what_the_keeper_would_hide_of_a_server(running: Running) -> None:
    """Ours: the keeper responds to a ping, and accepts a subscription, whatever the server does."""
    running.hold("calc", script("good_handshake"))
    running.hold("sick", script("refuses_ping"))
    running.hold("mute", script("refuses_ping", "hangs"))
    holdings = {name: running.keeper.use(Address(name), enough()) for name in ("calc", "sick", "mute")}
    calc, sick, mute = holdings.values()
    assert calc is not None
    assert sick is not None
    assert mute is not None

    calc.check(enough())
    with pytest.raises(PeerError, match="answered ping with error -32603: not today"):
        sick.check(enough())
    with pytest.raises(PeerError, match="answered resources/subscribe with error -32603: not today"):
        sick.check(enough(), "file:///a")
    with pytest.raises(DeadlineError, match=r"'mute' did not answer a ping within 0.2 s"):
        mute.check(Deadline(0.2))
    with pytest.raises(DeadlineError, match=r"'mute' did not answer resources/subscribe 'file:///a' within 0.2 s"):
        mute.check(Deadline(0.2), "file:///a")
    running.keeper.release(["calc"])
    with pytest.raises(NotConnectedError):
        calc.check(enough())
    for each in (calc, sick, mute):
        each.close()


# What it refuses.


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"5",
        b"{}",
        b'{"id":1}',
        b'{"id":1,"method":"gaia/list","params":[]}',
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_a_request_that_is_invalid_is_answered(running: Running, line: bytes) -> None:
    """Ours: any program of the user may send it."""
    assert running.answers(line)["error"]["code"] == PARSE_ERROR


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (request(HOLD, name="calc", words="a"), INVALID_PARAMS),
        (request(HOLD, name="calc", keepAlive="soon"), INVALID_PARAMS),
        (request(HOLD, name="calc", keepAlive=[1]), INVALID_PARAMS),
        (request(HOLD, name="calc", keepAlive=-1), INVALID_PARAMS),
        (request(HOLD, name="calc", keepAlive=float("nan")), INVALID_PARAMS),
        (request(HOLD, name="calc", keepAlive=1e9), INVALID_PARAMS),
        (request(RELEASE, names="calc"), INVALID_PARAMS),
        (request(USE, name="calc"), NOT_HELD),
        (request(STDERR, name="calc"), NOT_HELD),
        (request("gaia/other"), METHOD_NOT_FOUND),
        (request(USE, version="0", name=[]), OTHER_VERSION),
    ],
)
def test_parameters_that_are_invalid_are_refused(running: Running, line: bytes, code: int) -> None:
    """Ours: and a request of another version before its parameters are looked at."""
    running.add("calc", REMEMBERS)

    response = running.answers(line)

    assert (response["id"], response["error"]["code"]) == (7, code)


def test_several_requests_may_come_at_once_or_in_pieces(running: Running) -> None:
    """Ours: what follows a request belongs to the next one, or to the server."""
    running.hold("calc", REMEMBERS)
    lines = [b"", request(LIST), request(LIST), request(USE, name="calc")]
    sent = b"\n".join(lines) + b"\n" + encoded_line(INITIALIZE)
    for size in (len(sent), 7):
        with running.connect() as connection:
            for begin in range(0, len(sent), size):
                connection.sendall(sent[begin : begin + size])
            found: list[Any] = []
            received = b""
            while len(found) < 4:
                received += connection.recv(65536)
                *whole, received = received.split(b"\n")
                found += map(json.loads, whole)

        assert [each["id"] for each in found] == [7, 7, 7, 1]
        assert found[3]["result"]["serverInfo"]["name"] == "remembers.py"


# Whom it serves.


def test_any_client_is_served_at_the_socket_of_a_server(running: Running) -> None:
    """Ours: without a request of ours before, and however long it takes to begin."""
    facts = running.hold("calc", REMEMBERS)
    assert (Path(facts["socket"]).stat().st_mode & 0o777, facts["socket"]) == (0o600, f"{running.folder}/calc.sock")
    with running.connect("calc.sock") as connection:
        connection.sendall(encoded_line(INITIALIZE))

        assert response_on(connection)["result"]["serverInfo"]["name"] == "remembers.py"


def test_the_entry_is_read_for_another_program_too(running: Running) -> None:
    """Ours: a server whose file is not approved any more serves no one, and a changed one is started again."""
    first = running.hold("calc", REMEMBERS)["pid"]
    running.add("calc", {**REMEMBERS, "env": {"A": "1"}})
    with running.connect("calc.sock") as connection:
        connection.sendall(encoded_line(INITIALIZE))
        response_on(connection)
        assert running.facts()["calc"]["pid"] != first
    del running.entries["calc"]
    with running.connect("calc.sock") as connection:
        assert is_closed(connection)
    assert "no server 'calc' in servers.json" in running.reports


def test_of_several_with_one_name_that_of_the_nearest_file_is_ended(running: Running) -> None:
    """Ours: another project may have a server of the same name."""
    running.add("calc", REMEMBERS)
    for value in ("1", "2"):
        running.entries["calc"] = read_entry("calc", REMEMBERS, Path(f"/{value}.json"))
        running.hold("calc")

    assert running.keeper.release(["calc"], {"calc": "/2.json"}) == ["calc"]
    assert running.facts()["calc"]["source"] == "/1.json"
    assert running.keeper.release(["calc"], {"calc": "/2.json"}) == ["calc"]


def test_a_target_has_a_socket_of_a_short_name(start: Callable[..., Running]) -> None:
    """Ours: which is the same each time, so that a host may be configured with it."""
    names = []
    for _ in range(2):
        running = start()
        running.add("", REMEMBERS)
        facts = running.hold("", words=["npx", "-y", "some/package"], folder="/work")
        names.append(Path(facts["socket"]).name)
        running.end()

    assert names == ["4c27686d.sock"] * 2


def test_clients_that_send_nothing_are_disconnected(start: Callable[..., Running]) -> None:
    """Ours: each has a thread. One that sends a byte now and then is no better."""
    running = start(request_seconds=0.1)
    with running.connect() as silent, running.connect() as slow, running.connect() as half, running.connect() as gone:
        slow.sendall(b"{")
        half.sendall(b"\0\0\0\0\x05ab")
        gone.sendall(b"\0\0\0\0\x05ab")
        gone.shutdown(socket.SHUT_WR)

        assert all(map(is_closed, (silent, slow, half, gone)))


def test_a_client_that_has_gone_is_forgotten(running: Running) -> None:
    """Ours: also one that goes in the middle of a request, or before its response."""
    with running.connect() as connection:
        connection.sendall(b'{"id": ')
    with running.connect() as connection:
        connection.sendall(request(LIST) + b"\n")
    running.connect().close()

    assert running.facts() == {}


def test_a_client_that_does_not_read_its_responses_is_forgotten(running: Running) -> None:
    """Ours: the system reports that in another way."""
    running.hold("calc", REMEMBERS)
    with running.connect("calc.sock") as connection:
        connection.sendall(encoded_line(INITIALIZE))
        assert connection.recv(1, socket.MSG_PEEK) == b"{"
    running.wait_until_alone()


def test_connections_one_after_another_leave_nothing(running: Running) -> None:
    """Ours: neither a thread, nor a descriptor, nor an object."""
    running.hold("calc", REMEMBERS)

    def use(times: int) -> tuple[int, int]:
        for number in range(times):
            running.connect().close()
            running.facts()
            with running.client("calc") as client:
                client.open()
                kept(client, str(number))
        running.wait_until_alone()
        gc.collect()
        ours = [
            each for each in gc.get_objects() if str(type(each).__module__).startswith(("gaia_mcp", "socket", "thr"))
        ]
        return len(open_files()), len(ours)

    use(20)
    files, objects = use(20)
    later_files, later_objects = use(60)

    assert later_files == files
    assert later_objects - objects < 60


def test_two_hundred_clients_at_once_are_served(running: Running) -> None:
    """Ours: calls of one instance are passed on at once."""
    running.hold("calc", script("good_handshake"))
    with running.client("calc") as client:
        client.open()
        threads = [in_thread(lambda number=number: client.call("echo", {"n": number})) for number in range(20)]
        others = [in_thread(running.facts) for _ in range(200)]
        for thread, _ in [*threads, *others]:
            thread.join(PATIENCE_SECONDS)

    assert [json.loads(found[0]["content"][0]["text"]) for _, found in threads] == [{"n": n} for n in range(20)]
    assert all(list(found[0]) == ["calc"] for _, found in others)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """A context in which this process cannot open any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def no_threads() -> Iterator[None]:
    """A context in which this process cannot start a thread: there is no memory for its stack."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_a_client_waits_while_no_descriptor_is_left(running: Running) -> None:
    """Ours: it is served once there is one again."""
    running.hold("calc", REMEMBERS)
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.settimeout(0.2)
        with no_descriptors():
            waiting.connect(str(running.folder / SOCKET))
            waiting.sendall(request(LIST) + b"\n")
            with pytest.raises(TimeoutError):
                waiting.recv(1)
        waiting.settimeout(PATIENCE_SECONDS)

        assert response_on(waiting)["result"]["servers"][0]["name"] == "calc"


def test_a_client_is_disconnected_while_no_thread_is_left(running: Running) -> None:
    """Ours: it may try again later."""
    running.hold("calc", REMEMBERS)
    with no_threads(), running.connect() as connection:
        assert is_closed(connection)
    assert keep(running, "one") == ""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, which can become another user")
def test_a_process_of_another_user_is_refused(running: Running) -> None:
    """Ours: also where the folder would let it in."""
    running.hold("calc", REMEMBERS)
    paths = {running.folder.parent: 0o755, running.folder: 0o755, running.folder / SOCKET: 0o666}
    with socket.socket(socket.AF_UNIX) as connection:
        with running.standing_still():
            for path, mode in paths.items():
                path.chmod(mode)
            with as_a_person():
                connection.connect(str(running.folder / SOCKET))

        assert is_closed(connection)
    assert running.reports[-1] == f"the other end of the socket is a process of user {PERSON}, not of user 0"
    running.folder.chmod(0o700)


# Commands that run in it.


def command_line(running: Running, words: bytes) -> socket.socket:
    """A connection on which a command line was sent."""
    connection = running.connect()
    connection.sendall(b"\0" + len(words).to_bytes(4, "big") + words)
    return connection


def received_on(connection: socket.socket) -> bytes:
    """All that comes on a connection."""
    received = b""
    while data := connection.recv(65536):
        received += data
    return received


def test_a_command_line_runs_in_the_keeper(start: Callable[..., Running]) -> None:
    """Ours: what it prints comes back, or nothing if it is to run in a process of its own."""

    def run(data: bytes, _: Process, client: LineClient) -> None:
        if data:
            client.send(ON_STDOUT, data.upper())

    running = start(run=run)
    for words in (b"call x", b"y" * 200_000):
        with command_line(running, words) as connection:
            assert received_on(connection) == b"1 %d\n" % len(words) + words.upper()
    with command_line(running, b"") as connection:
        assert received_on(connection) == b""


def test_a_command_in_the_keeper_uses_a_held_server(start: Callable[..., Running]) -> None:
    """Ours: by a connection as a command in a process of its own has it; with the secrets of its own shell masked."""

    def run(data: bytes, keeper: Process, commander: LineClient) -> None:
        entry = running.entries["calc"]
        held = keeper.holding(Address(data.decode()), entry)
        if held is None:
            commander.send(ON_STDOUT, b"not held")
            return
        with MCPClient.from_entry(entry._replace(held=held)) as client:
            client.open()
            masked = client.masker().text("a secret12345")
            found = f"{kept(client, 'one')}, {held.revision}, {masked}, {client.transport.stderr_tail()}"
            commander.send(ON_STDOUT, found.encode())

    running = start(run=run)
    running.hold("calc", {**REMEMBERS, "env": {"API_TOKEN": "secret12345"}})
    printed = []
    for name in (b"calc", b"calc", b"other"):
        with command_line(running, name) as connection:
            printed.append(received_on(connection).partition(b"\n")[2])

    assert printed == [b", 2025-11-25, a ****, ", b"one, 2025-11-25, a ****, ", b"not held"]


def test_a_command_in_the_keeper_learns_that_its_client_has_gone(start: Callable[..., Running]) -> None:
    """Ours: a Ctrl-C cancels its call; nothing keeps the process alive."""
    has_gone, may_end = threading.Event(), threading.Event()

    def run(_: bytes, __: Process, client: LineClient) -> None:
        client.begin(has_gone.set)
        assert may_end.wait(PATIENCE_SECONDS)

    running = start(run=run)
    running.hold("calc", REMEMBERS)
    with command_line(running, b"call") as connection:
        assert connection.recv(10) == b"+"
        assert not has_gone.is_set()
    assert has_gone.wait(PATIENCE_SECONDS)
    running.keeper.release(None)
    assert not running.has_ended()
    may_end.set()

    running.wait_until_ended()


def test_a_command_in_the_keeper_gets_its_response_when_that_ends(start: Callable[..., Running]) -> None:
    """Ours: its call was ended with the server; without a response it would be made again."""

    def run(_: bytes, keeper: Process, commander: LineClient) -> None:
        held = keeper.holding(Address("calc"), running.entries["calc"])
        assert held is not None
        commander.begin(lambda: None)
        with MCPClient.from_entry(running.entries["calc"]._replace(held=held)) as client:
            client.open()
            try:
                client.call("echo", {})
            except MCPError as error:
                commander.send(ON_STDERR, type(error).__name__.encode())

    running = start(run=run)
    running.hold("calc", script("hangs_in_call"))
    with command_line(running, b"call") as connection:
        wait_until(lambda: running.facts()["calc"]["running"])
        running.end()

        assert received_on(connection) == b"+2 12\nCallCutError"


# Its end.


def test_it_ends_with_its_last_server_and_leaves_no_file(start: Callable[..., Running]) -> None:
    """Ours: also if it has clients that wait for changes only, or that do not read."""
    running = start(last_seconds=0.2)
    running.hold("calc", REMEMBERS)
    with running.connect("calc.sock") as waiting, running.connect("calc.sock") as deaf:
        waiting.sendall(encoded_line(INITIALIZE))
        response_on(waiting)
        make_deaf(deaf)
        running.keeper.release(None)

        assert is_closed(waiting)
        running.wait_until_ended()
    assert not running.folder.exists()


def test_it_does_not_end_while_a_command_may_still_hold_a_server(running: Running) -> None:
    """Ours: the command would have to start another one."""
    running.hold("calc", REMEMBERS)
    with running.connect() as connection:
        connection.sendall(request(LIST) + b"\n")
        response_on(connection)
        running.keeper.release(None)
        connection.sendall(request(HOLD, name="calc") + b"\n")

        assert response_on(connection)["result"]["state"] == "open"


def test_it_holds_nothing_new_once_it_is_about_to_end(running: Running) -> None:
    """Ours: the command starts another one, once this one has ended."""
    running.hold("calc", REMEMBERS)
    with running.connect() as connection:
        connection.sendall(request(LIST) + b"\n")
        response_on(connection)
        with running.standing_still():
            running.process.end()
            connection.sendall(request(HOLD, name="calc", instance="b") + b"\n")
            assert is_closed(connection)


def test_it_ends_when_asked_by_a_program_of_any_version(running: Running) -> None:
    """Ours: the newer one then starts its own."""
    running.hold("calc", REMEMBERS)

    assert running.keeper.end()
    running.wait_until_ended()
    assert running.keeper.end()
    assert running.keeper.described() is None


def test_it_ends_when_its_folder_is_removed(start: Callable[..., Running], folder: Path) -> None:
    """Ours: as at the end of a login session. The files of another one that has begun there stay."""
    running = start()
    running.hold("calc", REMEMBERS)
    with running.standing_still():
        shutil.rmtree(folder)
        other = start()
        other.hold("calc", REMEMBERS)
    running.wait_until_ended()

    assert sorted(path.name for path in folder.iterdir()) == [SOCKET, LOCK, "calc.sock"]
    assert keep(other, "one") == ""


def test_it_ends_with_a_folder_that_no_other_has_made_again(running: Running) -> None:
    """Ours: nothing can reach it any more."""
    running.hold("calc", REMEMBERS)
    shutil.rmtree(running.folder)
    running.process._ring()

    running.wait_until_ended()


def test_it_ends_while_a_command_in_it_hangs(start: Callable[..., Running]) -> None:
    """Ours: that command has had its time."""
    may_end = threading.Event()

    def run(*_: object) -> None:
        assert may_end.wait(PATIENCE_SECONDS)

    running = start(run=run, last_seconds=0.1)
    with command_line(running, b"call") as connection:
        wait_until(lambda: [one for one in threading.enumerate() if one.name == "client"])
        running.end()
        assert is_closed(connection)
    may_end.set()


def test_closing_it_twice_does_nothing(running: Running) -> None:
    """Ours: a signal may come at any moment."""
    running.end()
    before = len(open_files())
    running.process.close()
    running.process.end()

    assert len(open_files()) == before


def test_a_server_whose_time_is_over_has_ended_before_it(running: Running) -> None:
    """Ours: no process is left, also of one that takes its time to end."""
    running.hold("calc", script("ignores_eof"), seconds=10.0)
    running.clock.now += 11.0
    running.process.end()
    running.wait_until_ended()

    assert "ignores_eof" not in str(family(os.getpid()))


# Its folder.


def test_files_of_a_keeper_that_was_killed_are_removed(start: Callable[..., Running], folder: Path) -> None:
    """Ours: its sockets are stale, and its lock is free."""
    folder.mkdir(mode=0o700)
    for name in (LOCK, SOCKET, "calc.sock", "gone.sock"):
        (folder / name).touch()
    running = start()

    assert Path(running.hold("calc", REMEMBERS)["socket"]).name == "calc.sock"
    assert sorted(path.name for path in folder.iterdir()) == [SOCKET, LOCK, "calc.sock"]


def test_there_is_one_of_a_folder(running: Running) -> None:
    """Ours: the second one says so, after it has waited for a first one that ends."""
    before = len(open_files())
    with pytest.raises(ConnectError, match="another keeper has"):
        Process(running.folder, running.find, print, patience_seconds=0.1)
    assert len(open_files()) == before


def test_a_path_that_is_too_long_is_refused(folder: Path) -> None:
    """Ours: nothing is left open, and the sentence has the reason of the system."""
    before = len(open_files())
    with pytest.raises(ConnectError, match="AF_UNIX path too long"):
        Process(folder.with_name("k" * 100), print, print)  # type: ignore[arg-type]

    assert len(open_files()) == before


def test_a_server_may_have_no_socket_of_its_own(start: Callable[..., Running]) -> None:
    """Ours: its path would be too long; commands use it all the same."""
    running, name = start("k" * 75), "s" * 30
    facts = running.hold(name, REMEMBERS)

    assert (facts["socket"], keep(running, "one", name)) == (None, "")
    assert "AF_UNIX path too long" in running.reports[0]


def test_a_server_that_is_ended_while_it_is_being_held_leaves_no_socket(start: Callable[..., Running]) -> None:
    """Ours: whatever its start does last; `down` waits for that."""
    running, name = start("k" * 75), "s" * 30
    running.add(name, REMEMBERS)
    running.stands_at = "too long"
    hold, held = in_thread(lambda: running.hold(name))
    with running.standing():
        release, released = in_thread(lambda: running.keeper.release(None))
        wait_until(lambda: "remembers" not in str(family(os.getpid())))
        assert released == []
    hold.join(PATIENCE_SECONDS)
    release.join(PATIENCE_SECONDS)

    assert (held[0]["name"], released) == (name, [[name]])
