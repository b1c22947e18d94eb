"""`gaia mcp replay`: a recording as a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import INITIALIZE

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize("name", ["good-handshake", "good-stateless"])
def test_a_recorder_and_its_replay_respond_like_the_server(double: Gaia, name: str) -> None:
    """Ours: in both eras; the real server is not needed any more."""
    checked = double("test-client", f"rec-{name}")
    called = double("call", f"rec-{name}", "echo", "text=grüß")
    tools = double("tools", f"rec-{name}").stdout.splitlines()[1:]
    assert (checked.code, called.code) == (0, 0), checked.stdout
    servers = json.loads(double.config.read_text())["mcpServers"]
    double.write({"rep": servers["rep"]})

    assert double("call", "rep", "echo", "text=grüß").stdout == called.stdout
    assert double("tools", "rep").stdout.splitlines()[1:] == tools
    replayed = double("test-client", "rep")
    assert replayed.code == 0, replayed.stdout
    other = double("call", "rep", "echo", "text=other")
    assert other.code == 6
    assert "the recording has no tools/call with these params" in other.errors[0]


def test_notifications_and_server_requests_are_replayed(double: Gaia) -> None:
    """Spec: with the progress token of the new request, and after the response to the server's request."""
    for words in (("steps", "count:=2", "seconds:=0.01"), ("log",), ("roots",)):
        assert double("call", "rec-good-handshake", *words).code == 0

    assert double("call", "rep", "steps", "count:=2", "seconds:=0.01").stdout == "done\n"
    assert "hot" in double("call", "rep", "log", "--debug").stderr
    assert double("call", "rep", "roots").stdout == double("call", "good-handshake", "roots").stdout


@pytest.mark.parametrize("text", [None, "", "mine\n"])
def test_a_file_that_cannot_be_replayed_is_reported(gaia: Gaia, text: str | None) -> None:
    """Ours: one that is missing, empty, or not a recording."""
    if text is not None:
        (gaia.cwd / "r.jsonl").write_text(text)

    ran = gaia("replay", "r.jsonl")

    assert (ran.code, ran.stdout, len(ran.errors)) == (3, "", 2)


def test_a_replay_ends_with_its_client_and_reports_an_incomplete_line(double: Gaia) -> None:
    """Ours: a recorder that was killed may have left one."""
    double("call", "rec-good-handshake", "echo", "text=1")
    with (double.cwd / "r.jsonl").open("ab") as file:
        file.write(b'{"from": "cli')

    ran = double("replay", "r.jsonl", stdin=INITIALIZE.decode())

    assert (ran.code, json.loads(ran.stdout)["id"]) == (0, 1)
    assert ran.stderr == "note: the last line of r.jsonl is incomplete, and is left out\n"


def test_a_replay_ends_silently_when_its_stdout_is_closed(double: Gaia) -> None:
    """Ours: a client that has ended reads no errors."""
    double("call", "rec-good-handshake", "echo", "text=1")
    process = double.popen("replay", "r.jsonl")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(INITIALIZE)
    process.stdin.flush()

    assert process.wait(20) == 0
    assert process.stderr.read() == b""
