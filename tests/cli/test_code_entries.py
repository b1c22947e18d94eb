"""Entries of handlers and agents: their code is loaded in a child, with what the entry configures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

AGENT = """
import os, sys

from gaia_mcp import MCPAgent, tool


class Prices(MCPAgent):
    def __init__(self, region="nowhere", api_key="", **kwargs):
        super().__init__(**kwargs)
        self.region, self.api_key = region, api_key
        print("loaded with", api_key, file=sys.stderr)

    @tool
    def price(self, item: str) -> str:
        '''The price of an item.'''
        return f"{item} in {self.region}"

    @tool
    def leak(self) -> str:
        '''Show the key.'''
        raise RuntimeError(f"the key {self.api_key} was refused")

    @tool
    def around(self) -> str:
        '''What the environment holds, and where it runs.'''
        return f"{'GAIA_MCP_SERVE' in os.environ} {os.environ.get('EXTRA')} {os.getcwd()}"
"""
TOKEN = "lpd_8fK2mQ9xZ7wQ"


@pytest.fixture
def prices(gaia: Gaia) -> Gaia:
    """The program, with an agent beside the user's file."""
    gaia.write({"prices": {"agent": "prices.py", "settings": {"region": "${REGION:-eastus}", "api_key": TOKEN}}})
    gaia.config.with_name("prices.py").write_text(AGENT)
    return gaia


def test_debug_shows_the_traceback_of_a_saved_agents_tool(prices: Gaia) -> None:
    """Ours: as of one that is typed; the hint under the error advises it."""
    assert "--debug" in prices("call", "prices", "leak").errors[-1]

    assert "Traceback" in prices("call", "prices", "leak", "--debug").stderr


def test_max_result_bytes_truncates_the_text_of_an_agents_result(prices: Gaia) -> None:
    """Ours: `max_result_bytes`; what is not text stays whole."""
    prices.write({"prices": {"agent": "prices.py", "max_result_bytes": 6}})

    assert prices("call", "prices", "price", "item=disk").stdout == "disk i...(truncated)\n"
    result = prices("call", "prices", "price", "item=disk", "--json").json
    assert result["structuredContent"] == {"result": "disk in nowhere"}
    assert "price(item: string)" in prices("tools", "prices").stdout


def test_max_retries_of_an_agent_is_reported_in_a_note(prices: Gaia) -> None:
    """Ours: an agent's tool is never called twice. A handler repeats its own requests, so it gets no note."""
    path = str(prices.config.with_name("prices.py"))
    remark = "'max_retries' of 'more' has no effect: a tool of an agent is never called twice"

    added = prices("add", "more", "--json", json.dumps({"agent": path, "max_retries": 3}))
    changed = prices("edit", "more", "--setting", "region=x")
    seen = [added, changed, prices("list"), prices("test-client", "more", "prices")]

    assert [ran.code for ran in seen] == [0, 0, 0, 0]
    assert [ran.stderr.count(remark) for ran in seen] == [1, 1, 1, 1]
    assert all(ran.stderr.count("max_retries") == 1 for ran in seen)

    prices.write({"x": {"handler": "x_handler.py", "max_retries": 3}, "y": {"agent": path, "max_retries": 0}})
    assert prices("list").stderr == ""


def test_an_entry_of_an_agent_is_used_like_any_other(prices: Gaia) -> None:
    """Ours: `{"agent": …}` with settings, which are the arguments of its class. The path is beside the file."""
    assert "price(item: string)" in prices("tools", "prices").stdout
    assert prices("call", "prices", "price", "item=disk").stdout == "disk in eastus\n"
    assert prices("call", "prices.price", "item=disk", REGION="westus").stdout == "disk in westus\n"
    assert prices("test-client", "prices", "--call", "price", "item=x").code == 0
    assert prices("search", "price").stdout.startswith("prices price(item: string)")
    assert prices("lock", "prices", "--json").json["servers"][0]["name"] == "prices"
    assert prices("call", "--locked", "prices", "price", "item=x").code == 0
    row = prices("list", "--json").json["servers"][0]
    assert (row["transport"], row["agent"], row["settings"]["api_key"]) == ("agent", "prices.py", "****")


def test_settings_of_an_agent_are_in_no_output_log_or_environment(prices: Gaia) -> None:
    """Ours: they reach the child in one variable, which it removes; an error and the log do not repeat a secret."""
    assert prices("call", "prices", "around", EXTRA="x").stdout == f"False x {prices.cwd}\n"

    leaked = prices("call", "prices", "leak")
    assert "was refused" in leaked.stdout + leaked.stderr
    shown = [
        prices(*words) for words in (["show", "prices"], ["list"], ["logs", "prices"], ["show", "prices", "--json"])
    ]
    lock = prices("lock", "prices")
    assert "loaded with ****" in shown[2].stdout
    for ran in (leaked, lock, *shown):
        assert TOKEN not in ran.stdout + ran.stderr
    assert TOKEN not in (prices.cwd / "mcp.lock.json").read_text()


def test_an_entry_sets_the_environment_and_the_folder_of_its_agent(prices: Gaia) -> None:
    """Ours: as for a command; by default an agent inherits every variable."""
    entry = json.loads(prices.config.read_text())["mcpServers"]["prices"]
    prices.write({"prices": {**entry, "inherit": False, "env": {"EXTRA": "own"}, "cwd": "."}})

    assert prices("call", "prices", "around", EXTRA="x").stdout == f"False own {prices.config.parent}\n"


def test_an_agent_that_cannot_be_loaded_is_an_error_of_its_entry(prices: Gaia) -> None:
    """Ours: exit code 3; the error names the entry."""
    prices.config.with_name("prices.py").write_text("class (")
    broken = prices("call", "prices", "price")
    prices.config.with_name("prices.py").unlink()
    gone = prices("call", "prices", "price")

    assert broken.code == gone.code == 3
    assert broken.errors[0].startswith("error: agent 'prices' cannot be imported: SyntaxError")
    assert gone.errors[0].startswith("error: server 'prices': 'agent' names ")


@pytest.mark.parametrize(
    ("member", "value"),
    [("settings", []), ("stages", "build"), ("agents", [5]), ("max_retries", -1), ("max_result_bytes", "8k")],
)
def test_an_invalid_member_is_named(prices: Gaia, member: str, value: Any) -> None:
    """Ours: for each member with a wrong type; other servers are not affected."""
    prices.write({"prices": {"agent": "demo", member: value}, "demo": {"agent": "demo"}})

    failed = prices("tools", "prices")
    assert failed.code == 3
    assert f"'{member}'" in failed.errors[0]
    assert prices("call", "demo", "greet", "name=x").code == 0
    assert "invalid" in prices("list").stdout


def test_an_agent_is_exported_as_the_command_that_serves_it(prices: Gaia) -> None:
    """Ours: other hosts start commands only. Its settings are exported, and its path is absolute."""
    printed = prices("export", "prices", "--as", "claude-code", "--show-secrets", "--json").json["servers"]["prices"]

    assert printed["args"][-2:] == ["serve", str(prices.config.with_name("prices.py"))]
    assert json.loads(printed["env"]["GAIA_MCP_SERVE"])["settings"] == {"region": "${REGION:-eastus}", "api_key": TOKEN}
    assert TOKEN not in prices("export", "prices", "--as", "claude-code").stdout
    order = printed["env"]["GAIA_MCP_SERVE"].replace("${REGION:-eastus}", "x")
    prices.write({"theirs": {**printed, "env": {"GAIA_MCP_SERVE": order}}})
    assert prices("call", "theirs", "price", "item=disk").stdout == "disk in x\n"


@pytest.mark.parametrize("kind", ["handler", "agent"])
def test_an_export_reports_that_its_scope_is_lost(prices: Gaia, kind: str) -> None:
    """Ours: in the same words as for a server that is started; another host offers it to all."""
    prices.config.with_name("x_handler.py").touch()
    code = {"handler": "x_handler.py", "agent": "prices.py"}[kind]
    scope = {"stages": ["build"], "agents": ["qa"]}
    prices.write({"x": {kind: code, **scope}, "y": {"command": "y", **scope}, "z": {kind: code, "stages": None}})

    printed = [prices("export", name, "--as", "claude-code").stderr for name in "xyz"]

    remark = "not exported, since the host does not know them: stages, agents"
    assert [remark in text for text in printed] == [True, True, False]
    assert remark in prices("export", "x", "--to", str(prices.cwd / ".mcp.json")).stderr
