"""What a child is started with: from a configured command to a program and arguments for the operating system, without
a shell, and its environment, the variables of the entry and a short list of inherited ones.

A server must not read the secrets of the shell that it was started from: only the variables listed here are inherited,
and of those listed by prefix none that looks like a secret.

No shell is ever involved; shell syntax is rejected.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaia_mcp.core.errors import EntryError, SpawnError
from gaia_mcp.core.names import LITERAL_DOLLAR, SERVER_SECRETS

_SHELL_SYNTAX = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "2>/dev/null"})
_SHELL_INSIDE = r"\$\(|`|^[^\s=]*;$"
# Stand-ins for characters in single quotes or after a backslash, which are not expanded. No command line contains them.
_LITERAL = {"$": LITERAL_DOLLAR, "~": "\1"}
_QUOTED = r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\."""
_VARIABLE = r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))"
# Characters that are special to cmd.exe even inside double quotes.
_CMD_SPECIAL = r'(["%!^&|<>()])'
# As in the SDKs, plus the temporary folder, without which installers fail.
_POSIX = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_WINDOWS = (
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
)  # fmt: skip
# Behind a company's proxy no package can be downloaded and no service reached without these. The URL of a proxy is
# inherited with its password, which is required; no error, log or list shows it.
_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
# For a server that opens a window or a browser, or uses git. They name sockets and files, although some look like
# secrets.
_DESKTOP = (
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP", "XDG_SESSION_ID", "XDG_SESSION_TYPE",
)  # fmt: skip
# Language and folders; the settings of package managers, such as a company's index; and those of version managers,
# whose programs on PATH cannot run without them.
INHERITED_PREFIXES = (
    "LC_", "NPM_CONFIG_", "NVM_", "PIP_", "PYENV_", "UV_", "VOLTA_", "XDG_", "npm_config_",
)  # fmt: skip


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
                f"the command line uses shell syntax ({_shown(word)!r}), but is run without a shell",
                case="shell-syntax",
            )
    return [expanded_word(word, environ) for word in words]


def command_words(
    server: str, command: str, arguments: Sequence[str] | None, environ: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """Program and arguments. Without `arguments`, `command` is a command line, expanded from `environ`, by default this
    process's own. Raises as `split_command_line` does.
    """
    environ = os.environ if environ is None else environ
    if arguments:
        return command, list(arguments)
    try:
        # A path with a space in it is a program, not a command line.
        if _which(program := _restored(command), environ.get("PATH", os.defpath)):
            return program, []
    except ValueError as cause:  # A null byte, or a lone surrogate.
        raise EntryError(server, f"the command line {_shown(command)!r} cannot be run: {cause}") from cause
    program, *words = split_command_line(server, command, environ)
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
    from gaia_mcp.text.redaction import masked_arguments

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


_NETWORK = (
    *_PROXIES, *map(str.lower, _PROXIES), "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)  # fmt: skip
INHERITED_POSIX = frozenset((*_POSIX, *_NETWORK, *_DESKTOP))
INHERITED_WINDOWS = frozenset((*_WINDOWS, *_NETWORK))


def child_environment(
    own: Mapping[str, str], environ: Mapping[str, str], *, inherits_all: bool = False, system: str = os.name
) -> dict[str, str]:
    """The environment of a server: the inherited part of `environ`, or all of it but `SERVER_SECRETS`, and its `own`
    variables, which take precedence.
    """
    names = INHERITED_WINDOWS if system == "nt" else INHERITED_POSIX
    inherited = {
        name: value
        for name, value in environ.items()
        # Functions exported by old shells begin like this; they are code, not values.
        if (inherits_all or name in names or (name.startswith(INHERITED_PREFIXES) and not _is_secret(name, value)))
        and not value.startswith("()")
        and name not in SERVER_SECRETS
    }
    return {**inherited, **own}


def secrets_given(
    command: str,
    arguments: Sequence[str] | None,
    own: Mapping[str, str],
    environ: Mapping[str, str] | None = None,
    *,
    inherits_all: bool = False,
) -> list[str]:
    """The secrets passed to a server, which no error or log may contain: the values of its `own` variables, apparent
    secrets among its arguments and the variables inherited from `environ`, by default this process's own, and
    credentials in URLs, such as a proxy's.

    Without `arguments` the command is a command line.
    """
    from gaia_mcp.text.redaction import in_text, in_value, looks_secret
    from gaia_mcp.text.redaction.masker import credentials_in, secrets_at, secrets_in

    environ = os.environ if environ is None else environ
    found = secrets_in(own, arguments or [expanded_word(word, environ) for word in command.split()])
    for name, value in child_environment({}, environ, inherits_all=inherits_all).items():
        if name not in INHERITED_POSIX and looks_secret(name):
            # Some variables that look like secrets by name contain a path.
            is_place = os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117
            found += [] if is_place else secrets_at(value, in_value(name, value))
        elif inherits_all and name not in INHERITED_POSIX:
            found += secrets_at(value, in_text(value))
        elif "@" in value:
            # The URL of a proxy may have no scheme.
            found += credentials_in(value if "://" in value else f"://{value}" if _is_proxy(name) else "")
    return found


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret: by its name, or as a URL with credentials that is not a proxy's."""
    from gaia_mcp.text.redaction import looks_secret, masked_url

    return looks_secret(name) or ("://" in value and not _is_proxy(name) and masked_url(value) != value)


def _is_proxy(name: str) -> bool:
    return name.upper().endswith("PROXY")
