"""`gaia mcp init`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.handlers import MCPHandlerConfig, MCPManager, MCPRegistry, load_handlers_from_directory
from gaia_mcp.importing import forget_modules

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize("words", [(), ("my notes",), ("--handler",), ("--handler", "my notes"), ("--handler", "x.py")])
def test_the_written_file_runs_by_the_printed_commands(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: a person's own agent or handler is called from the shell, and saved, in three commands."""
    written = gaia("init", *words)
    assert written.code == 0

    printed = {words[0]: gaia(*words) for words in (shlex.split(line)[2:] for line in written.stdout.splitlines()[1:])}

    assert (printed["add"].code, printed["call"].stdout) == (0, "Hello, Ada!\n")


def test_the_written_agent_passes_its_check(gaia: Gaia) -> None:
    """Ours: people copy it."""
    assert gaia("init", "my_notes.py").code == 0

    checked = gaia("serve", "my_notes.py", "--check", "--json")

    (tool,) = checked.json["tools"]
    assert (checked.code, checked.json["problems"], checked.json["server"]["name"]) == (0, [], "GAIA MyNotes")
    assert (tool["name"], tool["description"], tool["annotations"]) == (
        "greet", "Greet a person.", {"readOnlyHint": True}
    )  # fmt: skip
    assert tool["inputSchema"]["properties"] == {
        "name": {"type": "string", "description": "Whom to greet."},
        "times": {"type": "integer", "description": "How often.", "default": 1},
    }


def test_an_existing_file_is_replaced_only_by_force(gaia: Gaia) -> None:
    """Ours: it may hold work that exists nowhere else."""
    (gaia.cwd / "agent.py").write_text("mine")

    refused = gaia("init")

    assert (refused.code, refused.errors) == (
        3,
        [
            "error: agent.py: exists already",
            "hint: choose another name, or replace it: gaia mcp init agent.py --force",
        ],
    )
    assert (gaia.cwd / "agent.py").read_text() == "mine"
    assert gaia("init", "agent.py", "--force").code == 0
    assert "class MyAgent(MCPAgent)" in (gaia.cwd / "agent.py").read_text()


def test_a_file_with_another_suffix_is_refused(gaia: Gaia) -> None:
    """Ours: `notes.txt.py` is not what was typed."""
    refused = gaia("init", "notes.txt")

    assert (refused.code, refused.errors) == (
        2,
        [
            "error: 'notes.txt' is not the name of a Python file",
            "hint: name a Python file: gaia mcp init notes.py",
        ],
    )
    assert list(gaia.cwd.iterdir()) == []


def test_a_missing_folder_is_not_created(gaia: Gaia) -> None:
    """Ours: a typing error creates no folders."""
    refused = gaia("init", "some where/agent.py")

    assert refused.code == 3
    assert refused.errors[1] == "hint: make the folder first: mkdir -p 'some where'"
    (gaia.cwd / "some where").mkdir()
    assert gaia("init", "some where").code == 0
    assert (gaia.cwd / "some where" / "agent.py").exists()


@pytest.mark.parametrize(
    ("file", "name"), [("2day", "MyAgent"), ("none.py", "MyAgent"), ("agent.py", "MyAgent"), ("a-b.c.py", "ABC")]
)
def test_the_class_is_named_after_the_file(gaia: Gaia, file: str, name: str) -> None:
    """Ours: it is the name of the server for clients; a file whose name cannot be one has `MyAgent`."""
    path = gaia("init", file, "--json").json["path"]

    with open(path) as opened:  # noqa: PTH123
        assert f"class {name}(MCPAgent):" in opened.read()


def written(gaia: Gaia, *words: str) -> tuple[Path, str]:
    """The file that `init --handler` writes, relative to the working folder, and its text."""
    ran = gaia("init", "--handler", *words, "--json")
    assert ran.code == 0, ran
    path = Path(ran.json["path"])
    return path.relative_to(gaia.cwd), path.read_text()


@pytest.mark.parametrize(
    ("words", "file", "name"),
    [
        ((), "example_handler.py", "ExampleHandler"),
        (("weather",), "weather_handler.py", "WeatherHandler"),
        (("cost-lookup_handler",), "cost-lookup_handler.py", "CostLookupHandler"),
        (("weather.py",), "weather.py", "WeatherHandler"),
        (("my own",), "my own_handler.py", "MyOwnHandler"),
        (("2day",), "2day_handler.py", "MyHandler"),
        (("MCP",), "MCP_handler.py", "MyHandler"),
        (("_handler.py",), "_handler.py", "MyHandler"),
    ],
)
def test_a_handler_is_named_after_its_file(gaia: Gaia, words: tuple[str, ...], file: str, name: str) -> None:
    """A2: the name of the file ends in `_handler`, unless another was typed in full."""
    path, text = written(gaia, *words)

    assert path == Path(file)
    assert f"class {name}(MCPHandler):" in text


def test_the_written_handler_uses_its_settings(gaia: Gaia, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1, A2: in the manager, with the settings that its comment shows and without any."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    path, text = written(gaia, "weather")
    (shown,) = re.findall(r'"settings": (\{.*?\})', text)
    answers = []
    for settings in ({}, json.loads(shown)):
        config = MCPHandlerConfig("weather", settings=settings)
        registry = MCPRegistry()
        for handler in load_handlers_from_directory(gaia.cwd, {"weather": config}):
            registry.register_custom(handler)
        with MCPManager(registry) as manager:
            (tool,) = manager.get_tools_for_scope()
            assert (tool.name, tool.handler_name) == ("greet", "weather")
            answers.append(manager.call_tool("greet", {"name": "Ada"}).content)
            assert registry.list_all()[0].call_tool("other", {}).error_message == "Unknown tool: other"
    forget_modules(gaia.cwd)

    assert path == Path("weather_handler.py")
    assert answers == ["Hello, Ada!", "Good morning, Ada!"]


def test_a_handler_gets_its_settings_from_its_entry(gaia: Gaia) -> None:
    """A1: in the place that the comment in the file names."""
    gaia("init", "--handler", "weather")
    gaia.write({"weather": {"handler": "weather_handler.py", "settings": {"greeting": "Good morning"}}})
    (gaia.config.parent / "weather_handler.py").write_bytes((gaia.cwd / "weather_handler.py").read_bytes())

    assert gaia("call", "weather", "greet", "name=Ada").stdout == "Good morning, Ada!\n"


def test_an_existing_handler_is_replaced_only_by_force(gaia: Gaia) -> None:
    """Ours: the line in the hint writes a handler too."""
    (gaia.cwd / "weather_handler.py").write_text("mine")

    refused = gaia("init", "--handler", "weather")

    assert (refused.code, refused.errors) == (
        3,
        [
            "error: weather_handler.py: exists already",
            "hint: choose another name, or replace it: gaia mcp init --handler weather_handler.py --force",
        ],
    )
    assert (gaia.cwd / "weather_handler.py").read_text() == "mine"
    other = gaia("init", "--handler", "notes.txt")
    assert (other.code, other.errors[1]) == (2, "hint: name a Python file: gaia mcp init --handler notes.py")
