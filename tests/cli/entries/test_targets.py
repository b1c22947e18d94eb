"""What a word means where a server is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.entries.targets import (
    command_entry,
    find_entry,
    find_server,
    find_servers,
    raw_entry,
    served_code,
    tool_of,
    typed_entry,
)
from gaia_mcp.cli.grammar.server_words import ServerWords
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.config.targets import Remote
from gaia_mcp.config.typed import TypedEntry
from gaia_mcp.errors import AgentError, EntryError, ServerUnknownError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = ("notes.py:Notes", "./cost_handler.py", "cost_handler.py:Cost", "pkg.mod:Class", "demo", "./handlers")
TOKEN = "sk-1234567890abcdef"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an agent, a folder and a program."""
    (tmp_path / "with space").mkdir()
    for name in ("notes.py", "with space/notes.py", "with space/run", "run"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., ConfigStore]:
    """Makes a configuration of servers with these names."""

    def write(*names: str) -> ConfigStore:
        path = tmp_path / "servers.json"
        path.write_text(json.dumps({"mcpServers": {name: {"command": "x"} for name in names}}))
        return ConfigStore(path)

    return write


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("uvx mcp-server-time", Command("uvx", ["mcp-server-time"])),
        ("  node  server.js ", Command("node", ["server.js"])),
        ("x 'a b' --c=\"d e\"", Command("x", ["a b", "--c=d e"])),
        ("python notes.py", Command("python", ["notes.py"])),
        ("run\tx", Command("run", ["x"])),
        ("./run", Command("./run", [])),
        ("./run --fast", Command("./run", ["--fast"])),
        ("./with space/run", Command("./with space/run", [])),
        ("../run", Command("../run", [])),
        ("/opt/server", Command("/opt/server", [])),
        ("~/bin/server", Command("~/bin/server", [])),
        ("~root/server", Command("~root/server", [])),
        ("./gone/", Command("./gone/", [])),
        (r"C:\bin\server", Command(r"C:\bin\server", [])),
    ],
)
def test_a_word_with_a_space_and_a_path_are_commands(work: Path, word: str, command: Command) -> None:
    """Ours: as `add` reads them; a path with a space in it that is there is a program."""
    entry = typed_entry(word)

    assert entry is not None
    assert (entry.target, entry.name) == (command, " ".join(word.split()))


@pytest.mark.parametrize(
    ("word", "agent"),
    [
        ("./notes.py:Notes", "{work}/notes.py:Notes"),
        ("notes.py:Notes", "{work}/notes.py:Notes"),
        ("notes.py", "{work}/notes.py"),
        ("notes.py:", "{work}/notes.py:"),
        ("./with space/notes.py:Notes", "{work}/with space/notes.py:Notes"),
        ("with space/notes.py", "{work}/with space/notes.py"),
        ("notes.py:Outer.Inner", "{work}/notes.py:Outer.Inner"),
        ("pkg.mod:Class", "pkg.mod:Class"),
        ("mod:Outer.Inner", "mod:Outer.Inner"),
        ("demo", "demo"),
    ],
)
def test_an_agent_is_a_file_a_module_or_built_in(work: Path, word: str, agent: str) -> None:
    """Ours: as `serve` reads them. Nothing of it is imported; the file is found from every folder."""
    entry = typed_entry(word)

    assert entry is not None
    assert entry.name == word
    assert isinstance(entry.target, Served)
    assert entry.target.target == agent.format(work=work)
    assert entry.target.cwd == (str(work) if agent.startswith(("pkg", "mod")) else None)


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "\t\n",
        "time",
        "time.now",
        "my-server",
        "@scope/server",
        "a/b",
        "localhost:8000",
        "a:",
        ":b",
        "a:b:c",
        "x.js",
    ],
)
def test_what_looks_like_nothing_is_a_name(work: Path, word: str) -> None:
    """Ours: it is an unknown server, with its suggestions."""
    assert typed_entry(word) is None


def test_a_python_file_that_can_be_run_is_a_program_unless_it_names_a_class(work: Path) -> None:
    """Ours: many a `server.py` is one, and was saved as one."""
    path = work / "server.py"
    path.write_text("#!/usr/bin/env python3\n")
    words = ("./server.py", "server.py", "./server.py:Notes")

    def targets() -> list[type]:
        return [type(entry.target) for word in words if (entry := typed_entry(word)) is not None]

    path.chmod(0o644)
    assert targets() == [Served, Served, Served]
    path.chmod(0o755)
    assert targets() == [Command, Served, Served]


def test_a_url_is_shown_without_its_secrets(work: Path) -> None:
    """Ours."""
    entry = typed_entry(f"HTTPS://me:{TOKEN}@example.com/mcp?key={TOKEN}")

    assert entry is not None
    assert entry.target == Remote(f"https://me:{TOKEN}@example.com/mcp?key={TOKEN}")
    assert TOKEN not in repr((entry.name, entry.described(), entry.masked(), entry.key))


def test_a_command_is_shown_without_its_secrets(work: Path) -> None:
    """Ours: also as the name of the server, which errors and hints repeat."""
    for entry in (typed_entry(f"run --api-key {TOKEN}"), command_entry(["run", "--api-key", TOKEN])):
        assert entry is not None
        assert entry.target == Command("run", ["--api-key", TOKEN])
        assert entry.name == "run --api-key ****"


def test_a_file_that_is_not_there_is_no_agent(work: Path) -> None:
    """Ours: found out before anything is started."""
    for word in ("./gone.py", "gone.py:Agent"):
        with pytest.raises(AgentError) as caught:
            typed_entry(word)
        assert caught.value.target == word


@pytest.mark.parametrize("word", ["run | tee x", "run 'x", "run $(x) y"])
def test_a_command_line_is_not_for_a_shell(work: Path, word: str) -> None:
    """Ours: as in `add`; after two dashes the shell has read the words, and they are passed on as they are."""
    with pytest.raises(EntryError):
        typed_entry(word)
    assert command_entry(["sh", "-c", word]).target == Command("sh", ["-c", word])


def test_after_two_dashes_are_a_program_and_its_arguments_or_one_target(work: Path) -> None:
    """Ours: so each target can be written there too."""
    assert command_entry(["node", "server.js"]).target == Command("node", ["server.js"])
    assert command_entry(["my-server"]).target == Command("my-server", [])
    assert command_entry(["uvx x"]).target == Command("uvx", ["x"])
    assert isinstance(command_entry(["./notes.py"]).target, Served)
    assert isinstance(command_entry(["demo"]).target, Served)


def test_a_configured_name_always_wins(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: over a file, a built-in agent, and a name that is a command line."""
    names = ["demo", "notes.py", "uvx x", "pkg.mod:Class"]
    store = configure(*names)

    for name in names:
        assert find_entry(store, name) == read_entry(name, {"command": "x"}, store.path)
    assert isinstance(find_entry(store, "./notes.py"), TypedEntry)
    assert [entry.name for entry in find_servers(store, ServerWords([], ["notes.py", "demo"]))] == ["notes.py", "demo"]


def test_an_unknown_name_is_reported_with_a_suggestion(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: a slip of the finger must not look like a command that is not there."""
    with pytest.raises(ServerUnknownError) as caught:
        find_entry(configure("time"), "tiem")
    assert caught.value.hint == "did you mean 'time'?"


def test_the_server_stands_first_or_after_two_dashes(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: `call NAME TOOL`, `call TOOL -- COMMAND`."""
    store = configure("time")

    assert find_server(store, ServerWords(["time", "now"]))[1] == ["now"]
    entry, rest = find_server(store, ServerWords(["now", "zone=UTC"], ["run", "-x"]))
    assert (entry.target, rest) == (Command("run", ["-x"]), ["now", "zone=UTC"])
    entry, rest = find_server(store, ServerWords(["run x", "now"]))
    assert (entry.target, rest) == (Command("run", ["x"]), ["now"])
    with pytest.raises(UsageError) as caught:
        find_server(store, ServerWords([], ["uvx", "x"]))
    assert "-- uvx x" in caught.value.hint


def test_each_server_is_used_once_and_has_a_name_of_its_own(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: two commands may differ in nothing that can be shown."""
    store = configure("time")
    typed = ServerWords(["time", "run --token aaaaaaaa", "time", "run --token bbbbbbbb"], ["time", "x"])

    found = find_servers(store, typed)

    assert [entry.name for entry in found] == ["time", "run --token ****", "run --token **** (2)", "time x"]
    assert len({entry.identity() for entry in found}) == 4


def test_the_tool_of_a_built_in_agent_can_follow_a_dot() -> None:
    """Ours: as that of a configured server, which wins."""
    assert tool_of("demo.greet", []) == ("demo", "greet")
    assert tool_of("demo.greet.all", ["demo.greet"]) == ("demo.greet", "all")
    for word in ("demo", "time.now", "demo."):
        assert tool_of(word, []) is None
    assert tool_of("demo.greet", ["demo.greet"]) is None


def test_code_is_saved_as_the_kind_that_it_is(work: Path) -> None:
    """Ours: what was tried is what is kept, also the folder that a module is in."""
    (work / "cost_handler.py").touch()
    (work / "handlers").mkdir()
    saved = {word: raw_entry(code) for word in WORDS if (code := served_code(word)) is not None}

    assert saved == {
        "notes.py:Notes": {"agent": f"{work}/notes.py:Notes"},
        "./cost_handler.py": {"handler": f"{work}/cost_handler.py"},
        "cost_handler.py:Cost": {"handler": f"{work}/cost_handler.py:Cost"},
        "pkg.mod:Class": {"agent": "pkg.mod:Class", "cwd": str(work)},
        "demo": {"agent": "demo"},
        "./handlers": {"handler": f"{work}/handlers"},
    }
    for word, entry in saved.items():
        assert read_entry("x", entry).target == served_code(word)._replace(is_typed=False)  # type: ignore[union-attr]
