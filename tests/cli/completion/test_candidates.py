"""What the last word of a command line may become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from gaia_mcp.agents.loader import BUILT_IN
from gaia_mcp.cli.app import COMMANDS, app
from gaia_mcp.cli.completion.candidates import MAX_DESCRIBED, Candidate, candidates
from gaia_mcp.config.entries import read_entry
from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = {
    "type": "object",
    "properties": {
        "loud": {"type": "boolean"},
        "name": {"type": "string", "description": "Who"},
        "style": {"enum": ["plain", "warm"]},
    },
    "required": ["name"],
}
TOOLS = [
    {"name": "greet", "description": "Say hello.\nTo somebody.", "inputSchema": SCHEMA},
    {"name": "add", "title": "Add numbers"},
    {"name": "odd", "description": 7, "inputSchema": "none"},
]
PROMPTS = [
    {
        "name": "review",
        "description": "Review it",
        "arguments": [{"name": "language"}, {"name": "code", "required": True}],
    },
    {"name": "bare", "arguments": [7, {"name": 7}]},
    {"name": "odd", "arguments": "none"},
]
RESOURCES = [
    {"name": "about", "uri": "demo://about", "description": "What it is"},
    {"name": "page", "uriTemplate": "demo://{folder}{?from,to*}"},
    {"name": "broken", "uri": 7},
]
TOKEN = "sk-1234567890abcdef"
SERVERS: dict[str, Any] = {
    "demo": {"command": "uvx", "args": ["demo-server", "--token", TOKEN]},
    "deaf": {"command": "npx run", "disabled": True},
    "far": {"url": f"https://user:{TOKEN}@example.com/mcp"},
    "own": {"handler": "x"},
    "wrong": {"command": 7},
    "my server": {"command": "x"},
    "a:b.c": {"command": "x", "args": []},
}


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Writes the configuration of a home of its own; the working folder is empty."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    home.mkdir()
    monkeypatch.setenv("GAIA_HOME", str(home))
    monkeypatch.chdir(work)

    def write(servers: dict[str, Any]) -> None:
        (home / "mcp_servers.json").write_text(json.dumps({"mcpServers": servers}))

    return write


@pytest.fixture
def known(configure: Callable[[dict[str, Any]], None]) -> None:
    """Servers that have been seen."""
    configure(SERVERS)
    for name in ("demo", "deaf", "my server", "a:b.c"):
        for kind, items in (("tools", TOOLS), ("prompts", PROMPTS), ("resources", RESOURCES)):
            ServerCache(cache_folder(), read_entry(name, SERVERS[name])).keep_seen(items, kind)  # type: ignore[arg-type]


def after(*words: str, program: str = "gaia") -> list[str]:
    return [candidate.value for candidate in candidates(words, program)]


def described(*words: str) -> dict[str, str]:
    return dict(candidates(words))


def test_the_program_leads_to_its_commands(known: None) -> None:
    """Ours: under both of its names."""
    assert after("") == ["mcp"]
    assert after("--v") == ["--version"]
    assert after("mcp", "") == list(COMMANDS) == after("", program="gmcp")
    assert after("mcp", "te") == ["test-client"]
    assert after("te", program="gmcp") == ["test-client"]
    assert described("mcp", "call") == {"call": "Call a tool and print what it returns."}
    assert candidates([]) == candidates([""])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_described_as_in_the_help(known: None, name: str) -> None:
    """Ours: though it is not loaded for that."""
    program: Any = typer.main.get_command(app)
    command = program.get_command(None, "mcp").get_command(None, name)

    assert described("mcp", name)[name] == command.get_short_help_str(200)


def test_the_word_mcp_may_be_left_out(known: None) -> None:
    """Ours: as on the command line itself."""
    assert after("call", "de") == ["demo", "deaf"] == after("mcp", "call", "de")


def test_options_are_those_of_the_command_each_once(known: None) -> None:
    """Ours: with their help, the given ones left out unless they may be repeated."""
    assert described("mcp", "list", "--ch") == {"--check": "Connect to every enabled server."}
    assert after("mcp", "list", "--check", "--ch") == []
    assert "--help" in after("mcp", "list", "")
    assert after("mcp", "serve", "demo", "--kwarg", "a=1", "--kw") == ["--kwarg"]
    assert after("mcp", "list", "--nonsense", "--ch") == ["--check"]


def test_a_tool_that_the_entry_excludes_is_offered_only_for_another_choice(
    configure: Callable[[dict[str, Any]], None], known: None
) -> None:
    """Ours: elsewhere it does not exist. The cache holds all tools, whatever the choice is."""
    configure({"demo": {**SERVERS["demo"], "excludeTools": ["a*"]}, "wrong": {"command": 7}})

    assert after("mcp", "call", "demo", "") == ["greet", "odd"]
    assert after("mcp", "call", "demo.") == ["demo.greet", "demo.odd"]
    assert after("mcp", "test-client", "demo", "--call", "") == ["greet", "odd"]
    assert after("mcp", "edit", "demo", "--only", "") == ["greet", "add", "odd"]
    assert after("mcp", "edit", "demo", "--except", "a") == ["add"]
    assert after("mcp", "edit", "wrong", "--only", "") == []
    assert after("mcp", "edit", "nowhere", "--only", "") == []


def test_an_option_that_has_a_value_is_waited_for(known: None) -> None:
    """Ours: it is no argument, whether it follows or is attached."""
    Path("servers.json").touch()
    assert after("mcp", "call", "--timeout", "3", "de") == ["demo", "deaf"]
    assert after("mcp", "call", "--timeout=3", "de") == ["demo", "deaf"]
    assert after("mcp", "list", "--config", "") == ["servers.json"]
    assert after("mcp", "list", "--config=s") == ["--config=servers.json"]
    assert after("mcp", "list", "--timeout", "") == []


def test_files_are_offered_where_one_may_be_meant(known: None) -> None:
    """Ours: beside everything else that a parameter may be."""
    Path("run.sh").touch()

    assert after("mcp", "add", "new", "--", "r") == after("mcp", "add", "new", "--", "sh", "r") == ["run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args", "") == ["@", "-"]
    assert after("mcp", "call", "demo", "greet", "--args", "@r") == ["@run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args=@r") == ["--args=@run.sh"]
    assert after("mcp", "import", "run") == ["run.sh"]
    assert after("mcp", "watch", "demo", "demo://a") == ["demo://about"]


def test_folders_and_files_are_told_apart(known: None) -> None:
    """Ours: where only a folder fits, only those; hidden ones when one asks for them."""
    Path("folder").mkdir()
    Path("file").touch()
    Path("folder/.hidden").touch()

    assert after("mcp", "read", "demo", "x", "-o", "f") == ["file", "folder/"]
    assert after("mcp", "read", "demo", "x", "--output-dir", "f") == ["folder/"]
    assert after("mcp", "call", "demo", "x", "--root", "f") == ["folder/"]
    assert after("mcp", "test-client", "demo", "--answers", "f") == ["file", "folder/"]
    assert after("mcp", "call", "demo", "x", "--sample", "f") == ["file", "folder/"]
    assert after("mcp", "trust", "") == ["folder/"]
    assert after("mcp", "list", "--config", "f") == ["file", "folder/"]
    assert after("mcp", "list", "--config", "folder/") == []
    assert after("mcp", "list", "--config", "folder/.") == ["folder/.hidden"]
    assert after("mcp", "list", "--config", "nowhere/") == []
    assert after("mcp", "list", "--config", "~nobody-at-all/") == []
    assert after("mcp", "list", "--config", "\0/") == []


def test_a_home_folder_is_written_as_it_was(known: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: the shell, or we, expand it later."""
    (tmp_path / "in home").touch()
    monkeypatch.setenv("HOME", str(tmp_path))

    assert after("mcp", "call", "demo", "greet", "name=@~/in") == ["name=@~/in home"]


def test_servers_are_described_without_their_secrets(known: None) -> None:
    """Ours: also disabled ones, and those that make no sense."""
    found = described("mcp", "call", "")

    assert found["demo"] == "uvx demo-server --token ****"
    assert found["deaf"] == "disabled: npx run"
    assert found["own"] == "x"
    assert found["wrong"].startswith("invalid: ")
    assert TOKEN not in str(found)
    assert list(found) == list(SERVERS)


def test_a_server_is_named_once(known: None) -> None:
    """Ours: for commands that take several."""
    assert after("mcp", "tools", "demo", "de") == ["deaf"]
    assert after("mcp", "test-client", "demo", "de") == ["deaf"]


def test_tools_may_be_named_beside_their_servers(known: None) -> None:
    """Ours: `tools` looks at one, and a name that follows may be another server."""
    assert after("mcp", "tools", "demo", "gr") == ["greet"]
    assert after("mcp", "tools", "demo.gr") == ["demo.greet"]
    assert after("mcp", "tools", "gr") == []


def test_tools_follow_their_server(known: None) -> None:
    """Ours: in the server's order, with the first line of what they say."""
    assert described("mcp", "call", "demo", "") == {"greet": "Say hello.", "add": "Add numbers", "odd": ""}
    assert after("mcp", "call", "demo.") == ["demo.greet", "demo.add", "demo.odd"]
    assert after("mcp", "call", "a:b.c.g") == ["a:b.c.greet"]
    assert after("mcp", "call", "my server", "g") == ["greet"]
    assert after("mcp", "call", "nobody", "") == after("mcp", "call", "nobody.") == []


def test_arguments_follow_their_tool(known: None) -> None:
    """Ours: named in either way; values after the equals sign."""
    assert after("mcp", "call", "demo", "greet", "") == ["name=", "loud=", "style="]
    assert after("mcp", "call", "demo.greet", "") == ["name=", "loud=", "style="]
    assert after("mcp", "call", "demo", "greet", "name=Ada", "") == ["loud=", "style="]
    assert after("mcp", "call", "demo", "greet", "style=") == ["style=plain", "style=warm"]
    assert after("mcp", "call", "demo", "greet", "--json", "loud=t") == ["loud=true"]
    assert after("mcp", "call", "demo", "odd", "x") == after("mcp", "call", "demo", "unheard", "x") == []


def test_a_tools_arguments_are_offered_as_options_after_ours(known: None) -> None:
    """Ours: as they may be typed, for a tool that is on the line."""
    assert after("mcp", "call", "demo", "greet", "--")[-3:] == ["--name", "--loud", "--style"]
    assert after("mcp", "call", "demo.greet", "--sty") == ["--style"]
    assert after("mcp", "call", "demo", "greet", "--style", "w") == ["warm"]
    assert after("mcp", "call", "demo", "greet", "--style=w") == ["--style=warm"]
    assert after("mcp", "call", "demo", "greet", "--style", "warm", "--json", "--sty") == []
    assert "--name" not in after("mcp", "call", "demo", "--")
    assert "--name" not in after("mcp", "prompt", "demo", "review", "--")


def test_the_configuration_that_the_line_names_counts(known: None) -> None:
    """Ours: wherever the option stands."""
    Path("other.json").write_text('{"mcpServers": {"elsewhere": {"command": "x"}}}')

    assert after("mcp", "call", "--config", "other.json", "") == ["elsewhere"]
    assert after("mcp", "call", "--config", "missing.json", "d") == []


def test_a_test_calls_a_tool_with_arguments(known: None) -> None:
    """Ours."""
    assert after("mcp", "test-client", "demo", "--call", "g") == ["greet"]
    assert after("mcp", "test-client", "demo", "--call", "greet", "lo") == ["loud="]


def test_prompts_and_their_arguments_are_offered(known: None) -> None:
    """Ours: as far as they have been seen."""
    assert after("mcp", "prompt", "demo", "") == ["review", "bare", "odd"]
    assert after("mcp", "prompt", "demo", "review", "") == ["code=", "language="]
    assert after("mcp", "prompt", "demo", "review", "code=x", "") == ["language="]
    assert after("mcp", "prompt", "demo", "bare", "x") == after("mcp", "prompt", "demo", "odd", "x") == []


def test_resources_and_the_variables_of_templates_are_offered(known: None) -> None:
    """Ours, RFC 6570: operators and modifiers are no part of a name."""
    assert after("mcp", "read", "demo", "demo") == ["demo://about", "demo://{folder}{?from,to*}"]
    assert after("mcp", "read", "demo", "demo://{folder}{?from,to*}", "from=1", "") == ["folder=", "to="]


def test_agents_are_built_in_or_classes_of_files(known: None) -> None:
    """Ours."""
    Path("agent.py").write_text("class One:\n    class Inner: ...\nclass Two(One): ...\n")
    Path("data.txt").touch()
    Path("folder").mkdir()

    assert after("mcp", "serve", "") == [*BUILT_IN, "agent.py:", "folder/"]
    assert after("mcp", "serve", "agent.py:") == ["agent.py:One", "agent.py:Two"]
    assert after("mcp", "serve", "missing.py:") == []


def test_shells_are_offered_to_the_command_for_them(known: None) -> None:
    """Ours."""
    assert after("mcp", "completion", "") == ["bash", "zsh", "fish", "powershell"]


def test_values_of_options_are_offered_where_they_can_be_listed(known: None) -> None:
    """Ours: what an entry holds, levels, folders."""
    Path("folder").mkdir()
    Path("file").touch()

    assert after("mcp", "edit", "demo", "--unset", "") == ["command", "args"]
    assert after("mcp", "edit", "nobody", "--unset", "") == after("mcp", "edit", "--unset", "") == []
    assert after("mcp", "watch", "demo", "--level", "e") == ["error", "emergency"]
    assert after("mcp", "edit", "demo", "--cwd", "f") == after("mcp", "add", "new", "--cwd", "f") == ["folder/"]


def test_patterns_are_offered_for_the_tools_of_servers_that_are_served(known: None) -> None:
    """Ours: what the tools are called is known, and that a pattern may be for all of them."""
    assert described("mcp", "serve", "--all", "--deny", "de") == {
        "demo/": "uvx demo-server --token ****", "deaf/": "disabled: npx run",
    }  # fmt: skip
    assert after("mcp", "serve", "--server", "far", "demo", "--allow", "") == ["demo/", "far/"]
    assert after("mcp", "serve", "--all", "--allow", "demo/") == ["demo/*", "demo/greet", "demo/add", "demo/odd"]
    assert after("mcp", "serve", "--all", "--allow=demo/g") == ["--allow=demo/greet"]
    assert after("mcp", "serve", "--all", "--allow", "nobody/") == ["nobody/*"]


def test_nothing_is_offered_where_nothing_is_known(known: None) -> None:
    """Ours."""
    assert after("nonsense", "") == after("mcp", "nonsense", "") == after("mcp", "remove", "--", "--j") == []
    assert after("mcp", "show", "demo", "more", "x") == []
    assert after("mcp", "add", "new", "--", "") == []


def test_what_follows_two_dashes_is_an_argument(known: None) -> None:
    """Ours."""
    assert after("mcp", "call", "--", "de") == ["demo", "deaf"]


def test_what_begins_like_a_path_may_be_an_agent_or_a_program(known: None) -> None:
    """Ours: at every place of a server, and only what can be used as one."""
    Path("tools").mkdir()
    Path("run").touch(mode=0o755)
    for name in ("notes.py", "notes.txt"):
        Path(name).touch(mode=0o644)
    Path("notes.py").write_text("class Notes:\n    class Inner: ...\nclass Other(Notes): ...\n")

    for words in (["call"], ["tools", "demo"], ["read"], ["show"], ["test-client"], ["guide"], ["search", "--server"]):
        assert after("mcp", *words, "./") == ["./notes.py:", "./run", "./tools/"], words
        assert after("mcp", *words, "./notes.py:") == ["./notes.py:Notes", "./notes.py:Other"]
        assert after("mcp", *words, "./notes.py:O") == ["./notes.py:Other"]
        assert after("mcp", *words, f"{Path.cwd()}/r") == [f"{Path.cwd()}/run"]
        assert after("mcp", *words, "n") == []
    assert after("mcp", "remove", "./") == after("mcp", "edit", "./") == []


def test_after_two_dashes_are_also_the_files_of_a_command(known: None) -> None:
    """Ours: `-- node server.js`. A configured server has its tools there as elsewhere."""
    Path("server.js").touch()

    for words in (["tools", "--", "node"], ["call", "now", "--", "node"], ["show", "--", "node"], ["watch", "--"]):
        assert after("mcp", *words, "ser") == ["server.js"], words
    assert after("mcp", "call", "demo", "--", "gr") == ["greet"]
    assert after("mcp", "call", "demo", "greet", "--", "nam") == ["name="]


def test_a_command_that_takes_one_server_offers_no_second(known: None) -> None:
    """Ours."""
    for command in ("show", "logs", "record", "guide"):
        assert after("mcp", command, "de") == ["demo", "deaf"]
        assert after("mcp", command, "demo", "de") == []


def test_an_unfinished_word_is_open() -> None:
    """Ours: no space after it."""
    assert [Candidate(word).is_open for word in ("key=", "key=@", "folder/", "file.py:", "word")] == [True] * 4 + [
        False
    ]


def test_a_name_that_would_be_an_option_follows_two_dashes(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: elsewhere it would not be what it is taken for."""
    configure({"--json": {"command": "x"}, "-a": {"command": "x"}})

    assert after("mcp", "show", "") == []
    assert after("mcp", "show", "--", "") == ["--json", "-a"]


def test_what_cannot_be_shown_is_left_out(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: a name that holds a control character cannot be typed; a description is cleaned."""
    entry = {"command": "x\x1b[2J", "args": ["\u202eabc", "a\nb"]}
    bad = ("bad\x1b[2J", "tab\tbed", "tab\t\u00e4", "two\n\u00e4", "turned\u202e", "half\ud800", "")
    good = ("good", "sch\u00f6n \U0001f600", "\U0001f469\u200d\U0001f4bb", "\u05e9\u05dc\u05d5\u05dd", "a b", "\\'\"$")
    configure(dict.fromkeys([*bad, *good], entry))

    found = described("mcp", "call", "")

    assert tuple(found) == good
    assert found["good"] == "x\\x1b[2J '\\u202eabc' 'a b'"


def test_long_lists_do_without_descriptions(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: nobody reads them."""
    configure({f"s{number}": {"command": "x"} for number in range(MAX_DESCRIBED + 1)})

    assert candidates(["mcp", "call", ""])[0] == Candidate("s0", "")
    assert candidates(["mcp", "call", "s1"])[0] == Candidate("s1", "x")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 7}}', "\xff"])
def test_a_corrupt_configuration_offers_no_servers(
    configure: Callable[[dict[str, Any]], None], tmp_path: Path, content: str
) -> None:
    """Ours: and is no error."""
    (tmp_path / "home" / "mcp_servers.json").write_bytes(content.encode("latin-1"))

    assert after("mcp", "call", "") == (["a"] if "7" in content else [])
    assert after("mcp", "call", "a", "x") == []


def test_only_the_cache_of_the_server_in_question_is_read(known: None) -> None:
    """Ours: the others may be what they want, here too large to be read in time."""
    for path in (cache_folder() / "tools").iterdir():
        if path.name != "demo.json":
            path.unlink()
            path.mkdir()

    assert after("mcp", "call", "demo", "g") == ["greet"]
