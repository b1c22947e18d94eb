"""What passes a gateway, and how it comes out on the other side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import MCPClient
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError, PeerError
from gaia_mcp.testing import client_for
from tests.fleet.gateway.conftest import ERAS, STATELESS, MakeGateway, asker, script
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import Progressed

pytestmark = pytest.mark.story
pairs = pytest.mark.parametrize(("front", "behind"), [(front, behind) for front in ERAS for behind in ERAS])


def test_results_and_errors_are_passed_unchanged(gateway: MakeGateway) -> None:
    """Ours: unknown blocks and members, metadata, and the data of errors."""
    with client_for(gateway(odd=script("strange_results.py"))) as client:
        result = client.call("strange", {})
        with pytest.raises(PeerError) as refused:
            client.call("refuse", {})

    del result["resultType"], result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert result == {
        "content": [
            {"type": "hologram", "size": [1, 2], "_meta": {"x.example/a": 1}},
            {"type": "text", "text": "\u2028 \U0001f600", "annotations": {"priority": 0.5}},
        ],
        "structuredContent": {"kept": {"z": 1, "a": [None, 1.5, "x"]}},
        "isError": True,
        "_meta": {"x.example/trace": {"deep": ["as", "it", "is"]}},
        "extra": {"unknown": True},
    }
    assert (refused.value.code, refused.value.text) == (-31999, "not today")
    assert refused.value.data == {"why": ["a", {"b": None}]}


def test_a_gateway_sleeps_while_it_waits_for_a_server(gateway: MakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a client polls for a moment before it sleeps; a gateway serves many clients, and sleeps at once."""
    polls: list[None] = []
    # Only the operating system sees a poll: the client yields the processor, if it has two of them.
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("os.sched_yield", lambda: polls.append(None))
    with client_for(gateway(odd=script("strange_results.py"))) as client:
        for _ in range(3):
            client.call("strange", {})
    assert not polls

    with MCPClient.from_config("odd", script("strange_results.py")) as direct:
        # On a busy machine the moment may pass before the first poll; then the next answers are awaited without one.
        wait_until(lambda: direct.call("strange", {}) and polls)


def test_the_metadata_of_a_request_reaches_the_server(gateway: MakeGateway) -> None:
    """Ours: but for what is about the client's own connection."""
    sent = {"name": "told", "arguments": {"a": 1}, "_meta": {"traceparent": "00-1-2-03"}}
    with client_for(gateway(odd=script("strange_results.py"))) as client:
        received = client.request("tools/call", sent)["structuredContent"]

    assert received == sent


@pairs
def test_progress_and_logs_reach_the_client(gateway: MakeGateway, front: str, behind: str) -> None:
    """Spec, utilities: in order, and before the result."""
    heard: list[Any] = []

    def on_progress(report: Progressed) -> None:
        heard.append((report.progress, report.total, report.text))

    client = client_for(gateway(shop=asker(behind)), revision=front)
    client.host._on_log = lambda *logged: heard.append(logged)
    with client:
        client.set_log_level("info")
        client.call("report", {}, on_progress=on_progress)

    assert ("warning", "report", {"kept": ["as", "it", 1]}) in heard
    assert (2, 2, "done") in heard


@pairs
def test_a_cancelled_call_is_cancelled_at_its_server(gateway: MakeGateway, front: str, behind: str) -> None:
    """Spec, cancellation: the server may stop its work only if it hears of it."""
    with client_for(gateway(shop=asker(behind)), revision=front) as client:
        deadline = Deadline(PATIENCE_SECONDS)
        with pytest.raises(CancelledError):
            client.call("wait", {}, deadline, on_progress=lambda _: deadline.cancel())
        wait_until(lambda: client.call("counts", {})["structuredContent"]["runs"] == -100)


def test_a_server_that_dies_is_reported_to_the_caller_and_restarted(gateway: MakeGateway) -> None:
    """Ours: a model reads what happened, the other servers go on, and the next call is answered."""
    entry = script("offers.py")
    entry["args"].append("2025-11-25")
    reported: list[str] = []
    with client_for(gateway({"report": reported.append}, dies=entry, shop=asker())) as client:
        died = client.call("dies__die", {})
        again = client.call("dies__touch", {})
        other = client.call("counts", {})

    assert died["isError"]
    assert "server 'dies' exited with status 3" in died["content"][0]["text"]
    assert "'die' may have run, and was not called again" in died["content"][0]["text"]
    assert (again["content"][0]["text"], other["isError"]) == ("", False)
    assert len(reported) == 1


@pytest.mark.parametrize("front", ERAS)
def test_a_malformed_result_is_passed_on_repaired(gateway: MakeGateway, front: str) -> None:
    """Ours: the tool has run, and strict clients drop its whole result for one invalid member."""
    reported: list[str] = []

    def text(value: str) -> dict[str, str]:
        return {"type": "text", "text": value}

    expected = {
        "nothing": [],
        "block": [text("x")],
        "text": [text("hello")],
        "blocks": [
            text("a"),
            text("b"),
            text('{"type": "image", "data": 5}'),
            {"type": "resource_link", "uri": "x:c", "name": "x:c"},
        ],
        "number": [text("7")],
    }
    with client_for(gateway({"report": reported.append}, bad=script("malformed.py")), revision=front) as client:
        results = {name: client.call(name, {}) for name in [*expected, "text"]}
        prompts = {name: client.get_prompt(name)["messages"] for name in ("ask", "say", "many")}
        one, three = (client.read_resource(uri)["contents"] for uri in ("x://1", "x://3"))
        completed = client.complete({"type": "ref/prompt", "name": "ask"}, "a", "")

    assert {name: result["content"] for name, result in results.items()} == expected
    assert results["nothing"]["structuredContent"] == {"a": 1}
    assert [results[name].get("isError", False) for name in expected] == [False, True, False, False, False]
    assert prompts["ask"] == []
    assert prompts["say"] == [{"role": "user", "content": text("hi")}]
    assert [(each["role"], each["content"]) for each in prompts["many"]] == [
        ("user", text("a")),
        ("assistant", text("b")),
        ("assistant", text("c")),
    ]
    assert (one, three) == ([{"uri": "x://1", "text": "one"}], [{"uri": "x://3", "text": "three"}])
    assert completed.values == []
    assert [line for line in reported if "a result of" in line] == [
        "server 'bad': a result of 'text': _meta is not an object, and is left out",
        "server 'bad': a result of 'blocks': annotations is not an object, and is left out",
        "server 'bad': a result of 'blocks': a block of the type image is invalid, and is passed as text",
        "server 'bad': a result of 'number': a block without a type is invalid, and is passed as text",
        "server 'bad': a result of 'many': a message is not of the user or the assistant, and is left out",
        "server 'bad': a result of 'resources/read': contents without a uri, or a text or a blob, are left out",
    ]


@pytest.mark.parametrize("front", ERAS)
def test_a_resource_that_no_server_has_is_an_error_with_its_uri(gateway: MakeGateway, front: str) -> None:
    """Spec, server/resources: -32602, and -32002 up to 2025-11-25, whatever code the server has for it."""
    with client_for(gateway(bad=script("malformed.py")), revision=front) as client, pytest.raises(PeerError) as unknown:
        client.read_resource("x://5")

    assert unknown.value.code == (-32602 if front == STATELESS else -32002)
    assert unknown.value.text == "Unknown resource: x://5"
    assert unknown.value.data == {"uri": "x://5"}
