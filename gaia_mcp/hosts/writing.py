"""Our entry as a host writes it, with a remark for everything that it has no place for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_mcp.hosts.dialects import (
    MEANT,
    NONE,
    OUR_NOTATION,
    TYPES,
    Dialect,
    NotCarriedError,
    UntranslatableError,
    Value,
    filter_for,
    folded_setting,
    to_theirs,
)
from gaia_mcp.hosts.dialects import OUR_NOTATION as REFERENCE
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

# The end of what is told of a variable that the host does not look up.
BY_VALUE = "only its value can be written"


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
        if entry.get("disabled"):
            if dialect.disabled is None:
                self.remarks.append("it is enabled there: the host cannot disable a server")
            else:
                new[dialect.disabled] = dialect.disabled == "disabled"
        left = [
            key for key in entry if key not in OUR_NOTATION and (key != "auth" or self._authorization_of_ours() is None)
        ]
        if left:
            self.remarks.append(f"not exported, since the host does not know them: {', '.join(left)}")
        return new | kept, self.remarks

    def _kept_of(self, old: dict[str, Any]) -> dict[str, Any]:
        """The members that the host alone has, and those that ours does not have."""
        silent = [self.dialect.disabled] if "disabled" not in self.entry else []
        if self.dialect.timeout is not None and "timeout" not in self.entry:
            silent.append(self.dialect.timeout[0])
        choice = {self.dialect.tools.include, self.dialect.tools.exclude}
        if INCLUDE not in self.entry and EXCLUDE not in self.entry:
            silent += choice
        oauth = self.dialect.oauth
        authorization = {"oauth", oauth.member, "scopes" if oauth.beside else oauth.member}
        if not oauth.member or self._authorization_of_ours() is None:
            silent += authorization
        ours = (*MEANT, *choice, *authorization)
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
