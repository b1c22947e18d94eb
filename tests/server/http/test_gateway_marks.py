"""The marks of gateways."""

from __future__ import annotations

from gaia_mcp.server.http.gateway_marks import MAX_MARKS, GatewayMarks

ONE, OTHER = "1" * 32, "2" * 32


def test_a_request_that_has_passed_through_a_gateway_is_recognized() -> None:
    """Ours: also where another gateway has passed it on."""
    own, front = GatewayMarks(ONE), GatewayMarks(OTHER)
    changes: list[str] = []
    own.on_change = lambda: changes.append(own.header)

    assert not own.has_come_back(front.header)
    assert not own.has_come_back(front.header)
    assert changes == [f"{ONE}, {OTHER}"]
    assert front.has_come_back(own.header)
    assert own.has_come_back(own.header)


def test_marks_are_limited_and_checked() -> None:
    """Ours: what a client claims is sent to servers, and must neither grow without an end nor be anything at all."""
    marks = GatewayMarks()

    assert not marks.has_come_back(", ".join(["x", "", "\u00e9" * 31, *(f"{number:032}" for number in range(99))]))
    assert len(marks.header.split(", ")) == MAX_MARKS
    assert "x" not in marks.header
