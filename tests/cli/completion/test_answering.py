"""What the shells' scripts are told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.completion.answering import answered
from gaia_mcp.cli.completion.completers import call_targets, call_words
from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.cli.grammar.table import PROGRAM
from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

OPEN, WHOLE = "open", "whole"


@pytest.fixture(autouse=True)
def home(gaia: Gaia, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers, in a home of its own."""
    monkeypatch.setenv("HOME", str(gaia.home))
    monkeypatch.delenv("GAIA_HOME", raising=False)
    monkeypatch.delenv("GAIA_CONFIG_DIR", raising=False)
    monkeypatch.chdir(gaia.cwd)
    gaia.write({"my server": {"command": "x"}, "a:b": {"command": "y z"}, "my \U0001f600": {"command": "w"}})


def bash(line: str, tail: str, **environ: str) -> list[str]:
    return answered("bash", [line, tail], "gaia", environ)


def test_bash_is_told_only_what_replaces_the_tail() -> None:
    """Readline: it keeps what stands before the last `=`, `:`, `@` or opening quote."""
    assert bash("gaia mcp ca", "ca") == [WHOLE, "call"]
    assert bash("gaia mcp show a:", "") == [WHOLE, "b"]
    assert bash("gaia mcp list --config=", "")[0] == WHOLE
    assert bash("gaia mcp show my\\ s", "my\\ s") == [WHOLE, "my\\ server"]
    assert bash('gaia mcp show "my s', "my s") == [WHOLE, "my server"]
    assert bash("gaia mcp show 'a:", "a:") == [WHOLE, "a:b"]


def test_bash_is_told_when_more_belongs_to_the_word(gaia: Gaia) -> None:
    """Ours: a folder is followed by what is in it."""
    (gaia.cwd / "folder").mkdir()

    assert bash("gaia mcp list --config=fo", "fo") == [OPEN, "folder/"]


def test_bash_lists_several_with_descriptions(gaia: Gaia) -> None:
    """Ours: not where it goes through them in the line, and not on a terminal too narrow for them."""
    assert bash("gaia mcp show ", "") == [WHOLE, "my\\ server  (x)", "a:b         (y z)", "my\\ \U0001f600      (w)"]
    assert bash("gaia mcp show ", "", COMP_TYPE="37") == [WHOLE, "my\\ server", "a:b", "my\\ \U0001f600"]
    assert bash("gaia mcp show ", "", COLUMNS="20") == bash("gaia mcp show ", "", COMP_TYPE="42")
    gaia.write({"a": {"command": "twenty-six-characters-long"}, "b": {"command": "twenty-seven-characters-long"}})
    assert bash("gaia mcp show ", "", COLUMNS="32") == [
        WHOLE,
        "a  (twenty-six-characters-long)",
        "b  (twenty-seven-characters-l…)",
    ]


def test_bash_completes_the_file_of_a_redirection(gaia: Gaia) -> None:
    """Ours: as it would itself."""
    (gaia.cwd / "out.txt").touch()

    assert bash("gaia mcp list > o", "o") == [WHOLE, "out.txt"]
    assert bash("gaia mcp list >x sh", "sh") == [WHOLE]


def test_zsh_is_told_how_words_end_with_colons_escaped() -> None:
    """zsh: `_describe` takes the first colon for the end of the word."""
    assert answered("zsh", ["mcp", "show", ""], "gaia", {}) == [" my server:x", " a\\:b:y z", " my \U0001f600:w"]
    assert answered("zsh", ["mcp", "serve", "x.py"], "gaia", {}) == []


def test_zsh_is_told_what_stays_open(gaia: Gaia) -> None:
    """Ours."""
    (gaia.cwd / "fol\\der").mkdir()

    assert answered("zsh", ["list", "--config", ""], "gaia", {}) == ["+fol\\\\der/"]


def test_fish_is_told_words_and_descriptions() -> None:
    """fish: it quotes by itself, and gives the word as it is typed."""
    assert answered("fish", ["mcp", "show", "'my s"], "gaia", {}) == ["my server\tx"]


def test_powershell_is_told_words_and_descriptions() -> None:
    """PowerShell: an empty word would not arrive, so each has a dot before it; and no description may be empty."""
    assert answered("powershell", ["mcp", "show", ".my s"], "gaia", {}) == ["my server\tx"]
    assert answered("powershell", ["mcp", "completion", ".z"], "gaia", {}) == ["zsh\tzsh"]


def test_another_shell_is_none() -> None:
    """Ours."""
    with pytest.raises(ValueError, match="ksh"):
        answered("ksh", [""], "gaia", {})


@pytest.mark.parametrize(
    "words", [(), ("bash",), ("ksh", "--", ""), ("bash", "--", "gaia"), ("fish", "--"), ("powershell", "--")]
)
def test_the_hidden_entry_never_fails(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: nothing said, nothing wrong."""
    ran = subprocess.run([BIN / "gaia", "complete", *words], capture_output=True, env=gaia.environ, check=True)

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_the_hidden_entry_knows_both_names_and_is_in_no_help(gaia: Gaia) -> None:
    """Ours."""

    def told(*program: str) -> str:
        command = [*program, "complete", "fish", "--", "te"]
        return subprocess.run(command, capture_output=True, env=gaia.environ, text=True, check=True).stdout

    assert told(str(BIN / "gmcp")) == "test-client\tTest servers, step by step.\n"
    assert told(str(BIN / "gaia")) == told(sys.executable, "-m", "gaia_mcp") == ""
    assert "\n  complete " not in gaia("--help").stdout


def test_a_bug_in_a_completion_is_silent(gaia: Gaia) -> None:
    """Ours: whatever it is."""
    (gaia.cwd / "sitecustomize.py").write_text(
        "import gaia_mcp.config.store as store\n"
        "def broken(self): raise ZeroDivisionError('oops')\n"
        "store.ConfigStore.servers = broken\n"
    )
    ran = subprocess.run(
        [BIN / "gaia", "complete", "fish", "--", "mcp", "show", ""],
        capture_output=True,
        env={**gaia.environ, "PYTHONPATH": str(gaia.cwd)},
        check=True,
    )

    assert (ran.stdout, ran.stderr) == (b"", b"")


def modules_of_a_tab(gaia: Gaia, line: str) -> set[str]:
    """What is loaded once the line has been answered, from the first instruction of the program."""
    (gaia.cwd / "sitecustomize.py").write_text(
        "import os, sys\n"
        "leave = os._exit\n"
        "os._exit = lambda status: (print(*sys.modules, file=sys.stderr, flush=True), leave(status))\n"
    )
    ran = subprocess.run(
        [BIN / "gaia", "complete", "bash", "--", line, line.rpartition(" ")[2]],
        capture_output=True,
        env={**gaia.environ, "PYTHONPATH": str(gaia.cwd)},
        cwd=gaia.cwd,
        check=True,
    )
    assert ran.stdout != b""
    return set(ran.stderr.decode().split())


def test_a_tab_loads_only_what_it_needs(gaia: Gaia) -> None:
    """Speed is a feature: no Typer, no command, no client, no schema library."""
    loaded = modules_of_a_tab(gaia, "gaia mcp call my")

    assert {each for each in loaded if each.startswith("gaia_mcp.cli.")} == {
        "gaia_mcp.cli.program",
        "gaia_mcp.cli.completion",
        *(f"gaia_mcp.cli.completion.{each}" for each in ("answering", "candidate", "candidates", "context")),
        *(f"gaia_mcp.cli.completion.{each}" for each in ("completers", "file_names", "shell_words")),
        "gaia_mcp.cli.grammar",
        *(f"gaia_mcp.cli.grammar.{each}" for each in ("leading", "model", "parsing", "table")),
        "gaia_mcp.cli.screen",
        "gaia_mcp.cli.screen.terminal",
    }
    assert loaded.isdisjoint({"threading", "subprocess", "asyncio", "dataclasses", "inspect", "platformdirs"})
    assert loaded.isdisjoint({"gaia_mcp.client", "gaia_mcp.protocol", "jsonschema_rs", "httpx2"})


def test_a_tab_compiles_no_annotation(gaia: Gaia) -> None:
    """Speed is a feature: a string that annotates a named tuple costs a quarter of `python -c pass`."""
    program = (
        "import typing\n"
        "from gaia_mcp.cli.completion.candidates import candidates\n"
        "for words in ['call', ''], ['call', 'my server', ''], ['call', 'my server', 'tool', 'argument=']:\n"
        "    candidates(words)\n"
        "for each in tuple.__subclasses__():\n"
        "    if any(isinstance(kind, typing.ForwardRef) for kind in getattr(each, '__annotations__', {}).values()):\n"
        "        print(f'{each.__module__}.{each.__name__}')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=gaia.environ, cwd=gaia.cwd, check=True
    )

    assert ran.stdout.decode() == ""


@pytest.mark.parametrize("name", PROGRAM.commands["mcp"].commands)
def test_no_parameter_needs_typer_to_be_completed(gaia: Gaia, name: str) -> None:
    """Ours: whatever a completer asks, it is not the commands."""
    command = PROGRAM.commands["mcp"].commands[name]
    lines = [["mcp", name, *["my server"] * place, ""] for place, _ in enumerate(command.arguments)]
    lines += [["mcp", name, "my server", each.names[0], ""] for each in command.options if each.metavar]
    program = (
        "import json, sys\n"
        "from gaia_mcp.cli.completion.answering import answered\n"
        "for line in json.loads(sys.argv[1]): answered('powershell', [*line[:-1], '.'], 'gaia', {})\n"
        "print(*{each.partition('.')[0] for each in sys.modules})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, json.dumps(lines)],
        capture_output=True,
        env=gaia.environ,
        cwd=gaia.cwd,
        check=True,
    )
    assert {"typer", "click", "rich"}.isdisjoint(ran.stdout.decode().split())


def test_a_tab_reads_the_configuration_once(gaia: Gaia) -> None:
    """Ours: a server, a tool of it and the tool's arguments are all looked up in what was read."""
    gaia.config.rename(gaia.cwd / "other.json")
    context = CompletionContext({"config": "other.json", "target": "a:b", "words": ["greet"]})

    call_targets(context)
    (gaia.cwd / "other.json").unlink()

    assert [each.value for each in call_targets(context)] == ["my server", "a:b", "my \U0001f600"]
    assert call_words(context) == []


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1"])
def test_every_locale_gets_the_same_bytes(gaia: Gaia, locale: str) -> None:
    """Ours: a file's names are what they are."""
    ran = subprocess.run(
        [BIN / "gaia", "complete", "fish", "--", "mcp", "show", "my"],
        capture_output=True,
        env={**gaia.environ, "LANG": locale, "LC_ALL": locale},
        check=True,
    )

    assert ran.stdout.decode() == "my server\tx\nmy \U0001f600\tw\n"


def test_a_tab_does_not_wait_for_what_never_answers(gaia: Gaia) -> None:
    """Ours: a remote disk, perhaps. Here even the usual answer takes too long."""
    gaia.write({"x": {"command": "true"}})
    program = (
        "from gaia_mcp.cli.completion import answering\n"
        "answering.PATIENCE_SECONDS = 1e-6\n"
        "answering.answer(['fish', '--', 'mcp', 'call', ''])\n"
        "print('it went on')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=gaia.environ, cwd=gaia.cwd, timeout=60, check=True
    )

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_a_reader_that_has_gone_is_no_error(gaia: Gaia) -> None:
    """Ours."""
    ran = subprocess.run(
        ["bash", "-c", f"{BIN / 'gaia'} complete fish -- mcp '' | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        env=gaia.environ,
        check=True,
    )

    assert ran.stdout.splitlines()[-1] == b"0"
    assert ran.stderr == b""
