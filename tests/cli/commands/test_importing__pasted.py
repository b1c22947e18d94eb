"""`gaia mcp import -`: entries from standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

SNIPPET = """
Put this into `mcp.json`:

```json
{
  "mcpServers": {
    "time": {"command": "uvx", "args": ["mcp-server-time"]}, // the clock
    "My Notes": {"command": "notes", "env": {"KEY": "${env:NOTES_KEY}"}},
  }
}
```
"""


def test_pasted_entries_are_imported(gaia: Gaia) -> None:
    """Ours: as from the file of a host, in whatever form they are pasted."""
    ran = gaia("import", "-", stdin=SNIPPET)

    assert (ran.code, ran.errors) == (0, [])
    assert ran.stdout.splitlines() == [
        "new  time      standard input",
        "new  My-Notes  standard input",
        "imported 2 servers into ~/.gaia/mcp_servers.json",
    ]
    assert gaia.saved == {
        "time": {"command": "uvx", "args": ["mcp-server-time"]},
        "My-Notes": {"command": "notes", "args": [], "env": {"KEY": "${NOTES_KEY}"}},
    }
    assert "is named 'My Notes' there" in ran.stderr
    assert gaia("import", "-", stdin=SNIPPET).stdout.split()[0] == "same"
    assert gaia("import", "-", stdin='{"command": "npx", "args": ["-y", "@scope/server-files"]}').code == 0
    assert list(gaia.saved) == ["time", "My-Notes", "files"]


def test_a_pasted_entry_replaces_another_only_with_force(gaia: Gaia) -> None:
    """Ours: the hint is the line that replaces it."""
    gaia.write({"time": {"command": "other", "args": []}})

    ran = gaia("import", "-", stdin=SNIPPET)
    assert (ran.code, list(gaia.saved)) == (3, ["time", "My-Notes"])
    assert ran.errors[0].startswith(
        "error: 'time' of standard input differs from the one of ~/.gaia/mcp_servers.json in "
    )
    line = "gaia mcp import - --server time --force"
    assert ran.errors[1] == f"hint: import the one from standard input, with the same input: {line}"
    shown = gaia("import", "-", "--server", "time", "--force", "--dry-run", stdin=SNIPPET)
    assert '+      "command": "uvx"' in shown.stdout
    assert gaia("import", "-", "--server", "time", "--force", stdin=SNIPPET).code == 0
    assert gaia.saved["time"]["command"] == "uvx"


def test_standard_input_and_hosts_are_imported_together(gaia: Gaia) -> None:
    """Ours: `-` is one source among others."""
    (gaia.home / ".cursor").mkdir()
    (gaia.home / ".cursor/mcp.json").write_text('{"mcpServers": {"c": {"command": "x"}}}')

    assert gaia("import", "cursor", "-", "--json", stdin='"b": {"command": "y"}').code == 0
    assert list(gaia.saved) == ["c", "b"]


def test_invalid_pasted_text_is_reported(gaia: Gaia) -> None:
    """Ours: with its line and column, and nothing is saved; an entry that cannot be used is omitted."""
    ran = gaia("import", "-", stdin='{"a": {"command": "x" "args": []}}')
    assert (ran.code, len(ran.errors)) == (2, 2)
    assert ran.errors[0].startswith("error: standard input, line 1, column 23: ")
    left = gaia("import", "-", stdin='{"a": {"command": 5}, "b": {"url": "ftp://x"}}')
    assert (left.code, [line.split()[:3] for line in left.stdout.splitlines()]) == (
        0,
        [["left", "out", "a"], ["left", "out", "b"]],
    )
    assert not gaia.config.exists()
