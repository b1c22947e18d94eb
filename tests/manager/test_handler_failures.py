"""What a manager reports of a handler that fails."""

from __future__ import annotations

from typing import Any

from gaia_mcp.handlers.base import MCPToolResult
from gaia_mcp.manager.handler_manager import MCPManager
from tests.manager.handlers_under_test import Console, ProgrammableHandler, registry_of
from tests.waiting import wait_until


def test_secrets_of_the_settings_are_masked_in_errors() -> None:
    """Ours: HTTP clients repeat URLs with keys in them, in exceptions that handlers raise or report."""
    url = "https://prices.example/v1?key=pr1vate-w0rds"

    def refuse(*_: object) -> MCPToolResult:
        raise RuntimeError(f"404 for {url}")

    def report(*_: object) -> MCPToolResult:
        return MCPToolResult("", is_error=True, error_message=f"Failed: {url}")

    settings = {"api_key": "pr1vate-w0rds", "region": "eastus"}
    calling, listing, connecting = (
        ProgrammableHandler(name, f"{name}_tool", settings=settings) for name in ("calling", "listing", "connecting")
    )
    listing.on_list = connecting.on_connect = refuse
    console = Console()

    with MCPManager(registry_of(calling, listing, connecting), console) as manager:
        for way, words in ((refuse, "404 for"), (report, "Failed:")):
            calling.on_call = way
            error = manager.call_tool("calling_tool", {"text": "hi"}).error_message
            assert f"{words} https://prices.example/v1?key=****" in error

        # The others are discovered by themselves.
        wait_until(lambda: len(console.warnings) == 2)

    assert all("key=****" in warning for warning in console.warnings)


def test_settings_that_contain_themselves_are_accepted() -> None:
    """Ours: a program may give a handler any objects."""
    settings: dict[str, Any] = {"session": object()}
    settings["self"] = settings
    handler = ProgrammableHandler("calc", "add", settings=settings)
    handler.on_call = handler.fail

    with MCPManager(registry_of(handler)) as manager:
        assert manager.call_tool("add", {}).error_message == "it failed"
