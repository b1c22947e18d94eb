"""What a stateless request carries in `params._meta`, written by clients and read by servers."""

from __future__ import annotations

from typing import Any

from gaia_mcp.protocol import STATELESS_VERSIONS
from gaia_mcp.protocol.events import RequestContext
from gaia_mcp.protocol.jsonrpc import is_id

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
# In the `_meta` of a gateway's lists: why servers are missing from the list, by server name.
UNAVAILABLE_KEY = "gaia-mcp/unavailable"
# In the `_meta` of a tool result that the gateway made itself, not the server: the kind of failure.
FAILURE_KEY = "gaia-mcp/failure"
# The names of extensions, as client and server declare them in their capabilities, and their methods.
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
TASK_METHODS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
SKILL_METHODS = frozenset({"skills/list", "skills/get", "resources/directory/read"})

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def with_meta(params: dict[str, Any] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """`params` with `meta` merged into its `_meta`."""
    if not params:
        return {"_meta": meta}
    own = params.get("_meta")
    return {**params, "_meta": {**own, **meta} if isinstance(own, dict) else meta}


def meta_of(params: dict[str, Any]) -> dict[str, Any]:
    """The `_meta` of `params`, empty if it has none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def has_envelope(params: dict[str, Any]) -> bool:
    """Whether a request is of the stateless era."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def read_context(params: dict[str, Any]) -> RequestContext | str:
    """The context of a stateless request, or what is wrong with its envelope."""
    meta = meta_of(params)
    version, capabilities, info = meta.get(VERSION_KEY), meta.get(CAPABILITIES_KEY), meta.get(INFO_KEY, {})
    level = meta.get(LOG_LEVEL_KEY)
    if not isinstance(version, str):
        return f"_meta[{VERSION_KEY!r}] must be a string"
    if not isinstance(capabilities, dict):
        return f"_meta[{CAPABILITIES_KEY!r}] must be an object"
    if not isinstance(info, dict):
        return f"_meta[{INFO_KEY!r}] must be an object"
    if level is not None and level not in LOG_LEVELS:
        return f"_meta[{LOG_LEVEL_KEY!r}] must be one of {', '.join(LOG_LEVELS)}"
    token = progress_token(meta) if "progressToken" in meta else None
    return RequestContext(version, info, capabilities, token, level)


def progress_token(meta: dict[str, Any]) -> int | str | None:
    """The token under which the client asks for progress, None if it does not."""
    token = meta.get("progressToken")
    return token if is_id(token) else None


def declares_tasks(context: RequestContext) -> bool:
    """Whether the client of a request has declared the tasks extension."""
    extensions = context.capabilities.get("extensions")
    return may_declare_tasks(context) and isinstance(extensions, dict) and TASKS_EXTENSION in extensions


def may_declare_tasks(context: RequestContext) -> bool:
    """Whether the client of a request could declare the tasks extension: no older revision has it."""
    return context.version in STATELESS_VERSIONS
