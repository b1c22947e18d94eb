"""What lies between a client and the tools of a provider: restrictions by name patterns, by the read-only hint, by the
locked definitions and by scopes of the access token; and the audit file.

For a client, tools that are not offered do not exist. A call that cannot be recorded is refused; if recording fails
after the call, its result is withheld. Recorded arguments have `****` for secrets, and long values are truncated.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.fleet.gateway.naming import Owner
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.definitions import page_of
from gaia_mcp.server.provider import (
    Change,
    Provider,
    RequestError,
    ToolList,
    WrappingProvider,
    all_tools,
    require_scopes,
    unknown_tool,
)
from gaia_mcp.server.running_call import InputRequired
from gaia_mcp.text import cut, one_line
from gaia_mcp.text.redaction import hidden, in_text, looks_secret, masked_value
from gaia_mcp.toolspec.contract import Contract, PartChange, ToolChange, Undefinable, canonical_tool, tool_difference
from gaia_mcp.toolspec.tool_filter import claims_to_only_read, is_match, only_reads

if TYPE_CHECKING:
    from gaia_mcp.storage.output_files import AuditFile

# Returns the owner of a tool by the provider's name for it; None if no known tool has this name.
Owners: TypeAlias = "Callable[[str], Owner | None]"
# The limit of a name, and of an error message.
MAX_CHARS = 300
# Enough to recognize a text, and far less than the content of a file.
MAX_TEXT_CHARS = 1000
# More values than people write by hand; a line with all rows of a table is unreadable.
MAX_VALUES = 500
MAX_DEPTH = 20
LEFT_OUT = "…"
Wire = dict[str, Any]


class OwnedTool(NamedTuple):
    """A tool's definition, with the name under which the provider lists it, and its owner."""

    definition: dict[str, Any]
    owner: Owner


class Restriction(Protocol):
    """Selects some of the tools. Used by one thread at a time."""

    def select(self, tools: Sequence[OwnedTool]) -> list[OwnedTool]:
        """The tools to offer, among those that the earlier restrictions have selected. Reports problems to the user."""


class NamePatterns:
    """The tools that match a pattern of `allow`, or all tools if it is empty, except those that match one of `deny`.

    `owners.is_meant` matches patterns. `report` is called once for each pattern that matches no tool, with "allow" or
    "deny" and the pattern.
    """

    def __init__(self, allow: Sequence[str], deny: Sequence[str], report: Callable[[str, str], None]) -> None:
        self._allow = allow
        self._deny = deny
        self._report = report
        self._has_reported = False

    def allows(self, name: str, owner: Owner) -> bool:
        """Whether the tool of this name and owner is offered."""
        if any(is_meant(pattern, name, owner) for pattern in self._deny):
            return False
        return not self._allow or any(is_meant(pattern, name, owner) for pattern in self._allow)

    def select(self, tools: Sequence[OwnedTool]) -> list[OwnedTool]:
        """The tools with allowed names."""
        if not self._has_reported:
            self._has_reported = True
            for option, patterns in (("allow", self._allow), ("deny", self._deny)):
                for pattern in patterns:
                    if not any(is_meant(pattern, tool.definition["name"], tool.owner) for tool in tools):
                        self._report(option, pattern)
        return [tool for tool in tools if self.allows(tool.definition["name"], tool.owner)]


class ReadOnly:
    """The tools that claim to be read-only. False claims are not detected; users can lock tools after reviewing them.

    `report` is called once with the owner of each tool whose name contradicts its claim.
    """

    def __init__(self, report: Callable[[Owner], None]) -> None:
        self._report = report
        self._reported: set[Owner] = set()

    def select(self, tools: Sequence[OwnedTool]) -> list[OwnedTool]:
        """The tools whose `readOnlyHint` is true."""
        selected = [tool for tool in tools if claims_to_only_read(_annotations(tool))]
        for tool in selected:
            if tool.owner not in self._reported and not only_reads(tool.owner.name, _annotations(tool)):
                self._reported.add(tool.owner)
                self._report(tool.owner)
        return selected


def _annotations(tool: OwnedTool) -> Mapping[str, Any]:
    annotations = tool.definition.get("annotations")
    return annotations if isinstance(annotations, Mapping) else {}


class Locked:
    """The tools that are unchanged since they were locked. `contracts` are those of the servers, by name.

    `report` is called once for each change, with the server and the differences of its tools; None for a server that
    was not locked.
    """

    def __init__(
        self, contracts: Mapping[str, Contract], report: Callable[[str, Sequence[ToolChange] | None], None]
    ) -> None:
        self._contracts = contracts
        self._report = report
        # The last compared definitions, as text, and whether they were as locked: a comparison takes long.
        self._compared: dict[Owner, tuple[str, bool]] = {}
        self._unlocked: set[str] = set()

    def select(self, tools: Sequence[OwnedTool]) -> list[OwnedTool]:
        """The tools that are as they were locked."""
        changes: dict[str, list[ToolChange]] = {}
        selected = []
        for tool in tools:
            server = tool.owner.server
            if (contract := self._contracts.get(server)) is None:
                if server not in self._unlocked:
                    self._unlocked.add(server)
                    self._report(server, None)
            elif self._is_locked(tool, contract, changes.setdefault(server, [])):
                selected.append(tool)
        for server, found in changes.items():
            if found:
                self._report(server, found)
        return selected

    def _is_locked(self, tool: OwnedTool, contract: Contract, changes: list[ToolChange]) -> bool:
        """Whether the tool equals that in `contract`. A new difference is added to `changes`."""
        # As text, because in Python 1, 1.0 and True are equal.
        try:
            text = repr(tool.definition)
        except RecursionError:
            text = "nested too deeply"
        compared, is_locked = self._compared.get(tool.owner, ("", False))
        if compared != text:
            change = _change_of({**tool.definition, "name": tool.owner.name}, contract)
            is_locked = change is None
            self._compared[tool.owner] = text, is_locked
            if change is not None:
                changes.append(change)
        return is_locked


def _change_of(definition: Mapping[str, Any], contract: Contract) -> ToolChange | None:
    """The difference between the tool and the contract, or None."""
    name = definition["name"]
    try:
        return tool_difference(name, contract.get(name), canonical_tool(definition))
    except Undefinable:
        # A locked definition is never nested so deeply.
        return ToolChange(name, *(("changed", (PartChange("definition", ()),)) if name in contract else ("added",)))


def is_meant(pattern: str, name: str, owner: Owner) -> bool:
    """Whether a pattern such as `read_*` matches a tool: by its listed name, by its own name, or, if the pattern has a
    slash, by `SERVER/TOOL`.
    """
    # Also its own name, because the listed name may depend on the tools of other servers.
    if is_match(name, pattern) or is_match(owner.name, pattern):
        return True
    return "/" in pattern and is_match("/".join(owner), pattern)


def of_one(server: str) -> Owners:
    """The owners of the tools of a single server, which keep their names."""
    return lambda tool: Owner(server, tool)


class ScopeRule(NamedTuple):
    """The tools that match a pattern, as in `--allow`, require `scope`."""

    pattern: str
    scope: str


class ScopedProvider(WrappingProvider):
    """Wraps `provider`; its tools require the scopes of these rules, in addition to those that it requires itself."""

    def __init__(self, provider: Provider, owners: Owners, rules: Sequence[ScopeRule]) -> None:
        super().__init__(provider)
        self._owners = owners
        self._rules = rules

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider; also raises `InsufficientScopeError`."""
        if method == "tools/call" and call.scopes is not None and isinstance(name := params.get("name"), str):
            require_scopes(call.scopes, self._scopes_of(name, call))
        return self._provider.answer(method, params, call)

    def _scopes_of(self, name: str, call: Call) -> list[str]:
        if (owner := self._owners(name)) is None:
            # A gateway resolves a prefixed name before the tool is listed, so the tools have to be listed first.
            all_tools(self._provider, call)
            if (owner := self._owners(name)) is None:
                raise unknown_tool(name)
        return [rule.scope for rule in self._rules if is_meant(rule.pattern, name, owner)]


class _Running(NamedTuple):
    """A call that has not been recorded. `start` is its start on the monotonic clock."""

    params: Wire
    call: Call
    began: datetime
    start: float


class AuditedProvider(WrappingProvider):
    """Adds a line to `file` for each tool call to `provider`. `report` is called when writing begins to fail."""

    def __init__(
        self, provider: Provider, file: AuditFile, owners: Owners, report: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__(provider)
        self._file = file
        self._owners = owners
        self._report = report
        self._running: dict[object, _Running] = {}
        self._is_failing = False

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider; also raises `RequestError` for a call that cannot be recorded."""
        if method != "tools/call":
            return self._provider.answer(method, params, call)
        # The error for the client does not mention the file.
        if not self._write(b""):
            raise RequestError("the call is refused, for it cannot be recorded", INTERNAL_ERROR)
        key = object()
        self._running[key] = _Running(params, call, datetime.now(UTC), time.monotonic())
        outcome: Wire = {}
        try:
            result = self._provider.answer(method, params, call)
            outcome = _outcome_of(result, call)
        except BaseException as error:
            outcome = _failure(error)
            raise
        finally:
            is_recorded = self._record(key, outcome)
        if not is_recorded:
            raise RequestError("the tool has run, but the call could not be recorded", INTERNAL_ERROR)
        return result

    def close(self) -> None:
        """Close the provider, and record the running calls as cancelled: their threads may end without recording."""
        try:
            self._provider.close()
        finally:
            for key in list(self._running):
                self._record(key, {"outcome": "cancelled"})

    def _record(self, key: object, outcome: Wire) -> bool:
        """Record a call, once. Returns whether its line was written."""
        running = self._running.pop(key, None)
        if running is None:
            return True
        seconds = time.monotonic() - running.start
        line = {
            "time": running.began.isoformat(timespec="milliseconds"),
            **self._facts(running.params, running.call),
            **outcome,
            "ms": round(seconds * 1000, 3),
        }
        return self._write(json.dumps(line).encode() + b"\n")

    def _write(self, line: bytes) -> bool:
        try:
            self._file.add(line)
        except OSError as problem:
            if not self._is_failing:
                self._is_failing = True
                self._report(
                    f"{self._file.path} cannot be written: {problem.strerror}; no tool is called until it can be"
                )
            return False
        self._is_failing = False
        return True

    def _facts(self, params: Wire, call: Call) -> Wire:
        """The client, principal, server, tool and arguments of a call."""
        name, arguments = params.get("name"), params.get("arguments")
        owner = self._owners(name) if isinstance(name, str) else None
        client = call.client
        return {
            "client": {"name": one_line(client.name, MAX_CHARS), "version": one_line(client.version, MAX_CHARS)},
            "principal": call.principal,
            "server": owner.server if owner is not None else None,
            "tool": one_line(owner.name if owner is not None else str(name), MAX_CHARS),
            "arguments": shown_arguments(arguments) if isinstance(arguments, dict) else {},
        }


def _outcome_of(result: Wire, call: Call) -> Wire:
    """The outcome of a call with this result."""
    if result.get("resultType") == "input_required":
        return {"outcome": "input-required"}
    if call.is_cancelled:
        return {"outcome": "cancelled"}
    return {"outcome": "tool-error" if result.get("isError") is True else "ok"}


def _failure(error: BaseException) -> Wire:
    """The outcome of a call that raised this exception."""
    if isinstance(error, InputRequired):
        return {"outcome": "input-required"}
    if isinstance(error, CallCancelledError):
        return {"outcome": "cancelled"}
    text = str(error)[: 2 * MAX_CHARS] or type(error).__name__
    return {"outcome": "error", "error": one_line(hidden(text, in_text(text)), MAX_CHARS)}


def shown_arguments(arguments: Mapping[str, Any]) -> Any:
    """`arguments` with `****` for a value that is a secret by its name or its form, and `…` for omitted values."""
    return _shown("", arguments, iter(range(MAX_VALUES)), MAX_DEPTH)


def _shown(name: str, value: Any, left: Iterator[int], depth: int) -> Any:
    """`value` as it is recorded. `name` is the nearest enclosing member with the name of a secret, or ""."""
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = str(value)
        return value if not name or (shown := masked_value(name, text)) == text else shown
    if not isinstance(value, (Mapping, list)):
        return value
    if not depth:
        return LEFT_OUT
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            if next(left, None) is None:
                return [*items, LEFT_OUT]
            items.append(_shown(name, item, left, depth - 1))
        return items
    members: dict[str, Any] = {}
    for key, inner in value.items():
        if next(left, None) is None:
            return {**members, LEFT_OUT: LEFT_OUT}
        members[_text("", key)] = _shown(key if looks_secret(key) else name, inner, left, depth - 1)
    return members


def _text(name: str, text: str) -> str:
    # Twice the limit, so that a secret that begins in the recorded part and ends after it is found.
    begin = text[: 2 * MAX_TEXT_CHARS]
    masked = masked_value(name, begin) if name else hidden(begin, in_text(begin))
    return cut(masked, MAX_TEXT_CHARS)


class RestrictedProvider(WrappingProvider):
    """Offers the tools of `provider` that `patterns` and all `restrictions` select. Prompts and resources are not
    restricted.
    """

    def __init__(
        self,
        provider: Provider,
        owners: Owners,
        patterns: NamePatterns | None = None,
        restrictions: Sequence[Restriction] = (),
    ) -> None:
        super().__init__(provider)
        self._owners = owners
        self._patterns = patterns
        self._restrictions = restrictions
        # Held to select tools.
        self._selecting = threading.Lock()
        # `_state` is replaced after each change of the tools. `_selected` is the state of the last selection, and
        # whether each listed tool was selected.
        self._state = object()
        self._selected: tuple[object, dict[Owner, bool]] = (None, {})
        # Registered before the listeners of clients, so that a client's request after a change selects again.
        self._stop_listening = provider.on_change(self._change)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider. Raises the error for an unknown tool if a tool is left out."""
        if method == "tools/list":
            tools, about = self.all_tools(call)
            return {**about, **page_of("tools", tools, "name", params)}
        if method == "tools/call":
            name = params.get("name")
            if isinstance(name, str) and not self._is_offered(name, call):
                raise unknown_tool(name)
        return self._provider.answer(method, params, call)

    def all_tools(self, call: Call) -> ToolList:
        """List all tools of the provider. Returns those that are offered."""
        state = self._state
        listed = all_tools(self._provider, call)
        owned = [(tool, self._owners(tool["name"])) for tool in listed.tools]
        tools = [OwnedTool(tool, owner) for tool, owner in owned if owner is not None]
        selected = dict.fromkeys([tool.owner for tool in tools], False)
        with self._selecting:
            for one in [*([self._patterns] if self._patterns is not None else ()), *self._restrictions]:
                tools = one.select(tools)
            selected.update((tool.owner, True) for tool in tools)
            self._selected = state, selected
        return ToolList([tool.definition for tool in tools], listed.about)

    def close(self) -> None:
        """Close the provider."""
        self._stop_listening()
        self._provider.close()

    def _change(self, change: Change) -> None:
        # After a reconnect, the server may have another version.
        if "tools" in change.lists or change.description:
            self._state = object()

    def _is_offered(self, name: str, call: Call) -> bool:
        if (owner := self._owners(name)) is not None:
            if self._patterns is not None and not self._patterns.allows(name, owner):
                return False
            if not self._restrictions:
                return True
            state, selected = self._selected
            if state is self._state and owner in selected:
                return selected[owner]
        tools, _ = self.all_tools(call)
        owner = self._owners(name)
        return any(self._owners(tool["name"]) == owner for tool in tools)
