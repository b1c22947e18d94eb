"""`cli.progress`: what moves while a person waits."""

from __future__ import annotations

import io
import threading

import pytest

from gaia_mcp.cli.screen.output import Form, remark
from gaia_mcp.cli.screen.progress import ASCII_SHAPES, ERASE, SHAPES, Waiting
from gaia_mcp.cli.screen.terminal import cell_width
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
    """Make stderr a terminal of 60 columns, without the time before the line appears."""
    stream = kind()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(Form, "quiet", False)
    monkeypatch.setattr("gaia_mcp.cli.screen.progress.QUIET_SECONDS", 0.0)
    return stream


def line(waiting: Waiting, seconds: float, width: int = 60) -> str:
    return waiting.line(seconds, width, ASCII_SHAPES)


def test_what_takes_long_says_how_long_and_what_the_log_says() -> None:
    """Ours: the last line of it often tells why."""
    waiting = Waiting("starting s")
    waiting.starting("s", lambda: "downloading")

    assert line(waiting, 1) == "| starting s"
    assert line(waiting, 12) == "| still starting s (12 s): downloading"
    assert line(waiting, 12.25) == "- still starting s (12 s): downloading"
    waiting.starting("s", lambda: "")
    assert line(waiting, 12) == "| still starting s (12 s)"


def test_a_server_that_reports_progress_gets_a_bar() -> None:
    """Specification, progress: a total and a text may be there; what makes no sense must not break the line."""
    waiting = Waiting("calling s t")
    waiting.starting("s", lambda: "log")
    waiting.progressed(Progressed(1, 1, 4, "first"))
    assert line(waiting, 0, 40) == "| calling s t ##........ 1/4: first"
    waiting.progressed(Progressed(1, 9, 4, ""))
    assert line(waiting, 0, 40) == "| calling s t ########## 9/4"
    waiting.progressed(Progressed(1, -1, 4, ""))
    assert line(waiting, 0, 40) == "| calling s t .......... -1/4"
    waiting.progressed(Progressed(1, 7, None, "seventh"))
    assert line(waiting, 3) == "| calling s t (3 s): seventh"


def test_of_several_servers_those_that_are_missing_are_named() -> None:
    """Ours."""
    waiting = Waiting("asking 3 servers")
    for name in "abc":
        waiting.starting(name, lambda: "")
    waiting.finished("a", 3)
    assert line(waiting, 5, 80) == "| asking 3 servers #######............. 1/3 (5 s): b, c"
    waiting.starting("c", lambda: "installing")
    assert line(waiting, 5, 80) == "| asking 3 servers #######............. 1/3 (5 s): c: installing"


@pytest.mark.parametrize("width", [1, 5, 17, 20, 37, 77, 197])
def test_the_line_fits_and_is_safe(width: int) -> None:
    """Ours: a line that the terminal breaks could not be erased; a server decides neither its look nor its length."""
    waiting = Waiting("starting \x1b[31m日本\n" + "s" * 100)
    waiting.starting("s", lambda: "a\x1b[2J\u202e")
    waiting.progressed(Progressed(1, 1, 2, "日本語\x07\n" * 50))

    shown = waiting.line(3, width, SHAPES)

    assert cell_width(shown) <= width
    assert shown.isprintable()


def test_it_is_drawn_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a remark that comes meanwhile stands on a line of its own."""
    stream = terminal(monkeypatch)
    with Waiting("starting s") as waiting:
        wait_until(lambda: "starting s\x1b[K" in stream.getvalue())
        remark("by the way")
        wait_until(lambda: "starting s" in stream.getvalue().partition("by the way\n")[2])
        waiting.rename("calling s")
        wait_until(lambda: "calling s" in stream.getvalue())

    written = stream.getvalue()
    assert f"{ERASE}note: by the way\n\r" in written
    assert written.startswith(f"\r{SHAPES.turning[0]}")
    assert written.endswith(ERASE)
    remark("afterwards")
    assert stream.getvalue() == f"{written}note: afterwards\n"


def test_where_only_ascii_can_be_written_it_is_drawn_with_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with LANG=C an escape for each sign would be longer than the line."""
    stream = terminal(monkeypatch, Ascii)

    with Waiting("starting s"):
        wait_until(lambda: "starting s" in stream.getvalue())

    assert stream.getvalue().isascii()


@pytest.mark.parametrize("why", ["quiet", "dumb", "pipe"])
def test_nothing_is_begun_where_nothing_would_be_seen(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """Ours: not even a thread."""
    stream = terminal(monkeypatch)
    if why == "quiet":
        monkeypatch.setattr(Form, "quiet", True)
    elif why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        stream = Terminal()
        monkeypatch.setattr("sys.stderr", io.StringIO())
    before = threading.active_count()

    with Waiting("starting s") as waiting:
        assert threading.active_count() == before
        waiting.progressed(Progressed(1, 1, 2, "x"))

    assert stream.getvalue() == ""


def test_a_terminal_that_has_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    stream = terminal(monkeypatch)

    with Waiting("starting s") as waiting:
        wait_until(lambda: "starting s" in stream.getvalue())
        stream.close()
        waiting.hide()
