"""`cli.render`: what a result looks like, and what becomes of the files in it."""

from __future__ import annotations

import base64
import io
import json
import resource
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.screen import render
from gaia_mcp.cli.screen.destination import Destination, SaveError
from gaia_mcp.cli.screen.output import choose_form
from gaia_mcp.redaction.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PIXEL = base64.b64encode(b"\x89PNG").decode()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain form, in a folder of its own."""
    choose_form(as_json=False, debug=False)
    monkeypatch.chdir(tmp_path)


def show_result(
    server: str, tool: str, result: dict[str, Any], destination: Destination | None, masker: Callable[[], Masker]
) -> None:
    render.show_result(server, tool, result, destination, masker, lambda said: f"it said {said!r}")


def shown(capsys: pytest.CaptureFixture[str], *blocks: Any, folder: Path | None = None, **result: Any) -> str:
    destination = Destination(folder, is_folder=True) if folder else None
    show_result("s", "my tool/1", {"content": list(blocks), **result}, destination, Masker)
    return capsys.readouterr().out


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_pieces_are_on_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a line end is added where there is none; with `--raw` none after the last."""
    assert shown(capsys, text("a"), text("b\n"), text(""), text("c")) == "a\nb\nc\n"
    assert shown(capsys, text("a"), text("b\n")) == "a\nb\n"
    assert shown(capsys, text("")) == ""
    choose_form(as_json=False, debug=False, raw=True)
    assert shown(capsys, text("a"), text("b")) == "a\nb"


def test_structured_content_stands_in_for_missing_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Specification: the text repeats it; where it does not, the structure is the answer."""
    assert json.loads(shown(capsys, structuredContent={"a": [1]})) == {"a": [1]}
    assert shown(capsys, text("t"), structuredContent={"a": 1}) == "t\n"
    assert shown(capsys) == ""


def test_a_kind_of_block_that_is_not_known_is_shown_raw(capsys: pytest.CaptureFixture[str]) -> None:
    """Specification: keep or print it raw, do not fail the whole result."""
    block = {"type": "hologram", "depth": 3}

    assert json.loads(shown(capsys, block)) == block


def test_content_that_is_no_list_of_blocks_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a server's mistake must not become our traceback, nor an answer without a word."""
    show_result("s", "t", {"content": "nonsense"}, None, Masker)
    show_result("s", "t", {"content": [1, text("x")]}, None, Masker)
    show_result("s", "t", {}, None, Masker)

    out, err = capsys.readouterr()
    assert out == '"nonsense"\n1\nx\n'
    assert err.count("has no 'type', and is printed as JSON") == 2
    assert "the result of 't' has no 'content'" in err


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"type": "image", "data": PIXEL, "mimeType": "image/png"}, "my-tool-1.png"),
        ({"type": "image", "data": PIXEL, "mimeType": "image/jpeg"}, "my-tool-1.jpg"),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/wav; rate=8000"}, "my-tool-1.wav"),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/unheard-of"}, "my-tool-1.bin"),
        ({"type": "image", "data": PIXEL}, "my-tool-1.bin"),
        ({"type": "resource", "resource": {"uri": "file:///a/b/report.pdf", "blob": PIXEL}}, "report.pdf"),
        ({"type": "resource", "resource": {"uri": "x://y/..%2F..%2Fetc", "blob": PIXEL}}, "2F..-2Fetc.bin"),
        ({"type": "resource", "resource": {"uri": "x://../../../.bashrc", "blob": PIXEL}}, "bashrc.bin"),
        ({"type": "resource", "resource": {"uri": "x://ÄÖ", "blob": PIXEL, "mimeType": "image/png"}}, "my-tool-1.png"),
    ],
)
def test_a_files_name_is_sensible_and_stays_in_its_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, block: dict[str, Any], name: str
) -> None:
    """Ours: named by what it is, and never outside the folder, whatever a server calls it."""
    printed = shown(capsys, block, folder=tmp_path / "out").strip()

    assert printed == str(tmp_path / "out" / name)
    assert (tmp_path / "out" / name).read_bytes() == b"\x89PNG"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_data_that_is_not_base64_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    assert shown(capsys, {"type": "image", "data": "abc", "mimeType": "image/png"}) == "abc\n"


@pytest.mark.parametrize(
    ("block", "printed", "lacks"),
    [
        ({"type": "text"}, '{"type": "text"}', "text"),
        ({"type": "text", "text": None}, '{"type": "text", "text": null}', "text"),
        ({"type": "text", "text": {"a": 1}}, '{"type": "text", "text": {"a": 1}}', "text"),
        ({"type": "text", "text": 5}, "5", ""),
        ({"type": "image"}, '{"type": "image"}', "data"),
        ({"type": "audio", "data": 5}, '{"type": "audio", "data": 5}', "data"),
        ({"type": "resource"}, '{"type": "resource"}', "resource"),
        ({"type": "resource", "resource": {"uri": "x:y"}}, '{"uri": "x:y"}', "blob"),
        ({"type": "resource_link", "name": "a"}, '{"type": "resource_link", "name": "a"}', "uri"),
        ({"text": "a"}, '{"text": "a"}', "type"),
        ({"type": ["text"]}, '{"type": ["text"]}', "type"),
        ("a", '"a"', "type"),
        (None, "null", "type"),
        ({"type": "video", "data": "a"}, '{"type": "video", "data": "a"}', ""),
    ],
)
def test_a_block_without_its_content_is_not_lost(
    capsys: pytest.CaptureFixture[str], block: Any, printed: str, lacks: str
) -> None:
    """Ours: nothing printed and exit code 0 would look as if the tool had returned nothing."""
    show_result("s", "t", {"content": [block]}, None, Masker)

    out, err = capsys.readouterr()
    assert out == f"{printed}\n"
    assert (f"no {lacks!r}" in err or f"nor {lacks!r}" in err) if lacks else err == ""


def test_a_failure_in_saving_says_that_the_tool_has_run(tmp_path: Path) -> None:
    """Ours: so that nobody runs it twice without knowing."""
    (tmp_path / "out").write_text("")
    folder = Destination(tmp_path / "out", is_folder=True)

    with pytest.raises(SaveError) as caught:
        show_result("s", "t", {"content": [{"type": "image", "data": PIXEL}]}, folder, Masker)

    assert "has run" in caught.value.hint


def test_a_failure_is_said_once_and_what_belongs_to_it_is_saved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ours: in a pipe on stderr, without secrets. A failure without text has its structure as the reason."""
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    folder = Destination(tmp_path / "out", is_folder=True)

    show_result(
        "s", "t", {"content": [text("no s3cret key"), picture], "isError": True}, folder, lambda: Masker(["s3cret"])
    )
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/out/t.png\n"
    assert err.splitlines() == ["error: tool 't' of 's' failed: no **** key", "hint: it said 'no **** key'"]

    show_result("s", "t", {"content": [], "structuredContent": {"code": 5}, "isError": True}, None, Masker)
    assert capsys.readouterr().err.splitlines()[0] == """error: tool 't' of 's' failed: {"code": 5}"""

    show_result("s", "t", {"content": [picture], "isError": True}, None, Masker)
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 3)
    assert "failed: no reason given" in err


def test_a_full_disk_leaves_no_half_a_picture(tmp_path: Path) -> None:
    """Ours: a limit on the size of files stands for the disk."""
    picture = base64.b64encode(bytes(9000)).decode()
    folder = Destination(tmp_path / "out", is_folder=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(SaveError) as caught:
            show_result("s", "t", {"content": [{"type": "image", "data": picture}]}, folder, Masker)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert "cannot be saved" in caught.value.message
    assert list((tmp_path / "out").iterdir()) == []


def test_a_terminal_gets_clean_text_and_a_last_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)

    show_result("s", "t", {"content": [text("a\x1b[31mb")]}, None, Masker)

    assert terminal.getvalue() == "a\\x1b[31mb\n"


def test_a_picture_is_shown_where_it_is_not_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: on a terminal that can; else it is described, and in a pipe it is left out."""
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    result = {"content": [{"type": "image", "data": picture, "mimeType": "image/png"}]}
    monkeypatch.setenv("TERM", "xterm")
    for stream, images, folder, beginning in (
        (Terminal(), "kitty", None, "\x1b_G"),
        (Terminal(), "never", None, "[image/png, 8 bytes]\n"),
        (Terminal(), "kitty", Destination(tmp_path, is_folder=True), f"{tmp_path}/t.png\n"),
        (io.StringIO(), "kitty", None, ""),
    ):
        monkeypatch.setenv("GAIA_IMAGES", images)
        monkeypatch.setattr("sys.stdout", stream)
        show_result("s", "t", result, folder, Masker)
        assert stream.getvalue().startswith(beginning)
        assert bool(stream.getvalue()) is bool(beginning)


def test_a_pipe_gets_every_byte_but_what_no_encoding_carries(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours."""
    assert shown(capsys, text("a\x1b[31mb\ud800")) == "a\x1b[31mb\ufffd\n"


def test_text_is_cut_at_a_limit_for_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: and how much more there is is said, or the beginning would be taken for the whole."""
    choose_form(as_json=False, debug=False, max_chars=5)

    show_result("s", "t", {"content": [text("abc"), text("defgh"), text("ijk")]}, None, Masker)
    out, err = capsys.readouterr()
    assert out == "abc\nde\n"
    assert err == "note: 6 more characters; for all of it leave out --max-chars\n"

    show_result("s", "t", {"content": [text("abcde")]}, None, Masker)
    assert capsys.readouterr() == ("abcde\n", "")

    show_result("s", "t", {"content": [], "structuredContent": {"a": 1}}, None, Masker)
    out, err = capsys.readouterr()
    assert out == '{\n  "\n'
    assert err.startswith("note: 8 more characters; ")

    show_result("s", "t", {"content": [text("a reason\nof two lines")], "isError": True}, None, Masker)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[:2]) == (
        "",
        ["a rea", "note: 16 more characters; for all of it leave out --max-chars"],
    )
