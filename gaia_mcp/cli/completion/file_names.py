"""Names of files and folders for a TAB: offered by us, so that every shell completes them alike, also after `key=@`."""

from __future__ import annotations

import os
from pathlib import Path

# Words, each with a description. Typer reads this while the program runs.
Offers = list[tuple[str, str]]


def folder_names(incomplete: str) -> Offers:
    """The folders whose paths begin so."""
    return file_names(incomplete, only_folders=True)


def object_files(incomplete: str) -> Offers:
    """`@FILE`, where an object is wanted as JSON."""
    if not incomplete.startswith("@"):
        return [("@", "a file that holds them"), ("-", "standard input")]
    return [(f"@{path}", "") for path, _ in file_names(incomplete[1:])]


def file_names(incomplete: str, *, only_folders: bool = False) -> Offers:
    """The files and folders whose paths begin so; hidden ones only for a name that begins with a dot."""
    folder, slash, begun = incomplete.rpartition("/")
    found = []
    try:
        with os.scandir(Path(folder + slash).expanduser() if folder + slash else ".") as entries:
            for entry in entries:
                if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                    is_folder = entry.is_dir()
                    if is_folder or not only_folders:
                        found.append(f"{folder}{slash}{entry.name}" + ("/" if is_folder else ""))
    except (OSError, RuntimeError, ValueError):
        return []  # No such folder, or no such home.
    return [(path, "") for path in sorted(found)]
