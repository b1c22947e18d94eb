"""The parts of a result: texts, and files, which are images, audio and resources; and how they are printed on stdout.

In a pipe the texts are unchanged; on a terminal pictures, or descriptions of files, are printed too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gaia_mcp.cli.lines import again
from gaia_mcp.cli.screen.output import OutputMode, counted, json_text, print_json, remark, write_text
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.text import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def print_parts(parts: Iterable[Part], structure: Any = None) -> None:
    """Print texts, each on its own lines, and on a terminal pictures or descriptions of files; `structure` if none of
    the parts is a text. An empty text is one.
    """
    terminal = on_terminal(sys.stdout)
    unseen: list[File] = []
    limit = Limit(OutputMode.max_chars)
    last, has_text = "", False
    for part in parts:
        text, picture = part.text, ""
        has_text = has_text or text is not None
        if isinstance(part, File) and text is None:
            picture = _picture(part) if terminal else ""
            if not picture:
                unseen.append(part)
                text = f"[{part.described()}]" if terminal else None
        text = text if isinstance(part, Text) and part.is_path else limit.cut(text or "")
        if not text and not picture:
            continue
        if last and not last.endswith("\n"):
            write_text("\n")
        last = text or "\n"
        if terminal:
            # Imported late: a pipe gets the server's text unchanged.
            from gaia_mcp.cli.screen.display import show_text

            write_text(picture)
            last = show_text(text, part.mime_type) if text else last
        else:
            write_text(last)
    is_structure = structure is not None and not last and not has_text
    if is_structure and OutputMode.max_chars is None:
        print_json(structure)
    elif is_structure:
        write_text(limit.cut(json_text(structure)).removesuffix("\n") + "\n")
    elif last and not last.endswith("\n") and (terminal or not OutputMode.raw):
        write_text("\n")
    remark_left_out(limit)
    if unseen:
        _remark_unseen(unseen)


def _picture(file: File) -> str:
    from gaia_mcp.cli.screen.display import drawn

    return drawn(file.data)


def remark_left_out(limit: Limit) -> None:
    """Print a remark with the number of omitted characters, if there are any."""
    if limit.left_out:
        remark(f"{counted(limit.left_out, 'more character')}; for all of it leave out --max-chars")


def _remark_unseen(files: Sequence[File]) -> None:
    if len(files) == 1:
        remark(f"{files[0].described()}: {again('save it', '-o', files[0].name)}")
    else:
        remark(f"{counted(len(files), 'file')} not shown: {again('save them', '-o', './')}")
