"""A handler, or a folder of handlers, as one provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.contrib.handlers.serving import HandlersProvider, handlers_provider
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.server.provider import RequestError
from tests.contrib.handlers.files import HANDLER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contrib.handlers.files import Write

# Its tool returns what it was configured with.
CONFIGURED = HANDLER.replace(
    "MCPToolResult(WORD)",
    'MCPToolResult(f"{self.name} {self.config.timeout} {self.config.settings} {self.project_config}")',
)
# Offers a tool without a name, beside another one.
NAMELESS = HANDLER.replace("return [", 'return [MCPToolDefinition("", "", {}, self.name), ')


class Served:
    """Providers of handlers, with what they have printed for a person and written to the log."""

    def __init__(self) -> None:
        self.remarks: list[str] = []
        self.logged: list[str] = []
        self._opened: list[HandlersProvider] = []

    def open(self, target: Path, **order: Any) -> HandlersProvider:
        provider = handlers_provider(
            str(target), order, remark=self.remarks.append, log=self.logged.append, on_failure=lambda *_: None
        )
        self._opened.append(provider)
        return provider

    def close(self) -> None:
        for provider in self._opened:
            provider.close()


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.close()


def tools(provider: HandlersProvider, call: Call | None = None) -> list[str]:
    return [tool["name"] for tool in provider.answer("tools/list", {}, call or Call())["tools"]]


def text(provider: HandlersProvider, tool: str = "word") -> str:
    result = provider.answer("tools/call", {"name": tool, "arguments": {}}, Call())
    return str(result["content"][0]["text"])


def test_a_handler_gets_the_members_of_its_order(served: Served, write: Write) -> None:
    """A4: a name, the settings and the project; without a name it is that of the file (A2)."""
    write("prototype.yaml", "project: {name: shop}")
    file = write("word_handler.py", CONFIGURED)

    named = served.open(file, name="own", timeout=7, settings={"a": 1}, project="prototype.yaml", url="ignored")
    plain = served.open(file)

    assert text(named) == "own 7 {'a': 1} {'project': {'name': 'shop'}}"
    assert text(plain).startswith("word ")
    assert [provider.describe().info["name"] for provider in (named, plain)] == ["own", "word"]


def test_a_folder_is_one_provider_without_the_files_that_cannot_be_loaded(served: Served, write: Write) -> None:
    """Ours: each problem is printed once, and is among the problems that `--check` reports."""
    folder = write("handlers/word_handler.py").parent
    write("handlers/bad_handler.py", "class (")
    write("handlers/plain.py", "x = 1")

    provider = served.open(folder)

    assert (tools(provider), provider.describe().info["name"]) == (["word"], "handlers")
    assert "plain.py is left out: it contains no handler" in served.remarks[0]
    (problem,) = provider.problems
    assert "bad_handler.py' cannot be imported: SyntaxError" in problem
    assert served.remarks[1:] == [problem]


def test_a_folder_in_which_nothing_can_be_loaded_is_an_error(served: Served, write: Write) -> None:
    """Ours: with the reason of the last one, since an empty list of tools would hide it."""
    folder = write("handlers/bad_handler.py", "class (").parent

    with pytest.raises(HandlerError, match=r"has no handler that can be loaded: .*SyntaxError"):
        served.open(folder)


def test_a_warning_is_logged_to_the_client_with_the_next_list_of_tools(served: Served, write: Write) -> None:
    """Ours: once; a person who uses another host sees no stderr."""
    provider = served.open(write("word_handler.py", NAMELESS))
    logged: list[tuple[str, Any]] = []
    call = Call(on_log=lambda level, data: logged.append((level, data)))

    assert tools(provider, call) == tools(provider, call) == ["word"]

    assert logged == [("warning", problem) for problem in provider.problems]
    assert len(logged) == 1


def test_without_any_tool_the_last_problem_is_the_error(served: Served, write: Write) -> None:
    """Ours: a client shows an error, and would take an empty list for a handler without tools."""
    unconnected = HANDLER.replace("self._connected = True", "raise OSError('no route to host')")
    empty = HANDLER.replace('[MCPToolDefinition("word", "A word.", {}, self.name)]', "[]")

    with pytest.raises(RequestError, match="no route to host"):
        tools(served.open(write("far_handler.py", unconnected)))
    assert tools(served.open(write("none_handler.py", empty))) == []


def test_what_a_handler_prints_goes_to_the_log(served: Served, write: Write) -> None:
    """Ours: without control characters; it is no remark."""
    printing = HANDLER.replace("return [", "self.console.print_dim('list\\x1b[2J'); return [")

    assert tools(served.open(write("word_handler.py", printing))) == ["word"]

    assert (served.logged, served.remarks) == (["list\\x1b[2J"], [])
