"""Restrictions, search and records of several servers behind one gateway."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.fleet.gateway.gate import AuditedProvider, Locked, NamePatterns, ReadOnly, RestrictedProvider
from gaia_mcp.fleet.gateway.naming import Owner, Prefix
from gaia_mcp.fleet.gateway.search import SearchProvider
from gaia_mcp.server.provider import RequestError
from gaia_mcp.storage.output_files import AuditFile
from gaia_mcp.testing import client_for
from gaia_mcp.toolspec.contract import contract_of
from tests.fleet.gateway.conftest import ERAS, HANDSHAKE, STATELESS, asker, script
from tests.fleet.gateway.shelf import answer, names, text_of
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.fleet.gateway.provider import GatewayProvider
    from gaia_mcp.server.provider import Provider
    from tests.fleet.gateway.conftest import MakeGateway

pytestmark = pytest.mark.story


def denying(gateway: GatewayProvider, *patterns: str) -> RestrictedProvider:
    return RestrictedProvider(gateway, gateway.tool_owner, NamePatterns([], patterns, lambda *_: None))


def refused(provider: Provider, name: str) -> bool:
    try:
        answer(provider, "tools/call", name=name, arguments={})
    except RequestError as error:
        return str(error) == f"Unknown tool: {name}"
    return False


@pytest.mark.parametrize("prefix", Prefix)
def test_a_denied_tool_is_refused_by_all_of_its_names(gateway: MakeGateway, prefix: Prefix) -> None:
    """Ours: whichever names the gateway has for it, now or with another server beside it."""
    provider = denying(gateway({"prefix": prefix}, one=asker(), two=asker()), "counts", "two/report")
    listed = names(provider)

    for name in ("counts", "one__counts", "two__counts", "two__report"):
        assert name not in listed
        assert refused(provider, name), name
    if prefix is not Prefix.NEVER:
        assert "one__report" in listed
        assert not refused(provider, "one__report")


def test_a_denied_tool_is_refused_before_any_list_request(gateway: MakeGateway) -> None:
    """Ours: as of a stateless client that knows the tools from another day."""
    made = gateway(one=asker())
    provider = denying(made, "counts")

    assert made.tool_owner("counts") is None
    assert refused(provider, "one__counts")
    assert refused(provider, "counts")
    assert made.tool_owner("one__counts") == Owner("one", "counts")
    assert text_of(answer(provider, "tools/call", name="report")) == "reported"


def test_a_tool_added_after_the_lock_is_neither_listed_nor_called(
    gateway: MakeGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: while the gateway runs."""
    orders = tmp_path / "orders"
    made = gateway(
        late={**script("announces.py", ORDERS=str(orders)), "args": [script("announces.py")["args"][0], HANDSHAKE]}
    )
    reported: list[str] = []
    contracts = {"late": contract_of(answer(made, "tools/list")["tools"])}
    locked = Locked(contracts, lambda _, changes: reported.extend(map(str, changes or ())))
    provider = RestrictedProvider(made, made.tool_owner, None, [locked])
    assert names(provider) == ["echo"]

    orders.write_text("add more\n")
    wait_until(lambda: made.tool_owner("more") is not None or names(made) == ["echo", "more"])

    assert names(provider) == ["echo"]
    assert refused(provider, "more")
    assert reported == ["'more' added"]


@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize("behind", ERAS)
def test_a_call_by_search_is_answered_and_recorded_through_the_gateway(
    gateway: MakeGateway, tmp_path: Path, front: str, behind: str
) -> None:
    """Ours: any era in front of any era behind."""
    made = gateway(one=asker(behind), two=asker())
    file = AuditFile(tmp_path / "audit.jsonl")
    inner = AuditedProvider(denying(made, "two/*"), file, made.tool_owner)
    provider = SearchProvider(inner, made.tool_owner)
    with client_for(provider, revision=front, answers=[{"size": "small"}, {"size": "no"}]) as client:

        def call(tool: str, **arguments: Any) -> str:
            return text_of(client.call(tool, arguments))

        assert re.fullmatch(r"one: \d+ tools", call("find"))
        assert call("find", words="order twice").startswith("one__order([cups: integer = 1])  Ask twice")
        assert call("call", name="one__order", arguments={"cups": 2}) == "2 small, no sugar, charge 1"
        assert "Unknown tool: two__order" in call("call", name="two__order")

    lines = [json.loads(line) for line in file.path.read_text().splitlines()]
    assert {(line["server"], line["tool"]) for line in lines[:-1]} == {("one", "order")}
    assert [line["outcome"] for line in lines[-2:]] == ["ok", "error"]
    assert (lines[-1]["server"], lines[-1]["tool"]) == ("two", "order")


def test_a_server_that_is_missing_hides_no_tool_of_the_others(gateway: MakeGateway) -> None:
    """Ours: an unavailable server is reported, and the patterns about its tools are not."""
    made = gateway(dead={"command": "/bin/false"}, one=asker(STATELESS))
    provider = RestrictedProvider(made, made.tool_owner, None, [ReadOnly(lambda _: None)])
    allowing = RestrictedProvider(made, made.tool_owner, NamePatterns(["one/r*"], [], lambda *_: None))

    assert names(provider) == []
    assert names(allowing) == ["report"]
    assert "dead" in json.dumps(answer(allowing, "tools/list")["_meta"])
    counted = answer(SearchProvider(allowing, made.tool_owner), "tools/call", name="find")
    assert text_of(counted) == "one: 1 tool\nNot available now: dead"
