"""The candidates for each parameter of the commands."""

from __future__ import annotations

from pathlib import Path

from gaia_mcp.agents import built_in
from gaia_mcp.cli.checks.load import read_budget
from tests.cli.completion.conftest import SERVERS, TOKEN, after, described


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


def test_a_command_that_takes_one_server_offers_no_second(known: None) -> None:
    """Ours: the command would refuse it."""
    for command in ("show", "logs", "record", "guide"):
        assert after("mcp", command, "de") == ["demo", "deaf"]
        assert after("mcp", command, "demo", "de") == []


def test_a_budget_is_offered_with_a_limit_that_it_may_have() -> None:
    """Ours: the units are not guessed. No space follows, since the limit does."""
    offered = described("mcp", "test-client", "demo", "--budget", "")

    assert list(offered) == ["p50=", "p90=", "p99=", "max=", "errors=", "rate=", "memory="]
    assert all(read_budget(f"{what}{about.removeprefix('such as ')}").limit for what, about in offered.items())
    assert after("mcp", "test-client", "demo", "--budget", "me") == ["memory="]
