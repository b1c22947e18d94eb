"""How an argument that names a server is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.entries.targets import (
    TypedEntry,
    command_entry,
    find_entry,
    find_server,
    find_servers,
    how_to_keep,
    raw_entry,
    served_code,
    tool_of,
    typed_entry,
)
from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.errors import AgentError, EntryError, ServerUnknownError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = ("notes.py:Notes", "./cost_handler.py", "cost_handler.py:Cost", "pkg.mod:Class", "demo", "./handlers")
COMMANDS = {
    "uvx mcp-server-time": Command("uvx", ["mcp-server-time"]),
    "  node  server.js ": Command("node", ["server.js"]),
    "x 'a b' --c=\"d e\"": Command("x", ["a b", "--c=d e"]),
    "python notes.py": Command("python", ["notes.py"]),
    "run\tx": Command("run", ["x"]),
    "./run": Command("./run", []),
    "./run --fast": Command("./run", ["--fast"]),
    "./with space/run": Command("./with space/run", []),
    "../run": Command("../run", []),
    "/opt/server": Command("/opt/server", []),
    "~/bin/server": Command("~/bin/server", []),
    "~root/server": Command("~root/server", []),
    "./gone/": Command("./gone/", []),
    r"C:\bin\server": Command(r"C:\bin\server", []),
}
# The target of the entry, and whether its folder is saved with it.
AGENTS = {
    "./notes.py:Notes": ("{work}/notes.py:Notes", False),
    "notes.py:Notes": ("{work}/notes.py:Notes", False),
    "notes.py": ("{work}/notes.py", False),
    "notes.py:": ("{work}/notes.py:", False),
    "./with space/notes.py:Notes": ("{work}/with space/notes.py:Notes", False),
    "with space/notes.py": ("{work}/with space/notes.py", False),
    "notes.py:Outer.Inner": ("{work}/notes.py:Outer.Inner", False),
    "pkg.mod:Class": ("pkg.mod:Class", True),
    "mod:Outer.Inner": ("mod:Outer.Inner", True),
    "demo": ("demo", False),
}
NAMES = (
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
)
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


def test_an_argument_with_a_space_or_a_path_is_a_command(work: Path) -> None:
    """Ours: as `add` reads them; an existing path with a space in it is a program."""
    entries = {word: typed_entry(word) for word in COMMANDS}

    assert {word: entry and entry.target for word, entry in entries.items()} == COMMANDS
    assert {word: entry and entry.name for word, entry in entries.items()} == {
        word: " ".join(word.split()) for word in COMMANDS
    }


def test_an_agent_is_a_file_a_module_or_built_in(work: Path) -> None:
    """Ours: as `serve` reads them. Nothing of it is imported; the file is found from every folder."""
    found = {word: entry for word in AGENTS if (entry := typed_entry(word)) is not None}
    targets = {word: entry.target for word, entry in found.items() if isinstance(entry.target, Served)}

    assert {word: (target.target, target.cwd) for word, target in targets.items()} == {
        word: (target.format(work=work), str(work) if has_folder else None)
        for word, (target, has_folder) in AGENTS.items()
    }
    assert [entry.name for entry in found.values()] == list(AGENTS)


def test_any_other_argument_is_a_server_name(work: Path) -> None:
    """Ours: it is reported as an unknown server, with a suggestion."""
    entries = {word: entry for word in NAMES if (entry := typed_entry(word)) is not None}

    assert not entries


def test_the_path_of_an_executable_python_file_is_a_command_unless_it_names_a_class(work: Path) -> None:
    """Ours: many a `server.py` is a program, and was saved as one."""
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
    """Ours: errors, hints and listings repeat the name of a server."""
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


def test_a_missing_agent_file_is_refused(work: Path) -> None:
    """Ours: before anything is started."""
    for word in ("./gone.py", "gone.py:Agent"):
        with pytest.raises(AgentError) as caught:
            typed_entry(word)
        assert caught.value.target == word


def test_shell_syntax_in_a_command_line_is_refused(work: Path) -> None:
    """Ours: as in `add`; after two dashes the shell has read the words, and they are passed on unchanged."""
    for word in ("run | tee x", "run 'x", "run $(x) y"):
        with pytest.raises(EntryError):
            typed_entry(word)
        assert command_entry(["sh", "-c", word]).target == Command("sh", ["-c", word])


def test_the_words_after_two_dashes_are_a_command_or_one_target(work: Path) -> None:
    """Ours: so each target can be written there too."""
    assert command_entry(["node", "server.js"]).target == Command("node", ["server.js"])
    assert command_entry(["my-server"]).target == Command("my-server", [])
    assert command_entry(["uvx x"]).target == Command("uvx", ["x"])
    assert isinstance(command_entry(["./notes.py"]).target, Served)
    assert isinstance(command_entry(["demo"]).target, Served)


def test_a_configured_name_takes_precedence(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: over a file, a built-in agent, and a name that is a command line."""
    names = ["demo", "notes.py", "uvx x", "pkg.mod:Class"]
    store = configure(*names)

    for name in names:
        assert find_entry(store, name) == read_entry(name, {"command": "x"}, store.path)
    assert isinstance(find_entry(store, "./notes.py"), TypedEntry)
    assert [entry.name for entry in find_servers(store, ServerWords([], ["notes.py", "demo"]))] == ["notes.py", "demo"]


def test_an_unknown_name_is_reported_with_a_suggestion(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: a typing error must not be reported as a command that was not found."""
    with pytest.raises(ServerUnknownError) as caught:
        find_entry(configure("time"), "tiem")
    assert caught.value.hint == "did you mean 'time'?"


def test_the_server_is_the_first_argument_or_follows_two_dashes(
    work: Path, configure: Callable[..., ConfigStore]
) -> None:
    """Ours: `call NAME TOOL`, `call TOOL -- COMMAND`."""
    store = configure("time")

    assert find_server(CommandLine(), store, ServerWords(["time", "now"]))[1] == ["now"]
    entry, rest = find_server(CommandLine(), store, ServerWords(["now", "zone=UTC"], ["run", "-x"]))
    assert (entry.target, rest) == (Command("run", ["-x"]), ["now", "zone=UTC"])
    entry, rest = find_server(CommandLine(), store, ServerWords(["run x", "now"]))
    assert (entry.target, rest) == (Command("run", ["x"]), ["now"])
    with pytest.raises(UsageError) as caught:
        find_server(CommandLine(), store, ServerWords([], ["uvx", "x"]))
    assert "-- uvx x" in caught.value.hint


def test_each_server_is_used_once_under_a_unique_name(work: Path, configure: Callable[..., ConfigStore]) -> None:
    """Ours: two commands may differ only in a masked secret."""
    store = configure("time")
    typed = ServerWords(["time", "run --token aaaaaaaa", "time", "run --token bbbbbbbb"], ["time", "x"])

    found = find_servers(store, typed)

    assert [entry.name for entry in found] == ["time", "run --token ****", "run --token **** (2)", "time x"]
    assert len({entry.identity() for entry in found}) == 4


def test_the_tool_of_a_built_in_agent_can_follow_a_dot() -> None:
    """Ours: as that of a configured server, whose name takes precedence."""
    assert tool_of("demo.greet", []) == ("demo", "greet")
    assert tool_of("demo.greet.all", ["demo.greet"]) == ("demo.greet", "all")
    for word in ("demo", "time.now", "demo."):
        assert tool_of(word, []) is None
    assert tool_of("demo.greet", ["demo.greet"]) is None


def test_code_is_saved_as_an_agent_or_a_handler(work: Path) -> None:
    """Ours: the entry starts what was tried, also by the folder that a module is in."""
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


LINES = (
    (command_entry(["uvx", "mcp-server-time", "a b"]), "time -- uvx mcp-server-time 'a b'"),
    (command_entry(["python", "server.py"]), "server -- python server.py"),
    (TypedEntry("x", Command("srv", ["--token", "sk-1234567890"])), "srv -- srv --token ****"),
    (TypedEntry("demo", Served("agent", "demo", is_typed=True)), "demo demo"),
    (
        TypedEntry("./it's.py:Notes", Served("agent", "/x/it's.py:Notes", is_typed=True)),
        """notes './it'"'"'s.py:Notes'""",
    ),
    (TypedEntry("https://example.com/mcp", Remote("https://example.com/mcp")), "https://example.com/mcp"),
)


def test_the_command_that_saves_a_server_is_quoted_for_a_shell() -> None:
    """Ours: with a suggested name; an agent as it was typed, and a command with its secrets masked."""
    assert [how_to_keep(CommandLine(), entry) for entry, _ in LINES] == [f"gaia mcp add {line}" for _, line in LINES]


def test_the_name_of_another_server_is_not_suggested() -> None:
    """Ours: the line would be refused."""
    entry = command_entry(["uvx", "mcp-server-time"])

    assert how_to_keep(CommandLine(), entry, {"time", "time-2"}) == "gaia mcp add time-3 -- uvx mcp-server-time"
