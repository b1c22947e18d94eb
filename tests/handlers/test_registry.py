"""Which handlers there are, and which of two with the same name."""

from __future__ import annotations

import threading

from gaia_mcp.handlers.base import MCPHandlerConfig
from gaia_mcp.handlers.registry import MCPRegistry
from tests.handlers.echo import EchoHandler


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
