"""What a handler is: the contract that existing handler files rely on."""

from __future__ import annotations

import copy
import io
import json
import logging
import pickle
import threading
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from gaia_mcp import __version__
from gaia_mcp.agents.base import AgentConsole
from gaia_mcp.contrib.handlers.base import (
    MCPClientInfo,
    MCPHandler,
    MCPHandlerConfig,
    MCPRegistry,
    MCPToolCall,
    MCPToolDefinition,
    MCPToolResult,
    was_shown,
)
from tests.contrib.handlers.echo import EchoHandler

if TYPE_CHECKING:
    from collections.abc import Callable


class NamedHandler(EchoHandler):
    name = "by-its-class"


class Screen:
    """A console with the two methods that handlers use."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def print_dim(self, message: str) -> None:
        self.shown.append(("dim", message))

    def print_warning(self, message: str) -> None:
        self.shown.append(("warning", message))


def test_a_configuration_needs_only_a_name() -> None:
    """The contract: the fields of the document, in its order, with its defaults."""
    config = MCPHandlerConfig("cost-lookup")

    assert [(field.name, getattr(config, field.name)) for field in fields(config)] == [
        ("name", "cost-lookup"),
        ("stages", None),
        ("agents", None),
        ("enabled", True),
        ("timeout", 30),
        ("max_retries", 2),
        ("max_result_bytes", 8192),
        ("settings", {}),
    ]
    assert config.settings is not MCPHandlerConfig("other").settings


def test_the_repr_of_a_configuration_has_no_secrets() -> None:
    """Ours: settings are where credentials are."""
    assert "hunter2" not in repr(MCPHandlerConfig("x", settings={"api_key": "hunter2"}))


def test_the_dataclasses_take_arguments_by_position_or_by_name() -> None:
    """The contract: `MCPToolDefinition`, `MCPToolResult` and `MCPToolCall`."""
    tool = MCPToolDefinition("add", "Adds.", {"type": "object"}, "calc")
    assert tool == MCPToolDefinition(
        name="add", description="Adds.", input_schema={"type": "object"}, handler_name="calc"
    )
    result = MCPToolResult(content="3")
    assert (result.content, result.is_error, result.error_message, result.metadata) == ("3", False, "", {})
    assert result.metadata is not MCPToolResult("").metadata
    call = MCPToolCall(id="call_1", name="add", arguments={"a": 1})
    assert (call.id, call.name, call.arguments) == ("call_1", "add", {"a": 1})


def test_a_handler_introduces_itself_as_this_package() -> None:
    """The contract: `client_info.to_dict()` is the `clientInfo` of `initialize`."""
    handler = EchoHandler(MCPHandlerConfig("echo"))

    assert handler.client_info == MCPClientInfo("gaia-mcp", __version__)
    assert handler.client_info.to_dict() == {"name": "gaia-mcp", "version": __version__}


def test_a_handler_has_its_arguments_as_attributes() -> None:
    """The contract: config, console, project_config, and the logger `mcp.NAME`."""
    config, screen, project = MCPHandlerConfig("echo"), Screen(), {"project": {"name": "shop"}}

    handler = EchoHandler(config, console=screen, project_config=project)

    assert handler.config is config
    assert handler.console is screen
    assert handler.project_config == project
    assert handler.logger is logging.getLogger("mcp.echo")
    bare = EchoHandler(config)
    assert (bare.console, bare.project_config) == (None, {})


def test_the_name_of_the_class_takes_precedence_over_the_configuration() -> None:
    """The contract."""
    assert NamedHandler(MCPHandlerConfig("configured")).name == "by-its-class"
    assert NamedHandler(MCPHandlerConfig("configured")).logger.name == "mcp.by-its-class"
    assert EchoHandler(MCPHandlerConfig("configured")).name == "configured"
    assert EchoHandler.name == ""


def test_a_handler_without_one_of_the_four_methods_cannot_be_made() -> None:
    """The contract: connect, list_tools, call_tool and disconnect are abstract."""
    assert MCPHandler.__abstractmethods__ == {"connect", "list_tools", "call_tool", "disconnect"}
    with pytest.raises(TypeError, match="abstract"):
        MCPHandler(MCPHandlerConfig("x"))  # type: ignore[abstract]


def test_a_handler_is_healthy_while_it_is_connected() -> None:
    """The contract: `health_check` returns `_connected`."""
    handler = EchoHandler(MCPHandlerConfig("echo"))
    assert handler.health_check() is False
    assert repr(handler) == "<EchoHandler 'echo', not connected>"

    handler.connect()

    assert handler.health_check() is True
    assert repr(handler) == "<EchoHandler 'echo'>"


def test_a_handler_that_does_not_call_super_is_not_connected() -> None:
    """Ours: many a handler file forgets it."""

    class Forgetful(EchoHandler):
        def __init__(self, config: MCPHandlerConfig, **keywords: Any) -> None:
            self.config = config

    assert Forgetful(MCPHandlerConfig("x")).health_check() is False


def test_the_scope_is_that_of_the_configuration() -> None:
    """A3: both dimensions must allow the caller, and a handler that is not enabled matches never."""
    handler = EchoHandler(MCPHandlerConfig("echo", stages=["build"], agents=["terraform-agent"]))
    assert handler.matches_scope("build", "terraform-agent")
    assert handler.matches_scope(None, None)
    assert not handler.matches_scope("deploy", "terraform-agent")
    assert not handler.matches_scope("build", "doc-agent")

    handler.config.enabled = False

    assert not handler.matches_scope("build", "terraform-agent")
    assert not handler.matches_scope(None, None)


def test_messages_and_warnings_are_shown_with_the_name_of_the_handler() -> None:
    """The contract: `print_dim` and `print_warning` of the console."""
    screen = Screen()
    handler = EchoHandler(MCPHandlerConfig("echo"), console=screen)

    handler._bubble_message("connecting")
    handler._bubble_warning("slow")

    assert screen.shown == [("dim", "[echo] connecting"), ("warning", "[echo] slow")]


@pytest.mark.parametrize("console", [None, object()], ids=["none", "one without the methods"])
def test_messages_are_logged_without_a_console_that_shows_them(console: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The contract: `console` may be None. Ours: nothing is lost, and nothing fails."""
    caplog.set_level(logging.INFO)
    handler = EchoHandler(MCPHandlerConfig("echo"), console=console)

    handler._bubble_message("connecting to 100%")
    handler._bubble_warning("slow")

    assert [(one.name, one.levelname, one.getMessage()) for one in caplog.records] == [
        ("mcp.echo", "INFO", "connecting to 100%"),
        ("mcp.echo", "WARNING", "slow"),
    ]


def test_the_console_of_an_agent_serves_a_handler(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: one console for both."""
    handler = EchoHandler(MCPHandlerConfig("echo"), console=AgentConsole())

    handler._bubble_message("connecting")
    handler._bubble_warning("slow")

    assert capsys.readouterr().out.splitlines() == ["[echo] connecting", "warning: [echo] slow"]


def test_the_project_config_is_read_only() -> None:
    """The document: `self.project_config` is read-only. What one handler changes must not reach another."""
    project: dict[str, Any] = {"a": {"b": [1, {"c": 2}]}}
    handler = EchoHandler(MCPHandlerConfig("x"), project_config=project)
    inner = handler.project_config["a"]["b"]
    changes: list[Callable[[], Any]] = [
        lambda: handler.project_config.update(x=1),
        lambda: handler.project_config.setdefault("x", 1),
        lambda: handler.project_config["a"].pop("b"),
        lambda: inner.append(1),
        lambda: inner[1].clear(),
        lambda: inner.sort(),
    ]

    for change in changes:
        with pytest.raises(TypeError, match="read-only"):
            change()
    project["a"]["b"].append(3)

    assert json.dumps(handler.project_config) == '{"a": {"b": [1, {"c": 2}]}}'
    for own in (copy.deepcopy(handler.project_config), pickle.loads(pickle.dumps(handler.project_config))):
        own["a"]["b"][1]["c"] = 3
        assert own == {"a": {"b": [1, {"c": 3}]}}


class Plain:
    """A console with nothing but `print`."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def print(self, message: str) -> None:
        self.shown.append(message)


class Kinds(Plain):
    """A console with a method for each kind of message."""

    def print_warning(self, message: str) -> None:
        self.shown.append(f"warning: {message}")


def test_a_message_is_shown_by_the_method_for_its_kind_or_for_any() -> None:
    """Ours: `print_warning` and `print_dim` are those of the document."""
    kinds, plain = Kinds(), Plain()

    assert was_shown(kinds, "print_warning", "slow")
    assert was_shown(kinds, "print_dim", "connecting")
    assert was_shown(plain, "print_warning", "slow")

    assert (kinds.shown, plain.shown) == (["warning: slow", "connecting"], ["slow"])


def test_a_console_of_rich_shows_the_text_as_it_is() -> None:
    """Ours: its `print` would take the name of a handler in brackets for markup, and fail at `[/x]`."""
    output = io.StringIO()

    assert was_shown(Console(file=output, width=200), "print_dim", "[echo] reads [/x]")

    assert output.getvalue() == "[echo] reads [/x]\n"


def test_a_console_without_print_shows_nothing() -> None:
    """The contract: `console` may be None."""
    consoles = [None, object(), type("Odd", (), {"print": "no method"})()]

    assert not [console for console in consoles if was_shown(console, "print_warning", "slow")]


def test_a_console_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the message is lost on it, and nothing else."""

    class Broken(Plain):
        def print(self, message: str) -> None:
            raise OSError("no terminal")

    assert not was_shown(Broken(), "print_warning", "slow")
    assert "no terminal" in caplog.text


def handler(name: str, stages: list[str] | None = None, *, enabled: bool = True) -> EchoHandler:
    return EchoHandler(MCPHandlerConfig(name, stages=stages, enabled=enabled))


def test_a_handler_is_found_by_its_name() -> None:
    """The contract: get, list_all, len and in."""
    registry = MCPRegistry()
    assert (len(registry), registry.get("clock"), "clock" in registry, registry.list_all()) == (0, None, False, [])
    clock, files = handler("clock"), handler("files")

    registry.register_builtin(clock)
    registry.register_custom(files)

    assert registry.get("clock") is clock
    assert registry.get("files") is files
    assert registry.get("other") is None
    assert registry.list_all() == [clock, files]
    assert len(registry) == 2
    assert "clock" in registry
    assert "other" not in registry
    assert 1 not in registry
    assert repr(registry) == "<MCPRegistry ['clock', 'files']>"


def test_a_custom_handler_replaces_the_built_in_one_in_its_position() -> None:
    """A4: in whichever order the two were registered."""
    registry = MCPRegistry()
    custom, first, third = handler("second"), handler("first"), handler("third")
    registry.register_custom(custom)
    registry.register_custom(last := handler("last"))
    for built_in in (first, handler("second"), third):
        registry.register_builtin(built_in)

    assert registry.get("second") is custom
    assert registry.list_all() == [first, custom, third, last]
    assert len(registry) == 4


def test_a_handler_that_is_registered_again_keeps_its_position() -> None:
    """A4, among custom handlers and among built-in ones."""
    registry = MCPRegistry()
    for register in (registry.register_builtin, registry.register_custom):
        for name in ("first", "second"):
            register(handler(name))
        register(again := handler("first"))
        assert registry.list_all()[0] is again
        assert len(registry) == 2


def test_dashes_and_underscores_are_the_same_in_names() -> None:
    """A2."""
    registry = MCPRegistry()
    registry.register_builtin(handler("cost-lookup"))
    registry.register_custom(custom := handler("cost_lookup"))

    assert registry.list_all() == [custom]
    assert registry.get("cost-lookup") is registry.get("cost_lookup") is custom
    assert "cost-lookup" in registry


def test_a_handler_that_is_false_as_a_bool_is_found() -> None:
    """Ours: one with `__len__` may be empty."""

    class Empty(EchoHandler):
        def __len__(self) -> int:
            return 0

    registry = MCPRegistry()
    registry.register_builtin(handler("x"))
    registry.register_custom(empty := Empty(MCPHandlerConfig("x")))

    assert registry.get("x") is empty
    assert "x" in registry


def test_only_the_handlers_in_scope_are_listed() -> None:
    """A3: by the rule of each handler."""
    registry = MCPRegistry()
    everywhere, build = handler("everywhere"), handler("build", ["build"])
    for each in (everywhere, build, handler("nowhere", []), handler("off", enabled=False)):
        registry.register_custom(each)

    assert registry.get_for_scope("build") == [everywhere, build]
    assert registry.get_for_scope(stage="deploy", agent="x") == [everywhere]
    assert [each.name for each in registry.get_for_scope()] == ["everywhere", "build", "nowhere"]


def test_handlers_are_listed_while_others_are_registered() -> None:
    """The contract: parallel agents share one registry."""
    registry = MCPRegistry()
    names = [f"h{number}" for number in range(2000)]

    def register() -> None:
        for name in names:
            registry.register_custom(handler(name))

    thread = threading.Thread(target=register)
    thread.start()
    while thread.is_alive():
        found = [each.name for each in registry.list_all()]
        assert found == names[: len(found)]
    thread.join()
    assert len(registry) == len(names)
