"""Converts a host's entry to our format, with a remark for each member that is lost. Pure."""

from __future__ import annotations

from typing import Any

from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.hosts.dialects import (
    ARGS_KEYS,
    COMMAND_KEYS,
    ENV_KEYS,
    HEADERS_KEYS,
    MEANT,
    NAMES_KEYS,
    TYPE_KEYS,
    TYPES,
    URL_KEYS,
    Dialect,
    NotCarriedError,
    UntranslatableError,
    filter_from,
    to_ours,
)
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

# The members that restrict who may use a server.
SCOPES = ("stages", "agents")
# Types of extensions that are parts of the host and not servers.
_BUILT_IN = frozenset({"builtin", "platform", "frontend", "inline_python"})
# Members that do not describe the server, and values that are the default.
_SILENT = frozenset({"display_name", "description", "bundled", "version", "schema"})


def entry_from(raw: Any, dialect: Dialect, *, folder: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Our entry for a host's, and the remarks. `folder` is that of the project to which the file belongs.

    Raises `NotCarriedError`.
    """
    return _Reading(raw, dialect, folder).result()


class _Reading:
    def __init__(self, raw: Any, dialect: Dialect, folder: str | None) -> None:
        if not isinstance(raw, dict):
            raise NotCarriedError("is not an object")
        self.raw = {str(key): value for key, value in raw.items()}
        self.dialect = dialect
        self.folder = folder
        self.remarks: list[str] = []
        self.read: set[str] = {"name", "source"}

    def result(self) -> tuple[dict[str, Any], list[str]]:
        kind = self._first(TYPE_KEYS)
        if isinstance(kind, str) and kind in _BUILT_IN:
            raise NotCarriedError("is an extension that is built into the host, not a server")
        if kind is not None and (not isinstance(kind, str) or kind not in TYPES):
            raise NotCarriedError(f"its type {kind!r} is not supported")
        command, url = self._first(COMMAND_KEYS), self._first(URL_KEYS)
        if command and url:
            command, url = self._one_of(command, url, kind)
        if command is not None and (command or not url):
            entry = self._started(command)
        elif url is not None:
            entry = self._reached(url, kind)
        else:
            raise NotCarriedError("has neither a command nor a URL")
        if self.raw.get("disabled") is True or self.raw.get("enabled") is False:
            entry["disabled"] = True
        self.read |= {"disabled", "enabled"}
        seconds = self._timeout()
        if seconds is not None:
            entry["timeout"] = seconds
        for key in SCOPES:
            # Specific to our format.
            if isinstance(names := self.raw.get(key), list) and all(isinstance(each, str) for each in names):
                entry[key] = names
                self.read.add(key)
        entry |= filter_from(self.raw, self.dialect.tools)
        self.read |= {INCLUDE, EXCLUDE, self.dialect.tools.include, self.dialect.tools.exclude}
        self._remark_on_the_rest()
        return entry, self.remarks

    def _one_of(self, command: Any, url: Any, kind: str | None) -> tuple[Any, Any]:
        """The command or the URL, by the type of the entry, which may have both; the other is None."""
        if kind is None:
            raise NotCarriedError("has both a command and a URL, and no type that says which")
        is_command = TYPES[kind] == "stdio"
        self.remarks.append(f"its {'URL' if is_command else 'command'} has no effect beside its type {kind!r}")
        return (command, None) if is_command else (None, url)

    def _started(self, command: Any) -> dict[str, Any]:
        args = self._first(ARGS_KEYS)
        env = self._first(ENV_KEYS)
        if isinstance(command, dict):  # Zed, formerly
            args, env = command.get("args", args), command.get("env", env)
            command = command.get("path")
        if isinstance(command, list):
            command, args = (command[0], command[1:]) if command else (None, None)
        if not isinstance(command, str) or not command.strip():
            raise NotCarriedError("its command is not a string")
        args = [] if args is None else args
        if not isinstance(args, list) or not all(isinstance(part, (str, int, float)) for part in args):
            raise NotCarriedError("its arguments are not a list of strings")
        entry: dict[str, Any] = {
            "command": self._text(command, "command"),
            "args": [self._text(_as_text(part), "args") for part in args],
        }
        variables = self._pairs(env, "env") | {name: f"${{{name}}}" for name in self._names()}
        if variables:
            entry["env"] = variables
        cwd = self._first(("cwd",))
        if cwd is not None:
            if not isinstance(cwd, str):
                raise NotCarriedError("its folder is not a string")
            entry["cwd"] = self._text(cwd, "cwd")
        if self._first(("inherit",)) is True:
            entry["inherit"] = True
        return entry

    def _reached(self, url: Any, kind: Any) -> dict[str, Any]:
        if not isinstance(url, str) or not url.startswith(("http://", "https://", "$", "{")):
            raise NotCarriedError("its URL does not begin with http:// or https://")
        entry: dict[str, Any] = {"url": self._text(url, "url")}
        default = self.dialect.url_means if self.raw.get("url") == url else "http"
        if (meant := TYPES.get(kind, default)) in ("sse", "rpc"):
            entry["type"] = meant
        options = self.raw.get("requestOptions")
        headers = self._pairs(self._first(HEADERS_KEYS), "headers")
        if isinstance(options, dict) and "headers" in options:
            headers |= self._pairs(options["headers"], "headers")
            self.read.add("requestOptions")
        named = self._first(("env_http_headers",))
        for key, name in (named if isinstance(named, dict) else {}).items():
            headers[str(key)] = f"${{{name}}}"
        bearer = self._first(("bearer_token_env_var",))
        if isinstance(bearer, str) and bearer:
            headers["Authorization"] = f"Bearer ${{{bearer}}}"
        if headers:
            entry["headers"] = headers
        # Cursor's word for it is the second.
        authorization = self._first(("oauth", "auth"))
        if isinstance(authorization, dict):
            entry["oauth"] = {
                key: self._text(held, key) if isinstance(held, str) else held for key, held in authorization.items()
            }
        if self.dialect.oauth.beside and isinstance(scopes := self.raw.get("scopes"), list):
            entry["oauth"] = {**entry.get("oauth", {}), "scopes": scopes}
            self.read.add("scopes")
        return {**entry, "oauth": False} if self.raw.get("oauth") is False else entry

    def _timeout(self) -> int | float | None:
        if self.dialect.timeout is None:
            return None
        key, per_second = self.dialect.timeout
        held = self._first((key,))
        if held is None:
            return None
        if isinstance(held, bool) or not isinstance(held, (int, float)) or held <= 0:
            self.remarks.append(f"{key} is not a positive number, and is not saved")
            return None
        seconds = held / per_second
        if seconds > MAX_ENTRY_TIMEOUT_SECONDS:
            self.remarks.append(f"{key} is above the limit of {MAX_ENTRY_TIMEOUT_SECONDS} s, which is saved instead")
            seconds = MAX_ENTRY_TIMEOUT_SECONDS
        return int(seconds) if seconds == int(seconds) else seconds

    def _pairs(self, held: Any, field: str) -> dict[str, str]:
        if held is None:
            return {}
        if not isinstance(held, dict):
            raise NotCarriedError(f"its {field} is not an object")
        pairs = {}
        for key, value in ((str(key), value) for key, value in held.items()):
            if not isinstance(value, (str, int, float)):
                self.remarks.append(f"{field} {key} is not a string, and is not saved")
                continue
            try:
                pairs[key] = self._translated(_as_text(value), field, key)
            except UntranslatableError as problem:
                self.remarks.append(f"{field} {key} is not saved: {problem}")
        return pairs

    def _names(self) -> list[str]:
        held = self._first(NAMES_KEYS) or []
        items = (
            [item.get("name") if isinstance(item, dict) else item for item in held] if isinstance(held, list) else []
        )
        names = [item for item in items if isinstance(item, str) and item.isidentifier()]
        if names and "env_keys" in self.raw:
            listed = ", ".join(names)
            self.remarks.append(
                f"{listed}: the host reads it from its own store of secrets; here it is an environment variable"
            )
        return names

    def _text(self, text: str, field: str) -> str:
        try:
            return self._translated(text, field)
        except UntranslatableError as problem:
            raise NotCarriedError(f"{field}: {problem}") from problem

    def _translated(self, text: str, field: str, key: str = "") -> str:
        where = f"{field} {key}" if key else field
        return to_ours(
            text,
            self.dialect.notation_of(field),
            key=key if field == "env" else "",
            folder=self.folder,
            remark=lambda text: self.remarks.append(f"{where}: {text}"),
        )

    def _first(self, keys: tuple[str, ...]) -> Any:
        self.read |= set(keys)
        return next((self.raw[key] for key in keys if self.raw.get(key) is not None), None)

    def _remark_on_the_rest(self) -> None:
        left = []
        for key, value in self.raw.items():
            if key in self.read or key in _SILENT or value in (None, False, "", [], {}, ["*"]):
                continue
            if key == "envFile":
                self.remarks.append("envFile is not read: put the variables that it sets into env")
            elif key in MEANT:
                self.remarks.append(f"{key} has no effect in such an entry, and is not saved")
            else:
                left.append(key)
        if left:
            self.remarks.append(f"not saved, since only the host knows them: {', '.join(left)}")


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
