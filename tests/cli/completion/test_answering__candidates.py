"""Candidates for the last word of a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from gaia_mcp.agents import built_in
from gaia_mcp.cli.app import COMMANDS, app
from gaia_mcp.cli.completion.answering import MAX_DESCRIBED, Candidate, candidates
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.paths import cache_folder
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


def test_commands_are_offered_after_the_program(known: None) -> None:
    """Ours: under both of its names."""
    assert after("") == ["mcp"]
    assert after("--v") == ["--version"]
    assert after("mcp", "") == list(COMMANDS) == after("", program="gmcp")
    assert after("mcp", "te") == ["test-client"]
    assert after("te", program="gmcp") == ["test-client"]
    assert described("mcp", "call") == {"call": "Call a tool and print what it returns."}
    assert candidates([]) == candidates([""])


def test_a_command_is_described_as_in_the_help(known: None) -> None:
    """Ours: the description comes from the generated table, since loading a command takes too long."""
    program: Any = typer.main.get_command(app)
    group = program.get_command(None, "mcp")
    helps = {name: group.get_command(None, name).get_short_help_str(200) for name in COMMANDS}

    assert {name: described("mcp", name)[name] for name in COMMANDS} == helps


def test_mcp_may_be_omitted(known: None) -> None:
    """Ours: as on the command line itself."""
    assert after("call", "de") == ["demo", "deaf"] == after("mcp", "call", "de")


def test_options_of_the_command_are_offered_once(known: None) -> None:
    """Ours: with their help; a given option is omitted unless it may be repeated."""
    assert described("mcp", "list", "--ch") == {"--check": "Connect to every enabled server."}
    assert after("mcp", "list", "--check", "--ch") == []
    assert "--help" in after("mcp", "list", "")
    assert after("mcp", "serve", "demo", "--kwarg", "a=1", "--kw") == ["--kwarg"]
    assert after("mcp", "list", "--nonsense", "--ch") == ["--check"]


def test_an_excluded_tool_is_offered_only_to_edit(configure: Callable[[dict[str, Any]], None], known: None) -> None:
    """Ours: elsewhere it does not exist. The cache holds all tools, so that a new filter can be completed."""
    configure({"demo": {**SERVERS["demo"], "excludeTools": ["a*"]}, "wrong": {"command": 7}})

    assert after("mcp", "call", "demo", "") == ["greet", "odd"]
    assert after("mcp", "call", "demo.") == ["demo.greet", "demo.odd"]
    assert after("mcp", "test-client", "demo", "--call", "") == ["greet", "odd"]
    assert after("mcp", "edit", "demo", "--only", "") == ["greet", "add", "odd"]
    assert after("mcp", "edit", "demo", "--except", "a") == ["add"]
    assert after("mcp", "edit", "wrong", "--only", "") == []
    assert after("mcp", "edit", "nowhere", "--only", "") == []


def test_the_value_of_an_option_is_not_an_argument(known: None) -> None:
    """Ours: whether it follows the option or is attached to it."""
    Path("servers.json").touch()
    assert after("mcp", "call", "--timeout", "3", "de") == ["demo", "deaf"]
    assert after("mcp", "call", "--timeout=3", "de") == ["demo", "deaf"]
    assert after("mcp", "list", "--config", "") == ["servers.json"]
    assert after("mcp", "list", "--config=s") == ["--config=servers.json"]
    assert after("mcp", "list", "--timeout", "") == []


def test_files_are_offered_where_a_file_fits(known: None) -> None:
    """Ours: beside the other values of a parameter."""
    Path("run.sh").touch()

    assert after("mcp", "add", "new", "--", "r") == after("mcp", "add", "new", "--", "sh", "r") == ["run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args", "") == ["@", "-"]
    assert after("mcp", "call", "demo", "greet", "--args", "@r") == ["@run.sh"]
    assert after("mcp", "call", "demo", "greet", "--args=@r") == ["--args=@run.sh"]
    assert after("mcp", "import", "run") == ["run.sh"]
    assert after("mcp", "watch", "demo", "demo://a") == ["demo://about"]


def test_only_folders_are_offered_where_a_folder_is_expected(known: None) -> None:
    """Ours: hidden files are offered only after a dot, as shells do."""
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


def test_a_tilde_in_a_path_is_not_expanded(known: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: the shell or the command expands it later."""
    (tmp_path / "in home").touch()
    monkeypatch.setenv("HOME", str(tmp_path))

    assert after("mcp", "call", "demo", "greet", "name=@~/in") == ["name=@~/in home"]


def test_servers_are_described_without_their_secrets(known: None) -> None:
    """Ours: also disabled servers, and those whose entry is invalid."""
    found = described("mcp", "call", "")

    assert found["demo"] == "uvx demo-server --token ****"
    assert found["deaf"] == "disabled: npx run"
    assert found["own"] == "x"
    assert found["wrong"].startswith("invalid: ")
    assert TOKEN not in str(found)
    assert list(found) == list(SERVERS)


def test_a_given_server_is_not_offered_again(known: None) -> None:
    """Ours: for commands that take several servers."""
    assert after("mcp", "tools", "demo", "de") == ["deaf"]
    assert after("mcp", "test-client", "demo", "de") == ["deaf"]


def test_tools_takes_a_tool_after_its_server(known: None) -> None:
    """Ours: the word after a server may be one of its tools or another server."""
    assert after("mcp", "tools", "demo", "gr") == ["greet"]
    assert after("mcp", "tools", "demo.gr") == ["demo.greet"]
    assert after("mcp", "tools", "gr") == []


def test_tools_are_offered_after_their_server(known: None) -> None:
    """Ours: in the server's order, with the first line of their descriptions."""
    assert described("mcp", "call", "demo", "") == {"greet": "Say hello.", "add": "Add numbers", "odd": ""}
    assert after("mcp", "call", "demo.") == ["demo.greet", "demo.add", "demo.odd"]
    assert after("mcp", "call", "a:b.c.g") == ["a:b.c.greet"]
    assert after("mcp", "call", "my server", "g") == ["greet"]
    assert after("mcp", "call", "nobody", "") == after("mcp", "call", "nobody.") == []


def test_arguments_are_offered_after_their_tool(known: None) -> None:
    """Ours: for `SERVER TOOL` and `SERVER.TOOL`; their values after the equals sign."""
    assert after("mcp", "call", "demo", "greet", "") == ["name=", "loud=", "style="]
    assert after("mcp", "call", "demo.greet", "") == ["name=", "loud=", "style="]
    assert after("mcp", "call", "demo", "greet", "name=Ada", "") == ["loud=", "style="]
    assert after("mcp", "call", "demo", "greet", "style=") == ["style=plain", "style=warm"]
    assert after("mcp", "call", "demo", "greet", "--json", "loud=t") == ["loud=true"]
    assert after("mcp", "call", "demo", "odd", "x") == after("mcp", "call", "demo", "unheard", "x") == []


def test_arguments_of_a_tool_are_offered_after_the_options_of_the_command(known: None) -> None:
    """Ours: a tool's argument may be typed as an option."""
    assert after("mcp", "call", "demo", "greet", "--")[-3:] == ["--name", "--loud", "--style"]
    assert after("mcp", "call", "demo.greet", "--sty") == ["--style"]
    assert after("mcp", "call", "demo", "greet", "--style", "w") == ["warm"]
    assert after("mcp", "call", "demo", "greet", "--style=w") == ["--style=warm"]
    assert after("mcp", "call", "demo", "greet", "--style", "warm", "--json", "--sty") == []
    assert "--name" not in after("mcp", "call", "demo", "--")
    assert "--name" not in after("mcp", "prompt", "demo", "review", "--")


def test_the_config_option_on_the_line_is_used(known: None) -> None:
    """Ours: wherever the option stands."""
    Path("other.json").write_text('{"mcpServers": {"elsewhere": {"command": "x"}}}')

    assert after("mcp", "call", "--config", "other.json", "") == ["elsewhere"]
    assert after("mcp", "call", "--config", "missing.json", "d") == []


def test_tools_and_arguments_are_offered_to_test_client(known: None) -> None:
    """Ours: `--call` takes what `call` takes."""
    assert after("mcp", "test-client", "demo", "--call", "g") == ["greet"]
    assert after("mcp", "test-client", "demo", "--call", "greet", "lo") == ["loud="]


def test_prompts_and_their_arguments_are_offered(known: None) -> None:
    """Ours: from the cache, since completion never connects."""
    assert after("mcp", "prompt", "demo", "") == ["review", "bare", "odd"]
    assert after("mcp", "prompt", "demo", "review", "") == ["code=", "language="]
    assert after("mcp", "prompt", "demo", "review", "code=x", "") == ["language="]
    assert after("mcp", "prompt", "demo", "bare", "x") == after("mcp", "prompt", "demo", "odd", "x") == []


def test_resources_and_the_variables_of_templates_are_offered(known: None) -> None:
    """Ours, RFC 6570: operators and modifiers are no part of a name."""
    assert after("mcp", "read", "demo", "demo") == ["demo://about", "demo://{folder}{?from,to*}"]
    assert after("mcp", "read", "demo", "demo://{folder}{?from,to*}", "from=1", "") == ["folder=", "to="]


def test_built_in_agents_and_classes_in_files_are_offered(known: None) -> None:
    """Ours: `serve` takes both; the classes are read without importing the file."""
    Path("agent.py").write_text("class One:\n    class Inner: ...\nclass Two(One): ...\n")
    Path("data.txt").touch()
    Path("folder").mkdir()

    assert after("mcp", "serve", "") == [*built_in(), "agent.py:", "folder/"]
    assert after("mcp", "serve", "agent.py:") == ["agent.py:One", "agent.py:Two"]
    assert after("mcp", "serve", "missing.py:") == []


def test_shells_are_offered_to_completion(known: None) -> None:
    """Ours: these four have a script."""
    assert after("mcp", "completion", "") == ["bash", "zsh", "fish", "powershell"]


def test_values_of_options_are_offered_where_they_can_be_listed(known: None) -> None:
    """Ours: members of an entry, log levels, folders."""
    Path("folder").mkdir()
    Path("file").touch()

    assert after("mcp", "edit", "demo", "--unset", "") == ["command", "args"]
    assert after("mcp", "edit", "nobody", "--unset", "") == after("mcp", "edit", "--unset", "") == []
    assert after("mcp", "watch", "demo", "--level", "e") == ["error", "emergency"]
    assert after("mcp", "edit", "demo", "--cwd", "f") == after("mcp", "add", "new", "--cwd", "f") == ["folder/"]


def test_patterns_are_offered_for_the_tools_of_servers_that_are_served(known: None) -> None:
    """Ours: `--allow` and `--deny` take SERVER/TOOL, or a pattern for all tools of a server."""
    assert described("mcp", "serve", "--all", "--deny", "de") == {
        "demo/": "uvx demo-server --token ****", "deaf/": "disabled: npx run",
    }  # fmt: skip
    assert after("mcp", "serve", "--server", "far", "demo", "--allow", "") == ["demo/", "far/"]
    assert after("mcp", "serve", "--all", "--allow", "demo/") == ["demo/*", "demo/greet", "demo/add", "demo/odd"]
    assert after("mcp", "serve", "--all", "--allow=demo/g") == ["--allow=demo/greet"]
    assert after("mcp", "serve", "--all", "--allow", "nobody/") == ["nobody/*"]


def test_an_unknown_command_or_argument_has_no_candidates(known: None) -> None:
    """Ours: a candidate that the command refuses would be wrong advice."""
    assert after("nonsense", "") == after("mcp", "nonsense", "") == after("mcp", "remove", "--", "--j") == []
    assert after("mcp", "show", "demo", "more", "x") == []
    assert after("mcp", "add", "new", "--", "") == []


def test_a_word_after_two_dashes_is_an_argument(known: None) -> None:
    """POSIX, utility syntax guideline 10: `--` ends the options, not the arguments."""
    assert after("mcp", "call", "--", "de") == ["demo", "deaf"]


def test_a_path_is_completed_to_agents_and_programs(known: None) -> None:
    """Ours: wherever a server is expected; other files are not offered."""
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


def test_files_are_offered_in_a_command_after_two_dashes(known: None) -> None:
    """Ours: as in `-- node server.js`. After a configured server, its tools are offered instead."""
    Path("server.js").touch()

    for words in (["tools", "--", "node"], ["call", "now", "--", "node"], ["show", "--", "node"], ["watch", "--"]):
        assert after("mcp", *words, "ser") == ["server.js"], words
    assert after("mcp", "call", "demo", "--", "gr") == ["greet"]
    assert after("mcp", "call", "demo", "greet", "--", "nam") == ["name="]


def test_a_command_that_takes_one_server_offers_no_second(known: None) -> None:
    """Ours: the command would refuse it."""
    for command in ("show", "logs", "record", "guide"):
        assert after("mcp", command, "de") == ["demo", "deaf"]
        assert after("mcp", command, "demo", "de") == []


def test_an_incomplete_word_gets_no_space() -> None:
    """Ours: the person goes on typing the same word."""
    assert [Candidate(word).is_open for word in ("key=", "key=@", "folder/", "file.py:", "word")] == [True] * 4 + [
        False
    ]


def test_a_name_with_a_leading_dash_is_offered_only_after_two_dashes(
    configure: Callable[[dict[str, Any]], None],
) -> None:
    """Ours: before them it would be read as an option."""
    configure({"--json": {"command": "x"}, "-a": {"command": "x"}})

    assert after("mcp", "show", "") == []
    assert after("mcp", "show", "--", "") == ["--json", "-a"]


def test_names_with_control_characters_are_not_offered(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: such a name cannot be typed; control characters in descriptions are escaped."""
    entry = {"command": "x\x1b[2J", "args": ["\u202eabc", "a\nb"]}
    bad = ("bad\x1b[2J", "tab\tbed", "tab\t\u00e4", "two\n\u00e4", "turned\u202e", "half\ud800", "")
    good = ("good", "sch\u00f6n \U0001f600", "\U0001f469\u200d\U0001f4bb", "\u05e9\u05dc\u05d5\u05dd", "a b", "\\'\"$")
    configure(dict.fromkeys([*bad, *good], entry))

    found = described("mcp", "call", "")

    assert tuple(found) == good
    assert found["good"] == "x\\x1b[2J '\\u202eabc' 'a b'"


def test_long_lists_have_no_descriptions(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: a long list is scanned for a name, and descriptions would take several screens."""
    configure({f"s{number}": {"command": "x"} for number in range(MAX_DESCRIBED + 1)})

    assert candidates(["mcp", "call", ""])[0] == Candidate("s0", "")
    assert candidates(["mcp", "call", "s1"])[0] == Candidate("s1", "x")


def test_a_corrupt_configuration_offers_no_servers(configure: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """Ours: an error message would garble the line that is being typed."""
    for content in ("", "{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 7}}', "\xff"):
        (tmp_path / "home" / "mcp_servers.json").write_bytes(content.encode("latin-1"))
        assert after("mcp", "call", "") == (["a"] if "7" in content else []), content
        assert after("mcp", "call", "a", "x") == [], content


def test_only_the_cache_of_the_named_server_is_read(known: None) -> None:
    """Ours: other caches may be large or unreadable, which must not delay a TAB."""
    for path in (cache_folder() / "tools").iterdir():
        if path.name != "demo.json":
            path.unlink()
            path.mkdir()

    assert after("mcp", "call", "demo", "g") == ["greet"]
