"""What is asked of a server of the handshake era."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.checking import check_schema
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.protocol import BATCH_VERSION, HANDSHAKE_VERSIONS
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.pagination import LISTS, MAX_PAGES
from gaia_mcp.requirements.conversation import CLIENT_INFO
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.requirements.conversation import Conversation

Wire = dict[str, Any]

# What no server has.
UNKNOWN = "gaia-mcp-no-such-thing"
UNKNOWN_URI = f"gaia-mcp:///{UNKNOWN}"
UNKNOWN_METHOD = f"{UNKNOWN}/method"
UNKNOWN_REVISION = "1999-12-31"
LISTS_OF = {
    "tools": ["tools/list"], "prompts": ["prompts/list"], "resources": ["resources/list", "resources/templates/list"],
}  # fmt: skip
# A list of many pages is long in all of them.
PAGES_READ = 20
SCHEMA_SECONDS = 0.5


def ask(conversation: Conversation) -> None:
    """Everything that begins with an ordinary handshake. Raises `SilentError`."""
    hold = conversation.judgement.hold
    revision = conversation.revision
    opened = _initialized(conversation, revision)
    if opened is None:
        return
    hold("LS-1", "" if opened.get("protocolVersion") == revision
         else f"it was asked for {revision}, and answers with {opened.get('protocolVersion')!r}", opened)  # fmt: skip
    # What it sends now is sent too early.
    conversation.lull()
    hold("LS-2")
    conversation.notify("notifications/initialized")
    conversation.is_initialized = True
    ping(conversation, "LC-4", "a ping")
    found = read_lists(conversation)
    use_features(conversation, found, unknown_resource=("LS-10", (RESOURCE_NOT_FOUND, INVALID_PARAMS)))
    if "logging" in conversation.capabilities:
        # The usual level of a program.
        _set_level(conversation)
    refuse_unknown(conversation, found, "LS-10")
    ignore_notifications(conversation)
    # Over HTTP an array is a body of its own.
    if revision == BATCH_VERSION and conversation.has_one_stream:
        batch: list[Wire] = [{"jsonrpc": "2.0", "id": conversation.new_id(), "method": "ping"} for _ in range(2)]
        is_answered = conversation.say_together(batch)
        # The next revision has taken them back, and most servers of this one do not read them.
        hold("LC-9", "" if is_answered else "an array of two requests was not answered", batch, is_minor=True)


def ask_first(conversation: Conversation) -> None:
    """What begins otherwise: a revision that does not exist. Raises `SilentError`."""
    params = {"protocolVersion": UNKNOWN_REVISION, "capabilities": {}, "clientInfo": CLIENT_INFO}
    answer = conversation.request("initialize", params)
    # An error is an answer, too: the specification shows one.
    named = answer.result.get("protocolVersion") if answer.result is not None else None
    is_known = answer.result is None or named in HANDSHAKE_VERSIONS
    problem = "" if is_known else f"it was asked for {UNKNOWN_REVISION}, and answers with {named!r}"
    conversation.judgement.hold("LS-1", problem, answer.message)


def _initialized(conversation: Conversation, revision: str) -> Wire | None:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}
    answer = conversation.request("initialize", params)
    if answer.result is None:
        conversation.judgement.hold("LS-1", f"initialize is answered with {answer.shown}", answer.message)
        return None
    capabilities = answer.result.get("capabilities")
    conversation.capabilities = capabilities if isinstance(capabilities, dict) else {}
    return answer.result


def ping(conversation: Conversation, number: str, what: str) -> None:
    """Send a ping, whose answer fulfils the requirement `number`."""
    answer = conversation.request("ping")
    problem = "" if answer.result is not None else f"{what} is answered with {answer.shown}"
    conversation.judgement.hold(number, problem, answer.message)


def _set_level(conversation: Conversation) -> None:
    answer = conversation.request("logging/setLevel", {"level": "info"})
    problem = (
        "" if answer.result is not None else f"it declares logging, and answers logging/setLevel with {answer.shown}"
    )
    conversation.judgement.hold("LC-3", problem, answer.message)
    answer = conversation.request("logging/setLevel", {"level": UNKNOWN})
    problem = "" if answer.code == INVALID_PARAMS else f"an unknown level is answered with {answer.shown}"
    conversation.judgement.hold("LS-10", problem, answer.message, is_minor=True)


# For both eras.


def read_lists(conversation: Conversation) -> dict[str, list[Wire]]:
    """The items of every list that the server declares and has, by the member of its results."""
    found: dict[str, list[Wire]] = {}
    for capability, methods in LISTS_OF.items():
        for method in methods if capability in conversation.capabilities else ():
            if (items := _read_list(conversation, capability, method)) is not None:
                found[LISTS[method]] = items
    for tool in found.get("tools", ()):
        _judge_schema(conversation, tool)
    return found


def _read_list(conversation: Conversation, capability: str, method: str) -> list[Wire] | None:
    """The items; None if it is refused."""
    hold = conversation.judgement.hold
    items: list[Wire] = []
    cursors: set[str] = set()
    params: Wire | None = None
    scopes = set()
    for _ in range(min(PAGES_READ, MAX_PAGES)):
        answer = conversation.request(method, params)
        result = answer.result
        problem = "" if result is not None else f"it declares {capability}, and answers {method} with {answer.shown}"
        hold("LC-3" if not conversation.is_stateless else "MS-1", problem, answer.message, is_minor=True)
        if result is None:
            return None
        listed = result.get(LISTS[method])
        items += [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        scopes.add(str(result.get("cacheScope")))
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            break
        hold("B-6", f"{method} sends the cursor {cursor!r} twice" if cursor in cursors else "", result)
        if cursor in cursors:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    if conversation.is_stateless:
        hold("MS-11", f"the pages of {method} have different scopes" if len(scopes) > 1 else "")
    return items


def _judge_schema(conversation: Conversation, tool: Wire) -> None:
    schema = tool.get("inputSchema")
    problem = ""
    try:
        check_schema(schema, Deadline(SCHEMA_SECONDS))
    except SchemaError as error:
        problem = f"the input schema of {tool.get('name')!r}: {error}"
    conversation.judgement.hold("B-4", problem, schema)


def use_features(
    conversation: Conversation, found: dict[str, list[Wire]], unknown_resource: tuple[str, tuple[int, ...]]
) -> None:
    """Read the first resource, get the first prompt that takes no arguments, complete the first argument. What is
    judged is the form of the results. `unknown_resource` is the requirement on an unknown one, with its codes.
    """
    hold = conversation.judgement.hold
    for resource in found.get("resources", ())[:1]:
        if isinstance(resource.get("uri"), str):
            conversation.try_request("resources/read", {"uri": resource["uri"]})
    prompts = [prompt for prompt in found.get("prompts", ()) if isinstance(prompt.get("name"), str)]
    for prompt in [prompt for prompt in prompts if not any(_is_required(one) for one in _arguments(prompt))][:1]:
        conversation.try_request("prompts/get", {"name": prompt["name"]})
    if "completions" in conversation.capabilities:
        for prompt in [prompt for prompt in prompts if _arguments(prompt)][:1]:
            argument = {"name": _arguments(prompt)[0].get("name"), "value": ""}
            reference = {"type": "ref/prompt", "name": prompt["name"]}
            conversation.try_request("completion/complete", {"ref": reference, "argument": argument})
    if "resources" in found:
        number, codes = unknown_resource
        answer = conversation.request("resources/read", {"uri": UNKNOWN_URI})
        problem = "" if answer.code in codes else f"an unknown resource is answered with {answer.shown}"
        hold(number, problem, answer.message)


def _arguments(prompt: Wire) -> list[Wire]:
    arguments = prompt.get("arguments")
    return [one for one in arguments if isinstance(one, dict)] if isinstance(arguments, list) else []


def _is_required(argument: Wire) -> bool:
    return argument.get("required") is True


def refuse_unknown(conversation: Conversation, found: dict[str, list[Wire]], number: str) -> None:
    """Ask for what no server has: a method, a tool, a prompt."""
    hold = conversation.judgement.hold
    answer = conversation.request(UNKNOWN_METHOD)
    problem = "" if answer.code == METHOD_NOT_FOUND else f"an unknown method is answered with {answer.shown}"
    hold(number, problem, answer.message)
    if found.get("tools"):
        answer = conversation.request("tools/call", {"name": UNKNOWN, "arguments": {}})
        has_failed = answer.code is not None or (answer.result or {}).get("isError") is True
        problem = "" if has_failed else f"a call of an unknown tool is answered with {answer.shown}"
        hold(number, problem, answer.message)
    if found.get("prompts"):
        answer = conversation.request("prompts/get", {"name": UNKNOWN})
        problem = "" if answer.code is not None else f"an unknown prompt is answered with {answer.shown}"
        hold(number, problem, answer.message)


def ignore_notifications(conversation: Conversation) -> None:
    """Send notifications that no server knows; the next request is answered as any other."""
    hold = conversation.judgement.hold
    conversation.notify("notifications/cancelled", {"requestId": UNKNOWN, "reason": "unknown"})
    conversation.notify(f"notifications/{UNKNOWN}")
    conversation.lull()
    hold("B-3")
    if conversation.is_stateless:
        answer = conversation.request("server/discover")
        hold("B-9", "" if answer.result is not None else "after a cancellation of nothing it answers with errors")
    elif not conversation.judgement.seen["LC-4"]:
        ping(conversation, "B-9", "after a cancellation of nothing a ping")
