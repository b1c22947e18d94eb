"""`Agent`: a compatible replacement for the base class of GAIA's agents, without a built-in language model.

Agents written for GAIA run and can be served here. `Agent` provides the tools, the prompt and the
console, and, with a model, a loop that calls tools until the model answers.
`ApiAgent` presents itself as a model of an OpenAI-compatible API.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.agents.base.console import AgentConsole, SilentConsole
from gaia_mcp.agents.base.tools import _TOOL_REGISTRY

if TYPE_CHECKING:
    Model = Callable[[list[dict[str, Any]]], str | dict[str, Any]]

logger = logging.getLogger("gaia_mcp")

# GAIA's other keyword arguments: stored as attributes for programs that read them, but without effect here.
_KEPT: dict[str, Any] = {
    "use_claude": False,
    "use_chatgpt": False,
    "claude_model": None,
    "base_url": None,
    "debug_prompts": False,
    "show_prompts": False,
    "output_dir": None,
    "streaming": False,
    "show_stats": False,
    "max_plan_iterations": 3,
    "max_consecutive_repeats": 4,
    "min_context_size": 32768,
    "skip_lemonade": False,
}
RESPONSE_FORMAT = """Answer with one JSON object and nothing else. To call a tool:
{"tool": "name", "tool_args": {"parameter": "value"}}
When you know the answer:
{"answer": "text for the person"}"""
NO_MODEL = "this agent has no language model; give it one: Agent(model=callable)"


class Agent:
    """An agent: a prompt, a console, and the tools of `_TOOL_REGISTRY`.

    Its interface is that of GAIA's `Agent`. GAIA's other keyword arguments are stored as attributes; an unknown one
    raises `TypeError`. Subclasses may override `_get_system_prompt`, `_create_console` and `_register_tools`.

    `model` does not exist in GAIA: it is called with the messages so far and returns JSON text, or an object, with
    `tool` and `tool_args`, or with `answer`. `max_steps` limits the calls of the model for one query.
    `conversation_history` contains messages that precede every query; as in GAIA the caller adds to it, not the agent.
    """

    def __init__(
        self,
        *,
        silent_mode: bool = False,
        debug: bool = False,
        max_steps: int = 20,
        model_id: str | None = None,
        output_handler: Any = None,
        model: Model | None = None,
        **options: Any,
    ) -> None:
        kept = {name: options.pop(name, default) for name, default in _KEPT.items()}
        # Runs twice if a subclass calls the constructors of all its bases explicitly.
        if "_prompt" not in self.__dict__:
            self._prompt: str | None = None
            self.__dict__.update(kept)
            self.silent_mode = silent_mode
            self.debug = debug
            self.max_steps = max_steps
            self.model_id = model_id
            self.model = model
            self.error_history: list[str] = []
            self.conversation_history: list[dict[str, Any]] = []
            self.last_result: dict[str, Any] | None = None
            self.console = output_handler if output_handler is not None else self._create_console()
            self._register_tools()
        super().__init__(**options)

    # Methods for subclasses to override.

    def _get_system_prompt(self) -> str:
        """The agent's own part of the prompt. Empty by default."""
        return ""

    def _create_console(self) -> Any:
        """The console that the agent prints to."""
        return SilentConsole() if self.silent_mode else AgentConsole()

    def _register_tools(self) -> None:
        """Register the agent's tools, usually by defining functions with `@tool`. Registers none by default."""

    # The prompt.

    @property
    def system_prompt(self) -> str:
        """The complete prompt: the agent's own part, the tools, and the response format."""
        if self._prompt is None:
            self._prompt = self._compose_system_prompt()
        return self._prompt

    @system_prompt.setter
    def system_prompt(self, text: str) -> None:
        self._prompt = text

    def rebuild_system_prompt(self) -> None:
        """Compose the prompt again, after tools were added or removed."""
        self._prompt = self._compose_system_prompt()

    def _compose_system_prompt(self) -> str:
        tools = self._format_tools_for_prompt()
        parts = [self._get_system_prompt(), f"==== AVAILABLE TOOLS ====\n{tools}" if tools else "", RESPONSE_FORMAT]
        return "\n\n".join(part for part in parts if part)

    def _format_tools_for_prompt(self) -> str:
        return "\n".join(f"- {_signature(name, entry)}: {_described(entry)}" for name, entry in _tools())

    # The tools.

    def get_tools(self) -> list[dict[str, Any]]:
        """The registry's entries."""
        return list(_TOOL_REGISTRY.values())

    def get_tools_info(self) -> dict[str, dict[str, Any]]:
        """The registry's entries by name, as a copy."""
        return dict(_TOOL_REGISTRY)

    def list_tools(self, verbose: bool = True) -> None:
        """Print the tools on the console, with `verbose` also their descriptions."""
        for name, entry in _tools():
            line = _signature(name, entry)
            self.console.print(f"{line}: {_described(entry)}" if verbose else line)

    def _execute_tool(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """The tool's return value, or `{"status": "error", "error": …}` if it failed."""
        name = tool_name if tool_name in _TOOL_REGISTRY else self._resolve_tool_name(tool_name)
        # Another thread may have removed the tool in the meantime.
        function = _TOOL_REGISTRY.get(name, {}).get("function") if name is not None else None
        if not callable(function):
            return self._failed(f"Tool '{tool_name}' not found")
        missing = [
            parameter.name
            for parameter in _parameters(function)
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            and parameter.name not in tool_args
        ]
        if missing:
            return self._failed(f"Missing required arguments for {name}: {', '.join(missing)}")
        try:
            return function(**tool_args)
        except Exception as error:  # noqa: BLE001 (the tool's own code: an exception becomes its result)
            return self._failed(f"{type(error).__name__}: {error}")

    def _resolve_tool_name(self, tool_name: str) -> str | None:
        """The only tool whose name ends in `_<tool_name>` or equals `tool_name`, ignoring case; None if there is no
        such tool, or several. Models leave out the prefix `mcp_<server>_`.
        """
        names = {name: name.lower() for name in list(_TOOL_REGISTRY)}
        wanted = tool_name.lower()
        ending = [name for name, lowered in names.items() if lowered.endswith(f"_{wanted}")]
        spelled = [name for name, lowered in names.items() if lowered == wanted]
        return next((found[0] for found in (ending, spelled) if len(found) == 1), None)

    def _failed(self, problem: str) -> dict[str, Any]:
        self.error_history.append(problem)
        return {"status": "error", "error": problem}

    # The loop.

    def run(self, query: str, max_steps: int | None = None) -> dict[str, Any]:
        """Answer a query: call the model, and the tools that it chooses, until it answers, for at most `max_steps`.

        Returns `{"status": "success" | "incomplete" | "error", "result", "steps_taken", "conversation"}`, with `error`
        unless it succeeded. It also reports exceptions of the model or a tool, and a missing model. The same dict is
        stored in `last_result`.
        """
        messages = [
            {"role": "system", "content": self.system_prompt},
            *self.conversation_history,
            {"role": "user", "content": query},
        ]
        if self.model is None:
            return self._ended("error", NO_MODEL, messages, 0)
        limit = self.max_steps if max_steps is None else max_steps
        for step in range(1, limit + 1):
            try:
                reply = _read_reply(self.model(messages))
            except Exception as error:
                logger.exception("the model failed")
                return self._ended("error", f"the model failed: {type(error).__name__}: {error}", messages, step)
            messages.append({"role": "assistant", "content": _as_text(reply)})
            if "tool" not in reply:
                answer = reply["answer"]
                self.console.print_final_answer(answer)
                return self._ended("success", answer, messages, step)
            name = reply["tool"]
            self.console.print_tool_usage(name)
            result = self._execute_tool(name, reply["tool_args"])
            self.console.print_tool_complete()
            messages.append({"role": "user", "content": f"{name} returned: {_as_text(result)}"})
        return self._ended("incomplete", f"no answer after {limit} steps", messages, limit)

    def process_query(self, user_input: str, max_steps: int | None = None, **_options: Any) -> dict[str, Any]:
        """The same as `run`, under GAIA's name."""
        return self.run(user_input, max_steps)

    def _ended(self, status: str, result: str, messages: list[dict[str, Any]], steps: int) -> dict[str, Any]:
        self.last_result = {"status": status, "result": result, "steps_taken": steps, "conversation": messages}
        if status != "success":
            self.last_result["error"] = result
        return self.last_result


def _tools() -> list[tuple[str, dict[str, Any]]]:
    return sorted(_TOOL_REGISTRY.items())


def _signature(name: str, entry: dict[str, Any]) -> str:
    """`name(path: string, limit?: integer)`. Entries that other code registered may lack members."""
    shown = [
        f"{parameter}{'' if described.get('required') else '?'}: {_alternatives(described.get('type', 'unknown'))}"
        for parameter, described in entry.get("parameters", {}).items()
    ]
    return f"{name}({', '.join(shown)})"


def _described(entry: dict[str, Any]) -> str:
    return (entry.get("description") or "").strip()


def _alternatives(kind: Any) -> str:
    return "|".join(str(member) for member in kind) if isinstance(kind, list) else str(kind)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # Some builtins have no signature.
        return []


def _read_reply(reply: str | dict[str, Any]) -> dict[str, Any]:
    """The model's reply as an object: `tool` and `tool_args`, or `answer`, which is the reply's text by default."""
    if not isinstance(reply, (str, dict)):
        raise TypeError(f"it returned {type(reply).__name__}, neither text nor an object")
    value = reply if isinstance(reply, dict) else _object_in(reply)
    if value is None:
        return {"answer": reply}
    # Many models return both members, one of them empty.
    if isinstance(name := value.get("tool"), str) and name:
        arguments = value.get("tool_args")
        return {"tool": name, "tool_args": arguments if isinstance(arguments, dict) else {}}
    answer = value.get("answer", reply)
    if answer is None:
        answer = ""
    return {"answer": answer if isinstance(answer, str) else _as_text(answer)}


def _object_in(reply: str) -> dict[str, Any] | None:
    """The first JSON object in the reply, which may be in a code fence or after other text; None if it is neither a
    tool call nor an answer.
    """
    start = reply.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and ("tool" in value or "answer" in value) else None


def _as_text(value: Any) -> str:
    """A value as JSON, or as its `repr` if it is not JSON."""
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


class ApiAgent(Agent):
    """An agent with a model's name and limits, as in GAIA. Subclasses override the defaults."""

    def get_model_id(self) -> str:
        """`gaia-` and the class's name in lower case without "Agent": `CodeAgent` becomes `gaia-code`."""
        return f"gaia-{type(self).__name__.removesuffix('Agent').lower()}"

    def get_model_info(self) -> dict[str, Any]:
        """The limits, in tokens."""
        return {"max_input_tokens": 8192, "max_output_tokens": 4096}

    def estimate_tokens(self, text: str) -> int:
        """The estimated number of tokens of a text, at four characters per token."""
        return len(text) // 4
