"""A call that its server continues as a task: polled until its state is final, cancelled if the caller gives up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from gaia_mcp.client.transports.base import OnProgress, time_ran_out
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import CancelledError, MCPError, PeerError, RemoteProtocolError, outcome_unknown
from gaia_mcp.protocol.events import Progressed
from gaia_mcp.protocol.tasks import SHORTEST_POLL_SECONDS, Task, read_task

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.conversation import Conversation

    Answers = Callable[[dict[str, dict[str, Any]]], dict[str, Any]]

# A server acknowledges a cancellation at once. One that does not must not delay a caller that has given up.
CANCEL_SECONDS = 1.0


class TaskOfCall:
    """The task that `server` created for a call of `tool`, as `created` describes it. It is polled on `conversation`:
    on another connection it would be unknown.

    Raises `RemoteProtocolError` for an invalid description.
    """

    def __init__(self, server: str, tool: str, conversation: Conversation, created: dict[str, Any]) -> None:
        self._server = server
        self._tool = tool
        self._conversation = conversation
        self._task = self._read(created)
        # Each input request is answered once, even if the server still lists it as open.
        self._answered: set[str] = set()

    def result(self, deadline: Deadline, answers: Answers, on_progress: OnProgress | None) -> dict[str, Any]:
        """The result of the call, once the task is completed. Each response to a poll extends the deadline.

        `answers` returns the responses to input requests; `on_progress` gets the server's status messages. Raises as a
        request does, `PeerError` for a failed task, and `CancelledError` for one that the server has cancelled. If the
        wait ends in any other way, the task is cancelled.
        """
        try:
            reports = 0
            while True:
                self._pause(deadline)
                before, self._task = self._task, self._read(self._ask("tasks/get", deadline))
                deadline.extend()
                if self._task.is_final:
                    break
                if on_progress is not None and self._task.message not in ("", before.message if reports else ""):
                    reports += 1
                    on_progress(Progressed(self._task.id, reports, None, self._task.message))
                self._answer(deadline, answers)
        except BaseException as error:
            with suppress(MCPError):
                self._ask("tasks/cancel", Deadline(CANCEL_SECONDS))
            if isinstance(error, MCPError):
                raise outcome_unknown(error, self._tool) from None
            raise
        return self._task.result if self._task.status == "completed" else self._raise_failure()

    def _pause(self, deadline: Deadline) -> None:
        """Wait until the next poll; raises if the deadline has passed."""
        # The task is polled before the deadline, however long the poll interval of the server.
        deadline.sleep(min(self._task.poll_seconds, max(deadline.remaining() / 2, SHORTEST_POLL_SECONDS)))
        if deadline.expired:
            raise time_ran_out(self._server, deadline, f"the task of {self._tool!r}")

    def _answer(self, deadline: Deadline, answers: Answers) -> None:
        wanted = {key: request for key, request in self._task.requests.items() if key not in self._answered}
        if wanted:
            self._answered.update(wanted)
            self._ask("tasks/update", deadline, inputResponses=answers(wanted))

    def _ask(self, method: str, deadline: Deadline, **params: Any) -> dict[str, Any]:
        return self._conversation.request(method, {"taskId": self._task.id, **params}, deadline)

    def _read(self, described: dict[str, Any]) -> Task:
        task = read_task(described)
        if isinstance(task, str):
            raise outcome_unknown(RemoteProtocolError(self._server, task), self._tool)
        return task

    def _raise_failure(self) -> NoReturn:
        if self._task.status == "cancelled":
            raise outcome_unknown(CancelledError(self._server, f"the task of {self._tool!r}"), self._tool)
        raise PeerError(self._server, f"tools/call {self._tool!r}", *self._task.error)
