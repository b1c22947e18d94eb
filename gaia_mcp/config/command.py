"""The usual target of an entry: a command to start.

Also the references in the values of every target: `${NAME}` and `${NAME:-default}`, expanded at use, never at save, and
`{"$keyring": ...}`, secrets that AMD's GAIA keeps in the system's keyring. Every start of a server loads this module,
so it loads little. Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gaia_mcp.core.errors import EntryError, VariableUnsetError
from gaia_mcp.core.names import LITERAL_DOLLAR

# A description is one column of a line in a terminal.
MAX_DESCRIBED_CHARS = 400

NOTHING: Mapping[str, Any] = MappingProxyType({})
SERVICE = "gaia.connections"
# Compiled at the first reference: most entries have none, and start faster without it. The length of a default is
# limited, so that the end of an unclosed one is not searched for in the whole text.
_REFERENCE = r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]{0,1000}))?\}"


# Tuples rather than dataclasses, which take five times as long to define: every `call` and every TAB loads this module.
class Command(NamedTuple):
    """A program to start, which communicates through its standard streams. Without `args`, `command` is a command line.

    A value of `env` is a string, or `{"$keyring": …}` until it is resolved. With `inherit` the program inherits our
    whole environment, otherwise only some variables. With `keeps_unset` a reference to an unset variable in an
    argument is passed on unchanged.
    """

    command: str
    args: list[str] | None = None
    env: Mapping[str, Any] = NOTHING
    cwd: str | None = None
    inherit: bool = False
    keeps_unset: bool = False

    @property
    def transport(self) -> str:
        """How the server is reached."""
        return "stdio"

    def resolved(self, server: str, environ: Mapping[str, str]) -> "Command":
        """The command with variables expanded and secrets read from the keyring. A command line must still be split, by
        `command_words`.

        Raises `VariableUnsetError`, and `EntryError` for a secret that cannot be read.
        """

        def value(text: str, field: str) -> str:
            keeps_unset = self.keeps_unset and field == "args"
            is_line = field == "command" and not self.args
            return expanded(text, environ, server=server, field=field, keeps_unset=keeps_unset, is_line=is_line)

        return Command(
            with_home(value(self.command, "command")),
            None if self.args is None else [value(argument, "args") for argument in self.args],
            {
                key: value(held, f"env {key}") if isinstance(held, str) else _secret(server, key, held)
                for key, held in self.env.items()
            },
            None if self.cwd is None else with_home(value(self.cwd, "cwd")),
            self.inherit,
        )

    def masked(self) -> dict[str, Any]:
        """The members of the entry, with their secrets masked."""
        from gaia_mcp.text.redaction import masked_arguments, masked_value

        shown: dict[str, Any] = {"command": self._masked_command(), "args": masked_arguments(self.args or [])}
        if self.env:
            shown["env"] = {
                key: masked_value(key, held) if isinstance(held, str) else held for key, held in self.env.items()
            }
        if self.cwd is not None:
            shown["cwd"] = self.cwd
        return {**shown, "inherit": True} if self.inherit else shown

    def summary(self) -> dict[str, Any]:
        """The members that identify the server, for a file that others read: only the names of its variables."""
        shown = self.masked()
        if self.args is None:
            del shown["args"]
        if self.env:
            shown["env"] = sorted(self.env)
        return shown

    def described(self) -> str:
        """The command line, on one line and without secrets."""
        from shlex import quote

        from gaia_mcp.text import MASK

        shown = self.masked()
        words = [argument if argument == MASK else quote(argument) for argument in shown["args"]]
        return on_one_line(" ".join([shown["command"], *words]))

    def identity(self) -> list[Any]:
        """The identity of the server, as JSON. Contains only the names of its variables, because tokens are renewed.

        The arguments may contain secrets, so this must not be written to a file.
        """
        # Without `inherit` the same as in versions that lacked it, so that caches stay valid.
        return [self.command, self.args, sorted(self.env), self.cwd, *(["inherit"] if self.inherit else [])]

    def _masked_command(self) -> str:
        if self.args:
            return self.command
        from gaia_mcp.text.redaction import masked_arguments

        return " ".join(masked_arguments(self.command.split(" ")))


def with_home(text: str) -> str:
    """`text` with a leading `~` replaced by the user's home folder."""
    # Not with `Path`, which would also normalise the rest of a command line, such as the // of a URL.
    return os.path.expanduser(text)  # noqa: PTH111


def on_one_line(text: str) -> str:
    """A description for display: cleaned, and truncated."""
    from gaia_mcp.text import one_line

    return one_line(text, MAX_DESCRIBED_CHARS)


def _secret(server: str, key: str, held: dict[str, str]) -> str:

    return secret_from_keyring(server, f"env {key}", held["$keyring"])


def secret_from_keyring(server: str, field: str, reference: str) -> str:
    """The secret that the reference in `field` names.

    Raises `EntryError` for another service, without a keyring, and for a secret that is not in the keyring.
    """
    service, colon, account = reference.partition(":")
    if service != SERVICE or not colon or not account:
        raise EntryError(server, f"{field} refers to a keyring service other than {SERVICE!r}")
    try:
        import keyring
    except ImportError:
        raise EntryError(
            server,
            f"{field} is in the system's keyring, which needs the package 'keyring'",
            case="keyring-missing",
        ) from None
    try:
        secret = keyring.get_password(SERVICE, account)
    except keyring.errors.KeyringError as cause:
        raise EntryError(server, f"{field}: the keyring cannot be read: {cause}") from cause
    if secret is None:
        raise EntryError(server, f"{field}: the keyring has no entry {account!r}")
    return str(secret)


def expanded(
    text: str,
    environ: Mapping[str, str],
    *,
    server: str,
    field: str,
    keeps_unset: bool = False,
    is_line: bool = False,
) -> str:
    """`text` with its references replaced. With `keeps_unset` a reference to an unset variable without a default stays;
    otherwise it raises `VariableUnsetError`. As in a shell, the default also replaces an empty value.

    With `is_line` it is a command line, whose words are expanded later, as by a shell: each `$` in a value becomes
    `LITERAL_DOLLAR`, so that it is not expanded again.
    """

    def guarded(value: str) -> str:
        return value.replace("$", LITERAL_DOLLAR) if is_line else value

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if default is not None:
            return guarded(environ.get(name, "")) or default
        if name not in environ:
            if keeps_unset:
                return match[0]
            raise VariableUnsetError(server, name, field)
        return guarded(environ[name])

    return re.sub(_REFERENCE, value, text) if "${" in text else text


def references_in(text: str) -> list[str]:
    """The names of the variables to which `text` refers, in order."""
    return [match["name"] for match in re.finditer(_REFERENCE, text)] if "${" in text else []
