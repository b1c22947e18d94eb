"""Servers behind one gateway: their lists, their names, and to which of them a request goes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.core.errors import EntryError, PeerError
from gaia_mcp.fleet.gateway.naming import Prefix
from gaia_mcp.fleet.gateway.provider import GatewayProvider
from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY
from gaia_mcp.server.http.gateway_marks import GatewayMarks
from gaia_mcp.server.provider import RequestError
from gaia_mcp.testing import client_for
from tests.client.transports.http.web import as_json, handshake, result, serving
from tests.fleet.gateway.conftest import ERAS, HANDSHAKE, STATELESS, MakeGateway, asker, held, script
from tests.fleet.gateway.shelf import names
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story


def test_a_server_is_connected_on_first_use(gateway: MakeGateway, tmp_path: Path) -> None:
    """Ours: lazily, and only what a call needs."""
    notes = tmp_path / "notes"
    gate = gateway({"prefix": Prefix.ALWAYS}, a=script("good_handshake.py", NOTES=str(notes)), b=asker())

    assert gate.describe().capabilities["tools"] == {"listChanged": True}
    assert not notes.exists()
    assert gate.answer("tools/call", {"name": "b__counts"}, Call())["isError"] is False
    assert not notes.exists()
    assert "a__echo" in names(gate)
    assert notes.exists()


def test_a_broken_server_hides_no_other_and_is_named(gateway: MakeGateway) -> None:
    """Ours: in the list, in the log of the client, and once in what is reported."""
    reported: list[str] = []
    logged: list[tuple[str, Any]] = []
    gate = gateway(
        {"report": reported.append},
        missing={"command": "surely-not-installed"},
        ends=script("exits_at_once.py"),
        refuses=script("list_errors.py"),
        good=script("good_handshake.py"),
    )

    for _ in range(2):
        listed = gate.answer("tools/list", {}, Call(on_log=lambda level, data: logged.append((level, data))))
        assert "echo" in [tool["name"] for tool in listed["tools"]]
        assert list(listed["_meta"][UNAVAILABLE_KEY]) == ["missing", "ends", "refuses"]
        assert "surely-not-installed" in listed["_meta"][UNAVAILABLE_KEY]["missing"]

    assert len(reported) == 3
    assert logged[0][0] == "warning"
    assert "'missing' is not available" in logged[0][1]


def test_requests_to_urls_carry_the_mark_of_the_gateway(gateway: MakeGateway) -> None:
    """Ours: a gateway that is one of its own servers notices that by it."""
    with serving(lambda _: as_json({"detail": "Not Found"}, 404)) as web:
        for marks in (GatewayMarks("own"), None):
            with client_for(gateway({"marks": marks}, web={"url": web.origin})) as client:
                assert client.list_tools() == []
            assert {asked.headers.get("gaia-mcp-gateway") for asked in web.asked} == {marks and "own"}
            web.asked.clear()


def test_a_gateway_passes_on_the_marks_of_the_gateways_in_front_of_it(gateway: MakeGateway) -> None:
    """Ours: of two that are each other's servers, the first notices its own request when the second passes it on."""
    marks, front = GatewayMarks(), GatewayMarks().header
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    web_server = handshake(lambda asked: result(asked, tools=[tool], content=[]))
    with serving(web_server) as web, client_for(gateway({"marks": marks}, web={"url": web.origin})) as client:
        own = marks.header
        client.call("t", {})
        assert not marks.has_come_back(front)
        client.call("t", {})
        calls = [asked for asked in web.asked if asked.message.get("method") == "tools/call"]
        assert [asked.headers["gaia-mcp-gateway"] for asked in calls] == [own, f"{own}, {front}"]


def test_an_invalid_entry_is_a_broken_server(gateway: MakeGateway) -> None:
    """Ours: what is wrong with it is in the list."""
    gate = GatewayProvider({"odd": EntryError("odd", "'timeout' must be a number")})

    assert gate.answer("prompts/list", {}, Call()) == {
        "prompts": [],
        "_meta": {UNAVAILABLE_KEY: {"odd": "'timeout' must be a number"}},
    }
    gate.close()


def test_a_tool_of_a_slow_server_can_be_called_before_it_has_started(gateway: MakeGateway, tmp_path: Path) -> None:
    """Ours: the call waits for the server; only one that no list has had fails, and says what is missing."""
    slow, may_start = held(tmp_path, "good_handshake.py")
    may_start.touch()
    assert "echo" in names(gateway(slow=slow))
    may_start.unlink()

    gate = gateway({"patience_seconds": 0.0}, slow=slow, other=asker())
    assert "echo" in names(gate)
    with pytest.raises(RequestError, match=r"Unknown tool: nope\. server 'slow' has not answered yet"):
        gate.answer("tools/call", {"name": "nope"}, Call())
    threading.Timer(0.2, may_start.touch).start()
    assert gate.answer("tools/call", {"name": "echo", "arguments": {}}, Call())["content"]


@pytest.mark.parametrize("front", ERAS)
def test_tools_with_the_same_name_are_prefixed_and_called(gateway: MakeGateway, front: str) -> None:
    """Ours: by default, what two servers have is shown with the server."""
    gate = gateway(one=asker(HANDSHAKE), two=asker(STATELESS), three=script("good_handshake.py"))
    with client_for(gate, revision=front, answers=[{"size": "s"}, {"size": "s"}]) as client:
        found = [tool.name for tool in client.fetch_tools()]
        client.call("one__order", {})
        counts = [client.call(f"{server}__counts", {})["structuredContent"]["charges"] for server in ("one", "two")]
        with pytest.raises(PeerError, match="Several servers have one: one__counts, two__counts"):
            client.call("counts", {})

    assert {"one__order", "two__order", "echo"} <= set(found)
    assert counts == [1, 0]


@pytest.mark.parametrize("front", ERAS)
def test_a_changed_list_is_announced_and_read_again(gateway: MakeGateway, front: str) -> None:
    """Spec, listChanged: of either era, to either era."""
    with client_for(gateway(a=script("list_changes.py")), revision=front) as client:
        changed = threading.Event()
        client.on_list_changed = lambda kind: changed.set() if kind == "tools" else None
        assert [tool.name for tool in client.fetch_tools()] == ["echo"]
        client.call("echo", {})
        wait_until(changed.is_set)
        assert [tool.name for tool in client.fetch_tools(refresh=True)] == ["echo", "new1"]


def test_the_instructions_of_servers_are_known_before_they_are_connected(gateway: MakeGateway) -> None:
    """Ours: a client reads them when it connects, and never again."""
    servers = {"demo": {"agent": "demo"}, "good": script("good_handshake.py")}
    first = gateway(**servers)
    assert first.describe().instructions == ""
    first.answer("tools/list", {}, Call())
    wait_until(lambda: "# demo" in first.describe().instructions)

    assert gateway(**servers).describe().instructions == first.describe().instructions
    assert gateway(demo={"agent": "demo", "env": {"OTHER": "1"}}).describe().instructions == ""


def test_excluded_tools_are_neither_listed_nor_called(gateway: MakeGateway) -> None:
    """Ours: the filter of an entry holds behind a gateway too."""
    gate = gateway(shop={**asker(), "excludeTools": ["count*"]})

    assert "counts" not in names(gate)
    with client_for(gate) as client, pytest.raises(PeerError, match="Unknown tool: counts"):
        client.call("counts", {})


def test_prompts_resources_and_completions_reach_their_servers(gateway: MakeGateway) -> None:
    """Spec, server features: each goes to its owner, whatever era that is of."""
    offers = [script("offers.py") for _ in ERAS]
    for entry, revision in zip(offers, ERAS, strict=True):
        entry["args"].append(revision)
    gate = gateway(new=offers[0], old=offers[1], demo={"agent": "demo"})
    with client_for(gate) as client:
        prompts = [prompt["name"] for prompt in client.list_prompts()]
        resources = [resource["uri"] for resource in client.list_resources()]
        templates = [template["uriTemplate"] for template in client.list_resource_templates()]
        got = client.get_prompt("old__review", {"lang": "python"})
        read = client.read_resource("file:///a/b")
        about = client.read_resource("demo://about")
        completed = client.complete({"type": "ref/prompt", "name": "new__review"}, "lang", "py")
        of_demo = client.complete({"type": "ref/prompt", "name": "introduce"}, "language", "Eng")
        client.call("note", {"text": "milk"})
        of_template = client.complete({"type": "ref/resource", "uri": "demo://notes/{number}"}, "number", "")

    assert {"new__review", "old__review", "introduce"} <= set(prompts)
    assert resources.count("file:///a") == 1
    assert {"file:///{path}", "demo://notes/{number}"} <= set(templates)
    assert got["messages"][0]["content"]["text"] == "{'lang': 'python'}"
    assert read["contents"] == [{"uri": "file:///a/b", "text": "hello"}]
    assert about["contents"][0]["text"].startswith("This agent comes with gaia-mcp")
    assert completed.values == ["python", "pypy"]
    assert of_demo.values == ["English"]
    assert of_template.values == ["1"]


@pytest.mark.parametrize(("front", "code"), [(STATELESS, -32602), (HANDSHAKE, -32002)])
def test_a_resource_that_no_server_has_is_unknown(gateway: MakeGateway, front: str, code: int) -> None:
    """Spec, resources/read: with the code of the client's revision."""
    gate = gateway(demo={"agent": "demo"}, shop=asker())
    with client_for(gate, revision=front) as client, pytest.raises(PeerError) as unknown:
        client.read_resource("demo://nothing")

    assert unknown.value.code == code


@pytest.mark.parametrize("front", ERAS)
def test_a_malformed_definition_hides_no_other(gateway: MakeGateway, front: str) -> None:
    """Ours: strict clients drop a whole list, of all servers, for one item. What was done is reported once."""
    reported: list[str] = []
    gate = gateway({"report": reported.append}, bad=script("malformed.py"), good=script("good_handshake.py"))
    with client_for(gate, revision=front) as client:
        for _ in range(2):
            tools = {tool.name: tool.definition for tool in client.fetch_tools(refresh=True)}
            prompts = client.list_prompts()
            resources, templates = client.list_resources(), client.list_resource_templates()

    assert {"empty", "one", "out", "echo"} <= set(tools)
    assert tools["empty"]["inputSchema"] == {"type": "object", "properties": {}}
    assert tools["one"]["inputSchema"]["properties"] == {"a": {"type": "string"}}
    assert tools["one"]["inputSchema"]["required"] == ["a"]
    assert tools["out"]["outputSchema"] == {"type": "object", "properties": {}}
    assert prompts == [{"name": "ask", "arguments": []}]
    assert resources == [{"uri": "x://1", "name": "x://1"}, {"uri": "x://3", "name": "x://3"}]
    assert templates == [{"uriTemplate": "x://{a}", "name": "x://{a}"}]
    assert len(reported) == len(set(reported)) == 8
    assert {"server 'bad': resource 'two' is left out: its URI has no scheme, as notes://1 has"} < set(reported)
