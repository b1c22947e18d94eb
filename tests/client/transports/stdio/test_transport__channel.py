"""What a child process adds to a channel: how its end, its silence and its rubbish are reported."""

from __future__ import annotations

import os
import resource
import signal
import sys
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.processes import VARIABLE
from gaia_mcp.client.transports.stdio.transport import StdioChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    RemoteProtocolError,
    ServerExitedError,
    SpawnError,
)
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.text.redaction.masker import Masker
from tests.client.transports.stdio.test_child import SlowToStart
from tests.client.transports.talk import Heard, in_thread
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.protocol.jsonrpc import RequestId

    OpenChannel = Callable[..., tuple[StdioChannel, "Heard"]]

PING = Outgoing({"jsonrpc": "2.0", "method": "ping"})
# More than a pipe holds.
LONG = Outgoing({"jsonrpc": "2.0", "method": "x" * 1_000_000})
ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


@pytest.fixture
def channel(nothing_left: dict[str, str]) -> Iterator[OpenChannel]:
    """A channel to a Python program, and what it has handed over."""
    opened: list[StdioChannel] = []

    def start(program: str, kind: type[Child] = Child, **limits: int) -> tuple[StdioChannel, Heard]:
        environment = {**os.environ, **nothing_left}
        child = kind("calc", sys.executable, ["-c", program], environment=environment, cwd=None)
        channel, heard = StdioChannel("calc", child, lambda: Masker(["hunter22"]), **limits), Heard()
        opened.append(channel)
        channel.start(heard, Deadline(ENOUGH_SECONDS))
        return channel, heard

    yield start
    for one in opened:
        one.close(0.3)


def test_records_pass_in_both_directions(channel: OpenChannel) -> None:
    """Spec, stdio: one message per line."""
    talk, heard = channel(ECHO)

    talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")
    talk.send_soon(PING)
    wait_until(lambda: len(heard.records) == 2)

    assert heard.records == [b'{"jsonrpc":"2.0","method":"ping"}'] * 2
    assert (talk.is_running(), heard.ends) == (True, [])


def test_a_channel_that_was_never_started_may_be_woken_and_closed() -> None:
    """Ours: another thread may have begun to use it, or disconnect before its start."""
    child = Child("calc", sys.executable, ["-c", ECHO], environment={}, cwd=None)
    fresh = StdioChannel("calc", child)

    fresh.wake()
    assert fresh.wait(SimpleQueue(), 1, Deadline(0)) is None
    fresh.close(1)

    assert fresh.stopped is not None
    assert fresh.stopped.returncode is None


def test_a_program_that_cannot_be_started_is_reported() -> None:
    """Ours: the command of the entry has to be corrected, so that the error must not be a timeout."""
    child = Child("calc", "/no/such/program", [], environment={}, cwd=None)

    with pytest.raises(SpawnError):
        StdioChannel("calc", child).start(Heard(), Deadline(ENOUGH_SECONDS))


def test_a_start_ends_at_its_deadline(nothing_left: dict[str, str]) -> None:
    """Ours: a file system may hang."""
    child = SlowToStart("calc", sys.executable, ["-c", ECHO], environment={**os.environ, **nothing_left}, cwd=None)
    late = StdioChannel("calc", child)

    with pytest.raises(DeadlineError, match="at its start"):
        late.start(Heard(), Deadline(0))
    child.may_spawn.set()
    late.close(0.3)

    assert child.stop() is late.stopped


def test_an_exit_is_reported_with_the_status_and_the_end_of_stderr(channel: OpenChannel) -> None:
    """Ours: each caller reads what it was waiting for; secrets are masked."""
    talk, heard = channel("import sys; print('no hunter22', file=sys.stderr); sys.exit(3)")
    wait_until(lambda: heard.ends)

    (ended,) = heard.ends
    assert isinstance(ended, ServerExitedError)
    assert (ended.stage, ended.returncode, ended.stderr_tail.strip()) == ("before it was asked to", 3, "no ****")
    for stage, worded in (("tools/list", "while answering tools/list"), ("at its start", "at its start")):
        lost = talk.why_lost(stage)
        assert isinstance(lost, ServerExitedError)
        assert (lost.stage, lost.returncode) == (worded, 3)


def test_a_running_server_that_closed_its_input_is_reported(channel: OpenChannel) -> None:
    """Ours: its output is still open, so that no end is noticed there; the end of its stderr may give the reason."""
    program = "import os, sys, time; os.close(0); print('bye', file=sys.stderr, flush=True); time.sleep(60)"
    talk, heard = channel(program)
    wait_until(talk.noise)

    with pytest.raises(ServerExitedError, match="no longer reads its input") as caught:
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")

    assert (caught.value.returncode, caught.value.stderr_tail.strip()) == (None, "bye")
    assert heard.ends == [caught.value]


class Responding(Heard):
    """Sends a message for each that arrives, on the thread that reads."""

    def __init__(self) -> None:
        super().__init__()
        self.channel: StdioChannel | None = None
        self.raised: list[MCPError] = []

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        super().receive(record, about)
        assert self.channel is not None
        try:
            self.channel.send(PING, Deadline(ENOUGH_SECONDS), "ping")
        except MCPError as error:
            self.raised.append(error)


def test_a_broken_pipe_in_the_reading_thread_is_reported(nothing_left: dict[str, str]) -> None:
    """Ours: it cannot wait for itself to read what is left."""
    program = "import os, time; os.close(0); print('{}', flush=True); time.sleep(60)"
    child = Child("calc", sys.executable, ["-c", program], environment={**os.environ, **nothing_left}, cwd=None)
    heard = Responding()
    heard.channel = StdioChannel("calc", child)
    heard.channel.start(heard, Deadline(ENOUGH_SECONDS))
    wait_until(lambda: heard.raised)
    heard.channel.close(0.3)

    assert heard.records == [b"{}"]
    assert isinstance(heard.raised[0], ServerExitedError)
    assert "no longer reads its input" in heard.raised[0].message


def test_sending_to_an_exited_server_reports_its_status(channel: OpenChannel) -> None:
    """Ours: that it does not read then goes without saying."""
    talk, heard = channel("import sys; sys.exit(3)")
    wait_until(lambda: heard.ends)

    with pytest.raises(ServerExitedError, match="exited with status 3 while answering tools/list"):
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")


def test_sending_on_a_closed_channel_raises_not_connected(channel: OpenChannel) -> None:
    """Ours: another thread has disconnected."""
    talk, heard = channel(ECHO)
    talk.close(1)

    with pytest.raises(NotConnectedError):
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")
    assert isinstance(talk.why_lost("x"), NotConnectedError)
    assert talk.stopped is not None
    assert {type(end) for end in heard.ends} == {NotConnectedError}
    talk.close(1)


class Interrupted(Child):
    """Ctrl-C is pressed while a message is being written."""

    def write(self, data: bytes, deadline: Deadline) -> None:
        super().write(data[:5], deadline)
        raise KeyboardInterrupt


def test_a_message_interrupted_by_ctrl_c_ends_the_channel(channel: OpenChannel) -> None:
    """Ours: what followed half a message could not be understood."""
    talk, heard = channel(ECHO, Interrupted)

    with pytest.raises(KeyboardInterrupt):
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")

    (ended,) = heard.ends
    assert isinstance(ended, ServerExitedError)
    assert "because writing to it was interrupted" in ended.message


def test_a_read_interrupted_by_ctrl_c_ends_the_channel(channel: OpenChannel) -> None:
    """Ours: at once, and with the reason, although the server runs on; a tool that another thread has called may have
    run.
    """

    def interrupt() -> None:
        raise KeyboardInterrupt

    talk, heard = channel(ECHO)
    heard.on_record = interrupt
    caller, outcomes = in_thread(lambda: talk.wait(SimpleQueue(), 1, Deadline(ENOUGH_SECONDS)))
    wait_until(lambda: talk._reading is not None and talk._reading._readers.state == "led")

    talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")
    caller.join(PATIENCE_SECONDS)
    wait_until(lambda: not talk._reader or not talk._reader.is_alive())

    assert isinstance(outcomes[0], KeyboardInterrupt)
    for error in (*heard.ends, talk.why_lost("tools/call 't'")):
        assert isinstance(error, ServerExitedError)
        assert "because reading from it was interrupted" in error.message


def test_closing_ends_the_reading_thread(channel: OpenChannel) -> None:
    """Ours: a process without our mark may hold the output of its server open for ever."""
    daemon = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    program = (
        f"import os, subprocess, sys\ndel os.environ[{VARIABLE!r}]\n"
        f"subprocess.Popen([sys.executable, '-c', {daemon!r}], stdin=subprocess.DEVNULL, start_new_session=True)\n"
        "sys.stdin.read()\n"
    )
    talk, heard = channel(program)
    wait_until(lambda: heard.records)
    try:
        talk.close(5)

        assert talk._reader is not None
        talk._reader.join(PATIENCE_SECONDS)
        assert not talk._reader.is_alive()
    finally:
        os.kill(int(heard.records[0]), signal.SIGKILL)


def test_a_line_that_is_too_long_ends_the_channel(channel: OpenChannel) -> None:
    """Ours: a server that never ends its line does not take the machine with it."""
    program = "import sys, time; sys.stdout.write('x' * 100_000); sys.stdout.flush(); time.sleep(60)"
    _, heard = channel(program, max_record_bytes=1000)
    wait_until(lambda: heard.ends)

    assert isinstance(heard.ends[0], RemoteProtocolError)
    assert "a line of more than 1000 bytes" in heard.ends[0].message


def test_the_last_line_of_stderr_is_available_while_the_server_runs(channel: OpenChannel) -> None:
    """Ours: the error of a timeout quotes it."""
    talk, _ = channel("import sys, time; print('loading hunter22', file=sys.stderr, flush=True); time.sleep(60)")
    assert channel(ECHO)[0].noise() == ""
    wait_until(talk.noise)

    assert talk.noise() == "the last line of its stderr: loading ****"


def test_running_out_of_descriptors_at_the_start_is_an_error(channel: OpenChannel) -> None:
    """Ours: at whichever step, and at once; the program that was started by then is ended."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused = 0
    for spare in range(1, 20):
        with open(os.devnull, "rb") as lowest:  # noqa: PTH123
            free = lowest.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, before[1]))
        try:
            channel(ECHO)
        except ConnectError as error:
            refused += "Too many open files" in error.message
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert refused > 3


class LeavesNoDescriptor(Child):
    """A child with whose start this process comes to its limit of open files."""

    def start(self) -> None:
        super().start()
        with open(os.devnull, "rb") as lowest:  # noqa: PTH123
            free = lowest.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def test_running_out_of_descriptors_for_the_reader_is_an_error(channel: OpenChannel) -> None:
    """Ours: at once, rather than when the time is over."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        with pytest.raises(ConnectError, match="'calc' could not be started: Too many open files"):
            channel(ECHO, LeavesNoDescriptor)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_channel_reports_that_the_child_has_read_everything(channel: OpenChannel) -> None:
    """IO-10, ours: only a server that has read the probe is asked to `initialize` in another process."""
    talk, _ = channel(ECHO)

    talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")

    wait_until(talk.is_drained)
    assert not talk.is_unread()


def test_a_channel_reports_that_an_exited_child_read_nothing(channel: OpenChannel) -> None:
    """Ours: a child that has gone before, whose pipe holds nothing."""
    talk, _ = channel("raise SystemExit(3)")
    wait_until(lambda: not talk.is_running())

    assert talk.is_unread()  # Also where nothing was tried, since the end was noticed before.
    with pytest.raises(ServerExitedError):
        talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")
    assert talk.is_unread()


def test_a_span_names_the_pipe_transport(channel: OpenChannel) -> None:
    """OpenTelemetry, semantic conventions for MCP."""
    talk, _ = channel(ECHO)

    assert talk.attributes() == {"network.transport": "pipe"}
