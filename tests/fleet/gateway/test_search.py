"""Three tools in the place of many."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gaia_mcp import current_call
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError, EntryError, PeerError
from gaia_mcp.fleet.gateway.gate import NamePatterns, RestrictedProvider, of_one
from gaia_mcp.fleet.gateway.provider import GatewayProvider
from gaia_mcp.fleet.gateway.search import MOST_TOOLS, SearchProvider
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import Change, RequestError
from gaia_mcp.testing import client_for
from tests.fleet.gateway.shelf import Shelf, answer, names, owners, text_of, tool
from tests.waiting import PATIENCE_SECONDS, wait_until

ERAS = pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])


def shelf_of(*tools: Any) -> SearchProvider:
    return SearchProvider(AgentProvider(Shelf(*tools)), owners)


def demo() -> SearchProvider:
    return SearchProvider(AgentProvider(DemoAgent()), of_one("demo"))


def run(provider: SearchProvider, tool_name: str, /, **arguments: Any) -> dict[str, Any]:
    return answer(provider, "tools/call", name=tool_name, arguments=arguments)


def found(provider: SearchProvider, words: str, **more: Any) -> list[str]:
    """The lines that `find` returns, of the tools their names alone."""
    return [line.partition("(")[0] for line in text_of(run(provider, "find", words=words, **more)).splitlines()]


def test_the_three_tools_are_listed_with_annotations() -> None:
    """Ours: a host asks a person about `call` as it does about any tool that may destroy something."""
    hints = {each["name"]: each["annotations"] for each in answer(demo(), "tools/list")["tools"]}

    assert hints["find"] == hints["describe"] == {"readOnlyHint": True, "openWorldHint": False}
    assert hints["call"] == {
        "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True,
    }  # fmt: skip
    only_reading = SearchProvider(AgentProvider(DemoAgent()), of_one("demo"), read_only=True)
    assert answer(only_reading, "tools/list")["tools"][2]["annotations"] == {
        "readOnlyHint": True,
        "openWorldHint": True,
    }


def test_the_list_of_the_three_tools_is_short() -> None:
    """Ours: that is what they are for."""
    assert len(json.dumps(answer(demo(), "tools/list"))) < 2000


def test_find_lists_matching_tools_or_counts_them() -> None:
    """Ours: with words, and without; `test_finding` has the details."""
    provider = shelf_of(*[tool(f"tool{number}") for number in range(60)], "hub__other")

    assert found(provider, "other") == ["hub__other"]
    assert found(provider, "tool")[-1] == "… and 50 more: use more words, or a higher limit."
    assert len(found(provider, "tool", limit=MOST_TOOLS)) == MOST_TOOLS + 1
    assert text_of(run(provider, "find")) == text_of(run(provider, "find", words=" ")) == "hub: 1 tool\none: 60 tools"


def test_find_names_the_servers_that_are_not_available() -> None:
    """Ours: a tool that is not found may be one of theirs."""
    gate = GatewayProvider({"odd": EntryError("odd", "'timeout' must be a number")})

    assert found(SearchProvider(gate, gate.tool_owner), "anything")[-1] == "Not available now: odd"
    gate.close()


def test_describe_returns_a_definition_without_icons_and_output_schema() -> None:
    """Ours: no icons, no output schema."""
    schema = {"type": "object", "properties": {"ä": {"type": "integer"}}}
    rest = {"title": "Add", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    provider = shelf_of(tool("add", "Adds.", **rest, outputSchema={"type": "object"}, icons=[{"src": "data:,"}]))

    assert json.loads(text_of(run(provider, "describe", name="add"))) == {"name": "add", "description": "Adds.", **rest}
    unknown = run(provider, "describe", name="sub")
    assert unknown["isError"]
    assert text_of(unknown) == "There is no tool 'sub'. Use find to look for tools."


def test_an_argument_sent_as_text_is_read_as_what_it_is() -> None:
    """Ours: as in a served agent."""
    assert not run(demo(), "find", words="add", limit="1")["isError"]
    called = run(demo(), "call", name="add", arguments='{"a": 1, "b": 2}')
    assert not called["isError"]


def test_invalid_arguments_are_a_tool_error() -> None:
    """Spec 2025-11-25, tool errors: the model reads what was wrong."""
    provider = demo()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find", {"words": 1}),
        ("find", {"limit": 0}),
        ("describe", {}),
        ("call", {"name": "add", "arguments": []}),
        ("call", {"name": "add", "a": 1}),
    ]
    results = [(name, arguments, run(provider, name, **arguments)) for name, arguments in calls]

    assert not [row for row in results if not row[2]["isError"] or "input validation failed" not in text_of(row[2])]


def test_only_the_three_can_be_called() -> None:
    """Ours: the others have to be called with `call`, so that a host sees which one asks for permission."""
    provider = demo()

    for params in ({"name": "add", "arguments": {}}, {"name": 7}, {"name": "call", "arguments": []}):
        with pytest.raises(RequestError):
            answer(provider, "tools/call", **params)


def test_a_tool_named_like_one_of_the_three_is_found_and_called() -> None:
    """Ours: a server may have a tool `call`."""
    shelf = Shelf(*[tool(name, f"My own {name}.") for name in ("find", "describe", "call")])
    provider = SearchProvider(AgentProvider(shelf), owners)

    assert found(provider, "own") == ["call", "describe", "find"]
    assert "My own call." in text_of(run(provider, "describe", name="call"))
    run(provider, "call", name="call", arguments={"name": "find", "arguments": {}})
    run(provider, "call", name="find")
    assert shelf.ran == ["call", "find"]
    assert "My own" not in json.dumps(answer(provider, "tools/list"))


def test_an_unknown_tool_is_a_tool_error_and_other_errors_are_passed_on() -> None:
    """Ours: it has chosen the tool and its arguments, and reads results alone. Other errors stay what they are."""
    shelf = Shelf("add")
    provider = SearchProvider(AgentProvider(shelf), owners)

    unknown = run(provider, "call", name="sub")
    assert unknown["isError"]
    assert text_of(unknown).startswith("Unknown tool: sub. Use find")

    def refuse(_: Any) -> None:
        raise RequestError("open the page first", -32042, {"elicitations": []})

    shelf.run = refuse
    with pytest.raises(RequestError, match="open the page first") as caught:
        run(provider, "call", name="add")
    assert (caught.value.code, caught.value.data) == (-32042, {"elicitations": []})


def test_a_restricted_tool_is_neither_found_nor_described_nor_called() -> None:
    """Ours: restrictions hold for all three."""
    inner = RestrictedProvider(AgentProvider(DemoAgent()), of_one("demo"), NamePatterns(["greet"], [], lambda *_: None))
    provider = SearchProvider(inner, of_one("demo"))

    assert found(provider, "two numbers") == ["No tool matches any of these words. Use others, or no words at all."]
    assert text_of(run(provider, "find")) == "demo: 1 tool"
    assert run(provider, "describe", name="add")["isError"]
    assert run(provider, "call", name="add", arguments={"a": 1, "b": 2})["isError"]
    assert text_of(run(provider, "call", name="greet", arguments={"name": "Ada"})) == "Hello, Ada!"


@ERAS
def test_a_call_passes_everything_through(revision: str) -> None:
    """Ours: structured content, progress, logs, questions, sampling, failures; what is not a tool stays as it is."""
    heard: list[tuple[float, float | None]] = []
    answers = [{"size": "large", "cups": 2, "sugar": True}]
    with client_for(demo(), revision=revision, answers=answers, sample="Water falls") as client:

        def call(name: str, /, **arguments: Any) -> dict[str, Any]:
            given = {"name": name, "arguments": arguments}
            return client.call("call", given, on_progress=lambda event: heard.append((event.progress, event.total)))

        assert call("add", a=1, b=2)["structuredContent"] == {"sum": 3}
        assert text_of(call("countdown", steps=2, seconds=0)) == "counted down from 2"
        assert heard[-1] == (2, 2)
        assert text_of(call("order")) == "2 large, with sugar"
        assert text_of(call("haiku", about="rain")) == "Water falls"
        assert call("fail") == {**call("fail"), "isError": True}
        assert call("picture", size=1)["content"][0]["mimeType"] == "image/png"
        assert "expected" in text_of(call("greet", name="")).lower()
        assert client.read_resource("demo://about")["contents"][0]["mimeType"] == "text/plain"
        assert client.get_prompt("introduce", {"name": "Ada"})["messages"]
        assert "greet" in client.instructions
        with pytest.raises(PeerError, match="Unknown tool"):
            client.call_unchecked("add", {"a": 1, "b": 2})


@ERAS
def test_cancelling_a_call_cancels_the_tool_that_it_calls(revision: str) -> None:
    """Ours: a tool must not run on when its caller has given up."""
    shelf = Shelf("wait")
    ended: list[str] = []

    def wait(_: Any) -> None:
        call = current_call()
        call.progress(1)
        try:
            call.wait(60)
        finally:
            ended.append("wait")

    shelf.run = wait
    deadline = Deadline(PATIENCE_SECONDS)
    with client_for(SearchProvider(AgentProvider(shelf), owners), revision=revision) as client:
        with pytest.raises(CancelledError):
            client.call("call", {"name": "wait"}, deadline, on_progress=lambda _: deadline.cancel())
        wait_until(lambda: ended == ["wait"])


def test_changes_of_tools_are_not_announced() -> None:
    """Ours: the three stay; what `find` finds is always what there is now."""
    shelf = Shelf("a")
    inner = AgentProvider(shelf)
    provider = SearchProvider(inner, owners)
    heard: list[Change] = []
    seen: list[Change] = []
    stop = provider.on_change(heard.append, {"shelf://all"})
    inner.on_change(seen.append, {"shelf://all"})

    shelf.put(tool("b"))
    wait_until(lambda: len(seen) == 1)
    shelf.resource_updated("shelf://all")
    wait_until(lambda: len(seen) == 2)
    stop()

    assert heard == [Change(uris=("shelf://all",))]
    assert provider.describe().capabilities["tools"] == {}
    assert found(provider, "b") == ["b"]
    assert names(provider) == ["find", "describe", "call"]
