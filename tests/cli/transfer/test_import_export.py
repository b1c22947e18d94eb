"""`gaia mcp import`, `gaia mcp export` and `gaia mcp serve --print-config`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, run_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

SECRET = "hunter22hunter22"
# Other hosts have no word for this way to reach a server.
RPC = {"url": "https://example.com", "type": "rpc"}
A = {"command": "uvx", "args": ["a"]}


def put(gaia: Gaia, path: str, servers: dict[str, Any] | str, key: str = "mcpServers") -> Path:
    """A host's file below the home, or in the working folder for `./…`."""
    file = gaia.cwd / path if path.startswith("./") else gaia.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(servers if isinstance(servers, str) else json.dumps({key: servers}), newline="")
    return file


def own(gaia: Gaia) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gaia.config.read_text())["mcpServers"]
    return found


class TestImport:
    """From other hosts to us."""

    def test_import_without_a_host_lists_the_hosts_found(self, gaia: Gaia) -> None:
        """Ours: with their servers and files; an unreadable file is an error, and the others are listed."""
        put(gaia, ".cursor/mcp.json", {"a": A, "b": A})
        put(gaia, "./.vscode/mcp.json", {"c": A}, "servers")
        put(gaia, ".gemini/settings.json", "{bad")
        put(gaia, ".claude.json", '{"mcpServers": {}, "projects": {}}')

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

    def test_import_without_any_host_prints_a_hint(self, gaia: Gaia) -> None:
        """Ours: a file may still be given by its path."""
        ran = gaia("import")
        assert (ran.code, ran.stdout) == (0, "")
        assert "gaia mcp import FILE" in ran.stderr
        assert gaia("import", "--all").code == 0

    def test_the_servers_of_one_host_are_imported(self, gaia: Gaia) -> None:
        """Ours: translated, with a note for each member that is omitted; a second import changes nothing."""
        entry = {"command": "npx", "args": ["${userHome}"], "env": {"K": "${env:K}"}, "envFile": "x"}
        put(gaia, ".cursor/mcp.json", {"a": entry, "My Server": A})

        ran = gaia("import", "cursor")

        assert (ran.code, ran.errors) == (0, [])
        assert ran.stdout.splitlines()[-1] == "imported 2 servers into ~/.gaia/mcp_servers.json"
        assert own(gaia) == {"a": {"command": "npx", "args": ["${HOME}"], "env": {"K": "${K}"}}, "My-Server": A}
        assert "note: a: envFile is not read" in ran.stderr
        assert "note: My-Server: is named 'My Server' there" in ran.stderr
        assert gaia("import", "cursor", "--server", "My Server").stdout.split()[:2] == ["same", "My-Server"]
        again = gaia("import", "cursor")
        assert (again.code, [line.split()[0] for line in again.stdout.splitlines()]) == (0, ["same", "same"])
        assert "nothing to import" in again.stderr

    def test_an_entry_for_windows_is_started_as_here(self, gaia: Gaia) -> None:
        """Ours: from a file, a paste and the line of a README; what has no counterpart is named."""
        held = {"command": "cmd", "args": ["/c", "npx", "-y", "x"]}
        put(
            gaia,
            ".cursor/mcp.json",
            {"a": held, "b": {"command": "C:\\nodejs\\npx.cmd", "args": ["-y", "x", "C:\\a b"]}},
        )

        imported = gaia("import", "cursor")
        pasted = gaia("add", "c", json.dumps(held), "--no-check")
        typed = gaia("add", "claude mcp add d -- cmd /c npx -y x", "--no-check")

        npx = {"command": "npx", "args": ["-y", "x"]}
        assert own(gaia) == {"a": npx, "b": {**npx, "args": ["-y", "x", "C:\\a b"]}, "c": npx, "d": npx}
        told = "'npx' is started without 'cmd /c', which is of Windows"
        assert [told in ran.stderr for ran in (imported, pasted, typed)] == [True] * 3
        assert "note: b: the argument 'C:\\\\a b' is a path of Windows, which is not here" in imported.stderr
        assert gaia("import", "cursor").stdout.split()[0] == "same"

    def test_a_server_may_have_the_name_of_a_member(self, gaia: Gaia) -> None:
        """Ours: what is in `mcpServers` are servers, whatever they are called."""
        file = put(gaia, "./some.json", {"url": A, "command": A, "remotes": A})
        (gaia.cwd / "bare.json").write_text(json.dumps({"remotes": A, "packages": A}))

        ran, bare = gaia("import", str(file)), gaia("add", "./bare.json", "--no-check", "--force")

        assert (ran.code, bare.code) == (0, 0)
        assert own(gaia) == dict.fromkeys(("url", "command", "remotes", "packages"), A)

    def test_an_invalid_host_file_does_not_stop_the_import_of_the_others(self, gaia: Gaia) -> None:
        """Ours: its error decides the exit code."""
        put(gaia, ".cursor/mcp.json", {"a": A})
        put(gaia, ".codex/config.toml", '[mcp_servers.b]\ncommand = "x"\n')
        put(gaia, ".config/goose/config.yaml", "extensions:\n  c: {type: stdio, cmd: x}\n  dev: {type: builtin}\n")
        put(gaia, ".config/zed/settings.json", '// mine\n{"context_servers": {"d": {"command": "x"}},}', "")
        put(gaia, ".kiro/settings/mcp.json", '{"mcpServers": {')
        put(gaia, ".junie/mcp/mcp.json", {"bad": "npx x", "worse": {"command": "x", "args": 5}})

        ran = gaia("import", "--all")

        assert ran.code == 3
        assert len(ran.errors) == 2
        assert "Kiro" in ran.errors[0]
        assert sorted(own(gaia)) == ["a", "b", "c", "d"]
        left = [line for line in ran.stdout.splitlines() if line.startswith("left out")]
        assert [line.split()[2] for line in left] == ["dev", "bad", "worse"]

    def test_a_conflict_is_named_and_the_rest_is_imported(self, gaia: Gaia) -> None:
        """Ours: nothing is overwritten without --force."""
        put(gaia, ".cursor/mcp.json", {"a": {"command": "other", "env": {"K": SECRET}}, "b": A})
        gaia.write({"a": A})

        ran = gaia("import", "cursor", "--json")

        assert (ran.code, own(gaia)) == (3, {"a": A, "b": A})
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

        assert (forced.code, own(gaia)["a"]["command"]) == (0, "other")

    def test_a_replaced_server_keeps_members_that_the_host_does_not_have(self, gaia: Gaia) -> None:
        """Ours: such as `disabled` and `timeout`."""
        put(gaia, ".cursor/mcp.json", {"a": A})
        gaia.write({"a": {"command": "x", "disabled": True, "timeout": 5}})
        assert gaia("import", "cursor", "--force").code == 0
        assert own(gaia)["a"] == {**A, "disabled": True, "timeout": 5}

    @pytest.mark.parametrize("words", [("claude-code", "--project"), ("./.mcp.json",), ("--all", "--project")])
    def test_the_hint_of_a_conflict_resolves_it(self, gaia: Gaia, words: tuple[str, ...]) -> None:
        """Ours: it names the same file, and the server's name in that file."""
        put(gaia, "./.mcp.json", {"my a": A})
        gaia.write({"my-a": {"command": "x"}})

        (hint,) = [line for line in gaia("import", *words).errors if line.startswith("hint: ")]
        command = shlex.split(hint.partition("gaia mcp ")[2])

        assert command[0] == "import"
        assert gaia(*command).code == 0
        assert own(gaia)["my-a"] == A

    @pytest.mark.parametrize("words", [("local", "--project"), ("./.mcp.json",)], ids=lambda words: words[0])
    def test_servers_with_colliding_names_are_chosen_by_their_original_names(
        self, gaia: Gaia, words: tuple[str, ...]
    ) -> None:
        """Ours: otherwise one of them could not be imported."""
        put(gaia, "./.mcp.json", {"a b": A, "a-b": {"command": "y", "args": []}})
        words = ("claude-code", "--project") if words[0] == "local" else words
        assert gaia("import", *words, "--server", "a-b").code == 0
        assert own(gaia) == {"a-b": {"command": "y", "args": []}}
        assert gaia("import", *words, "--server", "a b", "--force").code == 0
        assert own(gaia) == {"a-b": A}

    def test_an_exported_server_is_imported_as_the_same(self, gaia: Gaia) -> None:
        """Ours: from every host, whatever it cannot express; an invalid entry of ours is a conflict."""
        from gaia_mcp.hosts.known import HOSTS

        rich = {"command": "gaia mcp serve demo", "cwd": "~", "env": {"K": "${K}", "L": "${L:-d}", "H": "${HOME}/x"}}
        gaia.write({"a": rich, "b": {"url": "https://example.com", "headers": {"X": "${X}"}}, "bad": "text"})
        for host in HOSTS:
            gaia("export", "a", "b", "--to", host)
        put(gaia, ".kiro/settings/mcp.json", {"bad": A})

        ran = gaia("import", "--all", "--json")

        assert {step["name"]: step["outcome"] for step in ran.json["servers"]} == {
            "a": "same",
            "b": "same",
            "bad": "conflict",
        }
        carrying = [host for host in HOSTS.values() if host.dialect.command]
        assert len(ran.json["servers"][0]["sources"]) == len(carrying) - 1

    def test_hosts_with_conflicting_servers_are_both_named(self, gaia: Gaia) -> None:
        """Ours: the person chooses; servers on which they agree are imported once."""
        put(gaia, ".cursor/mcp.json", {"a": A, "b": A})
        put(gaia, ".kiro/settings/mcp.json", {"a": {"command": "x"}, "b": A})

        ran = gaia("import", "--all")

        assert (ran.code, own(gaia)) == (3, {"b": A})
        assert ".cursor/mcp.json" in ran.errors[0]
        assert ".kiro/settings/mcp.json" in ran.errors[0]
        assert "Cursor (~/.cursor/mcp.json), Kiro (~/.kiro/settings/mcp.json)" in ran.stdout

    def test_a_dry_run_is_a_diff_without_secrets_and_saves_nothing(self, gaia: Gaia) -> None:
        """Ours: its output is pasted into issues and build logs."""
        entry = {"command": "x", "args": ["--token", SECRET], "env": {"API_KEY": SECRET, "B": "${env:B}"}}
        far = {
            "url": f"https://a:{SECRET}@example.com/mcp?k={SECRET}",
            "headers": {"Authorization": f"Bearer {SECRET}"},
        }
        put(gaia, ".cursor/mcp.json", {"a": entry, "b": far})

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
        assert own(gaia)["a"]["env"]["API_KEY"] == SECRET

    def test_a_dry_run_masks_secrets_in_misplaced_members(self, gaia: Gaia) -> None:
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
        put(gaia, ".cursor/mcp.json", dict.fromkeys(held, A))

        ran = gaia("import", "cursor", "--force", "--dry-run")

        assert ran.code == 0
        for name, (_, line) in held.items():
            assert line in ran.stdout, name
        for secret in (SECRET, "271828"):
            assert secret not in ran.stdout + ran.stderr

    def test_all_files_of_a_project_are_imported(self, gaia: Gaia) -> None:
        """Ours: also the project's servers in `~/.claude.json`, and the switches there."""
        put(gaia, "./.mcp.json", {"shared": A, "off": A})
        held = {"mcpServers": {"local": A}, "disabledMcpjsonServers": ["off"]}
        put(gaia, ".claude.json", json.dumps({"mcpServers": {"user": A}, "projects": {str(gaia.cwd): held}}))
        put(gaia, "./.vscode/mcp.json", {"here": {"command": "x", "cwd": "${workspaceFolder}"}}, "servers")

        ran = gaia("import", "--all", "--project")

        assert ran.code == 0
        assert sorted(own(gaia)) == ["here", "local", "off", "shared"]
        assert own(gaia)["off"]["disabled"] is True
        assert own(gaia)["here"]["cwd"] == str(gaia.cwd)

    def test_relative_paths_of_a_project_get_its_folder(self, gaia: Gaia) -> None:
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
        path = put(gaia, "proj/.vscode/mcp.json", servers, "servers")
        project = gaia.home / "proj"
        (project / "server.py").touch()

        ran = gaia("import", str(path))

        found = own(gaia)
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
    def test_a_file_is_imported_by_its_path(self, gaia: Gaia, name: str) -> None:
        """Ours: its name and its content decide the format."""
        put(
            gaia,
            "./" + name,
            '[mcp_servers.a]\ncommand = "x"\n' if name.endswith("toml") else '{"a": {"command": "x"}}',
        )
        assert gaia("import", name).code == 0
        assert own(gaia) == {"a": {"command": "x", "args": []}}

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
    def test_a_failed_import_is_an_error_with_a_hint(self, gaia: Gaia, words: list[str], code: int, says: str) -> None:
        """Ours: with the same exit codes as other commands, and what may have been meant."""
        put(gaia, ".kiro/settings/mcp.json", {"a": A})
        ran = gaia("import", *words)
        assert (ran.code, len(ran.errors)) == (code, 2)
        assert says in ran.stderr

    def test_import_works_in_a_removed_working_folder(self, gaia: Gaia) -> None:
        """Ours: only the project of that folder cannot be read."""
        put(gaia, ".cursor/mcp.json", {"a": A})
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

    def test_control_characters_in_imported_names_are_escaped(self, gaia: Gaia) -> None:
        """Ours: a file of another program must not control the terminal."""
        put(gaia, ".cursor/mcp.json", {"\x1b[31mred\x1b]0;x\x07": A, "\u202eab": {"command": 5}})
        shown, code = run_on_terminal(gaia, "import", "cursor")
        assert code == 0
        assert "\x1b" not in shown
        assert "\u202e" not in shown


class TestExport:
    """From us to other hosts."""

    def test_export_changes_only_its_entry(self, gaia: Gaia) -> None:
        """Ours: comments, order, indentation, line endings, mode and link are preserved."""
        text = '{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"context_servers": {\r\n'
        text += '\t\t"old": {"command": "y"}, // one\r\n\t},\r\n}\r\n'
        real = put(gaia, "dotfiles/zed.json", text)
        real.chmod(0o640)
        link = gaia.home / ".config" / "zed" / "settings.json"
        link.parent.mkdir(parents=True)
        link.symlink_to(real)
        gaia.write({"a": {"command": "/bin/x", "env": {"K": SECRET}}})

        ran = gaia("export", "a", "--to", "zed")

        assert (ran.code, ran.stdout) == (0, "exported 'a' to ~/.config/zed/settings.json\n")
        new = (
            '\r\n\t\t"a": {\r\n\t\t\t"command": "/bin/x",\r\n\t\t\t"args": [],\r\n\t\t\t"env": {\r\n\t\t\t\t"K": "'
            + SECRET
        )
        new += '"\r\n\t\t\t}\r\n\t\t},'
        assert real.read_bytes().decode() == text.replace("// one", "// one" + new)
        assert (link.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o640)
        assert gaia("export", "a", "--to", "zed").stdout.split() == ["same", "a"]
        assert gaia("import", "zed", "--server", "a").stdout.split()[:2] == ["same", "a"]

    def test_export_all_exports_the_enabled_servers(self, gaia: Gaia) -> None:
        """Ours: as `import --all` and `lock --all` do; without --all or a name nothing is exported."""
        gaia.write(
            {"a": {"command": "/bin/a"}, "b": {"command": "/bin/b"}, "off": {"command": "/bin/c", "disabled": True}}
        )

        unnamed = gaia("export", "--to", "cursor")
        both = gaia("export", "a", "--all", "--to", "cursor")
        ran = gaia("export", "--all", "--to", "cursor")

        line = "gaia mcp export --to cursor --all"
        assert (unnamed.code, unnamed.errors[1]) == (2, f"hint: name one, or export all of them with: {line}")
        assert both.code == 2
        assert (ran.code, ran.stdout) == (0, "exported 'a', 'b' to ~/.cursor/mcp.json\n")
        gaia.write({})
        assert gaia("export", "--all", "--to", "cursor").code == 3

    def test_a_server_is_exported_to_several_hosts_at_once(self, gaia: Gaia) -> None:
        """Ours: an unknown host is found before any file is written; an unreadable file does not stop the others."""
        gaia.write({"a": A})
        unknown = gaia("export", "a", "--to", "cursor", "--to", "curser")
        nothing = not (gaia.home / ".cursor" / "mcp.json").exists()
        put(gaia, ".gemini/settings.json", "{bad")
        hosts = ["--to", "gemini", "--to", "cursor", "--to", "./team.json"]
        ran = gaia("export", "a", *hosts)
        again = gaia("export", "a", *hosts, "--json")

        assert (unknown.code, nothing) == (3, True)
        assert (ran.code, len(ran.errors), ran.stdout.count("exported 'a' to ")) == (3, 2, 2)
        written = [gaia.home / ".cursor" / "mcp.json", gaia.cwd / "team.json"]
        assert [json.loads(path.read_text())["mcpServers"]["a"]["command"] for path in written] == ["uvx", "uvx"]
        exports = again.json["exports"]
        assert [each["host"] for each in exports][:2] == ["gemini", "cursor"]
        assert [len(each["errors"]) for each in exports] == [1, 0, 0]
        assert [each["servers"][0]["outcome"] for each in exports[1:]] == ["same", "same"]

    def test_a_command_is_exported_with_its_path_to_desktop_hosts(self, gaia: Gaia) -> None:
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

    def test_a_script_is_exported_with_the_folder_of_its_interpreter_to_desktop_hosts(self, gaia: Gaia) -> None:
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

    def test_a_conflict_is_left_and_the_rest_is_written(self, gaia: Gaia) -> None:
        """Ours: --force replaces the members of our entry, and keeps the host's own."""
        path = put(gaia, ".cursor/mcp.json", {"a": {"command": "/bin/y", "mine": 1}})
        gaia.write({"a": {"command": "/bin/x", "args": []}, "b": {"command": "/bin/x"}, "c": RPC})

        ran = gaia("export", "a", "b", "c", "--to", "cursor", "--json")

        assert (ran.code, len(ran.errors)) == (3, 4)
        assert [step["outcome"] for step in ran.json["servers"]] == ["conflict", "new", "left"]
        assert (ran.json["host"], ran.json["path"], ran.json["dry_run"]) == ("cursor", str(path), False)
        assert len(ran.json["errors"]) == 2
        assert gaia("export", "a", "--to", "cursor", "--force").code == 0
        servers = json.loads(path.read_text())["mcpServers"]
        assert servers["a"] == {"command": "/bin/x", "args": [], "mine": 1}
        assert servers["b"] == {"command": "/bin/x", "args": []}

    def test_a_dry_run_is_a_diff_without_secrets_and_writes_nothing(self, gaia: Gaia) -> None:
        """Ours: with old and new in the host's own format."""
        path = put(gaia, ".codex/config.toml", f'# mine\n[mcp_servers.a]\ncommand = "y"\nenv = {{ K = "{SECRET}" }}\n')
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

    @pytest.mark.parametrize(
        "command", [("export", "a", "--to", "codex"), ("import", "codex")], ids=lambda words: words[0]
    )
    def test_a_dry_run_names_a_difference_in_a_secret(self, gaia: Gaia, command: tuple[str, ...]) -> None:
        """Ours: a masked diff would be empty."""
        put(gaia, ".codex/config.toml", '[mcp_servers.a]\ncommand = "x"\nargs = []\nenv = { T = "hunter33hunter33" }\n')
        gaia.write({"a": {"command": "x", "args": [], "env": {"T": SECRET}}})

        ran = gaia(*command, "--dry-run", "--force")

        (line,) = ran.stdout.splitlines()
        assert (ran.code, line.split()[:2]) == (0, ["replace", "a"])
        assert line.split("a  ")[1].startswith("differs in env T")

    def test_secrets_that_are_written_in_plain_text_are_named(self, gaia: Gaia) -> None:
        """Ours: with their place, also after --expand; a reference is not a secret."""
        url = {"url": f"https://a:{SECRET}@example.com", "headers": {"X-Key": SECRET, "Authorization": "Bearer ${T}"}}
        entry = {"command": "/bin/x", "args": ["--token", SECRET], "env": {"API_KEY": "${K}", "LOG": "1"}}
        gaia.write({"a": entry, "b": url})

        ran = gaia("export", "a", "b", "--to", "cursor", "--json")
        expanded = gaia("export", "a", "--to", "zed", "--expand", K=SECRET)

        notes = [server["remarks"][-1] for server in ran.json["servers"]]
        assert notes == [f"is written with secrets in plain text: {names}" for names in ("args", "url, header X-Key")]
        assert "plain text: args, env API_KEY" in expanded.stderr
        assert SECRET not in ran.stdout + ran.stderr + expanded.stdout + expanded.stderr

    def test_the_default_of_a_reference_is_masked(self, gaia: Gaia) -> None:
        """Ours: it may be a secret; a reference in a URL is shown."""
        env = {"K": f"${{K:-{SECRET}}}"}
        gaia.write({"a": {"command": "/bin/x", "env": env}, "b": {"url": "https://example.com/?key=${K}"}})
        ran = gaia("export", "a", "b", "--as", "claude-code")
        assert SECRET not in ran.stdout + ran.stderr
        assert "https://example.com/?key=${env:K}" in gaia("export", "b", "--as", "cursor").stdout
        assert "****" not in gaia("export", "b", "--as", "cursor").stdout

    def test_expand_writes_the_value_of_a_required_variable(self, gaia: Gaia) -> None:
        """Ours: the hint names the option that does it."""
        gaia.write({"a": {"command": "server", "args": ["${K}"]}})

        refused = gaia("export", "a", "--as", "claude-desktop", K="word")
        written = gaia("export", "a", "--as", "claude-desktop", "--expand", K="word")

        assert (refused.code, refused.errors[1]) == (3, "hint: set its variables, and write their values with --expand")
        assert (written.code, '"word"' in written.stdout) == (0, True)

    def test_expand_uses_the_default_of_an_unset_variable(self, gaia: Gaia) -> None:
        """Ours: as a shell does."""
        gaia.write({"a": {"command": "/bin/x", "args": ["${L:-d}"], "env": {"K": "${K}", "E": "${E}"}}})
        ran = gaia("export", "a", "--as", "zed", "--expand", "--show-secrets", E="", L="")
        found = json.loads(ran.stdout)["context_servers"]["a"]
        assert (found["args"], found["env"]) == (["d"], {"E": ""})
        assert "env K is not exported" in ran.stderr

    def test_dates_in_the_file_of_a_host_are_preserved(self, gaia: Gaia) -> None:
        """TOML and YAML have dates, and JSON has none."""
        path = put(gaia, ".codex/config.toml", '[mcp_servers.a]\ncommand = "y"\nadded = 2024-01-02\n')
        gaia.write({"a": {"command": "x", "args": []}})
        ran = gaia("export", "a", "--to", "codex", "--force", "--json")
        assert ran.json["servers"][0]["entry"]["added"] == "2024-01-02"
        assert "added = 2024-01-02\n" in path.read_text()

    def test_the_value_of_a_variable_is_written_only_with_expand(self, gaia: Gaia) -> None:
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

    def test_a_snippet_is_printed_in_the_hosts_own_format(self, gaia: Gaia) -> None:
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

    def test_export_writes_to_a_project_or_a_file(self, gaia: Gaia) -> None:
        """Ours: a new file is private, and its path decides the format."""
        gaia.write({"a": {"command": "/bin/x", "args": []}})
        assert gaia("export", "a", "--to", "vscode", "--project").code == 0
        assert gaia("export", "a", "--to", "./some.yaml").code == 0
        assert gaia("export", "a", "--to", "sub/.cursor/mcp.json").code == 0
        assert json.loads((gaia.cwd / ".vscode/mcp.json").read_text())["servers"]["a"]["type"] == "stdio"
        assert (gaia.cwd / "some.yaml").read_text().startswith("extensions:\n  a:\n")
        assert json.loads((gaia.cwd / "sub/.cursor/mcp.json").read_text()) == {"mcpServers": own(gaia)}

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (["a"], 2, "give one of --to and --as"),
            (["a", "--to", "cursor", "--as", "cursor"], 2, "give one of --to and --as"),
            (["a", "--as", "cursor", "--force"], 2, "--as writes nothing"),
            (["a", "--to", "cursor", "--show-secrets"], 2, "--show-secrets"),
            (["b", "--to", "cursor"], 3, "no server 'b'"),
            (["a", "--to", "cursro"], 3, "did you mean 'cursor'"),
            (["a", "--as", "cursro"], 3, "did you mean 'cursor'"),
            (["u", "--as", "claude-desktop"], 3, "'u' cannot be exported to Claude Desktop"),
            (
                ["half", "--as", "cursor", "--show-secrets"],
                3,
                "'half' cannot be exported to Cursor: 'half' holds half a surrogate pair",
            ),
            (["half", "--to", "vscode"], 3, "half a surrogate pair"),
            (["a", "--to", "kiro"], 3, "Kiro"),
            (["a", "--to", "junie"], 3, "read-only"),
            (["a", "--to", "codex"], 3, "cannot be changed alone"),
            (["a", "--to", "goose"], 3, "config.yaml:2:6: the anchor 'e' refers to itself"),
            (["a", "--to", "goose", "--force"], 3, "refers to itself"),
            (["a", "--to", "goose", "--force", "--dry-run"], 3, "refers to itself"),
        ],
    )
    def test_a_failed_export_is_an_error_with_a_hint(self, gaia: Gaia, words: list[str], code: int, says: str) -> None:
        """Ours: no file is changed."""
        files = [
            put(gaia, ".kiro/settings/mcp.json", "{bad"),
            put(gaia, ".junie/mcp/mcp.json", "{}"),
            put(gaia, ".codex/config.toml", "mcp_servers = {}\n"),
            put(gaia, ".config/goose/config.yaml", "extensions:\n  a: &e\n    x: *e\n"),
        ]
        files[1].chmod(0o444)
        before = [file.read_bytes() for file in files]
        far = {"url": "https://example.com/mcp"}
        gaia.write({"a": A, "u": far, "half": {**far, "headers": {"X": "\ud800"}}})
        ran = gaia("export", *words)
        assert (ran.code, len(ran.errors)) == (code, 2)
        assert says in ran.stderr
        assert [file.read_bytes() for file in files] == before


def test_a_failed_export_creates_no_folder(gaia: Gaia) -> None:
    """Ours: an empty folder would look as if the host were installed."""
    gaia.write({"a": RPC})
    assert gaia("export", "a", "--to", "cursor").code == 3
    assert not (gaia.home / ".cursor").exists()


class TestPrintConfig:
    """The entry that makes a host start an agent of ours."""

    def test_the_printed_entry_starts_this_program(self, gaia: Gaia) -> None:
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

    def test_the_printed_entry_can_be_imported(self, gaia: Gaia) -> None:
        """Ours: imported again, the agent answers."""
        snippet = gaia("serve", "demo", "--print-config", "codex")
        put(gaia, ".codex/config.toml", snippet.stdout)
        assert gaia("import", "codex").code == 0
        assert gaia("call", "demo", "greet", "name=Ada").stdout.strip() == "Hello, Ada!"

    def test_the_printed_entry_names_the_interpreter_that_ran(self, gaia: Gaia) -> None:
        """Ours: a desktop host has no PATH on which it could find another one."""
        command = [BIN / "python", "-m", "gaia_mcp", "serve", "pkg.mod:Agent", "--print-config", "goose"]
        ran = subprocess.run(command, capture_output=True, cwd=gaia.cwd, env=gaia.environ, text=True, check=True)
        assert f"cmd: {BIN / 'python'}" in ran.stdout
        assert "- gaia_mcp\n" in ran.stdout
        assert "has to be able to import pkg.mod" in ran.stderr

    def test_an_unknown_host_gets_a_suggestion(self, gaia: Gaia) -> None:
        """Ours: nothing is printed on stdout, which may be redirected into a file of the host."""
        ran = gaia("serve", "demo", "--print-config", "cursro")
        assert (ran.code, ran.stdout) == (3, "")
        assert "did you mean 'cursor'" in ran.stderr


def test_import_loads_only_the_formats_it_needs(gaia: Gaia) -> None:
    """Ours: a host's format is only loaded where there is a file of it."""
    gaia.write({"a": A})
    put(gaia, ".cursor/mcp.json", {"a": A})
    for words in (["list"], ["import", "cursor"]):
        environ = {"PYTHONPROFILEIMPORTTIME": "1"}
        loaded = gaia(*words, **environ).stderr
        assert "ruamel" not in loaded
        assert "tomllib" not in loaded
        assert ("gaia_mcp.hosts" in loaded) is ("import" in words)
