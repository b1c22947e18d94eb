"""Converts an entry between a host's format and ours, in both directions, with a remark for each member that the other
side has no place for.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.core.durations import MAX_KEEP_ALIVE_SECONDS, duration_of, keep_alive_seconds
from gaia_mcp.hosts.dialects import (
    ARGS_KEYS,
    COMMAND_KEYS,
    ENV_KEYS,
    HEADERS_KEYS,
    MEANT,
    NAMES_KEYS,
    NONE,
    OURS,
    TYPE_KEYS,
    TYPES,
    URL_KEYS,
    Dialect,
    NotCarriedError,
    UntranslatableError,
    Value,
    filter_for,
    filter_from,
    folded_setting,
    to_ours,
    to_theirs,
)
from gaia_mcp.hosts.dialects import OUR_NOTATION as REFERENCE
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

# The members that restrict who may use a server.
SCOPES = ("stages", "agents")
# The member with which a server is kept open, and mcporter's words for it and for the opposite.
KEEP_ALIVE = "keepAlive"
_KEPT, _CLOSED = "keep-alive", "ephemeral"
# Types of extensions that are parts of the host and not servers.
_BUILT_IN = frozenset({"builtin", "platform", "frontend", "inline_python"})
# Members that do not describe the server, and values that are the default.
_SILENT = frozenset({"display_name", "description", "bundled", "version", "schema"})
# The end of what is told of a variable that the host does not look up.
BY_VALUE = "only its value can be written"


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
        keep_alive = self._keep_alive()
        if keep_alive is not None:
            entry[KEEP_ALIVE] = keep_alive
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
            raise NotCarriedError("has both a command and a URL, and no type that selects one")
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

    def _keep_alive(self) -> bool | str | None:
        key = self.dialect.lifecycle
        if key is None or self.raw.get(key) is None:
            # Specific to our format; in a host's file, another value has another meaning.
            held = self.raw.get(KEEP_ALIVE)
            if held is not True and keep_alive_seconds(held) is None:
                return None
            self.read.add(KEEP_ALIVE)
            return True if held is True else str(held)
        held = self._first((key,))
        mode, idle_ms = (held.get("mode"), held.get("idleTimeoutMs")) if isinstance(held, dict) else (held, None)
        if mode not in (_KEPT, _CLOSED):
            self.remarks.append(f"{key} is neither {_KEPT!r} nor {_CLOSED!r}, and is not saved")
        if mode != _KEPT:
            return None
        if isinstance(idle_ms, bool) or not isinstance(idle_ms, int) or idle_ms <= 0:
            return True
        # Of a fraction of a second the whole.
        seconds = -(-idle_ms // 1000)
        if seconds > MAX_KEEP_ALIVE_SECONDS:
            seconds = MAX_KEEP_ALIVE_SECONDS
            self.remarks.append(f"{key} is above the limit of {duration_of(seconds)}, which is saved instead")
        return duration_of(seconds)

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


def _lifecycle_of(entry: Mapping[str, Any]) -> Any:
    """`keepAlive` of our entry, as mcporter has it; None without one, and for an invalid one."""
    held = entry.get(KEEP_ALIVE)
    if isinstance(held, bool):
        return _KEPT if held else _CLOSED
    seconds = keep_alive_seconds(held)
    return {"mode": _KEPT, "idleTimeoutMs": seconds * 1000} if seconds is not None else None


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def entry_for(
    name: str,
    entry: Mapping[str, Any],
    dialect: Dialect,
    *,
    old: Any = None,
    value: Value = lambda _name, _default: None,
) -> tuple[dict[str, Any], list[str]]:
    """The host's entry for ours, and the remarks. Of `old`, which it replaces, what is the host's alone is kept, and
    what ours is silent about: whether it is switched on, its timeout, and a choice of tools. `value` returns the text
    to write in place of a variable that the host does not look up.

    Raises `NotCarriedError`.
    """
    return _Writing(entry, dialect, value).result(name, old)


class _Writing:
    def __init__(self, entry: Mapping[str, Any], dialect: Dialect, value: Value) -> None:
        self.entry = entry
        self.dialect = dialect
        self.value = value
        self.remarks: list[str] = []

    def result(self, name: str, old: Any) -> tuple[dict[str, Any], list[str]]:
        dialect, entry = self.dialect, self.entry
        new: dict[str, Any] = {"name": name} if dialect.names_itself else {}
        new |= self._reached() if "url" in entry else self._started()
        kept = self._kept_of(old) if isinstance(old, dict) else {}
        tools, remarks = filter_for(entry, dialect.tools)
        new |= tools
        self.remarks += remarks
        new |= {key: held for key, held in dialect.always.items() if key not in kept and key not in tools}
        if dialect.timeout is not None and entry.get("timeout"):
            key, per_second = dialect.timeout
            units = entry["timeout"] * per_second
            new[key] = round(units) if per_second > 1 or units == int(units) else units
        elif entry.get("timeout"):
            self.remarks.append("its timeout is not exported: the host does not support one")
        if dialect.lifecycle is not None and (lifecycle := _lifecycle_of(entry)) is not None:
            new[dialect.lifecycle] = lifecycle
        if entry.get("disabled"):
            if dialect.disabled is None:
                self.remarks.append("it is enabled there: the host cannot disable a server")
            else:
                new[dialect.disabled] = dialect.disabled == "disabled"
        # A host keeps its servers open while it runs; only mcporter is started anew for each command.
        known = (*OURS, KEEP_ALIVE, *(("auth",) if self._authorization_of_ours() is not None else ()))
        left = [key for key in entry if key not in known]
        if left:
            self.remarks.append(f"not exported, since the host does not know them: {', '.join(left)}")
        return new | kept, self.remarks

    def _kept_of(self, old: dict[str, Any]) -> dict[str, Any]:
        """The members that the host alone has, and those that ours does not have."""
        silent = [self.dialect.disabled] if "disabled" not in self.entry else []
        if self.dialect.timeout is not None and "timeout" not in self.entry:
            silent.append(self.dialect.timeout[0])
        if KEEP_ALIVE not in self.entry:
            silent.append(self.dialect.lifecycle)
        choice = {self.dialect.tools.include, self.dialect.tools.exclude}
        if INCLUDE not in self.entry and EXCLUDE not in self.entry:
            silent += choice
        oauth = self.dialect.oauth
        authorization = {"oauth", oauth.member, "scopes" if oauth.beside else oauth.member}
        if not oauth.member or self._authorization_of_ours() is None:
            silent += authorization
        ours = (*MEANT, *choice, *authorization, self.dialect.lifecycle)
        return {key: held for key, held in old.items() if key not in ours or key in silent}

    def _started(self) -> dict[str, Any]:
        dialect, entry = self.dialect, self.entry
        if not dialect.command:
            raise NotCarriedError("is started by a command, and the host's file takes only handlers")
        if not isinstance(entry.get("command"), str):
            raise NotCarriedError("has no command and no URL, so no host can use it")
        command = self._text(entry["command"], "command")
        args = [self._text(part, "args") for part in entry.get("args") or []]
        new: dict[str, Any] = {"type": dialect.types[0]} if dialect.types[0] else {}
        new |= {"command": [command, *args]} if dialect.command == "[]" else {dialect.command: command, "args": args}
        env, names = {}, []
        for key, held in (entry.get("env") or {}).items():
            if dialect.names_variables is not None and held == f"${{{key}}}":
                names.append(key)
            elif (text := self._optional(held, "env", key)) is not None:
                env[key] = text
        if env:
            new[dialect.env] = env
        if names and dialect.names_variables is not None:
            new[dialect.names_variables] = names
        if entry.get("cwd") is not None:
            if dialect.cwd is None:
                self.remarks.append("its working folder is not exported: the host chooses one")
            else:
                new[dialect.cwd] = self._text(entry["cwd"], "cwd")
        if entry.get("inherit"):
            self.remarks.append("it inherits all variables here; the host decides which of them it gets there")
        return new

    def _reached(self) -> dict[str, Any]:
        dialect, entry = self.dialect, self.entry
        if not dialect.remote:
            raise NotCarriedError("has a URL, and the host's file takes only commands")
        kind = TYPES.get(entry.get("type", "http"))
        if kind not in ("http", "sse"):
            raise NotCarriedError(f"the host does not support its type {entry.get('type')!r}")
        word = dialect.types[1 if kind == "http" else 2]
        if kind == "sse" and dialect.url_means != "sse" and word in ("", dialect.types[1]):
            self.remarks.append("the host cannot mark an SSE server as such, and may connect to it by streamable HTTP")
        new: dict[str, Any] = {"type": word} if word else {}
        key = "url" if kind == "sse" and dialect.url_means == "sse" else dialect.url
        new[key] = self._text(entry["url"], "url")
        headers: dict[str, str] = {}
        for header, held in (entry.get("headers") or {}).items():
            if not self._by_name(new, header, held) and (text := self._optional(held, "headers", header)) is not None:
                headers[header] = text
        if headers:
            new[dialect.headers] = headers
        return new | self._authorized()

    def _authorization_of_ours(self) -> Any:
        """The settings of the authorization in our entry, which may have Cursor's word for them; None without any."""
        held = self.entry.get("oauth", self.entry.get("auth"))
        return held if held is False or isinstance(held, dict) else None

    def _authorized(self) -> dict[str, Any]:
        held, oauth = self._authorization_of_ours(), self.dialect.oauth
        if held is None:
            return {}
        if held is False or held.get("enabled") is False:
            if not oauth.can_be_off:
                self.remarks.append("its authorization is off here, and the host may ask for a login")
            return {oauth.member: False} if oauth.can_be_off else {}
        keys = {folded_setting(key): key for key in oauth.keys}
        new: dict[str, Any] = {}
        left = []
        for name, setting in held.items():
            key = keys.get(folded_setting(name))
            if key is None:
                left.append(name)
            elif key in ("scope", "scopes"):
                scopes = setting.split() if isinstance(setting, str) else setting
                new[key] = " ".join(map(str, scopes)) if oauth.as_text else scopes
            elif isinstance(setting, int):
                new[key] = setting
            elif (text := self._optional(setting, "oauth", name)) is not None:
                new[key] = text
        left = [name for name in left if name != "enabled"]
        if left:
            self.remarks.append(f"not exported, since the host does not know it in oauth: {', '.join(left)}")
        beside = {"scopes": new.pop("scopes")} if oauth.beside and "scopes" in new else {}
        return {**({oauth.member: new} if new else {}), **beside}

    def _by_name(self, new: dict[str, Any], header: str, held: Any) -> bool:
        """Codex: a header whose value is a variable is given by the variable's name."""
        if self.dialect.headers != "http_headers" or not isinstance(held, str):
            return False
        scheme, space, rest = held.partition(" ")
        bearer = header.lower() == "authorization" and scheme.lower() == "bearer" and bool(space)
        match = REFERENCE.fullmatch(rest if bearer else held)
        if match is None or match["default"] is not None:
            return False
        if bearer:
            new["bearer_token_env_var"] = match["shell"]
        else:
            new.setdefault("env_http_headers", {})[header] = match["shell"]
        return True

    def _optional(self, held: Any, field: str, key: str) -> str | None:
        """A value in the host's notation; None, with a remark, for one that the entry can do without."""
        where = f"{'header' if field == 'headers' else field} {key}"
        if not isinstance(held, str):
            self.remarks.append(f"{where} is stored in the keyring, and is not exported")
            return None
        try:
            return self._translated(held, field, where)
        except UntranslatableError as problem:
            self.remarks.append(f"{where} is not exported: {problem}; {BY_VALUE}")
            return None

    def _text(self, text: str, field: str) -> str:
        try:
            return self._translated(text, field, field)
        except UntranslatableError as problem:
            raise NotCarriedError(f"{field}: {problem}; {BY_VALUE}") from problem

    def _translated(self, text: str, field: str, where: str) -> str:
        notation = self.dialect.notation_of(field)
        try:
            new = to_theirs(text, notation)
        except UntranslatableError as problem:
            try:
                return to_theirs(text, NONE, value=self.value)
            except UntranslatableError:
                raise problem from None
        if notation.pattern is not None and notation.pattern.search(REFERENCE.sub("", text)):
            self.remarks.append(f"{where} contains text that the host reads as a variable")
        return new
