"""The host: whoever stands behind a client and can be asked by a server, or told something.

Servers ask for three things: an answer from the person (elicitation), the folders being worked in (roots), a model's
words (sampling). What a host cannot give it does not declare, and refuses when asked all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # Takes the question's `params`, gives `{"action": "accept" | "decline" | "cancel", "content"?: {…}}`.
    Elicit = Callable[[dict[str, Any]], dict[str, Any]]
    OnLog = Callable[[str, str, Any], None]

# What a person is kept waiting for is theirs alone to say; a list of folders is not.
ASKS_A_PERSON = frozenset({"elicitation/create"})

STRAYS_KEPT = 1000


class UnsupportedError(Exception):
    """The server asked for something that this host did not declare."""


class Host:
    """Answers servers. `roots` are folders as `{"uri": "file:///…", "name"?: …}`.

    Without `elicit` every question to a person is declined: that is a proper answer, and servers go on from there.
    """

    def __init__(
        self,
        *,
        elicit: Elicit | None = None,
        roots: Sequence[dict[str, str]] = (),
        on_log: OnLog | None = None,
    ) -> None:
        self._elicit = elicit
        self._roots = list(roots)
        self._on_log = on_log
        self.strays: list[str] = []
        self.list_changes: set[str] = set()

    def capabilities(self) -> dict[str, Any]:
        """What is declared to every server, person or no person: what it offers must not depend on that."""
        return {"elicitation": {"form": {}, "url": {}}, "roots": {}}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result for a server's question.

        Raises `UnsupportedError` for anything that was not declared.
        """
        if method == "elicitation/create":
            return self._elicit(params) if self._elicit is not None else {"action": "decline"}
        if method == "roots/list":
            return {"roots": self._roots}
        raise UnsupportedError(method)

    def logged(self, level: str, logger: str, data: Any) -> None:
        """A log message from the server."""
        if self._on_log is not None:
            self._on_log(level, logger, data)

    def list_changed(self, kind: str) -> None:
        """The server's "tools", "prompts" or "resources" are no longer what they were."""
        self.list_changes.add(kind)

    def strayed(self, problem: str, excerpt: str) -> None:
        """The server wrote something to its protocol stream that does not belong there."""
        # A server that floods its stdout must not fill our memory too.
        if len(self.strays) < STRAYS_KEPT:
            self.strays.append(one_line(excerpt) or problem)

    def noise(self) -> str:
        """What strayed, in words for an error or a remark; empty if nothing did."""
        if not self.strays:
            return ""
        count = len(self.strays)
        lines = "1 line" if count == 1 else f"{count} lines" if count < STRAYS_KEPT else f"{count} lines and more"
        return f"{lines} to stdout that are not MCP, the first: {self.strays[0]!r}"
