"""Which tools depend on what an earlier call has opened in the process of their server: a page of a browser, a session
of a debugger, the variables of an interpreter, a connection.

Read from the names of the tools and of their parameters. A tool that opens something proves nothing: `create_page` of a
wiki is no page of a browser. What shows state is a second tool that only makes sense while it is open: one that closes
a session, clicks, sets a breakpoint. Hints say nothing about it, because a snapshot of a page is read-only as well.

State that outlives the process does not count: in a file, behind the address of a service, on a device, in `tmux`. The
rules are narrow, so that a finding means something. Finding nothing proves nothing: a database in memory has the same
tools as one in a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.toolspec.schema import properties_of

# Between the parts of a name such as `pageId`; what else is not a letter separates parts too.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# All but the first part of a name.
_PREFIX = re.compile(r"(?<=[A-Za-z])[^A-Za-z].*|(?<=[a-z])[A-Z].*", re.DOTALL)
# What a process holds. A service has pages, ports and projects too, but they are not closed or terminated.
_HELD = frozenset({
    "browser", "connection", "debug", "debugger", "kernel", "notebook", "page", "port", "presentation", "process",
    "pty", "repl", "session", "shell", "tab", "terminal",
})  # fmt: skip
# Those that other tools can use without naming them, because there is one at a time.
_CURRENT = _HELD - {"connection", "page", "port", "process", "tab"}
# The verbs with which it begins, and those that only make sense while it lasts.
_OPENING = frozenset({
    "attach", "connect", "create", "goto", "launch", "navigate", "new", "open", "spawn", "start", "use",
})  # fmt: skip
_HOLDING = frozenset({
    "close", "detach", "disconnect", "end", "kill", "quit", "restart", "stop", "switch", "terminate", "unuse",
})  # fmt: skip
# A page is opened by these without another noun.
_NAVIGATING = frozenset({"goto", "navigate"})
# These are about the connection itself if they have no other noun: a service attaches policies, and connects accounts.
_ATTACHING, _DETACHING = frozenset({"attach", "connect"}), frozenset({"detach", "disconnect"})
# The databases, machines and programs to which a tool connects, and what later calls do there.
_CONNECTED = frozenset({"database", "db", "host", "mysql", "pid", "remote", "server", "sql", "ssh"})
_ON_CONNECTION = frozenset({"command", "exec", "execute", "query", "run"})
# The parameters that name what is held: `session` and `sessionId`, but `page_id` only. A `page` is one of many results,
# and a `port` is a number.
_NAMED = frozenset({"connection", "kernel", "pid", "session", "terminal"})
_ID = frozenset({"handle", "id", "idx", "index", "name"})
# What is done with an open page, and the least of it: some services have a tool to take a screenshot.
_ON_PAGE = frozenset(
    {"click", "drag", "evaluate", "fill", "hover", "press", "screenshot", "scroll", "snapshot", "type"}
)
_LEAST_ON_PAGE = 3
# What else a debugger does, beside breakpoints.
_DEBUGGING = frozenset({"attach", "continue", "debug", "evaluate", "inspect", "launch", "start", "step"})
# An interpreter that keeps variables, and the parameters or verbs with which it gets code.
_INTERPRETERS = frozenset({"ipython", "kernel", "repl"})
_EXECUTING = frozenset({"code", "eval", "exec", "execute", "run", "send"})
# A program that keeps the sessions itself.
_KEEPER = "tmux"
# A tool for all of it has its verbs as the values of this parameter.
_ACTION = "action"
# Parameters that name a place outside of the process: what a tool does there is still there for the next process.
_PLACES = frozenset({"device", "host", "server", "udid", "url"})


class _Tool(NamedTuple):
    """A tool, the words of its name and of its actions, and its parameters with their words."""

    name: str
    words: frozenset[str]
    parameters: Mapping[str, frozenset[str]]
    required: Collection[str]

    @property
    def is_opening(self) -> bool:
        """Whether it opens something that a process holds."""
        opens = self.words & _OPENING and self.words & _HELD
        return bool(opens or self.words & _NAVIGATING or _is_about(self.words, _ATTACHING))

    @property
    def is_holding(self) -> bool:
        """Whether it only makes sense while something is open."""
        return bool((self.words & _HOLDING and self.words & _HELD) or _is_about(self.words, _DETACHING))

    @property
    def handles(self) -> set[frozenset[str]]:
        """The parameters that name something that is open, in any notation."""
        return {words for words in self.parameters.values() if _is_handle(words)}

    @property
    def needed(self) -> set[frozenset[str]]:
        """The required parameters, in any notation."""
        return {self.parameters.get(name, frozenset()) for name in self.required}

    @property
    def is_elsewhere(self) -> bool:
        """Whether a required parameter names a place outside of the process."""
        return any(name.lower() in _PLACES for name in self.required)


def _is_about(words: frozenset[str], verbs: frozenset[str]) -> bool:
    """Whether a tool with these words connects, or ends its connection: `connect`, `ssh_connect`, `attach_to_pid`."""
    return bool(words & verbs) and (words <= verbs or bool(words & _CONNECTED))


def _is_handle(words: frozenset[str]) -> bool:
    """Whether a parameter with these words names what is open."""
    return bool(words) and (words <= _NAMED or bool(words & _HELD and words & _ID))


def keeps_state(tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether calls of a server with these definitions of tools depend on what an earlier call has opened."""
    return bool(stateful_tools(tools))


def stateful_tools(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that open something in the process of their server, or depend on it, in the order of the
    definitions.
    """
    read = [_read(tool) for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
    if any(_KEEPER in tool.words for tool in read):
        return []
    found = {*_with_handles(read), *_on_pages(read), *_debugging(read), *_interpreting(read), *_connected(read)}
    return [tool.name for tool in read if tool.name in found]


def _read(tool: Mapping[str, Any]) -> _Tool:
    schema = tool.get("inputSchema")
    properties = properties_of(schema)
    required = schema.get("required") if isinstance(schema, dict) else None
    words = _words(tool["name"])
    return _Tool(
        tool["name"],
        words | _actions(properties) if words & _CURRENT else words,
        {name: _words(name) for name in properties},
        [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
    )


def _actions(properties: Mapping[str, Any]) -> frozenset[str]:
    """The verbs of a tool that opens and closes; empty for one that does other things."""
    action = properties.get(_ACTION)
    values = action.get("enum") if isinstance(action, dict) else None
    words = _words(" ".join(value for value in values if isinstance(value, str))) if isinstance(values, list) else None
    return words if words and words & _OPENING and words & _HOLDING else frozenset()


def _words(name: str) -> frozenset[str]:
    """The words of a name, in the singular: `list_sessions` is about a session."""
    found = re.findall("[a-z]+", _HUMP.sub(" ", name).lower())
    return frozenset({word.removesuffix("s") if word.removesuffix("s") in _HELD else word for word in found})


def _with_handles(tools: Sequence[_Tool]) -> Iterable[str]:
    """The tools of a server that opens and closes what it holds: those with a parameter that names it, or all if they
    use the current one.
    """
    opening = [tool for tool in tools if tool.is_opening]
    holding = [tool for tool in tools if tool.is_holding]
    ends = {tool.name for tool in (*opening, *holding)}
    acting = [tool for tool in tools if tool.name not in ends and not tool.is_elsewhere]
    # What is closed by it.
    handles = {handle for tool in holding for handle in tool.handles}
    with_handle = [tool for tool in acting if tool.handles & handles]
    # A tool without the handle that it may have opens what it needs.
    opens = opening or any(not handles & tool.needed for tool in with_handle)
    if not holding or not opens:
        return ()
    if not with_handle and any(tool.words & (_CURRENT | _DETACHING) for tool in holding):
        return _with_prefix_of([tool for tool in tools if tool.name in ends], tools)
    return {*ends, *(tool.name for tool in with_handle)}


def _on_pages(tools: Sequence[_Tool]) -> Iterable[str]:
    """The tools of a browser: it navigates, and acts on the page without its address."""
    opening = [tool for tool in tools if tool.words & _NAVIGATING or {"new", "page"} <= tool.words]
    acting = [tool for tool in tools if tool.words & _ON_PAGE and not tool.is_elsewhere]
    kinds = {word for tool in acting for word in tool.words & _ON_PAGE}
    if not opening or len(kinds) < _LEAST_ON_PAGE:
        return ()
    return _with_prefix_of([*opening, *acting], tools)


def _with_prefix_of(some: Sequence[_Tool], tools: Sequence[_Tool]) -> Iterable[str]:
    """Those of `tools` whose names begin as the names of all of `some`, such as with `browser_`; all of them if these
    have nothing in common. A single one shows no prefix.
    """
    first, *others = (_PREFIX.sub("", tool.name) for tool in some)
    is_common = others and all(other == first for other in others)
    return {tool.name for tool in tools if not is_common or _PREFIX.sub("", tool.name) == first}


def _debugging(tools: Sequence[_Tool]) -> Iterable[str]:
    """The tools of a debugger: it has breakpoints, and runs the program."""
    has_breakpoints = any(tool.words & {"breakpoint", "breakpoints"} for tool in tools)
    runs = any(tool.words & _DEBUGGING for tool in tools)
    return (tool.name for tool in tools) if has_breakpoints and runs else ()


def _interpreting(tools: Sequence[_Tool]) -> Iterable[str]:
    """The tools of an interpreter that is named as one, and that executes code."""
    named = [tool for tool in tools if tool.words & _INTERPRETERS]
    executes = any(tool.words & _EXECUTING or "code" in tool.parameters for tool in named)
    return (tool.name for tool in tools if tool in named or tool.handles) if executes else ()


def _connected(tools: Sequence[_Tool]) -> Iterable[str]:
    """The tools of a server that connects, and queries what it has connected to."""
    opens = any("connect" in tool.words and tool.words & _CONNECTED for tool in tools)
    queries = any(tool.words & _ON_CONNECTION for tool in tools)
    return (tool.name for tool in tools) if opens and queries else ()
