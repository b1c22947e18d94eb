"""`gaia mcp import`."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

SECRET = "hunter22hunter22"
A = {"command": "uvx", "args": ["a"]}


def test_the_servers_of_one_host_are_imported(gaia: Gaia) -> None:
    """Ours: translated, with a note for each member that is omitted; a second import changes nothing."""
    entry = {"command": "npx", "args": ["${userHome}"], "env": {"K": "${env:K}"}, "envFile": "x"}
    gaia.put(".cursor/mcp.json", {"a": entry, "My Server": A})

    ran = gaia("import", "cursor")

    assert (ran.code, ran.errors) == (0, [])
    assert ran.stdout.splitlines()[-1] == "imported 2 servers into ~/.gaia/mcp_servers.json"
    assert gaia.saved == {"a": {"command": "npx", "args": ["${HOME}"], "env": {"K": "${K}"}}, "My-Server": A}
    assert "note: a: envFile is not read" in ran.stderr
    assert "note: My-Server: is named 'My Server' there" in ran.stderr
    assert gaia("import", "cursor", "--server", "My Server").stdout.split()[:2] == ["same", "My-Server"]
    again = gaia("import", "cursor")
    assert (again.code, [line.split()[0] for line in again.stdout.splitlines()]) == (0, ["same", "same"])
    assert "nothing to import" in again.stderr


def test_an_entry_for_windows_is_started_as_here(gaia: Gaia) -> None:
    """Ours: from a file, a paste and the line of a README; what has no counterpart is named."""
    held = {"command": "cmd", "args": ["/c", "npx", "-y", "x"]}
    gaia.put(
        ".cursor/mcp.json",
        {"a": held, "b": {"command": "C:\\nodejs\\npx.cmd", "args": ["-y", "x", "C:\\a b"]}},
    )

    imported = gaia("import", "cursor")
    pasted = gaia("add", "c", json.dumps(held), "--no-check")
    typed = gaia("add", "claude mcp add d -- cmd /c npx -y x", "--no-check")

    npx = {"command": "npx", "args": ["-y", "x"]}
    assert gaia.saved == {"a": npx, "b": {**npx, "args": ["-y", "x", "C:\\a b"]}, "c": npx, "d": npx}
    told = "'npx' is started without 'cmd /c', which is of Windows"
    assert [told in ran.stderr for ran in (imported, pasted, typed)] == [True] * 3
    assert "note: b: the argument 'C:\\\\a b' is a path of Windows, which is not here" in imported.stderr
    assert gaia("import", "cursor").stdout.split()[0] == "same"


def test_a_server_may_have_the_name_of_a_member(gaia: Gaia) -> None:
    """Ours: what is in `mcpServers` are servers, whatever they are called."""
    file = gaia.put("./some.json", {"url": A, "command": A, "remotes": A})
    (gaia.cwd / "bare.json").write_text(json.dumps({"remotes": A, "packages": A}))

    ran, bare = gaia("import", str(file)), gaia("add", "./bare.json", "--no-check", "--force")

    assert (ran.code, bare.code) == (0, 0)
    assert gaia.saved == dict.fromkeys(("url", "command", "remotes", "packages"), A)


def test_an_invalid_host_file_does_not_stop_the_import_of_the_others(gaia: Gaia) -> None:
    """Ours: its error decides the exit code."""
    gaia.put(".cursor/mcp.json", {"a": A})
    gaia.put(".codex/config.toml", '[mcp_servers.b]\ncommand = "x"\n')
    gaia.put(".config/goose/config.yaml", "extensions:\n  c: {type: stdio, cmd: x}\n  dev: {type: builtin}\n")
    gaia.put(".config/zed/settings.json", '// mine\n{"context_servers": {"d": {"command": "x"}},}', "")
    gaia.put(".kiro/settings/mcp.json", '{"mcpServers": {')
    gaia.put(".junie/mcp/mcp.json", {"bad": "npx x", "worse": {"command": "x", "args": 5}})

    ran = gaia("import", "--all")

    assert ran.code == 3
    assert len(ran.errors) == 2
    assert "Kiro" in ran.errors[0]
    assert sorted(gaia.saved) == ["a", "b", "c", "d"]
    left = [line for line in ran.stdout.splitlines() if line.startswith("left out")]
    assert [line.split()[2] for line in left] == ["dev", "bad", "worse"]


def test_a_conflict_is_named_and_the_rest_is_imported(gaia: Gaia) -> None:
    """Ours: nothing is overwritten without --force."""
    gaia.put(".cursor/mcp.json", {"a": {"command": "other", "env": {"K": SECRET}}, "b": A})
    gaia.write({"a": A})

    ran = gaia("import", "cursor", "--json")

    assert (ran.code, gaia.saved) == (3, {"a": A, "b": A})
    assert "'a' of Cursor" in ran.errors[0]
    assert "gaia mcp import cursor --server a --force" in ran.errors[1]
    step = ran.json["servers"][0]
    assert step["sources"] == [{"host": "cursor", "path": str(gaia.home / ".cursor/mcp.json")}]
    assert (step["outcome"], step["against"]) == ("conflict", str(gaia.config))
    assert step["differs"] == ["command", "args", "env K"]
    assert ran.json["servers"][1]["outcome"] == "new"
    assert (ran.json["path"], ran.json["dry_run"], ran.json["errors"]) == (str(gaia.config), False, [])
    assert SECRET not in ran.stdout + ran.stderr

    forced = gaia("import", "cursor", "--server", "a", "--force")

    assert (forced.code, gaia.saved["a"]["command"]) == (0, "other")


def test_a_replaced_server_keeps_members_that_the_host_does_not_have(gaia: Gaia) -> None:
    """Ours: such as `disabled` and `timeout`."""
    gaia.put(".cursor/mcp.json", {"a": A})
    gaia.write({"a": {"command": "x", "disabled": True, "timeout": 5}})
    assert gaia("import", "cursor", "--force").code == 0
    assert gaia.saved["a"] == {**A, "disabled": True, "timeout": 5}


@pytest.mark.parametrize("words", [("local", "--project"), ("./.mcp.json",)], ids=lambda words: words[0])
def test_servers_with_colliding_names_are_chosen_by_their_original_names(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: otherwise one of them could not be imported."""
    gaia.put("./.mcp.json", {"a b": A, "a-b": {"command": "y", "args": []}})
    words = ("claude-code", "--project") if words[0] == "local" else words
    assert gaia("import", *words, "--server", "a-b").code == 0
    assert gaia.saved == {"a-b": {"command": "y", "args": []}}
    assert gaia("import", *words, "--server", "a b", "--force").code == 0
    assert gaia.saved == {"a-b": A}


def test_an_exported_server_is_imported_as_the_same(gaia: Gaia) -> None:
    """Ours: from every host, whatever it cannot express; an invalid entry of ours is a conflict."""
    from gaia_mcp.hosts.known import HOSTS

    rich = {"command": "gaia mcp serve demo", "cwd": "~", "env": {"K": "${K}", "L": "${L:-d}", "H": "${HOME}/x"}}
    gaia.write({"a": rich, "b": {"url": "https://example.com", "headers": {"X": "${X}"}}, "bad": "text"})
    for host in HOSTS:
        gaia("export", "a", "b", "--to", host)
    gaia.put(".kiro/settings/mcp.json", {"bad": A})

    ran = gaia("import", "--all", "--json")

    assert {step["name"]: step["outcome"] for step in ran.json["servers"]} == {
        "a": "same",
        "b": "same",
        "bad": "conflict",
    }
    carrying = [host for host in HOSTS.values() if host.dialect.command]
    assert len(ran.json["servers"][0]["sources"]) == len(carrying) - 1


def test_hosts_with_conflicting_servers_are_both_named(gaia: Gaia) -> None:
    """Ours: the person chooses; servers on which they agree are imported once."""
    gaia.put(".cursor/mcp.json", {"a": A, "b": A})
    gaia.put(".kiro/settings/mcp.json", {"a": {"command": "x"}, "b": A})

    ran = gaia("import", "--all")

    assert (ran.code, gaia.saved) == (3, {"b": A})
    assert ".cursor/mcp.json" in ran.errors[0]
    assert ".kiro/settings/mcp.json" in ran.errors[0]
    assert "Cursor (~/.cursor/mcp.json), Kiro (~/.kiro/settings/mcp.json)" in ran.stdout


def test_all_files_of_a_project_are_imported(gaia: Gaia) -> None:
    """Ours: also the project's servers in `~/.claude.json`, and the switches there."""
    gaia.put("./.mcp.json", {"shared": A, "off": A})
    held = {"mcpServers": {"local": A}, "disabledMcpjsonServers": ["off"]}
    gaia.put(".claude.json", json.dumps({"mcpServers": {"user": A}, "projects": {str(gaia.cwd): held}}))
    gaia.put("./.vscode/mcp.json", {"here": {"command": "x", "cwd": "${workspaceFolder}"}}, "servers")

    ran = gaia("import", "--all", "--project")

    assert ran.code == 0
    assert sorted(gaia.saved) == ["here", "local", "off", "shared"]
    assert gaia.saved["off"]["disabled"] is True
    assert gaia.saved["here"]["cwd"] == str(gaia.cwd)


def test_relative_paths_of_a_project_get_its_folder(gaia: Gaia) -> None:
    """Ours: the entry then works from every folder; an entry without relative paths is unchanged."""
    servers = {
        "run": {"command": "./run.sh"},
        "file": {"command": "python3", "args": ["server.py"]},
        "below": {"command": "x", "cwd": "sub"},
        "other": {"command": "/bin/x", "args": ["-y", "nothing", "/etc", "a\0b"]},
        "home": {"command": "~/x"},
        "place": {"command": "x", "args": ["${workspaceFolder}/a"]},
        "long": {"command": "x", "args": ["a" * 5000]},
        "tilde": {"command": "x", "cwd": "~/x"},
    }
    path = gaia.put("proj/.vscode/mcp.json", servers, "servers")
    project = gaia.home / "proj"
    (project / "server.py").touch()

    ran = gaia("import", str(path))

    found = gaia.saved
    assert {name: entry.get("cwd") for name, entry in found.items()} == {
        "run": str(project),
        "file": str(project),
        "below": str(project / "sub"),
        "home": None,
        "place": None,
        "long": None,
        "tilde": "~/x",
    }
    assert found["place"]["args"] == [f"{project}/a"]
    assert "note: run: is started in " in ran.stderr
    assert "left out  other" in ran.stdout
    assert gaia("import", str(path)).stdout.split().count("same") == 7


@pytest.mark.parametrize("name", ["x.json", "./x.toml"])
def test_a_file_is_imported_by_its_path(gaia: Gaia, name: str) -> None:
    """Ours: its name and its content decide the format."""
    gaia.put(
        "./" + name,
        '[mcp_servers.a]\ncommand = "x"\n' if name.endswith("toml") else '{"a": {"command": "x"}}',
    )
    assert gaia("import", name).code == 0
    assert gaia.saved == {"a": {"command": "x", "args": []}}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["cursro"], 3, "did you mean 'cursor'"),
        (["nobody-here"], 3, "the hosts are claude-desktop"),
        (["./nothing.json"], 3, "does not exist"),
        (["cursor"], 3, "does not exist"),
        (["goose", "--project"], 3, "no file of servers in a project"),
        (["kiro", "--server", "b"], 3, "no server 'b'"),
        (["--all", "cursor"], 2, "cannot be used together"),
        (["--dry-run"], 2, "no host or file given"),
        (["kiro", "--config", "."], 3, "cannot be read"),
    ],
)
def test_a_failed_import_is_an_error_with_a_hint(gaia: Gaia, words: list[str], code: int, says: str) -> None:
    """Ours: with the same exit codes as other commands, and what may have been meant."""
    gaia.put(".kiro/settings/mcp.json", {"a": A})
    ran = gaia("import", *words)
    assert (ran.code, len(ran.errors)) == (code, 2)
    assert says in ran.stderr


def test_import_works_in_a_removed_working_folder(gaia: Gaia) -> None:
    """Ours: only the project of that folder cannot be read."""
    gaia.put(".cursor/mcp.json", {"a": A})
    gaia.cwd.rmdir()
    script = f"mkdir {gaia.cwd}; cd {gaia.cwd}; rmdir {gaia.cwd}; exec {BIN / 'gaia'} mcp import"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", " ".join([script, *words])]
        return subprocess.run(command, capture_output=True, env=gaia.environ, text=True, check=False)

    assert run().stdout.startswith("cursor")
    assert run("cursor").returncode == 0
    for word in ("--all", "cursor"):
        ran = run(word, "--project")
        assert (ran.returncode, "no longer exists" in ran.stderr) == (3, True)


def test_import_loads_only_the_formats_it_needs(gaia: Gaia) -> None:
    """Ours: a host's format is only loaded where there is a file of it."""
    gaia.write({"a": A})
    gaia.put(".cursor/mcp.json", {"a": A})
    for words in (["list"], ["import", "cursor"]):
        environ = {"PYTHONPROFILEIMPORTTIME": "1"}
        loaded = gaia(*words, **environ).stderr
        assert "ruamel" not in loaded
        assert "tomllib" not in loaded
        assert ("gaia_mcp.hosts" in loaded) is ("import" in words)
