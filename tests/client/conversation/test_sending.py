from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.stdio.child import CutError
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    ArgumentsError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    MCPError,
    NotConnectedError,
    ServerExitedError,
)
from tests.client.transports.talk import Here, handshake, in_thread, opened
from tests.waiting import wait_until

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.exchange import Exchange


def test_nothing_can_be_asked_before_there_is_a_pipe() -> None:
    """Ours."""
    talk = Here(handshake)

    for ask in (
        lambda: talk.request("x", None, Deadline(1)),
        lambda: talk.send_notification("x"),
        lambda: talk.watch_lists(Deadline(1)),
    ):
        with pytest.raises(NotConnectedError):
            ask()
    assert talk.is_open is False


def test_all_who_wait_hear_that_the_pipe_has_ended() -> None:
    """Ours."""
    talk = opened()
    threads = [in_thread(lambda: talk.request("x", None, Deadline(20))) for _ in range(3)]
    wait_until(lambda: len(talk.sent) == 3)

    talk.ends(ConnectError("gone"))
    for thread, _ in threads:
        thread.join(5)

    assert [str(outcomes[0]) for _, outcomes in threads] == ["gone"] * 3
    assert talk.methods() == ["x"] * 3, "nothing is cancelled on a pipe that is gone"
    assert not talk.is_open


def test_the_first_reason_for_an_end_is_the_one_that_counts() -> None:
    """Ours: what follows from it explains nothing."""
    talk = opened()
    talk.ends(ConnectError("first"))
    talk.ends(ConnectError("second"))

    with pytest.raises(ConnectError, match="first"):
        talk.request("x", None, Deadline(5))


def test_a_pipe_that_cannot_be_written_is_one_that_ended() -> None:
    """Ours: so that the next request finds a new one."""
    talk = opened()
    talk.fails = BrokenPipeError()

    with pytest.raises(ConnectError, match="ended tools/list"):
        talk.request("tools/list", None, Deadline(5))
    talk.fails = None

    assert not talk.is_open
    with pytest.raises(ConnectError, match="ended tools/list"):
        talk.request("prompts/list", None, Deadline(5))


class Watched(Here):
    """Looks at its server to say how the pipe was lost."""

    returncode: int | None = None
    closing = False

    @property
    def is_closing(self) -> bool:
        return self.closing

    def _why_lost(self, exchange: Exchange, stage: str) -> MCPError:
        return exchange.lost or ServerExitedError(
            self.name, stage, self.returncode, "bye\nbye", last_words="bye", closed="closed its output"
        )


def watched() -> Watched:
    talk = Watched(handshake)
    talk.open(probe=True, deadline=Deadline(5))
    talk.fails = BrokenPipeError()
    return talk


def test_a_server_that_runs_and_no_longer_reads_is_told_so() -> None:
    """Ours: it has not closed its output, and its last words may tell why."""
    talk = watched()

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.message == "server 'server' no longer reads its input tools/list; its last words: bye"
    assert (caught.value.returncode, caught.value.stderr_tail) == (None, "bye\nbye")
    assert not talk.is_open


def test_a_server_that_has_exited_is_told_with_its_status() -> None:
    """Ours: that it does not read then goes without saying."""
    talk = watched()
    talk.returncode = 3

    with pytest.raises(ServerExitedError) as caught:
        talk.request("tools/list", None, Deadline(5))

    assert caught.value.returncode == 3
    assert "exited with status 3" in caught.value.message


def test_an_end_that_was_met_by_reading_is_not_told_anew() -> None:
    """Ours: the first reason is the one that counts."""
    talk = watched()

    def ends_meanwhile(data: bytes, deadline: Deadline) -> None:
        talk.ends(ServerExitedError(talk.name, "before", None))
        raise BrokenPipeError

    talk.fails = None
    assert talk._exchange is not None
    talk._exchange.pipe.write = ends_meanwhile  # type: ignore[method-assign]

    with pytest.raises(ServerExitedError, match="closed its output before"):
        talk.request("tools/list", None, Deadline(5))


def test_a_pipe_that_we_are_closing_is_no_fault_of_the_server() -> None:
    """Ours: another thread has disconnected."""
    talk = watched()
    talk.closing = True

    with pytest.raises(NotConnectedError):
        talk.request("tools/list", None, Deadline(5))


def test_a_server_that_does_not_read_is_told_from_one_that_does_not_answer() -> None:
    """Ours: and nothing is cancelled that was never sent."""
    talk = opened()
    talk.fails = TimeoutError()

    with pytest.raises(DeadlineError) as caught:
        talk.request("tools/list", None, Deadline(5))
    talk.fails = None

    assert caught.value.stage == "tools/list (it does not read its input)"
    assert talk.sent == []
    talk.check_alive(Deadline(5))


@pytest.mark.parametrize(
    ("problem", "kind", "reason"),
    [(CutError(), DeadlineError, "does not read"), (KeyboardInterrupt(), KeyboardInterrupt, "interrupted")],
)
def test_a_message_that_was_cut_ends_the_conversation(
    problem: BaseException, kind: type[BaseException], reason: str
) -> None:
    """Ours: what followed half a message could not be understood."""
    talk = opened()
    talk.fails = problem

    with pytest.raises(kind):
        talk.request("tools/list", None, Deadline(5))
    talk.fails = None

    with pytest.raises(MCPError, match=reason):
        talk.request("tools/list", None, Deadline(5))
    assert talk.sent == []


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, math.nan, math.inf, nested(100_000)], ids=["object", "set", "nan", "inf", "deep"]
)
def test_what_is_no_json_is_not_sent(value: Any) -> None:
    """Ours: the caller's own mistake; the conversation goes on."""
    talk = opened()

    with pytest.raises(ArgumentsError) as caught:
        talk.request("tools/call", {"name": "t", "arguments": {"when": value}}, Deadline(5))
    with pytest.raises(LocalProtocolError, match="prompts/get 'p' cannot be written as JSON"):
        talk.request("prompts/get", {"name": "p", "arguments": {"when": value}}, Deadline(5))
    with pytest.raises(LocalProtocolError, match="notifications/x cannot"):
        talk.send_notification("notifications/x", {"when": value})

    assert (caught.value.tool, caught.value.server) == ("t", "server")
    assert caught.value.problems[0].startswith("the arguments cannot be written as JSON: ")
    assert talk.sent == []
    talk.check_alive(Deadline(5))


@pytest.mark.parametrize("problem", [TimeoutError(), BrokenPipeError()])
def test_an_answer_that_cannot_be_written_disturbs_nobody(problem: OSError) -> None:
    """Ours: reading goes on, and what has been read already may be what somebody waits for."""
    talk = opened()
    talk.fails = problem

    talk.arrives({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    talk.fails = None

    assert talk.is_open
    talk.check_alive(Deadline(5))


def test_whoever_reads_never_waits_for_room() -> None:
    """Ours: a server that asks and does not read would hold up the one who waits for its answer, without end."""
    talk = opened()
    patient: list[threading.Thread] = []

    def has_no_room(data: bytes, deadline: Deadline) -> None:
        if not deadline.expired:
            patient.append(threading.current_thread())
        raise TimeoutError

    assert talk._exchange is not None
    talk._exchange.outbox._write = has_no_room
    for number in range(100):
        talk.arrives({"jsonrpc": "2.0", "id": number, "method": "ping"})

    assert threading.current_thread() not in patient


def test_nothing_is_sent_of_our_own_accord_on_a_pipe_that_ended() -> None:
    """Ours."""
    talk = opened()
    exchange = talk._exchange
    assert exchange is not None
    talk.ends(ConnectError("gone"))

    talk._received(exchange, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')

    assert talk.sent == []


def test_nothing_is_written_to_a_pipe_that_has_ended_meanwhile() -> None:
    """Ours: another thread may have found out just now."""
    talk = opened()
    exchange = talk._exchange
    assert exchange is not None
    talk.ends(ConnectError("gone"))

    with pytest.raises(ConnectError, match="gone"):
        talk._send(exchange, [b"{}\n"], Deadline(5), "tools/list")
    assert talk.sent == []
