"""Completion of prompt arguments and of resource template variables."""

from __future__ import annotations

from collections.abc import Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.protocol.questions import MissingCapabilityError
from gaia_mcp.server.failures import raised
from gaia_mcp.server.provider import RequestError, method_not_found

if TYPE_CHECKING:
    from gaia_mcp.server.agent_code import AgentCode, TextMethod
    from gaia_mcp.server.agent_prompts import AgentPrompts
    from gaia_mcp.server.agent_resources import AgentResources

Wire = dict[str, Any]

# The specification's limit on `completion.values`.
MAX_VALUES = 100

_REFERENCES = {"ref/prompt": "name", "ref/resource": "uri"}


class AgentCompletions:
    """Completes with marked methods, else with the agent's own `complete_mcp_argument`."""

    def __init__(self, code: AgentCode, prompts: AgentPrompts, resources: AgentResources) -> None:
        self._code = code
        self._prompts = prompts
        self._resources = resources

    def exist(self) -> bool:
        """Whether the agent supports completion."""
        features = self._code.features()
        has_arguments = any(prompt.definition["arguments"] for prompt in features.prompts.values())
        return has_arguments or bool(features.templates) or self._completes_itself()

    def complete(self, params: Wire, call: Call) -> Wire:
        """The result of `completion/complete`. A completer that raises gives no values: completion only aids typing."""
        if not self.exist():
            raise method_not_found("completion/complete")
        ref, of, name, typed, given = _asked(params)
        marked = self._marked(ref["type"], of)
        try:
            if marked is not None:
                found = marked.completions(self._code.agent, name, typed, given)
            elif self._completes_itself():
                found = self._code.agent.complete_mcp_argument(dict(ref), name, typed, given)
            else:
                found = ()
            if found is not None:
                return {"completion": _completion(self._code.awaited(found, call))}
        except (CallCancelledError, MissingCapabilityError):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (the author's code)
            self._code.on_failure(f"the completion of {name!r} of {of!r} raised {raised(error)}", error)
            return {"completion": _completion(())}
        raise RequestError(f"{of!r} has no {name!r} to complete")

    def _marked(self, kind: str, of: str) -> TextMethod | None:
        """The marked method of the reference; None if the agent's own methods define it."""
        features = self._code.features()
        found = (features.prompts if kind == "ref/prompt" else features.templates).get(of)
        if found is not None:
            return found.text
        if kind == "ref/prompt":
            is_known = any(prompt["name"] == of for prompt in self._prompts.definitions())
        else:
            is_known = any(template["uriTemplate"] == of for template in self._resources.templates())
        if not is_known:
            raise RequestError(f"Unknown prompt: {of}" if kind == "ref/prompt" else f"Unknown resource template: {of}")
        return None

    def _completes_itself(self) -> bool:
        return callable(getattr(self._code.agent, "complete_mcp_argument", None))


def _asked(params: Wire) -> tuple[Wire, str, str, str, dict[str, str]]:
    """The reference, its name or URI, the argument's name, its value so far, and the other arguments.

    Raises `RequestError`.
    """
    ref, argument, context = params.get("ref"), params.get("argument"), params.get("context")
    key = _REFERENCES.get(str(ref.get("type"))) if isinstance(ref, dict) else None
    if not isinstance(ref, dict) or key is None or not isinstance(of := ref.get(key), str):
        raise RequestError("completion/complete needs params.ref, with the name of a prompt or the uri of a template")
    name, typed = (argument.get("name"), argument.get("value")) if isinstance(argument, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(typed, str):
        raise RequestError("completion/complete needs params.argument, with a name and a value, both texts")
    given = context.get("arguments") if isinstance(context, dict) else None
    given = {key: text for key, text in given.items() if isinstance(text, str)} if isinstance(given, dict) else {}
    return ref, of, name, typed, given


def _completion(found: Any) -> Wire:
    """MCP's `completion` for the return value of an author's function."""
    found = [found] if isinstance(found, str) else () if found is None else found
    values = [str(value) for value in islice(found, MAX_VALUES + 1)]
    completion: Wire = {"values": values[:MAX_VALUES], "hasMore": len(values) > MAX_VALUES}
    if isinstance(found, Sized):
        completion["total"] = len(found)
    return completion
