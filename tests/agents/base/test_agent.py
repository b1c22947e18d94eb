"""`Agent`: its attributes, its tools, and its loop with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.agents.base import _TOOL_REGISTRY, Agent, AgentConsole, ApiAgent, SilentConsole, tool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def registry() -> Iterator[dict[str, dict[str, Any]]]:
    """The registry, with what was in it before put back afterwards."""
    before = dict(_TOOL_REGISTRY)
    _TOOL_REGISTRY.clear()
    yield _TOOL_REGISTRY
    _TOOL_REGISTRY.clear()
    _TOOL_REGISTRY.update(before)


class Adder(Agent):
    """Registers a tool that adds."""

    def _get_system_prompt(self) -> str:
        return "You add numbers."

    def _register_tools(self) -> None:
        @tool
        def add(a: int, b: int = 1) -> int:
            """Add two numbers."""
            return a + b


def quiet(**options: Any) -> Adder:
    return Adder(silent_mode=True, **options)


def answered(reply: Any) -> dict[str, Any]:
    """The result of a query to which the model replies so."""
    result: dict[str, Any] = quiet(model=lambda messages: reply).run("hello")
    return result


def test_keyword_arguments_become_attributes() -> None:
    """GAIA: programs read these attributes."""
    agent = quiet(debug=True, max_steps=3, model_id="m", skip_lemonade=True, streaming=True, base_url="http://x")

    assert (agent.silent_mode, agent.debug, agent.max_steps, agent.model_id) == (True, True, 3, "m")
    assert (agent.skip_lemonade, agent.streaming, agent.base_url) == (True, True, "http://x")  # type: ignore[attr-defined]
    assert agent.show_stats is False  # type: ignore[attr-defined]


def test_an_unknown_keyword_is_refused() -> None:
    """Ours: a slip of the keyboard must not be kept in silence."""
    with pytest.raises(TypeError):
        quiet(max_step=3)


def test_the_console_is_the_given_one_or_depends_on_silent_mode() -> None:
    """GAIA: `output_handler`, else by `silent_mode`."""
    mine = SilentConsole()

    assert Adder(output_handler=mine).console is mine
    assert type(Adder().console) is AgentConsole
    assert type(quiet().console) is SilentConsole


def test_a_second_construction_has_no_effect(registry: dict[str, Any]) -> None:
    """Ours: `Agent.__init__(self); Mixin.__init__(self)` comes by here twice in some orders."""
    agent = quiet(max_steps=7)
    console = agent.console
    registry.clear()

    Agent.__init__(agent)

    assert (agent.max_steps, agent.console) == (7, console)
    assert registry == {}


def test_the_system_prompt_has_its_text_the_tools_and_the_answer_format() -> None:
    """GAIA: composed when it is first read."""
    response_format = Agent(silent_mode=True).system_prompt
    agent = quiet()

    assert agent.system_prompt.startswith("You add numbers.")
    assert agent.system_prompt.endswith(f"\n\n{response_format}")
    assert "- add(a: integer, b?: integer): Add two numbers." in agent.system_prompt
    assert '{"answer": ' in agent.system_prompt


def test_the_system_prompt_is_rebuilt_on_request(registry: dict[str, Any]) -> None:
    """GAIA: after tools have come or gone."""
    agent = quiet()
    assert "add(" in agent.system_prompt

    registry.clear()
    assert "add(" in agent.system_prompt
    agent.rebuild_system_prompt()

    assert "add(" not in agent.system_prompt
    agent.system_prompt = "mine"
    assert agent.system_prompt == "mine"


def test_a_tool_is_called_by_its_name() -> None:
    """GAIA: with the arguments that the model gave, by name."""
    assert quiet()._execute_tool("add", {"a": 2, "b": 3}) == 5


def test_a_tool_is_found_without_its_prefix_if_unambiguous(registry: dict[str, Any]) -> None:
    """GAIA: models like to leave it out."""
    agent = quiet()
    registry["mcp_time_now"] = {"name": "mcp_time_now", "parameters": {}, "description": "", "function": lambda: "noon"}

    assert agent._execute_tool("now", {}) == "noon"
    registry["mcp_clock_now"] = registry["mcp_time_now"]
    assert agent._execute_tool("now", {})["status"] == "error"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("subtract", {}, "Tool 'subtract' not found"),
        ("add", {}, "Missing required arguments for add: a"),
        ("add", {"a": "x"}, "TypeError: "),
    ],
)
def test_a_failed_tool_returns_an_error(name: str, arguments: dict[str, Any], problem: str) -> None:
    """GAIA: `status` and `error`, and the history of errors."""
    agent = quiet()

    answer = agent._execute_tool(name, arguments)

    assert answer["status"] == "error"
    assert problem in answer["error"]
    assert agent.error_history == [answer["error"]]


def test_an_agent_without_a_model_returns_an_error() -> None:
    """Ours: nothing here pretends to think."""
    result = quiet().run("what is 2 + 3?")

    assert result["status"] == "error"
    assert "no language model" in result["error"]
    assert result["steps_taken"] == 0


def test_a_model_calls_tools_until_it_has_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: the plain loop. A silent console says the final answer and nothing else."""
    replies = iter(['{"tool": "add", "tool_args": {"a": 2, "b": 3}}', '```json\n{"answer": "It is 5."}\n```'])
    seen: list[list[dict[str, Any]]] = []

    def model(messages: list[dict[str, Any]]) -> str:
        seen.append(list(messages))
        return next(replies)

    agent = quiet(model=model)
    result = agent.run("what is 2 + 3?")

    assert (result["status"], result["result"], result["steps_taken"]) == ("success", "It is 5.", 2)
    assert seen[0][-1] == {"role": "user", "content": "what is 2 + 3?"}
    assert seen[1][-1] == {"role": "user", "content": "add returned: 5"}
    assert agent.last_result is result
    assert capsys.readouterr().out == "It is 5.\n"


def test_a_reply_that_is_not_a_tool_call_is_the_answer() -> None:
    """Ours: small models forget the form."""
    cases: list[tuple[Any, str]] = [
        ("Just words.", "Just words."),
        ('{"thought": "hm"}', '{"thought": "hm"}'),
        ("[1]", "[1]"),
        ({"answer": "Just words."}, "Just words."),
    ]

    wrong = []
    for reply, answer in cases:
        result = answered(reply)
        if (result["status"], result["result"]) != ("success", answer):
            wrong.append((reply, result))

    assert not wrong


def test_a_model_that_never_answers_is_stopped() -> None:
    """GAIA: `max_steps`."""
    result = quiet(model=lambda messages: {"tool": "add", "tool_args": {"a": 1}}, max_steps=3).process_query("go on")

    assert (result["status"], result["steps_taken"]) == ("incomplete", 3)
    assert "no answer after 3 steps" in result["error"]


def test_a_failed_model_returns_an_error() -> None:
    """Ours: the agent's caller gets a dict whatever happens."""

    def model(messages: list[dict[str, Any]]) -> str:
        raise ConnectionError("offline")

    result = quiet(model=model).run("hello")

    assert result["status"] == "error"
    assert "ConnectionError: offline" in result["error"]


def test_the_tools_of_an_agent_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """GAIA: on the console, and as values."""
    agent = Adder()

    agent.list_tools()
    agent.list_tools(verbose=False)

    assert capsys.readouterr().out == "add(a: integer, b?: integer): Add two numbers.\nadd(a: integer, b?: integer)\n"
    assert agent.get_tools() == [_TOOL_REGISTRY["add"]]
    assert agent.get_tools_info() == _TOOL_REGISTRY


def test_an_api_agent_presents_itself_as_a_model() -> None:
    """GAIA: the name of its class without "Agent", and these limits."""

    class PlainAgent(ApiAgent, Agent):
        pass

    class Plain(ApiAgent):
        pass

    agent = PlainAgent(silent_mode=True)

    assert agent.get_model_id() == Plain(silent_mode=True).get_model_id() == "gaia-plain"
    assert agent.get_model_info() == {"max_input_tokens": 8192, "max_output_tokens": 4096}
    assert agent.estimate_tokens("x" * 41) == 10


def test_an_irregular_reply_is_read_as_an_answer() -> None:
    """Ours: models fill in both members, or none, or write what is no JSON."""
    cases = [
        ({"tool": None, "answer": "hm"}, "hm"),
        ('{"tool": "", "answer": "hm"}', "hm"),
        ({"answer": None}, ""),
        ({"answer": ["a", 1]}, '["a", 1]'),
        ({"thought": "hm"}, '{"thought": "hm"}'),
        ('{"answer": "cut o', '{"answer": "cut o'),
        ("{" * 100_000, "{" * 100_000),
    ]

    wrong = []
    for reply, answer in cases:
        result = answered(reply)
        if (result["status"], result["result"]) != ("success", answer):
            wrong.append((reply, result))

    assert not wrong


def test_a_tool_call_is_found_after_text_and_without_arguments() -> None:
    """Ours: models like to say first what they are about to do."""
    replies = iter(['I will add:\n```json\n{"tool": "add", "tool_args": null}\n```', "Done."])

    result = quiet(model=lambda messages: next(replies)).run("add")

    assert result["steps_taken"] == 2
    assert "Missing required arguments for add: a" in result["conversation"][-2]["content"]


def test_a_reply_that_is_neither_text_nor_an_object_is_an_error() -> None:
    """Ours: a function that forgets to return is a mistake in a program."""
    result = quiet(model=lambda messages: None).run("hello")

    assert result["status"] == "error"
    assert "NoneType" in result["error"]


def test_a_result_that_is_not_json_is_sent_as_its_repr(registry: dict[str, Any]) -> None:
    """Ours: a tool may return anything."""
    agent = quiet(model=lambda messages: {"tool": "odd"} if len(messages) < 3 else {"answer": "done"})
    circle: list[Any] = []
    circle.append(circle)
    for value, words in (({(1, 2): 3}, "{(1, 2): 3}"), (circle, "[[...]]"), (object, '"<class')):
        registry["odd"] = {"name": "odd", "function": lambda value=value: value}
        result = agent.run("go")
        assert result["status"] == "success"
        assert words in result["conversation"][3]["content"]


def test_max_steps_may_be_0() -> None:
    """Ours: zero is a number too."""
    result = quiet(model=lambda messages: "hello").run("hello", max_steps=0)

    assert (result["status"], result["steps_taken"]) == ("incomplete", 0)


def test_the_conversation_history_precedes_each_query_and_is_not_changed() -> None:
    """GAIA: it belongs to the caller; nothing is added to it."""
    agent = quiet(model=lambda messages: f"{len(messages)} messages")
    agent.conversation_history.append({"role": "user", "content": "earlier"})

    assert [agent.run("hello")["result"], agent.run("hello")["result"]] == ["3 messages", "3 messages"]
    assert agent.conversation_history == [{"role": "user", "content": "earlier"}]


def test_registry_entries_may_lack_members(registry: dict[str, Any]) -> None:
    """Ours: the registry is a plain dict, and one odd entry must not cost the agent its prompt."""
    registry["bare"] = {"name": "bare", "description": None, "parameters": {"p": {}}, "function": dict}
    registry["empty"] = {}
    agent = quiet()

    assert "- bare(p?: unknown): " in agent.system_prompt
    assert agent._execute_tool("bare", {"p": 1}) == {"p": 1}
    assert agent._execute_tool("empty", {})["error"] == "Tool 'empty' not found"


def test_a_tool_name_is_case_insensitive(registry: dict[str, Any]) -> None:
    """GAIA: small models get that wrong."""
    agent = quiet()
    registry["mcp_time_getNow"] = {"name": "mcp_time_getNow", "function": lambda: "noon"}

    assert agent._execute_tool("GetNow", {}) == "noon"
    assert agent._execute_tool("MCP_time_getnow", {}) == "noon"


def test_a_tool_removed_during_the_lookup_is_not_found() -> None:
    """Ours: servers come and go in other threads, here after the name was resolved."""

    class Losing(Adder):
        def _resolve_tool_name(self, tool_name: str) -> str | None:
            found = super()._resolve_tool_name(tool_name)
            _TOOL_REGISTRY.clear()
            return found

    assert Losing(silent_mode=True)._execute_tool("ADD", {"a": 1})["error"] == "Tool 'ADD' not found"
