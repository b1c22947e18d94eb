"""`cli.screen.render`: how a result is printed, and how the files in it are saved."""

from __future__ import annotations

import base64
import io
import json
import resource
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.screen import render
from gaia_mcp.cli.screen.output import Screen
from gaia_mcp.cli.screen.render import Destination, SaveError
from gaia_mcp.text.redaction.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PIXEL = base64.b64encode(b"\x89PNG").decode()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)


def show_result(
    server: str,
    tool: str,
    result: dict[str, Any],
    destination: Destination | None,
    masker: Callable[[], Masker],
    screen: Screen | None = None,
) -> None:
    screen = screen or Screen(CommandLine())
    render.show_result(screen, server, tool, result, destination, masker, lambda said: f"it said {said!r}")


def shown(
    capsys: pytest.CaptureFixture[str],
    *blocks: Any,
    folder: Path | None = None,
    screen: Screen | None = None,
    **result: Any,
) -> str:
    destination = Destination(folder, is_folder=True) if folder else None
    show_result("s", "my tool/1", {"content": list(blocks), **result}, destination, Masker, screen)
    return capsys.readouterr().out


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_each_text_block_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a missing newline is added; with `--raw` the last block gets none."""
    assert shown(capsys, text("a"), text("b\n"), text(""), text("c")) == "a\nb\nc\n"
    assert shown(capsys, text("a"), text("b\n")) == "a\nb\n"
    assert shown(capsys, text("")) == ""
    raw = Screen(CommandLine(), raw=True)
    assert shown(capsys, text("a"), text("b"), screen=raw) == "a\nb"


def test_structured_content_replaces_missing_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Spec: the text repeats the structured content; without text, the structure is printed."""
    assert json.loads(shown(capsys, structuredContent={"a": [1]})) == {"a": [1]}
    assert shown(capsys, text("t"), structuredContent={"a": 1}) == "t\n"
    assert shown(capsys, text(""), structuredContent={"a": 1}) == ""
    assert shown(capsys) == ""


def test_an_unknown_kind_of_block_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Spec: a client must not fail on a content type that it does not know."""
    block = {"type": "hologram", "depth": 3}

    assert json.loads(shown(capsys, block)) == block


def test_content_that_is_not_a_list_of_blocks_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: a server's mistake must cause neither a traceback nor an empty output."""
    show_result("s", "t", {"content": "nonsense"}, None, Masker)
    show_result("s", "t", {"content": [1, text("x")]}, None, Masker)
    show_result("s", "t", {}, None, Masker)

    out, err = capsys.readouterr()
    assert out == '"nonsense"\n1\nx\n'
    assert err.count("has no 'type', and is printed as JSON") == 2
    assert "the result of 't' has no 'content'" in err


def test_a_file_is_named_by_its_content_and_stays_in_its_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ours: never outside the folder, whatever name a server gives."""
    blocks: list[tuple[dict[str, Any], str]] = [
        ({"type": "image", "data": PIXEL, "mimeType": "image/png"}, "my-tool-1.png"),
        ({"type": "image", "data": PIXEL, "mimeType": "image/jpeg"}, "my-tool-1.jpg"),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/wav; rate=8000"}, "my-tool-1.wav"),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/unheard-of"}, "my-tool-1.bin"),
        ({"type": "image", "data": PIXEL}, "my-tool-1.bin"),
        ({"type": "resource", "resource": {"uri": "file:///a/b/report.pdf", "blob": PIXEL}}, "report.pdf"),
        ({"type": "resource", "resource": {"uri": "x://y/..%2F..%2Fetc", "blob": PIXEL}}, "2F..-2Fetc.bin"),
        ({"type": "resource", "resource": {"uri": "x://../../../.bashrc", "blob": PIXEL}}, "bashrc.bin"),
        ({"type": "resource", "resource": {"uri": "x://ÄÖ", "blob": PIXEL, "mimeType": "image/png"}}, "my-tool-1.png"),
    ]

    for number, (block, name) in enumerate(blocks):
        place = tmp_path / str(number)
        printed = shown(capsys, block, folder=place / "out").strip()
        assert printed == str(place / "out" / name), block
        assert (place / "out" / name).read_bytes() == b"\x89PNG", block
        assert [path.name for path in place.iterdir()] == ["out"], block


def test_data_that_is_not_base64_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: the answer of a tool must not disappear because its encoding is wrong."""
    assert shown(capsys, {"type": "image", "data": "abc", "mimeType": "image/png"}) == "abc\n"


def test_a_block_without_its_content_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: nothing printed and exit code 0 would look as if the tool had returned nothing."""
    blocks: list[tuple[Any, str, str]] = [
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
    ]

    for block, printed, lacks in blocks:
        show_result("s", "t", {"content": [block]}, None, Masker)
        out, err = capsys.readouterr()
        assert out == f"{printed}\n", block
        assert (f"no {lacks!r}" in err or f"nor {lacks!r}" in err) if lacks else err == "", block


def test_an_error_in_saving_reports_that_the_tool_has_run(tmp_path: Path) -> None:
    """Ours: the tool may have changed something, so the person must know before a retry."""
    (tmp_path / "out").write_text("")
    folder = Destination(tmp_path / "out", is_folder=True)

    with pytest.raises(SaveError) as caught:
        show_result("s", "t", {"content": [{"type": "image", "data": PIXEL}]}, folder, Masker)

    assert "has run" in caught.value.hint


def test_a_tool_error_is_reported_once_and_its_files_are_saved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ours: in a pipe on stderr, masked. An error without text has its structured content as the reason."""
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


def test_a_full_disk_leaves_no_partial_file(tmp_path: Path) -> None:
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


def test_text_on_a_terminal_is_escaped_and_ends_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a server must not control the terminal, and the prompt begins a new line."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)

    show_result("s", "t", {"content": [text("a\x1b[31mb")]}, None, Masker)

    assert terminal.getvalue() == "a\\x1b[31mb\n"


def test_an_unsaved_picture_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: if the terminal can; otherwise it is described, and in a pipe it is omitted."""
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


def test_a_pipe_gets_text_unchanged_except_for_surrogates(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: half a surrogate pair has no encoding in UTF-8."""
    assert shown(capsys, text("a\x1b[31mb\ud800")) == "a\x1b[31mb\ufffd\n"


def test_max_chars_limits_all_text_of_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: with a note of how much is missing, so that the beginning is not mistaken for the whole."""
    screen = Screen(CommandLine(), max_chars=5)

    show_result("s", "t", {"content": [text("abc"), text("defgh"), text("ijk")]}, None, Masker, screen)
    out, err = capsys.readouterr()
    assert out == "abc\nde\n"
    assert err == "note: 6 more characters; for all of it leave out --max-chars\n"

    show_result("s", "t", {"content": [text("abcde")]}, None, Masker, screen)
    assert capsys.readouterr() == ("abcde\n", "")

    show_result("s", "t", {"content": [], "structuredContent": {"a": 1}}, None, Masker, screen)
    out, err = capsys.readouterr()
    assert out == '{\n  "\n'
    assert err.startswith("note: 8 more characters; ")

    show_result("s", "t", {"content": [text("a reason\nof two lines")], "isError": True}, None, Masker, screen)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[:2]) == (
        "",
        ["a rea", "note: 16 more characters; for all of it leave out --max-chars"],
    )
