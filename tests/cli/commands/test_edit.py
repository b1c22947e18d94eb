"""`gaia mcp edit`: members of an entry are changed, and all others preserved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}


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
    assert json.dumps(gaia.saved["b"]) == json.dumps(changed)
    assert list(gaia.saved) == ["a", "b", "c"]


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
    assert gaia.saved["x"] == {**DEMO, "env": {"A": "1"}}
    ran = gaia("edit", "x", "--", "./run", "mcp", "serve", "demo")
    assert (ran.code, ran.stderr) == (0, f"note: the program is saved as '{gaia.cwd}/run'\n")
    assert gaia.saved["x"]["command"] == f"{gaia.cwd}/run"


def test_a_change_that_fails_its_check_is_not_saved(gaia: Gaia) -> None:
    """Ours: as with `add`, unless the check is turned off."""
    gaia.use("good-handshake")
    before = gaia.config.read_text()

    ran = gaia("edit", "good-handshake", "--", "sh", "-c", "exit 3")
    assert ran.code == 4
    assert ran.errors[1].startswith("hint: nothing was saved;")
    assert gaia.config.read_text() == before
    assert gaia("edit", "good-handshake", "--no-check", "--", "sh", "-c", "exit 3").code == 0
    assert gaia.saved["good-handshake"]["command"] == "sh"


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
    assert list(gaia.saved.items()) == [("a", DEMO), ("bee", entry), ("c", DEMO)]
    assert "boom" in gaia("logs", "bee").stdout
    assert gaia("logs", "b").code == 3


def test_the_transport_of_a_server_can_be_changed(gaia: Gaia) -> None:
    """Ours: the members of the old transport are removed with it."""
    gaia.write({"x": {**DEMO, "env": {"A": "1"}, "timeout": 3}})

    assert gaia("edit", "x", "--url", "http://127.0.0.1:1/mcp", "--header", "X-Key: hunter2222").code == 4
    ran = gaia("edit", "x", "--url", "https://e.org/mcp", "--header", "X-Key: hunter2222", "--no-check")
    assert ran.code == 0
    assert "hunter2222" not in ran.stdout
    assert gaia.saved["x"] == {"timeout": 3, "url": "https://e.org/mcp", "headers": {"X-Key": "hunter2222"}}
    assert gaia("edit", "x", "--unset", "headers.X-Key", "--no-check").code == 0
    assert "headers" not in gaia.saved["x"]
    assert gaia("edit", "x", "--url", "https://e.org/other", "--no-check").code == 0
    assert gaia("edit", "x", "--", *[str(BIN / "gaia"), "mcp", "serve", "demo"]).code == 0
    assert gaia.saved["x"] == {"timeout": 3, **DEMO}


def test_an_invalid_entry_can_be_corrected(gaia: Gaia) -> None:
    """Ours: by removing the invalid member."""
    gaia.write({"x": {**DEMO, "cwd": 7}})

    ran = gaia("edit", "x", "--unset", "cwd")

    assert ran.code == 0
    assert gaia.saved["x"] == DEMO


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
    assert gaia.saved["x"] == {**way, member: {"B": "2"}}


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


def test_keep_alive_is_changed_and_removed_without_a_check(gaia: Gaia) -> None:
    """Ours: whether a server is kept open says nothing about whether it works."""
    gaia.write({"x": {"command": "not-there"}})

    assert gaia("edit", "x", "--keep-alive").code == 0
    assert gaia.saved["x"] == {"command": "not-there", "keepAlive": True}
    ran = gaia("edit", "--keep-alive=30m", "x")
    assert (ran.code, ran.stdout.splitlines()[1:]) == (0, ["  keepAlive: true → 30m"])
    assert dict(line.split(None, 1) for line in gaia("show", "x").stdout.splitlines())["keepAlive"] == "30m"
    assert gaia("list", "--json").json["servers"][0]["keepAlive"] == "30m"
    assert gaia("edit", "x", "--keep-alive", "30m", "--no-check").errors[1] == "hint: write --keep-alive=30m"
    assert gaia("edit", "x", "--unset", "keepAlive").code == 0
    assert gaia.saved["x"] == {"command": "not-there"}
