"""The snippets with which READMEs of popular servers show their installation, pasted as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.prepare.peers import NPM_SERVERS

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia
    from tests.prepare.fixtures import Prepared


class Readme(NamedTuple):
    """The snippet of a README, the entry that is saved for it, and a part of the notes."""

    snippet: str
    name: str
    entry: dict[str, Any]
    note: str = ""


def npx(*words: str) -> dict[str, Any]:
    return {"command": "npx", "args": ["-y", *words]}


EVERYTHING = Readme(
    """
{
  "mcpServers": {
    "everything": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-everything"
      ]
    }
  }
}
""",
    "everything",
    npx("@modelcontextprotocol/server-everything"),
)
MEMORY = Readme(
    """
{
  "mcpServers": {
    "memory": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"],
      "env": {
        "MEMORY_FILE_PATH": "/path/to/custom/memory.jsonl"
      }
    }
  }
}
""",
    "memory",
    {**npx("@modelcontextprotocol/server-memory"), "env": {"MEMORY_FILE_PATH": "/path/to/custom/memory.jsonl"}},
    "MEMORY_FILE_PATH is a placeholder",
)
TIME = Readme(
    """
"mcpServers": {
  "time": {
    "command": "python",
    "args": ["-m", "mcp_server_time"]
  }
}
""",
    "time",
    {"command": "python", "args": ["-m", "mcp_server_time"]},
)
FILESYSTEM = Readme(
    """
{
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/username/Desktop",
        "/path/to/other/allowed/dir"
      ]
    }
  }
}
""",
    "filesystem",
    npx("@modelcontextprotocol/server-filesystem", "/Users/username/Desktop", "/path/to/other/allowed/dir"),
    "'/Users/username/Desktop' contains a placeholder; set it with: gaia mcp edit filesystem",
)
GIT = Readme(
    """
"mcpServers": {
  "git": {
    "command": "python",
    "args": ["-m", "mcp_server_git", "--repository", "path/to/git/repo"]
  }
}
""",
    "git",
    {"command": "python", "args": ["-m", "mcp_server_git", "--repository", "path/to/git/repo"]},
    "'path/to/git/repo' contains a placeholder",
)
GITHUB = Readme(
    """
```json
{
  "mcp": {
    "inputs": [
      {"type": "promptString", "id": "github_token", "description": "GitHub Personal Access Token", "password": true}
    ],
    "servers": {
      "github": {
        "command": "docker",
        "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
        "env": {
          "GITHUB_PERSONAL_ACCESS_TOKEN": "${input:github_token}"
        }
      }
    }
  }
}
```
""",
    "github",
    {
        "command": "docker",
        "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
        "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}"},
    },
    "here it is the environment variable GITHUB_PERSONAL_ACCESS_TOKEN",
)
PLAYWRIGHT = Readme(
    """
{
  "mcpServers": {
    "playwright": {
      "command": "npx",
      "args": [
        "@playwright/mcp@latest"
      ]
    }
  }
}
""",
    "playwright",
    {"command": "npx", "args": ["@playwright/mcp@latest"]},
)
CONTEXT7 = Readme(
    """
[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp", "--api-key", "YOUR_API_KEY"]
startup_timeout_sec = 40
""",
    "context7",
    {**npx("@upstash/context7-mcp", "--api-key", "YOUR_API_KEY"), "startup_timeout_sec": 40},
    "contains a placeholder; set it with: gaia mcp edit context7",
)
BRAVE = Readme(
    """
{
  "mcpServers": {
    "brave-search": {
      "command": "npx",
      "args": ["-y", "@brave/brave-search-mcp-server", "--transport", "stdio"],
      "env": {
        "BRAVE_API_KEY": "YOUR_API_KEY_HERE"
      }
    }
  }
}
""",
    "brave-search",
    {
        **npx("@brave/brave-search-mcp-server", "--transport", "stdio"),
        "env": {"BRAVE_API_KEY": "YOUR_API_KEY_HERE"},
    },
    "BRAVE_API_KEY is a placeholder; set it with: gaia mcp edit brave-search --env BRAVE_API_KEY=VALUE",
)
NOTION = Readme(
    """
{
  "mcpServers": {
    "Notion": {
      "url": "https://mcp.notion.com/mcp"
    }
  }
}
""",
    "Notion",
    {"url": "https://mcp.notion.com/mcp"},
    "completion and search include its tools after: gaia mcp tools Notion",
)
SENTRY = Readme(
    "claude mcp add --transport http sentry https://mcp.sentry.dev/mcp",
    "sentry",
    {"url": "https://mcp.sentry.dev/mcp", "type": "http"},
)
AIRTABLE = Readme(
    """
claude mcp add airtable \\
  --scope user --env AIRTABLE_API_KEY=YOUR_KEY \\
  -- npx -y airtable-mcp-server
""",
    "airtable",
    {**npx("airtable-mcp-server"), "env": {"AIRTABLE_API_KEY": "YOUR_KEY"}},
    "AIRTABLE_API_KEY is a placeholder",
)
README = {
    one.name: one
    for one in (
        EVERYTHING, MEMORY, TIME, FILESYSTEM, GIT, GITHUB, PLAYWRIGHT, CONTEXT7, BRAVE, NOTION, SENTRY, AIRTABLE,
    )
}  # fmt: skip


def use_packages(gaia: Gaia, prepared: Prepared) -> None:
    """Let npx find the packages where it runs, so that it needs no network."""
    for name in ("node_modules", "package.json"):
        (gaia.cwd / name).symlink_to(prepared.folder(NPM_SERVERS) / name)


@pytest.mark.parametrize("name", README)
def test_the_snippet_of_a_readme_is_added_unedited(gaia: Gaia, name: str) -> None:
    """Ours: as one argument, in whatever form it is shown, with a note about its placeholders."""
    readme = README[name]

    ran = gaia("add", "--no-check", readme.snippet)

    assert (ran.code, ran.errors) == (0, [])
    assert gaia.saved == {readme.name: readme.entry}
    assert readme.note in ran.stderr
    if not readme.snippet.lstrip().startswith("claude "):
        assert gaia("add", "--no-check", "--force", "-", stdin=readme.snippet).code == 0
        assert gaia.saved == {readme.name: readme.entry}


@pytest.mark.parametrize(("readme", "tools"), [(EVERYTHING, 10), (MEMORY, 9)], ids=["everything", "memory"])
def test_a_server_of_npm_is_connected_to(gaia: Gaia, prepared: Prepared, readme: Readme, tools: int) -> None:
    """Ours: with npx itself, where the package is installed already."""
    use_packages(gaia, prepared)

    ran = gaia("add", readme.snippet, "--json")

    assert (ran.code, ran.json["added"]) == (0, readme.name), ran
    assert ran.json["tools"] >= tools


def test_a_server_of_pypi_is_connected_to(gaia: Gaia) -> None:
    """Ours: the snippet works as it is, where its program is installed."""
    ran = gaia("add", TIME.snippet)

    assert (ran.code, "2 tools" in ran.stdout) == (0, True), ran


def test_a_server_that_fails_with_a_placeholder_is_not_saved(gaia: Gaia, prepared: Prepared) -> None:
    """Ours: the hint names the placeholder, and how to save it all the same."""
    use_packages(gaia, prepared)
    for readme, which in ((FILESYSTEM, "/Users/username/Desktop"), (GIT, "path/to/git/repo")):
        ran = gaia("add", readme.snippet)
        assert ran.code == 4
        assert f"{which!r} is a placeholder; save it" in ran.errors[1]
        assert ran.errors[1].endswith("--no-check")
    assert json.loads(gaia("list", "--json").stdout)["servers"] == []
