"""The output of commands: answers on stdout, remarks and errors on stderr, each in one of two forms.

`--json` changes the form, never the content. Text from elsewhere is cleaned before it meets a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from gaia_mcp.cli.screen.terminal import broken, broken_message, has_colours, on_terminal
from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.safetext import clean, clean_json, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gaia_mcp.errors import MCPError

# A large text is written in pieces: encoding it whole would cost its size once more.
PIECE_CHARS = 1 << 20
# An error is one line, however long a server's message is.
ERROR_CHARS = 2000
# What an error of writing the answer is about, as the `filename` of an `OSError`.
STDOUT = "standard output"


class Form:
    """The form of what the running command prints."""

    as_json = False
    debug = False
    quiet = False
    # Whether a text in a pipe ends as it came, rather than with a newline.
    raw = False
    # How many characters of an answer's text are printed; all without a number.
    max_chars: int | None = None
    # Whether stdout is discarded, since its reader has gone.
    is_dropped = False
    # Makes what is entered while something is written: the line that moves on the terminal makes room for it.
    room: Callable[[], AbstractContextManager[object]] = nullcontext


def choose_form(
    *, as_json: bool, debug: bool, quiet: bool = False, raw: bool = False, max_chars: int | None = None
) -> None:
    """Set the form of the running command."""
    Form.as_json = as_json
    Form.debug = debug
    Form.quiet = quiet
    Form.raw = raw
    Form.max_chars = max_chars


def counted(number: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def print_line(text: str, colour: Literal["", "red", "green", "yellow"] = "") -> None:
    """Print a line of the answer, with its first word in `colour` on a terminal that has colours."""
    shown = text
    if on_terminal(sys.stdout):
        shown = "\n".join(part for line in clean(text).split("\n") for part in broken(line, sys.stdout))
    if colour and has_colours():
        from gaia_mcp.cli.screen import colours

        code = getattr(colours, colour.upper())
        shown = re.sub(r"\S+", lambda word: f"{code}{word[0]}{colours.RESET}", shown, count=1)
    write_text(shown + "\n")


def print_json(value: Any) -> None:
    """Print the answer as JSON, piece by piece: a large one is never in memory as a whole."""
    small: list[str] = []
    size = 0
    for piece in _json_pieces(value, indent=2):
        size += len(piece)
        if size <= PIECE_CHARS:
            small.append(piece)
        else:
            _write_json("".join(small))
            _write_json(piece)
            small.clear()
            size = 0
    _write_json("".join(small) + "\n")


def print_event(value: Any) -> None:
    """Print one of many answers, which come one by one, as JSON on a line of its own."""
    _write_json("".join(_json_pieces(value)) + "\n")


def json_text(value: Any) -> str:
    """The JSON that `print_json` prints."""
    return "".join(_json_pieces(value, indent=2)) + "\n"


def _json_pieces(value: Any, indent: int | None = None) -> Iterator[str]:
    """As JSON, which has no infinite numbers: a server's `1e400` is read as one, and becomes null, as in JavaScript."""
    for piece in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(value):
        # Every text ends with a quotation mark.
        if piece.endswith(("Infinity", "NaN")):
            yield re.sub(r"-?(?:Infinity|NaN)$", "null", piece)
        else:
            yield piece


def _write_json(text: str) -> None:
    """JSON, on a terminal without what it leaves of control characters, and in colours."""
    if on_terminal(sys.stdout):
        from gaia_mcp.cli.screen.colours import coloured

        text = clean_json(text)
        text = coloured(text, "json") if has_colours() else text
    write_text(text)


def done(text: str, **facts: Any) -> None:
    """Print what has been done, in words or as an object."""
    if Form.as_json:
        print_json(facts)
    else:
        print_line(text)


def write_text(text: str) -> None:
    """Write to stdout as it is, but for what no encoding can carry, and make sure that it is out.

    A reader that has gone, as `head` does, is no error, and does not change the exit code.
    """
    with _to_stdout():
        for start in range(0, len(text), PIECE_CHARS):
            sys.stdout.write(encodable(text[start : start + PIECE_CHARS]))
        sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout, in the same way."""
    with _to_stdout():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        drop_stdout()
    except OSError as error:
        error.filename = STDOUT
        raise


def drop_stdout() -> None:
    """Discard what is buffered for stdout, and all that follows."""
    Form.is_dropped = True
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def is_read() -> bool:
    """Whether stdout still has a reader: a command without an end must not outlive it."""
    import select

    if Form.is_dropped or not hasattr(select, "poll"):
        return not Form.is_dropped
    poller = select.poll()
    try:
        poller.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # closed, or not a file at all
        return True
    return not any(event & select.POLLERR for _, event in poller.poll(0))


def to_stderr(text: str, *, end: str = "\n") -> None:
    """Print lines that are not the answer."""
    try:
        with Form.room():
            print(encodable(text), file=sys.stderr, end=end, flush=True)
    except (OSError, ValueError):
        return  # stderr has no reader; the exit code is still right.


def remark(text: str) -> None:
    """Print a remark, unless `--quiet` is given."""
    if not Form.quiet:
        _to_person("note", text)


def _to_person(label: str, text: str) -> None:
    to_stderr("\n".join(broken_message(f"{label}: {one_line(text, ERROR_CHARS)}", sys.stderr)))


def report_failure(what: str, error: BaseException) -> None:
    """Report in one line what somebody's code raised while it was served, with `--debug` also the traceback."""
    _trace(error)
    _to_person("error", what)


def _trace(error: BaseException) -> None:
    if Form.debug:
        import traceback

        to_stderr("".join(traceback.format_exception(error)).rstrip())


def report(error: MCPError) -> ExitStatus:
    """Report an error in two lines on stderr. Returns its exit code."""
    _trace(error)
    _to_person("error", error.message)
    _to_person("hint", _hint_for(error) or "more with --debug")
    return status_of(error)


def fail(error: MCPError) -> ExitStatus:
    """Report the error that ends the command, with `--json` also as the answer."""
    status = report(error)
    if Form.as_json:
        try:
            print_json({"error": error_object(error), "exit": int(status)})
        except OSError:
            drop_stdout()  # A full disk, perhaps the error that was just reported on stderr.
    return status


def fail_with(errors: Iterable[MCPError]) -> None:
    """Report errors that do not end the answer. If there is any, raises `Exit` with the exit code of the first."""
    statuses = [report(error) for error in errors]
    if statuses:
        import typer

        raise typer.Exit(statuses[0])


def _hint_for(error: MCPError) -> str:
    from gaia_mcp.errors import MCPError

    # An error of no class of its own brings its hint along: nothing is loaded for one about the lack of memory.
    if error.hint and type(error) is MCPError:
        return error.hint
    from gaia_mcp.cli.hints import hint_for

    return hint_for(error)


def error_object(error: MCPError) -> dict[str, Any]:
    """An error as JSON shows it."""
    shown: dict[str, Any] = {"kind": error.kind, "message": clean(error.message), "hint": clean(_hint_for(error))}
    if error.server:
        shown["server"] = error.server
    return {**shown, **error.facts}
