"""What other programs import: the names, their old paths with a new prefix, and what that costs them."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import subprocess
import sys

import pytest

import gaia_mcp
import gaia_mcp.agents.base
import gaia_mcp.client
import gaia_mcp.handlers

# The documented paths of AMD's GAIA, with the prefix changed.
DOCUMENTED = [
    ("gaia_mcp", "AgentConsole"),
    ("gaia_mcp", "MCPAgent"),
    ("gaia_mcp", "MCPClient"),
    ("gaia_mcp", "MCPClientManager"),
    ("gaia_mcp", "MCPClientMixin"),
    ("gaia_mcp", "SilentConsole"),
    ("gaia_mcp", "tool"),
    ("gaia_mcp.agents.base", "Agent"),
    ("gaia_mcp.agents.base", "ApiAgent"),
    ("gaia_mcp.agents.base", "MCPAgent"),
    ("gaia_mcp.agents.base", "tool"),
    ("gaia_mcp.agents.base.agent", "Agent"),
    ("gaia_mcp.agents.base.agent", "ApiAgent"),
    ("gaia_mcp.agents.base.console", "AgentConsole"),
    ("gaia_mcp.agents.base.console", "SilentConsole"),
    ("gaia_mcp.agents.base.tools", "get_tool_display_name"),
    ("gaia_mcp.agents.base.tools", "tool"),
    ("gaia_mcp.agents.base.mcp_agent", "MCPAgent"),
    ("gaia_mcp.client", "MCPClient"),
    ("gaia_mcp.client", "MCPClientManager"),
    ("gaia_mcp.client", "MCPConfig"),
    ("gaia_mcp.client", "MCPTool"),
    ("gaia_mcp.client", "MCPTransport"),
    ("gaia_mcp.client", "StdioTransport"),
    ("gaia_mcp.client.config", "MCPConfig"),
    ("gaia_mcp.client.mcp_client", "MCPClient"),
    ("gaia_mcp.client.mcp_client", "MCPTool"),
    ("gaia_mcp.client.mcp_client", "mcp_tool_requires_confirmation"),
    ("gaia_mcp.client.mcp_client", "sanitise_server_name"),
    ("gaia_mcp.client.mcp_client_manager", "MCPClientManager"),
    ("gaia_mcp.client.transports", "MCPTransport"),
    ("gaia_mcp.client.transports", "StdioTransport"),
    ("gaia_mcp.client.transports.base", "MCPTransport"),
    ("gaia_mcp.client.transports.stdio", "StdioTransport"),
    ("gaia_mcp.mixin", "MCPClientManager"),
    ("gaia_mcp.mixin", "MCPClientMixin"),
    ("gaia_mcp.mixin", "MCPConfig"),
]
# The packages whose names are imported when they are first used.
LAZY = [gaia_mcp, gaia_mcp.client, gaia_mcp.handlers]
HEAVY = ["asyncio", "httpx2", "jsonschema_rs", "platformdirs", "rich", "subprocess", "typer"]


def loaded_after(statement: str) -> set[str]:
    """Which of the heavy modules a fresh interpreter has loaded after `statement`."""
    script = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    return set(ran.stdout.split())


def test_every_name_in_all_can_be_imported() -> None:
    """Ours: everything public is importable from the package itself."""
    packages = [*LAZY, gaia_mcp.agents.base]
    missing = [
        (package.__name__, name)
        for package in packages
        for name in package.__all__
        if getattr(package, name, None) is None
    ]

    assert not missing
    assert [package.__name__ for package in packages if not len(package.__all__) == len({*package.__all__}) > 0] == []


def test_the_import_paths_that_gaia_documents_work_with_our_prefix() -> None:
    """GAIA's documents on MCP clients and agents: their import paths, the prefix changed."""
    wrong = [
        (module, found)
        for module, name in DOCUMENTED
        if (found := getattr(importlib.import_module(module), name).__name__) != name
    ]

    assert not wrong


def test_a_name_is_the_same_object_at_every_import_path() -> None:
    """Ours: a class that exists twice would break isinstance."""
    wrong = [
        (package.__name__, path, name)
        for package in LAZY
        for path, name in DOCUMENTED
        if name in package.__all__ and getattr(package, name) is not getattr(importlib.import_module(path), name)
    ]

    assert not wrong


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Python's own: hasattr and `from … import` rely on it."""
    for package in LAZY:
        with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'nothing_of_ours'"):
            _ = package.nothing_of_ours  # type: ignore[attr-defined]


def test_help_shows_what_the_package_exports_and_nothing_of_how() -> None:
    """Ours: `pydoc gaia_mcp`, and an interactive shell that completes names."""
    shown = pydoc.plain(pydoc.render_doc(gaia_mcp))

    missing = [
        name
        for name in gaia_mcp.__all__
        if inspect.isclass(found := getattr(gaia_mcp, name)) and f"class {found.__name__}(" not in shown
    ]
    assert not missing
    assert "__getattr__" not in shown
    assert {*gaia_mcp.__all__} <= {*dir(gaia_mcp)}


def test_help_shows_the_arguments_of_the_client_by_name() -> None:
    """Ours: one class, whose methods say what they take."""
    shown = pydoc.plain(pydoc.render_doc(gaia_mcp.MCPClient))

    assert gaia_mcp.MCPClient.__mro__ == (gaia_mcp.MCPClient, object)
    methods = inspect.getmembers(gaia_mcp.MCPClient, inspect.isroutine)
    public = {name: inspect.signature(method) for name, method in methods if not name.startswith("_")}
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    assert [
        name for name, each in public.items() if any(one.kind in variable for one in each.parameters.values())
    ] == []
    assert [name for name in public if f" {name}(" not in shown] == []
    assert re.findall(r"^ \|  (_[a-z]\w*)\(", shown, re.MULTILINE) == []


def test_the_version_begins_with_two_numbers() -> None:
    """Ours: the build reads the same line."""
    assert [part.isdigit() for part in gaia_mcp.__version__.split(".")[:2]] == [True, True]


@pytest.mark.story
def test_importing_the_package_loads_nothing_heavy() -> None:
    """Ours: `--help`, `list` and TAB stay fast."""
    assert loaded_after("import gaia_mcp, gaia_mcp.client, gaia_mcp.handlers") == set()


@pytest.mark.story
def test_reading_the_configuration_loads_nothing_heavy() -> None:
    """Ours: `list` and TAB read it and nothing else."""
    assert loaded_after("import gaia_mcp.config.store; gaia_mcp.config.store.ConfigStore.locate().names()") == set()


@pytest.mark.story
def test_an_agent_can_be_written_without_the_client() -> None:
    """Ours: a served agent pays for no process, network or terminal code."""
    assert loaded_after("from gaia_mcp import MCPAgent, current_call") == set()


@pytest.mark.story
def test_a_handler_can_be_written_without_the_client() -> None:
    """Ours: a served handler pays for no process, network or terminal code but its own."""
    assert loaded_after("from gaia_mcp.handlers import MCPHandler, MCPRegistry") == set()
