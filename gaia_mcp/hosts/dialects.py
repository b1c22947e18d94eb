"""The dialects of hosts' entries, and the format of ours to which all are converted.

An entry of ours has `command`, `args`, `env`, `cwd`, `inherit`, or `url`, `headers`, `type`; `disabled`; `timeout` in
seconds; `includeTools` and `excludeTools`; `oauth`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gaia_mcp.hosts.variables import NONE, Notation

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
