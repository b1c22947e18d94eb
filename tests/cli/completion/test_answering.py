"""What the completion scripts of the shells get."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.completion.answering import answered
from gaia_mcp.cli.grammar.parsing import PROGRAM
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


def test_bash_gets_only_the_replacement_of_the_tail() -> None:
    """Readline keeps the text before the last `=`, `:`, `@` or opening quote."""
    assert bash("gaia mcp ca", "ca") == [WHOLE, "call"]
    assert bash("gaia mcp show a:", "") == [WHOLE, "b"]
    assert bash("gaia mcp list --config=", "")[0] == WHOLE
    assert bash("gaia mcp show my\\ s", "my\\ s") == [WHOLE, "my\\ server"]
    assert bash('gaia mcp show "my s', "my s") == [WHOLE, "my server"]
    assert bash("gaia mcp show 'a:", "a:") == [WHOLE, "a:b"]


def test_bash_adds_no_space_after_a_folder(gaia: Gaia) -> None:
    """Ours: the next TAB completes what is in the folder."""
    (gaia.cwd / "folder").mkdir()

    assert bash("gaia mcp list --config=fo", "fo") == [OPEN, "folder/"]


def test_bash_lists_several_candidates_with_descriptions(gaia: Gaia) -> None:
    """Ours: but not when bash inserts them in turn, nor on a terminal that is too narrow."""
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
    """Ours: as bash does for other programs."""
    (gaia.cwd / "out.txt").touch()

    assert bash("gaia mcp list > o", "o") == [WHOLE, "out.txt"]
    assert bash("gaia mcp list >x sh", "sh") == [WHOLE]


def test_zsh_gets_words_with_escaped_colons() -> None:
    """zsh: `_describe` takes the first colon for the end of the word."""
    assert answered("zsh", ["mcp", "show", ""], "gaia", {}) == [" my server:x", " a\\:b:y z", " my \U0001f600:w"]
    assert answered("zsh", ["mcp", "serve", "x.py"], "gaia", {}) == []


def test_zsh_adds_no_space_after_a_folder(gaia: Gaia) -> None:
    """Ours: the next TAB completes what is in the folder; `+` marks such a word for the script."""
    (gaia.cwd / "fol\\der").mkdir()

    assert answered("zsh", ["list", "--config", ""], "gaia", {}) == ["+fol\\\\der/"]


def test_fish_gets_words_and_descriptions() -> None:
    """fish quotes the candidates itself, and passes the word as it is typed."""
    assert answered("fish", ["mcp", "show", "'my s"], "gaia", {}) == ["my server\tx"]


def test_powershell_gets_words_and_descriptions() -> None:
    """PowerShell drops an empty argument, so each has a dot before it; a description must not be empty."""
    assert answered("powershell", ["mcp", "show", ".my s"], "gaia", {}) == ["my server\tx"]
    assert answered("powershell", ["mcp", "completion", ".z"], "gaia", {}) == ["zsh\tzsh"]


def test_an_unknown_shell_is_an_error() -> None:
    """Ours: the caller turns it into silence, so a script of ours with a wrong name is noticed only here."""
    with pytest.raises(ValueError, match="ksh"):
        answered("ksh", [""], "gaia", {})


@pytest.mark.parametrize(
    "words", [(), ("bash",), ("ksh", "--", ""), ("bash", "--", "gaia"), ("fish", "--"), ("powershell", "--")]
)
def test_the_complete_command_never_fails(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: an error message would garble the line that is being typed."""
    ran = gaia.command(BIN / "gaia", "complete", *words)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_the_complete_command_works_for_each_program_name_and_is_not_in_the_help(gaia: Gaia) -> None:
    """Ours: only `gmcp` leaves out `mcp`; only scripts run this command."""

    def printed(*program: str) -> str:
        command = [*program, "complete", "fish", "--", "te"]
        return subprocess.run(command, capture_output=True, env=gaia.environ, text=True, check=True).stdout

    assert printed(str(BIN / "gmcp")) == "test-client\tTest servers, step by step.\n"
    assert printed(str(BIN / "gaia")) == printed(sys.executable, "-m", "gaia_mcp") == ""
    assert "\n  complete " not in gaia("--help").stdout


def test_an_exception_in_a_completion_is_silent(gaia: Gaia) -> None:
    """Ours: a traceback would garble the line that is being typed."""
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


def test_completion_loads_only_the_modules_it_needs(gaia: Gaia) -> None:
    """Speed is a feature: no Typer, no command, no client, no schema library."""
    loaded = modules_of_a_tab(gaia, "gaia mcp call my")

    assert {each for each in loaded if each.startswith("gaia_mcp.cli.")} == {
        "gaia_mcp.cli.program",
        "gaia_mcp.cli.completion",
        *(f"gaia_mcp.cli.completion.{each}" for each in ("answering", "completers", "context", "file_names")),
        "gaia_mcp.cli.grammar",
        "gaia_mcp.cli.grammar.parsing",
        "gaia_mcp.cli.screen",
    }
    assert loaded.isdisjoint({"threading", "subprocess", "asyncio", "dataclasses", "inspect", "platformdirs"})
    assert loaded.isdisjoint({"gaia_mcp.client", "gaia_mcp.protocol", "jsonschema_rs", "httpx2"})


def test_completion_compiles_no_annotation(gaia: Gaia) -> None:
    """Speed is a feature: a string that annotates a named tuple costs a quarter of `python -c pass`."""
    program = (
        "import typing\n"
        "from gaia_mcp.cli.completion.answering import candidates\n"
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


def test_no_parameter_needs_typer_to_be_completed(gaia: Gaia) -> None:
    """Speed is a feature: loading Typer and the commands takes longer than all the rest."""
    lines = []
    for name, command in PROGRAM.commands["mcp"].commands.items():
        lines += [["mcp", name, *["my server"] * place, ""] for place, _ in enumerate(command.arguments)]
        lines += [["mcp", name, "my server", each.names[0], ""] for each in command.options if each.metavar]
    # Each line has what the ones before it have loaded; the first that has too much is printed.
    program = (
        "import json, sys\n"
        "from gaia_mcp.cli.completion.answering import answered\n"
        "for line in json.loads(sys.argv[1]):\n"
        "    answered('powershell', [*line[:-1], '.'], 'gaia', {})\n"
        "    if {'typer', 'click', 'rich'} & {each.partition('.')[0] for each in sys.modules}:\n"
        "        sys.exit(print(*line))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, json.dumps(lines)],
        capture_output=True,
        env=gaia.environ,
        cwd=gaia.cwd,
        check=True,
    )
    assert (ran.stdout.decode(), len(lines) > 100) == ("", True)


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1"])
def test_completion_prints_the_same_bytes_in_every_locale(gaia: Gaia, locale: str) -> None:
    """Ours: the names of servers and files are UTF-8, whatever the locale is."""
    ran = subprocess.run(
        [BIN / "gaia", "complete", "fish", "--", "mcp", "show", "my"],
        capture_output=True,
        env={**gaia.environ, "LANG": locale, "LC_ALL": locale},
        check=True,
    )

    assert ran.stdout.decode() == "my server\tx\nmy \U0001f600\tw\n"


def test_completion_gives_up_after_its_time_limit(gaia: Gaia) -> None:
    """Ours: a file on a remote disk may block for ever. Here even an ordinary line takes too long."""
    gaia.write({"x": {"command": "true"}})
    program = (
        "from gaia_mcp.cli.completion import answering\n"
        "answering.answer(['fish', '--', 'mcp', 'call', ''], patience_seconds=1e-6)\n"
        "print('it went on')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=gaia.environ, cwd=gaia.cwd, timeout=60, check=True
    )

    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_completion_into_a_closed_pipe_exits_with_0(gaia: Gaia) -> None:
    """Ours: a shell that no longer reads must not print an error into the line."""
    ran = subprocess.run(
        ["bash", "-c", f"{BIN / 'gaia'} complete fish -- mcp '' | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        env=gaia.environ,
        check=True,
    )

    assert ran.stdout.splitlines()[-1] == b"0"
    assert ran.stderr == b""
