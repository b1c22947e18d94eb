"""Runs the cases of a file with one server, one after the other: each is a check of the report.

A case that fails is no reason not to run the others: a server that has exited is started again for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.checking import structure_problem
from gaia_mcp.cli.calls import Answers
from gaia_mcp.cli.checks.cases import Case, CaseFile, VariableError, as_text, substituted
from gaia_mcp.cli.checks.expectations import Answer, Difference, differences, expects_error
from gaia_mcp.cli.checks.report import FAIL, OK, SKIP, WARN, Check, Report
from gaia_mcp.core.errors import MCPError
from gaia_mcp.text import one_line
from gaia_mcp.text.redaction.masker import Masker
from gaia_mcp.toolspec.arguments import Assignment

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session

# As much of an answer is shown for a case that has passed.
SAID_CHARS = 120
# A shorter value of a variable would be found in other words, and is hardly a secret.
MIN_HIDDEN_CHARS = 6
_COMMANDS = {"tool": "call", "prompt": "prompt", "resource": "read"}


class CaseRunner:
    """Runs the cases of `file` with a server; `answer_with` sets the answers to its questions. The variables have the
    values of `environ`, which are never shown. A case that fails is run again up to `retries` times.
    """

    def __init__(
        self,
        line: CommandLine,
        session: Session,
        file: CaseFile,
        answer_with: Callable[[Answers], object],
        environ: Mapping[str, str],
        retries: int = 0,
    ) -> None:
        self._line = line
        self._session = session
        self._file = file
        self._answer_with = answer_with
        self._retries = retries
        self._known: dict[str, Any] = {**environ, **file.variables}
        self._shown = dict(file.shown)
        self._masker = Masker([value for value in file.environ.values() if len(value) >= MIN_HIDDEN_CHARS])

    def run(self, report: Report, deadline: Deadline | None) -> None:
        """Run all cases, and add a check for each. Those that are left at the deadline are skipped."""
        reason = ""
        for case in self._file.cases:
            if deadline is not None and deadline.expired:
                report.skipped.append(case.name)
            elif case.skip or (reason and case.section == "checks"):
                report.add(Check(case.name, SKIP, 0.0, case.skip or reason))
            else:
                check = self._retried(case, deadline)
                report.add(check)
                if check.outcome == FAIL and case.section == "setup":
                    reason = f"{case.name!r} of the setup has failed"

    def _retried(self, case: Case, deadline: Deadline | None) -> Check:
        first = check = self._check(case)
        for attempt in range(2, self._retries + 2):
            if check.outcome != FAIL or (deadline is not None and deadline.expired):
                break
            check = self._check(case)
            if check.outcome == OK:
                check.outcome = WARN
                check.detail = f"flaky: it has passed in attempt {attempt}; the first one: {first.detail}"
        return check

    def _check(self, case: Case) -> Check:
        seconds, check = 0.0, None
        for number in range(1, case.repeat + 1):
            check = self._once(case)
            seconds += check.seconds
            if check.outcome == FAIL:
                run = f"run {number} of {case.repeat}: " if case.repeat > 1 else ""
                check.detail = run + check.detail
                check.place = self._file.place(case)
                break
        assert check is not None  # noqa: S101 (it is run at least once)
        check.seconds = seconds
        return check

    def _once(self, case: Case) -> Check:
        try:
            target = str(substituted(case.target, self._known))
            arguments = substituted(case.arguments, self._known)
            expect = substituted(case.expect, self._known)
        except VariableError as problem:
            return Check(case.name, SKIP, 0.0, f"{problem}: the case that saves it has not")
        request = self._request(case)
        answers = _answers(expect.get("answers"))
        self._answer_with(answers)
        try:
            answer, mismatch = self._answer(case, target, arguments)
        finally:
            self._answer_with(Answers())
        if answer.error is not None and not expects_error(expect):
            error = answer.error
            error.message = self._hidden(error.message)
            return Check(case.name, FAIL, answer.seconds, one_line(error.message, 500), error, request=request)
        found = list(differences(expect, answer))
        if mismatch:
            found.append(Difference(mismatch, ()))
        if unused := answers.unused():
            found.append(Difference(f"answers: {unused}", ()))
        found += self._save(case, answer) if not found else ()
        if not found:
            said = one_line(self._hidden(answer.text), SAID_CHARS)
            return Check(case.name, OK, answer.seconds, said, request=request)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        lines = [line for each in found for line in (*([each.words] if len(found) > 1 else []), *each.lines)]
        hidden = [self._hidden(text) for text in (found[0].words + more, *lines)]
        return Check(case.name, FAIL, answer.seconds, one_line(hidden[0], 500), request=request, differences=hidden[1:])

    def _answer(self, case: Case, target: str, arguments: dict[str, Any]) -> tuple[Answer, str]:
        """The answer, and how its structured result does not match the tool's output schema."""
        session, began, problem = self._session, time.monotonic(), ""
        result: dict[str, Any] = {}
        error = None
        try:
            if case.kind == "tool":
                tool = session.find_tool(target)
                began = time.monotonic()
                # As the case has it, also if it is invalid: whether the server refuses that may be what is tested.
                result = session.call(target, arguments)
            elif case.kind == "prompt":
                result = session.prompt(target, {key: as_text(held) for key, held in arguments.items()})
            else:
                result = session.read(target)
        except MCPError as raised:
            error = session.explained(raised)
        answer = Answer(case.kind, result, error, time.monotonic() - began)
        if case.kind == "tool" and error is None and tool is not None:
            problem = structure_problem(session.entry.name, tool.name, tool.output_schema, result, None)
        return answer, problem

    def _save(self, case: Case, answer: Answer) -> list[Difference]:
        missing = []
        for name, pointer in case.save.items():
            try:
                self._known[name] = answer.at(pointer)
                self._shown[name] = self._masker.value(self._session.masker().value(self._known[name]))
            except LookupError:
                missing.append(Difference(f"save: there is no {pointer} in the result", ()))
        return missing

    def _request(self, case: Case) -> str:
        """The command line that repeats the case."""
        arguments: dict[str, Any] = substituted(case.arguments, self._shown)
        words = [
            f"{key}={held}" if isinstance(held, str) else f"{key}:={as_text(held)}" for key, held in arguments.items()
        ]
        server, target = self._session.entry.name, str(substituted(case.target, self._shown))
        typed = self._line.to_type(_COMMANDS[case.kind], server, target, *words)
        return self._hidden(typed)

    def _hidden(self, text: str) -> str:
        return self._masker.text(self._session.masker().text(text))


def _answers(given: Mapping[str, Any] | None) -> Answers:
    if given is None:
        return Answers()
    return Answers([Assignment(key, as_text(held), not isinstance(held, str)) for key, held in given.items()])
