"""The entry of a server as another host needs it: its program, and the values of its variables."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, Any

from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

SECRET = "hunter22hunter22"


def test_a_command_is_exported_with_its_path_to_desktop_hosts(gaia: Gaia) -> None:
    """Ours: a desktop program does not have the shell's PATH; a host that has it gets the name."""
    gaia.write({"a": {"command": "gaia mcp serve demo"}, "b": {"command": "surely-not-installed", "args": []}})

    ran = gaia("export", "a", "b", "--to", "cursor", "--json")

    servers = json.loads((gaia.home / ".cursor/mcp.json").read_text())["mcpServers"]
    assert servers["a"] == {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
    assert servers["b"]["command"] == "surely-not-installed"
    assert ["does not have the shell's PATH" in ran.json["servers"][0]["remarks"][0]] == [True]
    assert "not on the PATH here" in ran.json["servers"][1]["remarks"][0]
    assert gaia("export", "a", "--to", "codex").code == 0
    codex = tomllib.loads((gaia.home / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["a"]["command"] == "gaia"


def test_a_script_is_exported_with_the_folder_of_its_interpreter_to_desktop_hosts(gaia: Gaia) -> None:
    """Ours: `npx` is a script, and a desktop program finds no `node` that a version manager has installed. A PATH
    of our entry stays, and an import finds no difference.
    """
    folder = gaia.home / "node" / "bin"
    folder.mkdir(parents=True)
    for name, line in (("npx", "#!/usr/bin/env node\n"), ("shim", "#!/usr/bin/env sh\n"), ("node", "#!/bin/sh\n")):
        (folder / name).write_text(line)
        (folder / name).chmod(0o755)
    gaia.environ["PATH"] = f"{folder}{os.pathsep}{gaia.environ['PATH']}"
    gaia.write(
        {
            "a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}},
            "b": {"command": str(folder / "npx"), "args": [], "env": {"PATH": "/mine"}},
            "c": {"command": "shim", "args": []},
        }
    )

    ran = gaia("export", "--all", "--to", "cursor")
    terminal = gaia("export", "a", "--to", "codex")

    servers = json.loads((gaia.home / ".cursor/mcp.json").read_text())["mcpServers"]
    path = os.pathsep.join([str(folder), "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
    assert servers["a"] == {"command": str(folder / "npx"), "args": ["-y", "x"], "env": {"PATH": path, "K": "v"}}
    assert servers["b"]["env"] == {"PATH": "/mine"}
    assert servers["c"] == {"command": str(folder / "shim"), "args": []}
    assert f"note: a: PATH is written with {folder}, whose interpreter 'npx' needs" in ran.stderr
    assert "b: PATH is written" not in ran.stderr
    assert "PATH" not in terminal.stderr
    assert [line.split()[0] for line in gaia("import", "cursor").stdout.splitlines()] == ["same"] * 3


def test_expand_writes_the_value_of_a_required_variable(gaia: Gaia) -> None:
    """Ours: the hint names the option that does it."""
    gaia.write({"a": {"command": "server", "args": ["${K}"]}})

    refused = gaia("export", "a", "--as", "claude-desktop", K="word")
    written = gaia("export", "a", "--as", "claude-desktop", "--expand", K="word")

    assert (refused.code, refused.errors[1]) == (3, "hint: set its variables, and write their values with --expand")
    assert (written.code, '"word"' in written.stdout) == (0, True)


def test_expand_uses_the_default_of_an_unset_variable(gaia: Gaia) -> None:
    """Ours: as a shell does."""
    gaia.write({"a": {"command": "/bin/x", "args": ["${L:-d}"], "env": {"K": "${K}", "E": "${E}"}}})
    ran = gaia("export", "a", "--as", "zed", "--expand", "--show-secrets", E="", L="")
    found = json.loads(ran.stdout)["context_servers"]["a"]
    assert (found["args"], found["env"]) == (["d"], {"E": ""})
    assert "env K is not exported" in ran.stderr


def test_the_value_of_a_variable_is_written_only_with_expand(gaia: Gaia) -> None:
    """Ours: a host that reads variables gets the reference; for another, a note says what is missing."""
    gaia.write({"a": {"command": "/bin/x", "args": [], "env": {"K": "${K}", "H": "${HOME}/x"}}})

    ran = gaia("export", "a", "--to", "cursor", K=SECRET)
    left = gaia("export", "a", "--to", "claude-desktop", K=SECRET)
    expanded = gaia("export", "a", "--to", "junie", "--expand", K=SECRET)

    def env(path: str) -> Any:
        return json.loads((gaia.home / path).read_text())["mcpServers"]["a"]["env"]

    assert (ran.code, left.code, expanded.code) == (0, 0, 0)
    assert env(".cursor/mcp.json") == {"K": "${env:K}", "H": "${env:HOME}/x"}
    assert env(".config/Claude/claude_desktop_config.json") == {"H": f"{gaia.home}/x"}
    assert "env K is not exported: ${K} is a variable" in left.stderr
    assert "; only its value can be written, with --expand, if it is set" in left.stderr
    assert env(".junie/mcp/mcp.json") == {"K": SECRET, "H": f"{gaia.home}/x"}
    assert SECRET not in ran.stderr + left.stderr + expanded.stderr
