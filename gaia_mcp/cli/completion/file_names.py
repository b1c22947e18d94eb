"""Candidates at a TAB, and those that are paths of files and folders: they are completed here so that all shells behave
the same, also after `key=@`.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import os
from pathlib import Path
from typing import NamedTuple

from gaia_mcp.cli.completion.context import CompletionContext

# A candidate with one of these endings is incomplete: a value, a name in the folder, or a class follows.
_OPEN_ENDS = ("=", "@", "/", ":")


class Candidate(NamedTuple):
    """A candidate for the whole word, and its description."""

    value: str
    description: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the word continues after the candidate, so that no space may follow."""
        return self.value.endswith(_OPEN_ENDS)


def files(ctx: CompletionContext) -> list[Candidate]:
    """Files and folders."""
    return file_names(ctx.word)


def folder_names(ctx: CompletionContext) -> list[Candidate]:
    """Folders only."""
    return file_names(ctx.word, only_folders=True)


def object_files(ctx: CompletionContext) -> list[Candidate]:
    """`@FILE`, for a parameter that is a JSON object."""
    if not ctx.word.startswith("@"):
        return [Candidate("@", "a file that holds them"), Candidate("-", "standard input")]
    return [Candidate(f"@{path}") for path, _ in file_names(ctx.word[1:])]


def file_names(begun: str, *, only_folders: bool = False, folder: str = "") -> list[Candidate]:
    """The files and folders whose paths begin with `begun`; hidden ones only for a name that begins with a dot.

    Relative paths are relative to `folder`, or to the working folder if `folder` is empty.
    """
    above, slash, name = begun.rpartition("/")
    found = []
    try:
        with os.scandir(Path(folder, Path(above + slash).expanduser())) as entries:
            for entry in entries:
                if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith(".")):
                    is_folder = _is_folder(entry)
                    if is_folder or not only_folders:
                        found.append(f"{above}{slash}{entry.name}" + ("/" if is_folder else ""))
    except (OSError, RuntimeError, ValueError):
        return []  # No such folder, or no such home folder.
    return [Candidate(path) for path in sorted(found)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # A symbolic link to itself, or to a target that cannot be read: the others are still listed.
