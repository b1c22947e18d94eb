"""The tool loop: request a completion, run its tool calls, and repeat, until the model calls no tool.

The caller makes the requests, so any client of any API can be used. Completions in OpenAI's format are read
defensively: the model, or the server that runs it, may be broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp.core.errors import CompletionError
from gaia_mcp.text import encodable, one_line
from gaia_mcp.text.strict_json import parse_json

if TYPE_CHECKING:
    from gaia_mcp.contrib.handlers.base import MCPToolResult

Message = dict[str, Any]
Ask = Callable[[list[Message], list[dict[str, Any]] | None], Any]

# A model that has called tools ten times without an answer is usually in a loop.
MAX_ITERATIONS = 10
# Several times the longest answer of any model. Each further request would repeat it.
MAX_ARGUMENTS_CHARS = 4_000_000
# OpenAI's rule for the name of a function, which it also applies to the names that a conversation repeats.
MAX_NAME_CHARS = 64
# Names of tools are not longer.
MAX_TOOL_CHARS = 256
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class ToolManager(Protocol):
    """The methods of an `MCPManager` or `MCPClientManager` that the loop needs."""

    def get_tools_as_openai_schema(self, stage: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
        """The tools of this scope, as functions of OpenAI's API."""
        ...

    def call_tool(
        self, tool_name: str, arguments: dict[str, Any], *, stage: str | None = None, agent: str | None = None
    ) -> MCPToolResult:
        """Call a tool of this scope by the name of its function."""
        ...


@dataclass(frozen=True)
class ToolLoopResult:
    """The result of a loop.

    `content` is the last text of the model. `messages` is the whole conversation, which can be continued. `usage` is
    the sum over all requests. `iterations` is how often tools were called. `tool_calls` is empty, unless the limit was
    reached: then it has the model's last calls, which were not run, and are not in `messages`.
    """

    content: str
    messages: list[Message]
    usage: dict[str, Any]
    iterations: int
    finish_reason: str
    tool_calls: list[dict[str, Any]]

    @property
    def is_complete(self) -> bool:
        """Whether the model finished before the limit."""
        return not self.tool_calls


def run_tool_loop(
    ask: Ask,
    messages: Iterable[Mapping[str, Any]],
    manager: ToolManager,
    *,
    stage: str | None = None,
    agent: str | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> ToolLoopResult:
    """Query a model and run its tool calls, up to `max_iterations` times; `messages` is not modified.

    `ask(messages, tools)` returns a chat completion: the object of the package `openai`, or the same as a dict. `tools`
    are the functions of this `stage` and `agent`, None if there are none. The calls of one answer are run in order. The
    result of a failed tool is `Error: …`, as for arguments that are not a JSON object: then the tool is not called.

    Raises `CompletionError` for an invalid completion, `ValueError` for a negative `max_iterations`, and what `ask`
    raises.
    """
    if max_iterations < 0:
        raise ValueError(f"max_iterations is {max_iterations}, and cannot be negative")
    conversation: list[Message] = [dict(message) for message in messages]
    usage: dict[str, Any] = {}
    iterations = 0
    while True:
        # Each time: the circuit breaker of a handler may have opened since.
        tools = manager.get_tools_as_openai_schema(stage=stage, agent=agent)
        completion = read_completion(ask(list(conversation), tools or None))
        _add(usage, completion.usage)
        is_over = iterations == max_iterations
        if is_over or not completion.calls:
            left = [call.wire for call in completion.calls]
            if not left:
                conversation.append(completion.message)
            return ToolLoopResult(completion.content, conversation, usage, iterations, completion.finish_reason, left)
        iterations += 1
        conversation.append(completion.message)
        for call in completion.calls:
            content = _answer(call, manager, stage, agent)
            conversation.append({"role": "tool", "tool_call_id": call.id, "content": content})


def _answer(call: CalledTool, manager: ToolManager, stage: str | None, agent: str | None) -> str:
    if call.arguments is None:
        return f"Error: {encodable(call.problem)}"
    result = manager.call_tool(call.name, call.arguments, stage=stage, agent=agent)
    if result.is_error:
        return encodable(f"Error: {result.error_message or result.content or 'the tool failed'}")
    return encodable(result.content)


def _add(total: dict[str, Any], usage: Mapping[str, Any]) -> None:
    """Add the counts of one request, including nested ones such as `prompt_tokens_details`."""
    for name, count in usage.items():
        held = total.get(name)
        if isinstance(count, Mapping) and isinstance(held, dict | None):
            _add(total.setdefault(name, {}), count)
        elif isinstance(count, int | float) and not isinstance(count, bool) and isinstance(held, int | float | None):
            total[name] = (held or 0) + count


@dataclass(frozen=True)
class CalledTool:
    """A tool call of the model. `arguments` are None if they are invalid, and `problem` is the reason.

    `wire` is the call as it is repeated in the conversation.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    problem: str
    wire: dict[str, Any]


@dataclass(frozen=True)
class Completion:
    """The model's answer: a text, tool calls, or both."""

    content: str
    calls: list[CalledTool] = field(default_factory=list)
    finish_reason: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> dict[str, Any]:
        """The model's message, as it is repeated in the conversation."""
        if not self.calls:
            return {"role": "assistant", "content": self.content}
        # Some servers reject an empty text beside calls; all accept null.
        return {"role": "assistant", "content": self.content or None, "tool_calls": [call.wire for call in self.calls]}


def read_completion(completion: Any) -> Completion:
    """The completion in an object of the package `openai`, or in the same as a dict. Raises `CompletionError`."""
    held = _as_mapping(completion)
    choices = held.get("choices")
    if not isinstance(choices, list) or not choices:
        raise CompletionError(f"has no choices{_reason(held)}")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise CompletionError("has a choice without a message")
    # The text of a refusal is in another member.
    content = next((message[key] for key in ("content", "refusal") if message.get(key) is not None), "")
    if not isinstance(content, str):
        raise CompletionError(f"has a content that is not a string, but {type(content).__name__}")
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise CompletionError(f"has tool calls that are not a list, but {type(calls).__name__}")
    finish_reason, usage = choice.get("finish_reason"), held.get("usage")
    return Completion(
        encodable(content),
        _read_calls(calls or []),
        finish_reason if isinstance(finish_reason, str) else "",
        usage if isinstance(usage, Mapping) else {},
    )


def _as_mapping(completion: Any) -> Mapping[str, Any]:
    if isinstance(completion, Mapping):
        return completion
    dump = getattr(completion, "model_dump", None)
    if dump is None:
        raise CompletionError(f"is {type(completion).__name__}, neither a ChatCompletion nor a dict")
    # As sent by the server, even where it differs from the package's types.
    dumped = dump(mode="json", exclude_unset=True, warnings=False)
    return dumped if isinstance(dumped, Mapping) else {}


def _reason(held: Mapping[str, Any]) -> str:
    """The message of a server that returns an error in the form of a completion."""
    error = held.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return f": {one_line(message)}" if isinstance(message, str) and message else ""


def _read_calls(calls: list[Any]) -> list[CalledTool]:
    taken: set[str] = set()
    return [_read_call(call, taken) for call in calls]


def _read_call(call: Any, taken: set[str]) -> CalledTool:
    """One call. It gets a new id if an earlier call of the same answer has `taken` its id."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise CompletionError("has a tool call without a function")
    name, given = function.get("name"), function.get("arguments")
    if not isinstance(name, str):
        raise CompletionError("has a tool call whose function has no name")
    identifier = call.get("id")
    if not isinstance(identifier, str):
        raise CompletionError(f"has a tool call without an id, to {one_line(name, MAX_NAME_CHARS)!r}")
    text, arguments, problem = _read_arguments(given)
    if len(name) > MAX_TOOL_CHARS:
        arguments, problem = None, f"no tool has a name of {len(name)} characters"
    identifier = _free(encodable(identifier), taken)
    taken.add(identifier)
    # The next request would be rejected if it repeated an invalid name, which no longer matters there.
    shown = _NOT_IN_A_NAME.sub("_", name[:MAX_NAME_CHARS]) or "_"
    # A server may expect its own members back, such as a signature of the reasoning behind a call.
    wire = {
        **call,
        "id": identifier,
        "type": "function",
        "function": {**function, "name": shown, "arguments": text},
    }
    return CalledTool(identifier, name, arguments, problem, wire)


def _free(identifier: str, taken: set[str]) -> str:
    """`identifier`, with a number if it is taken or empty: each tool result must match its own call."""
    number, free = 1, identifier
    while not free or free in taken:
        number += 1
        free = f"{identifier or 'call'}-{number}"
    return free


def _read_arguments(given: Any) -> tuple[str, dict[str, Any] | None, str]:
    """The arguments as text, as an object, and the problem if they are invalid. Some servers send the object itself."""
    if isinstance(given, Mapping):
        given = json.dumps(given)
    if not isinstance(given, str):
        return "{}", None, f"the arguments are not JSON text, but {type(given).__name__}"
    if len(given) > MAX_ARGUMENTS_CHARS:
        problem = f"the arguments have {len(given)} characters, more than the limit of {MAX_ARGUMENTS_CHARS}"
        return "{}", None, problem
    try:
        value = parse_json(given)
    except ValueError as cause:
        return encodable(given), None, f"the arguments are not JSON: {cause}"
    if not isinstance(value, dict):
        return encodable(given), None, "the arguments are not a JSON object"
    return encodable(given), value, ""
