"""What a scripted model does in a conversation: the reply of each turn, whichever API it is asked by.

A turn is counted by the tool results that the request carries, so that a request that is sent again, or one beside the
conversation, gets the reply that fits it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Where a text is to hold the result of the last tool.
RESULT = "{result}"


@dataclass(frozen=True)
class Text:
    """A text that ends the turn. `RESULT` in it is replaced by the result of the last tool."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a tool; `name` is the end of a name among the tools that the request offers."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """An error of the API, with a status of HTTP."""

    status: int
    message: str


@dataclass(frozen=True)
class Never:
    """No reply as long as the server runs."""


Reply = Text | Call | Failure | Never

# What each reply says that it took, in tokens.
INPUT_TOKENS, OUTPUT_TOKENS = 11, 7


def next_reply(script: tuple[Reply, ...], results: list[str]) -> Reply:
    """The reply to a conversation with these tool results, its text complete; the last one answers all that follow."""
    reply = script[min(len(results), len(script) - 1)]
    if isinstance(reply, Text) and RESULT in reply.text:
        return Text(reply.text.replace(RESULT, results[-1] if results else ""))
    return reply


def offered_name(name: str, offered: list[str]) -> str:
    """The offered tool whose name ends with `name`. Raises `LookupError`."""
    for each in offered:
        if each == name or each.endswith(("_" + name, "." + name)):
            return each
    raise LookupError(f"no tool {name!r} is offered, only {offered}")
