"""What is asked of a server of the stateless era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, LOG_LEVEL_KEY, SUBSCRIPTION_KEY, VERSION_KEY, meta_of
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, UNSUPPORTED_VERSION
from gaia_mcp.requirements.handshake import (
    UNKNOWN,
    UNKNOWN_REVISION,
    ignore_notifications,
    read_lists,
    refuse_unknown,
    use_features,
)
from gaia_mcp.text.strict_json import is_same

if TYPE_CHECKING:
    from gaia_mcp.requirements.conversation import Conversation

Wire = dict[str, Any]

# What may be subscribed to, by the capability that a server declares it with.
_KINDS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
# A server acknowledges a subscription at once.
ACKNOWLEDGED_SECONDS = 1.0
POLL_SECONDS = 0.02


def ask(conversation: Conversation, *, acknowledged_seconds: float = ACKNOWLEDGED_SECONDS) -> None:
    """Everything that begins with `server/discover`. Raises `SilentError`."""
    if not _discover(conversation):
        return
    found = read_lists(conversation)
    _ask_again(conversation)
    use_features(conversation, found, unknown_resource=("MS-15", (INVALID_PARAMS,)))
    _ask_wrongly(conversation)
    refuse_unknown(conversation, found, "MS-21")
    _subscribe(conversation, acknowledged_seconds)
    if conversation.has_one_stream:
        ignore_notifications(conversation)


def ask_first(conversation: Conversation) -> None:
    """A list, of a server that has not been asked anything before. Raises `SilentError`."""
    answer = conversation.request("tools/list")
    # A server without tools refuses it, whenever it is asked.
    first, later = answer, conversation.request("tools/list")
    problem = (
        "" if first.code == later.code else f"tools/list is answered with {first.shown} first, {later.shown} later"
    )
    conversation.judgement.hold("MS-6", problem, first.message)


def _discover(conversation: Conversation) -> bool:
    answer = conversation.request("server/discover")
    hold, result = conversation.judgement.hold, answer.result
    if result is None:
        hold("MS-1", f"server/discover is answered with {answer.shown}", answer.message)
        return False
    supported, capabilities = result.get("supportedVersions"), result.get("capabilities")
    names = isinstance(supported, list) and conversation.revision in supported
    hold("MS-1", "" if names else f"it supports {conversation.revision}, and does not name it", result)
    conversation.capabilities = capabilities if isinstance(capabilities, dict) else {}
    return True


def _ask_again(conversation: Conversation) -> None:
    """A list has the same order each time."""
    if "tools" in conversation.capabilities:
        once, again = (conversation.request("tools/list").result or {} for _ in range(2))
        problem = "" if is_same(_names(once), _names(again)) else "two answers to tools/list have another order"
        conversation.judgement.hold("MS-12", problem, again, is_minor=True)


def _names(result: Wire) -> list[Any]:
    tools = result.get("tools")
    return [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _ask_wrongly(conversation: Conversation) -> None:
    """Requests without a key of the envelope, of an unknown revision, and with an unknown level of messages."""
    hold = conversation.judgement.hold
    answer = conversation.request("server/discover", meta=conversation.envelope(**{CAPABILITIES_KEY: None}))
    problem = (
        "" if answer.code == INVALID_PARAMS else f"a request without {CAPABILITIES_KEY} is answered with {answer.shown}"
    )
    hold("MS-2", problem, answer.message)
    answer = conversation.request("server/discover", meta=conversation.envelope(**{VERSION_KEY: UNKNOWN_REVISION}))
    error = answer.message.get("error")
    data = error.get("data") if isinstance(error, dict) else None
    names = isinstance(data, dict) and isinstance(data.get("supported"), list) and "requested" in data
    if answer.code != UNSUPPORTED_VERSION:
        hold("MS-3", f"the revision {UNKNOWN_REVISION} is answered with {answer.shown}", answer.message)
    else:
        hold("MS-3", "" if names else "its data does not name the supported and the requested ones", answer.message)
    if "logging" in conversation.capabilities:
        answer = conversation.request("server/discover", meta=conversation.envelope(**{LOG_LEVEL_KEY: UNKNOWN}))
        problem = "" if answer.code == INVALID_PARAMS else f"an unknown level is answered with {answer.shown}"
        hold("MS-14", problem, answer.message, is_minor=True)


def _subscribe(conversation: Conversation, seconds: float) -> None:
    hold = conversation.judgement.hold
    kinds = {
        kind: True
        for capability, kind in _KINDS.items()
        if isinstance(declared := conversation.capabilities.get(capability), dict)
        and declared.get("listChanged") is True
    }
    if not kinds:
        return
    before = len(conversation.heard)
    request_id = conversation.listen(kinds)
    waited = 0.0
    while len(conversation.heard) == before and waited < seconds:
        conversation.lull(POLL_SECONDS)
        waited += POLL_SECONDS
    first = conversation.heard[before] if len(conversation.heard) > before else None
    if first is None:
        hold("MS-13", f"a subscription was not acknowledged within {seconds:g} s")
    elif first.get("method") != "notifications/subscriptions/acknowledged":
        hold("MS-13", "the first message of a subscription does not acknowledge it", first)
    else:
        params = first.get("params")
        named = meta_of(params).get(SUBSCRIPTION_KEY) if isinstance(params, dict) else None
        is_ours = named == request_id and type(named) is type(request_id)
        hold("MS-13", "" if is_ours else "an acknowledgement does not have the id of its subscription", first)
        granted = params.get("notifications") if isinstance(params, dict) else None
        more = set(granted) - set(kinds) if isinstance(granted, dict) else set()
        hold("MS-13", f"more is acknowledged than was asked for: {', '.join(sorted(more))}" if more else "", first)
    conversation.stop_listening(request_id)
