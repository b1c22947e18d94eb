"""A tool's result on stdout, and what is not text in files."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.hints import to_type
from gaia_mcp.cli.screen.output import Form, print_json, remark, report, write_text
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.errors import MCPError
from gaia_mcp.safetext import one_line, redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# For types to which the platform's table gives an unusual suffix, or none.
_SUFFIXES = {
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "application/octet-stream": ".bin",
    "text/plain": ".txt",
}
_UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


class Piece(NamedTuple):
    """A part of an answer: `text`, of the type that its server says, and before it what a terminal is `drawn`."""

    text: str
    mime_type: object = "text/plain"
    drawn: str = ""


class ToolFailedError(MCPError, kind="tool-failed"):
    """For its two lines only: the tool ran and reported an error, which is a result."""


def show_result(
    server: str, tool: str, result: dict[str, Any], output_dir: Path | None, secrets: Sequence[str] = ()
) -> None:
    """Print the result: as JSON with `--json`, else its text, and the paths of the files that were saved.

    An error is reported without `secrets`, since it may go into a log.
    """
    content = result.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if Form.as_json:
        if output_dir is not None:
            for _ in _pieces(tool, blocks, output_dir):
                continue
        print_json(result)
    else:
        _write_pieces(_pieces(tool, blocks, output_dir), result)
    if result.get("isError"):
        texts = (block["text"] for block in blocks if isinstance(block.get("text"), str))
        said = one_line(redacted(next(texts, ""), secrets), 300) or "no reason given"
        if blocks and not Form.as_json and on_terminal(sys.stdout) and on_terminal(sys.stderr):
            said = "see above"  # The same person reads both.
        hint = f"see what it takes: {to_type('call', server, tool, more='--help')}"
        report(ToolFailedError(f"tool {tool!r} of {server!r} failed: {said}", hint=hint))


def show_messages(prompt: str, result: dict[str, Any], folder: Path | None) -> None:
    """Print a prompt that has been filled in: as JSON with `--json`, else its messages, several under their roles."""
    if Form.as_json:
        print_json(result)
        return
    messages = [message for message in result["messages"] if isinstance(message, dict)]

    def pieces() -> Iterator[Piece]:
        for message in messages:
            if len(messages) > 1:
                yield Piece(f"[{message.get('role')}]\n")
            content = message.get("content")
            blocks = content if isinstance(content, list) else [content]
            yield from _pieces(prompt, [block for block in blocks if isinstance(block, dict)], folder)

    _write_pieces(pieces(), {})


def show_contents(uri: str, result: dict[str, Any], folder: Path | None) -> None:
    """Print a resource: as JSON with `--json`, else its text, and the paths of the files that were saved."""
    if Form.as_json:
        print_json(result)
        return
    blocks = [{"type": "resource", "resource": content} for content in result["contents"] if isinstance(content, dict)]
    _write_pieces(_pieces(uri, blocks, folder), {})


def _write_pieces(pieces: Iterator[Piece], result: dict[str, Any]) -> None:
    terminal = on_terminal(sys.stdout)
    last = ""
    for number, piece in enumerate(pieces):
        if number and not last.endswith("\n"):
            write_text("\n")
        last = piece.text
        if terminal:
            # Only now: a pipe gets the server's text unchanged.
            from gaia_mcp.cli.screen.display import show_text

            write_text(piece.drawn)
            last = show_text(last, piece.mime_type)
        else:
            write_text(last)
    if not last and "structuredContent" in result:
        print_json(result["structuredContent"])
    elif last and not last.endswith("\n") and (terminal or result.get("isError")):
        # A pipe gets exactly the tool's text, but a failure must not run into the error that follows.
        write_text("\n")


def _pieces(tool: str, blocks: list[dict[str, Any]], folder: Path | None) -> Iterator[Piece]:
    """Each block as text: its own, or the path of the file that it was saved in."""
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            yield Piece(str(block.get("text", "")), None)
        elif kind in ("image", "audio"):
            yield _saved(tool, block.get("data"), block.get("mimeType"), "", folder)
        elif kind == "resource" and isinstance(resource := block.get("resource"), dict):
            mime_type = resource.get("mimeType")
            if isinstance(resource.get("text"), str):
                yield Piece(resource["text"], mime_type)
            else:
                yield _saved(tool, resource.get("blob"), mime_type, str(resource.get("uri", "")), folder)
        elif kind == "resource_link":
            yield Piece(str(block.get("uri", "")))
        else:
            # A kind of a newer protocol version is printed as JSON rather than lost.
            yield Piece(json.dumps(block, ensure_ascii=False), "application/json")


def _saved(tool: str, data: Any, mime_type: Any, uri: str, folder: Path | None) -> Piece:
    """The path of the saved file. A picture without a folder of its own is drawn as well, if the terminal can."""
    try:
        decoded = base64.b64decode(data, validate=False)
    except (binascii.Error, TypeError, ValueError):
        remark("a file in the result is not base64, and is printed as it came")
        return Piece(str(data))
    mime = mime_type if isinstance(mime_type, str) else "application/octet-stream"
    where = folder or Path()
    try:
        where.mkdir(parents=True, exist_ok=True)
        path = _write_new(where, *_name_for(tool, mime, uri), decoded)
    except OSError as problem:
        raise MCPError(
            f"{mime} of {len(decoded)} bytes cannot be saved in {where}: {problem.strerror}",
            hint="choose another folder with --output-dir; the tool has run, calling it again runs it again",
        ) from problem
    if Form.as_json:
        remark(f"saved {path}")  # The result itself has no place for that.
    elif folder is None and on_terminal(sys.stdout):
        from gaia_mcp.cli.screen.images import drawn

        return Piece(f"{path}\n", drawn=drawn(decoded))
    return Piece(f"{path}\n")


def _name_for(tool: str, mime: str, uri: str) -> tuple[str, str]:
    """Stem and suffix of the file's name, safe on every system."""
    kind = mime.partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ".bin"
    last = uri.rstrip("/").rpartition("/")[2]
    stem, dot, own = last.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", own):
        suffix = f".{own}"
    else:
        stem = last
    safe = _UNSAFE_IN_NAMES.sub("-", stem).strip("-.") or _UNSAFE_IN_NAMES.sub("-", tool).strip("-.") or "file"
    return safe[:80], suffix


def _write_new(folder: Path, stem: str, suffix: str, data: bytes) -> Path:
    """Write a new file: an existing one is never replaced."""
    number = 1
    while True:
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            file = path.open("xb")
        except FileExistsError:
            number += 1
            continue
        try:
            with file:
                file.write(data)
        except BaseException:
            # On a full disk, or at a Ctrl-C: half a picture is useless.
            path.unlink(missing_ok=True)
            raise
        return path
