"""The tool loop: request a completion, run its tool calls, and repeat, until the model calls no tool.

The caller makes the requests, so any client of any API can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp.manager.completions import CalledTool, read_completion
from gaia_mcp.safetext import encodable

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPToolResult

Message = dict[str, Any]
Ask = Callable[[list[Message], list[dict[str, Any]] | None], Any]

# A model that has called tools ten times without an answer is usually in a loop.
MAX_ITERATIONS = 10


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
