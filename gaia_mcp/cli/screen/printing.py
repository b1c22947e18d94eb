"""Prints the parts of a result on stdout: in a pipe the texts unchanged, on a terminal also pictures or descriptions of
files.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import again
from gaia_mcp.cli.screen.content import File, Text
from gaia_mcp.cli.screen.output import Form, counted, json_text, print_json, remark, write_text
from gaia_mcp.cli.screen.terminal import on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gaia_mcp.cli.screen.content import Part


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
    limit = Limit(Form.max_chars)
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
    if is_structure and Form.max_chars is None:
        print_json(structure)
    elif is_structure:
        write_text(limit.cut(json_text(structure)).removesuffix("\n") + "\n")
    elif last and not last.endswith("\n") and (terminal or not Form.raw):
        write_text("\n")
    remark_left_out(limit)
    if unseen:
        _remark_unseen(unseen)


def _picture(file: File) -> str:
    from gaia_mcp.cli.screen.images import drawn

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
