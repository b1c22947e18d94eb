"""The command lines that a program's output advises, as a person types them: copied from the program's name to the end
of the line, with values in the place of placeholders; or the line that was typed, changed as the hint says.
"""

from __future__ import annotations

import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gaia_mcp.cli.app import app
from gaia_mcp.cli.grammar.parsing import with_option
from gaia_mcp.cli.typer_command import CommandLineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROGRAM = r"(?:gaia mcp|gmcp(?: mcp)?|\S*python\S* -m gaia_mcp(?: mcp)?)"
_REMARK = re.compile(r"^(?:hint|note): (.+)$", re.MULTILINE)
_LINE = re.compile(rf"(.*?)\b{_PROGRAM} (.+)")
# An option alone, at the end: `allow more time with --timeout SECONDS`, `for all of it leave out --max-chars`.
_ADDED = re.compile(r"(.*(?: with|:)) (--?[a-z][a-z-]*(?: (?:'[^']*'|[^\s,]+)){0,2})")
_LEFT_OUT = re.compile(r"(.*(?:without|leave out)) (--[a-z0-9-]+)\b.*|(leave) (--[a-z0-9-]+) out\b.*")
_MEANT = re.compile(r"(did you mean) '([^']*)'.*")
_VALUED = (
    "--answer",
    "--answers",
    "--args",
    "--batch",
    "--cwd",
    "--env",
    "--jobs",
    "--max-chars",
    "--output-dir",
    "--protocol",
    "--sample",
)
# A server of ours, where the command of one is asked for.
_DEMO = ["gaia", "mcp", "serve", "demo"]
# What a person writes in the place of each placeholder. `NAME` of a command that needs a server is one of the story's.
FILLS: dict[str, list[str]] = {
    "ARG...": ["--version"],
    "COMMAND": _DEMO,
    "DIR": ["."],
    "DIR/": ["out/"],
    "FILE": ["a-file.jsonl"],
    "FOLDER": ["."],
    "JSON": ['{"command": "gaia", "args": ["mcp", "serve", "demo"]}'],
    "NAME": ["a-name"],
    "NAME...": ["a-name"],
    "NEW": ["another-name"],
    "PROGRAM": ["cat"],
    "SECONDS": ["2"],
    "TOOL": ["greet"],
    "URL": ["https://example.invalid/mcp"],
    "WORD": ["greet"],
    "[ARG...]": [],
    "key=value": ["name=Ada"],
    "…": ["exec gaia mcp serve demo"],
}
# Commands to which a name is new.
_NAMING = ("add",)


class Advised(NamedTuple):
    """Words to be typed after the program's name; `shape` is the same for hints that differ in their values alone.
    `cured` is the error that they must not end in again, empty if they may; with one, other mistakes may be left.
    """

    shape: tuple[str, ...]
    words: list[str]
    cured: str = ""


def lines_in(stderr: str) -> list[list[str]]:
    """The words after the program's name of each line that stderr advises to type. Raises `ValueError` for one that no
    shell can read.
    """
    remarks = _REMARK.findall(stderr.replace("\r", ""))
    return [shlex.split(line[2]) for line in map(_LINE.fullmatch, remarks) if line is not None]


def advised(stderr: str, typed: Sequence[str] = ()) -> Iterator[Advised]:
    """All that stderr advises to type, with its placeholders, after the line `typed`; what is only told in words, such
    as which permission to change, is left out.
    """
    error = ""
    for text in stderr.replace("\r", "").splitlines():
        error = text.removeprefix("error: ") if text.startswith("error: ") else error
        if (remark := _REMARK.fullmatch(text)) is None:
            continue
        if line := _LINE.fullmatch(remark[1]):
            yield _advised(line[1], shlex.split(line[2]))
        elif found := _LEFT_OUT.fullmatch(remark[1]):
            if words := _without(typed, found[2] or found[4]):
                yield _advised(found[1] or found[3], words)
        elif (found := _ADDED.fullmatch(remark[1])) and typed:
            yield _advised(found[1], _with(typed, shlex.split(found[2])))
        elif (found := _MEANT.fullmatch(remark[1])) and (words := _corrected(typed, error, found[2])):
            yield _advised(found[1], words)._replace(cured=error)


def filled(words: Sequence[str], servers: Sequence[str]) -> list[str]:
    """`words` with values for their placeholders. Raises `AssertionError` for a placeholder that is in no table."""
    result: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        if word in ("NAME", "NAME...") and words[0] not in _NAMING and servers:
            result.append(servers[0])
        elif word in FILLS:
            result += FILLS[word]
        elif word.endswith(("=VALUE", ": VALUE", "=…")):
            result.append(re.sub("VALUE$|…$", "1", word))
        else:
            is_placeholder = re.fullmatch(r"[A-Z]{2,}(\.\.\.)?|<.*>|\[.*\.\.\.\]|.*….*", word) and before != "--env"
            assert not is_placeholder, f"no test types anything in the place of {word!r}: {words}"
            result.append(word)
    return result


def refusal(words: Sequence[str]) -> str:
    """Why the program refuses a command line, before the command runs; empty if it does not."""
    group = _group()
    if {"--help", "-h"} & set(words):
        # It would be printed here; of a tool it is looked up, which needs the program itself.
        known = words[0].startswith("-") or group.get_command(None, words[0]) is not None
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


def _advised(told: str, words: list[str]) -> Advised:
    """With the last clause of what is told before the line."""
    clause = re.split(r"[;,] ", re.sub(r"""'[^']*'|"[^"]*"|\S*[/.\d_]\S*""", "_", told))[-1]
    options = sorted({word.partition("=")[0] for word in words if word.startswith("-")} - {"--config"})
    return Advised((clause.strip(), words[0], *options), words)


def _with(typed: Sequence[str], option: list[str]) -> list[str]:
    """The typed line as a person changes it: with an option more, or with another value of it."""
    return with_option(typed, option)


def _without(typed: Sequence[str], option: str) -> list[str]:
    if option not in typed:
        return []
    at = list(typed).index(option)
    return [*typed[:at], *typed[at + (2 if option in _VALUED else 1) :]]


def _corrected(typed: Sequence[str], error: str, meant: str) -> list[str]:
    """The typed line with what is meant instead of the word that the error is about; empty if that is part of one."""
    option = re.search(r"^no such option: (\S+?),?(?: |$)", error.lower())
    named = [option[1]] if option is not None else re.findall(r"'([^']*)'", error)
    # The last: what is not there is named behind where it is not.
    wrong = [word for word in named if word in typed]
    return [meant if word == wrong[-1] else word for word in typed] if wrong else []


@cache
def _group() -> Any:
    return typer.main.get_command(app).get_command(None, "mcp")  # type: ignore[attr-defined]
