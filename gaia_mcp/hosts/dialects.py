"""The dialects of hosts' entries, and the format of ours to which all are converted.

An entry of ours has `command`, `args`, `env`, `cwd`, `inherit`, or `url`, `headers`, `type`; `disabled`; `timeout` in
seconds; `includeTools` and `excludeTools`; `oauth`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gaia_mcp.hosts.variables import NONE, Notation
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE, ToolFilter, is_match, is_pattern

COMMAND_KEYS = ("command", "cmd", "programPath")
ARGS_KEYS = ("args", "arguments")
ENV_KEYS = ("env", "envs", "environment")
NAMES_KEYS = ("env_vars", "env_keys")
URL_KEYS = ("url", "serverUrl", "httpUrl", "uri", "baseUrl")
HEADERS_KEYS = ("headers", "http_headers")
TYPE_KEYS = ("type", "transport")
OURS = (
    "command", "args", "env", "cwd", "inherit", "url", "headers", "type", "disabled", "timeout", "includeTools",
    "excludeTools", "oauth",
)  # fmt: skip

# The keys of hosts that have a counterpart in our format; all others are specific to the host.
MEANT = frozenset(
    (*COMMAND_KEYS, *ARGS_KEYS, *ENV_KEYS, *NAMES_KEYS, *URL_KEYS, *HEADERS_KEYS, *TYPE_KEYS, *OURS, "enabled",
     "env_http_headers", "bearer_token_env_var", "tool_timeout_sec", "name", "source")
)  # fmt: skip
# Hosts' names of transports, and ours.
TYPES = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http", "streamable_http": "http",
    "streamableHttp": "http", "streamablehttp": "http", "remote": "http", "sse": "sse", "rpc": "rpc",
}  # fmt: skip


class NotCarriedError(ValueError):
    """An entry that cannot be converted; the message is the reason."""


class ToolKeys(NamedTuple):
    """A host's keys for the names of included and of excluded tools; empty if it has no such key.

    `everything` is the list that means all tools, if there is one. An `is_exclusive` host accepts only one of the keys.
    """

    include: str = ""
    exclude: str = ""
    everything: tuple[str, ...] | None = None
    is_exclusive: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the host can filter tools."""
        return bool(self.include or self.exclude)


class OAuthKeys(NamedTuple):
    """A host's member for the settings of an authorization, empty if it has none, and its `keys` in it.

    A host may have the scopes as one text (`as_text`), or as a member of the entry (`beside`). One that `can_be_off`
    has `false` for no authorization.
    """

    member: str = ""
    keys: tuple[str, ...] = ()
    as_text: bool = False
    beside: bool = False
    can_be_off: bool = False


def folded_setting(name: str) -> str:
    """The name of a setting of an authorization, in one spelling for `clientId`, `client_id` and `CLIENT_ID`."""
    return name.replace("_", "").lower().removesuffix("s")


_NO_CHOICE = ToolKeys()
_NO_OAUTH = OAuthKeys()


@dataclass(frozen=True)
class Dialect:
    """How a host writes an entry. It has no key for a member that is None or empty.

    `command` "[]" is one list of program and arguments, and "" no command at all. `url` is the key for HTTP,
    `url_means` what `url` alone is taken for. `types` are its words for stdio, HTTP and SSE. `disabled` "enabled" says
    the opposite. `timeout` is the key, and how many of its units make a second. `names_variables` is the list of
    variables that are passed on. `tools` are its keys for a choice among the tools, `oauth` those for the authorization
    of a URL. `always` is written into new entries. `names_itself`: the name is also a member. `looks_up_in` are the
    members in which it looks variables up, if that is not everywhere.
    """

    command: str = "command"
    env: str = "env"
    cwd: str | None = None
    url: str = "url"
    url_means: str = "http"
    headers: str = "headers"
    types: tuple[str, str, str] = ("", "", "")
    disabled: str | None = None
    timeout: tuple[str, int] | None = None
    names_variables: str | None = None
    notation: Notation = NONE
    looks_up_in: tuple[str, ...] = ()
    tools: ToolKeys = _NO_CHOICE
    oauth: OAuthKeys = _NO_OAUTH
    always: Mapping[str, Any] = field(default_factory=dict)
    names_itself: bool = False
    remote: bool = True

    def notation_of(self, member: str) -> Notation:
        """How references are written in this member of an entry."""
        return self.notation if not self.looks_up_in or member in self.looks_up_in else NONE


def filter_from(raw: Mapping[str, Any], keys: ToolKeys) -> dict[str, list[str]]:
    """Our filter members for those of a host's entry, which may also use our names.

    Raises `NotCarriedError`, because without its filter a server would have more tools than intended.
    """
    found = {}
    for ours, theirs in ((INCLUDE, keys.include), (EXCLUDE, keys.exclude)):
        key = theirs if theirs in raw else ours
        held = raw.get(key)
        is_everything = ours == INCLUDE and keys.everything is not None and held == list(keys.everything)
        if held is None or is_everything or (ours == EXCLUDE and held == []):
            continue
        if not isinstance(held, list) or not all(isinstance(name, str) and name for name in held):
            raise NotCarriedError(f"its {key} is not a list of tool names")
        # Gemini reads `tool(arguments)` as the tool's name.
        found[ours] = [name.partition("(")[0] or name for name in held]
    return found


def has_patterns(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of ours filters tools by patterns, which most hosts would take as names."""
    return any(is_pattern(name) for member in (INCLUDE, EXCLUDE) for name in entry.get(member) or ())


def choice_by_names(entry: Mapping[str, Any], tools: Sequence[str]) -> dict[str, list[str]]:
    """Our filter members with names in place of patterns; `tools` are all tools of the server."""
    return {
        member: list(dict.fromkeys(name for pattern in entry[member] for name in _named(pattern, tools)))
        for member in (INCLUDE, EXCLUDE)
        if entry.get(member) is not None
    }


def filter_for(entry: Mapping[str, Any], keys: ToolKeys) -> tuple[dict[str, list[str]], list[str]]:
    """The filter members of a host's entry for ours, and the remarks. Raises `NotCarriedError`."""
    include, exclude = entry.get(INCLUDE), entry.get(EXCLUDE) or []
    patterns = [name for name in (*(include or ()), *exclude) if is_pattern(name)]
    takes_one = keys.is_exclusive or not keys.exclude
    if include is not None and keys.include and takes_one and not any(map(is_pattern, include)):
        # One list of names can tell both.
        include, exclude = [name for name in include if ToolFilter(include, exclude).allows(name)], []
    members, remarks = {}, []
    if include is not None and keys.include:
        if keys.everything == tuple(include) == ():
            raise NotCarriedError("it excludes all tools, and the host cannot")
        members[keys.include] = list(include)
    elif include is not None:
        remarks.append("includeTools is not exported: the host uses all tools")
    if exclude and keys.exclude and not (keys.is_exclusive and members):
        members[keys.exclude] = list(exclude)
    elif exclude:
        remarks.append("excludeTools is not exported: the host uses these tools too")
    if members and patterns:
        remarks.append(f"the host reads these patterns as names of tools: {', '.join(patterns)}")
    return members, remarks


def _named(pattern: str, tools: Sequence[str]) -> list[str]:
    return [tool for tool in tools if is_match(tool, pattern)] if is_pattern(pattern) else [pattern]
