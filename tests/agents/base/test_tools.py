"""The decorator `tool`, and what it reads from a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from gaia_mcp.agents.base import _TOOL_REGISTRY, tool
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.base.tools import get_tool_display_name, marks_of, read_once

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    before = dict(_TOOL_REGISTRY)
    yield
    _TOOL_REGISTRY.clear()
    _TOOL_REGISTRY.update(before)


def parameters_of(function: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = _TOOL_REGISTRY[tool(function).__name__]["parameters"]
    return parameters


def test_a_function_is_registered_and_unchanged() -> None:
    """GAIA: by its name, with its docstring."""

    def look(path: str) -> str:
        """Look at a file.

        All of it.
        """
        return path

    assert tool(look) is look
    assert _TOOL_REGISTRY["look"] == {
        "name": "look",
        "description": "Look at a file.\n\nAll of it.",
        "parameters": {"path": {"type": "string", "required": True}},
        "function": look,
        "atomic": False,
    }


def test_the_decorator_takes_options() -> None:
    """GAIA: `atomic` counts, what only GAIA knows is accepted."""

    @tool(atomic=True, display_label="Look")
    def look() -> None:
        pass

    assert _TOOL_REGISTRY["look"]["atomic"] is True
    assert _TOOL_REGISTRY["look"]["description"] == ""


def test_annotations_become_types() -> None:
    """GAIA: the JSON types; what says nothing is unknown."""

    def many(
        a: str, b: int, c: float, d: bool, e: list[str], f: dict[str, int], g: tuple[int, ...], h: object, i, j=None
    ):  # type: ignore[no-untyped-def]
        pass

    found = parameters_of(many)

    assert [found[name]["type"] for name in "abcdefghij"] == [
        "string", "integer", "number", "boolean", "array", "object", "array", "unknown", "unknown", "unknown"
    ]  # fmt: skip
    assert [name for name in found if not found[name]["required"]] == ["j"]


def test_unions_and_choices_keep_all_their_types() -> None:
    """Ours: a model must see all that the function takes."""

    def several(a: str | None, b: int | str, c: Literal["x", "y"], d: int | int = 1) -> None:
        pass

    found = parameters_of(several)

    assert [found[name]["type"] for name in "abcd"] == [["string", "null"], ["integer", "string"], "string", "integer"]


def test_annotations_that_cannot_be_resolved_are_unknown() -> None:
    """Ours: imported for a type checker alone, they are not there when the program runs."""

    def odd(a: Nowhere, b: int) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    assert parameters_of(odd)["a"] == {"type": "unknown", "required": True}


def test_parameters_without_a_name_are_left_out() -> None:
    """Ours: a model gives arguments by name."""

    def loose(a: int, *rest: int, b: int = 2, **more: int) -> None:
        pass

    assert list(parameters_of(loose)) == ["a", "b"]


def test_annotations_that_cannot_even_be_evaluated_are_unknown() -> None:
    """Ours: an attribute that a module does not have, text that is no Python, or a value that is no type."""

    def odd(a: Any, b: Any, c: Any) -> None:
        pass

    odd.__annotations__ = {"a": "Literal.nope", "b": "a file", "c": [int]}

    assert [found["type"] for found in parameters_of(odd).values()] == ["unknown", "unknown", "unknown"]


def test_a_tool_has_a_display_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA, from 0.17 on."""
    monkeypatch.setitem(_TOOL_REGISTRY, "mcp_fs_read", {"display_name": "read (fs)"})
    monkeypatch.setitem(_TOOL_REGISTRY, "own", {"name": "own"})

    assert [get_tool_display_name(name) for name in ("mcp_fs_read", "own", "unknown")] == [
        "read (fs)",
        "own",
        "unknown",
    ]


def test_a_tool_may_require_scopes() -> None:
    """Ours: by its name, and not in its definition; a text would be taken for its letters."""

    class Trips(MCPAgent):
        @tool(name="cancel", scopes=["trips:write", "trips:read"])
        def cancel_trip(self) -> None:
            pass

        @tool
        def look(self) -> None:
            pass

    assert dict(Trips().get_mcp_tool_scopes()) == {"cancel": ("trips:write", "trips:read")}
    assert "scope" not in str(Trips().get_mcp_tool_definitions())
    for scopes in ("trips:write", ["a b"]):
        with pytest.raises(ValueError, match="cannot be"):

            class Wrong:
                @tool(scopes=scopes)
                def cancel(self) -> None:
                    pass


def test_a_tool_may_or_must_run_as_a_task() -> None:
    """Ours: another word is an error where it is written."""

    class Agent:
        @tool(task="optional")
        def work(self) -> None: ...

        @tool
        def small(self) -> None: ...

    assert {name: mark.more for name, mark in marks_of(Agent).items()} == {
        "work": {"execution": {"taskSupport": "optional"}}, "small": {},
    }  # fmt: skip
    with pytest.raises(ValueError, match="task cannot be 'always': it is 'optional' or 'required'"):

        class Other:
            @tool(task="always")  # type: ignore[call-overload]
            def work(self) -> None: ...


def test_only_functions_can_be_marked_as_tools() -> None:
    """Ours: at once, where it is written."""
    with pytest.raises(TypeError, match="write @tool\\(name=…\\) to name a tool"):
        tool("name")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="is for methods and functions"):
        tool(property(lambda self: 1))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="a tool cannot be named 'two words'"):

        class Named(MCPAgent):
            @tool(name="two words")
            def run(self) -> None: ...


def test_a_class_is_read_once_and_each_subclass_anew() -> None:
    """Ours: reading hints takes time, and a subclass has other methods."""
    read: list[type] = []

    class Base:
        pass

    class Sub(Base):
        pass

    def name_of(kind: type) -> str:
        read.append(kind)
        return kind.__name__

    assert [read_once(kind, "_name", name_of) for kind in (Base, Sub, Base, Sub)] == ["Base", "Sub", "Base", "Sub"]
    assert read == [Base, Sub]
