"""The destination for the files of a result: `-o FILE`, `-o DIR/`, `-o -`. Without one, nothing is saved.

A named FILE is overwritten, as by `curl -o`. A name that this program chooses never overwrites a file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.content import File


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
