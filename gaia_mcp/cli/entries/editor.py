"""Lets a person edit a text in their editor, and never loses the edited text."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import typer

from gaia_mcp.cli.screen.output import remark, to_stderr
from gaia_mcp.errors import ConfigError, MCPError
from gaia_mcp.safetext import one_line
from gaia_mcp.storage.atomic import read_bytes


def edited(text: str, stem: str, use: Callable[[bytes, Path], None]) -> bool:
    """Open `text` in `$VISUAL`, `$EDITOR` or vi, and pass the edited text to `use`, with the path of the temporary
    file.

    If `use` raises an `MCPError`, the person may edit the text again. Returns whether the text was changed. Raises the
    last error of `use`, and `ConfigError` for an editor that cannot be run; the temporary file is then kept.
    """
    # Older configuration files may contain names with any characters.
    prefix = re.sub(r"[^\w.-]", "-", stem)[:64]
    descriptor, name = tempfile.mkstemp(prefix=f"{prefix}-", suffix=".json")  # Only its owner can read it.
    path = Path(name)
    is_wanted = False
    try:
        # A lone surrogate is written as its JSON escape, which is how it can have been read.
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        before = read_bytes(path)
        while True:
            try:
                _run_editor(path)
            finally:
                is_wanted = True  # The file is also kept if it cannot be read.
                after = read_bytes(path)
                is_wanted = after not in (None, before)
            if after is None or not is_wanted:
                return False
            try:
                use(after, path)
            except MCPError as error:
                to_stderr(f"not saved: {one_line(error.message, 1000)}")
                if not typer.confirm("Edit it again?", default=True, err=True):
                    raise
            else:
                is_wanted = False
                return True
    finally:
        if is_wanted:
            remark(f"what you wrote is in {path}")
        else:
            path.unlink(missing_ok=True)


def _run_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    hint = "name another one: export EDITOR=…"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except (OSError, ValueError) as cause:
        raise ConfigError(f"the editor {editor!r} cannot be run: {cause}", hint=hint) from cause
    if done.returncode:
        raise ConfigError(f"the editor {editor!r} ended with status {done.returncode}", hint=hint)
