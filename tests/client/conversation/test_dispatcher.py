from __future__ import annotations

import math
from typing import Any

import pytest

from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    ArgumentsError,
    CancelledError,
    ConnectError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
)
from tests.client.transports.talk import Talk, handshake, in_thread, opened
from tests.waiting import wait_until


def test_nothing_can_be_asked_before_there_is_a_pipe() -> None:
    """Ours."""
    talk = Talk(handshake)

    for ask in (
        lambda: talk.request("x", None, Deadline(1)),
        lambda: talk.send_notification("x"),
        lambda: talk.conversation.watch_lists(Deadline(1)),
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


def test_a_message_that_cannot_be_sent_is_reported_to_its_caller_alone() -> None:
    """Ours: and nothing is cancelled that was never sent."""
    talk = opened()
    talk.fails = DeadlineError("server", "tools/list (it does not read its input)", 5)

    with pytest.raises(DeadlineError, match="does not read"):
        talk.request("tools/list", None, Deadline(5))
    talk.fails = None

    assert talk.sent == []
    talk.check_alive(Deadline(5))


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


def test_nothing_is_sent_of_our_own_accord_on_a_channel_that_ended() -> None:
    """Ours."""
    talk = opened()
    (channel,) = talk.channels
    talk.ends(ConnectError("gone"))

    channel.arrive(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')

    assert talk.sent == []


def test_the_second_message_is_not_sent_on_a_channel_that_the_first_has_ended() -> None:
    """Ours: nothing that follows could arrive."""
    talk = opened()
    talk.script = lambda _: (talk.ends(ConnectError("gone")), [])[1]
    client = talk.conversation

    with pytest.raises(ConnectError, match="gone"):
        client.request("tools/list", None, Deadline(5))
    with pytest.raises(ConnectError, match="gone"):
        client.send_notification("notifications/x", None, Deadline(5))
    assert talk.methods() == ["tools/list"]


def test_a_caller_that_is_cancelled_is_woken_at_once() -> None:
    """Ours: the clock stands still here, so only the cancellation can end the wait."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = opened()
    thread, outcomes = in_thread(lambda: talk.request("tools/list", None, deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(5)

    assert isinstance(outcomes[0], CancelledError)
    assert talk.methods() == ["tools/list", "notifications/cancelled"]


def test_a_caller_that_opens_a_conversation_can_be_cancelled() -> None:
    """Ours: also while the probe has a shorter time of its own."""
    deadline = Deadline(10, clock=lambda: 0.0)
    talk = Talk(lambda message: [])
    thread, outcomes = in_thread(lambda: talk.open(probe=True, deadline=deadline))
    wait_until(lambda: talk.sent)

    deadline.cancel()
    thread.join(5)

    assert isinstance(outcomes[0], CancelledError)
    assert not talk.is_connected()
