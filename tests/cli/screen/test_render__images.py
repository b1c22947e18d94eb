"""`cli.screen.render`: where a picture is drawn, and how."""

from __future__ import annotations

import base64
import io
import re

import pytest

from gaia_mcp.cli.screen.render import CHUNK_CHARS, MAX_BYTES, drawn, way_to_show

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that is nothing in particular."""
    for name in ("TMUX", "STY", "ZELLIJ", "KITTY_WINDOW_ID", "TERM_PROGRAM", "LC_TERMINAL", "GAIA_IMAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_the_image_protocol_is_chosen_by_the_environment() -> None:
    """Ours: never within another terminal, unless the variable demands it."""
    ways: list[tuple[dict[str, str], str]] = [
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm2"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm2"),
        ({"LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"KITTY_WINDOW_ID": "1", "TERM": "xterm"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM_PROGRAM": "Apple_Terminal"}, ""),
        ({}, ""),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/t"}, ""),
        ({"KITTY_WINDOW_ID": "1", "TERM": "screen-256color"}, ""),
        ({"KITTY_WINDOW_ID": "1", "STY": "1.x"}, ""),
        ({"KITTY_WINDOW_ID": "1", "ZELLIJ": "0"}, ""),
        ({"TERM": "xterm-kitty", "GAIA_IMAGES": "never"}, ""),
        ({"TERM": "xterm-kitty", "GAIA_IMAGES": "auto"}, "kitty"),
        ({"TERM": "xterm", "GAIA_IMAGES": "iterm2"}, "iterm2"),
        ({"TMUX": "/tmp/t", "GAIA_IMAGES": "kitty"}, "kitty"),
        ({"TERM": "xterm-kitty", "GAIA_IMAGES": "nonsense"}, ""),
    ]

    assert [(environ, way_to_show(environ)) for environ, _ in ways] == ways


def test_a_picture_for_iterm2_is_one_escape_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its documentation, inline images: OSC 1337, the file in base64, BEL."""
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM_PROGRAM", "WezTerm")

    for data in (PNG + b"x", JPEG, b"GIF89a"):
        encoded = base64.b64encode(data).decode()
        assert drawn(data) == f"\x1b]1337;File=inline=1;size={len(data)}:{encoded}\x07\n"


def test_a_picture_for_kitty_is_sent_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kitty graphics protocol: at most 4096 characters each, and no answer wanted."""
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-kitty")
    data = PNG + bytes(CHUNK_CHARS * 2)

    pieces = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", drawn(data))

    assert [control for control, _ in pieces] == ["a=T,f=100,q=2,m=1", "m=1", "m=0"]
    assert all(len(piece) <= CHUNK_CHARS for _, piece in pieces)
    assert base64.b64decode("".join(piece for _, piece in pieces)) == data


def test_an_unsupported_picture_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: kitty draws only PNG; other data, and a very large picture, can be saved to a file."""
    monkeypatch.setattr("sys.stdout", Terminal())

    assert drawn(PNG) == ""
    monkeypatch.setenv("TERM", "xterm-kitty")
    assert drawn(PNG) != ""
    assert [drawn(data) for data in (JPEG, b"\x1b[31m", PNG + bytes(MAX_BYTES))] == ["", "", ""]


def test_nothing_is_drawn_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: whatever the environment says."""
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("GAIA_IMAGES", "kitty")
    assert drawn(PNG)
    monkeypatch.setattr("sys.stdout", io.StringIO())

    assert drawn(PNG) == ""
