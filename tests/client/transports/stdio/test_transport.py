from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    DeadlineError,
    EntryError,
    MCPError,
    NotConnectedError,
    PeerError,
    RemoteProtocolError,
    ServerExitedError,
    SpawnError,
    VersionError,
)
from tests.client.conftest import SERVERS, Started, text_of
from tests.client.transports.stdio.test_child import Patient, ctrl_c, is_in
from tests.client.transports.talk import opened_by
from tests.processes import living_with
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def called(started: Started, server: str, *arguments: str, **options: Any) -> Any:
    """The text with which a server's `echo` answers."""
    client = started(server, *arguments, **options)
    return client.call("echo", {"a": 1})["content"][0]["text"]


def test_the_timeout_may_be_the_second_argument() -> None:
    """GAIA's documents: (command, timeout, debug); AMD's GAIA 0.16: (command, args, env, timeout, debug)."""
    documented = StdioTransport("x a", 60, True)
    of_amd = StdioTransport("x", ["a"], {"K": "v"}, 60, True)

    for found, expected in ((documented, (None, None)), (of_amd, (["a"], {"K": "v"}))):
        assert (found.args, found.env) == expected
        assert (found.timeout, found.debug) == (60, True)


@pytest.mark.parametrize(
    "server",
    [
        "good_handshake", "good_stateless", "exits_on_probe", "silent_on_probe", "answers_32022", "prints_banner",
        "json_log_lines", "floods_stderr", "floods_stdout", "invalid_utf8", "long_line", "refuses_version",
        "only_stateless", "ignores_eof", "leaves_grandchild", "empty_cursor_is_end", "bad_tools", "slow_start",
    ],
)  # fmt: skip
def test_a_server_with_an_oddity_works(start_server: Started, server: str) -> None:
    """Ours: no oddity is a reason to fail, nor is output on stderr (IO-3). Each server's docstring names its oddity."""
    client = start_server(server, is_open=False)
    # Silence costs half of the time before the handshake is tried.
    client.open(deadline_until(lambda: "server/discover" in start_server.notes("silent_on_probe"), passes=10))

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}


@pytest.mark.parametrize(
    ("server", "version", "era"),
    [
        ("good_stateless", "2026-07-28", "stateless"),
        ("good_handshake", "2025-11-25", "handshake"),
        ("answers_32022", "2025-06-18", "handshake"),
        ("refuses_version", "2024-11-05", "handshake"),
        ("exits_on_probe", "2025-11-25", "handshake"),
    ],
)
def test_both_sides_agree_on_a_version(start_server: Started, server: str, version: str, era: str) -> None:
    """Spec, compatibility."""
    peer = start_server(server).peer

    assert peer is not None
    assert (peer.version, peer.era) == (version, era)


def test_a_server_that_exits_on_the_probe_is_restarted_with_initialize_first(start_server: Started) -> None:
    """Spec, stdio detection, and the servers in the wild that end on anything else."""
    start_server("exits_on_probe")

    wait_until(lambda: len(start_server.notes("exits_on_probe")) == 3)
    assert start_server.notes("exits_on_probe") == ["server/discover", "initialize", "notifications/initialized"]


def test_a_silent_server_is_restarted_with_initialize_first(start_server: Started) -> None:
    """IO-10: `initialize` in the same process has a time of its own; a new process is started if it has no response."""
    client = start_server("mute_after_probe", is_open=False)
    mute = ["server/discover", "initialize"]

    read_at: list[float] = []

    def now() -> float:
        # The time for the probe passes when that was read, and half of what is left when `initialize` was. A moment
        # later, for the client may not have begun to wait for the response yet.
        shown = time.monotonic()
        read_at.extend([shown] * (len(start_server.notes("mute_after_probe")) - len(read_at)))
        return shown + sum(seconds for seconds, at in zip((10, 45), read_at, strict=False) if shown > at + 0.5)

    client.open(Deadline(100, clock=now))

    assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    assert start_server.notes("mute_after_probe")[:4] == [*mute, "initialize", "notifications/initialized"]


def test_a_server_that_exits_at_once_is_reported_with_the_end_of_its_stderr(start_server: Started) -> None:
    """Ours: the person needs the exit status and the end of stderr to act."""
    client = start_server("exits_at_once", is_open=False)

    with pytest.raises(ServerExitedError) as caught:
        client.open()

    error = caught.value
    assert (error.server, error.stage, error.returncode) == ("exits_at_once", "at its start", 3)
    assert error.stderr_tail == "starting\nno configuration found\n"
    assert "no configuration found" in error.message
    assert not client.is_connected()


def test_a_server_that_dies_in_a_call_is_reported_with_the_end_of_its_stderr(start_server: Started) -> None:
    """Ours: the person needs the exit status and the end of stderr to act."""
    client = start_server("dies_in_call")

    with pytest.raises(ServerExitedError) as caught:
        client.call("echo", {})

    error = caught.value
    assert (error.server, error.returncode) == ("dies_in_call", 3)
    assert error.stage == "while answering tools/call 'echo'"
    assert "out of memory" in error.stderr_tail
    assert not client.is_connected()


def test_an_incomplete_response_of_a_dying_server_is_ignored(start_server: Started) -> None:
    """Ours: the exit is the cause, and not that half of a response is invalid JSON."""
    client = start_server("dies_mid_answer")

    with pytest.raises(ServerExitedError) as caught:
        client.call("echo", {})

    assert (caught.value.returncode, caught.value.stderr_tail) == (3, "out of memory\n")
    assert client.host.strays == []


def test_a_last_line_on_stdout_that_is_not_json_is_quoted_in_the_error(nothing_left: dict[str, str]) -> None:
    """Ours: some servers say on stdout why they end."""
    code = "print('no [configuration] found', end='')"
    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s")

    with pytest.raises(ServerExitedError, match=r"'no \[configuration\] found'"):
        opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))


def test_a_running_server_that_closes_its_output_is_reported(start_server: Started) -> None:
    """Ours: no caller waits for the deadline when nothing can come any more."""
    client = start_server("closes_stdout")

    with pytest.raises(ServerExitedError) as caught:
        client.call("echo", {})

    assert caught.value.returncode is None
    assert "closed its output" in caught.value.message


@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("wrong_id", "4711"), ("garbage_answer", "not valid JSON"), ("answers_array", "an invalid JSON-RPC message"),
    ],
)  # fmt: skip
def test_an_invalid_response_is_a_protocol_error(start_server: Started, server: str, words: str) -> None:
    """Ours: at once, and what is wrong with it; the next request goes its way."""
    client = start_server(server)

    with pytest.raises(RemoteProtocolError, match=words) as caught:
        client.call("echo", {})

    assert caught.value.server == server
    client.check_alive()


def test_a_response_in_invalid_utf8_is_a_protocol_error(start_server: Started) -> None:
    """Spec, stdio: UTF-8."""
    with pytest.raises(RemoteProtocolError):
        start_server("invalid_utf8").call("inside", {})


@pytest.mark.parametrize(
    ("server", "kind"),
    [("string_ids", RemoteProtocolError), ("content_length", RemoteProtocolError), ("wrong_version", VersionError)],
)
def test_a_server_that_violates_the_protocol_is_stopped(
    start_server: Started, server: str, kind: type[MCPError]
) -> None:
    """Ours: typed, named, and nothing left running."""
    client = start_server(server, is_open=False)

    with pytest.raises(kind) as caught:
        client.open()

    assert caught.value.server == server
    assert client.transport.pid is None  # type: ignore[attr-defined]


def test_lsp_framing_is_reported(start_server: Started) -> None:
    """Ours: never part of MCP, and its author has to know."""
    with pytest.raises(RemoteProtocolError, match="Content-Length"):
        start_server("content_length")


def test_a_server_that_never_responds_raises_a_deadline_error(start_server: Started) -> None:
    """Ours: every wait has a deadline; the process is stopped, and the error names the stage."""
    client = start_server("hangs_at_start", is_open=False)

    with pytest.raises(DeadlineError) as caught:
        client.open(deadline_until(lambda: start_server.notes("hangs_at_start")))

    late = caught.value
    assert (late.server, late.stage, late.seconds) == ("hangs_at_start", "at its start", ENOUGH_SECONDS)
    assert client.transport.stopped is not None  # type: ignore[attr-defined]


def test_a_line_that_is_too_long_ends_the_connection(start_server: Started) -> None:
    """Ours: input has limits."""
    client = start_server("huge_result", "1", max_record_bytes=100_000)

    with pytest.raises(RemoteProtocolError, match="more than 100000 bytes"):
        client.call("echo", {})
    assert not client.is_connected()


def test_a_huge_result_arrives(start_server: Started) -> None:
    """Ours: a picture or a video as base64."""
    assert len(called(start_server, "huge_result", "8")) == 8 * 1024 * 1024


def test_stray_output_is_reported_in_the_error(start_server: Started) -> None:
    """Ours: a line on stdout is the commonest reason for a server that does not answer."""
    client = start_server("prints_banner")
    client.call("echo", {})

    assert client.host.strays[0] == "Welcome to the server!"
    assert "lines that are not MCP, the first: 'Welcome to the server!'" in client.host.noise()


def test_a_blocked_write_raises_a_deadline_error(start_server: Started) -> None:
    """Ours: every wait has a deadline, also that for room in a pipe."""
    client = start_server("does_not_read")

    with pytest.raises(DeadlineError, match="does not read its input") as caught:
        client.call("echo", {"text": "x" * 1_000_000}, Deadline(0))

    assert (caught.value.server, caught.value.seconds) == ("does_not_read", 0)
    assert not client.is_connected(), "a message was cut, and nothing that followed could be understood"


def test_secrets_in_stderr_are_masked(start_server: Started) -> None:
    """Ours: never a secret in an error."""
    client = start_server("exits_at_once", is_open=False, env={"WORD_TOKEN": "configuration"})

    with pytest.raises(ServerExitedError) as caught:
        client.open()

    assert caught.value.stderr_tail == "starting\nno **** found\n"
    assert "configuration" not in caught.value.message


def test_a_secret_truncated_by_a_flood_is_masked(nothing_left: dict[str, str]) -> None:
    """Ours: never a secret in an error."""
    code = "import os, sys; sys.stderr.write(os.environ['WORD'] * 20_000)"
    env = {**nothing_left, "WORD": "hunter2-correct"}
    transport = StdioTransport(sys.executable, ["-c", code], env, name="s")

    with pytest.raises(ServerExitedError) as caught:
        opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))

    assert set(caught.value.stderr_tail) == {"*"}


def test_the_end_of_stderr_can_be_read(start_server: Started) -> None:
    """Ours: its end, for a person who watches, and for a report once it has ended."""
    heard: list[bytes] = []
    client = start_server("floods_stderr", on_stderr=heard.append)
    transport = client.transport
    assert isinstance(transport, StdioTransport)

    wait_until(lambda: b"that was all" in b"".join(heard))
    wait_until(lambda: "again and again" in transport.stderr_tail())
    transport.close(ENOUGH_SECONDS)
    assert "again and again" in transport.stderr_tail()


@pytest.mark.parametrize(
    ("server", "kind", "grace", "how", "returncode"),
    [
        ("good_handshake", Child, ENOUGH_SECONDS, "on closed input", 0),
        ("ignores_eof", Patient, ENOUGH_SECONDS, "on SIGTERM", -signal.SIGTERM),
        ("does_not_read", Patient, ENOUGH_SECONDS, "on SIGTERM", -signal.SIGTERM),
        ("ignores_sigterm", Child, 0, "on SIGKILL", -signal.SIGKILL),
    ],
)
def test_the_way_a_server_was_stopped_is_reported(
    nothing_left: dict[str, str],
    start_server: Started,
    server: str,
    kind: type[Child],
    grace: float,
    how: str,
    returncode: int,
) -> None:
    """Spec, IO-6: closing stdin, then SIGTERM, then SIGKILL."""
    command, args = sys.executable, [str(SERVERS / f"{server}.py")]
    env = {**nothing_left, "NOTES": str(start_server.folder / server)}
    child = kind.of(server, command, args, env=env, cwd=None)
    transport = StdioTransport(command, args, env, name=server, child=child)
    opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))

    assert transport.exit_status is None

    transport.close(grace)

    assert transport.stopped is not None
    assert transport.exit_status == returncode
    assert (transport.stopped.how, transport.stopped.returncode) == (how, returncode)


def test_the_child_processes_of_a_server_are_ended_with_it(start_server: Started) -> None:
    """Ours: wrappers start the real server as a process of their own."""
    client = start_server("leaves_grandchild")
    pid = int(start_server.notes("leaves_grandchild")[0])
    os.kill(pid, 0)
    transport = client.transport
    assert isinstance(transport, StdioTransport)

    transport.close(ENOUGH_SECONDS)

    assert transport.stopped is not None
    assert transport.stopped.left_others
    wait_until(lambda: not living_with(str(start_server.folder)))


def test_a_daemon_of_a_server_is_ended_with_it(start_server: Started) -> None:
    """Ours: it has left the group, and is found all the same. No thread and no descriptor stays."""
    transport = start_server.transport("leaves_daemon", timeout=20)
    threads = set(threading.enumerate())
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
        transport.disconnect()

        assert transport.stopped is not None
        assert transport.stopped.left_others
    assert not living_with(str(start_server.folder))
    wait_until(lambda: set(threading.enumerate()) <= threads)
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)  # noqa: PTH208


def test_a_response_without_a_newline_is_accepted_at_the_end_of_output(start_server: Started) -> None:
    """Ours: the response is complete, only its line is not."""
    assert json.loads(called(start_server, "no_last_newline")) == {"a": 1}


def test_a_server_that_was_not_probed_is_not_started_twice(start_server: Started) -> None:
    """Ours: the probe cannot have been the reason."""
    transport = start_server.transport("exits_at_once")

    with pytest.raises(ServerExitedError) as caught:
        opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))

    assert (caught.value.stage, caught.value.returncode) == ("at its start", 3)


def test_an_expired_deadline_leaves_no_process(start_server: Started) -> None:
    """Ours: also a process that is only being made when time is over is let go of."""
    for _ in range(5):
        with pytest.raises(DeadlineError):
            opened_by(start_server.transport("ignores_sigterm"), probe=True, deadline=Deadline(0))

    wait_until(lambda: not living_with(str(start_server.folder)))


def test_a_transport_may_be_disconnected_twice(start_server: Started) -> None:
    """GAIA's documents: safe to call multiple times."""
    transport = start_server("good_handshake").transport
    assert isinstance(transport, StdioTransport)

    assert transport.close(ENOUGH_SECONDS) is not None
    assert transport.close(ENOUGH_SECONDS) is None
    transport.disconnect()
    assert (transport.is_connected(), transport.pid) == (False, None)


def test_a_transport_that_was_never_connected_can_be_disconnected() -> None:
    """GAIA's documents: disconnect() may be called at any time."""
    transport = StdioTransport("server")

    transport.disconnect()

    assert (transport.is_connected(), transport.pid, transport.stopped, transport.stderr_tail()) == (
        False, None, None, "",
    )  # fmt: skip


def test_a_transport_can_be_used_by_itself(start_server: Started) -> None:
    """GAIA's documents: connect, send_request, send_notification, disconnect."""
    transport = start_server.transport("good_handshake", timeout=20)

    assert transport.connect() is True
    pid = transport.pid
    assert transport.connect() is True
    assert transport.pid == pid, "connected already"
    response = transport.send_request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    transport.send_notification("notifications/initialized")
    tools = transport.send_request("tools/list")
    transport.disconnect()

    assert response["result"]["protocolVersion"] == "2025-11-25"
    assert tools["result"]["tools"][0]["name"] == "echo"
    with pytest.raises(RuntimeError, match="Not connected"):
        transport.send_request("tools/list")


def test_the_repr_of_a_transport_shows_its_state() -> None:
    """Ours: for a debugger and a log."""
    assert repr(StdioTransport("uvx")) == "<StdioTransport 'uvx', not connected>"


def test_opening_an_open_client_starts_no_second_process(start_server: Started) -> None:
    """GAIA's documents: True without starting a new process if already connected."""
    client = start_server("good_handshake")
    transport = client.transport
    assert isinstance(transport, StdioTransport)
    pid = transport.pid

    assert client.open() == client.peer
    assert transport.pid == pid
    assert client.connect() is True


@pytest.mark.parametrize("server", ["good_handshake", "good_stateless"])
def test_a_transport_can_be_opened_again(start_server: Started, server: str) -> None:
    """Ours: a fresh process."""
    transport = start_server.transport(server, timeout=20)
    pids = []
    for _ in range(2):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
        pids.append(transport.pid)
        transport.close(ENOUGH_SECONDS)

    assert len(set(pids)) == 2


def test_a_command_that_does_not_exist_is_an_error() -> None:
    """Ours: named, with nothing left running."""
    transport = StdioTransport("no-such-program", [], name="s")

    with pytest.raises(SpawnError):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
    with pytest.raises(SpawnError):
        transport.engine.start()
    assert transport.is_connected() is False


def test_a_command_line_is_split(tmp_path: Path, start_server: Started) -> None:
    """GAIA's documents, from_command."""
    path = start_server.transport("good_handshake").args
    assert path is not None
    transport = StdioTransport(f"{sys.executable} '{path[0]}'", env={"NOTES": str(tmp_path / "x")})

    opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
    transport.close(ENOUGH_SECONDS)

    assert transport.stopped is not None
    assert transport.stopped.returncode == 0


def test_shell_syntax_is_refused() -> None:
    """Ours: no shell between us and a server's command."""
    with pytest.raises(EntryError):
        opened_by(StdioTransport("server | tee log"), probe=True, deadline=Deadline(ENOUGH_SECONDS))


def test_ctrl_c_while_opening_leaves_nothing_running(start_server: Started) -> None:
    """Ours: a server may hang for as long as it likes before it answers `initialize`."""
    client = start_server("hangs_at_start", is_open=False)

    with ctrl_c(lambda: start_server.notes("hangs_at_start")):
        client.open()

    assert not client.is_connected()
    wait_until(lambda: not living_with(str(start_server.folder)))


def test_ctrl_c_at_the_very_start_leaves_nothing_running(start_server: Started) -> None:
    """Ours: also while the process is only being made."""
    for _ in range(5):
        client = start_server("hangs_at_start", is_open=False)
        transport = client.transport
        assert isinstance(transport, StdioTransport)
        with ctrl_c(lambda transport=transport: transport.engine.current is not None):
            client.open()

        wait_until(lambda: not living_with(str(start_server.folder)))


def test_ctrl_c_in_a_call_cancels_it_and_keeps_the_connection(start_server: Started) -> None:
    """Ours: the server learns that the call was cancelled, and goes on."""
    client = start_server("good_handshake")
    main = threading.main_thread()
    # Not before it waits: a message whose writing is interrupted may be cut, and ends the conversation.
    with ctrl_c(lambda: "tools/call slow" in start_server.notes("good_handshake") and is_in(main, "wait")):
        client.call("slow", {})

    wait_until(lambda: "cancelled slow" in start_server.notes("good_handshake"))
    assert client.is_connected()


def test_disconnecting_wakes_a_call_in_another_thread(start_server: Started) -> None:
    """Ours: its response can no longer arrive."""
    client = start_server("hangs_in_call")
    outcomes: list[Any] = []

    def call() -> None:
        try:
            client.call("echo", {})
        except MCPError as error:
            outcomes.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    wait_until(lambda: "tools/call echo" in start_server.notes("hangs_in_call"))
    client.disconnect()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], NotConnectedError)


def test_disconnecting_interrupts_opening_in_another_thread(start_server: Started) -> None:
    """Ours: and no server is left behind."""
    client = start_server("hangs_at_start", is_open=False)
    outcomes: list[Any] = []

    def work() -> None:
        try:
            client.open()
        except MCPError as error:
            outcomes.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: start_server.notes("hangs_at_start"))
    client.disconnect()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], NotConnectedError)
    assert not client.is_connected()


def in_thread(outcomes: list[Any], work: Callable[[], Any]) -> threading.Thread:
    """Does `work` in a thread of its own; what comes of it is put with the `outcomes`."""

    def do() -> None:
        try:
            outcomes.append(work())
        except MCPError as error:
            outcomes.append(error)

    thread = threading.Thread(target=do)
    thread.start()
    return thread


def test_threads_that_open_at_once_share_one_connection(start_server: Started) -> None:
    """Ours: all methods may be called from several threads, and none is left waiting."""
    transport = start_server.transport("good_handshake", timeout=20)
    outcomes: list[Any] = []
    openings = [lambda: opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))] * 4
    for thread in [in_thread(outcomes, work) for work in [*openings, transport.connect]]:
        thread.join(PATIENCE_SECONDS)

    peer = transport.engine.peer
    transport.disconnect()

    assert peer is not None
    assert sorted(outcomes, key=repr) == [peer] * 4 + [True]
    assert start_server.notes("good_handshake").count("initialize") == 1


class Watched(Deadline):
    """A deadline that tells when a thread waits for it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.is_waited_for = threading.Event()

    def remaining(self) -> float:
        self.is_waited_for.set()
        return super().remaining()


def test_waiting_for_another_thread_to_open_ends_at_the_deadline(start_server: Started) -> None:
    """Ours: every wait has a deadline; the other goes on."""
    transport = start_server.transport("hangs_at_start")
    outcomes: list[Any] = []
    first = in_thread(outcomes, lambda: opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS)))
    wait_until(lambda: start_server.notes("hangs_at_start"))
    pid = transport.pid

    with pytest.raises(DeadlineError) as caught:
        opened_by(transport, probe=True, deadline=Deadline(0))

    assert (caught.value.stage, caught.value.seconds) == ("another thread's request", 0)
    assert transport.pid == pid is not None
    transport.disconnect()
    first.join(PATIENCE_SECONDS)


def test_disconnecting_wakes_all_threads_that_wait_for_the_opening(start_server: Started) -> None:
    """Ours: a thread that has disconnected would not expect to find a server running."""
    transport = start_server.transport("hangs_at_start")
    outcomes: list[Any] = []
    first = in_thread(outcomes, lambda: opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS)))
    wait_until(lambda: start_server.notes("hangs_at_start"))
    deadline = Watched(20)
    second = in_thread(outcomes, lambda: opened_by(transport, probe=True, deadline=deadline))
    assert deadline.is_waited_for.wait(PATIENCE_SECONDS)

    transport.disconnect()
    first.join(PATIENCE_SECONDS)
    second.join(PATIENCE_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [NotConnectedError] * 2
    assert transport.pid is None


def test_disconnecting_between_two_starts_prevents_the_second(start_server: Started) -> None:
    """Ours: at that moment there is nothing that could be ended."""
    transport = start_server.transport("exits_on_probe")

    class Disconnecting(Host):
        """A host that disconnects when the second conversation begins."""

        begun = 0

        def capabilities(self) -> dict[str, Any]:
            self.begun += 1
            if self.begun == 2:
                transport.disconnect()
            return super().capabilities()

    transport.engine.host = Disconnecting()

    with pytest.raises(NotConnectedError):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))

    assert transport.pid is None
    assert start_server.notes("exits_on_probe") == ["server/discover"]


def test_a_stderr_listener_may_disconnect(nothing_left: dict[str, str]) -> None:
    """Ours: the log may show that the server cannot work. The caller learns that the client has disconnected."""
    code = "import sys; sys.stderr.write('no use'); sys.stderr.flush(); sys.stdin.read()"
    raised: list[BaseException] = []

    def disconnect(_: bytes) -> None:
        try:
            transport.disconnect()
        except BaseException as problem:
            raised.append(problem)

    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s", on_stderr=disconnect)

    with pytest.raises(NotConnectedError):
        opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))

    assert (transport.pid, raised) == (None, [])


def test_sending_after_our_own_disconnect_raises_not_connected(start_server: Started) -> None:
    """Ours: the server has not gone by itself."""
    transport = start_server("good_handshake").transport
    assert isinstance(transport, StdioTransport)
    assert transport._channel is not None
    transport._channel.child.close_stdin()

    with pytest.raises(NotConnectedError):
        transport.send_request("tools/list")


def test_an_error_response_is_raised(start_server: Started) -> None:
    """JSON-RPC."""
    with pytest.raises(PeerError) as caught:
        start_server("good_handshake").call("refuse", {})

    assert (caught.value.code, caught.value.text, caught.value.data) == (-32602, "no such luck", {"why": "x"})


def test_a_child_that_was_started_early_is_used_first(nothing_left: dict[str, str]) -> None:
    """Ours: the first connection takes it, the next one starts anew."""
    command, args = sys.executable, [str(SERVERS / "good_handshake.py")]
    child = Child.of("s", command, args, env=nothing_left, cwd=None)
    child.start()
    transport = StdioTransport(command, args, nothing_left, name="s", child=child)

    opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
    first = transport.pid
    transport.disconnect()
    opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))

    assert first == child.pid
    assert transport.pid not in (None, first)
    transport.disconnect()


PRIVATE_INDEX = "http://ada:swordfish@private.index.invalid/simple"


def test_a_network_error_is_reported_with_the_settings_not_passed_on(
    start_server: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: an index with a password in its URL is not passed on unasked."""
    monkeypatch.setenv("UV_INDEX_URL", PRIVATE_INDEX)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    with pytest.raises(ServerExitedError) as caught:
        start_server("needs_index", is_open=False).open()

    assert caught.value.facts["not_passed_on"][0] == "UV_INDEX_URL"
    assert "swordfish" not in str(caught.value.facts) + caught.value.stderr_tail


def test_a_timeout_with_network_errors_is_reported_with_the_settings_not_passed_on(
    nothing_left: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: npx tries again for longer than a person waits."""
    monkeypatch.setenv("NPM_CONFIG__AUTH", "YWRhOnN3b3JkZmlzaA==")
    code = "import sys; print('npm error code ENOTFOUND', file=sys.stderr, flush=True); sys.stdin.read()"
    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s")

    with pytest.raises(DeadlineError) as caught:
        opened_by(transport, probe=False, deadline=deadline_until(lambda: "ENOTFOUND" in transport.stderr_tail()))

    assert caught.value.facts["not_passed_on"][0] == "NPM_CONFIG__AUTH"


def test_no_missing_settings_are_reported_if_everything_is_inherited(
    start_server: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: what it was given it must not repeat either."""
    monkeypatch.setenv("UV_INDEX_URL", PRIVATE_INDEX)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    with pytest.raises(ServerExitedError) as caught:
        start_server("needs_index", is_open=False, inherits_all=True).open()

    assert caught.value.facts == {}
    assert "fetching from http://****@private.index.invalid/simple" in caught.value.stderr_tail


def test_a_silent_timeout_of_npx_is_reported_with_the_settings_not_passed_on(
    nothing_left: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: npm tries to reach a registry for a minute without any output."""
    monkeypatch.setenv("NPM_CONFIG__AUTH", "YWRhOnN3b3JkZmlzaA==")
    npx = tmp_path / "npx"
    npx.write_text(f"#!/bin/sh\nread line; : > {tmp_path}/has-read; read line\n")
    npx.chmod(0o755)
    transport = StdioTransport(str(npx), ["-y", "server"], nothing_left, name="s")

    with pytest.raises(DeadlineError) as caught:
        opened_by(transport, probe=False, deadline=deadline_until((tmp_path / "has-read").exists))

    assert caught.value.facts["not_passed_on"] == ["NPM_CONFIG__AUTH"]


@pytest.mark.parametrize(("last", "newline"), [("one\\n", ""), ("one", "\n"), ("", "")])
def test_the_log_of_a_restarted_server_names_its_processes(
    nothing_left: dict[str, str], last: str, newline: str
) -> None:
    """Ours: two processes write to one log, in which nothing else shows where the second begins."""
    heard: list[bytes] = []
    code = f"import sys; sys.stderr.write('{last}'); sys.stderr.flush(); sys.stdin.readline(); sys.exit(3)"
    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s", on_stderr=heard.append)

    with pytest.raises(ServerExitedError):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
    said = last.replace("\\n", "\n")
    pattern = rf"{said}{newline}\[process \d+, after process \d+, which exited with status 3\]\n{said}" if said else ""
    assert re.fullmatch(pattern, b"".join(heard).decode())


def test_a_restarted_process_is_named_once_in_the_log(nothing_left: dict[str, str]) -> None:
    """Ours: before the first of its output."""
    transport = StdioTransport(sys.executable, ["-c", "pass"], nothing_left, name="s")
    with pytest.raises(ServerExitedError):
        opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))
    heard: list[bytes] = []
    assert transport._channel is not None
    hear = transport._announcing(transport._channel, heard.append)

    hear(b"one\n")
    hear(b"two\n")

    assert heard[1:] == [b"one\n", b"two\n"]
    assert b"after process" in heard[0]


@pytest.mark.parametrize("said", ["", "up"])
def test_a_restarted_server_leaves_nothing_of_its_processes_in_memory(nothing_left: dict[str, str], said: str) -> None:
    """Ours: a gateway restarts a server that fails for weeks, whether or not it writes to its stderr."""
    code = f"import sys; sys.stderr.write({said!r}); sys.exit(3)"
    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s", on_stderr=lambda _: None)
    channels = []

    for _ in range(4):
        with pytest.raises(ServerExitedError):
            opened_by(transport, probe=False, deadline=Deadline(ENOUGH_SECONDS))
        transport.disconnect()
        channels.append(weakref.ref(transport._channel))

    wait_until(lambda: gc.collect() >= 0 and [channel() is None for channel in channels[:2]] == [True, True])


def test_a_server_that_ends_before_it_reads_is_started_once(nothing_left: dict[str, str], tmp_path: Path) -> None:
    """Ours: it would end again; only one that has read the probe may end because of that."""
    notes = tmp_path / "notes"
    code = f"import sys; open({str(notes)!r}, 'a').write('x'); sys.exit(3)"
    transport = StdioTransport(sys.executable, ["-c", code], nothing_left, name="s")

    with pytest.raises(ServerExitedError):
        opened_by(transport, probe=True, deadline=Deadline(ENOUGH_SECONDS))
    assert notes.read_text() == "x"
