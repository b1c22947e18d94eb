"""`cli.screen.progress`: the progress line while a person waits."""

from __future__ import annotations

import io
import threading

import pytest

from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen import cell_width
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.screen.session_view import ASCII_SHAPES, ERASE, QUIET_SECONDS, SHAPES, Waiting
from gaia_mcp.protocol.events import Progressed
from tests.waiting import wait_until


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Ascii(Terminal):
    """One whose language is C."""

    encoding = "ascii"


def terminal(monkeypatch: pytest.MonkeyPatch, kind: type[Terminal] = Terminal) -> Terminal:
    """Make stderr a terminal of 60 columns."""
    stream = kind()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    return stream


def waiting_for(what: str, *, quiet_seconds: float = QUIET_SECONDS, quiet: bool = False) -> Waiting:
    """A line of a command of its own."""
    return Waiting(Screen(CommandLine(), quiet=quiet), what, quiet_seconds=quiet_seconds)


def waiting_at_once(what: str, *, quiet: bool = False) -> Waiting:
    """A line without the time before it appears."""
    return waiting_for(what, quiet_seconds=0, quiet=quiet)


def line(waiting: Waiting, seconds: float, width: int = 60) -> str:
    return waiting.line(seconds, width, ASCII_SHAPES)


def test_a_long_start_shows_its_seconds_and_the_last_log_line() -> None:
    """Ours: the last line of the log often explains the delay."""
    waiting = waiting_for("starting s")
    waiting.starting("s", lambda: "downloading")

    assert line(waiting, 1) == "| starting s"
    assert line(waiting, 12) == "| still starting s (12 s): downloading"
    assert line(waiting, 12.25) == "- still starting s (12 s): downloading"
    waiting.starting("s", lambda: "")
    assert line(waiting, 12) == "| still starting s (12 s)"


def test_reported_progress_is_shown_as_a_bar() -> None:
    """Spec, progress: `total` and `message` are optional; an invalid value must not break the line."""
    waiting = waiting_for("calling s t")
    waiting.starting("s", lambda: "log")
    waiting.progressed(Progressed(1, 1, 4, "first"))
    assert line(waiting, 0, 40) == "| calling s t ##........ 1/4: first"
    waiting.progressed(Progressed(1, 9, 4, ""))
    assert line(waiting, 0, 40) == "| calling s t ########## 9/4"
    waiting.progressed(Progressed(1, -1, 4, ""))
    assert line(waiting, 0, 40) == "| calling s t .......... -1/4"
    waiting.progressed(Progressed(1, 7, None, "seventh"))
    assert line(waiting, 3) == "| calling s t (3 s): seventh"


def test_servers_that_have_not_finished_are_named() -> None:
    """Ours: a person learns which server is slow."""
    waiting = waiting_for("asking 3 servers")
    for name in "abc":
        waiting.starting(name, lambda: "")
    waiting.finished("a", 3)
    assert line(waiting, 5, 80) == "| asking 3 servers #######............. 1/3 (5 s): b, c"
    waiting.starting("c", lambda: "installing")
    assert line(waiting, 5, 80) == "| asking 3 servers #######............. 1/3 (5 s): c: installing"


def test_the_line_fits_the_width_without_control_characters() -> None:
    """Ours: a wrapped line could not be erased, and a server's text must not control the terminal."""
    waiting = waiting_for("starting \x1b[31m日本\n" + "s" * 100)
    waiting.starting("s", lambda: "a\x1b[2J\u202e")
    waiting.progressed(Progressed(1, 1, 2, "日本語\x07\n" * 50))

    shown = {width: waiting.line(3, width, SHAPES) for width in (1, 5, 17, 20, 37, 77, 197)}

    assert {width: text for width, text in shown.items() if cell_width(text) > width or not text.isprintable()} == {}


def test_the_line_is_drawn_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a note that comes meanwhile stands on a line of its own."""
    stream = terminal(monkeypatch)
    with waiting_at_once("starting s") as waiting:
        wait_until(lambda: "starting s\x1b[K" in stream.getvalue())
        waiting.screen.remark("by the way")
        wait_until(lambda: "starting s" in stream.getvalue().partition("by the way\n")[2])
        waiting.rename("calling s")
        wait_until(lambda: "calling s" in stream.getvalue())

    written = stream.getvalue()
    assert f"{ERASE}note: by the way\n\r" in written
    assert written[0] == "\r"
    assert written[1] in SHAPES.turning
    assert written.endswith(ERASE)
    waiting.screen.remark("afterwards")
    assert stream.getvalue() == f"{written}note: afterwards\n"


def test_the_line_is_ascii_on_an_ascii_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with LANG=C, an escape for each character would be longer than the line."""
    stream = terminal(monkeypatch, Ascii)

    with waiting_at_once("starting s"):
        wait_until(lambda: "starting s" in stream.getvalue())

    assert stream.getvalue().isascii()


@pytest.mark.parametrize("why", ["quiet", "dumb", "pipe"])
def test_no_thread_is_started_without_a_capable_terminal(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """Ours: the line would not be seen, and a thread costs time."""
    stream = terminal(monkeypatch)
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    elif why == "pipe":
        stream = Terminal()
        monkeypatch.setattr("sys.stderr", io.StringIO())
    before = set(threading.enumerate())

    with waiting_at_once("starting s", quiet=why == "quiet") as waiting:
        assert set(threading.enumerate()) <= before
        waiting.progressed(Progressed(1, 1, 2, "x"))

    assert stream.getvalue() == ""


def test_a_closed_terminal_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a command must end as usual after its terminal has been closed."""
    stream = terminal(monkeypatch)

    with waiting_at_once("starting s") as waiting:
        wait_until(lambda: "starting s" in stream.getvalue())
        stream.close()
        waiting.hide()
