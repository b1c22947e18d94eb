"""The servers that the words after `add` describe: pasted entries, URLs, and the lines of other programs."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import SERVERS, entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO: dict[str, Any] = {"command": "gaia", "args": ["mcp", "serve", "demo"]}
URL = "https://mcp.deepwiki.com/mcp"


def two() -> str:
    """A snippet with two servers, the second of which works too."""
    return json.dumps({"mcpServers": {"demo": DEMO, "good": entry_of("good-handshake")}})


@pytest.mark.parametrize("words", [(), ("mine",)])
def test_an_entry_is_pasted_as_an_argument(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: under its own name, or the one that is given."""
    ran = gaia("add", *words, f'"demo": {json.dumps(DEMO)},')

    name = words[0] if words else "demo"
    assert ran.stdout == f"added '{name}' to ~/.gaia/mcp_servers.json: demo 0.1.0, 10 tools\n"
    assert gaia.saved == {name: DEMO}


def test_an_entry_is_read_from_standard_input(gaia: Gaia) -> None:
    """Ours: `-` as in other commands; also a part of a README, with the text around the code."""
    text = f'Add this:\n\n```json\n{{\n  // our server\n  "demo": {json.dumps(DEMO)},\n}}\n```\n'

    assert gaia("add", "-", "--no-check", stdin=text).code == 0
    assert gaia("add", "other", "-", "--no-check", stdin=text).code == 0
    assert gaia("add", "third", "--entry", "-", "--no-check", stdin=text).code == 0
    assert gaia.saved == {"demo": DEMO, "other": DEMO, "third": DEMO}


def test_a_note_on_a_terminal_describes_the_awaited_input(gaia: Gaia) -> None:
    """Ours: a person who types `add -` sees what to do."""
    typed = f"{json.dumps(DEMO)}\n".encode() + b"\x04"
    shown, code = run_on_terminal(gaia, "add", "-", "--no-check", typed=typed, after=b"Ctrl-D")
    assert code == 0, shown
    assert gaia.saved == {"demo": DEMO}


@pytest.mark.parametrize("word", ["@snippet", "@~/snippet.md", "snippet.json", "./snippet.json"])
def test_an_entry_is_read_from_a_file(gaia: Gaia, word: str) -> None:
    """Ours: `@FILE` as in other commands, or a file that cannot be a program."""
    text = json.dumps({"mcpServers": {"demo": DEMO}})
    for path in (gaia.cwd / "snippet", gaia.home / "snippet.md", gaia.cwd / "snippet.json"):
        path.write_text(text)

    assert gaia("add", word, "--no-check").code == 0
    assert gaia("add", "other", word, "--no-check").code == 0
    assert gaia.saved == {"demo": DEMO, "other": DEMO}


def test_several_servers_are_added_all_or_none(gaia: Gaia) -> None:
    """Ours: they were pasted together. Each is connected to."""
    ran = gaia("add", two(), "--json")
    assert (ran.code, ran.json["added"]) == (0, ["demo", "good"])
    assert {name: facts["tools"] for name, facts in ran.json["servers"].items()} == {"demo": 10, "good": 10}

    broken = {"a": DEMO, "b": {"command": "no-such-program", "args": []}, "c": entry_of("exits-at-once")}
    ran = gaia("add", json.dumps(broken))
    assert (ran.code, len(ran.errors), ran.stdout) == (4, 4, "")
    assert "server 'b' could not be started" in ran.errors[0]
    assert "server 'c' exited" in ran.errors[2]
    assert "note: nothing was saved" in ran.stderr
    taken = gaia("add", json.dumps({"x": DEMO, "demo": DEMO}))
    assert taken.code == 3
    assert list(gaia.saved) == ["demo", "good"]


def test_one_of_several_pasted_servers_may_be_named(gaia: Gaia) -> None:
    """Ours: an unknown name is reported with those that the text has."""
    assert gaia("add", "good", two()).code == 0
    assert list(gaia.saved) == ["good"]

    ran = gaia("add", "other", two())
    assert (ran.code, len(ran.errors)) == (2, 2)
    assert "contains 2 servers, but no 'other': 'demo', 'good'" in ran.errors[0]
    for option in (("--env", "A=1"), ("--cwd", "."), ("--header", "A: b"), ("--transport", "sse")):
        ran = gaia("add", two(), "--no-check", *option)
        assert (ran.code, len(ran.errors)) == (2, 2)
        assert f"{option[0]} is for one server" in ran.errors[0]
    same = gaia("add", json.dumps([{"name": "a", **DEMO}, {"name": "a", **DEMO}]), "--no-check")
    assert (same.code, "two servers called 'a'" in same.errors[0]) == (2, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"demo": {"command": "gaia" "args": []}}', "the pasted text, line 1, column 29: "),
        ("{'demo': {'command': 'gaia'}}", "line 1, column 2: ' stands where JSON has a double quote"),
        ('{\n  "command": "gaia",\n  "args": ["mcp", ...]\n}', "line 3, column 19: ... stands for"),
        ('{"command": "gaia"', "line 1, column 19: ends too early"),
        ('{"mcpServers": {}}', "the pasted text contains no server"),
        ('{"command": "\0"}', None),
        ("{" * 50_000, "nested too deeply"),
    ],
)
def test_invalid_json_is_reported_with_its_position(gaia: Gaia, text: str, expected: str | None) -> None:
    """Ours: in two lines, with the line and the column of the text, wherever that is from."""
    if expected is not None and "nested" not in expected:
        ran = gaia("add", text)
        assert (ran.code, len(ran.errors)) == (2, 2)
        assert expected in ran.errors[0]
    ran = gaia("add", "x", "-", stdin=text)
    assert (ran.code, len(ran.errors)) == (2, 2)
    assert ran.errors[0].startswith("error: standard input")
    (gaia.cwd / "it.json").write_text(text)
    ran = gaia("add", "x", "@it.json")
    assert (ran.code, len(ran.errors)) == (3, 2)
    assert ran.errors[0].startswith("error: it.json")
    assert not gaia.config.exists()


def test_a_handler_entry_is_pasted_too(gaia: Gaia) -> None:
    """Ours: no other host has them; an object that is not an entry is invalid, as in the file."""
    assert gaia("add", "x", '{"handler": "pkg.mod:Handler"}', "--no-check").code == 0
    assert gaia.saved == {"x": {"handler": "pkg.mod:Handler"}}
    for text in ("{}", '{"a": {}}', '{"mcpServers": {"a": [1]}}'):
        ran = gaia("add", text, "--no-check")
        assert (ran.code, len(ran.errors)) == (3, 2), ran


def test_an_entry_that_suggests_no_name_needs_one(gaia: Gaia) -> None:
    """Ours: the hint can be typed except for the name; it repeats no secret."""
    (gaia.cwd / "it.json").write_text('{"command": "./run.sh"}')
    for words, again in (
        (("--", "./run.sh", "--token", "abc123def"), "NAME -- ./run.sh --token '****'"),
        (("it.json",), "NAME @it.json"),
        (('{"command": "./run.sh"}',), "NAME -"),
        (("https://ada:pw@[bad/mcp",), "NAME 'https://****@[bad/mcp'"),
    ):
        ran = gaia("add", *words)
        assert (ran.code, ran.errors[1]) == (2, f"hint: put a name first: gaia mcp add {again}")


def test_json_whose_quotes_the_shell_has_removed_is_reported(gaia: Gaia) -> None:
    """Ours: people forget the quotes around JSON; the hint names standard input, which needs none."""
    for words in (("{command:gaia}",), ("demo", "{command:", "gaia}")):
        ran = gaia("add", *words)
        assert (ran.code, ran.errors[1]) == (2, "hint: paste it as it is into: gaia mcp add -")


def test_unreadable_input_is_reported(gaia: Gaia) -> None:
    """Ours: a missing file, bytes that are not UTF-8, too many of them, a lone surrogate."""
    (gaia.cwd / "bytes.json").write_bytes(b'{"command": "\xff"}')
    assert gaia("add", "./nowhere.json").errors[0] == "error: nowhere.json: is not there"
    assert "server 'time'" in gaia("add", "uvx mcp-server-time | cat").errors[0]
    missing = gaia("add", "x", "@nowhere.json")
    assert (missing.code, missing.errors[0]) == (3, "error: nowhere.json: is not there")
    package = gaia("add", "@modelcontextprotocol/server-everything")
    assert package.errors[1].endswith("gaia mcp add -- npx -y @modelcontextprotocol/server-everything")
    assert "is not UTF-8" in gaia("add", "bytes.json").errors[0]
    process = gaia.popen("add", "-")
    _, stderr = process.communicate(b'{"command": "\xff"}')
    assert (process.returncode, b"standard input is not UTF-8" in stderr) == (2, True)
    process = gaia.popen("add", "-")
    _, stderr = process.communicate(b" " * (5 << 20))
    assert (process.returncode, b"is larger than 4 MB" in stderr) == (2, True)
    half = gaia("add", "x", "-", "--no-check", stdin='{"command": "\\ud800"}')
    assert (half.code, len(half.errors)) == (3, 2)
    assert not gaia.config.exists()


def test_entries_of_other_hosts_are_converted(gaia: Gaia) -> None:
    """Ours: as by an import, with notes; what is valid here is saved unchanged."""
    vscode = {
        "inputs": [{"id": "token", "type": "promptString"}],
        "servers": {"a": {"type": "stdio", "command": "prog", "env": {"TOKEN": "${input:token}", "PORT": 3000}}},
    }
    ran = gaia("add", json.dumps(vscode), "--no-check")
    assert "the host asks for ${input:token}; here it is the environment variable TOKEN" in ran.stderr
    opencode = {"mcp": {"b": {"type": "local", "command": ["prog", "x"], "environment": {"A": "1"}}}}
    assert gaia("add", json.dumps(opencode), "--no-check").code == 0
    codex = '[mcp_servers.c]\ncommand = "prog"\n'
    assert gaia("add", "-", "--no-check", stdin=codex).code == 0
    assert gaia("add", json.dumps({"d d": {"command": "prog", "alwaysAllow": ["x"]}}), "--no-check").code == 0

    assert gaia.saved == {
        "a": {"command": "prog", "args": [], "env": {"TOKEN": "${TOKEN}", "PORT": "3000"}},
        "b": {"command": "prog", "args": ["x"], "env": {"A": "1"}},
        "c": {"command": "prog"},
        "d-d": {"command": "prog", "alwaysAllow": ["x"]},
    }
    none = gaia("add", "x", '{"type": "builtin", "cmd": "x"}', "--no-check")
    assert (none.code, len(none.errors)) == (3, 2)


def test_a_timeout_in_milliseconds_is_saved_in_seconds(gaia: Gaia) -> None:
    """Ours: some hosts use milliseconds; a number that no host can mean is invalid."""
    ran = gaia("add", '{"x": {"command": "prog", "timeout": 90000}}', "--no-check")
    assert (ran.code, gaia.saved["x"]["timeout"]) == (0, 90)
    assert "its timeout of 90000 is read as milliseconds" in ran.stderr
    for wrong in (0, -1, True, 601_000, "90"):
        assert gaia("add", json.dumps({"y": {"command": "prog", "timeout": wrong}}), "--no-check").code == 3


def test_a_url_needs_no_name(gaia: Gaia) -> None:
    """Ours: the name is that of its host."""
    ran = gaia("add", URL, "--no-check")
    assert ran.stdout == "added 'deepwiki' to ~/.gaia/mcp_servers.json\n"
    assert ran.stderr == "note: completion and search include its tools after: gaia mcp tools deepwiki\n"
    gaia("add", "docs", URL, "--no-check", "-t", "sse", "-H", "X-Team: blue")
    gaia("add", "more", URL, "--no-check", "--transport", "http")

    assert gaia.saved == {
        "deepwiki": {"url": URL},
        "docs": {"url": URL, "headers": {"X-Team": "blue"}, "type": "sse"},
        "more": {"url": URL, "type": "http"},
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((URL, "docs"), f"gaia mcp add docs {URL}"),
        (('{"command": "prog"}', "docs"), "gaia mcp add docs -"),
        (("docs", URL, "more"), "leave out what follows the URL"),
        (("docs", URL, "-t", "stdio"), "--transport http"),
        (("docs", URL, "-t", "pigeon"), "stdio, http, sse, rpc"),
        (("docs", URL, "-e", "A=1"), "--header 'Name: value'"),
        (("docs", URL, "--protocol-version", "2025-11-25"), "see: gaia mcp add --help"),
        (("docs", "-t", "http", "--", "prog"), "--transport stdio"),
        ((), "gaia mcp add NAME -- COMMAND"),
        (("gaia",), "gaia mcp add NAME -- gaia"),
        (("x", "docker", "run", "-e", "A=1", "image"), "put -- before"),
        (("--", "./run.sh", "-x"), "gaia mcp add NAME -- ./run.sh -x"),
    ],
)
def test_wrong_arguments_are_reported_with_the_line_to_type(gaia: Gaia, words: tuple[str, ...], expected: str) -> None:
    """Ours: the hint can be copied."""
    ran = gaia("add", "--no-check", *words)

    assert (ran.code, len(ran.errors)) == (2, 2), ran
    assert expected in ran.errors[1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("x", "sh", "-y", "a b"), "x -- sh -y 'a b'"),
        (("sh", "sh", "-y"), "sh -- sh -y"),
        (("x", "sh", "-y", "--config", "c.json"), "x -- sh -y --config c.json"),
    ],
)
def test_missing_dashes_are_shown_in_their_place(gaia: Gaia, words: tuple[str, ...], line: str) -> None:
    """Ours: with the arguments as they were typed, so that the line can be copied."""
    ran = gaia("add", *words)

    assert (ran.code, ran.errors) == (
        2,
        ["error: no such option: -y", f"hint: put -- before the server's own command: gaia mcp add {line}"],
    )


def test_a_server_is_named_after_its_command(gaia: Gaia) -> None:
    """Ours: of a command line, or a command after two dashes. If a name and a command line follow these, that is the
    name.
    """
    line = f"{sys.executable} {SERVERS / 'good_handshake.py'}"
    assert gaia("add", line).code == 0
    assert gaia("add", "--", "gaia", "mcp", "serve", "demo").code == 0
    assert gaia("add", "--", "mine", "gaia mcp serve demo").code == 0
    assert list(gaia.saved) == ["good_handshake", "demo", "mine"]


@pytest.mark.parametrize(
    "line",
    [
        "claude mcp add demo -s user -e TOKEN=t0 -- gaia mcp serve demo",
        "$ codex mcp add demo --env TOKEN=t0 -- gaia mcp serve demo",
        'claude mcp add-json demo \'{"command": "gaia", "args": ["mcp", "serve", "demo"]}\' -e TOKEN=t0',
    ],
)
def test_the_add_command_of_another_client_is_accepted(gaia: Gaia, line: str) -> None:
    """Ours: in quotes or without them, with the short options that people know."""
    assert gaia("add", line, "--no-check").code == 0
    before = gaia.saved
    assert gaia("add", "--force", *shlex.split(line.removeprefix("$ "))).code == 0

    env = {"TOKEN": "t0", **({"NOTE": "b"} if "NOTE" in line else {})}
    assert gaia.saved == before == {"demo": {**DEMO, "env": env}}


def test_the_authorization_in_the_line_of_another_client_is_saved(gaia: Gaia) -> None:
    """Ours: a secret is a reference to the variable that the other program reads it from, and never an argument."""
    of_claude = (
        "claude mcp add --transport http --client-id c --client-secret --callback-port 8080 docs https://x.example"
    )
    lines = [
        f"MCP_CLIENT_SECRET=s3cret {of_claude}",
        "codex mcp add tok --url https://y.example --bearer-token-env-var T",
    ]

    ran = [gaia("add", line, "--no-check") for line in lines]
    ran.append(
        gaia(
            "add",
            *shlex.split('claude mcp add-json j \'{"type":"http","url":"https://z.example"}\''),
            "--client-id",
            "d",
            "--no-check",
        )
    )

    assert [one.code for one in ran] == [0, 0, 0]
    assert gaia.saved == {
        "docs": {
            "url": "https://x.example",
            "type": "http",
            "oauth": {"clientId": "c", "clientSecret": "${MCP_CLIENT_SECRET}", "callbackPort": 8080},
        },
        "tok": {"url": "https://y.example", "headers": {"Authorization": "Bearer ${T}"}},
        "j": {"type": "http", "url": "https://z.example", "oauth": {"clientId": "d"}},
    }
    assert "s3cret" not in gaia.config.read_text() + "".join(one.stdout + one.stderr for one in ran)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--client-id", "c"], "--client-id is for a URL, and this server is a command"),
        (["--client-secret"], "--client-secret is for a URL, and this server is a command"),
        (["--callback-port", "80"], "--callback-port is for a URL, and this server is a command"),
        (["--bearer-token-env-var", "T"], "--token-env is for a URL, and this server has none"),
    ],
)
def test_an_authorization_is_for_a_url(gaia: Gaia, options: list[str], problem: str) -> None:
    """Ours: a command reads its credentials from its variables."""
    ran = gaia("add", "demo", *options, "--no-check", "--", "gaia", "mcp", "serve", "demo")

    assert (ran.code, ran.errors[0]) == (2, f"error: {problem}")


def test_a_token_in_place_of_its_variable_is_refused(gaia: Gaia) -> None:
    """Ours: it would be saved, so it is not printed either."""
    ran = gaia("add", "x", "https://x.example", "--bearer-token-env-var", "ghp-s3cret", "--no-check")

    assert (ran.code, ran.errors[1]) == (2, "hint: write --token-env NAME, and export NAME=TOKEN")
    assert "s3cret" not in ran.stdout + ran.stderr


def test_a_command_line_on_standard_input_is_refused(gaia: Gaia) -> None:
    """Ours: only an argument can be one, as the hint shows."""
    for line in ("claude mcp add time -- uvx mcp-server-time", "npx -y mcp-server-foo"):
        ran = gaia("add", "-", stdin=f"{line}\n")
        assert (ran.code, len(ran.errors)) == (2, 2)
        assert ran.errors[1].endswith(f"gaia mcp add '{line}'")


def test_a_scope_without_effect_is_explained(gaia: Gaia) -> None:
    """Ours: there is one file for the person, and `--config` for others; `user` is the default anyway."""
    assert "scope" not in gaia("add", "a", "-s", "user", "--no-check", "--", "prog").stderr
    ran = gaia("add", "b", "--scope", "project", "--no-check", "--", "prog")
    assert "--scope has no effect" in ran.stderr
    assert list(gaia.saved) == ["a", "b"]


def test_a_variable_before_the_command_is_reported_with_its_option(gaia: Gaia) -> None:
    """Ours: no shell is involved, and nothing was saved that could be edited."""
    ran = gaia("add", "x", "TOKEN=abc prog")
    assert (ran.code, "put --env TOKEN=VALUE before the command" in ran.errors[1]) == (4, True)
