"""What all drivers of command lines have in common."""

from __future__ import annotations

import json
from pathlib import Path

from gaia_mcp.contrib.hub.drivers.base import (
    MAX_EVENT_BYTES,
    context_text,
    count_of,
    events,
    text_in,
    tool_server,
    unwrapped,
)
from gaia_mcp.contrib.hub.drivers.claude import ClaudeDriver

DRIVER = ClaudeDriver()
ANSWER = b'{"type":"result","is_error":false,"result":"hi"}'


def test_an_exit_status_other_than_0_is_a_failure_even_with_output() -> None:
    """B5: the status and the end of stderr are the error, or else what there is of the answer."""
    for status, ended in (
        (1, "claude ended with exit status 1"),
        (41, "claude ended with exit status 41"),
        (-9, "signal 9"),
    ):
        assert DRIVER.answer(ANSWER, status, "quota exceeded").error == f"quota exceeded ({ended})"
        assert DRIVER.answer(ANSWER, status, "").error == f"hi ({ended})"
        assert DRIVER.answer(ANSWER.replace(b"hi", b""), status, "").error == f"claude wrote nothing ({ended})"


def test_without_readable_output_the_error_is_the_end_of_stderr() -> None:
    """B5: its stderr, else its stdout; without either, what the driver misses."""
    assert DRIVER.answer(b"", 2, "unknown option").error.startswith("unknown option (")
    assert DRIVER.answer(b"please log in\n", 2, "").error.startswith("please log in (")
    assert DRIVER.answer(b"please log in\n", 0, "").error == "claude wrote no result"


def test_a_long_event_reports_no_activity() -> None:
    """B5: it holds, for example, a file that the agent has read, and parsing it would take time."""
    blocks = [{"type": "tool_use", "name": "Read"}]

    def line(padding: int) -> bytes:
        return json.dumps({"type": "assistant", "message": {"content": blocks}, "x": "x" * padding}).encode()

    longest = MAX_EVENT_BYTES - len(line(0))
    assert (DRIVER.reported(line(longest)), DRIVER.reported(line(longest + 1))) == ("calls Read", "")


def test_events_are_the_objects_among_the_lines() -> None:
    """B6: any line, and any member, may be missing or of another type."""
    output = b'Loaded.\n{"a": {"b": "c"}}\n[1]\n\xff\n{"type": 7}\n{"cut": "o'

    assert events(output) == [{"a": {"b": "c"}}, {"type": 7}]
    assert [text_in(events(output)[0], *keys) for keys in (("a", "b"), ("a",), ("a", "b", "c"), ("x", "y"))] == [
        "c", "", "", "",
    ]  # fmt: skip
    assert [count_of(3, 4), count_of(3, None, True, -1, "4"), count_of(None)] == [7, 3, None]


def test_an_error_response_of_an_api_is_its_message() -> None:
    """B5: a person reads the reason, not JSON."""
    assert unwrapped('{"error": {"message": "no credit"}}') == "no credit"
    for text in ("no credit", '{"error": "no credit"}', '{"error": {"message": ""}}'):
        assert unwrapped(text) == text


def test_the_context_keeps_letters_of_every_language() -> None:
    """B4: the agent reads it as it was given."""
    assert context_text({}) == ""
    assert '"code": "é"' in context_text({"code": "é"})


def test_the_tool_server_needs_the_variables_but_not_the_functions_of_a_shell() -> None:
    """B7: an exported function has a name that a program would refuse as that of a variable."""
    server = tool_server(Path("/run/tools.json"), ["add"], ["PATH", "BASH_FUNC_f%%", "HOME", "HOME"])

    assert server.arguments[-4:] == ["serve", "agents-tools", "--kwarg", "file=/run/tools.json"]
    assert "PATH" in server.variables
    assert server.variables == sorted({*server.variables})
    assert [name for name in server.variables if "%" in name] == []
    assert server.tools == ["add"]
