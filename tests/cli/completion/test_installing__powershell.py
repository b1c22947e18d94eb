"""Completion in a real PowerShell, the one for Windows, which runs under Wine."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.storage.atomic import locked
from gaia_mcp.storage.server_cache import ServerCache
from tests.cli.conftest import BIN, Gaia
from tests.forking.client import ForkServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = Path(__file__).parents[3] / "completions" / "gaia.ps1"
RUN_SECONDS = 120
SCHEMA = {
    "type": "object",
    "properties": {
        "loud": {"type": "boolean"},
        "name": {"type": "string", "description": "Who is meant"},
        "style": {"enum": ["plain", "very warm", "it's", "$HOME"]},
        "two words": {"type": "string"},
    },
    "required": ["name"],
}
# What is typed, and what the line may be then.
TYPED = {
    "gaia ": ["gaia mcp"],
    "gaia mcp ca": ["gaia mcp call"],
    "gmcp ca": ["gmcp call"],
    "gaia mcp list --ch": ["gaia mcp list --check"],
    "gaia mcp call ": ["gaia mcp call demo"],
    "gaia mcp call 'de": ["gaia mcp call demo"],
    'gaia mcp call "de': ["gaia mcp call demo"],
    "gaia mcp list | gaia mcp call de": ["gaia mcp list | gaia mcp call demo"],
    "gaia mcp call demo ": ["gaia mcp call demo greet", "gaia mcp call demo add"],
    "gaia mcp call 'demo' gr": ["gaia mcp call 'demo' greet"],
    "gaia mcp call demo greet n": ["gaia mcp call demo greet name="],
    "gaia mcp call demo greet t": ["gaia mcp call demo greet 'two words='"],
    "gaia mcp call demo greet name=Ada l": ["gaia mcp call demo greet name=Ada loud="],
    "gaia mcp call demo greet loud=": ["gaia mcp call demo greet loud=true", "gaia mcp call demo greet loud=false"],
    "gaia mcp call demo greet style=v": ["gaia mcp call demo greet 'style=very warm'"],
    "gaia mcp call demo greet 'style=v": ["gaia mcp call demo greet 'style=very warm'"],
    "gaia mcp call demo greet style='v": ["gaia mcp call demo greet 'style=very warm'"],
    "gaia mcp call demo greet 'style=it''": ["gaia mcp call demo greet 'style=it''s'"],
    "gaia mcp call demo greet style=$": ["gaia mcp call demo greet 'style=$HOME'"],
    "gaia mcp call demo greet name=@no": ["gaia mcp call demo greet 'name=@note.txt'"],
    "gaia mcp export --to cursor x; gaia mcp export --to curs": [
        "gaia mcp export --to cursor x; gaia mcp export --to cursor"
    ],
    "gaia mcp show surely-nobo": [],
}
# Of each line: what it may be completed to, and what is said of that. Of a thousand programs whose output PowerShell
# reads under Wine, it loses that of one: a line is asked about again only if something was printed and nothing read.
ASK = r"""
. {script}
$before = [Console]::OutputEncoding.WebName
$found = [ordered]@{{}}
foreach ($line in Get-Content -Encoding utf8 {lines} | ConvertFrom-Json) {{
    do {{
        $answer = TabExpansion2 -inputScript $line -cursorColumn $line.Length
    }} while (-not $answer.CompletionMatches.Count -and (Get-Item {printed}).Length)
    $found[$line] = @($answer.CompletionMatches | ForEach-Object {{
        $after = $line.Substring(0, $answer.ReplacementIndex) + $_.CompletionText
        @{{ line = $after; tip = $_.ToolTip; listed = $_.ListItemText }}
    }})
}}
$restored = [Console]::OutputEncoding.WebName -eq $before
[IO.File]::WriteAllText({found}, (ConvertTo-Json -Depth 9 @{{ lines = $found; restored = $restored }}))
"""
# Windows programs cannot wait for those of the system below, but for a file of theirs; the next one
# must not find it. What `type` copies it also translates, from the system's old code page into that of the
# console's output.
COMMAND = r"""@echo off
type {folder}\old >>{folder}\new
{folder}\ask.exe {name} %*
:wait
if not exist {folder}\answer goto wait
type {folder}\answer
:end
del {folder}\answer
if exist {folder}\answer goto end
"""


@contextmanager
def wine(environ_in: Callable[[Path], dict[str, str]], folder: Path) -> Iterator[dict[str, str]]:
    """The environment for programs under Wine. What Wine has started ends with it."""
    folder.mkdir()
    environ = environ_in(folder)
    try:
        yield environ
    finally:
        subprocess.run(["wineserver", "--kill", "--wait"], env=environ, check=False, timeout=RUN_SECONDS)
        shutil.rmtree(folder)  # Hundreds of megabytes.


def on_windows(path: Path) -> str:
    """The same path as Wine's programs know it."""
    return "Z:" + str(path).replace("/", "\\")


@pytest.fixture(scope="module")
def found(
    powershell: tuple[list[str], Callable[[Path], dict[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What PowerShell has found for each of `TYPED`. All processes of one test run ask it once together."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    found = folder / "powershell" / "found"
    command, environ_in = powershell
    with locked(found, 3 * RUN_SECONDS):
        if not found.exists():
            with wine(environ_in, found.parent / "windows") as environ:
                ask_powershell(found, command, environ)
    answers: dict[str, Any] = json.loads(found.read_text())
    return {**answers, "new": (found.parent / "new").read_bytes()}


def ask_powershell(found: Path, command: list[str], environ: dict[str, str]) -> None:
    """Have PowerShell write what it finds to the file `found`; what it has read is in `new` beside that."""
    folder = found.parent
    gaia = Gaia(folder, folder, ForkServer())
    entry = {"command": "surely-not-installed"}
    gaia.write({"demo": entry})
    tools = [{"name": "greet", "inputSchema": SCHEMA, "description": "Say hello"}, {"name": "add"}]
    ServerCache(gaia.home / ".gaia" / "cache", read_entry("demo", entry)).keep_seen(tools)
    (gaia.cwd / "note.txt").touch()
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in gaia.environ.items())
    ask = folder / "ask.exe"
    ask.write_text(
        f'#!/bin/sh\nenv -i {words} GAIA_HOME={gaia.home}/.gaia {BIN}/"$@" >{folder}/printed\n'
        f"cp {folder}/printed {folder}/part\nmv {folder}/part {folder}/answer\n"
    )
    ask.chmod(0o755)
    for name in ("gaia", "gmcp"):
        (folder / f"{name}.cmd").write_text(COMMAND.format(folder=on_windows(folder), name=name), newline="\r\n")
    (folder / "old").write_bytes("\u00fc\r\n".encode("cp437"))
    (folder / "lines").write_text(json.dumps(list(TYPED)))
    names = {"lines": folder / "lines", "printed": folder / "printed", "found": found, "script": SCRIPT}
    (folder / "ask.ps1").write_text(ASK.format_map({name: f"'{on_windows(path)}'" for name, path in names.items()}))

    options = ["-NoProfile", "-ExecutionPolicy", "Bypass", "-File", on_windows(folder / "ask.ps1")]
    ran = subprocess.run(
        ["script", "-qec", shlex.join([*command, *options]), "/dev/null"],
        cwd=gaia.cwd,
        env={**environ, "WINEPATH": on_windows(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )

    assert found.exists(), ran


def test_a_tab_completes(found: dict[str, Any]) -> None:
    """Ours: the completed lines, in their order."""
    assert {typed: [one["line"] for one in offered] for typed, offered in found["lines"].items()} == TYPED


def test_candidates_have_descriptions(found: dict[str, Any]) -> None:
    """Ours: the type of an argument and the server's description."""
    assert [one["tip"] for one in found["lines"]["gaia mcp call demo "]] == ["Say hello", "add"]
    assert found["lines"]["gaia mcp call demo greet n"][0]["tip"] == "string, required: Who is meant"


def test_values_are_listed_without_the_name_of_the_argument(found: dict[str, Any]) -> None:
    """Ours: the line already has the name."""
    assert [one["listed"] for one in found["lines"]["gaia mcp call demo greet loud="]] == ["true", "false"]
    assert [one["listed"] for one in found["lines"]["gaia mcp call demo greet n"]] == ["name="]


def test_output_is_read_as_utf_8_and_the_console_encoding_is_restored(found: dict[str, Any]) -> None:
    """PowerShell decodes the output of programs with the console's encoding, on Windows an old code page."""
    assert set(found["new"].splitlines()) == {"\u00fc".encode()}
    assert found["restored"]
