"""`gaia mcp export`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

SECRET = "hunter22hunter22"


# Other hosts have no word for this way to reach a server.
RPC = {"url": "https://example.com", "type": "rpc"}


A = {"command": "uvx", "args": ["a"]}


def test_export_changes_only_its_entry(gaia: Gaia) -> None:
    """Ours: comments, order, indentation, line endings, mode and link are preserved."""
    text = '{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"context_servers": {\r\n'
    text += '\t\t"old": {"command": "y"}, // one\r\n\t},\r\n}\r\n'
    real = gaia.put("dotfiles/zed.json", text)
    real.chmod(0o640)
    link = gaia.home / ".config" / "zed" / "settings.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    gaia.write({"a": {"command": "/bin/x", "env": {"K": SECRET}}})

    ran = gaia("export", "a", "--to", "zed")

    assert (ran.code, ran.stdout) == (0, "exported 'a' to ~/.config/zed/settings.json\n")
    new = (
        '\r\n\t\t"a": {\r\n\t\t\t"command": "/bin/x",\r\n\t\t\t"args": [],\r\n\t\t\t"env": {\r\n\t\t\t\t"K": "' + SECRET
    )
    new += '"\r\n\t\t\t}\r\n\t\t},'
    assert real.read_bytes().decode() == text.replace("// one", "// one" + new)
    assert (link.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o640)
    assert gaia("export", "a", "--to", "zed").stdout.split() == ["same", "a"]
    assert gaia("import", "zed", "--server", "a").stdout.split()[:2] == ["same", "a"]


def test_export_all_exports_the_enabled_servers(gaia: Gaia) -> None:
    """Ours: as `import --all` and `lock --all` do; without --all or a name nothing is exported."""
    gaia.write({"a": {"command": "/bin/a"}, "b": {"command": "/bin/b"}, "off": {"command": "/bin/c", "disabled": True}})

    unnamed = gaia("export", "--to", "cursor")
    both = gaia("export", "a", "--all", "--to", "cursor")
    ran = gaia("export", "--all", "--to", "cursor")

    line = "gaia mcp export --to cursor --all"
    assert (unnamed.code, unnamed.errors[1]) == (2, f"hint: name one, or export all of them with: {line}")
    assert both.code == 2
    assert (ran.code, ran.stdout) == (0, "exported 'a', 'b' to ~/.cursor/mcp.json\n")
    gaia.write({})
    assert gaia("export", "--all", "--to", "cursor").code == 3


def test_a_server_is_exported_to_several_hosts_at_once(gaia: Gaia) -> None:
    """Ours: an unknown host is found before any file is written; an unreadable file does not stop the others."""
    gaia.write({"a": A})
    unknown = gaia("export", "a", "--to", "cursor", "--to", "curser")
    nothing = not (gaia.home / ".cursor" / "mcp.json").exists()
    gaia.put(".gemini/settings.json", "{bad")
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


def test_a_conflict_is_left_and_the_rest_is_written(gaia: Gaia) -> None:
    """Ours: --force replaces the members of our entry, and keeps the host's own."""
    path = gaia.put(".cursor/mcp.json", {"a": {"command": "/bin/y", "mine": 1}})
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


def test_secrets_that_are_written_in_plain_text_are_named(gaia: Gaia) -> None:
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


def test_dates_in_the_file_of_a_host_are_preserved(gaia: Gaia) -> None:
    """TOML and YAML have dates, and JSON has none."""
    path = gaia.put(".codex/config.toml", '[mcp_servers.a]\ncommand = "y"\nadded = 2024-01-02\n')
    gaia.write({"a": {"command": "x", "args": []}})
    ran = gaia("export", "a", "--to", "codex", "--force", "--json")
    assert ran.json["servers"][0]["entry"]["added"] == "2024-01-02"
    assert "added = 2024-01-02\n" in path.read_text()


def test_export_writes_to_a_project_or_a_file(gaia: Gaia) -> None:
    """Ours: a new file is private, and its path decides the format."""
    gaia.write({"a": {"command": "/bin/x", "args": []}})
    assert gaia("export", "a", "--to", "vscode", "--project").code == 0
    assert gaia("export", "a", "--to", "./some.yaml").code == 0
    assert gaia("export", "a", "--to", "sub/.cursor/mcp.json").code == 0
    assert json.loads((gaia.cwd / ".vscode/mcp.json").read_text())["servers"]["a"]["type"] == "stdio"
    assert (gaia.cwd / "some.yaml").read_text().startswith("extensions:\n  a:\n")
    assert json.loads((gaia.cwd / "sub/.cursor/mcp.json").read_text()) == {"mcpServers": gaia.saved}


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
def test_a_failed_export_is_an_error_with_a_hint(gaia: Gaia, words: list[str], code: int, says: str) -> None:
    """Ours: no file is changed."""
    files = [
        gaia.put(".kiro/settings/mcp.json", "{bad"),
        gaia.put(".junie/mcp/mcp.json", "{}"),
        gaia.put(".codex/config.toml", "mcp_servers = {}\n"),
        gaia.put(".config/goose/config.yaml", "extensions:\n  a: &e\n    x: *e\n"),
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
