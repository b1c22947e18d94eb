"""A1: the handlers of the document, in files of their own, changed in nothing but their import line.

They speak HTTP to a server on a loopback port. `requests` is a module beside them.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gaia_mcp import __version__
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.handlers import (
    MCPHandlerConfig,
    MCPManager,
    MCPRegistry,
    load_handlers_from_directory,
    load_mcp_handler,
)
from tests.contrib.handlers.loopback import RemoteServer, Request, http_server

if TYPE_CHECKING:
    from tests.contrib.handlers.files import Write

DOCUMENTS = Path(__file__).parent / "documents"
OLD, NEW = "from azext_prototype.mcp.base import", "from gaia_mcp.handlers import"


class Screen:
    """A console that remembers what it shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def print_dim(self, message: str) -> None:
        self.shown.append(message)

    print_warning = print_dim


@pytest.fixture
def folder(write: Write) -> Path:
    """The folder `.prototype/mcp` of a project, with the handlers and their changed import lines."""
    for path in DOCUMENTS.glob("*.py"):
        text = path.read_text()
        assert text.count(OLD) == (path.stem != "requests")
        changed = write(f".prototype/mcp/{path.name}", text.replace(OLD, NEW))
    return changed.parent


class Prices:
    """A REST API of prices."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.status = 200
        self.items: list[dict[str, Any]] = [{"productName": "B2s", "retailPrice": 0.0416}]

    def __call__(self, request: Request) -> tuple[int, bytes]:
        self.asked.append(request)
        return self.status, json.dumps({"Items": self.items}).encode()


def test_the_minimal_example_runs(folder: Path) -> None:
    """A1, A2: configured as in the document, under the name with a dash."""
    prices = Prices()
    with http_server(prices) as url:
        config = MCPHandlerConfig(
            "cost-lookup", ["build", "design"], ["cost-analyst"], True, 15, 1, 4096, {"base_url": f"{url}/api/prices"}
        )

        (handler,) = load_handlers_from_directory(str(folder), {"cost-lookup": config}, console=None)

        assert (handler.name, handler.description) == ("cost-lookup", "Retail prices of a cloud")
        assert handler.matches_scope("build", "cost-analyst")
        assert not handler.matches_scope("deploy", "cost-analyst")
        handler.connect()
        (tool,) = handler.list_tools()
        assert (tool.name, tool.handler_name, tool.input_schema["required"]) == (
            "lookup_price",
            "cost-lookup",
            ["service_name"],
        )
        result = handler.call_tool("lookup_price", {"service_name": "Virtual Machines"})
        assert (result.content, result.is_error) == ("- B2s: $0.0416", False)
        asked = urlsplit(prices.asked[0].path)
        assert asked.path == "/api/prices"
        assert parse_qs(asked.query) == {"$filter": ["serviceName eq 'Virtual Machines' and armRegionName eq 'eastus'"]}
        assert prices.asked[0].headers["Accept"] == "application/json"

        prices.items = []
        assert handler.call_tool("lookup_price", {"service_name": "x"}).content == "No prices found."
        prices.status = 500
        assert handler.call_tool("lookup_price", {"service_name": "x"}).error_message == "Failed: HTTP 500"
        assert handler.call_tool("lookup_price", {}).error_message == "Failed: 'service_name'"
        assert handler.call_tool("other", {}).error_message == "Unknown tool: other"
        handler.disconnect()
        handler.disconnect()
        assert not handler.health_check()


def test_the_minimal_example_observes_its_timeout(folder: Path) -> None:
    """A1: `config.timeout`, in seconds."""
    over = threading.Event()

    def never(_: Request) -> tuple[int, bytes]:
        over.wait()
        return 200, b"{}"

    with http_server(never) as url:
        config = MCPHandlerConfig("cost-lookup", timeout=0.2, settings={"base_url": url})
        handler = load_mcp_handler(folder / "cost_lookup_handler.py", config)
        handler.connect()
        result = handler.call_tool("lookup_price", {"service_name": "x"})
        over.set()

    assert result.error_message == "Timeout after 0.2s"


def test_the_json_rpc_example_runs(folder: Path) -> None:
    """A1: initialize, initialized, tools/list; `Authorization: Bearer`; the text of a result."""
    remote, screen = RemoteServer(), Screen()
    with http_server(remote) as url:
        config = MCPHandlerConfig("browser", settings={"url": f"{url}/v2", "api_key": "lpd_secret"})
        handler = load_mcp_handler(folder / "browser_handler.py", config, console=screen, project_config={})

        handler.connect()
        assert [(tool.name, tool.description) for tool in handler.list_tools()] == [("goto", "Go to a page")]
        result = handler.call_tool("goto", {"url": "https://example.org"})
        handler.disconnect()

    assert remote.methods() == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert remote.authorizations == {"Bearer lpd_secret"}
    assert remote.messages[0]["params"]["clientInfo"] == {"name": "gaia-mcp", "version": __version__}
    assert [message.get("id") for message in remote.messages] == [1, None, 2, 3]
    assert result.content == '{"name": "goto", "arguments": {"url": "https://example.org"}}\ndone'
    assert result.metadata == {"handler": "browser", "attempt": 1}
    assert screen.shown == ["[browser] connecting", "[browser] connected, 1 tools"]


@pytest.mark.parametrize(("failing", "attempts", "fails"), [(2, 3, False), (3, 3, True), (9, 3, True)])
def test_the_json_rpc_example_makes_one_attempt_more_than_max_retries(
    folder: Path, failing: int, attempts: int, fails: bool
) -> None:
    """A1: `max_retries + 1` attempts."""
    remote = RemoteServer(failing)
    with http_server(remote) as url:
        config = MCPHandlerConfig("browser", max_retries=2, settings={"url": url})
        handler = load_mcp_handler(folder / "browser_handler.py", config)
        handler.connect()
        result = handler.call_tool("goto", {})

    assert result.is_error is fails
    assert result.error_message == (f"Failed after {attempts} attempts" if fails else "")
    assert remote.methods().count("tools/call") == attempts
    assert remote.authorizations == {None}


def test_the_json_rpc_example_reports_a_server_that_does_not_answer(folder: Path) -> None:
    """A1: a failed connection is a warning of the handler, and no tools."""
    screen = Screen()
    with http_server(lambda _: (404, b"")) as url:
        config = MCPHandlerConfig("browser", settings={"url": url})
        handler = load_mcp_handler(folder / "browser_handler.py", config, console=screen)
        handler.connect()

    assert not handler.health_check()
    assert handler.list_tools() == []
    assert screen.shown == ["[browser] connecting", "[browser] initialize failed"]


def test_both_examples_run_under_one_manager(folder: Path) -> None:
    """A1, A9, A10: connected when they are needed, offered to a model, and their results cut."""
    prices, remote, screen = Prices(), RemoteServer(failing=2), Screen()
    with http_server(prices) as rest, http_server(remote) as rpc:
        configs = {
            "cost-lookup": MCPHandlerConfig("cost-lookup", stages=["design"], settings={"base_url": rest}),
            "browser": MCPHandlerConfig("browser", max_result_bytes=10, settings={"url": rpc, "api_key": "lpd_secret"}),
        }
        registry = MCPRegistry()
        for handler in load_handlers_from_directory(folder, configs, console=screen):
            registry.register_custom(handler)
        with MCPManager(registry, console=screen) as manager:
            assert (remote.messages, prices.asked) == ([], [])
            offered = manager.get_tools_as_openai_schema(stage="build")
            assert [each["function"]["name"] for each in offered] == ["goto"]
            assert len(manager.get_tools_as_openai_schema(stage="design")) == 2

            price = manager.call_tool("lookup_price", {"service_name": "VM"}, stage="design")
            page = manager.call_tool("goto", {"url": "https://example.org"}, stage="design")

        assert (price.content, price.is_error) == ("- B2s: $0.0416", False)
        assert (page.content, page.is_error) == ('{"name": "...(truncated)', False)
        assert not any(handler.health_check() for handler in registry.list_all())
    assert "browser" in "".join(screen.shown)


@pytest.mark.parametrize("name", ["cost_lookup", "browser"])
def test_only_the_import_line_has_to_be_changed(write: Write, name: str) -> None:
    """A1: the hint of the error is the new line."""
    write("requests.py", (DOCUMENTS / "requests.py").read_bytes())
    path = write(f"{name}_handler.py", (DOCUMENTS / f"{name}_handler.py").read_bytes())

    with pytest.raises(HandlerError) as caught:
        load_mcp_handler(path, MCPHandlerConfig(name))

    assert caught.value.hint == f"change its import line: {NEW} MCPHandler, …"
