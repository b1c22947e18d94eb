"""A server's result: its parts, which are texts, and files such as images; how they are printed on stdout,
and how files are saved in the chosen destination, `-o FILE`, `-o DIR/` or `-o -`.

In a pipe the texts are unchanged. On a terminal they are sanitized, coloured, and of limited length, and pictures, or
descriptions of files, are printed too; a picture only if the environment identifies a terminal that can display it, and
none in a terminal within a terminal (tmux, screen, Zellij), which would treat it as text.

Without a destination, nothing is saved. A named FILE is overwritten, as by `curl -o`; a name that this program chooses
never overwrites a file.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.cli.screen import can_redraw, cell_width, has_colours, height_of, on_terminal, width_of
from gaia_mcp.cli.screen.output import counted, json_text
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import MCPError
from gaia_mcp.text import clean, clean_json, encodable, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.text.redaction.masker import Masker

# A tool's error text up to this length is part of the error message; a longer one is printed before it.
REASON_CHARS = 300
# Suffixes for types to which the platform's table gives an unusual suffix, or none.
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
# The types of content blocks, each with the member that holds the content.
_HELD_BY = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}
_UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
# A person does not read more on a terminal, and some terminals take long to print it.
MAX_CHARS = 100_000
# The number of screens that are printed of a longer text.
SCREENS = 3
# A larger picture would keep a terminal busy for seconds; it can be saved to a file instead.
MAX_BYTES = 8 * 1024 * 1024
# The limit of the kitty protocol for one escape sequence.
CHUNK_CHARS = 4096
_PNG = b"\x89PNG\r\n\x1a\n"
# The first bytes of the formats that each terminal decodes, whatever the declared type.
_READABLE: dict[str, tuple[bytes, ...]] = {"kitty": (_PNG,), "iterm2": (_PNG, b"\xff\xd8\xff", b"GIF8")}
_KITTY_PROGRAMS = ("ghostty", "kitty")
_ITERM2_PROGRAMS = ("iTerm.app", "WezTerm")


class Text(NamedTuple):
    """A text with the type that its server declares, and its problem, in words; or the path of a saved file."""

    text: str
    mime_type: object = "text/plain"
    problem: str = ""
    is_path: bool = False


class File(NamedTuple):
    """A file: its bytes, its text if it is a text file, its type, and a name that is safe on every system."""

    data: bytes
    text: str | None
    mime_type: str
    stem: str
    suffix: str

    @property
    def name(self) -> str:
        return self.stem + self.suffix

    def described(self) -> str:
        """`image/png, 4,031 bytes`."""
        return f"{self.mime_type}, {len(self.data):,} bytes"


Part: TypeAlias = Text | File


def parts_of(name: str, blocks: Iterable[Any]) -> Iterator[Part]:
    """The parts of content blocks; `name` is used for files without a name of their own."""
    for block in blocks:
        kind = block["type"] if isinstance(block, dict) and isinstance(block.get("type"), str) else None
        holder = _HELD_BY.get(kind, "") if kind else "type"
        held = block.get(holder) if kind else None
        if kind == "code_output":
            yield from _written(block)
        elif kind == "resource" and isinstance(held, dict):
            yield resource_part(name, held)
        elif kind in ("image", "audio") and isinstance(held, str):
            yield _binary(name, held, block.get("mimeType"), "")
        elif kind in ("text", "resource_link") and isinstance(held, (str, int, float)):
            # Some servers send a number instead of a string.
            yield Text(str(held), None if kind == "text" else "text/plain")
        else:
            # Invalid blocks, and types of newer revisions, are printed as JSON rather than lost.
            yield _as_json(block, f"a content block has no {holder!r}, and is printed as JSON" if holder else "")


def resource_part(name: str, resource: dict[str, Any]) -> Part:
    """The part for one resource, whose URI may end in a file name."""
    mime_type, uri = resource.get("mimeType"), str(resource.get("uri", ""))
    if isinstance(text := resource.get("text"), str):
        kind = mime_type if isinstance(mime_type, str) else "text/plain"
        return File(encodable(text).encode(), text, kind, *_name_for(name, kind, uri))
    if isinstance(blob := resource.get("blob"), str):
        return _binary(name, blob, mime_type, uri)
    return _as_json(resource, "a resource has neither 'text' nor 'blob', and is printed as JSON")


def _written(block: dict[str, Any]) -> Iterator[Text]:
    """The output of a program, in the format of AgentVault's servers: stdout, then stderr."""
    texts = [block.get(name) for name in ("stdout", "stderr")]
    if all(isinstance(text, str) for text in texts):
        yield from [Text(str(text)) for text in texts if text] or [Text("")]
    else:
        yield _as_json(block, "a content block of code has no 'stdout' and 'stderr', and is printed as JSON")


def _as_json(value: Any, problem: str) -> Text:
    return Text(json.dumps(value, ensure_ascii=False), "application/json", problem)


def _binary(name: str, data: str, mime_type: Any, uri: str) -> Part:
    import base64

    try:
        decoded = base64.b64decode(data, validate=False)
    except ValueError:
        return Text(data, problem="a file in the answer is not base64, and is printed unchanged")
    kind = mime_type if isinstance(mime_type, str) else "application/octet-stream"
    return File(decoded, None, kind, *_name_for(name, kind, uri))


def _name_for(name: str, mime_type: str, uri: str) -> tuple[str, str]:
    """The stem and suffix of a file's name, safe on every system."""
    from mimetypes import guess_extension

    kind = mime_type.partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind) or guess_extension(kind) or ".bin"
    last = uri.rstrip("/").rpartition("/")[2]
    stem, dot, own = last.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", own):
        suffix = f".{own}"
    else:
        stem = last
    safe = _UNSAFE_IN_NAMES.sub("-", stem).strip("-.") or _UNSAFE_IN_NAMES.sub("-", name).strip("-.") or "file"
    return safe[:80], suffix


class Limit:
    """Cuts texts to `most` characters in total, if that is set; `left_out` counts the omitted characters."""

    def __init__(self, most: int | None) -> None:
        self._room = most
        self.left_out = 0

    def cut(self, text: str) -> str:
        """The beginning of `text` that fits the limit."""
        if self._room is None:
            return text
        shown = text[: self._room]
        self._room -= len(shown)
        self.left_out += len(text) - len(shown)
        return shown


def print_parts(screen: Screen, parts: Iterable[Part], structure: Any = None) -> None:
    """Print texts, each on its own lines, and on a terminal pictures or descriptions of files; `structure` if none of
    the parts is a text. An empty text is one.
    """
    terminal = on_terminal(sys.stdout)
    unseen: list[File] = []
    limit = Limit(screen.max_chars)
    last, has_text = "", False
    for part in parts:
        text, picture = part.text, ""
        has_text = has_text or text is not None
        if isinstance(part, File) and text is None:
            picture = drawn(part.data) if terminal else ""
            if not picture:
                unseen.append(part)
                text = f"[{part.described()}]" if terminal else None
        text = text if isinstance(part, Text) and part.is_path else limit.cut(text or "")
        if not text and not picture:
            continue
        if last and not last.endswith("\n"):
            screen.write_text("\n")
        last = text or "\n"
        if terminal:
            screen.write_text(picture)
            last = show_text(screen, text, part.mime_type) if text else last
        else:
            screen.write_text(last)
    is_structure = structure is not None and not last and not has_text
    if is_structure and screen.max_chars is None:
        screen.print_json(structure)
    elif is_structure:
        screen.write_text(limit.cut(json_text(structure)).removesuffix("\n") + "\n")
    elif last and not last.endswith("\n") and (terminal or not screen.raw):
        screen.write_text("\n")
    remark_left_out(screen, limit)
    if unseen:
        _remark_unseen(screen, unseen)


def remark_left_out(screen: Screen, limit: Limit) -> None:
    """Print a remark with the number of omitted characters, if there are any."""
    if limit.left_out:
        screen.remark(f"{counted(limit.left_out, 'more character')}; for all of it leave out --max-chars")


def _remark_unseen(screen: Screen, files: Sequence[File]) -> None:
    if len(files) == 1:
        screen.remark(f"{files[0].described()}: {screen.line.again('save it', '-o', files[0].name)}")
    else:
        screen.remark(f"{counted(len(files), 'file')} not shown: {screen.line.again('save them', '-o', './')}")


class ToolFailedError(MCPError, kind="tool-failed"):
    """Used only for its two lines of output: the tool ran and reported an error, which is a result."""


def failed_with(server: str, tool: str, reason: str) -> str:
    """The message for a tool that has reported this error."""
    failed = f"tool {tool!r} of {server!r} failed"
    return f"{failed}: {one_line(reason, REASON_CHARS)}" if reason else failed


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
    screen.report(ToolFailedError(failed_with(server, tool, reason), hint=hint_for(said)))


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


def show_text(screen: Screen, text: str, mime_type: object = None) -> str:
    """Write `text` to the terminal, with a remark if it was cut. Returns the text that was written."""
    # Imported late: a pipe gets the server's text unchanged.
    from gaia_mcp.cli.screen.colours import coloured, kind_of

    # Without the remark, the beginning would be mistaken for the whole text.
    is_cut = len(text) > MAX_CHARS and not screen.quiet
    kind = kind_of(text, mime_type)
    beginning = text[:MAX_CHARS] if is_cut else text
    # In JSON, control characters become JSON escapes, so that it is still JSON when it is copied.
    shown = clean_json(beginning.replace("\r\n", "\n")) if kind == "json" else clean(beginning)
    if is_cut:
        shown = _screens(shown)
    screen.write_text(coloured(shown, kind) if has_colours() else shown)
    if is_cut:
        size = len(text.encode("utf-8", "replace")) / 1000
        screen.remark(f"this is the beginning of {size:,.0f} kB; for all of it add | less, > FILE or --json")
    return shown


def _screens(text: str) -> str:
    """The first screens of `text`, in whole lines if possible."""
    width = width_of(sys.stdout)
    left = SCREENS * height_of(sys.stdout)
    kept: list[str] = []
    for line in text.split("\n"):
        # A line that the terminal wraps takes several of its lines.
        takes = max(1, -(-cell_width(line) // width))
        if takes > left:
            break
        kept.append(line)
        left -= takes
    return ("\n".join(kept) or text[: left * width]) + "\n"


def way_to_show(environ: Mapping[str, str]) -> str:
    """The image protocol of the terminal that `environ` describes; "" if no supported one is known."""
    wanted = environ.get("GAIA_IMAGES", "auto")
    if wanted in ("kitty", "iterm2"):
        return wanted
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    is_inside = any(environ.get(name) for name in ("TMUX", "STY", "ZELLIJ")) or term.startswith(("tmux", "screen"))
    if wanted != "auto" or is_inside:
        return ""
    if environ.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program in _KITTY_PROGRAMS:
        return "kitty"
    return "iterm2" if program in _ITERM2_PROGRAMS or environ.get("LC_TERMINAL") == "iTerm2" else ""


def drawn(data: bytes) -> str:
    """The escape sequences that draw the picture `data` on this terminal, on lines of its own; "" if it cannot be
    drawn.
    """
    way = way_to_show(os.environ) if can_redraw(sys.stdout) else ""
    if not way or len(data) > MAX_BYTES or not data.startswith(_READABLE[way]):
        return ""
    import base64

    encoded = base64.b64encode(data).decode()
    if way == "iterm2":
        return f"\x1b]1337;File=inline=1;size={len(data)}:{encoded}\x07\n"
    return "".join(_kitty_pieces(encoded)) + "\n"


def _kitty_pieces(encoded: str) -> Iterator[str]:
    # `q=2` suppresses the terminal's response, which would arrive like typed input.
    control = "a=T,f=100,q=2,"
    for start in range(0, len(encoded), CHUNK_CHARS):
        more = int(start + CHUNK_CHARS < len(encoded))
        yield f"\x1b_G{control}m={more};{encoded[start : start + CHUNK_CHARS]}\x1b\\"
        control = ""
