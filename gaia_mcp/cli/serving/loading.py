"""What `gaia mcp serve` serves, over any transport: loaded, opened, and watched where that was asked for."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen.output import Form, remark
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from gaia_mcp.server.provider import Provider

# Python's own thresholds of garbage collection.
COLLECTION = (700, 10, 10)


class Loaded(NamedTuple):
    """A provider, and how many calls of it may run at once, None if nothing says so. `executing` is what clients of A2A
    get of it, if that is served, `mark` tells a gateway from others.
    """

    provider: Provider
    limit: int | None
    executing: Provider | None = None
    mark: str = ""


def load_provider(
    target: str, order: Mapping[str, Any], keywords: dict[str, Any], *, max_calls: int | None, reload: bool
) -> Loaded:
    """The provider of an agent or of handlers, configured as `order` tells.

    Raises `AgentError`, `HandlerError`, and `UsageError` for options that are not for what it is.
    """
    from gaia_mcp.cli.serving.kinds import is_handler

    if Form.debug:
        import logging

        # The built-in agents log their tracebacks at this level only.
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
            from gaia_mcp.manager.capped_provider import CappedProvider

            provider = CappedProvider(served, max_bytes)
        if reload:
            watch_agent(target, keywords, served)
    # It may run for weeks: what it makes is collected as often as in any other program, without looking through what
    # was loaded.
    gc.freeze()
    gc.set_threshold(*COLLECTION)
    return Loaded(provider, limit)
