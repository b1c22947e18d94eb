"""The dialects of hosts' entries: the names of members, the notation of references to variables, the tool filters; and
our own, to which all are converted.

Pure: no variable is looked up. What has no counterpart is reported, never copied as if it meant the same.

An entry of ours has `command`, `args`, `env`, `cwd`, `inherit`, or `url`, `headers`, `type`; `disabled`; `timeout` in
seconds; `keepAlive`; `includeTools` and `excludeTools`; `oauth`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
Value = Callable[[str, str | None], str | None]
# In braces stand up to a thousand characters: so one that is never closed is not looked for to the end of the text.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SHELL = rf"\$\{{(?P<shell>{_NAME})(?::-(?P<default>[^}}]{{0,1000}}))?\}}"
_BARE = rf"\$(?P<bare>{_NAME})"
# Text that looks like a reference, but is one in no host's notation.
_LOOK_ALIKE = re.compile(rf"%{_NAME}%|^\${_NAME}$")
_EDITOR = rf"\$\{{env:(?P<editor>{_NAME})\}}|\$\{{input:(?P<input>[^}}]{{1,1000}})\}}"
_VARIABLE = re.compile(_NAME)
_PLACES = (
    r"\$\{(?P<place>userHome|pathSeparator|/|workspaceFolder(?:Basename)?(?::[^}]{0,1000})?|(?:command|config):[^}]{0,1000}"
    r"|cwd|execPath|(?:relativeF|f)ile\w*)\}"
)
_BRACES = rf"\{{env:(?P<braces>{_NAME})\}}|\{{(?P<file>file:[^}}]{{1,1000}})\}}"
_SECRETS = rf"\$\{{\{{\s*secrets\.(?P<secret>{_NAME})\s*\}}\}}"
OUR_NOTATION = re.compile(_SHELL)


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
class Notation:
    """How a host writes references: what it reads as one, and how one is written, None where it has none."""

    pattern: re.Pattern[str] | None
    written: str | None
    default: str | None = None


SHELL = Notation(OUR_NOTATION, "${%s}", "${%s:-%s}")
GEMINI = Notation(re.compile(f"{_SHELL}|{_BARE}"), "${%s}", "${%s:-%s}")
QWEN = Notation(re.compile(rf"\$\{{(?P<shell>{_NAME})\}}|{_BARE}"), "${%s}")
KIRO = Notation(re.compile(rf"\$\{{(?P<shell>{_NAME})\}}"), "${%s}")
EDITOR = Notation(re.compile(f"{_EDITOR}|{_PLACES}"), "${env:%s}")
CLINE = Notation(re.compile(rf"\$\{{env:(?P<editor>{_NAME})\}}"), "${env:%s}")
BRACES = Notation(re.compile(_BRACES), "{env:%s}")
SECRETS = Notation(re.compile(_SECRETS), "${{ secrets.%s }}")
NONE = Notation(None, None)


class UntranslatableError(ValueError):
    """A reference that means nothing on the other side. `what` is the reference, never its value."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what} {problem}")


def to_ours(
    text: str, notation: Notation, *, key: str = "", folder: str | None = None, remark: Callable[[str], None]
) -> str:
    """`text` of a host in our notation. `key` is the variable that it is the value of; `folder` the project's.

    Raises `UntranslatableError`.
    """

    def ours(match: re.Match[str]) -> str:
        found = {name: held for name, held in match.groupdict().items() if held is not None}
        default = found.pop("default", None)
        ((kind, held),) = found.items()
        if kind == "input":
            # A value that is asked for becomes the variable that it is for, or one of the same name.
            name = key if match.group() == text and _VARIABLE.fullmatch(key) else _variable_name(held)
            remark(f"the host asks for {match.group()}; here it is the environment variable {name}")
            return f"${{{name}}}"
        if kind == "place":
            return _place(held, match.group(), folder)
        if kind == "file":
            raise UntranslatableError(match.group(), "is read from a file by the host, which is not supported here")
        return f"${{{held}}}" if default is None else f"${{{held}:-{default}}}"

    pattern = notation.pattern
    rest = pattern.sub("", text) if pattern is not None else text
    for match in OUR_NOTATION.finditer(rest):
        remark(f"{match.group()} is plain text for the host, but a variable here")
    for match in _LOOK_ALIKE.finditer(rest):
        remark(f"{match.group()} is plain text; a variable is written as ${{{match.group().strip('$%')}}}")
    return pattern.sub(ours, text) if pattern is not None else text


def to_theirs(text: str, notation: Notation, *, value: Value = lambda _name, _default: None) -> str:
    """Our `text` in a host's notation. `value` is called with the name and the default of a variable, and returns the
    text to write in its place, or None.

    Raises `UntranslatableError`.
    """

    def theirs(match: re.Match[str]) -> str:
        name, default = match["shell"], match["default"]
        held = value(name, default)
        if held is not None:
            return held
        if notation.written is None:
            raise UntranslatableError(match.group(), "is a variable, and the host expands none")
        if default is None:
            return notation.written % name
        if notation.default is None:
            raise UntranslatableError(match.group(), "has a default value, which the host does not support")
        return notation.default % (name, default)

    return OUR_NOTATION.sub(theirs, text)


def _variable_name(words: str) -> str:
    name = re.sub(r"\W+", "_", words, flags=re.ASCII).upper()
    return name if _VARIABLE.fullmatch(name) else f"_{name}"


def _place(name: str, whole: str, folder: str | None) -> str:
    if name == "userHome":
        return "${HOME}"
    if name in ("pathSeparator", "/"):
        return "/"
    if name.startswith("workspaceFolder") and folder is not None:
        return folder if name == "workspaceFolder" else folder.rstrip("/").rpartition("/")[2]
    if name.startswith("workspaceFolder"):
        raise UntranslatableError(whole, "is the folder that is open in the host, and is not known here")
    raise UntranslatableError(whole, "is not supported here")


@dataclass(frozen=True)
class Dialect:
    """How a host writes an entry. It has no key for a member that is None or empty.

    `command` "[]" is one list of program and arguments, and "" no command at all. `url` is the key for HTTP,
    `url_means` what `url` alone is taken for. `types` are its words for stdio, HTTP and SSE. `disabled` "enabled"
    says the opposite. `timeout` is the key, and how many of its units make a second. `lifecycle` is the key for how
    long the server is kept open, as mcporter has it. `names_variables` is the list of variables that are passed on.
    `tools` are its keys for a choice among the tools, `oauth` those for the authorization of a URL. `always` is
    written into new entries. `names_itself`: the name is also a member. `looks_up_in` are the members in which it
    looks variables up, if that is not everywhere.
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
    lifecycle: str | None = None
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
