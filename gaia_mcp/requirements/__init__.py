"""Whether a server does what the specification requires, as far as that can be seen from outside.

Each requirement has a number, under which the tests of this program cite it as well. `judged` asks a server everything
that one revision requires, on connections of its own: `handshake` and `stateless` ask in the two eras, `over_http` what
only HTTP shows. `listed` has them all, `conversation` is such a connection, which also judges every message that
arrives, and `shapes` knows what messages look like. What the specification does not require, and language models need,
is judged in `for_models`.

Nothing is called, and nothing read but the first resource and the first prompt without arguments: whatever is asked is
safe by the protocol.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gaia_mcp.protocol import has_sessions
from gaia_mcp.requirements import handshake, over_http, stateless
from gaia_mcp.requirements.conversation import Conversation
from gaia_mcp.requirements.listed import Judgement, SilentError

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline

# What a server is asked here takes it no time.
ANSWER_SECONDS = 10.0


def judged(
    entry: ServerEntry, revision: str, seconds: float = ANSWER_SECONDS, deadline: Deadline | None = None
) -> Judgement:
    """What the server of `entry` does in `revision`, which it supports; each request has so many `seconds`, and all
    have to end at the `deadline`.

    Raises `MCPError` if it cannot be connected, `DeadlineError` at the deadline. What a server that ends or falls
    silent later would have done is not tested; that it has is a break of B-2.
    """
    judgement = Judgement()
    era = handshake if has_sessions(revision) else stateless
    for ask in (era.ask, era.ask_first):
        with Conversation(entry, revision, judgement, seconds, deadline) as conversation, suppress(SilentError):
            ask(conversation)
    if entry.is_remote:
        over_http.ask(entry, revision, judgement, seconds)
    return judgement
