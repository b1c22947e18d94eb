"""The checks of `test-client`, in their order: the steps of a connection, the server's features, tool poisoning
(suspicious texts in definitions, and look-alike names), and the shutdown.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.checking import check_schema, validation_errors
from gaia_mcp.cli.calls import typed
from gaia_mcp.cli.calls.tool_call import called, checked_arguments
from gaia_mcp.cli.checks.report import ADVICE, CALL, FAIL, LOAD, OK, SKIP, WARN, Check, Report, untried
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.cli.screen.session_view import asking
from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    EntryError,
    MCPError,
    PeerError,
    RemoteProtocolError,
)
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.core.systems import http_dialects
from gaia_mcp.fleet import unsupported
from gaia_mcp.fleet.parallel import AT_ONCE, use_all
from gaia_mcp.fleet.session import UNLISTED, unknown_tool
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.protocol.revisions import capability_names
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text import one_line
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.arguments import Assignment
from gaia_mcp.toolspec.contract import Undefinable, canonical_tool
from gaia_mcp.toolspec.poisoning import folded_name, looks_like_another, suspicions, visible
from gaia_mcp.toolspec.validation import SchemaCostError, SchemaError

if TYPE_CHECKING:
    from gaia_mcp.cli.calls.answering import Answering
    from gaia_mcp.cli.checks.cases import CaseFile
    from gaia_mcp.cli.checks.fuzzing import FuzzWanted
    from gaia_mcp.cli.checks.load import LoadWanted
    from gaia_mcp.cli.checks.locked import LockedTools
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.fleet.session import Session

# On a busy machine, many servers that exit at once slow each other down; that is not a fault of theirs.
LEAVING_SECONDS = 3.0
ALWAYS_CHECKED = (
    "start",
    "negotiation",
    "answer",
    "tools",
    "input schemas",
    "output schemas",
    "names",
    "texts",
)
# The name of the check of all requirements; each one's is its number.
REQUIREMENTS = "requirements"
# The format that the specification recommends for tool names.
_RECOMMENDED = re.compile(r"[A-Za-z0-9_.-]{0,128}")
# The number of tools that are named for one problem; a line has no room for more.
MAX_NAMED = 5


class CallWanted(NamedTuple):
    """A tool to call, with its arguments as typed, which override the members of `base`."""

    tool: str
    arguments: Sequence[Assignment]
    base: dict[str, Any]


class Wanted(NamedTuple):
    """The requested checks: calls, the locked tools, the cases of a file, each of which may fail `retries` times before
    it has failed, with `strict` all requirements of the specification, and the fuzzing of tools. `known` holds the
    tools of all servers, by name. `load` is of the tool of the only call.
    """

    calls: Sequence[CallWanted]
    locked_tools: LockedTools | None
    known: Mapping[str, Sequence[Known]]
    cases: CaseFile | None = None
    retries: int = 0
    strict: bool = False
    load: LoadWanted | None = None
    fuzz: FuzzWanted | None = None

    def checks(self) -> list[str]:
        """The names of the checks for every server, whatever it declares."""
        contract = ["contract"] if self.locked_tools is not None else []
        cases = [case.name for case in self.cases.cases] if self.cases is not None else []
        requirements = [REQUIREMENTS] if self.strict else []
        fuzz = ["fuzz"] if self.fuzz is not None else []
        load = [LOAD] if self.load is not None else []
        return [*ALWAYS_CHECKED, *contract, *requirements, *self.named_calls(), *cases, *fuzz, *load]

    def named_calls(self) -> dict[str, CallWanted]:
        """The calls by the names of their checks: `call`, or of several `call TOOL`, numbered from the second one."""
        if len(self.calls) == 1:
            return {CALL: self.calls[0]}
        tools = [call.tool for call in self.calls]
        counts = [tools[: place + 1].count(tool) for place, tool in enumerate(tools)]
        names = [
            f"{CALL} {tool}" if count == 1 else f"{CALL} {tool} ({count})"
            for tool, count in zip(tools, counts, strict=True)
        ]
        return dict(zip(names, self.calls, strict=True))


class _Checker:
    """Does the checks of one server, one after the other."""

    def __init__(
        self, screen: Screen, session: Session, report: Report, deadline: Deadline | None, answering: Answering
    ) -> None:
        self._screen = screen
        self.session = session
        self.report = report
        self.deadline = deadline
        self._answering = answering
        # The tool that was called last, with its arguments.
        self._called: tuple[MCPTool, dict[str, Any]] | None = None

    def run(self, wanted: Wanted) -> None:
        """Do all checks until a failure makes the remaining ones pointless; those are reported as skipped."""
        self._run(wanted)
        done = {check.name for check in self.report.checks}
        pointless = dict.fromkeys([*wanted.checks(), *self.report.skipped])
        self.report.skipped = [name for name in pointless if name not in done]

    def _run(self, wanted: Wanted) -> None:
        if not self._try("start", self._start) or not self._try("negotiation", self._negotiate):
            return
        self._try("answer", self._answer)
        if self._is_in_trouble():
            return
        tools: list[MCPTool] = []
        is_as_locked = wanted.locked_tools is None
        if self._try("tools", lambda: self._tools(tools)):
            self._try("input schemas", lambda: self._schemas(tools, "inputSchema"))
            self._try("output schemas", lambda: self._schemas(tools, "outputSchema"))
            self._try("names", lambda: names_checked(self.session.entry.name, tools, wanted.known))
            self._try("texts", lambda: texts_checked(tools))
            if (locked_tools := wanted.locked_tools) is not None:
                is_as_locked = self._try("contract", lambda: self._contract(locked_tools, tools))
        if "prompts" in self.session.capabilities:
            self._try("prompts", lambda: self._declared("prompts", "name"))
        if "resources" in self.session.capabilities:
            self._try("resources", lambda: self._declared("resources", "uri"))
            self._try("templates", self._templates)
        if wanted.strict:
            self._advise(tools)
            self._try(REQUIREMENTS, self._requirements)
        # A tool that does not match its approved definition is not called.
        for name, call in wanted.named_calls().items() if is_as_locked else ():
            # One that has ended the server is the last.
            if not self._try(name, partial(self._call, call, tools)) and self._is_in_trouble():
                break
        if wanted.cases is not None and is_as_locked and not self._is_in_trouble():
            from gaia_mcp.cli.checks.case_runs import CaseRunner

            answer_with = partial(self._answering.answer_with, self.session.entry.name)
            runner = CaseRunner(self._screen.line, self.session, wanted.cases, answer_with, os.environ, wanted.retries)
            runner.run(self.report, self.deadline)
        if wanted.fuzz is not None and is_as_locked and not self._is_in_trouble():
            from gaia_mcp.cli.checks.fuzzing.runs import fuzz

            self._answering.decline_silently(self.session.entry.name)
            fuzz(self._screen.line, self.session, tools, wanted.fuzz, self.report, self.deadline)
        if wanted.load is not None and self._called is not None and not self.report.failures:
            from gaia_mcp.cli.checks.load_runs import load_check

            is_watched = self.report.on_check is not None
            self.report.add(load_check(self._screen, self.session, *self._called, wanted.load, is_watched=is_watched))

    def end(self) -> None:
        """Stop the server; check how it exited, and whether it wrote or sent anything but MCP."""
        began = time.monotonic()
        was_open = self.session.peer is not None
        in_trouble = self._is_in_trouble()
        stopped = self.session.close(IMPATIENT_GRACE_SECONDS if in_trouble else LEAVING_SECONDS)
        if stopped is not None:
            outcome, detail = OK, f"{stopped.how}, status {stopped.returncode}"
            # After a signal to the group, some processes exit later than others. They count as left behind only if the
            # server exited by itself.
            if stopped.how in ("on SIGTERM", "on SIGKILL"):
                outcome, detail = WARN, f"it did not exit when its stdin was closed, and was stopped {stopped.how}"
            elif stopped.left_others:
                outcome, detail = FAIL, f"{detail}; it left other processes behind, which were stopped too"
            self.report.add(Check("shutdown", WARN if in_trouble else outcome, time.monotonic() - began, detail))
        source = self.session.output or "messages"
        if noise := self.session.noise():
            self.report.add(Check(source, FAIL, 0.0, f"it wrote {noise}"))
        elif was_open:
            self.report.add(Check(source, OK, 0.0, "nothing but MCP"))
        self.report.stderr_tail = self.session.stderr_tail()

    def _is_in_trouble(self, *kinds: type[MCPError]) -> bool:
        """Whether a check ended with an error of these `kinds`: without any, a timeout or a lost connection."""
        return any(isinstance(check.error, kinds or (DeadlineError, ConnectError)) for check in self.report.checks)

    def _try(self, name: str, work: Callable[[], tuple[str, str]]) -> bool:
        if self._is_in_trouble(DeadlineError):
            self.report.skipped.append(name)
            return False
        began = time.monotonic()
        try:
            outcome, detail = work()
            error = None
        except MCPError as problem:
            error = self.session.explained(problem)
            outcome, detail = FAIL, error.message
        detail = one_line(self.session.masker().text(detail), 500)
        self.report.add(Check(name, outcome, time.monotonic() - began, detail, error))
        return error is None

    def _start(self) -> tuple[str, str]:
        self.session.start()
        return OK, self.session.entry.described()

    def _negotiate(self) -> tuple[str, str]:
        peer = self.session.open()
        presented = " ".join(str(peer.info[key]) for key in ("name", "version") if peer.info.get(key))
        declared = ", ".join(capability_names(peer.capabilities)) or "none"
        dialect = http_dialects().get(peer.era)
        spoken = f"{peer.version if dialect is None else dialect.title} ({peer.era})"
        return OK, f"{spoken}, {presented or 'unnamed'}, capabilities: {declared}"

    def _answer(self) -> tuple[str, str]:
        self.session.check_alive()
        return OK, "it answers"

    def _tools(self, tools: list[MCPTool]) -> tuple[str, str]:
        tools += self.session.tools()
        count = counted(len(tools), "tool")
        problems = self.session.problems
        if problems == [unsupported("tools")]:
            return WARN, problems[0]
        if problems == [UNLISTED]:
            return WARN, f"{count}; {UNLISTED}"
        if problems:
            return FAIL, f"{count}; {'; '.join(problems)}"
        if "tools" not in self.session.capabilities:
            return WARN, f"{count}, which it does not declare" if tools else "it has no tools"
        return OK, count

    def _schemas(self, tools: list[MCPTool], member: str) -> tuple[str, str]:
        problems = []
        schemas = [(tool.name, tool.definition[member]) for tool in tools if tool.definition.get(member) is not None]
        for name, schema in schemas:
            try:
                check_schema(schema, self.deadline)
            except SchemaError as problem:
                problems.append(f"{name!r}: {problem}")
                continue
            if member == "inputSchema" and isinstance(schema, dict) and schema.get("type") != "object":
                problems.append(f"{name!r}: its type is {schema.get('type')!r}, not 'object'")
        return (FAIL, "; ".join(problems)) if problems else (OK, f"{len(schemas)} valid")

    def _advise(self, tools: list[MCPTool]) -> None:
        from gaia_mcp.requirements.for_models import advice_on

        masker = self.session.masker()
        for kind, advice in advice_on([tool.definition for tool in tools]).items():
            detail = masker.text("; ".join(advice)) or "as language models need them"
            self.report.add(Check(kind, ADVICE if advice else OK, 0.0, detail))

    def _requirements(self) -> tuple[str, str]:
        from gaia_mcp.requirements import judged
        from gaia_mcp.requirements.listed import REQUIREMENTS as LISTED

        peer = self.session.open()
        judgement, masker = judged(self.session.entry, peer.version, deadline=self.deadline), self.session.masker()
        for number in (number for number in LISTED if number in judgement.seen):
            listed, breaks = LISTED[number], judgement.seen[number]
            detail = "; ".join(masker.text(one.detail) for one in breaks) or listed.stated
            worst = next((one for one in breaks if not one.is_minor), breaks[0] if breaks else None)
            outcome = OK if worst is None else WARN if worst.is_minor or not listed.is_strict else FAIL
            message = masker.text(worst.message) if worst is not None else ""
            self.report.add(Check(number, outcome, 0.0, one_line(detail, 500), requirement=listed, message=message))
        fulfilled = sum(not breaks for breaks in judgement.seen.values())
        return OK, f"{fulfilled} of the {len(judgement.seen)} that were tested are fulfilled"

    def _contract(self, locked_tools: LockedTools, tools: list[MCPTool]) -> tuple[str, str]:
        locked_tools.check_server(self.session.entry.name, tools)
        return OK, f"matches {locked_tools.path}"

    def _declared(self, kind: str, key: str) -> tuple[str, str]:
        try:
            return self._listed(f"{kind}/list", key)
        except PeerError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return WARN, unsupported(kind)

    def _listed(self, method: str, key: str) -> tuple[str, str]:
        items = self.session.listed(method)
        bad = [number for number, item in enumerate(items, 1) if not (isinstance(item, dict) and item.get(key))]
        problems = [*self.session.problems, *(f"item {number} has no {key!r}" for number in bad)]
        return (FAIL, "; ".join(problems)) if problems else (OK, str(len(items)))

    def _templates(self) -> tuple[str, str]:
        method = "resources/templates/list"
        try:
            return self._listed(method, "uriTemplate")
        except PeerError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            if any(check.detail == unsupported("resources") for check in self.report.checks):
                return OK, "they are not supported either"  # One warning is enough.
            return WARN, f"it has resources, but does not support {method}"

    def _call(self, wanted: CallWanted, tools: list[MCPTool]) -> tuple[str, str]:
        tool = next((tool for tool in tools if tool.name == wanted.tool), None)
        # Raises `ToolExcludedError` for a tool that the entry excludes. A server that lists no tools may have any.
        tool = tool or self.session.find_tool(wanted.tool)
        if tool is None:
            raise unknown_tool(self.session, wanted.tool, [tool.name for tool in tools])
        arguments = typed(wanted.arguments, tool.input_schema, wanted.base)
        unchecked = []
        try:
            arguments = checked_arguments(
                self._screen.line,
                self.session.entry.name,
                tool.name,
                tool.input_schema,
                arguments,
                self.deadline,
                shows_given=False,
            )
        except SchemaCostError as cost:
            unchecked.append(f"arguments not checked: the input schema: {cost}")
        except SchemaError:
            pass  # The schema fails its own check; as with `call`, the tool is called in any case.
        result = called(self._screen.line, self.session, tool, arguments)
        self._called = tool, arguments
        blocks = result.get("content")
        texts = (
            [block.get("text", "") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
        )
        said = next((text for text in texts if isinstance(text, str)), "")
        # Masked before it is cut, since a cut could split a secret.
        said = one_line(self.session.masker().text(said), 120)
        if result.get("isError"):
            return FAIL, f"{tool.name} failed: {said}"
        try:
            if tool.output_schema is not None and (
                found := validation_errors(tool.output_schema, result.get("structuredContent"), self.deadline)
            ):
                problem = f"answered {tool.name} with a result that does not match its output schema: {found[0]}"
                raise RemoteProtocolError(self.session.entry.name, problem, hint="report it to its author")
        except SchemaCostError as cost:
            unchecked.append(f"result not checked: the output schema: {cost}")
        except SchemaError:
            pass
        return WARN if unchecked else OK, "; ".join([f"{tool.name}: {said}", *unchecked])


def check_all(
    screen: Screen,
    entries: Sequence[ServerEntry],
    wanted: Wanted,
    answering: Answering,
    deadline: Deadline | None,
    on_check: Callable[[Check], None] | None = None,
    at_once: int = AT_ONCE,
) -> list[Report]:
    """Do every check with so many servers `at_once`, and return the reports in the order of `entries`. `answering`
    answers the servers' requests; `on_check` is called with each finished check, and replaces the progress line.
    """
    reports = {entry.name: Report(entry.name, on_check=on_check) for entry in entries}

    def check(session: Session) -> None:
        checker = _Checker(screen, session, reports[session.entry.name], deadline, answering)
        checker.run(wanted)
        session.settle()
        checker.end()

    view = asking(screen, entries)
    with view if on_check is None else nullcontext():
        results = use_all(
            entries,
            check,
            view,
            deadline,
            lambda server: answering.answerers(server, view, attended=False),
            at_once=at_once,
        )
    for result in results:
        if result.error is not None:
            reports[result.entry.name].add(untried(result.error))
            reports[result.entry.name].skipped = [name for name in wanted.checks() if name != "start"]
    return list(reports.values())


def check_revisions(
    revisions: Sequence[str],
    entries: Sequence[ServerEntry],
    check: Callable[[list[ServerEntry]], list[Report]],
    *,
    offered: bool,
) -> list[Report]:
    """The reports of `check` with each of these revisions in turn, in the order of `entries`. A server that cannot be
    started is tried once. With `offered`, those that a server does not support are skipped, if it supports another one.
    """
    reports: dict[str, list[Report]] = {entry.name: [] for entry in entries}
    unstarted: set[str] = set()
    for revision in revisions:
        found = [Report(name, [Check("start", SKIP, 0.0, "it could not be started")]) for name in sorted(unstarted)]
        if left := [entry._replace(revision=revision) for entry in entries if entry.name not in unstarted]:
            found += check(left)
        for report in found:
            report.revision = revision
            reports[report.server].append(report)
            if any(failure.name in ("entry", "start") and not failure.request for failure in report.failures):
                unstarted.add(report.server)
    for of_server in reports.values():
        if offered and not all(map(_is_refused, of_server)):
            for report in filter(_is_refused, of_server):
                report.checks = [Check("negotiation", SKIP, 0.0, "the server does not support this revision")]
                report.skipped = []
    return [report for of_server in reports.values() for report in of_server]


def _is_refused(report: Report) -> bool:
    # A case may have any name.
    return any(check.name == "negotiation" and not check.request for check in report.failures)


class Known(NamedTuple):
    """A tool of another server, from the cache."""

    server: str
    definition: Mapping[str, Any]


def known_tools(store: ConfigStore) -> dict[str, list[Known]]:
    """The cached tools of all configured servers, by their folded names."""
    found: dict[str, list[Known]] = {}
    for name, entry in store.entries().items():
        if isinstance(entry, EntryError):
            continue
        for tool in ServerCache(cache_folder(), entry).seen() or []:
            found.setdefault(folded_name(tool["name"]), []).append(Known(name, tool))
    return found


def texts_checked(tools: Sequence[MCPTool]) -> tuple[str, str]:
    """Outcome and detail of the check on the texts in the tools' definitions."""
    found = [f"{visible(tool.name)!r}: {one}" for tool in tools for one in suspicions(tool.definition)]
    if not found:
        return OK, "nothing suspicious"
    # The number comes first, because a long detail is cut.
    return WARN, (f"{len(found)} findings: " if len(found) > 1 else "") + "; ".join(found)


def names_checked(server: str, tools: Sequence[MCPTool], known: Mapping[str, Sequence[Known]]) -> tuple[str, str]:
    """Outcome and detail of the check on the tools' names: unusual, look-alike, or taken by another server."""
    problems = []
    if odd := [tool.name for tool in tools if not _RECOMMENDED.fullmatch(tool.name)]:
        problems.append(f"unusual: {', '.join(repr(visible(name)) for name in odd)}")
    if alike := [tool.name for tool in tools if looks_like_another(tool.name)]:
        problems.append(f"with letters that look like other letters: {', '.join(map(ascii, alike))}")
    taken: dict[str, list[str]] = {}
    for tool in tools:
        known_alike = (one for one in known.get(folded_name(tool.name), ()) if one.server != server)
        if rivals := {one.server for one in known_alike if not _is_same(tool, one)}:
            taken.setdefault(", ".join(map(repr, sorted(rivals))), []).append(repr(visible(tool.name)))
    for others, names in taken.items():
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        what = "a tool" if len(names) == 1 else "tools"
        problems.append(f"{', '.join(names[:MAX_NAMED])}{more} may be mistaken for {what} of {others}")
    return (WARN, "; ".join(problems)) if problems else (OK, "as recommended")


def _is_same(tool: MCPTool, other: Known) -> bool:
    """Whether two servers have the same tool, for example two entries for one program."""
    try:
        return is_same(canonical_tool(tool.definition), canonical_tool(other.definition))
    except Undefinable:
        return False
