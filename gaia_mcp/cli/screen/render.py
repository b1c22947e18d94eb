"""A server's result: its text on stdout, its files in the chosen destination, `-o FILE`, `-o DIR/` or `-o -`.

Without a destination, nothing is saved. A named FILE is overwritten, as by `curl -o`; a name that this program chooses
never overwrites a file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.content import File, Limit, Text, parts_of, print_parts, remark_left_out, resource_part
from gaia_mcp.cli.screen.output import (
    json_text,
)
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import MCPError
from gaia_mcp.text.safe import clean, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gaia_mcp.cli.screen.content import Part
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.text.redaction.masker import Masker

# A tool's error text up to this length is part of the error message; a longer one is printed before it.
REASON_CHARS = 300


class ToolFailedError(MCPError, kind="tool-failed"):
    """Used only for its two lines of output: the tool ran and reported an error, which is a result."""


class Answer(NamedTuple):
    """A server's result: its parts, `whole` for `--json`, and `structure`, which is printed if no part is a text."""

    parts: Iterable[Part]
    whole: Any
    structure: Any = None


def show_result(
    screen: Screen,
    server: str,
    tool: str,
    result: dict[str, Any],
    destination: Destination | None,
    masker: Callable[[], Masker],
    hint_for: Callable[[str], str],
) -> None:
    """Print the result of a tool: as JSON with `--json`, otherwise its text. Files are saved in `destination`.

    The text of a failure is printed to stderr, masked, unless stdout is a terminal; `hint_for` returns the hint for it.
    Raises `SaveError`.
    """
    content = result.get("content")
    if content is None and "structuredContent" not in result:
        screen.remark(f"the result of {tool!r} has no 'content'")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    parts = parts_of(tool, blocks)
    answer = Answer(parts, result, result.get("structuredContent"))
    try:
        if result.get("isError"):
            _show_failure(screen, server, tool, answer, destination, masker, hint_for)
        else:
            _show(screen, answer, destination)
    except SaveError as error:
        error.hint += "; the tool has run, and calling it again runs it again"
        raise


def show_messages(screen: Screen, prompt: str, result: dict[str, Any], destination: Destination | None) -> None:
    """Print a prompt's messages: as JSON with `--json`, otherwise as text, several ones under their roles.

    Raises `SaveError`.
    """
    messages = [message for message in result["messages"] if isinstance(message, dict)]

    def parts() -> Iterator[Part]:
        for message in messages:
            if len(messages) > 1:
                yield Text(f"[{message.get('role')}]\n")
            content = message.get("content")
            yield from parts_of(prompt, content if isinstance(content, list) else [content])

    _show(screen, Answer(parts(), result), destination)


def show_contents(screen: Screen, uri: str, result: dict[str, Any], destination: Destination | None) -> None:
    """Print a resource: as JSON with `--json`, otherwise its text. All its contents are files. Raises `SaveError`."""
    contents = (content for content in result["contents"] if isinstance(content, dict))
    _show(screen, Answer((resource_part(uri, content) for content in contents), result), destination)


def _show_failure(
    screen: Screen,
    server: str,
    tool: str,
    answer: Answer,
    destination: Destination | None,
    masker: Callable[[], Masker],
    hint_for: Callable[[str], str],
) -> None:
    from gaia_mcp.toolspec.validation import details_of

    parts = list(answer.parts)
    texts = [part.text for part in parts if part.text]
    if not parts and answer.structure is not None:
        texts = [json.dumps(answer.structure, ensure_ascii=False)]
    said = masker().text("\n".join(texts)).strip()
    if not screen.as_json and (details := details_of(said)):
        # The schema and the arguments in the message are for a model, so they are omitted.
        said = "; ".join(details)
        parts = [Text(said)]
    files = [part for part in parts if isinstance(part, File)]
    # An error text must not overwrite the file meant for the result.
    destination = destination if files else None
    if screen.as_json or on_terminal(sys.stdout):
        _show(screen, answer._replace(parts=parts), destination)
        # The same person reads stdout and stderr.
        is_read = bool(texts) and not screen.as_json and on_terminal(sys.stderr)
    else:
        _show(screen, Answer([file for file in files if file.text is None], None), destination)
        is_read = len(said) > REASON_CHARS or "\n" in said
        if is_read:
            limit = Limit(screen.max_chars)
            screen.to_stderr(clean(limit.cut(said)))
            remark_left_out(screen, limit)
    reason = said or "no reason given"
    if is_read or screen.as_json:
        error = masker().text(_error_in(answer.structure)).strip()
        # Text that was just printed to the same terminal is not repeated.
        reason = "" if is_read and error in ("", said) else error or reason
    failed = f"tool {tool!r} of {server!r} failed"
    screen.report(
        ToolFailedError(f"{failed}: {one_line(reason, REASON_CHARS)}" if reason else failed, hint=hint_for(said))
    )


def _error_in(structure: Any) -> str:
    """The text of the member `error`, in which many tools report why they failed; empty if there is none."""
    error = structure.get("error") if isinstance(structure, dict) else None
    return error if isinstance(error, str) else ""


def _show(screen: Screen, answer: Answer, destination: Destination | None) -> None:
    if screen.as_json and destination is None:
        screen.print_json(answer.whole)
        return
    parts = list(answer.parts)
    for part in parts:
        if isinstance(part, Text) and part.problem:
            screen.remark(part.problem)
    if destination is not None and not destination.is_folder and any(part.text is None for part in parts):
        # A single FILE is for content that cannot be printed.
        parts = [part if part.text is None else Text(part.text, part.mime_type) for part in parts]
    files = [part for part in parts if isinstance(part, File)]
    if destination is None or (destination.is_folder and not files):
        if screen.as_json:
            screen.print_json(answer.whole)
        else:
            print_parts(screen, parts, answer.structure)
    elif not files:
        _save_text(screen, parts, answer, destination)
    elif destination.is_stdout:
        for part in parts:
            if isinstance(part, File):
                screen.write_bytes(part.data)
            else:
                screen.to_stderr(clean(part.text.removesuffix("\n")))
    elif screen.as_json:
        for file in files:
            screen.remark(f"saved {destination.save(file)}")  # The result itself has no member for the path.
        screen.print_json(answer.whole)
    else:
        # One by one: parts before a file that cannot be saved are still printed.
        print_parts(screen, (_saved(part, destination) if isinstance(part, File) else part for part in parts))


def _saved(file: File, destination: Destination) -> Text:
    return Text(f"{destination.save(file)}\n", is_path=True)


def _save_text(screen: Screen, parts: Sequence[Part], answer: Answer, destination: Destination) -> None:
    """Save a result without files: the text that would be printed."""
    text = ""
    for part in parts:
        text += ("\n" if text and not text.endswith("\n") else "") + (part.text or "")
    if screen.as_json:
        text = json_text(answer.whole)
    elif not parts and answer.structure is not None:
        text = json_text(answer.structure)
    elif text and not text.endswith("\n") and not screen.raw and not destination.is_stdout:
        text += "\n"
    data = encodable(text).encode()
    if destination.is_stdout:
        screen.write_bytes(data)
        return
    path = destination.save(File(data, text, "text/plain", "", ""))
    if screen.as_json:
        screen.remark(f"saved {path}")
    else:
        screen.print_line(str(path))


class SaveError(MCPError):
    """A file of the result cannot be saved."""


class Destination:
    """The destination: `path`, a folder if `is_folder`; standard output if `path` is None."""

    def __init__(self, path: Path | None, *, is_folder: bool = False) -> None:
        self.path = path
        self.is_folder = is_folder
        self._is_taken = False

    @property
    def is_stdout(self) -> bool:
        return self.path is None

    def save(self, file: File) -> Path:
        """Save a file, and return its path. In a folder the file gets an unused name, and so does every further file
        for one named FILE.

        Raises `SaveError`.
        """
        from gaia_mcp.storage.output_files import put_file

        assert self.path is not None  # noqa: S101 (what goes to standard output is not saved)
        folder = self.path if self.is_folder else self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self.is_folder and not self._is_taken:
                self._is_taken = True
                put_file(self.path, file.data)
                return self.path
            if self.is_folder:
                return _write_new(folder, file.stem, file.suffix, file.data)
            return _write_new(folder, self.path.stem, self.path.suffix or file.suffix, file.data, 2)
        except OSError as problem:
            raise SaveError(
                f"{file.mime_type} of {len(file.data):,} bytes cannot be saved in {folder}: {problem.strerror}",
                hint="choose another place with -o DIR/",
            ) from problem


def read_destination(output: str | None, folder: Path | None, *, as_json: bool) -> Destination:
    """The destination that `-o` or `--output-dir` names.

    Raises `UsageError` for one that cannot be written, before any request is sent.
    """
    if output is not None and folder is not None:
        raise UsageError("-o and --output-dir mean the same", hint="leave --output-dir out")
    if output in ("-", "/dev/stdout"):
        if as_json:
            raise UsageError("--json and -o - both write to standard output", hint="name a file: -o FILE")
        if on_terminal(sys.stdout):
            raise UsageError("-o - writes bytes, and a terminal shows text", hint="name a file: -o FILE")
        return Destination(None)
    if output == "":
        raise UsageError("-o names no file", hint="name a file or a folder: -o FILE, -o DIR/")
    path = folder or Path(output or "")
    option = "--output-dir" if folder is not None else "-o"
    try:
        is_folder = folder is not None or (output or "").endswith(("/", os.sep)) or path.is_dir()
        _check_writable(path, is_folder=is_folder, option=option)
    except OSError as problem:
        hint = f"name another place with {option} DIR/"
        raise UsageError(f"{str(path)!r} cannot be written: {problem.strerror}", hint=hint) from None
    return Destination(path, is_folder=is_folder)


def _check_writable(path: Path, *, is_folder: bool, option: str) -> None:
    place = path if is_folder or path.exists() else path.parent
    while not place.exists() and place != place.parent:
        place = place.parent
    if (is_folder or place != path) and not place.is_dir():
        raise UsageError(f"{str(place)!r} is not a folder", hint=f"name another one: {option} DIR/")
    if not os.access(place, os.W_OK):
        raise UsageError(f"{str(place)!r} is not writable", hint=f"name another place with {option} DIR/")


def _write_new(folder: Path, stem: str, suffix: str, data: bytes, number: int = 1) -> Path:
    from gaia_mcp.storage.output_files import put_new_file

    while True:
        try:
            path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
            put_new_file(path, data)
            return path
        except FileExistsError:
            number += 1
