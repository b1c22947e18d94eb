"""The call does not fit the tool, or the caller's own rules do not allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaia_mcp.errors.root import MCPError


class ToolError(MCPError, kind="tool"):
    """The call does not fit the tool."""


class ToolUnknownError(ToolError, kind="tool-unknown"):
    """The server has no tool of that name, or one that cannot be called; `reason` is then why."""

    def __init__(self, server: str, tool: str, *, reason: str = "", suggestion: str = "", case: str = "") -> None:
        more = f": {reason}" if reason else ""
        super().__init__(f"server {server!r} has no tool {tool!r}{more}", hint=suggestion, server=server, case=case)
        self.tool = tool


class FeatureUnknownError(ToolError, kind="feature-unknown"):
    """The server has no prompt of that name, or no resource of that URI; `feature` is "prompt" or "resource"."""

    def __init__(self, server: str, feature: str, name: str, *, reason: str = "", suggestion: str = "") -> None:
        more = f": {reason}" if reason else ""
        super().__init__(f"server {server!r} has no {feature} {name!r}{more}", hint=suggestion, server=server)
        self.feature = feature
        self.name = name


class ArgumentsError(ToolError, ValueError, kind="arguments"):
    """Arguments that do not fit the schema of a tool or prompt, or that JSON cannot express. Nothing was sent."""

    def __init__(
        self, server: str, tool: str, problems: Sequence[str], *, hint: str = "", feature: str = "tool"
    ) -> None:
        super().__init__(f"{feature} {tool!r} of {server!r}: {'; '.join(problems)}", hint=hint, server=server)
        self.tool = tool
        self.feature = feature
        self.problems = tuple(problems)


class RefusedError(MCPError, kind="refused"):
    """Not allowed by the caller's own rules."""


class ContractError(RefusedError, kind="contract"):
    """A server's tools are not as they were locked, or were never locked; `facts["changes"]` lists the differences."""

    def __init__(self, server: str, problem: str, changes: Sequence[dict[str, Any]] = (), *, hint: str) -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"changes": list(changes)} if changes else {}


class ReadOnlyError(RefusedError, kind="read-only"):
    """Only read-only tools may be called, and this one is not known to be: its server does not mark it so; or it does
    (`is_marked`), and the tool has the name of one that changes something; or only the entry of the server does not
    trust such hints (`is_distrusted`). Nothing was sent.
    """

    def __init__(self, server: str, tool: str, *, is_marked: bool = False, is_distrusted: bool = False) -> None:
        why = "is not marked as read-only by its server"
        case = ""
        if is_distrusted:
            why = "is marked as read-only, but the hints of its server are not trusted"
            case = "hints-distrusted"
        elif is_marked:
            why = "is marked as read-only, but its name suggests that it changes something"
        super().__init__(f"tool {tool!r} of {server!r} {why}", server=server, case=case)
        self.tool = tool


class UnansweredError(RefusedError, kind="unanswered"):
    """The server has asked for something that was not answered; `facts["question"]` is what it asked. The tool that
    asked may have done a part of its work.
    """

    def __init__(self, server: str, problem: str, question: dict[str, Any] | None = None, *, hint: str = "") -> None:
        super().__init__(f"server {server!r} {problem}", hint=hint, server=server)
        self.facts = {"question": question} if question is not None else {}


class ScopeError(RefusedError, kind="scope"):
    """The entry of the server is restricted to other stages, or to other agents, than the caller's, of which one may be
    None. Nothing was sent.
    """

    def __init__(self, server: str, stage: str | None, agent: str | None) -> None:
        whom = "" if agent is None else f" to agent {agent!r}"
        when = "" if stage is None else f" at stage {stage!r}"
        super().__init__(f"server {server!r} is not available{whom}{when}", server=server)
        self.stage = stage
        self.agent = agent


class ToolExcludedError(RefusedError, kind="tool-excluded"):
    """The entry of the server excludes this tool. Nothing was sent.

    `member` is the member that does so, "includeTools" or "excludeTools", and `patterns` are what it holds.
    """

    def __init__(self, server: str, tool: str, member: str, patterns: Sequence[str]) -> None:
        how = "is excluded by" if member == "excludeTools" else "is not among"
        super().__init__(f"tool {tool!r} of {server!r} {how} the {member!r} of its entry", server=server)
        self.tool = tool
        self.member = member
        self.patterns = tuple(patterns)
