"""Handlers in every command: saved, typed, served, alone and as a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

HANDLER = """
import os, sys, time

from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult

print("imported")


class {name}Handler(MCPHandler):
    name = "{name}"
    description = "Prices of {name}"

    def connect(self):
        self._bubble_message("connecting")
        if self.config.settings.get("offline"):
            raise ConnectionError("no route to host for " + self.config.settings["api_key"])
        self._connected = True

    def disconnect(self):
        self._connected = False

    def list_tools(self):
        schema = {{"type": "object", "properties": {{"sku": {{"type": "string"}}}}, "required": ["sku"]}}
        return [MCPToolDefinition("{name}_price", "Look up a price.", schema, self.name)]

    def call_tool(self, name, arguments):
        print("called")
        match arguments["sku"]:
            case "hang":
                time.sleep(60)
            case "exit":
                raise SystemExit(0)
            case "big":
                return MCPToolResult("é" * 100_000)
            case "refused":
                return MCPToolResult("", is_error=True, error_message="refused " + self.config.settings["api_key"])
            case "config":
                config = self.config
                return MCPToolResult(f"{{config.name}} {{config.timeout}} {{config.max_retries}} {{config.stages}}")
        return MCPToolResult(f"{{arguments['sku']}} costs 5 in {{self.config.settings.get('region', 'eastus')}}")
"""
TOKEN = "lpd_8fK2mQ9xZ7wQ"


@pytest.fixture
def cost(gaia: Gaia) -> Gaia:
    """The program, in a folder with a handler."""
    (gaia.cwd / "cost_handler.py").write_text(HANDLER.format(name="cost"))
    return gaia


def saved(gaia: Gaia) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(gaia.config.read_text())["mcpServers"]
    return found


def test_a_handler_is_added_and_used_like_any_server(cost: Gaia) -> None:
    """Ours: `add cost ./cost_handler.py`, then every command; its prints disturb nothing."""
    added = cost("add", "price", "./cost_handler.py", "--setting", "region=westus", "--stage", "build")
    path = str(cost.cwd / "cost_handler.py")

    assert added.stdout == "added 'price' to ~/.gaia/mcp_servers.json: cost, 1 tool\n"
    assert saved(cost) == {"price": {"handler": path, "stages": ["build"], "settings": {"region": "westus"}}}
    cost.cwd = cost.home
    assert cost("list").stdout == f"price  handler  enabled  stages build  {path}\n"
    assert "  cost_price(sku: string)\n" in cost("tools", "price").stdout
    assert cost("call", "price", "cost_price", "sku=a").stdout == "a costs 5 in westus\n"
    assert cost("call", "price.cost_price", "sku=a", "--stage", "design").code == 8
    assert cost("test-client", "price", "--call", "cost_price", "sku=a").code == 0
    assert cost("search", "price").stdout.startswith("price cost_price(sku: string)")
    assert cost("lock", "price").code == 0
    assert json.loads((cost.cwd / "mcp.lock.json").read_text())["servers"]["price"]["entry"]["settings"] == ["region"]
    assert cost("call", "--locked", "price", "cost_price", "sku=a").code == 0
    assert "imported\n[cost] connecting" in cost("logs", "price").stdout
    assert cost("call", "price", "cost_price").code == 7


@pytest.mark.parametrize("target", ["./cost_handler.py", "cost_handler.py:costHandler", "cost_handler:costHandler"])
def test_a_handler_is_used_without_being_saved(cost: Gaia, target: str) -> None:
    """Ours: `tools ./x_handler.py`, `call ./x_handler.py TOOL`; also by its class, and by its module."""
    tools = cost("tools", target)

    assert (tools.stdout.splitlines()[0], tools.stderr, tools.code) == (f"{target} (cost)", "", 0)
    assert cost("call", target, "cost_price", "sku=a").stdout == "a costs 5 in eastus\n"
    assert not cost.config.exists()


def test_a_handler_receives_the_members_of_its_entry(cost: Gaia) -> None:
    """A1: its `config`, with the defaults of the contract."""
    entry = {"handler": str(cost.cwd / "cost_handler.py")}
    limits = {"timeout": 15, "max_retries": 0, "stages": ["build"], "max_result_bytes": 100}
    cost.write({"price": {**entry, **limits}, "plain": entry})

    assert cost("call", "price", "cost_price", "sku=config").stdout == "price 15 0 ['build']\n"
    assert cost("call", "plain", "cost_price", "sku=config").stdout == "plain 30 2 None\n"
    big = cost("call", "price", "cost_price", "sku=big").stdout.rstrip("\n")
    assert big == "é" * 50 + "...(truncated)"


@pytest.mark.parametrize(
    ("sku", "problem"), [("hang", "timed out"), ("exit", "SystemExit"), ("refused", "refused ****")]
)
def test_a_handler_that_fails_is_a_tool_error(cost: Gaia, sku: str, problem: str) -> None:
    """A8: exit code 9, also for one that hangs or exits; its secret is in no error and no log."""
    entry = {"handler": str(cost.cwd / "cost_handler.py"), "timeout": 0.5 if sku == "hang" else 30}
    cost.write({"price": {**entry, "settings": {"api_key": TOKEN}}})

    failed = cost("call", "price", "cost_price", f"sku={sku}")

    assert failed.code == 9
    assert problem in failed.errors[0]
    for ran in (failed, cost("logs", "price"), cost("show", "price", "--json"), cost("list", "--json")):
        assert TOKEN not in ran.stdout + ran.stderr


def test_a_handler_that_cannot_connect_is_an_error_with_its_reason(cost: Gaia) -> None:
    """A5: it must not look like a server without tools."""
    entry = {"handler": str(cost.cwd / "cost_handler.py"), "settings": {"api_key": TOKEN, "offline": True}}
    cost.write({"price": entry})

    for words in (["tools", "price"], ["call", "price", "cost_price", "sku=a"], ["add", "x", json.dumps(entry)]):
        failed = cost(*words)
        assert failed.code == 6
        assert "no route to host for ****" in failed.errors[0]
    assert saved(cost) == {"price": entry}


BROKEN = {
    "syntax_handler.py": ("class (", "cannot be imported: SyntaxError"),
    "exits_handler.py": ("raise SystemExit(0)", "cannot be imported: SystemExit"),
    "forks_handler.py": ("import os\nif os.fork() == 0: raise SystemExit\nraise KeyError('x')", "KeyError"),
    "none_handler.py": ("x = 1", "No MCPHandler subclass"),
    "two_handler.py": (HANDLER.format(name="a") + HANDLER.format(name="b"), "Multiple"),
    "encoded_handler.py": ("\0\0", "cannot be imported"),
    "moves_handler.py": ("import os\nos.chdir('/')\nclass X(MCPHandler): ...", "NameError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_handler_that_cannot_be_loaded_is_named_with_its_reason(gaia: Gaia, name: str) -> None:
    """Ours: hostile handler files. Exit code 3; the same for a saved one and `serve --check`, and `add` saves none."""
    source, problem = BROKEN[name]
    (gaia.cwd / name).write_text(source)
    gaia.write({"bad": {"handler": str(gaia.cwd / name)}})
    others = [["call", "bad", "x"], ["add", "y", f"./{name}"], ["serve", name, "--check"]]

    for words in [["tools", f"./{name}"], *(others if name == "none_handler.py" else ())]:
        failed = gaia(*words)
        assert failed.code == 3, words
        (error,) = [line for line in failed.errors if line.startswith("error: handler ")]
        assert problem in error
    assert list(saved(gaia)) == ["bad"]


@pytest.mark.parametrize("content", ["", "# a server\n", "class Agent: ...\n"])
def test_a_file_without_a_handler_or_an_agent_is_an_error(gaia: Gaia, content: str) -> None:
    """Ours: a Python file is often a server by itself."""
    (gaia.cwd / "plain.py").write_text(content)
    assert gaia("tools", "plain.py").errors[0] == "error: agent 'plain.py' contains no agent class"


def test_a_folder_of_handlers_is_one_server(cost: Gaia) -> None:
    """Ours: `serve DIR` behind one manager; one that is broken is a warning with its reason, and the others work."""
    folder = cost.cwd / "handlers"
    folder.mkdir()
    for name in ("disk", "vm"):
        (folder / f"{name}_handler.py").write_text(HANDLER.format(name=name))
    (folder / "bad_handler.py").write_text("class (")
    (folder / "_base.py").write_text("raise SystemExit")
    (folder / "words.py").write_text("raise SystemExit")
    (folder / "out_handler.py").symlink_to(cost.cwd / "cost_handler.py")

    tools = cost("tools", "./handlers", "--names")
    assert tools.stdout.splitlines() == ["disk_price", "vm_price"]
    assert cost("call", "./handlers", "vm_price", "sku=a").stdout == "a costs 5 in eastus\n"
    # As if several had it.
    assert cost("call", "./handlers", "vm.vm_price", "sku=a").stdout == "a costs 5 in eastus\n"
    assert "sku=" in cost("call", "./handlers", "vm.vm_price", "--help").stdout
    assert "Unknown tool: disk.vm_price" in cost("call", "./handlers", "disk.vm_price", "sku=a").errors[0]
    checked = cost("serve", "./handlers", "--check")
    assert checked.code == 3
    assert checked.stdout.startswith("handlers: 2 tools\n")
    assert "bad_handler.py' cannot be imported: SyntaxError" in checked.errors[0]
    for left in ("words.py is left out: it contains no handler", "out_handler.py is left out: it is a link"):
        assert left in checked.stderr


def test_a_tool_of_two_handlers_is_called_by_its_qualified_name(cost: Gaia) -> None:
    """A6: the plain name is the first one's; `tools`, `call` and a TAB know both with their handlers."""
    folder = cost.cwd / "handlers"
    folder.mkdir()
    for name in ("disk", "vm"):
        text = HANDLER.format(name=name).replace(f"{name}_price", "price").replace(" costs", f" as {name} costs")
        (folder / f"{name}_handler.py").write_text(text)

    assert cost("tools", "./handlers", "--names").stdout.splitlines() == ["price", "disk.price", "vm.price"]
    called = [cost("call", "./handlers", f"{name}price", "sku=a").stdout for name in ("", "disk.", "vm.")]
    assert called == [f"a as {name} costs 5 in eastus\n" for name in ("disk", "disk", "vm")]
    assert cost("call", "./handlers", "vm.price").code == 7
    tab = [BIN / "gaia", "complete", "fish", "--", "mcp", "call", "./handlers", "vm."]
    assert cost.command(*tab, text=True).stdout.partition("\t")[0] == "vm.price"


def test_a_folder_of_handlers_is_added_as_a_whole_or_not_at_all(cost: Gaia) -> None:
    """Ours: each becomes an entry, named by its file (A2)."""
    folder = cost.cwd / "handlers"
    folder.mkdir()
    for name in ("disk_lookup", "vm"):
        (folder / f"{name}_handler.py").write_text(HANDLER.format(name=name))
    bad = folder / "bad_handler.py"
    bad.write_text("class (")

    refused = cost("add", "./handlers")
    assert refused.code == 3
    assert not cost.config.exists()
    assert cost("add", "mine", "./handlers").code == 2
    assert cost("add", "./handlers", "--setting", "a=1").code == 2
    bad.unlink()
    added = cost("add", "./handlers", "--stage", "build")
    assert added.code == 0
    assert saved(cost) == {
        name: {"handler": str(folder / f"{name}_handler.py"), "stages": ["build"]} for name in ("disk_lookup", "vm")
    }
    assert cost("call", "vm", "vm_price", "sku=a").stdout == "a costs 5 in eastus\n"


@pytest.mark.parametrize("content", [None, "words.py", "_base.py"])
def test_a_folder_without_a_handler_is_an_error(gaia: Gaia, content: str | None) -> None:
    """Ours: an empty list of tools would hide a wrong path."""
    (gaia.cwd / "handlers").mkdir()
    if content is not None:
        (gaia.cwd / "handlers" / content).write_text("x = 1")

    for words in (["tools", "./handlers"], ["add", "./handlers"], ["serve", "./handlers", "--check"]):
        failed = gaia(*words)
        assert (failed.code, failed.errors[0].endswith("is a folder without a handler")) == (3, True), failed


def test_serve_check_lists_the_tools_of_a_handler(cost: Gaia) -> None:
    """Ours: `serve --check` of a handler, also with its settings."""
    checked = cost("serve", "./cost_handler.py", "--check")
    assert checked.stdout == "cost: 1 tool\n  cost_price(sku: string)\n      Look up a price.\n"
    assert checked.code == 0
    failed = cost("serve", "./cost_handler.py", "--check", "--kwarg", "offline=true", "--kwarg", "api_key=x", "--json")
    assert failed.code == 3
    assert "no route to host" in failed.json["problems"][0]


def test_a_handler_is_exported_as_the_command_that_serves_it(cost: Gaia) -> None:
    """Ours: by the command that serves it, with what its entry configures."""
    cost("add", "price", "./cost_handler.py", "--setting", "region=x")
    exported = cost("export", "price", "--as", "cursor", "--json").json["servers"]["price"]
    assert [exported["command"], *exported["args"]] == [
        str(BIN / "gaia"), "mcp", "serve", str(cost.cwd / "cost_handler.py"),
    ]  # fmt: skip
    cost.write({"theirs": exported})
    assert cost("call", "theirs", "cost_price", "sku=a").stdout == "a costs 5 in x\n"


def test_a_child_of_a_handler_does_not_inherit_its_settings(gaia: Gaia) -> None:
    """Ours: the variable with the settings is removed before the handler's code is imported."""
    source = HANDLER.format(name="cost").replace('print("imported")', "print(sorted(os.environ))")
    (gaia.cwd / "cost_handler.py").write_text(source)
    gaia("add", "cost", "./cost_handler.py", "--setting", "region=x")

    assert "GAIA_MCP_SERVE" not in gaia("logs", "cost").stdout
    assert "'HOME'" in gaia("logs", "cost").stdout


@pytest.mark.parametrize(("target", "name"), [("./cost_handler.py", "cost"), ("./", "work")])
def test_print_config_names_a_handler_by_its_absolute_path(cost: Gaia, target: str, name: str) -> None:
    """Ours: as that of an agent; it is called as the handler's file, or the folder."""
    printed = cost("serve", target, "--print-config", "cursor", "--json").json["servers"]

    path = cost.cwd / "cost_handler.py" if target.endswith(".py") else cost.cwd
    assert printed[name]["args"] == ["mcp", "serve", str(path)]
    cost.write(printed)
    cost.cwd = cost.home
    assert cost("call", name, "cost_price", "sku=a").code == 0


def test_a_conversation_with_a_handler_is_recorded(cost: Gaia) -> None:
    """Ours: every command; the recording has no secret."""
    cost.write({"price": {"handler": str(cost.cwd / "cost_handler.py"), "settings": {"region": TOKEN}}})
    call = {"name": "cost_price", "arguments": {"sku": "a"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    asked[0]["params"] |= {"capabilities": {}, "clientInfo": {"name": "x", "version": ""}}  # type: ignore[operator]
    lines = "".join(f"{json.dumps(message)}\n" for message in asked)
    answered = cost("record", "price", "--to", "talk.jsonl", stdin=lines)

    assert TOKEN in answered.stdout
    assert TOKEN not in (cost.cwd / "talk.jsonl").read_text()
    assert "costs 5 in ****" in (cost.cwd / "talk.jsonl").read_text()


def test_reload_is_only_for_agents(cost: Gaia) -> None:
    """Ours: an option that has no effect is refused rather than ignored."""
    refused = cost("serve", "./cost_handler.py", "--reload")
    assert (refused.code, refused.errors[0]) == (2, "error: --reload is for an agent")
