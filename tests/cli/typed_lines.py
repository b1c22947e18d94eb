"""The command lines in hints and remarks, as a person copies them: from the program's name to the end of the line.

Each line that a story's command advises is parsed as the program parses it. The first of each shape is also typed, in a
copy of the story's home and working folder, so that the story goes on as if nothing had happened.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gaia_mcp.cli.app import app
from gaia_mcp.cli.typer_internals import CommandLineError

if TYPE_CHECKING:
    from collections.abc import Mapping

# A line that leads to a server without an end has been understood by then.
PATIENCE_SECONDS = 10
_PLACEHOLDER = r"-|[A-Z]+(\.\.\.)?|.*…|VALUE|\[ARG\.\.\.\]|.*=VALUE"
# On a terminal, it opens an editor; `test_next_steps` types it there.
_ELSEWHERE = {("edit",)}
_TYPED: set[tuple[str, ...]] = set()
_PROGRAM = r"(?:gaia mcp|gmcp(?: mcp)?|\S*python\S* -m gaia_mcp(?: mcp)?)"
_LINE = re.compile(rf"^(?:hint|note): .*?\b{_PROGRAM} (.+)$", re.MULTILINE)


def lines_in(stderr: str) -> list[list[str]]:
    """The words after the program's name of each line that stderr advises to type. Raises `ValueError` for one that no
    shell can read.
    """
    return [shlex.split(line) for line in _LINE.findall(stderr)]


def refusal(words: list[str]) -> str:
    """Why the program refuses a command line, before the command runs; empty if it does not."""
    group = _group()
    if "--help" in words:
        # It would be printed here; of a tool it is looked up, which is for `rehearse`.
        known = words[0] == "--help" or group.get_command(None, words[0]) is not None
        return "" if known else "no such command"
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            context = group.make_context("mcp", list(words))
            name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
            command.make_context(name, rest, parent=context)
        except CommandLineError as error:
            return str(error.format_message())  # type: ignore[attr-defined]
        except typer.Exit as ended:
            return printed.getvalue() if ended.exit_code else ""
    return ""


def assert_typeable(stderr: str) -> None:
    """Every command line that stderr advises to type is one of the program."""
    for words in lines_in(stderr):
        assert not (problem := refusal(words)), f"advised: {words}; {problem}"


def rehearse(stderr: str, program: Path, folder: Path, cwd: Path, environ: Mapping[str, str]) -> None:
    """Type what stderr advises in a copy of `folder`, which holds the home and the working folder `cwd`.

    A line must not be wrong (2), and not end in a bug (1). One that still runs after a while is stopped.
    """
    for words in lines_in(stderr):
        shape = _shape(words)
        # A person would fill in placeholders, and paste text at `-`.
        if shape in _TYPED or shape in _ELSEWHERE or any(re.fullmatch(_PLACEHOLDER, word) for word in words):
            continue
        _TYPED.add(shape)
        with tempfile.TemporaryDirectory() as place:
            _copy(folder, Path(place))
            process = subprocess.Popen(
                [program, "mcp", *(word.replace(str(folder), place) for word in words)],
                cwd=place / cwd.relative_to(folder),
                env={name: value.replace(str(folder), place) for name, value in environ.items()},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            try:
                printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.terminate()
                printed, _ = process.communicate()
            assert process.returncode not in (1, 2), f"advised: {words}; {printed.decode()}"


def _shape(words: list[str]) -> tuple[str, ...]:
    """The command, and its options."""
    return words[0], *sorted(word.partition("=")[0] for word in words[1:] if word.startswith("--"))


def _copy(folder: Path, place: Path) -> None:
    """Copy regular files, in which paths lead to the copy."""
    for path in folder.rglob("*"):
        copy = place / path.relative_to(folder)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        elif path.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError, FileNotFoundError):  # A story is about such a file, or a server removes it.
                copy.write_bytes(path.read_bytes().replace(bytes(folder), bytes(place)))
                copy.chmod(path.stat().st_mode)


@cache
def _group() -> Any:
    return typer.main.get_command(app).get_command(None, "mcp")  # type: ignore[attr-defined]
