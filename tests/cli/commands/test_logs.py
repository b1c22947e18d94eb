"""`gaia mcp logs`, and the logs of the stderr of servers that every command writes."""

from __future__ import annotations

import json
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of, run_on_terminal
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

MUTTERS = 'echo "up with $KEY" >&2; exec "$0" mcp serve demo'


@pytest.fixture
def noisy(gaia: Gaia) -> Gaia:
    """The program, with a server `x` that writes a secret to stderr when it starts."""
    gaia.write({"x": muttering()})
    return gaia


def muttering(script: str = MUTTERS, **options: Any) -> dict[str, Any]:
    return {"command": "/bin/sh", "args": ["-c", script, str(BIN / "gaia")], "env": {"KEY": "hunter2222"}, **options}


def kept(gaia: Gaia) -> list[Path]:
    return sorted(gaia.home.rglob("*.log"))


@pytest.mark.parametrize(
    "words",
    [
        ("call", "x", "greet", "name=Ada"),
        ("tools", "x"),
        ("prompts", "x"),
        ("read", "x", "demo://about"),
        ("list", "--check"),
        ("show", "x", "--check"),
        ("test-client", "x"),
        ("watch", "x", "--timeout", "8"),
        ("edit", "x", "--env", "A=1"),
    ],
)
def test_every_command_logs_the_stderr_of_a_server_without_secrets(noisy: Gaia, words: tuple[str, ...]) -> None:
    """Ours: a failure can be explained later, whichever command has started the server."""
    ran = noisy(*words)
    assert ran.code == 0
    assert "up with" not in ran.stderr

    header, line = noisy("logs", "x").stdout.splitlines()

    assert re.fullmatch(
        rf"\[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  {words[0]}, run by process \d+; "
        r"the server exited with status (0|143)\]",  # On a busy machine it may be too slow to end by itself.
        header,
    )
    assert line == "up with ****"


def test_debug_shows_and_logs_stderr(noisy: Gaia) -> None:
    """Ours: what was shown once must not be missing later."""
    assert "[x] up with ****" in noisy("call", "x", "greet", "name=Ada", "--debug").stderr

    assert "up with ****" in noisy("logs", "x").stdout


def test_debug_masks_each_line_of_a_key_and_shows_an_unfinished_line(gaia: Gaia) -> None:
    """Ours: a key is logged line by line; the last message of many a server has no newline."""
    script = """printf 'has %s\\nlast' "$(echo "$KEY" | tail -n 1)" >&2; exit 3"""
    gaia.write({"x": muttering(script, env={"KEY": "begin-key\nhunter2222"})})

    ran = gaia("call", "x", "greet", "--debug")

    assert ran.code == 4
    assert "[x] has ****\n" in ran.stderr
    assert "[x] last\n" in ran.stderr
    assert "hunter" not in ran.stderr + gaia("logs", "x").stdout


def test_stderr_is_logged_as_it_arrives(gaia: Gaia) -> None:
    """Ours: all of it, from the first byte on, even if this process is killed."""
    gaia.write({"x": muttering("seq 100000 >&2; read line; read line")})
    process = gaia.popen("call", "x", "greet")
    wait_until(lambda: any(path.read_bytes().endswith(b"\n100000\n") for path in kept(gaia)))

    process.kill()
    process.communicate()

    (log,) = kept(gaia)
    assert log.read_bytes() == b"".join(b"%d\n" % number for number in range(1, 100001))
    assert re.fullmatch(r"\[[^]]*  call, run by process \d+\]", gaia("logs", "x").stdout.splitlines()[0])


def test_two_starts_by_one_call_share_a_log_that_names_both(gaia: Gaia) -> None:
    """Ours: a run is one server in one command. This one exits on a request of a newer revision."""
    server = entry_of("exits-on-probe")
    script = 'echo up >&2; exec "$0" "$@"'
    gaia.write({"x": {"command": "/bin/sh", "args": ["-c", script, server["command"], *server["args"]]}})

    assert gaia("call", "x", "echo", "text=a").code == 0

    (log,) = kept(gaia)
    assert re.fullmatch(
        r"up\nexpected initialize\n\[process \d+, after process \d+, which exited with status 1\]\nup\n",
        log.read_text(),
    )


def test_a_server_without_output_leaves_no_log(demo: Gaia) -> None:
    """Ours: no file, no folder; and a note has the command to type."""
    demo("call", "demo", "greet", "name=Ada")

    ran = demo("logs", "demo")

    assert (ran.code, ran.stdout) == (0, "")
    assert "gaia mcp test-client demo" in ran.stderr
    assert kept(demo) == []
    assert demo("logs", "demo", "--json").json == {"name": "demo", "runs": []}


def test_a_server_that_was_not_saved_has_a_log_too(gaia: Gaia) -> None:
    """Ours: that is when it is needed most."""
    ran = gaia("add", "bad", "--", "sh", "-c", "echo first >&2; echo last >&2; exit 3")
    assert ran.code == 4
    assert ran.errors[1] == "hint: nothing was saved; show its whole stderr log with: gaia mcp logs bad"

    log = gaia("logs", "bad")

    assert log.code == 0
    assert "add, run by process" in log.stdout
    assert "exited with status 3]\nfirst\nlast\n" in log.stdout


def test_the_hint_names_the_log_only_if_the_server_wrote_to_stderr(gaia: Gaia) -> None:
    """Ours: the error quotes one line; the log has the others, the time and the command."""
    gaia.write({"x": muttering("echo alone >&2; exit 3", env={}), "y": muttering("exit 3", env={})})

    assert gaia("tools", "x").errors[1].endswith("gaia mcp logs x")
    assert gaia("tools", "y").errors[1].endswith("gaia mcp show y")


def test_the_last_runs_are_shown_with_the_newest_last(noisy: Gaia) -> None:
    """Ours: each below its own header; fewer on request."""
    noisy("tools", "x")
    noisy("call", "x", "fail")

    shown = noisy("logs", "x").stdout.split("\n\n")
    assert ["  tools, " in shown[0], "  call, " in shown[1]] == [True, True]
    assert noisy("logs", "x", "--runs", "1").stdout == shown[1]
    assert noisy("logs", "x", "--runs", "0").stdout == ""


def test_the_json_of_logs_is_one_object(noisy: Gaia) -> None:
    """Ours: a program gets the command, the exit status and the text of each run."""
    noisy("tools", "x")

    found = noisy("logs", "x", "--json").json

    (run,) = found["runs"]
    assert found["name"] == "x"
    assert run.pop("began").endswith("+00:00")
    assert isinstance(run.pop("pid"), int)
    assert run.pop("status") in (0, 143)  # On a busy machine it may be too slow to end by itself.
    assert run == {"command": "tools", "cut": 0, "text": "up with ****\n"}


def test_the_number_of_dropped_bytes_is_shown(gaia: Gaia) -> None:
    """Ours: the size of a log is limited; its end is preserved, since it explains a failure."""
    flood = (
        'i=0; while [ $i -lt 30000 ]; do echo "line $i of a flood of lines, each of them long" >&2; i=$((i+1)); done'
    )
    gaia.write({"x": muttering(f"{flood}; exit 3")})
    assert gaia("tools", "x").code == 4

    lines = gaia("logs", "x").stdout.splitlines()

    assert re.fullmatch(r"\[\d+ bytes before this were not kept\]", lines[1])
    assert lines[-1].startswith("line 29999 ")


def test_logs_can_be_deleted(noisy: Gaia) -> None:
    """Ours: they may hold data that a person does not want on the disk."""
    noisy("tools", "x")

    assert noisy("logs", "x", "--clear").stdout == "deleted 1 run of 'x'\n"
    assert noisy("logs", "x", "--clear", "--json").json == {"cleared": 0, "name": "x"}
    assert kept(noisy) == []


def test_a_log_that_cannot_be_deleted_is_reported(noisy: Gaia) -> None:
    """Ours: with its path, to be removed by hand."""
    noisy("tools", "x")
    (log,) = kept(noisy)
    log.unlink()
    log.mkdir()
    assert noisy("logs", "x").stdout == ""

    ran = noisy("logs", "x", "--clear")

    assert (ran.code, ran.stdout, len(ran.errors)) == (3, "", 2)
    assert str(log) in ran.errors[0]


def test_follow_prints_running_and_new_runs(gaia: Gaia) -> None:
    """Ours: until Ctrl-C."""
    orders = gaia.cwd / "orders"
    gaia.write({"x": entry_of("announces", "2025-11-25", env={"ORDERS": str(orders)})})
    orders.write_text("mutter before\n")
    gaia("tools", "x")
    assert kept(gaia)
    following = gaia.popen("logs", "x", "--follow")
    assert following.stdout is not None
    assert b"tools, " in following.stdout.readline()
    assert following.stdout.readline() == b"before\n"
    watching = gaia.popen("watch", "x")

    assert following.stdout.readline() == b"\n"
    assert b"watch, " in following.stdout.readline()
    assert following.stdout.readline() == b"before\n"
    with orders.open("a") as file:
        file.write("mutter more\n")
    assert following.stdout.readline() == b"more\n"
    watching.send_signal(signal.SIGINT)
    # On a busy machine it may be too slow to end by itself.
    assert re.search(
        rb"watch, run by process \d+; the server (exited with status 0|was ended by SIGTERM)]",
        following.stdout.readline(),
    )

    following.send_signal(signal.SIGINT)
    assert following.communicate(timeout=20) == (b"", b"")
    assert following.returncode == 130
    watching.communicate(timeout=20)


def test_follow_with_json_prints_one_object_on_a_line(noisy: Gaia) -> None:
    """Ours: JSON Lines; runs that were left out at first stay out."""
    noisy("prompts", "x")
    noisy("tools", "x")
    following = noisy.popen("logs", "x", "--follow", "--json", "--runs", "1")
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["command"] == "tools"

    noisy("call", "x", "greet", "name=Ada")

    first = json.loads(following.stdout.readline())
    assert (first["command"], first["text"]) == ("call", "up with ****\n")
    following.stdout.close()
    assert following.wait(20) == 0  # Its reader has gone.


def test_an_unwritable_log_folder_fails_no_command(noisy: Gaia) -> None:
    """Ours: the result of a call is worth more than its log."""
    state = noisy.home / ".local"
    state.write_text("in the way")

    ran = noisy("call", "x", "greet", "name=Ada")

    assert (ran.code, ran.stdout, ran.stderr) == (0, "Hello, Ada!\n", "")
    assert noisy("logs", "x").code == 0


def test_logs_are_in_the_folder_of_a_moved_configuration(noisy: Gaia) -> None:
    """Ours: `GAIA_HOME` moves everything."""
    moved = noisy.cwd / "moved"
    moved.mkdir()
    noisy.config.rename(moved / "mcp_servers.json")

    noisy("tools", "x", GAIA_HOME=str(moved))

    (log,) = kept(noisy) or sorted(moved.rglob("*.log"))
    assert log.is_relative_to(moved / "logs")


def test_the_signal_that_ended_a_server_is_shown(gaia: Gaia) -> None:
    """Ours: it distinguishes a crash from an exit."""
    gaia.write({"x": muttering("echo going >&2; kill -KILL $$")})
    gaia("tools", "x")

    assert "ended by SIGKILL]" in gaia("logs", "x").stdout


def test_control_characters_of_a_log_are_escaped_on_a_terminal(noisy: Gaia) -> None:
    """Ours: also if another program has written to the file."""
    noisy("tools", "x")
    (log,) = kept(noisy)
    log.write_text("\x1b[31mred\n")

    shown, code = run_on_terminal(noisy, "logs", "x")

    assert code == 0
    assert "\\x1b[31mred" in shown


@pytest.mark.parametrize(
    ("words", "code"), [(("nobody",), 3), ((), 2), (("x", "--runs", "-1"), 2), (("x", "--runs", "many"), 2)]
)
def test_a_mistake_is_reported_in_two_lines(noisy: Gaia, words: tuple[str, ...], code: int) -> None:
    """Ours: what is wrong, and what to type instead."""
    ran = noisy("logs", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)


def test_a_server_that_ends_at_once_is_started_once(gaia: Gaia) -> None:
    """Ours: one that exits before it has read anything would exit again, whichever revision is requested."""
    ran = gaia("add", "bad", "--", *entry_words("exits-at-once"))

    assert (ran.code, "exited with status 3 at its start" in ran.errors[0]) == (4, True)
    (log,) = kept(gaia)
    assert log.read_text() == "starting\nno configuration found\n"


def entry_words(name: str) -> list[str]:
    entry = entry_of(name)
    return [entry["command"], *entry["args"]]


def test_the_log_of_the_keeper_is_shown(keeping: Gaia) -> None:
    """Ours: it tells why a server was ended, or could not be started again."""
    none = keeping("logs", "--keeper")
    keeping.write({"x": entry_of("good-handshake")})
    keeping("up", "x")
    pid = keeping("ps", "--json").json["keeper"]["pid"]

    shown, described = keeping("logs", "--keeper"), keeping("logs", "--keeper", "--json").json

    assert (none.code, none.stdout) == (0, "")
    assert none.stderr == "note: no log is stored: no server has been held; hold one with: gaia mcp up NAME\n"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d [\d:]+ process {pid} begins\n", shown.stdout)
    assert described == {"path": str(next(keeping.home.rglob("keeper.log"))), "text": shown.stdout}
    assert keeping("logs", "--keeper", "--clear").stdout == "deleted the log of the keeper\n"
    assert keeping("logs", "--keeper", "--json").json["text"] == ""
    assert keeping("logs", "--keeper", "--clear", "--json").json["cleared"] == 0


@pytest.mark.parametrize("is_json", [True, False])
def test_the_log_of_the_keeper_is_followed(keeping: Gaia, is_json: bool) -> None:
    """Ours: also through a clearing of the log."""
    keeping.write({"x": entry_of("good-handshake")})
    keeping("up", "x")
    following = keeping.popen("logs", "--keeper", "--follow", *["--json"] * is_json)
    assert following.stdout is not None
    first = following.stdout.readline()
    keeping("logs", "--keeper", "--clear")
    keeping("down", "x")
    second = following.stdout.readline()
    following.send_signal(signal.SIGINT)

    following.communicate(timeout=20)
    assert following.returncode == 130
    assert (b"begins" in first, b"ends" in second) == (True, True)
    assert (first.startswith(b"{"), second.startswith(b"{")) == (is_json, is_json)


def test_a_log_is_of_a_server_or_of_the_keeper(gaia: Gaia) -> None:
    """Ours: runs are of a server, and the keeper has one log."""
    assert gaia("logs").stderr.startswith("error: missing argument 'NAME'\n")
    for words, problem in ((["x"], "a server is named"), (["--runs", "1"], "--runs is about a server")):
        ran = gaia("logs", "--keeper", *words)
        assert ran.code == 2
        assert ran.stderr.startswith(f"error: --keeper shows the log of the keeper, and {problem}\n")
