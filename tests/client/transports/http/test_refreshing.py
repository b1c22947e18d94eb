"""Reading the tools again for a call."""

from __future__ import annotations

from typing import Any

from gaia_mcp.client.transports.http.lanes import Lane, Lanes
from gaia_mcp.client.transports.http.refreshing import MAX_PAGES, refresh_tools
from gaia_mcp.deadline import Deadline
from gaia_mcp.protocol import jsonrpc
from tests.client.transports.http.web import (
    Answer,
    Asked,
    always,
    as_events,
    as_json,
    connections_to,
    event,
    new_wire,
    result,
    serving,
)
from tests.protocol_support import ENVELOPE
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS

TOOL = {"name": "t", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}
META = {**ENVELOPE, "progressToken": 4}
CALL = jsonrpc.request(4, "tools/call", {"name": "t", "arguments": {"a": "x"}, "_meta": META})


def refreshed(answer: Any) -> tuple[bool, list[Asked]]:
    """Whether the headers of the call have changed, and what was asked for that."""
    found: list[bool] = []

    class Work:
        is_given_up = False

        def run(self, lane: Lane) -> None:
            found.append(refresh_tools(lane, wire, CALL, Deadline(ENOUGH_SECONDS)))

    with serving(answer) as web:
        wire, _ = new_wire(web.url)
        lanes = Lanes(connections_to(wire.endpoint), "web")
        lanes.use(Work())
        lanes.close(PATIENCE_SECONDS)
        return found[0], web.asked


def test_all_pages_are_read_as_json_or_as_events() -> None:
    """Spec, HC-5: with the envelope of the call, but for what belongs to that alone."""

    def answer(asked: Asked) -> Answer:
        if "cursor" not in asked.message["params"]:
            return result(asked, tools=[], nextCursor="2")
        reply = jsonrpc.result(asked.message["id"], {"tools": [TOOL]})
        return as_events(b"data: no\n\n", event(jsonrpc.notification("x", None)), event(reply))

    is_other, asked = refreshed(answer)

    assert is_other
    first, second = (each.message for each in asked)
    assert first["params"] == {"_meta": ENVELOPE}
    assert second["params"] == {"cursor": "2", "_meta": ENVELOPE}
    assert isinstance(first["id"], str)
    assert first["id"] != second["id"]
    assert asked[0].headers["mcp-method"] == "tools/list"


def test_a_failed_or_empty_list_does_not_change_the_headers() -> None:
    """Ours: the server's error is reported then."""
    answers = [
        lambda asked: result(asked, tools=[]),
        always(as_json({"error": "x"}, 400)),
        always(Answer(500, {}, b"no")),
        always(as_events()),
    ]

    assert [refreshed(answer)[0] for answer in answers] == [False] * 4


def test_the_number_of_pages_is_limited() -> None:
    """Ours: the call waits; and a cursor that repeats itself ends the list."""
    assert len(refreshed(lambda asked: result(asked, tools=[], nextCursor="same"))[1]) == 2
    endless = refreshed(lambda asked: result(asked, tools=[], nextCursor=asked.message["id"]))[1]
    assert len(endless) == MAX_PAGES
