"""The host: the application behind a client, which answers the server's requests and receives its log messages.

A host declares only the capabilities that it has, and rejects other requests. Also the input that a server requires
before a request can continue (input-required of the stateless era, URLs to open in 2025-11-25): the host is asked while
the deadline is paused. Knows no connection.

Servers send three kinds of requests: for input of the user (elicitation), for the working folders (roots), for output
of a language model (sampling). A host declares only the capabilities that it has, and rejects other requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.errors import CancelledError, PeerError, RemoteProtocolError
from gaia_mcp.protocol.connection import EXCERPT_CHARS
from gaia_mcp.protocol.input_required import FIRST, required_urls
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline

# Takes the `params` of `elicitation/create`, returns `{"action": "accept" | "decline" | "cancel", "content"?: {…}}`.
Elicit = Callable[[dict[str, Any]], dict[str, Any]]
# Takes the `params` of `sampling/createMessage`, returns `{"role", "content", "model", "stopReason"?}`.
Sample = Callable[[dict[str, Any]], dict[str, Any]]
Roots = Sequence[dict[str, str]] | Callable[[], Sequence[dict[str, str]]]
OnLog = Callable[[str, str, Any], None]

# Requests that wait for a person, so that no deadline applies; a list of folders does not.
ASKS_A_PERSON = frozenset({"elicitation/create", "sampling/createMessage"})

# A client must reject these in a sampling request unless it declares `sampling.tools`.
_OF_TOOLS = ("tools", "toolChoice")

STRAYS_KEPT = 1000
# For one of them and for several.
_STRAYS = ("line{} that is not MCP", "lines{} that are not MCP")
_BREACHES = ("message that breaks the rules of MCP", "messages that break the rules of MCP")


class UnsupportedError(Exception):
    """The server sent a request whose capability this host did not declare."""


class UndeclaredError(UnsupportedError):
    """The server sent a request whose capability was declared, with a member that needs an undeclared one."""


class DeclinedError(Exception):
    """Raised by a host's `sample` when the user rejects the sampling request."""


class Host:
    """Answers the requests of servers. `roots` are folders as `{"uri": "file:///…", "name"?: …}`, or a function that
    returns them; `sample` calls a language model, and the capability is declared only if it is given (specification,
    client features).

    The functions may be called from several threads at once: a server may send several requests before the first is
    answered.

    Without `elicit` every elicitation is declined: that is a valid response, and servers continue. An elicitation of a
    URL that has to be opened before a request can succeed has "gaia-mcp/first" in its `_meta`. An `elicit` or `sample`
    that raises `UnansweredError` ends the open requests to this server.

    Output of a server that violates the protocol is recorded: `strays` are lines that are not messages, `breaches`
    problems of messages.
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
        """The capabilities declared to every server, whether or not there is a user: the server's tools must not depend
        on that.
        """
        declared: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
        return declared if self._sample is None else {**declared, "sampling": {}}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a server's request.

        Raises `UnsupportedError` for an undeclared capability, `DeclinedError`, `TypeError` for an answer that is not a
        dict, and whatever the host's code raises.
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
        """Whether `answer` calls no code of the application for this method, and so cannot block."""
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
        """The server wrote something invalid to its protocol stream: a line that begins with `excerpt`, or a message,
        whose excerpt is recognisable as one or empty.
        """
        is_message = not excerpt or '"jsonrpc"' in excerpt
        kept = self.breaches if is_message else self.strays
        # A server that floods its stdout must not fill our memory too.
        if len(kept) < STRAYS_KEPT:
            kept.append((not is_message and one_line(excerpt, EXCERPT_CHARS)) or one_line(problem))

    def forget_strays(self) -> None:
        """Forget the strays, since the server is started again and will repeat them."""
        self.strays.clear()
        self.breaches.clear()

    def noise(self, output: str = "") -> str:
        """A description of the strays for an error or a remark; empty if there are none. `output` is where the server
        wrote them, such as `stdout`; empty for the responses of a remote server.
        """
        where = f" to {output}" if output else ""
        told = [_counted(self.strays, *(each.format(where) for each in _STRAYS)), _counted(self.breaches, *_BREACHES)]
        return ", and ".join(filter(None, told))


def _dict(answer: Any) -> dict[str, Any]:
    # A result must be an object.
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


def answers(server: str, host: Host, questions: dict[str, dict[str, Any]], deadline: Deadline) -> dict[str, Any]:
    """The host's answers by the keys of `questions`, each of which has a `method` and perhaps `params`.

    Raises `RemoteProtocolError` for a question whose capability the host did not declare, `CancelledError` if the user
    rejects a sampling request.
    """
    found: dict[str, Any] = {}
    deadline.hold()
    try:
        for key, question in questions.items():
            found[key] = host.answer(question["method"], question.get("params", {}))
    except UnsupportedError as unsupported:
        raise RemoteProtocolError(server, f"asked for {unsupported}, which this client did not declare") from None
    except DeclinedError as declined:
        # The server cannot be notified, and does not wait.
        raise CancelledError(server, str(declined) or "what the server wanted to know") from None
    finally:
        deadline.release()
    return found


def are_opened(host: Host, error: PeerError, deadline: Deadline) -> bool:
    """Whether the user has opened every URL that `error` requires; False also if it requires none. After the first one
    that the user declines, the rest are skipped.
    """
    urls = required_urls(error.code, error.data)
    deadline.hold()
    try:
        return bool(urls) and all(
            host.answer("elicitation/create", {**each, "mode": "url", "_meta": {FIRST: True}}).get("action") == "accept"
            for each in urls
        )
    finally:
        deadline.release()
