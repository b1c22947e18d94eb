from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest

from gaia_mcp.agents.loader import BUILT_IN, load_agent
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import RequestError
from gaia_mcp.toolcall import CallCancelledError, ToolCall, current_call
from gaia_mcp.toolspec.invalid_arguments import InvalidArgumentsError
from tests.schema_support import twice
from tests.server.talk import WithoutTask
from tests.waiting import wait_until


class Plain:
    """An agent with only the two methods."""

    def __init__(self, *tools: Any, run: Any = None) -> None:
        self.tools: Any = list(tools)
        self.run = run
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def get_mcp_tool_definitions(self) -> Any:
        return self.tools

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.ran.append((name, arguments))
        return self.run(arguments) if self.run is not None else "done"


class Full(Plain):
    """An agent that has everything."""

    info: Any = None
    prompts: Any = ()
    resources: Any = ()

    def get_mcp_server_info(self) -> Any:
        return self.info

    def get_mcp_prompts(self) -> Any:
        return self.prompts

    def get_mcp_resources(self) -> Any:
        return self.resources


def answer(provider: AgentProvider, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What it answers outside of a connection."""
    return provider.answer(method, params, ToolCall())


def _tools(agent: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = answer(AgentProvider(agent), "tools/list", {})["tools"]
    return tools


def _refusal(agent: Any, method: str, params: dict[str, Any]) -> RequestError:
    with pytest.raises(RequestError) as caught:
        answer(AgentProvider(agent), method, params)
    return caught.value


# Descriptions.


def test_an_agent_with_only_the_two_methods_is_described() -> None:
    """Ours, duck typing: by the name of its class."""
    described = AgentProvider(Plain()).describe()

    assert described.info == {"name": "Plain", "version": ""}
    assert described.capabilities == {"tools": {}, "logging": {}}
    assert described.instructions == ""


def test_the_agents_own_description_is_shown() -> None:
    """Spec, Implementation: name, title, version, description, websiteUrl, icons; instructions stand beside it."""
    agent = Full()
    agent.info = {"name": "n", "title": "t", "version": 3, "description": "d", "websiteUrl": "", "instructions": "do",
                  "secret": "x"}  # fmt: skip

    described = AgentProvider(agent).describe()

    assert described.info == {"name": "n", "title": "t", "version": "3", "description": "d"}
    assert described.instructions == "do"


@pytest.mark.parametrize("info", [None, {}, "text", ["x"], {"name": None, "version": ""}])
def test_an_agent_with_an_invalid_description_gets_the_defaults(info: Any) -> None:
    """Ours: a wrong description must not keep the tools from being used."""
    agent = Full()
    agent.info = info

    assert AgentProvider(agent).describe().info == {"name": "Full", "version": ""}


def test_problems_that_an_agent_knows_of_its_tools_are_reported() -> None:
    """Ours: hints that are no schema, of marked methods."""
    said: list[str] = []
    agent = Plain({"name": "t"})
    agent.get_mcp_tool_problems = lambda: ["Plain.t(x): what is wrong"]  # type: ignore[attr-defined]

    provider = AgentProvider(agent, report=said.append)

    assert provider.problems == said == ["Plain.t(x): what is wrong"]


def test_prompts_and_resources_are_offered_by_those_who_have_some() -> None:
    """Spec: a capability is declared when the feature is there."""
    agent = Full()
    assert set(AgentProvider(agent).describe().capabilities) == {"tools", "logging"}

    agent.prompts, agent.resources = [{"name": "p"}], [{"uri": "x://a"}]
    assert set(AgentProvider(agent).describe().capabilities) == {"tools", "logging", "prompts", "resources"}


def test_a_provider_whose_agent_may_be_replaced_declares_list_changes() -> None:
    """Spec: a server that announces changes declares `listChanged`."""
    agent = Full()
    agent.prompts = [{"name": "p"}]

    capabilities = AgentProvider(agent, list_changes=True).describe().capabilities

    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": True}


@pytest.mark.parametrize("method", ["completion/complete", "resources/subscribe", "ping", "", "answer"])
def test_a_method_that_an_agent_does_not_have_is_refused(method: str) -> None:
    """Spec, JSON-RPC: -32601, whatever its params look like; it is not taken for one that it has."""
    agent = Full()
    agent.resources = [{"uri": "x://a", "text": "hi"}]

    assert _refusal(agent, method, {"uri": "x://a", "name": "a"}).code == METHOD_NOT_FOUND


def test_an_agents_code_runs_with_its_call_as_the_current_one() -> None:
    """Ours: so it can report progress; afterwards the thread belongs to no call."""
    seen: list[ToolCall] = []
    call = ToolCall()

    def run(_: Any) -> None:
        seen.append(current_call())
        raise CallCancelledError

    with pytest.raises(CallCancelledError):
        AgentProvider(Plain({"name": "a"}, run=run)).answer("tools/call", {"name": "a"}, call)

    assert seen == [call]
    assert current_call() is not call


# Another agent in its place.


def test_another_agent_is_announced_and_served() -> None:
    """Ours: for an agent whose files have changed. All its lists may differ."""
    provider = AgentProvider(Plain({"name": "a"}), list_changes=True)
    announced: list[tuple[str, ...]] = []
    stop = provider.on_change(announced.append)

    provider.replace_agent(Plain({"name": "b"}))
    assert announced == [("tools", "prompts", "resources")]
    assert [tool["name"] for tool in answer(provider, "tools/list", {})["tools"]] == ["b"]

    stop()
    provider.replace_agent(Plain())
    assert len(announced) == 1


def test_an_agent_that_cannot_be_described_replaces_nothing() -> None:
    """Ours: a version with a mistake in it must not end the service of the one before."""

    class Broken(Full):
        def get_mcp_server_info(self) -> Any:
            raise RuntimeError("no luck")

    provider = AgentProvider(Plain({"name": "a"}))
    announced: list[tuple[str, ...]] = []
    provider.on_change(announced.append)

    with pytest.raises(RuntimeError, match="no luck"):
        provider.replace_agent(Broken({"name": "b"}))

    assert announced == []
    assert [tool["name"] for tool in answer(provider, "tools/list", {})["tools"]] == ["a"]


def test_the_problems_of_another_agent_are_reported_anew() -> None:
    """Ours: its author wants to know what is still wrong."""
    reported: list[str] = []
    provider = AgentProvider(Plain({}), report=reported.append)

    provider.replace_agent(Plain({}))

    assert reported == ["tool 1 has no name and is left out"] * 2
    assert len(provider.problems) == 1


# Lists of tools.


def test_an_empty_input_schema_and_no_description_are_made_presentable() -> None:
    """Ours, GAIA's agents leave things out: `{"inputSchema": {}}` is served as an object, no description as ""."""
    assert _tools(Plain({"name": "a", "inputSchema": {}})) == [
        {"name": "a", "description": "", "inputSchema": {"type": "object", "properties": {}}}
    ]


@pytest.mark.parametrize("schema", [None, "text", [], {"type": "string"}, {"type": ["object", "null"]}])
def test_an_input_schema_of_another_kind_becomes_one_of_an_object(schema: Any) -> None:
    """Spec, B-4: `"type": "object"` at the root."""
    (tool,) = _tools(Plain({"name": "a", "description": 7, "inputSchema": schema}))

    assert tool["inputSchema"] == {"type": "object", "properties": {}}
    assert tool["description"] == ""


def test_everything_else_that_mcp_knows_of_a_tool_is_passed_on() -> None:
    """Ours: title, output schema, annotations and icons are the agent's to say; None means left out."""
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    given = {"name": "a", "title": "A", "inputSchema": schema, "annotations": {"readOnlyHint": True}, "icons": None}

    (tool,) = _tools(Plain(given))

    assert tool["title"] == "A"
    assert tool["annotations"] == {"readOnlyHint": True}
    assert "icons" not in tool
    assert tool["inputSchema"] == {"type": "object", **schema}
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_tool_of_the_built_in_agents_has_properties(name: str) -> None:
    """Ours: smolagents ends the connection without."""
    tools = _tools(load_agent(name, {}))

    assert tools
    assert [tool["name"] for tool in tools if "properties" not in tool["inputSchema"]] == []


def test_a_member_of_a_wrong_type_is_reported() -> None:
    """Ours: clients would drop the whole list for it."""
    agent = Full({"name": "a", "annotations": "safe"})
    agent.info, agent.prompts, agent.resources = {"title": 1}, [{"name": "p", "title": 2}], [{"uri": "x:", "size": ""}]
    reported: list[str] = []
    provider = AgentProvider(agent, report=reported.append)

    provider.describe()
    answer(provider, "prompts/list", {})
    answer(provider, "prompts/list", {})
    answer(provider, "resources/list", {})

    assert reported == [
        "tool 'a': annotations is not an object, and is left out",
        "server 'Full': title is not a text, and is left out",
        "prompt 'p': title is not a text, and is left out",
        "resource 'x:': size is not a number, and is left out",
    ]


def test_one_bad_definition_does_not_hide_the_others() -> None:
    """Ours: each is read by itself, and its problem is reported."""
    agent = AgentProvider(
        Plain(
            "text",
            {},
            {"name": ""},
            {"name": "a"},
            {"name": "a", "title": "2"},
            {"name": "b", "x": object()},
            {"name": "c"},
        )
    )

    assert [tool["name"] for tool in answer(agent, "tools/list", {})["tools"]] == ["a", "c"]
    assert len(agent.problems) == 5
    assert "tool 1 has no name" in agent.problems[0]
    assert "defined twice" in agent.problems[3]
    assert "not JSON" in agent.problems[4]


def test_an_agent_without_tools_lists_none() -> None:
    """Ours: None is as good as an empty list."""
    agent = Plain()
    agent.tools = None

    assert _tools(agent) == []


def test_the_list_is_read_anew_each_time() -> None:
    """Ours: an agent may grow."""
    agent = Plain({"name": "a"})
    served = AgentProvider(agent)
    agent.tools.append({"name": "b"})

    assert [tool["name"] for tool in answer(served, "tools/list", {})["tools"]] == ["a", "b"]


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_a_cursor_is_refused_because_there_is_one_page(method: str) -> None:
    """Spec, pagination: an invalid cursor is -32602."""
    assert _refusal(Full(), method, {"cursor": ""}).code == INVALID_PARAMS


# Calls.


def test_a_call_reaches_the_agent_with_its_arguments() -> None:
    """Ours."""
    agent = Plain({"name": "a"})

    result = answer(AgentProvider(agent), "tools/call", {"name": "a", "arguments": {"x": 1}})

    assert agent.ran == [("a", {"x": 1})]
    assert result["content"] == [{"type": "text", "text": "done"}]


def test_a_call_may_leave_out_the_arguments() -> None:
    """Spec, tools/call: `arguments` is optional."""
    agent = Plain({"name": "a"})

    answer(AgentProvider(agent), "tools/call", {"name": "a"})

    assert agent.ran == [("a", {})]


def test_a_tool_that_has_come_since_the_list_was_read_can_be_called() -> None:
    """Ours: an unknown name is looked for once more before it is refused."""
    agent = Plain()
    served = AgentProvider(agent)
    agent.tools.append({"name": "late"})

    assert answer(served, "tools/call", {"name": "late"})["isError"] is False


def test_an_unknown_tool_is_refused() -> None:
    """Spec, tools: an unknown tool is -32602."""
    refused = _refusal(Plain(), "tools/call", {"name": "nope"})

    assert refused.code == INVALID_PARAMS
    assert str(refused) == "Unknown tool: nope"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 7},
        {"name": "a", "arguments": []},
        {"name": "a", "arguments": "x"},
        {"name": "a", "arguments": None},
    ],
)
def test_a_call_without_a_name_or_with_arguments_of_the_wrong_kind_is_refused(params: dict[str, Any]) -> None:
    """Spec, CallToolRequest: malformed requests are -32602."""
    agent = Plain({"name": "a"})

    assert _refusal(agent, "tools/call", params).code == INVALID_PARAMS
    assert agent.ran == []


def test_arguments_are_checked_before_the_agent_sees_them() -> None:
    """Spec 2025-11-25, B-11: invalid arguments are a tool error; ours: with every validation error and the schema."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"],
              "additionalProperties": False}  # fmt: skip
    agent = Plain({"name": "a", "inputSchema": schema})

    result = answer(AgentProvider(agent), "tools/call", {"name": "a", "arguments": {"n": "x", "o": 1}})

    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert agent.ran == []
    assert "'m' is missing" in text
    assert "'o'" in text
    assert "n:" in text
    assert "Expected tool schema:" in text
    assert '"additionalProperties": false' in text
    assert 'Your arguments:\n{\n  "n": "x",' in text


def test_a_schema_that_cannot_be_used_does_not_hinder_a_call() -> None:
    """Ours: the agent checks for itself; the problem is kept once, however often it is met."""
    agent = Plain({"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"type": "int"}}}})
    served = AgentProvider(agent)

    for _ in range(3):
        assert answer(served, "tools/call", {"name": "a", "arguments": {"n": 1}})["isError"] is False

    (problem,) = served.problems
    assert "'a' cannot be used" in problem


def test_an_agent_may_have_a_result_of_its_own_for_arguments_that_do_not_fit() -> None:
    """Ours: where all results of a tool have one form, this is one of them."""

    class Formal(Plain):
        def get_mcp_refusal(self, tool_name: str, problem: str) -> dict[str, Any]:
            return {"tool": tool_name, "problem": problem}

    agent = Formal({"name": "a", "inputSchema": {"type": "object", "required": ["x"]}})

    found = AgentProvider(agent).answer("tools/call", {"name": "a", "arguments": {}}, ToolCall())

    assert found["isError"] is True
    assert found["structuredContent"]["tool"] == "a"
    assert "'x'" in found["structuredContent"]["problem"]
    assert agent.ran == []


@pytest.mark.story
def test_arguments_that_take_too_long_to_check_are_refused() -> None:
    """Ours: a tool counts on the check. What it returns is its own, and is sent."""
    endless = twice("allOf", 34)
    takes = {"type": "object", "properties": {"n": {"$ref": "#/$defs/a0"}}, "$defs": endless["$defs"]}
    agent = Plain({"name": "a", "inputSchema": takes}, {"name": "b", "inputSchema": {}, "outputSchema": takes})
    agent.run = lambda arguments: {"n": "x"}
    served = AgentProvider(agent)

    refused = answer(served, "tools/call", {"name": "a", "arguments": {"n": "x"}})

    assert refused["isError"] is True
    assert "not checked: checking against it takes more than" in refused["content"][0]["text"]
    assert agent.ran == []
    assert "the input schema of 'a' cannot be used" in served.problems[0]
    assert answer(served, "tools/call", {"name": "b", "arguments": {}})["structuredContent"] == {"n": "x"}


def test_every_problem_is_reported_once_when_it_is_met() -> None:
    """Ours: most agents are served by their authors. A list that is read again reports nothing new."""
    reported: list[str] = []
    agent = Plain({"name": "a", "inputSchema": {"properties": {"n": {"type": "int"}}}}, {})
    served = AgentProvider(agent, report=reported.append)
    assert reported == ["tool 2 has no name and is left out"]

    agent.tools.append({"name": "b", "x": object()})
    for _ in range(2):
        answer(served, "tools/list", {})
        answer(served, "tools/call", {"name": "a", "arguments": {"n": 1}})

    assert len(reported) == 3
    assert "'b' is left out" in reported[1]
    assert "'a' cannot be used" in reported[2]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit("broken"), KeyboardInterrupt("broken")])
def test_a_tool_that_raises_is_a_result_and_one_line_on_stderr(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec, tool errors: inside the result. Ours: an exit is one too, it must not end the server."""

    def run(_: Any) -> None:
        raise error

    result = answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})

    assert result["isError"] is True
    assert "broken" in result["content"][0]["text"]
    assert capsys.readouterr().err == f"error: tool 'a' raised {type(error).__name__}: broken\n"


def test_what_a_tool_raises_is_given_to_the_front() -> None:
    """Ours: it has the traceback; also of the agent that replaces the first."""
    failures: list[tuple[str, BaseException]] = []

    def run(_: Any) -> None:
        raise KeyError

    agent = Plain({"name": "a"}, run=run)
    provider = AgentProvider(agent, on_failure=lambda *failure: failures.append(failure))
    answer(provider, "tools/call", {"name": "a"})
    provider.replace_agent(agent)
    answer(provider, "tools/call", {"name": "a"})

    assert [what for what, _ in failures] == ["tool 'a' raised KeyError"] * 2
    assert all(error.__traceback__ is not None for _, error in failures)


def test_a_tool_that_must_run_as_a_task_is_refused_without_one() -> None:
    """Spec 2025-11-25, LS-8: before it runs."""
    agent = Plain({"name": "a", "execution": {"taskSupport": "required"}})

    with pytest.raises(RequestError) as caught:
        AgentProvider(agent).answer("tools/call", {"name": "a"}, WithoutTask())

    assert caught.value.code == METHOD_NOT_FOUND
    assert agent.ran == []
    assert answer(AgentProvider(agent), "tools/call", {"name": "a"})["isError"] is False


def test_an_output_schema_that_cannot_be_used_checks_nothing_and_is_reported() -> None:
    """Ours: the value is worth more than the schema."""
    reported: list[str] = []
    agent = Plain({"name": "a", "outputSchema": {"type": "nonsense"}}, run=lambda _: [1])
    provider = AgentProvider(agent, report=reported.append)

    results = [answer(provider, "tools/call", {"name": "a"}) for _ in range(2)]

    assert [result["structuredContent"] for result in results] == [[1], [1]]
    (problem,) = reported
    assert problem.startswith("the output schema of 'a' cannot be used: ")


def test_a_result_that_does_not_fit_its_output_schema_is_a_failure() -> None:
    """Spec, MS-16: the official client would raise on it."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    whole = {"content": [{"type": "text", "text": "x"}]}
    agent = Plain({"name": "a", "outputSchema": schema}, run=lambda arguments: {**whole, **arguments})
    provider = AgentProvider(agent)

    def called(**arguments: Any) -> dict[str, Any]:
        return answer(provider, "tools/call", {"name": "a", "arguments": arguments})

    assert called(structuredContent={"x": 1})["isError"] is False
    assert "no structured content" in called()["content"][0]["text"]
    assert "x: null is not of type" in called(structuredContent={"x": None})["content"][0]["text"]


def test_arguments_that_a_tool_does_not_take_are_reported_as_invalid() -> None:
    """Ours: they fit the schema, and are still no date, for instance; reported as what does not fit."""

    def run(arguments: dict[str, Any]) -> None:
        raise InvalidArgumentsError(["when: 'x' is not a date"])

    result = answer(
        AgentProvider(Plain({"name": "t"}, run=run)), "tools/call", {"name": "t", "arguments": {"when": "x"}}
    )

    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "input validation failed" in text
    assert "- when: 'x' is not a date" in text


def test_a_result_is_checked_against_the_output_schema() -> None:
    """Spec: structured content conforms to it."""
    schema = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    tool = {"name": "t", "outputSchema": schema}

    results = [
        answer(AgentProvider(Plain(tool, run=lambda _, value=value: value)), "tools/call", {"name": "t"})
        for value in (5, "five")
    ]

    assert results[0]["structuredContent"] == {"result": 5}
    assert "does not fit its output schema" in results[1]["content"][0]["text"]


class Asynchronous(Full):
    """An agent whose methods are all coroutines."""

    async def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        current_call().progress(1)
        return arguments

    async def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return f"about {name}"

    async def read_mcp_resource(self, uri: str) -> str:
        return f"at {uri}"


def test_an_agent_may_be_asynchronous() -> None:
    """Ours: tools, prompts and resources; within a tool, the call is the current one."""
    agent = Asynchronous({"name": "t"})
    agent.prompts = [{"name": "p"}]
    provider = AgentProvider(agent)
    reported: list[float] = []
    call = ToolCall(lambda done, total, text: reported.append(done))

    result = provider.answer("tools/call", {"name": "t", "arguments": {"a": 1}}, call)
    prompt = answer(provider, "prompts/get", {"name": "p"})
    resource = answer(provider, "resources/read", {"uri": "x://a"})
    provider.close()

    assert result["structuredContent"] == {"a": 1}
    assert reported == [1]
    assert prompt["messages"][0]["content"]["text"] == "about p"
    assert resource["contents"] == [{"uri": "x://a", "text": "at x://a"}]
    wait_until(lambda: all(thread.name != "event loop" for thread in threading.enumerate()))


def test_the_event_loop_of_an_agent_ends_when_another_takes_its_place() -> None:
    """Ours: `--reload` must not gather threads."""
    provider = AgentProvider(Asynchronous({"name": "t"}))
    answer(provider, "tools/call", {"name": "t"})

    provider.replace_agent(Plain({"name": "t"}))

    wait_until(lambda: all(thread.name != "event loop" for thread in threading.enumerate()))


def test_a_tool_that_notices_its_cancellation_has_not_failed() -> None:
    """Ours: the server then sends nothing."""

    def run(_: Any) -> None:
        raise CallCancelledError

    with pytest.raises(CallCancelledError):
        answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})


# Prompts.


@pytest.fixture
def prompter() -> Full:
    """Describes prompts, and has no method to get one."""
    agent = Full()
    agent.prompts = [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}, "z", {}]},
        {"name": "q", "arguments": "none"},
        {"description": "no name"},
    ]
    return agent


def test_prompts_are_listed_with_usable_arguments(prompter: Full) -> None:
    """Spec, PromptArgument: an object with a name. Ours: others are left out."""
    prompts = answer(AgentProvider(prompter), "prompts/list", {})["prompts"]

    assert prompts == [
        {"name": "p", "description": "About", "arguments": [{"name": "x", "required": True}, {"name": "y"}]},
        {"name": "q", "arguments": []},
    ]


def test_a_prompt_that_is_only_described_says_its_description_and_what_was_given(prompter: Full) -> None:
    """Ours: GAIA's agents describe prompts and have no method to get one."""
    served = AgentProvider(prompter)

    result = answer(served, "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["description"] == "About"
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "About\nx: 1"}}]
    assert answer(served, "prompts/get", {"name": "q"})["messages"][0]["content"]["text"] == "q"


def test_an_agent_that_can_get_a_prompt_is_asked(prompter: Full) -> None:
    """Ours: `get_mcp_prompt(name, arguments)`."""
    prompter.get_mcp_prompt = lambda name, arguments: f"{name} {arguments['x']}"  # type: ignore[attr-defined]

    result = answer(AgentProvider(prompter), "prompts/get", {"name": "p", "arguments": {"x": "1"}})

    assert result["messages"][0]["content"]["text"] == "p 1"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "nope"}, "Unknown prompt: nope"),
        ({}, "Unknown prompt: None"),
        ({"name": "p", "arguments": ["x"]}, "an object"),
        ({"name": "p"}, "needs the argument 'x'"),
    ],
)
def test_a_prompt_that_cannot_be_had_is_refused(prompter: Full, params: dict[str, Any], words: str) -> None:
    """Spec, prompts: unknown names and missing arguments are -32602."""
    refused = _refusal(prompter, "prompts/get", params)

    assert refused.code == INVALID_PARAMS
    assert words in str(refused)


def test_an_agent_without_prompts_lists_none() -> None:
    """Ours: asked before its description is known, an agent answers with an empty list."""
    assert answer(AgentProvider(Plain()), "prompts/list", {}) == {"prompts": []}


# Resources.


@pytest.fixture
def librarian() -> Full:
    """Describes resources, some with their content."""
    agent = Full()
    agent.resources = [
        {"uri": "x://text", "name": "t", "mimeType": "text/plain", "text": "hi"},
        {"uri": "x://bytes", "blob": b"\x00\x01"},
        {"uri": "x://base64", "mimeType": "a/b", "blob": "AAE="},
        {"uri": "x://bare"},
        {"name": "no uri"},
    ]
    return agent


def test_resources_are_listed_with_a_name_and_without_their_content(librarian: Full) -> None:
    """Spec, Resource: `name` is required. Ours: the uri is one."""
    assert answer(AgentProvider(librarian), "resources/list", {})["resources"] == [
        {"uri": "x://text", "name": "t", "mimeType": "text/plain"},
        {"uri": "x://bytes", "name": "x://bytes"},
        {"uri": "x://base64", "name": "x://base64", "mimeType": "a/b"},
        {"uri": "x://bare", "name": "x://bare"},
    ]


def test_there_are_no_templates(librarian: Full) -> None:
    """Ours: agents have no way to describe them."""
    assert answer(AgentProvider(librarian), "resources/templates/list", {}) == {"resourceTemplates": []}


@pytest.mark.parametrize(
    ("uri", "contents"),
    [
        ("x://text", {"uri": "x://text", "mimeType": "text/plain", "text": "hi"}),
        ("x://bytes", {"uri": "x://bytes", "blob": "AAE="}),
        ("x://base64", {"uri": "x://base64", "mimeType": "a/b", "blob": "AAE="}),
    ],
)
def test_a_content_given_with_the_description_is_read(librarian: Full, uri: str, contents: dict[str, str]) -> None:
    """Ours: text is text, bytes become base64, and a blob that is a string is base64 already."""
    assert answer(AgentProvider(librarian), "resources/read", {"uri": uri}) == {"contents": [contents]}


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("x://bare", INVALID_PARAMS),
        ("x://nope", RESOURCE_NOT_FOUND),
        (None, INVALID_PARAMS),
        (7, INVALID_PARAMS),
        (math.nan, INVALID_PARAMS),
    ],
)
def test_a_resource_that_cannot_be_read_is_refused(librarian: Full, uri: Any, code: int) -> None:
    """Spec, MS-15 and its forerunners: unknown resources are refused and named; the revision decides on the code.

    What is not a string names none, and may be what JSON does not have.
    """
    refused = _refusal(librarian, "resources/read", {"uri": uri})

    assert refused.code == code
    assert refused.data == ({"uri": uri} if isinstance(uri, str) else None)


def test_an_agent_that_can_read_resources_is_asked_also_for_those_it_did_not_list(librarian: Full) -> None:
    """Ours: `read_mcp_resource(uri)`; the type is the one it announced."""
    librarian.read_mcp_resource = lambda uri: f"read {uri}"  # type: ignore[attr-defined]
    served = AgentProvider(librarian)

    assert answer(served, "resources/read", {"uri": "x://text"})["contents"] == [
        {"uri": "x://text", "mimeType": "text/plain", "text": "read x://text"}
    ]
    assert answer(served, "resources/read", {"uri": "x://new"})["contents"][0]["text"] == "read x://new"


@pytest.mark.parametrize("value", [None, {"contents": []}])
def test_a_resource_of_which_the_agent_returns_nothing_is_not_found(librarian: Full, value: Any) -> None:
    """Spec, MS-15: never empty contents instead."""
    librarian.read_mcp_resource = lambda uri: value  # type: ignore[attr-defined]

    refused = _refusal(librarian, "resources/read", {"uri": "x://new"})

    assert (refused.code, refused.data) == (RESOURCE_NOT_FOUND, {"uri": "x://new"})


def test_a_resource_that_is_listed_may_be_null(librarian: Full) -> None:
    """Ours: that is a JSON value too."""
    librarian.read_mcp_resource = lambda uri: None  # type: ignore[attr-defined]

    (contents,) = answer(AgentProvider(librarian), "resources/read", {"uri": "x://bare"})["contents"]

    assert contents["text"] == "null"


@pytest.mark.parametrize("error", [ValueError, KeyError, FileNotFoundError])
def test_a_resource_that_the_agent_does_not_find_is_refused(librarian: Full, error: type[Exception]) -> None:
    """Spec, MS-15: never an empty answer instead."""

    def read(uri: str) -> str:
        raise error(uri)

    librarian.read_mcp_resource = read  # type: ignore[attr-defined]

    assert _refusal(librarian, "resources/read", {"uri": "x://gone"}).data == {"uri": "x://gone"}


@pytest.mark.parametrize("error", [KeyError("x"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")])
def test_a_bug_in_reading_a_resource_that_is_listed_is_raised(librarian: Full, error: Exception) -> None:
    """Ours: it is there, so "not found" would hide what is wrong."""

    def read(_: str) -> str:
        raise error

    librarian.read_mcp_resource = read  # type: ignore[attr-defined]

    with pytest.raises(type(error)):
        answer(AgentProvider(librarian), "resources/read", {"uri": "x://text"})


def test_contents_that_are_not_json_are_not_a_missing_resource(librarian: Full) -> None:
    """Ours."""
    librarian.read_mcp_resource = lambda _: {"n": float("nan")}  # type: ignore[attr-defined]

    with pytest.raises(ValueError, match="JSON"):
        answer(AgentProvider(librarian), "resources/read", {"uri": "x://new"})


def test_an_agent_without_resources_lists_none() -> None:
    """Ours."""
    assert answer(AgentProvider(Plain()), "resources/list", {}) == {"resources": []}
