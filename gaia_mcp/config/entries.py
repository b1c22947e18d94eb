"""One server's entry: what may stand in it, and what it means."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from gaia_mcp.config.expansion import expanded
from gaia_mcp.errors import EntryError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# GAIA's own limit for an entry's timeout.
MAX_TIMEOUT_SECONDS = 600
_URL_TYPES = {
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
    "rpc": "rpc",
}


_NOTHING: Mapping[str, Any] = MappingProxyType({})


# A tuple rather than a dataclass, which would take as long to load as all the rest that leads to a server's start.
class ServerEntry(NamedTuple):
    """An entry that makes sense. `transport` is "stdio", "http", "sse", "rpc", "handler" or "agent".

    `raw` is the entry as it stands in the file; `source` the file; `timeout` in seconds, None where it says nothing.
    """

    name: str
    transport: str
    command: str = ""
    args: list[str] | None = None
    env: Mapping[str, Any] = _NOTHING
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = _NOTHING
    timeout: float | None = None
    disabled: bool = False
    raw: Mapping[str, Any] = _NOTHING
    source: Path | None = None

    def resolved(self, environ: Mapping[str, str] | None = None) -> ServerEntry:
        """This entry ready for use: references expanded, secrets fetched from the keyring.

        Raises `VariableUnsetError`, or `EntryError` for a server that cannot be reached from here.
        """
        environ = os.environ if environ is None else environ
        if self.transport != "stdio":
            raise EntryError(
                self.name,
                f"servers of type {self.transport!r} cannot be reached by this version, only those with a 'command'",
                hint="such an entry is only kept (add --no-check), for a version that can use it",
            )

        def value(text: str, where: str) -> str:
            return expanded(text, environ, server=self.name, field=where)

        return self._replace(
            command=_home(value(self.command, "command")),
            args=None if self.args is None else [value(argument, "args") for argument in self.args],
            env={
                key: value(held, f"env {key}") if isinstance(held, str) else self._secret(key, held)
                for key, held in self.env.items()
            },
            cwd=None if self.cwd is None else _home(value(self.cwd, "cwd")),
        )

    def _secret(self, key: str, held: dict[str, str]) -> str:
        from gaia_mcp.config.keyring import secret_from_keyring

        return secret_from_keyring(self.name, key, held["$keyring"])


def read_entry(name: str, config: Any, source: Path | None = None) -> ServerEntry:
    """The entry in `config`.

    Raises `EntryError` naming the member that makes no sense.
    """
    if not isinstance(config, dict):
        raise EntryError(name, f"needs a config dict, not {type(config).__name__}")
    timeout = config.get("timeout")
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= MAX_TIMEOUT_SECONDS
    ):
        raise EntryError(name, f"'timeout' must be a number of seconds above 0 and up to {MAX_TIMEOUT_SECONDS}")
    disabled = config.get("disabled", False)
    if not isinstance(disabled, bool):
        raise EntryError(name, "'disabled' must be true or false")
    common: dict[str, Any] = {"timeout": timeout, "disabled": disabled, "raw": config, "source": source}
    for kind in ("handler", "agent"):
        if kind in config and "command" not in config and "url" not in config:
            return ServerEntry(name, kind, **common)
    if "url" in config:
        return _read_url_entry(name, config, common)
    command = config.get("command")
    if not _is_system_text(command) or not command.strip():
        raise EntryError(name, "config must include 'command', a string that is not empty (or 'url')")
    args = config.get("args")
    if args is not None and not (isinstance(args, list) and all(_is_system_text(part) for part in args)):
        raise EntryError(name, "'args' must be a list of strings")
    cwd = config.get("cwd")
    if cwd is not None and not _is_system_text(cwd):
        raise EntryError(name, "'cwd' must be a string")
    return ServerEntry(
        name, "stdio", command=command, args=args, env=_read_env(name, config.get("env")), cwd=cwd, **common
    )


def _read_url_entry(name: str, config: dict[str, Any], common: dict[str, Any]) -> ServerEntry:
    url, headers, kind = config["url"], config.get("headers", {}), config.get("type", "http")
    if not isinstance(url, str) or not url.startswith(("http://", "https://", "${")):
        raise EntryError(name, "'url' must begin with http:// or https://")
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise EntryError(name, "'headers' must be an object of strings")
    if not isinstance(kind, str) or kind not in _URL_TYPES:
        raise EntryError(name, f"'type' must be one of {', '.join(_URL_TYPES)}, not {kind!r}")
    return ServerEntry(name, _URL_TYPES[kind], url=url, headers=headers, **common)


def _read_env(name: str, env: Any) -> dict[str, Any]:
    if env is None:
        return {}
    if not isinstance(env, dict):
        raise EntryError(name, "'env' must be an object of strings")
    for key, value in env.items():
        if not _is_system_text(key) or not key or "=" in key:
            raise EntryError(name, f"'env' holds a variable that cannot be named {key!r}")
        if not _is_system_text(value) and not (isinstance(value, dict) and isinstance(value.get("$keyring"), str)):
            raise EntryError(name, f"'env' must be an object of strings, and {key!r} is none")
    return env


def _is_system_text(value: Any) -> TypeGuard[str]:
    """Whether it is a string that the system can pass to a program: without NUL, and encodable."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _home(text: str) -> str:
    # Not by `Path`, which would also tidy up the rest of a command line, such as the // of a URL in it.
    return os.path.expanduser(text)  # noqa: PTH111
