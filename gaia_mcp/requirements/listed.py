"""The requirements on servers, by their numbers, and what was seen of them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gaia_mcp.core.errors import MCPError
from gaia_mcp.text import one_line

# As much of a message is shown as is needed to recognize it.
MESSAGE_CHARS = 300


class Requirement(NamedTuple):
    """One requirement, in our words: its `level` is that of the specification, of which `page` has it."""

    number: str
    level: str
    text: str
    page: str

    @property
    def is_strict(self) -> bool:
        """Whether a server has to fulfil it, and not only should."""
        return self.level.startswith("MUST")

    @property
    def stated(self) -> str:
        """Its level and its text."""
        return f"{self.level}: {self.text}"

    @property
    def url(self) -> str:
        """The address of its page."""
        return f"https://modelcontextprotocol.io/specification/{self.page.partition(',')[0]}"


_LISTED = (
    ("B-1", "MUST", ("Messages are JSON-RPC 2.0 in UTF-8; the id of a request is a string or an integer, and of no "
     "other open request."), "2026-07-28/basic/index"),
    ("B-2", "MUST", ("A response repeats the id of its request exactly; it has a result or an error, whose code is an "
     "integer."), "2026-07-28/basic/index"),
    ("B-3", "MUST", "A notification has no id and is never answered.", "2026-07-28/basic/index"),
    ("B-4", "MUST", ("An input schema describes an object; the dialect is 2020-12 unless the schema names another; an "
     "unknown one is reported."), "2026-07-28/basic/index, 2026-07-28/server/tools"),
    ("B-6", "MUST", ("Cursors are opaque; only a missing cursor ends a list. Ours: an empty one is followed once, a "
     "repeated one ends the list."), "2026-07-28/server/utilities/pagination"),
    ("B-7", "MUST", "A progress token belongs to one active request; progress increases and stops with the response.",
     "2026-07-28/basic/patterns/progress"),
    ("B-9", "MUST", "A cancellation that comes too late, is unknown or is malformed does no harm.",
     "2026-07-28/basic/patterns/cancellation"),
    ("B-14", "MUST", "A message has the members, of the types, that the schema of its revision requires.",
     "2026-07-28/schema"),
    ("IO-2", "MUST NOT",
     "Anything but messages is written to stdout by a server, or to the server's stdin by a client.",
     "2026-07-28/basic/transports/stdio"),
    ("IO-6", "SHOULD", "A client closes stdin, waits, and then uses force; a server exits at the end of its input.",
     "2026-07-28/basic/transports/stdio"),
    ("LC-3", "MUST", "Only negotiated capabilities are used.", "2025-11-25/basic/lifecycle"),
    ("LC-4", "MUST", "A `ping` is answered promptly.", "2025-11-25/basic/utilities/ping"),
    ("LC-9", "MUST", "In 2025-03-26, and only there, an array of messages is accepted.", "2025-03-26/basic/index"),
    ("LS-1", "MUST", "`initialize` is answered in the proposed revision if it is supported, else in one that is.",
     "2025-11-25/basic/lifecycle"),
    ("LS-2", "SHOULD NOT", "A server sends requests other than `ping` before `notifications/initialized`.",
     "2025-11-25/basic/lifecycle"),
    ("LS-3", "MUST", ("What is not a request is answered with 202; GET is a stream or 405; an expired session is 404, "
     "a missing one 400."), "2025-11-25/basic/transports"),
    ("LS-4", "MUST", "An invalid `MCP-Protocol-Version` is 400; without one 2025-03-26 is assumed.",
     "2025-11-25/basic/transports"),
    ("LS-5", "MUST", "An invalid `Origin` is 403.", "2025-11-25/basic/transports"),
    ("LS-10", "SHOULD", "An unknown method, tool, prompt, resource or level is refused with the error of its kind.",
     "2025-11-25/server/tools, 2025-11-25/server/prompts, 2025-11-25/server/resources"),
    ("MS-1", "MUST", "`server/discover` is answered.", "2026-07-28/server/discover"),
    ("MS-2", "MUST", "A request that lacks a required key of `_meta` is refused with -32602.",
     "2026-07-28/basic/index"),
    ("MS-3", "MUST",
     "An unsupported revision is refused with -32022, which names the supported and the requested ones.",
     "2026-07-28/basic/versioning"),
    ("MS-5", "MUST", "Every result has a `resultType`, and should carry who the server is.", "2026-07-28/basic/index"),
    ("MS-6", "MUST NOT", "A request is understood by an earlier one, or by its connection.", "2026-07-28/basic/index"),
    ("MS-7", "MUST NOT", ("A server sends requests; it asks for input by the result of a request, and only of three "
     "methods."), "2026-07-28/basic/patterns/mrtr"),
    ("MS-8", "MUST", ("A result that requires input has input requests or a state, and asks for nothing that was not "
     "declared."), "2026-07-28/basic/patterns/mrtr"),
    ("MS-11", "MUST", ("A result that may be cached says for how long (not less than 0) and for whom, the same on "
     "every page."), "2026-07-28/server/utilities/caching"),
    ("MS-12", "MUST", "A list does not depend on the connection, and should keep its order.",
     "2026-07-28/server/tools"),
    ("MS-13", "MUST", ("A subscription is acknowledged first; what was opted into follows with its id; its result ends "
     "it."), "2026-07-28/basic/patterns/subscriptions"),
    ("MS-14", "MUST", ("Log messages are sent for a request that asks for them, from its level up; an unknown level is "
     "refused."), "2026-07-28/server/utilities/logging"),
    ("MS-15", "MUST", ("An unknown resource is the error -32602 and never an empty list of contents; an internal fault "
     "is -32603."), "2026-07-28/server/resources"),
    ("MS-17", "MUST NOT", "Reserved error codes, and -32002 and -32042 of earlier revisions, are sent.",
     "2026-07-28/basic/index"),
    ("MS-21", "SHOULD", "An unknown method is refused with -32601, an unknown tool or prompt with -32602.",
     "2026-07-28/server/tools, 2026-07-28/server/prompts"),
    ("HS-1", "MUST", ("One endpoint takes POST; an invalid `Origin` is 403; a local server listens on the loopback "
     "address."), "2026-07-28/basic/transports/streamable-http"),
    ("HS-2", "MUST", "A notification is answered with 202 or an error status.",
     "2026-07-28/basic/transports/streamable-http"),
    ("HS-3", "MUST", "A request is answered as JSON or as a stream of its own notifications and its response.",
     "2026-07-28/basic/transports/streamable-http"),
    ("HS-5", "MUST", "A header that is missing, malformed or different from the body is 400 with -32020.",
     "2026-07-28/basic/transports/streamable-http"),
    ("HS-6", "MUST", "An unsupported revision is 400 with -32022, an unknown method 404 with -32601.",
     "2026-07-28/basic/transports/streamable-http"),
    ("HS-7", "SHOULD", "GET and DELETE are 405; headers of sessions are ignored.",
     "2026-07-28/basic/transports/streamable-http"),
)  # fmt: skip
REQUIREMENTS = {number: Requirement(number, level, text, page) for number, level, text, page in _LISTED}


class Break(NamedTuple):
    """A message, or its absence, that does not fulfil a requirement. `is_minor`: only what the requirement recommends
    is not done, whatever its level.
    """

    detail: str
    message: str
    is_minor: bool


class Judgement:
    """What was seen of a server in one revision: the requirements that were put to the test, by their numbers, each
    with its breaks, which are none if it is fulfilled.
    """

    def __init__(self) -> None:
        self.seen: dict[str, list[Break]] = {}

    def hold(self, number: str, problem: str = "", message: Any = None, *, is_minor: bool = False) -> bool:
        """Note that a requirement was tested, with the `problem` that a `message` showed. Whether it was fulfilled."""
        if number not in REQUIREMENTS:
            raise KeyError(number)
        breaks = self.seen.setdefault(number, [])
        if problem and all(problem != one.detail for one in breaks):
            breaks.append(Break(problem, _shown(message), is_minor))
        return not problem


def _shown(message: Any) -> str:
    if message is None or isinstance(message, str):
        return one_line(message or "", MESSAGE_CHARS)
    return one_line(json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=str), MESSAGE_CHARS)


class SilentError(MCPError):
    """A server did not answer; what else would be asked of it is not."""
