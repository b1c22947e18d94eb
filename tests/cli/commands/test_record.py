"""`gaia mcp record`: a recorder between client and server."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.commands.record import _pass_stderr
from tests.cli.conftest import BIN, INITIALIZE, descendants, entry_of, run_on_terminal
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def recorded(gaia: Gaia, name: str = "r.jsonl") -> list[dict[str, Any]]:
    """The lines of a recording in the working folder, each whole."""
    data = (gaia.cwd / name).read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def sent_by(gaia: Gaia, sender: str) -> list[Any]:
    return [row.get("message", row.get("text")) for row in recorded(gaia) if row.get("from") == sender]


def test_every_message_is_recorded_with_its_sender_and_time(double: Gaia) -> None:
    """Ours: below a header that names the format; other users cannot read it."""
    double("call", "rec-good-handshake", "echo", "text=x")

    header, *rows = recorded(double)

    assert (header["format"], header["version"], header["server"]) == ("gaia-mcp-conversation", 1, "good-handshake")
    assert [row["message"]["method"] for row in rows if row["from"] == "client"] == [
        "server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"
    ]  # fmt: skip
    assert [row["ms"] for row in rows] == sorted(row["ms"] for row in rows)
    assert (double.cwd / "r.jsonl").stat().st_mode & 0o777 == 0o600


def test_each_start_adds_a_conversation(double: Gaia) -> None:
    """Ours: so several commands are recorded in one file. An incomplete line is removed first."""
    double("call", "rec-good-handshake", "echo", "text=1")
    with (double.cwd / "r.jsonl").open("ab") as file:
        file.write(b'{"from": "cli')
    double("call", "rec-good-handshake", "echo", "text=2")

    assert len([row for row in recorded(double) if "format" in row]) == 2
    replayed = [double("call", "rep", "echo", f"text={number}").stdout for number in (1, 2)]
    assert [json.loads(text)["text"] for text in replayed] == ["1", "2"]


def test_secrets_of_the_entry_are_masked_only_in_the_recording(gaia: Gaia) -> None:
    """Ours: the conversation itself is not touched."""
    entry = entry_of("good-handshake", env={"API_TOKEN": "hunter22hunter"})
    gaia.write({
        "s": entry, "rec": {"command": str(BIN / "gaia"), "args": ["mcp", "record", "s", "--to", "r.jsonl"]}
    })  # fmt: skip

    ran = gaia("call", "rec", "environment")

    assert json.loads(ran.stdout)["API_TOKEN"] == "hunter22hunter"
    text = (gaia.cwd / "r.jsonl").read_text()
    assert "hunter22hunter" not in text
    assert "API_TOKEN" in text


def test_stderr_is_passed_on_and_not_recorded(double: Gaia) -> None:
    """Ours: an error still has the end of a server's stderr, and its exit status."""
    ran = double("call", "rec-good-handshake", "die")

    assert ran.code == 4
    assert "exited with status 3" in ran.errors[0]
    assert "told to die" in ran.errors[0]
    assert "told to die" not in (double.cwd / "r.jsonl").read_text()
    again = double("call", "rep", "die")
    assert (again.code, "the recording ends before the response" in again.errors[0]) == (6, True)


def test_secrets_in_stderr_are_masked_however_it_is_written(gaia: Gaia) -> None:
    """Ours: the program that has started the recorder may store it; it is logged as by every other command."""
    letters = "import os; [os.write(2, letter.encode()) for letter in 'with ' + os.environ['KEY'] + '\\nlast']"
    gaia.write({"s": {"command": "python3", "args": ["-S", "-c", letters], "env": {"KEY": "hunter2222"}}})

    ran = gaia("record", "s", "--to", "r.jsonl")

    assert ran.stderr == "with ****\nlast\n"
    assert gaia("logs", "s").stdout.endswith("exited with status 0]\nwith ****\nlast\n")


def test_a_closed_stderr_does_not_end_the_recorder() -> None:
    """Ours: the conversation is worth more than a log."""
    reading, writing = os.pipe()
    os.close(reading)
    own = os.dup(2)
    os.dup2(writing, 2)
    try:
        _pass_stderr(b"x")
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(writing)


def test_a_signal_that_ended_the_server_is_reported_as_by_a_shell(gaia: Gaia) -> None:
    """Ours: as 128 plus its number, since an exit status cannot hold a signal."""
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    gaia.write({"s": {"command": "python3", "args": ["-S", "-c", crash]}})

    assert gaia("record", "s", "--to", "r.jsonl").code == 128 + signal.SIGSEGV


def test_the_last_output_of_a_server_reaches_a_slow_client(gaia: Gaia) -> None:
    """Ours: more of it than fits into a pipe."""
    talks = "import os; os.write(1, b'x' * 99_999 + b'\\n'); os.write(2, b'done\\n')"
    gaia.write({"s": {"command": "python3", "args": ["-S", "-c", talks]}})
    process = gaia.popen("record", "s", "--to", "r.jsonl", stdin=subprocess.DEVNULL)
    assert process.stderr is not None
    assert process.stderr.readline() == b"done\n"
    wait_until(lambda: not [command for command in descendants().values() if "99_999" in command])

    out, _ = process.communicate(timeout=20)

    assert (len(out), process.returncode) == (100_000, 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_recorder_ended_by_a_signal_leaves_whole_lines_and_no_server(double: Gaia, number: signal.Signals) -> None:
    """Ours: also by SIGKILL: then the input of its server ends."""
    process = double.popen("record", "good-handshake", "--to", "r.jsonl")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(INITIALIZE)
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(number)
    process.wait(20)

    assert [message["id"] for message in sent_by(double, "server")] == [1]
    wait_until(lambda: not [command for command in descendants().values() if "good_handshake" in command])


def test_a_server_that_ignores_the_end_of_input_is_ended_with_its_client(gaia: Gaia) -> None:
    """Ours: nothing is left running."""
    gaia.use("stubborn", "ignores-eof")

    for name in ("stubborn", "ignores-eof"):
        process = gaia.popen("record", name, "--to", f"{name}.jsonl", stdin=subprocess.DEVNULL)
        assert process.wait(20) == 0


def test_a_recorder_ends_when_its_stdout_is_closed(double: Gaia) -> None:
    """Ours: its client has gone."""
    process = double.popen("record", "good-handshake", "--to", "r.jsonl")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(INITIALIZE)
    process.stdin.flush()

    assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nobody", "--to", "r.jsonl"), 3),
        (("missing", "--to", "r.jsonl"), 4),
        (("far", "--to", "r.jsonl"), 3),
        (("good-handshake",), 2),
        (("good-handshake", "--to", "notes.txt"), 3),
        (("good-handshake", "--to", "no/such/folder"), 3),
        (("good-handshake", "--to", "/dev/null"), 3),
    ],
)
def test_a_recording_that_cannot_start_is_reported_on_stderr(double: Gaia, words: tuple[str, ...], code: int) -> None:
    """Ours: stdout is the client's. A file that is not a recording stays unchanged."""
    servers = json.loads(double.config.read_text())["mcpServers"]
    double.write({**servers, "missing": {"command": "surely-not-there"}, "far": {"url": "https://example.com"}})
    (double.cwd / "notes.txt").write_text("mine\n")

    ran = double("record", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (code, "", 2)
    assert (double.cwd / "notes.txt").read_text() == "mine\n"


def test_a_file_has_one_recorder_at_a_time(double: Gaia) -> None:
    """Ours: conversations would be mixed. A recorder of itself ends in the same way."""
    first = double.popen("record", "good-handshake", "--to", "r.jsonl")
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write(INITIALIZE)
    first.stdin.flush()
    first.stdout.readline()

    ran = double("record", "good-handshake", "--to", "r.jsonl")

    assert ran.code == 3
    assert "is being recorded to" in ran.errors[0]
    first.communicate(timeout=20)
    assert first.returncode == 0


def test_a_full_disk_ends_the_recording_and_not_the_conversation(double: Gaia) -> None:
    """Ours: it is reported, also by the exit code. The file has whole lines only."""
    process = double.popen("record", "good-handshake", "--to", "r.jsonl", limits={resource.RLIMIT_FSIZE: (200, 200)})

    assert process.stdin is not None
    out, err = process.communicate(INITIALIZE + b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n', timeout=20)

    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2]
    assert b"nothing more is recorded" in err
    assert process.returncode == 1
    assert [row.get("from") for row in recorded(double)] == [None]


@pytest.mark.parametrize("words", [("record", "good-handshake", "--to", "r.jsonl"), ("replay", "old.jsonl")])
def test_a_note_on_a_terminal_names_ctrl_c(double: Gaia, words: tuple[str, ...]) -> None:
    """Ours: as by `serve`: a person sees that nothing is to be typed."""
    assert double("call", "rec-good-handshake", "echo", "text=1").code == 0
    Path(double.cwd / "r.jsonl").rename(double.cwd / "old.jsonl")

    shown, code = run_on_terminal(double, *words, typed=b"\x03", after=b"Ctrl-C ends it")

    assert code == 130
    assert "good-handshake" in shown
