"""`gaia mcp edit`: members of an entry are changed, and all others preserved."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}


def servers(gaia: Gaia) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gaia.config.read_text())["mcpServers"]
    return found


def with_editor(gaia: Gaia, script: str) -> Path:
    """From now on the editor is a shell script that is given the file as `$1`, and notes its name and mode."""
    editor = gaia.home / "an editor"
    editor.write_text(f'#!/bin/sh\necho "$1" >> {gaia.home}/files\nstat -c %a "$1" > {gaia.home}/mode\n{script}\n')
    editor.chmod(0o755)
    gaia.environ["EDITOR"] = f"'{editor}'"
    gaia.environ["TMPDIR"] = str(gaia.home)
    return gaia.home / "files"


def test_only_the_named_members_are_changed(gaia: Gaia) -> None:
    """Ours: other members, their order and the place in the file are preserved."""
    entry = {"x_first": [1], **DEMO, "env": {"A": "1", "B": "2"}, "x_last": {"y": None}}
    gaia.write({"a": entry_of("good-stateless"), "b": entry, "c": entry_of("good-handshake")})

    (gaia.cwd / "sub").mkdir()
    ran = gaia(
        "edit", "b", "--env", "B=3", "--env", "PATH", "--request-timeout", "5", "--cwd", "sub", "--unset", "env.A"
    )
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "changed 'b' in ~/.gaia/mcp_servers.json: demo 0.1.0, 10 tools",
        "  env.A: 1 → nothing",
        "  env.B: 2 → 3",
        "  env.PATH: nothing → ${PATH}",
        f"  cwd: nothing → {gaia.cwd / 'sub'}",
        "  timeout: nothing → 5",
    ]
    changed = {**entry, "env": {"B": "3", "PATH": "${PATH}"}, "cwd": str(gaia.cwd / "sub"), "timeout": 5}
    assert json.dumps(servers(gaia)["b"]) == json.dumps(changed)
    assert list(servers(gaia)) == ["a", "b", "c"]


def test_json_has_the_values_before_and_after(demo: Gaia) -> None:
    """Ours: one object, with what `add` prints about the server; secrets are masked."""
    ran = demo("edit", "demo", "--env", "TOKEN=hunter2222", "--json")

    assert ran.code == 0
    assert "plain text" in ran.stderr
    assert ran.json["edited"] == "demo"
    assert ran.json["changes"] == {"env.TOKEN": {"before": None, "after": "****"}}
    assert (ran.json["path"], ran.json["tools"], ran.json["serverInfo"]["name"]) == (str(demo.config), 10, "demo")


def test_a_command_is_replaced_as_a_whole(gaia: Gaia) -> None:
    """Ours: in both forms that `add` accepts; a program in the working folder is saved with its path."""
    gaia.write({"x": {**entry_of("good-handshake"), "env": {"A": "1"}}})
    (gaia.cwd / "run").symlink_to(BIN / "gaia")

    assert gaia("edit", "x", f"{BIN}/gaia mcp serve demo").code == 0
    assert servers(gaia)["x"] == {**DEMO, "env": {"A": "1"}}
    ran = gaia("edit", "x", "--", "./run", "mcp", "serve", "demo")
    assert (ran.code, ran.stderr) == (0, f"note: the program is saved as '{gaia.cwd}/run'\n")
    assert servers(gaia)["x"]["command"] == f"{gaia.cwd}/run"


def test_a_change_that_fails_its_check_is_not_saved(gaia: Gaia) -> None:
    """Ours: as with `add`, unless the check is turned off."""
    gaia.use("good-handshake")
    before = gaia.config.read_text()

    ran = gaia("edit", "good-handshake", "--", "sh", "-c", "exit 3")
    assert ran.code == 4
    assert ran.errors[1].startswith("hint: nothing was saved;")
    assert gaia.config.read_text() == before
    assert gaia("edit", "good-handshake", "--no-check", "--", "sh", "-c", "exit 3").code == 0
    assert servers(gaia)["good-handshake"]["command"] == "sh"


@pytest.mark.parametrize("words", [("--rename", "y"), ("--request-timeout", "2.5"), ("--unset", "x_mine")])
def test_a_change_that_does_not_affect_the_server_needs_no_check(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: a server that is down can be renamed."""
    gaia.write({"x": {"command": "not-there", "x_mine": 1}})

    assert gaia("edit", "x", *words).code == 0


def test_a_renamed_server_keeps_its_place_and_its_log(gaia: Gaia) -> None:
    """Ours: to a person it is the same server."""
    entry = {"command": "sh", "args": ["-c", "echo boom >&2"], "disabled": True}
    gaia.write({"a": DEMO, "b": entry, "c": DEMO})
    gaia("tools", "b")

    ran = gaia("edit", "b", "--rename", "bee", "--json")

    assert ran.json["edited"] == "bee"
    assert ran.json["changes"] == {"name": {"before": "b", "after": "bee"}}
    assert list(servers(gaia).items()) == [("a", DEMO), ("bee", entry), ("c", DEMO)]
    assert "boom" in gaia("logs", "bee").stdout
    assert gaia("logs", "b").code == 3


def test_the_transport_of_a_server_can_be_changed(gaia: Gaia) -> None:
    """Ours: the members of the old transport are removed with it."""
    gaia.write({"x": {**DEMO, "env": {"A": "1"}, "timeout": 3}})

    assert gaia("edit", "x", "--url", "http://127.0.0.1:1/mcp", "--header", "X-Key: hunter2222").code == 4
    ran = gaia("edit", "x", "--url", "https://e.org/mcp", "--header", "X-Key: hunter2222", "--no-check")
    assert ran.code == 0
    assert "hunter2222" not in ran.stdout
    assert servers(gaia)["x"] == {"timeout": 3, "url": "https://e.org/mcp", "headers": {"X-Key": "hunter2222"}}
    assert gaia("edit", "x", "--unset", "headers.X-Key", "--no-check").code == 0
    assert "headers" not in servers(gaia)["x"]
    assert gaia("edit", "x", "--url", "https://e.org/other", "--no-check").code == 0
    assert gaia("edit", "x", "--", *[str(BIN / "gaia"), "mcp", "serve", "demo"]).code == 0
    assert servers(gaia)["x"] == {"timeout": 3, **DEMO}


def test_an_invalid_entry_can_be_corrected(gaia: Gaia) -> None:
    """Ours: by removing the invalid member."""
    gaia.write({"x": {**DEMO, "cwd": 7}})

    ran = gaia("edit", "x", "--unset", "cwd")

    assert ran.code == 0
    assert servers(gaia)["x"] == DEMO


@pytest.mark.parametrize("held", [["A=1"], "A=1"])
@pytest.mark.parametrize(
    ("way", "member", "words"),
    [(DEMO, "env", ("--env", "B=2")), ({"url": "https://e.org"}, "headers", ("--header", "B: 2"))],
    ids=["env", "headers"],
)
def test_an_invalid_env_or_headers_member_is_replaced(
    gaia: Gaia, held: object, way: dict[str, Any], member: str, words: tuple[str, ...]
) -> None:
    """Ours: the removed member is named."""
    gaia.write({"x": {**way, member: held}})

    ran = gaia("edit", "x", *words, "--no-check")

    assert (ran.code, ran.errors) == (0, [])
    assert ran.stdout.splitlines()[1] == f"  {member}: **** → nothing"
    assert servers(gaia)["x"] == {**way, member: {"B": "2"}}


def test_an_edit_without_a_change_writes_nothing(gaia: Gaia) -> None:
    """Ours: the server is not started either."""
    gaia.write({"x": {"command": "not-there", "timeout": 5}})
    before = gaia.config.stat().st_mtime_ns

    ran = gaia("edit", "x", "--request-timeout", "5")

    assert (ran.code, ran.stdout) == (0, "nothing changed in 'x'\n")
    assert gaia.config.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("words", "code", "expected", "hint"),
    [
        (("x",), 2, "no change given", "--unset KEY"),
        (("othr", "--unset", "cwd"), 3, "no server 'othr'", "did you mean 'other'"),
        (("x", "--unset", "cwd"), 2, "'x' has no 'cwd'", "it has: command, args, env.A"),
        (("x", "--unset", "env.B"), 2, "'x' has no 'env.B'", "env.A"),
        (("x", "--unset", "command"), 3, "'command'", ""),
        (("x", "--rename", "other"), 3, "already exists", "choose another name"),
        (("x", "--rename", "a b"), 3, "a name is made of", ""),
        (("x", "--env", "=1"), 2, "names no variable", ""),
        (("x", "--env", "A B"), 2, "names no variable", "NAME=VALUE"),
        (("far", "--env", "A=1"), 2, "--env is for a command", "--header"),
        (("far", "--cwd", "."), 2, "--cwd is for a command", "--header"),
        (("x", "--header", "A: b"), 2, "--header is for a URL", ""),
        (("x", "--token-env", "A"), 2, "--token-env is for a URL", ""),
        (("x", "--url", "https://e.org", "--", "z"), 2, "cannot be used together", ""),
        (("x", "a | b"), 3, "without a shell", ""),
        (("text", "--request-timeout", "1"), 3, "config dict", ""),
        (("listed", "--request-timeout", "1"), 3, "'env' must be an object", ""),
        ((), 2, "missing argument", ""),
    ],
)
def test_a_mistake_changes_nothing(gaia: Gaia, words: tuple[str, ...], code: int, expected: str, hint: str) -> None:
    """Ours: two lines, what is wrong and what to do."""
    odd = {"text": "uvx x", "listed": {**DEMO, "env": ["A=1"]}}
    gaia.write({"x": {**DEMO, "env": {"A": "1"}}, "other": DEMO, "far": {"url": "https://e.org"}, **odd})
    before = gaia.config.read_bytes()

    ran = gaia("edit", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)
    assert expected in ran.errors[0]
    assert hint in ran.errors[1]
    assert gaia.config.read_bytes() == before


def test_a_concurrent_change_by_another_program_is_not_overwritten(gaia: Gaia) -> None:
    """Ours: here by the very server that is being checked."""
    theirs = json.dumps({"mcpServers": {"x": {"command": "theirs"}}})
    script = f"printf '%s' '{theirs}' > {gaia.config}; exec {BIN}/gaia mcp serve demo"
    gaia.write({"x": DEMO})

    ran = gaia("edit", "x", "--", "sh", "-c", script)

    assert ran.code == 3
    assert "another program has changed 'x' meanwhile" in ran.errors[0]
    assert gaia.config.read_text() == theirs


def test_a_project_server_is_not_edited(gaia: Gaia) -> None:
    """Ours: the hint names the file of the project, which others use too."""
    gaia.write({})
    (gaia.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"p": DEMO}}))
    assert gaia("trust").code == 0

    ran = gaia("edit", "p", "--request-timeout", "1")

    assert ran.code == 3
    assert ".mcp.json" in ran.errors[1]


def test_on_a_terminal_the_entry_is_opened_in_an_editor(gaia: Gaia) -> None:
    """Ours: in a file that only its owner can read, and that is deleted once it is saved."""
    gaia.write({"x": {**DEMO, "env": {"A": "hunter2222"}}})
    files = with_editor(gaia, """sed -i 's/hunter2222/hunter3333/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 0, shown
    assert "env.A: **** → ****" in shown
    assert servers(gaia)["x"]["env"] == {"A": "hunter3333"}
    assert (gaia.home / "mode").read_text() == "600\n"
    assert not os.path.exists(files.read_text().strip())  # noqa: PTH110


@pytest.mark.parametrize("script", [":", 'rm "$1"'])
def test_an_unchanged_or_deleted_editor_file_changes_nothing(gaia: Gaia, script: str) -> None:
    """Ours: a person who changed their mind leaves the editor so."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, script)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert (code, "nothing changed in 'x'" in shown) == (0, True)
    assert not os.path.exists(files.read_text().strip())  # noqa: PTH110


@pytest.mark.parametrize("name", ["a/b", "n" * 300])
def test_a_server_of_any_name_is_opened_in_the_editor(gaia: Gaia, name: str) -> None:
    """Ours: in a file named after it as far as possible. It can be saved only under a valid name."""
    gaia.write({name: DEMO})
    with_editor(gaia, """sed -i 's/^{/{"timeout": 9,/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", name, typed=b"n\n", after=b"Edit it again?")

    assert code == 3, shown
    assert "not saved: " in shown


def test_a_lone_surrogate_can_be_edited(gaia: Gaia) -> None:
    """Ours: JSON can have one, as an escape only."""
    gaia.write({"x": {**DEMO, "note": "\ud800"}})
    with_editor(gaia, """sed -i 's/ud800/udfff/; s/^{/{"timeout": 9,/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 0, shown
    assert servers(gaia)["x"] == {"timeout": 9, **DEMO, "note": "\udfff"}


def test_a_mistake_can_be_corrected_in_the_editor(gaia: Gaia) -> None:
    """Ours: the editor opens the text that was written."""
    gaia.write({"x": DEMO})
    mend = """sed -i 's/oops//; s/^{/{"timeout": 9,/' "$1" """
    fix = f'if grep -q oops "$1"; then {mend}; else echo oops >> "$1"; fi'
    files = with_editor(gaia, fix)

    shown, code = run_on_terminal(gaia, "edit", "x", typed=b"y\n", after=b"Edit it again?")

    assert code == 0, shown
    assert "not saved: " in shown
    assert servers(gaia)["x"] == {"timeout": 9, **DEMO}
    first, second = files.read_text().splitlines()
    assert first == second


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('echo oops >> "$1"', "not JSON"),
        ("""sed -i 's/"command"/"order"/' "$1" """, "'command'"),
        ("""sed -i 's/"serve"/"swerve"/' "$1" """, "exited with status"),
    ],
)
def test_the_editor_file_is_preserved_when_it_cannot_be_saved(gaia: Gaia, script: str, expected: str) -> None:
    """Ours: and its path is named."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, script)

    shown, code = run_on_terminal(gaia, "edit", "x", typed=b"n\n", after=b"Edit it again?")

    (file,) = files.read_text().splitlines()
    assert code in (3, 4)
    assert expected in shown
    assert f"what you wrote is in {file}" in shown.replace("\r\n", "")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600  # noqa: PTH116
    assert servers(gaia)["x"] == DEMO


def test_the_editor_file_is_preserved_when_the_editor_fails(gaia: Gaia) -> None:
    """Ours: it may have been hours of work."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, """sed -i 's/serve/swerve/' "$1"; exit 1""")

    shown, code = run_on_terminal(gaia, "edit", "x")

    file = Path(files.read_text().strip())
    assert code == 3
    assert "ended with status 1" in shown
    assert f"what you wrote is in {file}" in shown.replace("\r\n", "")
    assert json.loads(file.read_text()) == {**DEMO, "args": ["mcp", "swerve", "demo"]}
    assert servers(gaia)["x"] == DEMO


@pytest.mark.parametrize(
    ("editor", "expected"),
    [("sh -c 'exit 7'", "ended with status 7"), ("no-such-editor", "cannot be run"), ("vi 'x", "cannot be run")],
)
def test_an_editor_that_fails_changes_nothing(gaia: Gaia, editor: str, expected: str) -> None:
    """Ours: neither the entry nor the folder of temporary files."""
    gaia.write({"x": DEMO})
    with_editor(gaia, "")
    gaia.environ["VISUAL"] = editor

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 3
    assert expected in shown
    assert servers(gaia)["x"] == DEMO
    assert not list(gaia.home.glob("gaia-x-*"))


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
