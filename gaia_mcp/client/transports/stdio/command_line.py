"""From a configured command to a program and arguments for the operating system.

No shell is ever involved; shell syntax is rejected.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaia_mcp.errors import EntryError, SpawnError
from gaia_mcp.names import LITERAL_DOLLAR

_SHELL_SYNTAX = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "2>/dev/null"})
_SHELL_INSIDE = r"\$\(|`|^[^\s=]*;$"
# Stand-ins for characters in single quotes or after a backslash, which are not expanded. No command line contains them.
_LITERAL = {"$": LITERAL_DOLLAR, "~": "\1"}
_QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\."""
_VARIABLE = r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))"
# Characters that are special to cmd.exe even inside double quotes.
_CMD_SPECIAL = r'(["%!^&|<>()])'


def split_command_line(server: str, line: str, environ: Mapping[str, str]) -> list[str]:
    """Split a command line into words, with `~`, `$NAME` and `${NAME}` expanded from `environ` as a shell would.

    Raises `EntryError` for an empty command line, an unclosed quote, and shell syntax, which would have no effect.
    """
    try:
        words = shlex.split(re.sub(_QUOTED, _hidden, line), posix=os.name != "nt")
    except ValueError as cause:
        raise EntryError(server, f"the command line {_shown(line)!r} has {str(cause).lower()}") from cause
    if not words:
        raise EntryError(server, "the command line is empty")
    for word in words:
        if word in _SHELL_SYNTAX or re.search(_SHELL_INSIDE, word):
            raise EntryError(
                server,
                f"the command line uses shell syntax ({_shown(word)!r}), and no shell is involved",
                case="shell-syntax",
            )
    return [expanded_word(word, environ) for word in words]


def command_words(
    server: str, command: str, arguments: Sequence[str] | None, environ: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """Program and arguments. Without `arguments`, `command` is a command line, expanded from `environ`, by default this
    process's own. Raises as `split_command_line` does.
    """
    if arguments:
        return command, list(arguments)
    try:
        # A path with a space in it is a program, not a command line.
        if _which(program := _restored(command), os.environ.get("PATH", os.defpath)):
            return program, []
    except ValueError as cause:  # A null byte, or a lone surrogate.
        raise EntryError(server, f"the command line {_shown(command)!r} cannot be run: {cause}") from cause
    program, *words = split_command_line(server, command, os.environ if environ is None else environ)
    return program, words


def expanded_word(word: str, environ: Mapping[str, str]) -> str:
    """A word of a command line with a leading `~` or `~name`, `$NAME` and `${NAME}` replaced, as a shell would.

    Unset variables and unknown users are left unexpanded.
    """
    # Not by `Path`, which would also normalize the rest of the word, such as the // of a URL in it.
    word = os.path.expanduser(word) if word.startswith("~") else word  # noqa: PTH111
    if "$" in word:
        word = re.sub(_VARIABLE, lambda match: environ.get(match[1] or match[2], match[0]), word)
    return _restored(word)


def references(environ: Mapping[str, str]) -> dict[str, str]:
    """The names in `environ`, each with a reference to the variable as value: for text that is expanded later."""
    return {name: f"${{{name}}}" for name in environ}


def _hidden(quoted: re.Match[str]) -> str:
    """A quoted part of a command line, with stand-ins for the characters that must not be expanded."""
    text = quoted[0]
    if text.startswith('"'):
        return text.replace("\\$", _LITERAL["$"])
    for character, hidden in _LITERAL.items():
        text = text.replace(f"\\{character}" if text[0] == "\\" else character, hidden)
    return text


def _restored(word: str) -> str:
    for character, hidden in _LITERAL.items():
        word = word.replace(hidden, character)
    return word


def find_program(
    server: str, command: str, environment: Mapping[str, str], cwd: str | None, system: str = os.name
) -> str:
    """The program to start for `command`, by the child's own PATH (and PATHEXT on Windows).

    Raises `SpawnError` saying why there is none.
    """
    if os.path.dirname(command):  # noqa: PTH120 (a Path would drop a leading "./")
        # Not Path.expanduser(), which raises for an unknown user.
        # Absolute, or "./git" would be looked for on PATH; not by resolving the links of a virtual environment.
        path = Path(os.path.abspath(os.path.join(cwd or ".", os.path.expanduser(command))))  # noqa: PTH100, PTH111, PTH118
        found = _which(os.fspath(path), "", system)
        if found is not None:
            return found
        if not path.exists():
            raise SpawnError(server, _shown(command), "does not exist", case="no-such-program")
        if path.is_dir():
            raise SpawnError(server, _shown(command), "is a folder", hint="name the program in it")
        raise SpawnError(server, _shown(command), "is not executable", program=str(path), case="not-executable")
    found = _which(command, environment.get("PATH", os.defpath), system)
    if found is None:
        raise SpawnError(server, _shown(command), "was not found on PATH", case="not-on-path")
    return os.path.abspath(found)  # noqa: PTH100


def _shown(line: str) -> str:
    """A command line, or a word of it, with apparent secrets masked."""
    from gaia_mcp.redaction import masked_arguments

    return " ".join(masked_arguments(_restored(line).split(" ")))


def _which(command: str, search: str, system: str = os.name) -> str | None:
    """The path of the program `command`, searched in the folders of `search` unless it contains a folder."""
    if system == "nt":
        import shutil

        return shutil.which(command, path=search or None)
    # Written out: `shutil` loads three compressors, which takes longer than starting a server's process.
    folders = [""] if os.path.dirname(command) else search.split(os.pathsep)  # noqa: PTH120
    candidates = (os.path.join(folder, command) for folder in folders)  # noqa: PTH118
    return next((path for path in candidates if os.access(path, os.X_OK) and not os.path.isdir(path)), None)  # noqa: PTH112


def command_for_system(program: str, arguments: Sequence[str], system: str = os.name) -> list[str] | str:
    """The command for `subprocess.Popen`. A `.cmd` or `.bat` on Windows is run by cmd.exe, which interprets arguments:
    each special character is escaped for it, so that an argument stays an argument.
    """
    if system != "nt" or not program.lower().endswith((".cmd", ".bat")):
        return [program, *arguments]
    quoted = " ".join(_for_cmd(word) for word in (program, *arguments))
    return f'cmd.exe /d /s /c "{quoted}"'


def _for_cmd(word: str) -> str:
    # Backslashes before a quote, and at the end, must be doubled for the program that finally parses the line.
    escaped = re.sub(r'(?<!\\)(\\*)"', r'\1\1\\"', word)
    escaped = re.sub(r"(?<!\\)(\\+)$", r"\1\1", escaped)
    return re.sub(_CMD_SPECIAL, r"^\1", f'"{escaped}"')
