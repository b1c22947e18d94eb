"""Prints a server's notifications, one on each line, as they arrive: the queue from the thread that receives them, and
the watcher that empties it.
"""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.core.errors import DeadlineError, NotSupportedError, PeerError
from gaia_mcp.protocol.events import Logged, NotGranted, ResourceUpdated, SubscriptionEnded
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session
    from gaia_mcp.protocol.events import Change

# The lists that have change notifications.
LISTS = ("tools", "prompts", "resources")
# The interval at which the end of the server, of the reader and of the time is checked.
LOOK_SECONDS = 0.25
# A server that exits immediately must not be restarted without a pause.
RESTART_PAUSE_SECONDS = 1.0
# A server that sends log messages faster than they are printed must not fill our memory.
MAX_MESSAGES = 1000


class Watcher:
    """Subscribes to the changes of one server, and prints each change, log message and restart."""

    def __init__(
        self, screen: Screen, session: Session, notifications: Notifications, *, shows_text: bool, restarts: bool
    ) -> None:
        self._screen = screen
        self._session = session
        self._notifications = notifications
        self._shows_text = shows_text
        self._restarts = restarts
        # The items of each list, by kind, when it was last requested.
        self._lists: dict[str, dict[str, Any]] = {}
        # The lists for which the server declares `listChanged` but does not grant the subscription.
        self._not_granted: set[str] = set()

    def begin(self, uris: list[str], level: str) -> list[str]:
        """Subscribe to every list change that the server declares, and to `uris`. Returns what is watched, in words.

        Raises `NotSupportedError` for a server that has no notifications to watch.
        """
        session, capabilities = self._session, self._session.capabilities
        kinds = [
            kind for kind in LISTS if isinstance(capabilities.get(kind), dict) and capabilities[kind].get("listChanged")
        ]
        if not (kinds or uris or "logging" in capabilities):
            raise NotSupportedError(session.entry.name, "notifications")
        session.watch(self._notifications.changed)
        try:
            session.set_log_level(level)
        except PeerError as error:
            self._screen.remark(f"{error.message}; its log messages may be of other levels")
        self._lists = {kind: self._listed(kind) for kind in kinds}
        for uri in uris:
            session.subscribe(uri)
        return [*kinds, *uris, *(["log messages"] if "logging" in capabilities else [])]

    def run(self, deadline: Deadline | None) -> None:
        """Print notifications until stdout is closed or the time is over.

        Raises as a session's requests do when the connection is lost.
        """
        try:
            while self._screen.is_read() and not (deadline is not None and deadline.expired):
                seconds = LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline.remaining())
                notification = self._notifications.next(seconds)
                if notification is not None:
                    self._show(notification)
                elif not self._session.is_connected():
                    self._gone()
        except DeadlineError:
            if deadline is None or not deadline.expired:
                raise

    def _gone(self) -> None:
        if not self._restarts:
            self._session.check_alive(reconnects=False)  # Raises an error with the exit reason.
            return
        time.sleep(RESTART_PAUSE_SECONDS)
        self._session.open()
        self._print(time.time(), "restarted", "restarted", {})
        for kind in self._lists:
            self._show_list(kind, time.time(), only_if_different=True)

    def _show(self, notification: Notification) -> None:
        event, moment = notification
        if isinstance(event, Logged):
            text = event.data if isinstance(event.data, str) else json.dumps(event.data, ensure_ascii=False)
            facts = {"level": event.level, "logger": event.logger, "data": event.data}
            self._print(moment, "log", f"{event.level}: {f'{event.logger}: ' if event.logger else ''}{text}", facts)
        elif isinstance(event, NotGranted):
            self._not_granted.add(event.kind)
            name = self._session.entry.name
            self._screen.remark(f"server {name!r} declares listChanged for its {event.kind}, but does not send it")
        elif isinstance(event, SubscriptionEnded):
            self._print(moment, "subscription-ended", f"no longer subscribed to {event.uri}", {"uri": event.uri})
        elif isinstance(event, ResourceUpdated):
            self._show_resource(event.uri, moment)
        elif self._session.is_connected():
            # For a list without notifications, a re-read is printed only if the list has changed.
            self._show_list(event.kind, moment, only_if_different=event.kind in self._not_granted)

    def _show_list(self, kind: str, moment: float, *, only_if_different: bool = False) -> None:
        before, after = self._lists.get(kind, {}), self._listed(kind)
        self._lists[kind] = after
        changes = {
            "added": [name for name in after if name not in before],
            "removed": [name for name in before if name not in after],
            "changed": [name for name in after if name in before and after[name] != before[name]],
        }
        if only_if_different and not any(changes.values()):
            return
        signs = zip("+-~", changes.values(), strict=True)
        words = [f"{sign}{name}" for sign, names in signs for name in names]
        self._print(moment, "list-changed", f"{kind}: {' '.join(words) or 'as before'}", {"kind": kind, **changes})

    def _show_resource(self, uri: str, moment: float) -> None:
        facts = {"uri": uri}
        if not (self._shows_text and self._session.is_connected()):
            self._print(moment, "resource-updated", f"{uri} has changed", facts)
            return
        try:
            contents = self._session.read(uri)["contents"]
        except PeerError as error:
            self._screen.remark(error.message)  # The resource may have been removed again; watching continues.
            contents = []
        texts = [content["text"] for content in contents if isinstance(content.get("text"), str)]
        self._print(moment, "resource-updated", f"{uri} has changed", {**facts, "contents": contents})
        for text in () if self._screen.as_json else texts:
            self._screen.print_line(text.removesuffix("\n"))

    def _listed(self, kind: str) -> dict[str, Any]:
        session = self._session
        if kind == "tools":
            return {tool.name: tool.definition for tool in session.tools()}
        if kind == "prompts":
            return {prompt["name"]: prompt for prompt in session.prompts()}
        return {resource["uri"]: resource for resource in session.resources()}

    def _print(self, moment: float, event: str, text: str, facts: dict[str, Any]) -> None:
        when = datetime.fromtimestamp(moment, UTC)
        if self._screen.as_json:
            self._screen.print_event({"time": when.isoformat(timespec="milliseconds"), "event": event, **facts})
        else:
            self._screen.print_line(f"{when.astimezone():%H:%M:%S}  {one_line(text, 2000)}")


class Notification(NamedTuple):
    """A notification, and its time in seconds since 1970."""

    event: Change | Logged
    moment: float


class Notifications:
    """A thread-safe queue whose producers never wait. Equal changes are queued only once; log messages that exceed its
    limit are dropped, and counted in `dropped`.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[Notification] = SimpleQueue()
        self._lock = threading.Lock()
        # Keyed by type as well, because a list and a resource may have the same name.
        self._queued: set[tuple[type, Change]] = set()
        self.dropped = 0

    def changed(self, change: Change) -> None:
        """Queue a change."""
        with self._lock:
            if (type(change), change) not in self._queued:
                self._queued.add((type(change), change))
                self._queue.put(Notification(change, time.time()))

    def logged(self, level: str, logger: str, data: Any) -> None:
        """Queue a log message."""
        if self._queue.qsize() < MAX_MESSAGES:
            self._queue.put(Notification(Logged(level, logger, data), time.time()))
        else:
            self.dropped += 1

    def next(self, seconds: float) -> Notification | None:
        """The oldest notification; waits up to `seconds`. From then on an equal change is queued again."""
        try:
            notification = self._queue.get(timeout=seconds)
        except Empty:
            return None
        event = notification.event
        if not isinstance(event, Logged):
            with self._lock:
                self._queued.discard((type(event), event))
        return notification
