"""The error for a tool that is not offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.session.session import connected
from gaia_mcp.session.unknown import unknown_tool
from gaia_mcp.toolspec.tool_filter import ToolFilter
from tests.session.conftest import QUIET

if TYPE_CHECKING:
    from tests.session.conftest import Entries


def test_a_tool_with_an_invalid_definition_is_named_with_the_reason(entries: Entries) -> None:
    """Ours: a person who sees it in the server's documents would look for a misspelling."""
    with connected(entries("good_handshake"), QUIET) as session:
        session.problems = ["tool 'bad' has no inputSchema object", "tool 'bad' is left out: it is wrong"]

        error = unknown_tool(session, "bad", ["bat"])
        assert str(error).endswith("has no tool 'bad': it is left out: it is wrong")
        assert "author" in error.hint
        assert "bat" in unknown_tool(session, "bax", ["bat"]).hint
        assert str(unknown_tool(session, "bax", [])).endswith("has no tool 'bax': it lists no tools")


def test_a_server_whose_tools_are_all_excluded_is_not_said_to_list_none(entries: Entries) -> None:
    """Ours: it lists tools, of which the entry wants none."""
    entry = entries("good_handshake")._replace(tool_filter=ToolFilter(["nothing*"]))
    with connected(entry, QUIET) as session:
        error = unknown_tool(session, "bax", [])

    assert str(error).endswith("has no tool 'bax'")
    assert error.case == ""
