"""`gaia mcp watch`: what a server announces, line by line."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.sources import log_levels, resource_uris
from gaia_mcp.cli.options import CONFIG, JSON, Invocation, ServerArgument, timeout_option
from gaia_mcp.cli.screen.output import Form, is_read, remark, say, say_event

if TYPE_CHECKING:
    from gaia_mcp.cli.calls.notifications import News, Newsroom
    from gaia_mcp.cli.servers.sessions import Session
    from gaia_mcp.deadline import Deadline

Uris = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[URI...]", help="Resources to be told of.", show_default=False, autocompletion=resource_uris
    ),
]
ReadOption = Annotated[bool, typer.Option("--read", help="Also print the new text of a resource that has changed.")]
LevelOption = Annotated[
    str,
    typer.Option(
        "--level",
        metavar="LEVEL",
        help="The server's log messages from this level upwards.",
        autocompletion=log_levels,
    ),
]
RestartOption = Annotated[bool, typer.Option("--restart", help="Start the server again when it has ended.")]

# What a server can announce changes of.
LISTS = ("tools", "prompts", "resources")
# How soon it is noticed that the server, the reader or the time has gone.
LOOK_SECONDS = 0.25
# A server that ends as soon as it is started must not keep the machine busy.
RESTART_PAUSE_SECONDS = 1.0

COMMON = (CONFIG, JSON, timeout_option("End after this time, with exit code 0. Default: never."))


def watch(
    invocation: Invocation,
    name: ServerArgument,
    uris: Uris = None,
    read: ReadOption = False,
    level: LevelOption = "info",
    restart: RestartOption = False,
) -> None:
    """Print what a server announces, as it comes.

    It is held open, and each line is a change: of its tools, prompts or resources, with the names that came and went;
    of the resources that are named; or a message for its log. Ends with Ctrl-C, with the server, or after --timeout.
    With --json each line is an object.

    Example: gaia mcp watch demo --timeout 60
    """
    from gaia_mcp.cli.calls.notifications import Newsroom
    from gaia_mcp.cli.screen.progress import Waiting
    from gaia_mcp.cli.servers.sessions import connected
    from gaia_mcp.cli.status import UsageError
    from gaia_mcp.protocol.envelope import LOG_LEVELS

    if level not in LOG_LEVELS:
        raise UsageError(f"there is no log level {level!r}", hint=f"use one of: {', '.join(LOG_LEVELS)}")
    entry = invocation.open_store().entry(name)
    news = Newsroom()
    whole = invocation.deadline()
    with (
        Waiting(f"starting {name}") as waiting,
        connected(entry, whole, on_log=news.logged, waiting=waiting) as session,
    ):
        watcher = _Watcher(session, news, shows_text=read, restarts=restart)
        watched = watcher.begin(uris or [], level)
        waiting.hide()
        remark(f"watching {', '.join(watched)} of {name!r}")
        watcher.run(whole)
    if news.dropped:
        remark(f"{news.dropped} log messages were left out: they came too fast")


class _Watcher:
    def __init__(self, session: Session, news: Newsroom, *, shows_text: bool, restarts: bool) -> None:
        self._session = session
        self._news = news
        self._shows_text = shows_text
        self._restarts = restarts
        # By kind, what was on each list when it was last asked for.
        self._lists: dict[str, dict[str, Any]] = {}

    def begin(self, uris: list[str], level: str) -> list[str]:
        """Ask to be told; what there is to be told of. Raises `NotOfferedError` if that is nothing at all."""
        from gaia_mcp.errors import NotOfferedError

        client = self._session.client
        offers = client.capabilities
        kinds = [kind for kind in LISTS if isinstance(offers.get(kind), dict) and offers[kind].get("listChanged")]
        if not (kinds or uris or "logging" in offers):
            raise NotOfferedError(self._session.entry.name, "notifications")
        self._session.on_list_changed = lambda kind: self._news.tell("list", kind)
        self._session.listen()
        client.on_resource_updated = lambda uri: self._news.tell("resource", uri)
        client.on_subscription_ended = lambda uri: self._news.tell("end", uri)
        client.set_log_level(level, self._session.deadline())
        self._lists = {kind: self._listed(kind) for kind in kinds}
        for uri in uris:
            client.subscribe_resource(uri, self._session.deadline())
        return [*kinds, *uris, *(["log messages"] if "logging" in offers else [])]

    def run(self, whole: Deadline | None) -> None:
        """Print what is announced until nobody reads it any more, or the time is over. Raises as a client's `open` does
        when the server has gone.
        """
        from gaia_mcp.errors import DeadlineError

        try:
            while is_read() and not (whole is not None and whole.expired):
                news = self._news.next(LOOK_SECONDS if whole is None else min(LOOK_SECONDS, whole.remaining()))
                if news is not None:
                    self._show(news)
                elif not self._session.client.is_connected():
                    self._gone()
        except DeadlineError:
            if whole is None or not whole.expired:
                raise

    def _gone(self) -> None:
        from gaia_mcp.client.transports.base import Conversation

        transport = self._session.client.transport
        if not self._restarts and isinstance(transport, Conversation):
            transport.check_alive(self._session.deadline())  # Says how it ended.
            return
        time.sleep(RESTART_PAUSE_SECONDS)
        self._session.client.open(self._session.start_deadline())
        _print(time.time(), "restarted", "restarted", {})
        for kind in self._lists:
            self._show_list(kind, time.time(), only_if_different=True)

    def _show(self, news: News) -> None:
        if news.what == "log":
            level, logger, data = news.about
            text = data if isinstance(data, str) else _json(data)
            facts = {"level": level, "logger": logger, "data": data}
            _print(news.moment, "log", f"{level}: {f'{logger}: ' if logger else ''}{text}", facts)
        elif news.what == "end":
            _print(news.moment, "subscription-ended", f"no longer told of {news.about}", {"uri": news.about})
        elif news.what == "resource":
            self._show_resource(news)
        elif self._session.client.is_connected():
            self._show_list(news.about, news.moment)

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
        _print(moment, "list-changed", f"{kind}: {' '.join(words) or 'as before'}", {"kind": kind, **changes})

    def _show_resource(self, news: News) -> None:
        facts = {"uri": news.about}
        if not (self._shows_text and self._session.client.is_connected()):
            _print(news.moment, "resource-updated", f"{news.about} has changed", facts)
            return
        from gaia_mcp.errors import PeerError

        try:
            contents = self._session.client.read_resource(news.about, self._session.deadline())["contents"]
        except PeerError as error:
            remark(error.message)  # It may have gone again; the next one is waited for all the same.
            contents = []
        texts = [content["text"] for content in contents if isinstance(content.get("text"), str)]
        _print(news.moment, "resource-updated", f"{news.about} has changed", {**facts, "contents": contents})
        for text in () if Form.as_json else texts:
            say(text.removesuffix("\n"))

    def _listed(self, kind: str) -> dict[str, Any]:
        """What is on a list, by name."""
        session = self._session
        if kind == "tools":
            return {tool.name: tool.definition for tool in session.fetch_tools()}
        if kind == "prompts":
            return {prompt["name"]: prompt for prompt in session.client.list_prompts(session.deadline())}
        return {resource["uri"]: resource for resource in session.client.list_resources(session.deadline())}


def _print(moment: float, event: str, text: str, facts: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from gaia_mcp.safetext import one_line

    when = datetime.fromtimestamp(moment, UTC)
    if Form.as_json:
        say_event({"time": when.isoformat(timespec="milliseconds"), "event": event, **facts})
    else:
        say(f"{when.astimezone():%H:%M:%S}  {one_line(text, 2000)}")


def _json(data: Any) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
