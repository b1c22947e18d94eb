"""The host: the application behind a client, which answers the server's requests and receives its log.

Servers ask for three things: an answer from the person (elicitation), the folders being worked in (roots), a model's
words (sampling). What a host cannot give it does not declare, and refuses when asked all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaia_mcp.safetext import one_line

# Takes the question's `params`, gives `{"action": "accept" | "decline" | "cancel", "content"?: {…}}`.
Elicit = Callable[[dict[str, Any]], dict[str, Any]]
# Takes the `params` of `sampling/createMessage`, gives `{"role", "content", "model", "stopReason"?}`.
Sample = Callable[[dict[str, Any]], dict[str, Any]]
Roots = Sequence[dict[str, str]] | Callable[[], Sequence[dict[str, str]]]
OnLog = Callable[[str, str, Any], None]

# What a person is kept waiting for is theirs alone to say; a list of folders is not.
ASKS_A_PERSON = frozenset({"elicitation/create", "sampling/createMessage"})

# A client must refuse these in a sampling request where it does not declare `sampling.tools`.
_OF_TOOLS = ("tools", "toolChoice")

STRAYS_KEPT = 1000
# For one of them and for several.
_STRAYS = ("line to stdout that is not MCP", "lines to stdout that are not MCP")
_BREACHES = ("message that breaks the rules of MCP", "messages that break the rules of MCP")


class UnsupportedError(Exception):
    """The server asked for something that this host did not declare."""


class UndeclaredError(UnsupportedError):
    """The server asked for something that was declared, with a member that was not."""


class DeclinedError(Exception):
    """Raised by a host's `sample` when the person does not want the model to be asked."""


class Host:
    """Answers servers. `roots` are folders as `{"uri": "file:///…", "name"?: …}`, or what returns them when asked;
    `sample` asks a language model, and is declared to servers only where it is given (specification, client features).

    Without `elicit` every question to a person is declined: that is a proper answer, and servers go on from there. A
    question about a URL that has to be opened before a request can succeed has "gaia-mcp/first" in its `_meta`. An
    `elicit` or `sample` that raises `UnansweredError` ends the requests to this server that are open.

    What a server wrote beside the protocol is kept: `strays` are lines that are not messages, `breaches` what was wrong
    with messages.
    """

    def __init__(
        self,
        *,
        elicit: Elicit | None = None,
        roots: Roots = (),
        sample: Sample | None = None,
        on_log: OnLog | None = None,
    ) -> None:
        self._elicit = elicit
        self._roots = roots
        self._sample = sample
        self._on_log = on_log
        self.strays: list[str] = []
        self.breaches: list[str] = []

    def capabilities(self) -> dict[str, Any]:
        """What is declared to every server, person or no person: what it offers must not depend on that."""
        declared: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
        return declared if self._sample is None else {**declared, "sampling": {}}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result for a server's question.

        Raises `UnsupportedError` for anything that was not declared, `DeclinedError`, `TypeError` for an answer that is
        no dict, and what the host's code does.
        """
        if method == "elicitation/create":
            return _dict(self._elicit(params)) if self._elicit is not None else {"action": "decline"}
        if method == "roots/list":
            return {"roots": list(self._roots() if callable(self._roots) else self._roots)}
        if method == "sampling/createMessage" and self._sample is not None:
            if any(member in params for member in _OF_TOOLS) and "tools" not in self.capabilities()["sampling"]:
                raise UndeclaredError(f"{method} with tools")
            return _dict(self._sample(params))
        raise UnsupportedError(method)

    def answers_at_once(self, method: str) -> bool:
        """Whether `answer` runs no code but ours for this method, and so waits for nothing."""
        if type(self).answer is not Host.answer:
            return False
        if method == "roots/list":
            return isinstance(self._roots, (list, tuple))
        return {"elicitation/create": self._elicit, "sampling/createMessage": self._sample}.get(method) is None

    def logged(self, level: str, logger: str, data: Any) -> None:
        """A log message from the server."""
        if self._on_log is not None:
            self._on_log(level, logger, data)

    def strayed(self, problem: str, excerpt: str) -> None:
        """The server wrote something to its protocol stream that does not belong there: a line that begins with
        `excerpt`, or a message, with an excerpt that says so or none.
        """
        is_message = not excerpt or '"jsonrpc"' in excerpt
        kept = self.breaches if is_message else self.strays
        # A server that floods its stdout must not fill our memory too.
        if len(kept) < STRAYS_KEPT:
            kept.append((not is_message and one_line(excerpt)) or one_line(problem))

    def forget_strays(self) -> None:
        """The server is started once more, and writes again what it has written."""
        self.strays.clear()
        self.breaches.clear()

    def noise(self) -> str:
        """What strayed, in words for an error or a remark; empty if nothing did."""
        told = [_counted(self.strays, *_STRAYS), _counted(self.breaches, *_BREACHES)]
        return ", and ".join(filter(None, told))


def _dict(answer: Any) -> dict[str, Any]:
    # No server could read anything else.
    if not isinstance(answer, dict):
        raise TypeError(f"the host answered a server with {type(answer).__name__}, not with a dict")
    return answer


def _counted(kept: list[str], one: str, several: str) -> str:
    if not kept:
        return ""
    if len(kept) == 1:
        return f"1 {one}: {kept[0]!r}"
    more = " or more" if len(kept) == STRAYS_KEPT else ""
    return f"{len(kept)}{more} {several}, the first: {kept[0]!r}"
