"""The checks of `test-client`: what is tried with a server, in order, and what came of it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.arguments import Assignment
from gaia_mcp.cli.fleet import visit_each
from gaia_mcp.cli.listing import described
from gaia_mcp.cli.misfit import checked
from gaia_mcp.cli.output import error_object
from gaia_mcp.cli.plan import typed
from gaia_mcp.cli.sessions import Session
from gaia_mcp.cli.status import ExitStatus, status_of
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.stdio import IMPATIENT_GRACE_SECONDS
from gaia_mcp.errors import ConfigError, MCPError, RemoteProtocolError, ToolUnknownError
from gaia_mcp.names import did_you_mean
from gaia_mcp.safetext import one_line
from gaia_mcp.schema import SchemaError, check_schema, misfits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline

OK, WARN, FAIL = "ok", "warn", "FAIL"
# The specification's own recommendation for a tool's name.
MAX_NAME_CHARS = 128


class CallWanted(NamedTuple):
    """A tool to call, with its arguments as typed."""

    tool: str
    arguments: Sequence[Assignment]


@dataclass
class Check:
    """One check: `outcome` is "ok", "warn" or "FAIL"."""

    name: str
    outcome: str
    seconds: float
    detail: str
    error: MCPError | None = None


@dataclass
class Examination:
    """Everything that was tried with one server."""

    server: str
    checks: list[Check] = field(default_factory=list)

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == FAIL]

    @property
    def status(self) -> ExitStatus:
        """The exit code of the first failure."""
        if not self.failures:
            return ExitStatus.DONE
        first = self.failures[0]
        if first.name == "call" and first.error is None:
            return ExitStatus.TOOL_FAILED
        return ExitStatus.PROTOCOL if first.error is None else status_of(first.error)

    def error(self) -> MCPError | None:
        """The failures as one error, None if there are none."""
        if not self.failures:
            return None
        first = self.failures[0]
        if first.error is not None:
            if "test-client" in first.error.hint:
                # That is where we are.
                first.error.hint = "see all that it writes to stderr with --debug"
            return first.error
        count = len(self.failures)
        more = f" (and {count - 1} more)" if count > 1 else ""
        return RemoteProtocolError(
            self.server, f"failed the check {first.name!r}: {first.detail}{more}", hint="tell its author"
        )

    def add(self, check: Check, on_check: Callable[[Check], None] | None = None) -> None:
        """One more check, of which `on_check` hears."""
        self.checks.append(check)
        if on_check is not None:
            on_check(check)

    def as_object(self) -> dict[str, Any]:
        """This as JSON shows it."""
        shown = []
        for check in self.checks:
            row: dict[str, Any] = {
                "name": check.name,
                "outcome": check.outcome.lower(),
                "seconds": round(check.seconds, 4),
                "detail": check.detail,
            }
            if check.error is not None:
                row["error"] = error_object(check.error)
            shown.append(row)
        return {"name": self.server, "ok": not self.failures, "checks": shown}


class _Examiner:
    """Does the checks of one server, one after the other."""

    def __init__(self, session: Session, result: Examination, on_check: Callable[[Check], None] | None) -> None:
        self.session = session
        self.client = session.client
        self.result = result
        self._on_check = on_check

    def run(self, wanted: CallWanted | None) -> None:
        """All of them. What makes the following ones senseless ends them."""
        if not self._try("start", self._start) or not self._try("negotiation", self._negotiate):
            return
        self._try("answer", self._answer)
        tools: list[MCPTool] = []
        if self._try("tools", lambda: self._tools(tools)):
            self._try("input schemas", lambda: self._schemas(tools, "inputSchema"))
            self._try("output schemas", lambda: self._schemas(tools, "outputSchema"))
            self._try("names", lambda: self._names(tools))
        capabilities = self.client.peer.capabilities if self.client.peer else {}
        if "prompts" in capabilities:
            self._try("prompts", lambda: self._listed("prompts/list", "name"))
        if "resources" in capabilities:
            self._try("resources", lambda: self._listed("resources/list", "uri"))
            self._try("templates", lambda: self._listed("resources/templates/list", "uriTemplate"))
        if wanted is not None:
            self._try("call", lambda: self._call(wanted, tools))

    def end(self) -> None:
        """Stop the server, and say how that went and what it wrote beside the protocol."""
        began = time.monotonic()
        was_open = self.client.peer is not None
        in_trouble = any(check.error is not None for check in self.result.checks)
        stopped = self.session.close(IMPATIENT_GRACE_SECONDS) if in_trouble else self.session.close()
        if stopped is not None:
            outcome, detail = OK, f"{stopped.how}, status {stopped.returncode}"
            # Of a group that has got our signal, some are gone sooner than others; only who left in peace left them.
            if stopped.how in ("on SIGTERM", "on SIGKILL"):
                outcome, detail = WARN, f"it stayed after its input had ended, and was stopped {stopped.how}"
            elif stopped.left_others:
                outcome, detail = FAIL, f"{detail}; it left other processes behind, which were stopped too"
            self._add(Check("shutdown", WARN if in_trouble else outcome, time.monotonic() - began, detail))
        if noise := self.client.host.noise():
            self._add(Check("stdout", FAIL, 0.0, f"it wrote {noise}"))
        elif was_open:
            self._add(Check("stdout", OK, 0.0, "nothing but MCP"))

    def _try(self, name: str, work: Callable[[], tuple[str, str]]) -> bool:
        began = time.monotonic()
        try:
            outcome, detail = work()
            error = None
        except MCPError as problem:
            outcome, detail, error = FAIL, problem.message, problem
        self._add(Check(name, outcome, time.monotonic() - began, one_line(detail, 500), error))
        return error is None

    def _add(self, check: Check) -> None:
        self.result.add(check, self._on_check)

    def _start(self) -> tuple[str, str]:
        self.client.transport.connect()
        return OK, str(described(self.session.entry)["target"])

    def _negotiate(self) -> tuple[str, str]:
        peer = self.client.open(self.session.start_deadline())
        presented = " ".join(str(peer.info[key]) for key in ("name", "version") if peer.info.get(key))
        offers = ", ".join(peer.capabilities) or "nothing"
        return OK, f"{peer.version} ({peer.era}), {presented or 'unnamed'}, offers {offers}"

    def _answer(self) -> tuple[str, str]:
        self.client.check_alive(self.session.deadline())
        return OK, "it answers"

    def _tools(self, tools: list[MCPTool]) -> tuple[str, str]:
        tools += self.session.fetch_tools()
        count = f"{len(tools)} tool" + ("" if len(tools) == 1 else "s")
        if problems := self.client.tool_problems:
            return FAIL, f"{count}; {'; '.join(problems)}"
        if self.client.peer is not None and "tools" not in self.client.peer.capabilities:
            return WARN, f"{count}, which it does not declare" if tools else "it offers no tools"
        return OK, count

    def _schemas(self, tools: list[MCPTool], member: str) -> tuple[str, str]:
        problems = []
        schemas = [(tool.name, tool.definition[member]) for tool in tools if tool.definition.get(member) is not None]
        for name, schema in schemas:
            try:
                check_schema(schema)
            except SchemaError as problem:
                problems.append(f"{name!r}: {problem}")
                continue
            if member == "inputSchema" and isinstance(schema, dict) and schema.get("type") != "object":
                problems.append(f"{name!r}: its type is {schema.get('type')!r}, not 'object'")
        return (FAIL, "; ".join(problems)) if problems else (OK, f"{len(schemas)} valid")

    def _names(self, tools: list[MCPTool]) -> tuple[str, str]:
        names = [tool.name for tool in tools]
        odd = [name for name in names if len(name) > MAX_NAME_CHARS or not _is_recommended(name)]
        return (WARN, f"unusual: {', '.join(map(repr, odd))}") if odd else (OK, "as recommended")

    def _listed(self, method: str, key: str) -> tuple[str, str]:
        items = list(self.client.items(method, self.session.deadline()))
        bad = [number for number, item in enumerate(items, 1) if not (isinstance(item, dict) and item.get(key))]
        problems = [*self.client.tool_problems, *(f"number {number} has no {key}" for number in bad)]
        return (FAIL, "; ".join(problems)) if problems else (OK, str(len(items)))

    def _call(self, wanted: CallWanted, tools: list[MCPTool]) -> tuple[str, str]:
        tool = next((tool for tool in tools if tool.name == wanted.tool), None)
        if tool is None:
            suggestion = did_you_mean(wanted.tool, [tool.name for tool in tools])
            raise ToolUnknownError(self.session.entry.name, wanted.tool, suggestion=suggestion)
        arguments = typed(wanted.arguments, tool.input_schema)
        # Of a schema that cannot be used its own check tells; as with `call`, the tool is called all the same.
        with suppress(SchemaError):
            checked(self.session.entry.name, tool.name, tool.input_schema, arguments)
        result = self.client.call(tool.name, arguments, self.session.deadline())
        blocks = result.get("content")
        texts = (
            [block.get("text", "") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        )
        said = one_line(next((text for text in texts if isinstance(text, str)), ""), 120)
        if result.get("isError"):
            return FAIL, f"{tool.name} failed: {said}"
        with suppress(SchemaError):
            if tool.output_schema is not None and (
                found := misfits(tool.output_schema, result.get("structuredContent"))
            ):
                return FAIL, f"the result of {tool.name} does not fit its own schema: {found[0]}"
        return OK, f"{tool.name}: {said}"


def examine_all(
    entries: Sequence[ServerEntry],
    wanted: CallWanted | None,
    whole: Deadline | None,
    on_check: Callable[[Check], None] | None = None,
) -> list[Examination]:
    """Do every check with all servers at once, in the order of `entries`; `on_check` hears of each as it is done."""
    results = {entry.name: Examination(entry.name) for entry in entries}

    def work(entry: ServerEntry, starting: Callable[[Session], None]) -> None:
        result = results[entry.name]
        try:
            session = Session(entry, whole, Host())
            starting(session)
        except MCPError as error:
            result.add(untried(error), on_check)
            return
        examiner = _Examiner(session, result, on_check)
        try:
            examiner.run(wanted)
        except BaseException:
            session.close(IMPATIENT_GRACE_SECONDS)
            raise
        examiner.end()

    visit_each(entries, work, quiet=on_check is not None)
    return list(results.values())


def untried(error: MCPError) -> Check:
    """The only check of a server that could not even be tried."""
    return Check("entry" if isinstance(error, ConfigError) else "start", FAIL, 0.0, error.message, error)


def _is_recommended(name: str) -> bool:
    return all(character.isascii() and (character.isalnum() or character in "_.-") for character in name)
