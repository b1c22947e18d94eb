"""Which members and kinds each revision has, so that a server sends a client only what its revision defines.

Agents return results of the newest revision; an older client gets the nearest equivalent that it can read.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gaia_mcp.protocol import ALL_VERSIONS, STATELESS_VERSIONS, TASK_VERSION, since
from gaia_mcp.protocol.envelope import SKILL_METHODS, SKILLS_EXTENSION
from gaia_mcp.protocol.input_required import RESULT_TYPES, ResultTypes, input_required, type_problem
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, as_text
from gaia_mcp.protocol.pagination import LISTS

Wire: TypeAlias = dict[str, Any]

# Members by the revision that introduced them; those of the first revision are not listed.
_INTRODUCED = {
    "tool": {
        "annotations": "2025-03-26",
        "title": "2025-06-18",
        "outputSchema": "2025-06-18",
        "_meta": "2025-06-18",
        "icons": "2025-11-25",
        "execution": "2025-11-25",
    },
    "prompt": {"title": "2025-06-18", "_meta": "2025-06-18", "icons": "2025-11-25"},
    "resource": {"title": "2025-06-18", "_meta": "2025-06-18", "icons": "2025-11-25"},
    "info": {
        "title": "2025-06-18",
        "icons": "2025-11-25",
        "websiteUrl": "2025-11-25",
        "description": "2025-11-25",
    },
    "block": {"_meta": "2025-06-18"},
    "annotations": {"lastModified": "2025-06-18"},
    "result": {"resultType": "2026-07-28", "ttlMs": "2026-07-28", "cacheScope": "2026-07-28"},
    "capabilities": {"completions": "2025-03-26", "elicitation": "2025-06-18", "extensions": "2026-07-28"},
}
# Feature methods and the capability, or the extension, that each belongs to.
FEATURES = {
    "tools/list": "tools",
    "tools/call": "tools",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "completion/complete": "completions",
    **dict.fromkeys(SKILL_METHODS, SKILLS_EXTENSION),
}
# Results that must state how long a stateless client may cache them. Ours state zero, since an agent may change.
CACHEABLE = frozenset({"server/discover", "resources/read", *SKILL_METHODS, *LISTS})


# What clients declare of themselves in any revision. Other members may have any size, and so may icons, which a server
# does not show.
_CLIENT_INFO = ("name", "title", "version", "description", "websiteUrl")
_CLIENT_CAPABILITIES = ("elicitation", "experimental", "extensions", "roots", "sampling", "tasks")


def known_client(info: Wire, capabilities: Wire) -> tuple[Wire, Wire]:
    """The members of a client's `Implementation` and capabilities that a server keeps for a whole conversation."""
    return (
        {name: info[name] for name in _CLIENT_INFO if name in info},
        {name: capabilities[name] for name in _CLIENT_CAPABILITIES if name in capabilities},
    )


def info_for(version: str, info: Wire) -> Wire:
    """A server's or client's `Implementation`."""
    return _known(version, "info", info)


def can_declare(version: str, capability: str) -> bool:
    """Whether this revision defines `capability`. A server may have the feature without being able to declare it."""
    first = _INTRODUCED["capabilities"].get(capability)
    # A custom transport may report an unknown version.
    return first is None or version not in ALL_VERSIONS or since(version, first)


def capabilities_for(version: str, capabilities: Wire) -> Wire:
    """A server's or client's capabilities."""
    return _known(version, "capabilities", capabilities)


def capability_names(capabilities: Wire) -> list[str]:
    """The names of the capabilities that a peer declares, with those of its extensions at the end."""
    extensions = capabilities.get("extensions")
    names = [name for name in capabilities if name != "extensions"]
    return [*names, *(extensions if isinstance(extensions, dict) else ())]


def server_request_problem(version: str, method: str, params: Wire) -> tuple[int, str] | None:
    """The code and the text of the error with which a client rejects a server's request that its revision does not
    define; None if it does.
    """
    if method != "elicitation/create" or version not in ALL_VERSIONS:
        return None
    if not since(version, "2025-06-18"):
        return METHOD_NOT_FOUND, f"Method not found: {method}"
    if params.get("mode", "form") != "form" and not since(version, "2025-11-25"):
        return INVALID_PARAMS, f"revision {version} has only forms, not the mode {as_text(params['mode'])!r}"
    return None


def tool_for(version: str, tool: Wire) -> Wire:
    """One entry of `tools/list`."""
    shaped = _known(version, "tool", tool)
    if version in STATELESS_VERSIONS:
        # Only 2025-11-25 has it: tasks became an extension.
        shaped.pop("execution", None)
        return shaped
    schema = shaped.get("outputSchema")
    # Only 2026-07-28 allows an output that is not an object.
    if not isinstance(schema, dict) or schema.get("type") != "object":
        shaped.pop("outputSchema", None)
    return shaped


def prompt_for(version: str, prompt: Wire) -> Wire:
    """One entry of `prompts/list`."""
    shaped = _known(version, "prompt", prompt)
    if isinstance(arguments := shaped.get("arguments"), list) and not since(version, "2025-06-18"):
        shaped["arguments"] = [
            {key: value for key, value in argument.items() if key != "title"} for argument in arguments
        ]
    return shaped


def resource_for(version: str, resource: Wire) -> Wire:
    """One entry of `resources/list` or `resources/templates/list`."""
    return _annotated(version, _known(version, "resource", resource))


def content_for(version: str, block: Wire) -> Wire:
    """One content block; a kind that the revision does not define becomes a text."""
    if version == ALL_VERSIONS[0]:
        return {**block}
    kind = block.get("type")
    if kind == "audio" and not since(version, "2025-03-26"):
        return {
            "type": "text",
            "text": f"[audio, {block.get('mimeType', 'unknown type')}: not for this client's revision]",
        }
    if kind == "resource_link":
        if not since(version, "2025-06-18"):
            return {"type": "text", "text": str(block.get("uri", ""))}
        return resource_for(version, block)
    shaped = _annotated(version, _known(version, "block", block))
    if kind == "resource" and isinstance(resource := block.get("resource"), dict):
        shaped["resource"] = _known(version, "block", resource)
    return shaped


def call_result_for(version: str, result: Wire) -> Wire:
    """The result of `tools/call`."""
    shaped = dict(result)
    shaped["content"] = [content_for(version, block) for block in result.get("content", [])]
    structured = shaped.get("structuredContent")
    if version not in STATELESS_VERSIONS and not (since(version, "2025-06-18") and isinstance(structured, dict)):
        shaped.pop("structuredContent", None)
    return shaped


def prompt_result_for(version: str, result: Wire) -> Wire:
    """The result of `prompts/get`."""
    shaped = dict(result)
    shaped["messages"] = [
        {**message, "content": content_for(version, content)}
        if isinstance(content := message.get("content"), dict)
        else message
        for message in result["messages"]
    ]
    return shaped


def read_result_for(version: str, result: Wire) -> Wire:
    """The result of `resources/read`."""
    shaped = dict(result)
    shaped["contents"] = [_known(version, "block", contents) for contents in result["contents"]]
    return shaped


def _skill_for(_: str, skill: Wire) -> Wire:
    """One entry of `skills/list`, which is the same in all revisions."""
    return skill


# For the items of each list, by the member of the result that holds them.
_SHAPERS = {
    "tools": tool_for,
    "prompts": prompt_for,
    "resources": resource_for,
    "resourceTemplates": resource_for,
    "skills": _skill_for,
}


def lacks_task(version: str, params: Wire) -> bool:
    """Whether a `tools/call` of a client that can ask for a task does not."""
    return version == TASK_VERSION and not isinstance(params.get("task"), dict)


def result_problem(version: str, method: str, result: Wire, known: ResultTypes = RESULT_TYPES) -> str | None:
    """Why a server must not send `result` to a client of `version`; None if it may. `known` are the allowed result
    types.
    """
    if (kind := result.get("resultType", "complete")) != "complete":
        if version not in STATELESS_VERSIONS:
            return f"it is of the type {as_text(kind)!r}, and {version} has complete results only"
        if (problem := type_problem(method, result, known)) is not None or kind != "input_required":
            return problem
        required = input_required(result)
        return required if isinstance(required, str) else None
    # The result of `tasks/get` contains the input requests of the task.
    if ("inputRequests" in result and method != "tasks/get") or "requestState" in result:
        return "it is complete, and yet asks for input"
    if method == "resources/read" and result.get("contents") == []:
        return "its contents are empty; an unknown resource is an error"
    if method in CACHEABLE and version in STATELESS_VERSIONS:
        ttl, scope = result.get("ttlMs", 0), result.get("cacheScope", "private")
        if type(ttl) is not int or ttl < 0:
            return f"its ttlMs is {as_text(ttl)}, not a whole number of milliseconds from 0 on"
        if scope not in ("public", "private"):
            return f"its cacheScope is {as_text(scope)!r}, neither 'public' nor 'private'"
    return None


def result_for(version: str, method: str, result: Wire, meta: Wire) -> Wire:
    """The result of `method` for a client of `version`, with the members that its era adds to every result. `meta` is
    merged into the `_meta` of a stateless one.
    """
    is_complete = result.get("resultType", "complete") == "complete"
    if not is_complete:
        shaped = dict(result)  # An input-required result contains nothing else.
    elif method == "tools/call":
        shaped = call_result_for(version, result)
    elif method == "prompts/get":
        shaped = prompt_result_for(version, result)
    elif method == "resources/read":
        shaped = read_result_for(version, result)
    elif (member := LISTS.get(method)) is not None:
        shaped = {**result, member: [_SHAPERS[member](version, item) for item in result[member]]}
    else:
        shaped = dict(result)
    if version not in STATELESS_VERSIONS:
        return _known(version, "result", shaped)
    shaped.setdefault("resultType", "complete")
    if is_complete and method in CACHEABLE:
        shaped.setdefault("ttlMs", 0)
        shaped.setdefault("cacheScope", "private")
    if meta:
        shaped["_meta"] = {**own, **meta} if (own := shaped.get("_meta")) else meta
    return shaped


def _annotated(version: str, value: Wire) -> Wire:
    if isinstance(annotations := value.get("annotations"), dict):
        value["annotations"] = _known(version, "annotations", annotations)
    return value


def _known(version: str, what: str, value: Wire) -> Wire:
    if version == ALL_VERSIONS[0]:
        return dict(value)
    introduced = _INTRODUCED[what]
    return {key: item for key, item in value.items() if key not in introduced or since(version, introduced[key])}
