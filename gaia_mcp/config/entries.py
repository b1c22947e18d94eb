"""The entries of a file, and one server's entry: its valid members, and their meaning.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from gaia_mcp.config.command import NOTHING, Command, expanded
from gaia_mcp.core.errors import ConfigFileError, EntryError

if TYPE_CHECKING:
    from gaia_mcp.config.targets import Target
    from gaia_mcp.toolspec.tool_filter import ToolFilter
else:
    # Most servers are commands without a filter, so the modules of other targets and filters are loaded on demand.
    Target = ToolFilter = object

# Claude Desktop's key first; the older key is read, and kept in files that have it.
SERVER_KEYS = ("mcpServers", "servers")
_URL_TYPES = {
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}

# The members that filter the tools, and those that restrict who may use them.
_FILTERS = ("includeTools", "excludeTools")
_SCOPES = ("stages", "agents")
# The member that fixes the revision of MCP.
REVISION = "protocolVersion"
# The member with which a user trusts the annotations of the server's tools.
TRUST_HINTS = "trustHints"
# The member with which a user lets all clients of a gateway use one instance of the server.
SHARED = "shared"
# The member with which the server is kept open between commands.
KEEP_ALIVE = "keepAlive"
# For `true`: longer than the pauses of a person or an agent at work, shorter than a forgotten server should last.
KEEP_ALIVE_SECONDS = 900.0
# The kinds of code that this program serves itself.
_SERVED = ("handler", "agent")


class ServerEntry(NamedTuple):
    """A valid entry. `raw` is the entry as written in the file `source`; `timeout` is in seconds, None if not given.
    Without a `tool_filter` all tools of the server are used. `stages` and `agents` restrict who may use them, as
    `toolspec.tool_filter` defines. `revision` is the only revision of MCP to use with the server, None for any. With
    `trusts_hints` the user trusts the annotations of the server's tools. With `is_shared` all clients of a gateway use
    one instance of the server. `keep_alive` is for how many seconds without use it is kept open between commands, None
    if it is closed at the end of each.

    `instance` names one of several instances that a keeper holds of the server; then `name` ends with `@` and that.
    `held` connects to the keeper that holds the server, None if the server is to be started.
    """

    name: str
    target: Target
    timeout: float | None = None
    disabled: bool = False
    raw: Mapping[str, Any] = NOTHING
    source: Path | None = None
    tool_filter: ToolFilter | None = None
    stages: Sequence[str] | None = None
    agents: Sequence[str] | None = None
    revision: str | None = None
    trusts_hints: bool = False
    is_shared: bool = False
    keep_alive: float | None = None
    instance: str = ""
    held: Any = None

    @property
    def saved_name(self) -> str:
        """The name under which it is saved."""
        return self.name.removesuffix(f"@{self.instance}") if self.instance else self.name

    @property
    def transport(self) -> str:
        """How the server is reached: "stdio", "http", "sse", "handler", "agent", or the name of a dialect over HTTP."""
        return self.target.transport

    @property
    def is_remote(self) -> bool:
        """Whether the server is reached by a URL; the others are child processes."""
        return self.transport not in ("stdio", *_SERVED)

    def resolved(self, environ: Mapping[str, str] | None = None) -> "ServerEntry":
        """This entry ready for use: variables expanded, secrets read from the keyring.

        Raises `VariableUnsetError`, and `EntryError` for a secret or a URL that cannot be used.
        """
        return self._replace(target=self.target.resolved(self.name, os.environ if environ is None else environ))

    def in_file(self, file: Path) -> "ServerEntry":
        """This entry as it is used with `file` alone; see `Served.in_file`."""
        if self.transport not in _SERVED:
            return self
        from gaia_mcp.config.served import Served

        return self._replace(target=self.target.in_file(file)) if isinstance(self.target, Served) else self

    def masked(self) -> dict[str, Any]:
        """The members of this entry for showing, with their secrets masked."""
        shown = {"name": self.name, "transport": self.transport, **self.target.masked()}
        if self.timeout is not None:
            shown["timeout"] = self.timeout
        shown.update(
            (key, self.raw[key])
            for key in (*_FILTERS, *_SCOPES, REVISION, TRUST_HINTS, SHARED, KEEP_ALIVE)
            if self.raw.get(key) is not None
        )
        return {**shown, "disabled": self.disabled, "source": str(self.source) if self.source else None}

    def described(self) -> str:
        """What the server is, on one line and without secrets: a command line, a URL, or a name."""
        return self.target.described()

    def request_seconds(self, default: float) -> float:
        """How long a request may take. A handler's own limit ends a call before this one ends the handler."""
        seconds = self.timeout or default
        if self.transport != "handler":
            return seconds
        from gaia_mcp.config.served import MARGIN_SECONDS

        return seconds + MARGIN_SECONDS

    def is_available(self, stage: str | None, agent: str | None) -> bool:
        """Whether `agent` may use this server at `stage`; None if the caller has no agent or stage."""
        if self.stages is None and self.agents is None:
            return True
        from gaia_mcp.toolspec.tool_filter import is_in_scope

        return is_in_scope(self.stages, self.agents, stage, agent)

    @property
    def key(self) -> str:
        """The name under which its cache and its logs are stored, the same for all instances."""
        return self.saved_name

    def identity(self) -> int:
        """A checksum that distinguishes this server from others, the same in every process.

        A checksum, since arguments may contain secrets; a short one, since collisions between entries of the same name
        are unlikely.
        """
        import json
        import zlib

        return zlib.crc32(json.dumps(self.identifying()).encode("ascii"))

    def credentials(self) -> int:
        """A checksum of the credentials passed to the server: its variables or its headers, with references to our
        variables expanded. As short as `identity`, so that no secret can be recovered from it.
        """
        import json
        import zlib

        given = getattr(self.target, "env", None) or getattr(self.target, "headers", {})
        values = [
            [key, expanded(held, os.environ, server=self.name, field=key, keeps_unset=True)]
            if isinstance(held, str)
            else [key, held]
            for key, held in sorted(given.items())
        ]
        return zlib.crc32(json.dumps(values).encode("ascii"))

    def identifying(self) -> list[Any]:
        """The input of the checksum `identity`, as JSON. It may contain secrets."""
        return [self.saved_name, *self.target.identity()]


def servers_in(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The entries in a file's document, by name. Raises `ConfigFileError` about `path`."""
    for key in SERVER_KEYS:
        if key in document:
            servers = document[key]
            if not isinstance(servers, dict):
                raise ConfigFileError(path, f"{key!r} is not an object", hint=f'it should read {{"{key}": {{…}}}}')
            return dict(servers)
    return {}


def read_entry(name: str, config: Any, source: Path | None = None, *, keeps_unset: bool = False) -> ServerEntry:
    """The entry in `config`. `keeps_unset` is for those of programs, which write their arguments as for GAIA's own
    client: it expands no variables in them, so that `${NAME}` may be meant for the server.

    Raises `EntryError` naming the member that is invalid.
    """
    if not isinstance(config, dict):
        raise EntryError(name, f"needs a config dict, not {type(config).__name__}")
    # Most entries have none of these.
    timeout = _read_timeout(name, held) if (held := config.get("timeout")) is not None else None
    disabled = config.get("disabled", False)
    if not isinstance(disabled, bool):
        raise EntryError(name, "'disabled' must be true or false")
    tool_filter = _read_filter(name, config) if config.keys() & _FILTERS else None
    stages, agents = _read_scope(name, config) if config.keys() & _SCOPES else (None, None)
    revision = _read_revision(name, held) if (held := config.get(REVISION)) is not None else None
    trusts_hints, is_shared = (key in config and _read_choice(name, key, config[key]) for key in (TRUST_HINTS, SHARED))
    keep_alive = _read_keep_alive(name, held) if (held := config.get(KEEP_ALIVE)) is not None else None
    target = _read_target(name, config, source)
    if keeps_unset and isinstance(target, Command):
        target = target._replace(keeps_unset=True)
    return ServerEntry(
        name, target, timeout, disabled, config, source, tool_filter, stages, agents, revision, trusts_hints, is_shared,
        keep_alive,
    )  # fmt: skip


def _read_choice(name: str, key: str, choice: Any) -> bool:
    if not isinstance(choice, bool | None):
        raise EntryError(name, f"{key!r} must be true or false")
    return choice or False


def _read_keep_alive(name: str, held: Any) -> float | None:
    if isinstance(held, bool):
        return KEEP_ALIVE_SECONDS if held else None
    from gaia_mcp.core.durations import keep_alive_seconds

    if (seconds := keep_alive_seconds(held)) is not None:
        return float(seconds)
    what = "a number needs its unit" if isinstance(held, (int, float)) else f"not {held!r}"
    raise EntryError(
        name,
        f"{KEEP_ALIVE!r} must be true, false, or a duration from 1s to 7d; {what}",
        hint='write it as "90s", "30m", "2h" or "1d"',
    )


def _read_timeout(name: str, timeout: Any) -> float:
    # A TAB is quicker without the threads that deadlines load.
    from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS

    if not isinstance(timeout, bool) and isinstance(timeout, (int, float)) and 0 < timeout <= MAX_ENTRY_TIMEOUT_SECONDS:
        return timeout
    raise EntryError(name, f"'timeout' must be a number of seconds above 0 and up to {MAX_ENTRY_TIMEOUT_SECONDS}")


def _read_filter(name: str, config: dict[str, Any]) -> ToolFilter | None:
    include, exclude = held = [config.get(key) for key in _FILTERS]
    if held == [None, None]:
        return None
    for key, patterns in zip(_FILTERS, held, strict=True):
        is_list = isinstance(patterns, list) and all(isinstance(pattern, str) and pattern for pattern in patterns)
        if patterns is not None and not is_list:
            raise EntryError(name, f"{key!r} must be a list of names of tools, or of patterns such as 'read_*'")
    from gaia_mcp.toolspec.tool_filter import ToolFilter as Filter

    return Filter(include, exclude or ())


def _read_scope(name: str, config: dict[str, Any]) -> list[list[str] | None]:
    held = [config.get(key) for key in _SCOPES]
    for key, names in zip(_SCOPES, held, strict=True):
        if names is not None and not (isinstance(names, list) and all(isinstance(each, str) for each in names)):
            raise EntryError(name, f"{key!r} must be a list of names, or null for all")
    return held


def _read_revision(name: str, revision: Any) -> str:
    from gaia_mcp.protocol import ALL_VERSIONS

    if revision not in ALL_VERSIONS:
        raise EntryError(name, f"{REVISION!r} must be one of {', '.join(ALL_VERSIONS)}, not {revision!r}")
    return str(revision)


def _read_target(name: str, config: dict[str, Any], source: Path | None) -> Target:
    has_url = "url" in config
    if config.get("url") and config.get("command"):
        kind = config.get("type")
        if kind not in ("stdio", *_url_types(kind)):
            raise EntryError(name, "has both 'command' and 'url': leave one out, or say which with 'type'")
        has_url = kind != "stdio"
    if has_url:
        return _read_remote(name, config)
    served = next((kind for kind in _SERVED if kind in config), None) if "command" not in config else None
    program = "command" if served is None else served
    if not _is_system_text(config.get(program)) or not config[program].strip():
        also = " (or 'url', 'handler' or 'agent')" if served is None else ""
        raise EntryError(name, f"config must include {program!r}, a string that is not empty{also}")
    cwd = config.get("cwd")
    if cwd is not None and not _is_system_text(cwd):
        raise EntryError(name, "'cwd' must be a string")
    inherit = config.get("inherit", False)
    if not isinstance(inherit, bool):
        raise EntryError(name, "'inherit' must be true or false")
    env = _read_env(name, held) if (held := config.get("env")) is not None else {}
    if served is None:
        return Command(config["command"], _read_args(name, config.get("args")), env, cwd, inherit)
    from gaia_mcp.config.served import read_served

    return read_served(name, served, config, source, env)


def _read_args(name: str, args: Any) -> list[str] | None:
    if args is None or (isinstance(args, list) and all(_is_system_text(part) for part in args)):
        return args
    raise EntryError(name, "'args' must be a list of strings")


def _read_remote(name: str, config: dict[str, Any]) -> Target:
    from gaia_mcp.config.targets import TLS_FILES, URL_SCHEMES, Remote, read_oauth

    url, headers, kind = config["url"], config.get("headers", {}), config.get("type", "http")
    if not isinstance(url, str) or not url.startswith((*URL_SCHEMES, "${")):
        raise EntryError(name, "'url' must begin with http:// or https://")
    if not isinstance(headers, dict):
        raise EntryError(name, "'headers' must be an object of strings")
    for header, value in headers.items():
        if not isinstance(value, str) and not _is_in_keyring(value):
            raise EntryError(name, f"'headers' must be an object of strings, and {header!r} is not a string")
    types = _url_types(kind)
    if not isinstance(kind, str) or kind not in types:
        raise EntryError(name, f"'type' must be one of {', '.join(types)}, not {kind!r}")
    if config.get("ssl_verify") is False:
        raise EntryError(name, "'ssl_verify' must be the file of an authority: certificates are always verified")
    ca, cert, key = (None if (held := config.get(member)) is True else held for member in TLS_FILES)
    if isinstance(cert, list) and len(cert) == 2:
        cert, key = cert
    for member, held in zip(TLS_FILES, (ca, cert, key), strict=True):
        if held is not None and not _is_system_text(held):
            raise EntryError(name, f"{member!r} must be the path of a file in PEM")
    return Remote(url, headers, types[kind], read_oauth(name, config), ca, cert, key)


def _url_types(kind: Any) -> dict[str, str]:
    """The transports of servers behind a URL, by the words for them. Dialects are among them if `kind` is none of MCP's
    own words.
    """
    if isinstance(kind, str) and kind in _URL_TYPES:
        return _URL_TYPES
    from gaia_mcp.core.systems import http_dialects

    return {**_URL_TYPES, **{name: name for name in http_dialects()}}


def _read_env(name: str, env: Any) -> dict[str, Any]:
    if not isinstance(env, dict):
        raise EntryError(name, "'env' must be an object of strings")
    for key, value in env.items():
        if not _is_system_text(key) or not key or "=" in key:
            raise EntryError(name, f"'env' holds a variable that cannot be named {key!r}")
        if not _is_system_text(value) and not _is_in_keyring(value):
            raise EntryError(name, f"'env' must be an object of strings, and {key!r} is not a string")
    return env


def _is_in_keyring(value: Any) -> bool:
    """Whether it refers to a secret in the system's keyring."""
    return isinstance(value, dict) and isinstance(value.get("$keyring"), str)


def _is_system_text(value: Any) -> TypeGuard[str]:
    """Whether it is a string that the system can pass to a program: without NUL, and encodable."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False
