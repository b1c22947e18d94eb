"""The prompts of an agent: those of its marked methods, then those of `get_mcp_prompts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.server.definitions import page_of, prompt_definitions
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.results import prompt_result
from gaia_mcp.toolspec.validation import InvalidArgumentsError

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.server.agent_code import AgentCode

Wire = dict[str, Any]


class AgentPrompts:
    """The prompts; read again for each request."""

    def __init__(self, code: AgentCode) -> None:
        self._code = code

    def exist(self) -> bool:
        """Whether the agent has prompts."""
        return bool(self._code.features().prompts or self._code.optional("get_mcp_prompts"))

    def definitions(self) -> list[Wire]:
        """MCP's `Prompt` of each."""
        marked = self._code.features().prompts
        own = prompt_definitions(self._code.optional("get_mcp_prompts"), self._code.note)
        given = [prompt.definition for prompt in marked.values()]
        named = prompt_definitions(given, self._code.note)
        return named + self._code.without_marked("prompt", own, "name", marked)

    def listed(self, params: Wire, _: Call) -> Wire:
        """The result of `prompts/list`."""
        return {**self._code.list_caching("prompts"), **page_of("prompts", self.definitions(), "name", params)}

    def get(self, params: Wire, call: Call) -> Wire:
        """The result of `prompts/get`."""
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompt = next((prompt for prompt in self.definitions() if prompt["name"] == name), None)
        if prompt is None:
            raise RequestError(f"Unknown prompt: {name}")
        if not isinstance(arguments, dict):
            raise RequestError("prompts/get needs params.arguments to be an object")
        for argument in prompt["arguments"]:
            if argument.get("required") and argument["name"] not in arguments:
                raise RequestError(f"prompt {name!r} needs the argument {argument['name']!r}")
        description = str(prompt.get("description") or "")
        return prompt_result(self._returned(str(name), arguments, description, call), description)

    def _returned(self, name: str, arguments: Wire, description: str, call: Call) -> Any:
        agent = self._code.agent
        if (marked := self._code.features().prompts.get(name)) is not None:
            if wrong := [key for key, value in arguments.items() if not isinstance(value, str)]:
                raise RequestError(f"prompt {name!r}: the argument {wrong[0]!r} is not a text")
            try:
                value = marked.text.call(agent, arguments)
            except InvalidArgumentsError as error:
                raise RequestError(f"prompt {name!r}: {'; '.join(error.problems)}") from error
            return self._code.awaited(value, call)
        get = getattr(agent, "get_mcp_prompt", None)
        if get is None:
            # GAIA's own agents define prompts without a method that returns one: the description is the prompt.
            given = "".join(f"\n{key}: {value}" for key, value in arguments.items())
            return (description or name) + given
        return self._code.awaited(get(name, arguments), call)
