"""A client for the tests of an agent: the real one, over memory, in either era, with answers to the agent's requests.

    from gaia_mcp.testing import client_for

    def test_a_note_is_added() -> None:
        with client_for(Notes()) as client:
            assert client.call("add", {"text": "buy milk"})["structuredContent"] == {"result": 1}

No process is started, and nothing is mocked: arguments and results are validated, and exceptions of the agent become
the errors that a client of its server would see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.protocol import ALL_VERSIONS, NEWEST
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import encode_outgoing

if TYPE_CHECKING:
    from gaia_mcp.client.host import Roots
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.provider import Provider

Wire = dict[str, Any]

# Shorter than the default: a test should fail early.
TIMEOUT_SECONDS = 10.0


class Answers:
    """The user's answers to elicitations, in order; `asked` are the `params` of the requests.

    An answer is the content of a form (a dict), "accept" (for a URL, or an empty form), "decline" or "cancel". Raises
    `LookupError` for a request without an answer.
    """

    def __init__(self, answers: Iterable[Wire | str]) -> None:
        self.asked: list[Wire] = []
        self._answers = list(answers)

    def __call__(self, params: Wire) -> Wire:
        self.asked.append(params)
        if len(self.asked) > len(self._answers):
            raise LookupError(f"there is no answer to {params.get('message')!r}")
        answer = self._answers[len(self.asked) - 1]
        if isinstance(answer, dict):
            return {"action": "accept", "content": answer}
        return {"action": answer, "content": {}} if answer == "accept" and "url" not in params else {"action": answer}


def client_for(
    agent: Any,
    *,
    revision: str = NEWEST,
    answers: Answers | Sequence[Wire | str] = (),
    roots: Roots = (),
    sample: str | Callable[[Wire], Wire] | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> MCPClient:
    """A client of `agent`, which connects as a context manager.

    `agent` is an object as for `serve`, or a provider. `revision` is the one that both agree on: "2025-11-25" is the
    newest of the handshake era. `answers` are the user's answers; pass an `Answers` to inspect the requests. `sample`
    is the model's answer, a text or a function from the request's `params` to a result; without it the client declares
    no sampling. `timeout` is in seconds, for each request. Raises `ValueError` for an unknown revision.
    """
    if revision not in ALL_VERSIONS:
        raise ValueError(f"there is no revision {revision!r}; there are {', '.join(ALL_VERSIONS)}")
    host = Host(
        elicit=answers if isinstance(answers, Answers) else Answers(answers),
        roots=roots,
        sample=_saying(sample) if isinstance(sample, str) else sample,
    )
    provider = agent if hasattr(agent, "answer") and hasattr(agent, "describe") else AgentProvider(agent)
    transport = ChannelTransport(lambda: _AgentChannel(provider), timeout=timeout)
    return MCPClient(type(agent).__name__, transport, timeout=timeout, host=host, revision=revision)


def _saying(text: str) -> Callable[[Wire], Wire]:
    content = {"type": "text", "text": text}
    return lambda _: {"role": "assistant", "content": content, "model": "scripted", "stopReason": "endTurn"}


class _AgentChannel(MemoryChannel):
    """A channel to a provider, whose calls run in a thread each."""

    def __init__(self, provider: Provider) -> None:
        super().__init__("agent", self._take)
        self._provider = provider
        if isinstance(provider, AgentProvider):
            provider.open()
        self._calls = Calls(ServerConnection(provider.describe()), provider, self._return)

    def close(self, grace_seconds: float | None) -> None:
        super().close(grace_seconds)
        self._calls.close()
        self._provider.close()

    def _take(self, record: bytes) -> None:
        for job in self._calls.receive(record):
            threading.Thread(target=self._calls.run, args=(job,), name="call", daemon=True).start()

    def _return(self, outgoing: Outgoing) -> None:
        if self.is_running():
            self.arrive(encode_outgoing(outgoing.message).rstrip())
