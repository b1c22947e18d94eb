"""The provider that an app serves at one endpoint, and the state that all its calls share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call
from gaia_mcp.protocol.headers import AnnotationError, Parameter, annotated_parameters, parameter_problem
from gaia_mcp.protocol.jsonrpc import HEADER_MISMATCH
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.http.received import Unfinished, overloaded
from gaia_mcp.server.http.sharing import Everything, FanOut
from gaia_mcp.server.outcomes import Job, OnFailure, note_failure, raised

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gaia_mcp.asking.sealing import Sealer
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.protocol.server import Description, ServerConnection
    from gaia_mcp.server.http.workers import Limits, Share, Workers
    from gaia_mcp.server.provider import Change, Listener, Provider
    from gaia_mcp.server.running_call import RunningCall
    from gaia_mcp.server.tasks import Tasks
    from gaia_mcp.store import Store


class Served:
    """Wraps a provider and is a provider itself, with a cached description. `shown` wraps this object once more, for
    the calls of clients.
    """

    def __init__(
        self,
        provider: Provider,
        workers: Workers,
        limits: Limits,
        sealer: Sealer,
        tasks: Tasks,
        on_failure: OnFailure = note_failure,
        shown: Callable[[Provider], Provider] = lambda provider: provider,
        store: Store | None = None,
        path: str = "",
    ) -> None:
        self._provider = provider
        self._shown = shown(self)
        self.workers = workers
        self.limits = limits
        self._sealer = sealer
        self._tasks = tasks
        self.on_failure = on_failure
        self.unfinished = Unfinished()
        self._reading = threading.Lock()
        # The tools' parameters that are repeated in headers; None until they are read after a change.
        self._parameters: dict[str, tuple[Parameter, ...]] | None = None
        self._changes = 0
        self._description = provider.describe()
        # Subscribed before any call, so that calls see the new description. Changes are also sent to other workers.
        self._fan_out = None if store is None or not store.is_shared else FanOut(store, path, self._change)
        self._stop = provider.on_change(self._change_here, Everything() if self._fan_out else ())

    def describe(self) -> Description:
        """The provider's description, as of its last change."""
        return self._description

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The provider's answer."""
        return self._provider.answer(method, params, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` for the provider's changes, here and in other workers."""
        if self._fan_out is None:
            return self._provider.on_change(listener, wanted)
        # The fan-out first, so that the provider knows which resources are wanted.
        ends = [self._fan_out.add(listener, wanted), self._provider.on_change(listener, wanted)]

        def end() -> None:
            for each in reversed(ends):
                each()

        return end

    def open(self) -> None:
        """Subscribe to the changes in other workers. Raises `StoreError`."""
        if self._fan_out is not None:
            self._fan_out.open()

    def calls(
        self,
        connection: ServerConnection,
        send: Callable[[Outgoing], None],
        pace: Callable[[RunningCall], None],
        waiting: Callable[[RunningCall], AbstractContextManager[None]],
        close_stream: Callable[[RunningCall], None] = lambda _: None,
        *,
        follows: bool = True,
    ) -> Calls:
        """The calls of a connection, which the caller must close. The other parameters are those of `Calls`."""
        return Calls(
            connection,
            self._shown,
            send,
            self.on_failure,
            self._sealer,
            waiting=waiting,
            pace=pace,
            close_stream=close_stream,
            tasks=self._tasks,
            follows=follows,
        )

    def start(
        self, calls: Calls, job: Job, share: Share, size: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        """Run a job in a worker thread, after checking the headers that repeat its arguments. Its request takes about
        `size` bytes. A job whose call is cancelled while it waits does not run.

        Raises `RefusalError` if too many calls are waiting.
        """

        def run() -> None:
            forget()
            # Most providers have no such parameters.
            if headers and self._parameters != {} and (problem := self._header_problem(job, headers)) is not None:
                calls.refuse(job, problem, HEADER_MISMATCH)
            else:
                calls.run(job)

        # Otherwise the request would stay in memory until its turn.
        forget = job.call.on_cancel(lambda: self.workers.withdraw(run, share))
        if not self.workers.submit(run, share, size):
            forget()
            raise overloaded("too many calls are waiting already", job.request.id)

    def close(self) -> None:
        """Unsubscribe from the provider, but do not close it: that is its owner's task."""
        self._stop()
        if self._fan_out is not None:
            self._fan_out.close()

    def _header_problem(self, job: Job, headers: Mapping[str, str]) -> str | None:
        if job.request.method != "tools/call":
            return None
        name, arguments = job.request.params.get("name"), job.request.params.get("arguments")
        parameters = self._annotated().get(name) if isinstance(name, str) else None
        return parameter_problem(headers, parameters, arguments) if parameters else None

    def _annotated(self) -> dict[str, tuple[Parameter, ...]]:
        """The parameters that are repeated in headers, by tool name, only of tools that have any."""
        found = self._parameters
        if found is None:
            with self._reading:
                changes = self._changes
                found = {name: parameters for name, parameters in self._read_parameters() if parameters}
                if changes == self._changes:
                    self._parameters = found
        return found

    def _read_parameters(self) -> list[tuple[str, tuple[Parameter, ...]]]:
        found: list[tuple[str, tuple[Parameter, ...]]] = []
        params: dict[str, Any] = {}
        while True:
            try:
                page = self._provider.answer("tools/list", params, Call())
            except Exception:  # noqa: BLE001 (an agent's own code: the client gets the error when it requests the list)
                return found
            for tool in page["tools"]:
                try:
                    found.append((str(tool["name"]), annotated_parameters(tool.get("inputSchema"))))
                except AnnotationError:
                    continue  # Clients exclude the tool.
            if page.get("nextCursor") is None:
                return found
            params = {"cursor": page["nextCursor"]}

    def _change_here(self, change: Change) -> None:
        self._change(change)
        if self._fan_out is not None:
            self._fan_out.send(change)

    def _change(self, change: Change) -> None:
        if change.lists or change.description:
            try:
                self._description = self._provider.describe()
            except (Exception, SystemExit) as error:  # noqa: BLE001 (an agent's own code: its previous description stays)
                self.on_failure(f"describing the server after a change raised {raised(error)}", error)
        if "tools" in change.lists:
            self._changes += 1
            self._parameters = None
