"""New and changed entries: they are tried before they are saved, and their weak points are named."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import SERVERS, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO: dict[str, Any] = {"command": "gaia", "args": ["mcp", "serve", "demo"]}


def test_credentials_in_a_url_are_warned_about_and_masked(gaia: Gaia) -> None:
    """Ours: the file has them as plain text."""
    ran = gaia("add", "https://ada:hunter2hunter2@host.example/mcp", "--no-check")

    assert "the value of 'url' is stored as plain text" in ran.stderr
    assert "hunter2" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--read", "--api-key", "hunter2hunter2"], "--api-key ****"),
        (["--token=hunter2hunter2"], "--token=****"),
        (["run", "postgres://ada:hunter2hunter2@127.0.0.1/x"], "postgres://****@127.0.0.1/x"),
    ],
)
def test_a_secret_argument_is_warned_about(gaia: Gaia, arguments: list[str], part: str) -> None:
    """Ours: by its option, and without the secret: a command may have many arguments."""
    ran = gaia("add", "x", "--no-check", "--", "srv", *arguments)

    assert f"note: the argument {part!r} is stored as plain text; use a reference" in ran.stderr
    assert "hunter2" not in ran.stdout + ran.stderr


def test_a_launcher_in_place_of_the_name_is_reported(gaia: Gaia) -> None:
    """Ours: in `add uvx mcp-server-foo`, the name was forgotten."""
    ran = gaia("add", "uvx", "mcp-server-foo")

    assert (ran.code, ran.errors[1]) == (
        4,
        "hint: the name of the server is missing: gaia mcp add foo -- uvx mcp-server-foo",
    )


def test_a_url_without_a_scheme_is_reported(gaia: Gaia) -> None:
    """Ours: people remember a URL so; as a command it is a missing file."""
    for scheme, word in (("https", "mcp.deepwiki.com/mcp"), ("http", "localhost:3000/mcp")):
        ran = gaia("add", "docs", word)
        assert (ran.code, ran.errors[1]) == (4, f"hint: if it is a URL: gaia mcp add docs {scheme}://{word}")


def test_placeholders_are_warned_about(gaia: Gaia) -> None:
    """Ours: with the command that sets the value; they are not secrets yet."""
    entry = {"command": "prog", "args": ["/path/to/notes"], "env": {"API_KEY": "<your-key>", "TZ": "UTC"}}
    ran = gaia("add", "x", json.dumps(entry), "--no-check")
    assert ran.stderr.splitlines()[:2] == [
        "note: API_KEY is a placeholder; set it with: gaia mcp edit x --env API_KEY=VALUE",
        "note: '/path/to/notes' contains a placeholder; set it with: gaia mcp edit x",
    ]
    assert "plain text" not in ran.stderr

    url = gaia("add", "y", "https://mcp.deepwiki.com/mcp", "-H", "Authorization: Bearer YOUR_TOKEN", "--no-check")
    assert "gaia mcp edit y --header 'Authorization: VALUE'" in url.stderr

    missing = gaia("add", "w", "--", "/ABSOLUTE/PATH/TO/uv", "run", "weather.py")
    assert (
        missing.code,
        missing.errors[1].endswith("gaia mcp add w --no-check -- /ABSOLUTE/PATH/TO/uv run weather.py"),
    ) == (4, True)
    dead = entry_of("exits-at-once", env={"API_KEY": "YOUR_KEY"})
    failed = gaia("add", "z", json.dumps(dead))
    assert (failed.code, failed.errors[1].endswith("set it with --env API_KEY=VALUE")) == (4, True)


def test_a_server_that_fails_its_check_is_not_saved(gaia: Gaia) -> None:
    """Ours: unless the check is turned off."""
    ran = gaia("add", "bad", "--", sys.executable, str(SERVERS / "exits_at_once.py"))

    assert ran.code == 4
    assert not gaia.config.exists()
    assert gaia("add", "bad", "--no-check", "--", sys.executable, str(SERVERS / "exits_at_once.py")).code == 0
    assert list(gaia.saved) == ["bad"]


def test_a_url_that_does_not_respond_is_saved_only_without_a_check(gaia: Gaia) -> None:
    """Ours: a server may be down for a while."""
    assert gaia("add", "web", "--url", "http://127.0.0.1:1/mcp").code == 4
    assert not gaia.config.exists()
    ran = gaia("add", "web", "--url", "https://example.com/mcp", "--header", "Authorization: Bearer ${T}", "--no-check")
    assert ran.code == 0
    assert gaia.saved["web"] == {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}}


def test_a_literal_secret_is_warned_about(gaia: Gaia) -> None:
    """Ours: it works, and the better way is named; the secret itself is not printed."""
    ran = gaia("add", "x", "--no-check", "--env", "API_KEY=abc123def", "--", "prog")

    assert ran.code == 0
    assert "API_KEY is stored as plain text" in ran.stderr
    assert "abc123def" not in ran.stdout + ran.stderr


def test_an_argument_that_is_a_file_of_this_folder_is_warned_about(gaia: Gaia) -> None:
    """Ours: a server is started in whatever folder it is called from."""
    (gaia.cwd / "agent.py").write_text("")
    said = "note: 'agent.py:Agent' is a file of this folder, "

    for words in (("x", "--no-check"), ("x", "--no-check", "--force", "--cwd", ".")):
        ran = gaia("add", *words, "--", "gaia", "mcp", "serve", "agent.py:Agent")
        assert ran.code == 0
        assert ran.stderr.startswith(said) == ("--cwd" not in words)
    assert said not in gaia("add", "y", "--no-check", "--", "gaia", "mcp", "serve", "demo").stderr


@pytest.mark.parametrize("command", ["npx", "/usr/bin/python3", "docker"])
def test_a_launcher_without_arguments_is_refused(gaia: Gaia, command: str) -> None:
    """Ours: it reads what a person would type, until the timeout."""
    refused = gaia("add", "x", "--", command)

    assert (refused.code, refused.errors) == (
        3,
        [
            f"error: server 'x': its command '{command}' alone does not start a server",
            f"hint: give the program that it runs: gaia mcp add x -- {command} ARG...",
        ],
    )
    assert gaia("add", json.dumps({"x": {"command": command}})).errors == refused.errors
    assert not gaia.config.exists()
    assert gaia("add", "x", "--no-check", "--", command).code == 0


def test_a_new_secret_is_warned_about(gaia: Gaia) -> None:
    """Ours: in a header as in a variable, as by `add`; an old one is not mentioned again."""
    secret = "hunter22hunter22"
    gaia.write({"far": {"url": "https://e.org", "headers": {"X-Key": secret}}, "x": {**DEMO, "env": {"KEY": secret}}})
    header = gaia("edit", "far", "--header", f"X-Token: {secret}", "--no-check")
    variable = gaia("edit", "x", "--env", f"TOKEN={secret}", "--no-check")
    added = gaia("add", "new", "--url", "https://e.org", "--header", f"X-Token: {secret}", "--no-check")
    note = "note: the header X-Token is stored as plain text"
    assert [note in ran.stderr for ran in (header, added)] == [True, True]
    assert "note: TOKEN is stored as plain text" in variable.stderr
    assert "X-Key" not in header.stderr
    assert "note: KEY" not in variable.stderr
    assert secret not in header.stdout + header.stderr + added.stderr + variable.stderr
