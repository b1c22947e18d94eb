"""The output of imports and exports, and entries that are printed to be pasted."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

SECRET = "hunter22hunter22"


A = {"command": "uvx", "args": ["a"]}


def test_import_without_a_host_lists_the_hosts_found(gaia: Gaia) -> None:
    """Ours: with their servers and files; an unreadable file is an error, and the others are listed."""
    gaia.put(".cursor/mcp.json", {"a": A, "b": A})
    gaia.put("./.vscode/mcp.json", {"c": A}, "servers")
    gaia.put(".gemini/settings.json", "{bad")
    gaia.put(".claude.json", '{"mcpServers": {}, "projects": {}}')

    ran = gaia("import")

    assert (ran.code, len(ran.errors)) == (3, 2)
    assert [line.split(None, 1)[0] for line in ran.stdout.splitlines()] == [
        "claude-code",
        "cursor",
        "vscode",
        "gemini",
    ]
    assert "2 servers" in ran.stdout.splitlines()[1]
    assert ran.stdout.splitlines()[2].endswith("(project)")
    assert ".gemini/settings.json:1:2" in ran.errors[0]
    assert "Gemini CLI" in ran.errors[0]
    rows = gaia("import", "--json").json["hosts"]
    assert [row["servers"] for row in rows] == [[], ["a", "b"], ["c"], None]
    assert {key: rows[1][key] for key in ("host", "title", "scope", "path")} == {
        "host": "cursor",
        "title": "Cursor",
        "scope": "user",
        "path": str(gaia.home / ".cursor/mcp.json"),
    }
    assert rows[3]["error"]["kind"] == "config-file"
    assert not gaia.config.exists()


def test_import_without_any_host_prints_a_hint(gaia: Gaia) -> None:
    """Ours: a file may still be given by its path."""
    ran = gaia("import")
    assert (ran.code, ran.stdout) == (0, "")
    assert "gaia mcp import FILE" in ran.stderr
    assert gaia("import", "--all").code == 0


@pytest.mark.parametrize("words", [("claude-code", "--project"), ("./.mcp.json",), ("--all", "--project")])
def test_the_hint_of_a_conflict_resolves_it(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: it names the same file, and the server's name in that file."""
    gaia.put("./.mcp.json", {"my a": A})
    gaia.write({"my-a": {"command": "x"}})

    (hint,) = [line for line in gaia("import", *words).errors if line.startswith("hint: ")]
    command = shlex.split(hint.partition("gaia mcp ")[2])

    assert command[0] == "import"
    assert gaia(*command).code == 0
    assert gaia.saved["my-a"] == A


def test_a_dry_run_is_a_diff_without_secrets_and_saves_nothing(gaia: Gaia) -> None:
    """Ours: its output is pasted into issues and build logs."""
    entry = {"command": "x", "args": ["--token", SECRET], "env": {"API_KEY": SECRET, "B": "${env:B}"}}
    far = {
        "url": f"https://a:{SECRET}@example.com/mcp?k={SECRET}",
        "headers": {"Authorization": f"Bearer {SECRET}"},
    }
    gaia.put(".cursor/mcp.json", {"a": entry, "b": far})

    ran = gaia("import", "cursor", "--dry-run")

    assert (ran.code, gaia.config.exists()) == (0, False)
    assert "--- /dev/null\n+++ ~/.gaia/mcp_servers.json\n@@ -0,0 +1," in ran.stdout
    assert '+        "B": "${B}"' in ran.stdout
    assert SECRET not in ran.stdout + ran.stderr
    assert SECRET not in gaia("import", "cursor", "--dry-run", "--json").stdout
    assert "note: a: contains API_KEY in plain text; for references: gaia mcp edit a --env API_KEY" in ran.stderr
    assert "note: a: contains plain text in: args; use a reference" in ran.stderr
    assert "note: b: contains plain text in: url, header Authorization; use a reference" in ran.stderr
    assert gaia("import", "cursor").code == 0
    assert gaia.saved["a"]["env"]["API_KEY"] == SECRET


def test_a_dry_run_masks_secrets_in_misplaced_members(gaia: Gaia) -> None:
    """Ours: whatever the form of the entry; the name of a variable is not a secret."""
    held = {
        "line": ({"command": f"x --token {SECRET}"}, '"command": "x --token ****"'),
        "member": ({"command": "x", "apiKey": SECRET}, '"apiKey": "****"'),
        "number": ({"command": "x", "env": {"PIN": 271828}}, '"PIN": "****"'),
        "inside": ({"command": "x", "more": [1, {"env": {"T": SECRET}}]}, '"T": "****"'),
        "name": (
            {"url": "https://e.org", "env_http_headers": {"Authorization": "MY_VAR"}},
            '"Authorization": "MY_VAR"',
        ),
        "text": (f"x --token {SECRET}", '"text": "****"'),
    }
    gaia.write({name: entry for name, (entry, _) in held.items()})
    gaia.put(".cursor/mcp.json", dict.fromkeys(held, A))

    ran = gaia("import", "cursor", "--force", "--dry-run")

    assert ran.code == 0
    for name, (_, line) in held.items():
        assert line in ran.stdout, name
    for secret in (SECRET, "271828"):
        assert secret not in ran.stdout + ran.stderr


def test_control_characters_in_imported_names_are_escaped(gaia: Gaia) -> None:
    """Ours: a file of another program must not control the terminal."""
    gaia.put(".cursor/mcp.json", {"\x1b[31mred\x1b]0;x\x07": A, "\u202eab": {"command": 5}})
    shown, code = run_on_terminal(gaia, "import", "cursor")
    assert code == 0
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_dry_run_is_a_diff_without_secrets_and_writes_nothing(gaia: Gaia) -> None:
    """Ours: with old and new in the host's own format."""
    path = gaia.put(".codex/config.toml", f'# mine\n[mcp_servers.a]\ncommand = "y"\nenv = {{ K = "{SECRET}" }}\n')
    before = path.read_bytes()
    gaia.write({"a": {"command": "x", "args": [], "env": {"T": SECRET}}})

    ran = gaia("export", "a", "--to", "codex", "--dry-run", "--force")

    assert (ran.code, path.read_bytes()) == (0, before)
    assert '-command = "y"\n+command = "x"\n' in ran.stdout
    assert '+T = "****"' in ran.stdout
    assert SECRET not in ran.stdout + ran.stderr
    assert SECRET not in gaia("export", "a", "--to", "codex", "--dry-run", "--force", "--json").stdout
    assert gaia("export", "a", "--to", "kiro", "--dry-run").code == 0
    assert not (gaia.home / ".kiro").exists()


@pytest.mark.parametrize("command", [("export", "a", "--to", "codex"), ("import", "codex")], ids=lambda words: words[0])
def test_a_dry_run_names_a_difference_in_a_secret(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: a masked diff would be empty."""
    gaia.put(".codex/config.toml", '[mcp_servers.a]\ncommand = "x"\nargs = []\nenv = { T = "hunter33hunter33" }\n')
    gaia.write({"a": {"command": "x", "args": [], "env": {"T": SECRET}}})

    ran = gaia(*command, "--dry-run", "--force")

    (line,) = ran.stdout.splitlines()
    assert (ran.code, line.split()[:2]) == (0, ["replace", "a"])
    assert line.split("a  ")[1].startswith("differs in env T")


def test_the_default_of_a_reference_is_masked(gaia: Gaia) -> None:
    """Ours: it may be a secret; a reference in a URL is shown."""
    env = {"K": f"${{K:-{SECRET}}}"}
    gaia.write({"a": {"command": "/bin/x", "env": env}, "b": {"url": "https://example.com/?key=${K}"}})
    ran = gaia("export", "a", "b", "--as", "claude-code")
    assert SECRET not in ran.stdout + ran.stderr
    assert "https://example.com/?key=${env:K}" in gaia("export", "b", "--as", "cursor").stdout
    assert "****" not in gaia("export", "b", "--as", "cursor").stdout


def test_a_snippet_is_printed_in_the_hosts_own_format(gaia: Gaia) -> None:
    """Ours: stdout has nothing else; secrets are masked without --show-secrets."""
    gaia.write(
        {"a": {"command": "x", "args": [], "env": {"K": "${K}", "T": SECRET}}, "b": {"command": "~/y", "cwd": "~"}}
    )

    ran = gaia("export", "a", "b", "--as", "opencode")

    found = json.loads(ran.stdout)["mcp"]
    assert found["a"]["environment"] == {"K": "{env:K}", "T": "****"}
    assert found["b"] == {"type": "local", "command": [f"{gaia.home}/y"], "cwd": str(gaia.home)}
    assert "paste this into ~/.config/opencode/opencode.json" in ran.stderr
    assert SECRET not in ran.stderr
    shown = json.loads(gaia("export", "a", "--as", "opencode", "--show-secrets").stdout)
    assert shown["mcp"]["a"]["environment"]["T"] == SECRET
    as_json = gaia("export", "a", "--as", "goose", "--json").json
    assert (as_json["host"], as_json["title"], as_json["format"]) == ("goose", "Goose", "yaml")
    assert as_json["snippet"].startswith("extensions:\n  a:\n    name: a\n")
    assert as_json["servers"]["a"]["env_keys"] == ["K"]


def test_the_printed_entry_starts_this_program(gaia: Gaia) -> None:
    """Ours: with absolute paths, since a host has a working folder of its own."""
    ran = gaia("serve", "sub/weather.py:Weather", "--kwarg", "city=Oslo", "--reload", "--print-config", "cursor")
    assert ran.code == 0
    assert json.loads(ran.stdout) == {
        "mcpServers": {
            "weather": {
                "command": str(BIN / "gaia"),
                "args": [
                    "mcp",
                    "serve",
                    f"{gaia.cwd}/sub/weather.py:Weather",
                    "--kwarg",
                    "city=Oslo",
                    "--reload",
                ],
            }
        }
    }


def test_the_printed_entry_can_be_imported(gaia: Gaia) -> None:
    """Ours: imported again, the agent answers."""
    snippet = gaia("serve", "demo", "--print-config", "codex")
    gaia.put(".codex/config.toml", snippet.stdout)
    assert gaia("import", "codex").code == 0
    assert gaia("call", "demo", "greet", "name=Ada").stdout.strip() == "Hello, Ada!"


def test_the_printed_entry_names_the_interpreter_that_ran(gaia: Gaia) -> None:
    """Ours: a desktop host has no PATH on which it could find another one."""
    command = [BIN / "python", "-m", "gaia_mcp", "serve", "pkg.mod:Agent", "--print-config", "goose"]
    ran = subprocess.run(command, capture_output=True, cwd=gaia.cwd, env=gaia.environ, text=True, check=True)
    assert f"cmd: {BIN / 'python'}" in ran.stdout
    assert "- gaia_mcp\n" in ran.stdout
    assert "has to be able to import pkg.mod" in ran.stderr


def test_an_unknown_host_gets_a_suggestion(gaia: Gaia) -> None:
    """Ours: nothing is printed on stdout, which may be redirected into a file of the host."""
    ran = gaia("serve", "demo", "--print-config", "cursro")
    assert (ran.code, ran.stdout) == (3, "")
    assert "did you mean 'cursor'" in ran.stderr
