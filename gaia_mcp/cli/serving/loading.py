"""Loads, opens and watches a target of `gaia mcp serve`, for any transport."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.output import Form, remark
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from gaia_mcp.server.http.gateway_marks import GatewayMarks
    from gaia_mcp.server.provider import Provider

# Python's default thresholds for garbage collection.
COLLECTION = (700, 10, 10)


class Loaded(NamedTuple):
    """A provider, and its limit for concurrent calls; None if no limit is set. `executing` is the provider for A2A
    clients, if there is one; `marks` identify a gateway.
    """

    provider: Provider
    limit: int | None
    executing: Provider | None = None
    marks: GatewayMarks | None = None


def load_provider(
    target: str, order: Mapping[str, Any], keywords: dict[str, Any], *, max_calls: int | None, reload: bool
) -> Loaded:
    """The provider of an agent or of handlers, configured by `order`.

    Raises `AgentError`, `HandlerError`, and `UsageError` for options that do not apply to the target.
    """
    from gaia_mcp.cli.entries.targets import is_handler

    if Form.debug:
        import logging

        # The built-in agents log their tracebacks only at this level.
        logging.getLogger("gaia_mcp").setLevel(logging.DEBUG)
    provider: Provider
    if is_handler(target, order):
        from gaia_mcp.cli.serving.handlers import handlers_provider

        if reload:
            raise UsageError("--reload is for an agent", hint="leave it out, and start it again")
        provider = handlers_provider(target, {**order, "settings": keywords})
        limit = max_calls
    else:
        from gaia_mcp.cli.serving.agents import agent_provider, open_agent, own_limit, sound_agent, watch_agent

        agent = sound_agent(target, keywords)
        limit = max_calls or own_limit(target, agent)
        provider = served = agent_provider(target, agent, lambda text: remark(f"{target}: {text}"), list_changes=reload)
        open_agent(target, served)
        if (max_bytes := order.get("max_result_bytes")) is not None:
            from gaia_mcp.manager.adapters import CappedProvider

            provider = CappedProvider(served, max_bytes)
        if reload:
            watch_agent(target, keywords, served)
    # The server may run for weeks, so garbage is collected as often as in any program, without scanning the loaded
    # modules.
    gc.freeze()
    gc.set_threshold(*COLLECTION)
    return Loaded(provider, limit)
