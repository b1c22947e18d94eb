"""The output of commands: results on stdout, remarks and errors on stderr, each as text or as JSON.

`--json` changes the form, never the content. Text from other sources is sanitized before it reaches a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from gaia_mcp.cli.screen import broken, broken_message, has_colours, on_terminal
from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.text import clean, clean_json, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.core.errors import MCPError

# A large text is written in pieces: encoding it at once would need its size again.
PIECE_CHARS = 1 << 20
# An error is a single line, however long the server's message is.
ERROR_CHARS = 2000
# The `filename` of an `OSError` that was raised while writing the result.
STDOUT = "standard output"


def counted(number: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def json_text(value: Any) -> str:
    """The JSON that `print_json` prints."""
    return "".join(_json_pieces(value, indent=2)) + "\n"


def _json_pieces(value: Any, indent: int | None = None) -> Iterator[str]:
    """`value` as JSON, which has no infinite numbers: a server's `1e400` is parsed as infinity, and becomes null, as in
    JavaScript.
    """
    for piece in json.JSONEncoder(ensure_ascii=False, indent=indent).iterencode(value):
        # Every string ends with a quotation mark.
        if piece.endswith(("Infinity", "NaN")):
            yield re.sub(r"-?(?:Infinity|NaN)$", "null", piece)
        else:
            yield piece


class Screen:
    """What the command of `line` prints, in the form that its options choose: as JSON, with tracebacks, without
    remarks, without a final newline in a pipe (`raw`), with at most `max_chars` characters of a result's text. `write`
    is called with the number of a standard stream and what is to be printed there, in place of this process's own.
    """

    def __init__(
        self,
        line: CommandLine,
        *,
        as_json: bool = False,
        debug: bool = False,
        quiet: bool = False,
        raw: bool = False,
        max_chars: int | None = None,
        write: Callable[[int, bytes], None] | None = None,
    ) -> None:
        self.line = line
        self._write = write
        self.as_json = as_json
        self.debug = debug
        self.quiet = quiet
        self.raw = raw
        self.max_chars = max_chars
        # A context manager to enter while writing: the progress line makes room.
        self.room: Callable[[], AbstractContextManager[object]] = nullcontext
        # Whether stdout is discarded, because its reader was closed.
        self._is_dropped = False
        if debug:
            self.show_log("gaia_mcp", "debug")

    def print_line(self, text: str, colour: Literal["", "red", "green", "yellow"] = "") -> None:
        """Print a line of the result, with its first word in `colour` on a terminal that supports colours."""
        shown = text
        if on_terminal(sys.stdout):
            shown = "\n".join(part for line in clean(text).split("\n") for part in broken(line, sys.stdout))
        if colour and has_colours():
            from gaia_mcp.cli.screen import colours

            code = getattr(colours, colour.upper())
            shown = re.sub(r"\S+", lambda word: f"{code}{word[0]}{colours.RESET}", shown, count=1)
        self.write_text(shown + "\n")

    def print_json(self, value: Any) -> None:
        """Print the result as JSON, piece by piece, so that a large one is never in memory as a whole."""
        small: list[str] = []
        size = 0
        for piece in _json_pieces(value, indent=2):
            size += len(piece)
            if size <= PIECE_CHARS:
                small.append(piece)
            else:
                self._write_json("".join(small))
                self._write_json(piece)
                small.clear()
                size = 0
        self._write_json("".join(small) + "\n")

    def print_event(self, value: Any) -> None:
        """Print one of a series of results as JSON on a single line."""
        try:
            # Ten times as fast.
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except ValueError:
            text = "".join(_json_pieces(value))
        self._write_json(text + "\n")

    def _write_json(self, text: str) -> None:
        """Write JSON; on a terminal in colours, and without the control characters that JSON does not escape."""
        if on_terminal(sys.stdout):
            from gaia_mcp.cli.screen.colours import coloured

            text = clean_json(text)
            text = coloured(text, "json") if has_colours() else text
        self.write_text(text)

    def done(self, text: str, **facts: Any) -> None:
        """Print what was done, as text or as an object."""
        if self.as_json:
            self.print_json(facts)
        else:
            self.print_line(text)

    def write_text(self, text: str) -> None:
        """Write to stdout and flush. The text is unchanged, except for characters that cannot be encoded.

        A closed reader, such as `head`, is not an error, and does not change the exit code.
        """
        if self._write is not None:
            self._write(1, encodable(text).encode())
            return
        with self._to_stdout():
            for start in range(0, len(text), PIECE_CHARS):
                sys.stdout.write(encodable(text[start : start + PIECE_CHARS]))
            sys.stdout.flush()

    def write_bytes(self, data: bytes) -> None:
        """Write bytes to stdout; otherwise as `write_text`."""
        if self._write is not None:
            self._write(1, data)
            return
        with self._to_stdout():
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    @contextmanager
    def _to_stdout(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.drop_stdout()
        except OSError as error:
            error.filename = STDOUT
            raise

    def drop_stdout(self) -> None:
        """Discard what is buffered for stdout, and all further output."""
        self._is_dropped = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

    def is_read(self) -> bool:
        """Whether stdout still has a reader; a command that runs forever must end when its reader does."""
        import select

        if self._is_dropped or not hasattr(select, "poll"):
            return not self._is_dropped
        poller = select.poll()
        try:
            poller.register(sys.stdout.fileno(), 0)
        except (OSError, ValueError):  # closed, or not a file
            return True
        return not any(event & select.POLLERR for _, event in poller.poll(0))

    def to_stderr(self, text: str, *, end: str = "\n") -> None:
        """Print lines that are not part of the result."""
        if self._write is not None:
            self._write(2, encodable(text + end).encode())
            return
        try:
            with self.room():
                print(encodable(text), file=sys.stderr, end=end, flush=True)
        except (OSError, ValueError):
            return  # stderr has no reader; the exit code is not affected.

    def show_log(self, name: str, level: str) -> None:
        """Print on stderr what is logged with Python's logger of this name, or one below it, from this level on."""
        import logging

        to_stderr = self.to_stderr

        class Printing(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                to_stderr(clean(self.format(record)))

        logger = logging.getLogger(name)
        logger.handlers = [Printing()]
        logger.setLevel(level.upper())

    def remark(self, text: str) -> None:
        """Print a remark, unless `--quiet` is given."""
        if not self.quiet:
            self._to_person("note", text)

    def _to_person(self, label: str, text: str) -> None:
        self.to_stderr("\n".join(broken_message(f"{label}: {one_line(text, ERROR_CHARS)}", sys.stderr)))

    def report_failure(self, what: str, error: BaseException) -> None:
        """Report in one line an exception of code that is being served, with `--debug` also the traceback."""
        from gaia_mcp.server.outcomes import placed

        self._trace(error)
        self._to_person("error", placed(what, error))

    def _trace(self, error: BaseException) -> None:
        if self.debug:
            import traceback

            self.to_stderr("".join(traceback.format_exception(error)).rstrip())

    def report(self, error: MCPError) -> ExitStatus:
        """Report an error in two lines on stderr. Returns its exit code."""
        self._trace(error)
        self._to_person("error", error.message)
        self._to_person("hint", self._hint_for(error) or "more with --debug")
        return status_of(error)

    def fail(self, error: MCPError) -> ExitStatus:
        """Report the error that ends the command, with `--json` also as the result."""
        status = self.report(error)
        if self.as_json:
            try:
                self.print_json({"error": self.error_object(error), "exit": int(status)})
            except OSError:
                self.drop_stdout()  # The disk is full; possibly that is the error reported on stderr.
        return status

    def fail_with(self, errors: Iterable[MCPError]) -> None:
        """Report errors that do not replace the result. Raises `Exit` with the exit code of the first, if any."""
        statuses = [self.report(error) for error in errors]
        if statuses:
            import typer

            raise typer.Exit(statuses[0])

    def _hint_for(self, error: MCPError) -> str:
        from gaia_mcp.core.errors import MCPError

        # A plain `MCPError` has its own hint. Nothing is imported for it, because it may report a lack of memory.
        if error.hint and type(error) is MCPError:
            return error.hint
        from gaia_mcp.cli.hints import hint_for

        return hint_for(self.line, error)

    def error_object(self, error: MCPError) -> dict[str, Any]:
        """An error in its JSON form."""
        shown: dict[str, Any] = {
            "kind": error.kind,
            "message": clean(error.message),
            "hint": clean(self._hint_for(error)),
        }
        if error.server:
            shown["server"] = error.server
        return {**shown, **error.facts}
