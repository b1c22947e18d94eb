"""What a person or a program sees: answers on stdout, remarks and errors on stderr, each in one of two forms.

`--json` changes the form, never the content. Text from elsewhere is cleaned before it meets a terminal.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.safetext import clean, encodable, one_line, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from gaia_mcp.errors import MCPError

# A large text is written in pieces: encoding it whole would cost its size once more.
PIECE_CHARS = 1 << 20
# An error is one line, however much a server had to say.
ERROR_CHARS = 2000


class Form:
    """How the running command speaks."""

    as_json = False
    debug = False


def speak(*, as_json: bool, debug: bool) -> None:
    """Choose the form for this command."""
    Form.as_json = as_json
    Form.debug = debug


def say(text: str) -> None:
    """A line of the answer."""
    write_text((clean(text) if on_terminal(sys.stdout) else text) + "\n")


def say_json(value: Any) -> None:
    """The answer as JSON, written as it is made: a large one is never in memory as a whole."""
    small: list[str] = []
    size = 0
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(value):
        size += len(piece)
        if size <= PIECE_CHARS:
            small.append(piece)
        else:
            write_text("".join(small))
            write_text(piece)
            small.clear()
            size = 0
    write_text("".join(small) + "\n")


def done(text: str, **facts: Any) -> None:
    """What has been done, in words or as an object."""
    if Form.as_json:
        say_json(facts)
    else:
        say(text)


def write_text(text: str) -> None:
    """Write to stdout as it is, but for what no encoding can carry, and make sure that it is out.

    A reader that has gone, as `head` does, is no error, and what the exit code says does not hang on it.
    """
    try:
        for start in range(0, len(text), PIECE_CHARS):
            sys.stdout.write(encodable(text[start : start + PIECE_CHARS]))
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()


def drop_stdout() -> None:
    """Let whatever is still buffered, and what comes, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def to_stderr(text: str) -> None:
    """Lines that are not the answer."""
    try:
        print(encodable(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return  # Nobody listens to stderr; the exit code still tells.


def remark(text: str) -> None:
    """Something to know that is not the answer."""
    to_stderr(f"note: {one_line(text, ERROR_CHARS)}")


def report(error: MCPError) -> ExitStatus:
    """Report an error in two lines on stderr. The exit code is what comes back."""
    if Form.debug:
        import traceback

        to_stderr("".join(traceback.format_exception(error)).rstrip())
    to_stderr(f"error: {one_line(error.message, ERROR_CHARS)}")
    to_stderr(f"hint: {one_line(error.hint or 'more with --debug', ERROR_CHARS)}")
    return status_of(error)


def fail(error: MCPError) -> ExitStatus:
    """Report the error that ends the command, with `--json` also as the answer."""
    status = report(error)
    if Form.as_json:
        try:
            say_json({"error": error_object(error), "exit": int(status)})
        except OSError:
            drop_stdout()  # A full disk, perhaps the very error that stderr has told of already.
    return status


def error_object(error: MCPError) -> dict[str, Any]:
    """An error as JSON shows it."""
    shown: dict[str, Any] = {"kind": error.kind, "message": clean(error.message), "hint": clean(error.hint)}
    if error.server:
        shown["server"] = error.server
    return {**shown, **error.facts}


def stderr_shown(name: str, secrets: Callable[[], Sequence[str]]) -> Callable[[bytes], None] | None:
    """What shows a server's stderr line by line, without its `secrets`: with `--debug`."""
    if not Form.debug:
        return None
    begun = b""

    def show(data: bytes) -> None:
        nonlocal begun
        *lines, begun = (begun + data).split(b"\n")
        # A line that does not end is shown in pieces, rather than kept for ever.
        if len(begun) > PIECE_CHARS:
            lines, begun = [*lines, begun], b""
        for line in lines:
            to_stderr(f"[{name}] {clean(redacted(line.decode('utf-8', 'replace').rstrip(), secrets()))}")

    return show


def on_terminal(stream: TextIO) -> bool:
    """Whether a person reads `stream` as it is written."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def columns(rows: Sequence[Sequence[str]], *, gap: int = 2) -> list[str]:
    """`rows` in columns, the last one cut to the terminal's width where there is a terminal."""
    if not rows:
        return []
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "".join(cell + " " * (width + gap - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if not on_terminal(sys.stdout):
        return lines
    import shutil

    # Names are the point of a list: on a narrow terminal the rest gives way, but never below a readable line.
    width = max(shutil.get_terminal_size().columns, widths[0] + 10)
    return [line if _width(line) <= width else _cut(line, width - 1) + "…" for line in lines]


def _width(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    # Only now: `list` is to start as fast as it can.
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, width)
