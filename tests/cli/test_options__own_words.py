"""Command lines of other clients, as arguments of `gaia mcp add`."""

from __future__ import annotations

from gaia_mcp.cli.options import own_words

REWRITTEN = (
    (["claude", "mcp", "add", "time", "--", "uvx", "x"], ["time", "--", "uvx", "x"]),
    (["claude", "mcp", "add-json", "time", "{}"], ["time", "{}"]),
    (["--force", "codex mcp add time -- uvx x"], ["--force", "time", "--", "uvx", "x"]),
    (["claude mcp add time -- uvx x", "--force"], ["--force", "time", "--", "uvx", "x"]),
    (["$ claude mcp add time \\\n  -e A='b c' \\\n  -- uvx x"], ["time", "-e", "A=b c", "--", "uvx", "x"]),
    (["""code --add-mcp '{"name": "x"}'"""], ['{"name": "x"}']),
    (["MCP_CLIENT_SECRET=s claude mcp add x --client-secret https://x"], ["x", "--client-secret", "https://x"]),
    (["A=b", "claude", "mcp", "add", "x", "y"], ["x", "y"]),
    (["gemini", "mcp", "add", "-s", "user", "x", "y"], ["-s", "user", "x", "y"]),
)
UNCHANGED = (
    ["time", "--", "uvx", "mcp-server-time"],
    ["time", "--", "claude", "mcp", "add", "x"],
    ["claude", "--", "claude", "mcp", "serve"],
    ["npx -y foo"],
    ["A=b", "npx", "-y", "foo"],
    ["claude mcp list"],
    ["echo claude mcp add x"],
    ["it's"],
    ["--force"],
    [],
)


def test_the_add_command_of_another_client_is_rewritten() -> None:
    """Ours: in one argument, or in many."""
    assert [(args, own_words(args)) for args, _ in REWRITTEN] == list(REWRITTEN)


def test_any_other_command_line_stays_unchanged() -> None:
    """Ours: the command of a server may be any program."""
    assert [own_words(args) for args in UNCHANGED] == list(UNCHANGED)
