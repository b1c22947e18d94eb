"""What a name or a URI means to a gateway, over servers in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import EntryError
from gaia_mcp.fleet.gateway.naming import Owner, Prefix
from gaia_mcp.fleet.gateway.provider import GatewayProvider
from gaia_mcp.protocol.envelope import FAILURE_KEY
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.provider import RequestError
from tests.client.transports.http.web import Answer, Asked, error
from tests.fleet.gateway.offering import offering
from tests.fleet.gateway.shelf import answer, names, text_of

if TYPE_CHECKING:
    from tests.fleet.gateway.conftest import MakeGateway

AWAY = {"url": "http://127.0.0.1:9/"}


def refused(gate: GatewayProvider, method: str, **params: Any) -> RequestError:
    """The error of a request."""
    with pytest.raises(RequestError) as caught:
        answer(gate, method, **params)
    return caught.value


def test_an_invalid_request_is_refused(gateway: MakeGateway) -> None:
    """Spec, server features: and a method that no gateway has is an error of its own."""
    gate = gateway()

    for method, needed in (
        ("tools/call", "params.name, a string"),
        ("prompts/get", "params.name, a string"),
        ("resources/read", "params.uri, a string"),
        ("completion/complete", "params.ref, with the name of a prompt or a uri"),
    ):
        problem = refused(gate, method)
        assert (str(problem), problem.code) == (f"{method} needs {needed}", INVALID_PARAMS)
    assert refused(gate, "nothing/at/all").code == METHOD_NOT_FOUND


def test_a_tool_has_an_owner_once_it_is_listed(gateway: MakeGateway) -> None:
    """Ours: by each of its names, but for one that may mean another tool."""
    with offering("add", "both") as one, offering("both") as two:
        gate = gateway(one=one.entry, two=two.entry)
        assert gate.tool_owner("add") is None
        assert names(gate) == ["add", "one__both", "two__both"]

        for name in ("add", "one__add"):
            assert gate.tool_owner(name) == Owner("one", "add")
        assert gate.tool_owner("two__both") == Owner("two", "both")
        assert gate.tool_owner("both") is None


def test_a_server_is_known_to_have_a_tool_by_its_list(gateway: MakeGateway) -> None:
    """Ours: which is requested once. One that lists none may have any."""
    with offering("add") as one, offering() as none:
        gate = gateway(one=one.entry, none=none.entry, away=AWAY)

        assert [gate.has_tool("one", name, Call()) for name in ("add", "take")] == [True, False]
        # The last one is not served: it may have been until a moment ago.
        assert [gate.has_tool(name, "add", Call()) for name in ("none", "away", "gone")] == [None, None, None]
        assert one.web.methods().count("tools/list") == 1


def test_the_name_for_a_tool_means_that_tool(gateway: MakeGateway) -> None:
    """Ours: the prefixes of two servers may be the same, and then a name may mean the other one's tool."""
    with offering("add") as dotted, offering("add") as plain:
        gate = gateway(**{"a.b": dotted.entry, "a_b": plain.entry})

        assert gate.name_of("a.b", "add", Call()) == "a_b__add"
        other = gate.name_of("a_b", "add", Call())
        assert other not in (None, "a_b__add")
        assert text_of(answer(gate, "tools/call", name=other, arguments={})) == "add"
        assert "tools/call" in plain.web.methods()
        assert gate.name_of("a.b", "unlisted", Call()) == "a_b__unlisted"
        assert gate.name_of("a_b", "unlisted", Call()) is None


def test_a_hidden_tool_is_reported_once(gateway: MakeGateway) -> None:
    """Ours: without prefixes, the first server that has a name has it alone."""
    reported: list[str] = []
    with offering("add") as one, offering("add", "take") as two:
        gate = gateway({"prefix": Prefix.NEVER, "report": reported.append}, one=one.entry, two=two.entry)
        # As a client that reads page by page, of lists that do not change meanwhile.
        first, again = (answer(gate, "tools/list")["tools"] for _ in range(2))

    assert [tool["name"] for tool in first] == ["add", "take"]
    assert all(before is after for before, after in zip(first, again, strict=True))
    assert reported == ["server 'two': 'add' is hidden by an earlier server's"]


def test_an_unknown_name_is_refused_with_the_servers_that_may_have_it(gateway: MakeGateway) -> None:
    """Ours: a person sees why a tool of yesterday is missing."""
    with offering("add") as one:
        gate = gateway(one=one.entry, away=AWAY)

        problem = refused(gate, "tools/call", name="take")
        assert str(problem).startswith("Unknown tool: take. server 'away'")


def test_a_tool_of_a_server_that_cannot_be_reached_fails_with_a_result(gateway: MakeGateway) -> None:
    """Ours: a model can read it, and use another tool."""
    called = answer(gateway(away=AWAY), "tools/call", name="away__add", arguments={})

    assert called["isError"]
    assert "server 'away'" in text_of(called)
    assert called["_meta"] == {FAILURE_KEY: "connection"}


def test_a_resource_that_the_first_server_does_not_have_is_read_from_the_next(gateway: MakeGateway) -> None:
    """Ours: servers have more resources than they list. The servers may be replaced meanwhile."""
    with offering() as one, offering() as two:
        gate = gateway(one=one.entry, two=two.entry)
        entries = dict(gate._entries)

        def unknown(asked: Asked) -> Answer:
            return error(asked, -32002, "no such resource", status=200)

        def replaced(asked: Asked) -> Answer:
            gate.replace({"one": entries["one"]})
            return unknown(asked)

        one.answers["resources/read"] = two.answers["resources/read"] = unknown
        assert refused(gate, "resources/read", uri="x://1").data == {"uri": "x://1"}
        one.answers["resources/read"] = replaced
        problem = refused(gate, "resources/read", uri="x://1")
        assert (str(problem), problem.code) == ("server 'two' is no longer configured", INTERNAL_ERROR)


def test_a_completion_that_a_server_does_not_have_is_empty(gateway: MakeGateway) -> None:
    """Ours: a gateway declares completions for all of its servers. Any other error of the server is passed on."""
    template = {"ref": {"type": "ref/resource", "uri": "x://{a}"}, "argument": {"name": "a", "value": ""}}
    assert str(refused(gateway(), "completion/complete", **template)) == "Unknown resource template: x://{a}"

    with offering() as one:
        one.prompts.append({"name": "ask"})
        gate = gateway(one=one.entry)
        prompt = {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "a", "value": ""}}
        for params in (template, prompt):
            one.answers["completion/complete"] = lambda asked: error(asked, METHOD_NOT_FOUND, "no", status=200)
            assert answer(gate, "completion/complete", **params) == {"completion": {"values": []}}
            one.answers["completion/complete"] = lambda asked: error(asked, INVALID_PARAMS, "no", status=200)
            assert refused(gate, "completion/complete", **params).code == INVALID_PARAMS


def test_servers_are_replaced_without_stopping_those_that_stay(gateway: MakeGateway) -> None:
    """Ours: `serve --all` follows its files."""
    broken, same, other = (EntryError("odd", f"{member!r} is invalid") for member in ("args", "args", "env"))
    with offering("add") as one, offering("take") as two, offering("give") as three:
        first, second, third = (read_entry("any", each.entry) for each in (one, two, three))
        gate = GatewayProvider({"one": first, "two": second, "odd": broken})
        odd = gate._servers["odd"]
        assert names(gate) == ["add", "take"]

        gate.replace({"one": read_entry("any", one.entry), "two": third, "odd": same})
        assert names(gate) == ["add", "give"]
        assert gate._servers["odd"] is odd
        assert [each.web.methods().count("DELETE") for each in (one, two, three)] == [0, 1, 0]

        gate.replace({"one": first, "odd": other})
        assert gate._servers["odd"] is not odd
        assert [each.web.methods().count("DELETE") for each in (one, two, three)] == [0, 1, 1]
        gate.replace({"odd": first})
        assert names(gate) == ["add"]
        gate.close()
