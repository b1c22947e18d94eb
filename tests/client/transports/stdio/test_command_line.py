from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.command_line import (
    command_for_system,
    command_words,
    find_program,
    references,
    split_command_line,
)
from gaia_mcp.config.command import Command
from gaia_mcp.errors import EntryError, SpawnError

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


SPLIT = {
    "npx -y @scope/server /tmp": ["npx", "-y", "@scope/server", "/tmp"],
    "  python   -m  server ": ["python", "-m", "server"],
    'python "my server.py" \'a b\' c\\ d ""': ["python", "my server.py", "a b", "c d", ""],
    "server --url=http://h/?a=1&b=2 --expr=x;y": ["server", "--url=http://h/?a=1&b=2", "--expr=x;y"],
    "server --filter=a|b 'x > y'": ["server", "--filter=a|b", "x > y"],
}


def test_a_command_line_is_split_as_a_shell_would() -> None:
    """Ours, for GAIA's from_command: words and quotes, nothing more."""
    assert {line: split_command_line("s", line, {}) for line in SPLIT} == SPLIT


SHELL_SYNTAX = [
    "server | tee log", "server || true", "server & other", "server && other", "server ; other", "server; other",
    "server > log", "server >> log", "server < in", "server << end", "server 2> log", "server 2>&1",
    "server 2>/dev/null", "server $(date)", "server --at=$(date)", "server `date`",
]  # fmt: skip


def refusal_of(line: str) -> tuple[str, str] | Exception | None:
    """The server and the case of the error that a command line raises."""
    try:
        split_command_line("s", line, {})
    except EntryError as error:
        return error.server, error.case
    except Exception as error:
        return error
    return None


def test_shell_syntax_is_refused() -> None:
    """Ours: without a shell it would be passed on as arguments and not do what it seems to."""
    found = {line: refusal_of(line) for line in SHELL_SYNTAX}

    assert found == dict.fromkeys(SHELL_SYNTAX, ("s", "shell-syntax"))


def test_an_empty_or_unterminated_command_line_is_refused() -> None:
    """Ours: the entry has to be corrected, so that its server and what is wrong are named."""
    lines = ["", "   ", "server 'open", 'server "open', "server \\"]

    assert {line: refusal_of(line) for line in lines} == dict.fromkeys(lines, ("s", ""))


EXPANDED = {
    "python ~/s.py": ["python", "/home/jane/s.py"],
    "~/run --in $HOME/in": ["/home/jane/run", "--in", "/home/jane/in"],
    'run "$DIR/a b" ${DIR}/c': ["run", "/d d/a b", "/d d/c"],
    "run '$DIR' \\$DIR \"\\$DIR\" '~' \\~": ["run", "$DIR", "$DIR", "$DIR", "~", "~"],
    'run "it\'s $DIR"': ["run", "it's /d d"],
    "run $NONE ${NONE} ${NONE:-x} $1 $ a~b": ["run", "$NONE", "${NONE}", "${NONE:-x}", "$1", "$", "a~b"],
    "run ~no-such-user/x": ["run", "~no-such-user/x"],
}


def test_the_home_folder_and_variables_are_expanded_in_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA, from 0.18 on: the home and variables are expanded as by a shell. The value of a variable is not split, and
    what is quoted against a shell stays.
    """
    monkeypatch.setenv("HOME", "/home/jane")
    environ = {"HOME": "/home/jane", "DIR": "/d d"}

    assert {line: split_command_line("s", line, environ) for line in EXPANDED} == EXPANDED


EXPANDED_ONCE = {
    "run ${VALUE}": ["run", "a$HOME", "${HOME}"],
    "run '${VALUE}' \"${VALUE}\"": ["run", "a$HOME ${HOME}", "a$HOME ${HOME}"],
    "run ${NONE:-$HOME}": ["run", "/home/jane"],
    "${DIR}/my program": ["/d$HOME/my", "program"],
}


def test_the_value_of_a_variable_is_not_expanded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a password with a $ in it reaches the server as it is, whether the entry has args or not."""
    monkeypatch.setenv("HOME", "/home/jane")
    environ = {"VALUE": "a$HOME ${HOME}", "DIR": "/d$HOME"}

    def words_of(line: str) -> list[str]:
        target = Command(line).resolved("s", environ)
        command, args = command_words("s", target.command, target.args)
        return [command, *args]

    assert {line: words_of(line) for line in EXPANDED_ONCE} == EXPANDED_ONCE


def test_a_program_with_a_dollar_in_its_path_is_found(tmp_path: Path) -> None:
    """Ours: also where the path comes from a variable."""
    path = program(tmp_path / "$HOME" / "my program")
    target = Command("${PLACE}/my program", []).resolved("s", {"PLACE": str(path.parent)})

    assert command_words("s", target.command, target.args) == (str(path), [])


def test_a_command_line_may_be_saved_with_references_in_place_of_values() -> None:
    """Ours: a secret of the environment must not get into a file."""
    environ = references({"TOKEN": "secret"})

    assert split_command_line("s", "run $TOKEN ${TOKEN} $NONE", environ) == ["run", "${TOKEN}", "${TOKEN}", "$NONE"]


def test_an_empty_list_of_arguments_means_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA: `{"command": "python s.py", "args": []}` is a command line."""
    monkeypatch.setenv("DIR", "/d")

    assert command_words("s", "python $DIR/s.py", []) == ("python", ["/d/s.py"])
    assert command_words("s", "python $DIR/s.py", [], {}) == ("python", ["$DIR/s.py"])
    assert command_words("s", "my program", ["$DIR", "~"]) == ("my program", ["$DIR", "~"])


def test_a_bare_command_is_looked_up_on_the_servers_own_path(tmp_path: Path) -> None:
    """Ours: an entry may bring its own PATH."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "server", {"PATH": f"/nowhere:{tmp_path}/bin"}, None) == str(there)


def test_programs_on_windows_are_found_by_the_standard_library(tmp_path: Path) -> None:
    """Ours: there the standard library decides, which knows `PATHEXT` and the folders of the registry."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "server", {"PATH": str(there.parent)}, None, "nt") == str(there)
    assert find_program("s", "./bin/server", {}, str(tmp_path), "nt") == str(there)
    with pytest.raises(SpawnError):
        find_program("s", "server", {"PATH": "/nowhere"}, None, "nt")


def test_a_command_with_a_folder_is_found_from_the_working_folder(tmp_path: Path) -> None:
    """Ours: relative to the entry's cwd, where the server will run."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "./bin/server", {}, str(tmp_path)) == str(there)
    assert find_program("s", str(there), {}, "/") == str(there)


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no shell does it for us."""
    monkeypatch.setenv("HOME", str(tmp_path))
    there = program(tmp_path / "server")

    assert find_program("s", "~/server", {}, None) == str(there)


def test_symbolic_links_are_not_resolved(tmp_path: Path) -> None:
    """Ours: the interpreter of a virtual environment is a link, and knows its environment by where the link lies."""
    real = program(tmp_path / "real" / "python3")
    link = tmp_path / "venv" / "python"
    link.parent.mkdir()
    link.symlink_to(real)

    assert find_program("s", str(link), {}, None) == str(link)


def test_a_command_that_is_not_on_the_path_is_reported() -> None:
    """Ours: the commonest failure of all."""
    with pytest.raises(SpawnError) as caught:
        find_program("s", "npx", {"PATH": "/nowhere"}, None)

    assert (caught.value.server, caught.value.command, caught.value.reason) == ("s", "npx", "was not found on PATH")
    assert caught.value.case == "not-on-path"


NOT_RUN = {
    "./absent": "does not exist",
    "./folder/": "is a folder",
    "./plain": "is not executable",
    "~nobody-of-this-name/server": "does not exist",
}  # fmt: skip


def test_a_path_that_cannot_be_run_is_reported_with_the_reason(tmp_path: Path) -> None:
    """Ours: each reason has another remedy, and the message of the system does not name it."""
    (tmp_path / "folder").mkdir()
    program(tmp_path / "plain", 0o644)

    def reason_of(command: str) -> str | Exception:
        try:
            return find_program("s", command, {}, str(tmp_path))
        except SpawnError as error:
            return error.reason
        except Exception as error:
            return error

    assert {command: reason_of(command) for command in NOT_RUN} == NOT_RUN


@pytest.mark.parametrize("cwd", [None, "."])
def test_a_relative_path_is_not_looked_up_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    """Ours: "./git" is not the git on PATH."""
    program(tmp_path / "here" / "git")
    program(tmp_path / "bin" / "git")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert find_program("s", "./git", {}, cwd) == str(tmp_path / "here" / "git")


def test_arguments_are_passed_unchanged() -> None:
    """Ours: no shell between us and a server."""
    arguments = ["a b", '"', "%PATH%", "$HOME", ""]

    assert command_for_system("/bin/server", arguments, "posix") == ["/bin/server", *arguments]
    assert command_for_system("C:\\x\\server.exe", arguments, "nt") == ["C:\\x\\server.exe", *arguments]
    assert command_for_system("/bin/server.cmd", arguments, "posix") == ["/bin/server.cmd", *arguments]


QUOTED = {
    "plain": '^"plain^"',
    "a b": '^"a b^"',
    "": '^"^"',
    "%PATH%": '^"^%PATH^%^"',
    "a&b|c<d>e^f": '^"a^&b^|c^<d^>e^^f^"',
    "(x)!": '^"^(x^)^!^"',
    'say "hi"': '^"say \\^"hi\\^"^"',
    'a\\"b': '^"a\\\\\\^"b^"',
    "C:\\dir\\": '^"C:\\dir\\\\^"',
}


def test_arguments_of_a_batch_file_are_escaped() -> None:
    """Ours: cmd.exe reads its own syntax inside arguments, so each special character is escaped for it."""
    lines = {argument: command_for_system("C:\\n\\npx.CMD", [argument], "nt") for argument in QUOTED}

    assert lines == {argument: f'cmd.exe /d /s /c "^"C:\\n\\npx.CMD^" {quoted}"' for argument, quoted in QUOTED.items()}


def test_a_path_with_a_space_is_a_program(tmp_path: Path) -> None:
    """Ours: not a command line."""
    program = tmp_path / "my server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert command_words("s", str(program), None) == (str(program), [])
    assert command_words("s", str(program), ["a b"]) == (str(program), ["a b"])
    assert command_words("s", "prog 'a b' c", None) == ("prog", ["a b", "c"])


@pytest.mark.parametrize("line", ["uvx 'srv --token sk-AAAABBBB1111", "uvx --token sk-AAAABBBB1111;"])
def test_secrets_in_an_invalid_command_line_are_masked(line: str) -> None:
    """Ours: errors end in the logs of builds."""
    with pytest.raises(EntryError) as caught:
        split_command_line("s", line, {})

    assert "****" in caught.value.message
    assert "AAAABBBB" not in str(caught.value)


def test_an_expanded_value_in_an_invalid_command_line_is_shown_unchanged() -> None:
    """Ours: nothing of how it is kept from being expanded again is in an error."""
    target = Command("run ${VALUE}").resolved("s", {"VALUE": "a$b;"})

    with pytest.raises(EntryError) as caught:
        command_words("s", target.command, target.args)
    assert "('a$b;')" in caught.value.message


def test_the_value_of_a_variable_assignment_is_masked(tmp_path: Path) -> None:
    """Ours: shells take it so, and nothing else does."""
    with pytest.raises(SpawnError) as caught:
        find_program("s", "TOKEN=sk-AAAABBBB1111", {"PATH": str(tmp_path)}, None)

    assert "'TOKEN=****' was not found on PATH" in caught.value.message


@pytest.mark.parametrize("line", ["no\0de x", "no\ud800de"])
def test_a_command_line_with_null_or_surrogates_is_refused(line: str) -> None:
    """Ours: a program may make one, although no person can type it."""
    with pytest.raises(EntryError, match="cannot be run"):
        command_words("s", line, None)
