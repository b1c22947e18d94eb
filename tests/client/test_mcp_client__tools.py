"""Listing, finding and calling tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.tools import MCPTool
from gaia_mcp.client.transports.base import UNLISTED
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import (
    NotSupportedError,
    PeerError,
    ToolExcludedError,
)
from gaia_mcp.protocol.pagination import MAX_PAGES
from gaia_mcp.toolspec.tool_filter import ToolFilter
from tests.client.conftest import noted
from tests.client.eras import ERAS, scripted
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, Talk, error, handshake, result

if TYPE_CHECKING:
    from tests.client.conftest import Started
    from tests.client.eras import StartTalk


def test_a_list_changed_notification_invalidates_the_tools(start_server: Started) -> None:
    """Spec, MC-11: the cached list is outdated at once."""
    client = start_server("list_changes")
    assert [tool.name for tool in client.fetch_tools()] == ["echo"]

    client.call("echo", {})

    assert [tool.name for tool in client.fetch_tools()] == ["echo", "new1"]
    assert [tool.name for tool in client.fetch_tools()] == ["echo", "new1"]
    assert start_server.notes("list_changes").count("tools/list") == 2


def test_clients_of_one_host_have_separate_list_changes(start_server: Started) -> None:
    """Ours: a program may pass one host to the clients of several servers."""
    host = Host()
    changed, other = start_server("list_changes", host=host), start_server("list_changes", host=host)
    for client in (changed, other):
        client.fetch_tools()
    changed.call("echo", {})

    assert [tool.name for tool in other.fetch_tools()] == ["echo"]
    assert [tool.name for tool in changed.fetch_tools()] == ["echo", "new1"]


def test_a_listener_is_called_when_a_list_changes(start_server: Started) -> None:
    """Ours: an agent updates its own list of tools then."""
    client = start_server("list_changes")
    heard: list[str] = []
    assert client.on_list_changed is None
    client.on_list_changed = heard.append

    client.call("echo", {})

    assert heard == ["tools"]
    assert client.on_list_changed is not None


def test_the_known_tools_are_those_of_the_last_list(start_server: Started) -> None:
    """Ours: no request is sent."""
    client = start_server("good_handshake")
    assert client.known_tools() == []
    client.fetch_tools()

    client.known_tools().clear()
    assert [tool.name for tool in client.known_tools()][:2] == ["echo", "slow"]
    client.disconnect()
    assert client.known_tools() == []


def test_list_changes_are_subscribed_to_before_the_tools_are_listed(start_server: Started) -> None:
    """Spec 2026-07-28, MC-11: a change between the two would be missed, and the outdated list cached."""
    start_server("good_stateless").fetch_tools()

    notes = start_server.notes("good_stateless")
    assert notes.index("subscriptions/listen") < notes.index("tools/list")


def test_ten_thousand_tools_are_read_from_all_pages(start_server: Started) -> None:
    """Spec, pagination."""
    client = start_server("many_pages")
    tools = client.fetch_tools()

    assert [tool.name for tool in tools] == [f"tool{number}" for number in range(10_000)]
    assert client.tool_problems == []


def test_a_repeated_cursor_ends_the_list(start_server: Started) -> None:
    """Ours: the client would request the same pages for ever. The cursor is reported."""
    client = start_server("endless_cursor")

    assert [tool.name for tool in client.fetch_tools()] == ["echo"]
    assert any("cursor 'more'" in problem for problem in client.tool_problems)


def test_an_empty_cursor_ends_the_list(start_server: Started) -> None:
    """Ours: older servers mark the last page with it."""
    client = start_server("empty_cursor_is_end")

    assert [tool.name for tool in client.fetch_tools()] == ["echo"]
    assert client.tool_problems == []


def test_a_refused_empty_cursor_ends_the_list(start_server: Started) -> None:
    """Ours: an older server marks the last page with it, and does not know its own cursor."""
    client = start_server("refuses_empty_cursor")

    assert [tool.name for tool in client.fetch_tools()] == ["echo"]
    assert len(client.tool_problems) == 1


def test_any_other_refused_cursor_is_an_error(start_server: Started) -> None:
    """Spec, pagination: half a list is not the list."""
    with pytest.raises(PeerError):
        start_server("refuses_empty_cursor", "real").fetch_tools()


def test_invalid_tools_do_not_hide_valid_ones(start_server: Started) -> None:
    """Ours: the valid ones can be called; the invalid ones are reported."""
    client = start_server("bad_tools")

    assert [tool.name for tool in client.fetch_tools()] == ["good", "bare", "other"]
    assert len(client.tool_problems) == 5


def test_finding_a_tool_stops_at_its_page(start_server: Started) -> None:
    """Ours: a call from a shell must not read a hundred pages."""
    client = start_server("many_pages")

    found = client.find_tool("tool150")

    assert found is not None
    assert found.name == "tool150"
    assert start_server.notes("many_pages").count("tools/list") == 2
    assert client.find_tool("nothing") is None


def test_a_tool_without_a_name_cannot_be_found() -> None:
    """Ours: it cannot be called."""
    client = MCPClient("own", Scripted(tools_list={"tools": [{"name": "", "inputSchema": {}}]}))
    client.open()

    assert client.find_tool("") is None
    assert client.fetch_tools() == []


def test_a_listed_tool_is_found_without_a_request(start_server: Started) -> None:
    """Ours: a program looks a tool up before each call; an unknown name costs no request either."""
    client = start_server("good_handshake")
    client.fetch_tools()

    assert isinstance(client.find_tool("echo"), MCPTool)
    assert client.find_tool("nothing") is None
    assert start_server.notes("good_handshake").count("tools/list") == 1


MESSY = {"tools": [{"name": "read"}, {"name": "write", "inputSchema": {}}, {"name": "write"}, {"name": ""}]}


def with_filter(client: MCPClient, *, include: list[str] | None = None, exclude: tuple[str, ...] = ()) -> MCPClient:
    client.tool_filter = ToolFilter(include, exclude)
    return client


def test_an_excluded_tool_is_not_listed(start_talk: StartTalk) -> None:
    """Ours: nor are its problems reported. The cache gets all tools, since the filter may change."""
    client = with_filter(start_talk(lambda _: MESSY)[0], include=["read"])

    assert [tool.name for tool in client.fetch_tools()] == ["read"]
    assert [tool.name for tool in client.known_tools()] == ["read"]
    assert [tool.name for tool in client.listed_tools()] == ["read", "write"]
    assert client.tool_problems == ["tool 'read' has no inputSchema object", "tool 4 has no name"]


@pytest.mark.parametrize(("exclude", "problems"), [((), ["tool 'bad' is left out: it is"]), (("bad",), [])])
def test_a_tool_left_out_by_its_channel_is_reported(
    exclude: tuple[str, ...], problems: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Spec, HC-4: over HTTP, unless the entry excludes it too. A warning is logged where the caller does not report
    it.
    """

    caplog.set_level("WARNING", "gaia_mcp")

    class Strict(MemoryChannel):
        def tools_left_out(self) -> dict[str, str]:
            return {"bad": "it is"}

    def script(message: Message) -> list[Message]:
        is_list = message["method"] == "tools/list"
        return [result(message, {"tools": []})] if is_list else handshake(message)

    with with_filter(MCPClient("s", Talk(script, channel=Strict)), exclude=exclude) as client:
        assert client.fetch_tools() == client.fetch_tools() == []
        assert client.tool_problems == problems
        assert caplog.messages == [f"MCP server 's': {problem}" for problem in problems]
        client.fetch_tools(refresh=True, logs_problems=False)
        assert len(caplog.messages) == len(problems)


def test_any_name_is_found_if_the_server_cannot_list_tools() -> None:
    """Spec, C1: the call shows whether it exists. Before the list is read, and afterwards."""

    class Silent(MemoryChannel):
        @property
        def lists_tools(self) -> bool:
            return False

    def script(message: Message) -> list[Message]:
        listed = [{"name": "known", "inputSchema": {"type": "object"}}]
        return [result(message, {"tools": listed})] if message["method"] == "tools/list" else handshake(message)

    with MCPClient("s", Talk(script, channel=Silent)) as client:
        for is_listed in (False, True):
            if is_listed:
                assert [tool.name for tool in client.fetch_tools()] == ["known"]
                assert client.tool_problems == [UNLISTED]
            for name in ("known", "unknown"):
                tool = client.find_tool(name)
                assert tool is not None
                assert tool.name == name


@pytest.mark.parametrize("is_known", [False, True])
def test_an_excluded_tool_is_an_error_and_an_unknown_tool_is_not_found(start_talk: StartTalk, is_known: bool) -> None:
    """Ours: the one was configured in the entry, the other is a misspelt name."""
    client = with_filter(start_talk(lambda _: MESSY)[0], exclude=("w*",))
    if is_known:
        client.fetch_tools()

    with pytest.raises(ToolExcludedError) as caught:
        client.find_tool("write")

    assert (caught.value.server, caught.value.tool) == ("odd", "write")
    assert (caught.value.member, caught.value.patterns) == ("excludeTools", ("w*",))
    assert client.find_tool("wipe") is None
    found = client.find_tool("read")
    assert found is not None
    assert found.name == "read"


def test_an_excluded_tool_is_not_called(start_talk: StartTalk) -> None:
    """Ours: the check of the entry comes before the request, so nothing is sent."""
    client, conversation = start_talk(lambda _: {"content": []})
    with_filter(client, include=["re*"])

    with pytest.raises(ToolExcludedError, match="'write' of 'odd' is not among the 'includeTools' of its entry"):
        client.call("write", {})

    assert conversation.sent == []
    assert client.call_tool("write", {}) == {
        "error": "tool 'write' of 'odd' is not among the 'includeTools' of its entry"
    }
    assert client.call("read", {})["content"] == []


def test_a_list_of_20000_resources_is_read_completely(start_talk: StartTalk) -> None:
    """Ours: also one that comes in a single page."""
    client, _ = start_talk(lambda _: {"resources": [{"uri": f"x://{number}", "name": "x"} for number in range(20_000)]})

    assert len(client.list_resources()) == 20_000
    assert client.tool_problems == []


def test_a_list_ends_at_the_page_limit(start_talk: StartTalk) -> None:
    """Ours: a server may send a new cursor with every page. The items so far are returned."""

    def answers(message: Message) -> Message:
        here = int(message.get("params", {}).get("cursor", "0"))
        return {"prompts": [{"name": str(here)}], "nextCursor": str(here + 1)}

    client, conversation = start_talk(answers)

    assert [prompt["name"] for prompt in client.list_prompts()] == [str(number) for number in range(MAX_PAGES)]
    assert len(conversation.sent) == MAX_PAGES
    assert len(client.tool_problems) == 1


def test_a_refused_list_is_an_error(start_talk: StartTalk) -> None:
    """Spec, errors: with the server's own code."""
    client, _ = start_talk(lambda message: [error(message, -32603, "no list today")])

    with pytest.raises(PeerError, match="no list today") as caught:
        client.list_prompts()

    assert caught.value.code == -32603


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_not_requested_without_the_capability(era: str) -> None:
    """LC-3. Its list is empty, and a call is an error before it is sent."""
    talk = Talk(scripted(era, lambda asked: {"tools": [], "content": []}, {"prompts": {}}))
    client = MCPClient("s", talk)
    client.open()
    talk.sent.clear()

    assert (client.fetch_tools(), client.find_tool("x"), client.known_tools()) == ([], None, [])
    with pytest.raises(NotSupportedError) as caught:
        client.call("x", {})

    assert (caught.value.feature, talk.sent) == ("tools", [])


def test_tools_are_requested_if_capabilities_are_empty() -> None:
    """Ours: small servers leave their capabilities empty."""
    answers = {"tools/list": {"tools": [{"name": "x", "inputSchema": {}}]}, "tools/call": {"content": []}}
    client = MCPClient("s", Talk(scripted(ERAS[1], lambda asked: answers[asked["method"]], {})))
    client.open()

    assert [tool.name for tool in client.fetch_tools()] == ["x"]
    assert client.call("x", {}) == {"content": []}


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_structured_content_that_violates_the_output_schema_is_reported(
    start_talk: StartTalk, caplog: pytest.LogCaptureFixture
) -> None:
    """MC-14: the result is returned all the same, as the server sent it."""
    tools = [{"name": "x", "inputSchema": {}, "outputSchema": NUMBER}, {"name": "y", "inputSchema": {}}]
    rows: list[tuple[Message, str]] = [
        ({"structuredContent": {"n": "one"}}, "does not match its output schema"),
        ({}, "sent no structured content"),
        ({"structuredContent": {"n": 1}}, ""),
        ({"isError": True, "error": "it failed"}, ""),
    ]

    # Another test may have asked for more.
    caplog.set_level("WARNING", "gaia_mcp")

    def check(method: str, whole: Message, warning: str) -> None:
        client, _ = start_talk(lambda asked: {"tools": tools} if asked["method"] == "tools/list" else whole)
        assert getattr(client, method)("x", {}) == whole
        assert caplog.text == ""  # The schema of the tool is not known yet.
        client.fetch_tools()
        assert getattr(client, method)("y", {}) == whole
        assert caplog.text == ""

        assert getattr(client, method)("x", {}) == whole
        assert (warning in caplog.text) if warning else (caplog.text == "")
        caplog.clear()
        client.call_unchecked("x", {})
        assert caplog.text == ""

    for method in ("call", "call_tool"):
        for members, warning in rows:
            with noted((method, members)):
                check(method, {"content": [], **members}, warning)


@pytest.mark.parametrize("config", [{}, {"trustHints": True}])
def test_hints_are_trusted_only_with_trust_hints_in_the_entry(start_talk: StartTalk, config: Message) -> None:
    """B-10: annotations are untrusted unless the user trusts the server. It is the same for found and listed tools."""
    entry = read_entry("s", {"command": "x", **config})
    tool = {"name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": True}}
    client, _ = start_talk(lambda asked: {"tools": [tool]})
    client.trusts_hints = MCPClient.from_entry(entry).trusts_hints

    found = [client.find_tool("x"), *client.fetch_tools()]

    assert [tool is not None and tool.only_reads for tool in found] == [bool(config)] * 2


@pytest.mark.parametrize(("ttl", "requests"), [(0, 2), (None, 2), (60_000, 1)])
def test_a_list_is_reused_while_it_is_fresh(ttl: int | None, requests: int) -> None:
    """MC-10: a missing `ttlMs` is 0."""
    page: Message = {"tools": [], "cacheScope": "public"} if ttl is None else {"tools": [], "ttlMs": ttl}
    talk = Talk(scripted(ERAS[0], lambda asked: page, {"tools": {}}))
    client = MCPClient("s", talk)
    client.open()

    client.fetch_tools()
    client.fetch_tools()

    assert talk.methods().count("tools/list") == requests
    assert client.freshness["tools/list"].ttl_ms == (ttl or 0)


def test_a_list_of_the_handshake_era_is_reused_until_it_changes() -> None:
    """Spec: its results have no `ttlMs`, and servers send a notification of each change."""
    talk = Talk(scripted(ERAS[1], lambda asked: {"tools": [], "ttlMs": 0}, {"tools": {}}))
    client = MCPClient("s", talk)
    client.open()

    client.fetch_tools()
    client.fetch_tools()

    assert (talk.methods().count("tools/list"), client.freshness) == (1, {})


def test_a_request_without_its_declared_capability_is_an_error() -> None:
    """LC-3: nothing is sent."""
    talk = Talk(scripted(ERAS[1], lambda asked: {"messages": []}, {"prompts": {}}))
    client = MCPClient("s", talk)
    client.open()
    talk.sent.clear()

    with pytest.raises(NotSupportedError):
        client.read_resource("x://y")
    assert talk.sent == []
    assert client.get_prompt("x") == {"messages": []}
