"""Requests to endpoints: a loop of completions and of calls of the registered tools, until the model answers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from gaia_mcp.agents.hub.calling import Caller
from gaia_mcp.agents.hub.drivers import endpoint
from gaia_mcp.agents.hub.entries import MAX_TIMEOUT_SECONDS, HubError, attended
from gaia_mcp.agents.hub.routing import MAX_RESULT_BYTES, Routes
from gaia_mcp.agents.hub.tool_server import RegisteredTools
from gaia_mcp.asking import Call, enter_call
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.handlers.base import MCPHandlerConfig, MCPRegistry
from gaia_mcp.manager.adapters import AgentHandler
from gaia_mcp.manager.handler_manager import MCPManager
from gaia_mcp.manager.tool_loop import run_tool_loop

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.drivers.base import Answer, Request
    from gaia_mcp.agents.hub.entries import Attendant, Endpoint
    from gaia_mcp.agents.hub.tool_server import Tools
    from gaia_mcp.deadline import Deadline


def complete(target: Endpoint, request: Request, tools: Tools, deadline: Deadline, attendant: Attendant) -> Answer:
    """The answer of an endpoint's model, which may call `tools`. Each completion is requested only once.

    Raises `HubError`, `EndpointError`, `UnreadableOutputError`, `CompletionError`, `DeadlineError`,
    `CallCancelledError`.
    """
    caller, url = Caller(target), endpoint.completions_url(target.url)
    # The call in which all tools run; it is cancelled with the request.
    calling = Call()
    model = request.model

    def ask(messages: list[dict[str, Any]], functions: list[dict[str, Any]] | None) -> dict[str, Any]:
        nonlocal model
        response = caller.request(url, endpoint.body(request, messages, functions), deadline)
        found = endpoint.completion(response.status, response.data)
        model = endpoint.model_of(found) or model
        return found

    routes = Routes(ConfigStore.locate(tools.config))
    registry = MCPRegistry()
    if tools.tools:
        agent = RegisteredTools(tools.agent, tools.tools, routes)
        # Each call has its server's timeout, and ends with the request; the handler needs no other limit.
        config = MCPHandlerConfig("tools", timeout=MAX_TIMEOUT_SECONDS, max_result_bytes=MAX_RESULT_BYTES)
        registry.register_builtin(AgentHandler(agent, config))

    def run() -> Answer:
        enter_call(calling)
        result = run_tool_loop(ask, endpoint.messages(request), manager)
        if not result.is_complete:
            raise HubError(f"agent {tools.agent!r} called tools {result.iterations} times, and gave no answer")
        return endpoint.answer(result.content, result.usage, model)

    def give_up() -> None:
        calling.cancel()
        caller.give_up()
        routes.close()

    with closing(routes), MCPManager(registry) as manager:
        return attended(run, attendant, give_up)
