from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.agents.loader import BUILT_IN, load_agent
from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import InsufficientScopeError, RequestError
from gaia_mcp.toolspec.validation import InvalidArgumentsError
from tests.schema_support import twice
from tests.server.agents_under_test import Full, Plain, answer, refusal, tools_of
from tests.server.talk import WithoutTask

# Scopes.


def test_missing_scopes_are_refused_before_the_arguments_are_validated() -> None:
    """Spec, AS-3: whatever its arguments are; where callers have no scopes, they restrict nothing."""
    agent = Plain({"name": "a", "inputSchema": {"required": ["x"]}}, {"name": "b"})
    agent.get_mcp_tool_scopes = lambda: {"a": ["write", "read"], "c": ["other"]}  # type: ignore[attr-defined]
    provider, call = AgentProvider(agent), Call()

    call.scopes = frozenset({"read"})
    with pytest.raises(InsufficientScopeError) as caught:
        provider.answer("tools/call", {"name": "a"}, call)
    assert caught.value.scopes == ("write", "read")
    assert provider.answer("tools/call", {"name": "b"}, call)["isError"] is False
    call.scopes = frozenset({"read", "write"})
    assert "required" in provider.answer("tools/call", {"name": "a"}, call)["content"][0]["text"]
    call.scopes = None
    assert provider.answer("tools/call", {"name": "a"}, call)["isError"] is True


# Lists of tools.


def test_an_empty_input_schema_and_a_missing_description_are_completed() -> None:
    """Ours, GAIA's agents leave things out: `{"inputSchema": {}}` is served as an object, no description as ""."""
    assert tools_of(Plain({"name": "a", "inputSchema": {}})) == [
        {"name": "a", "description": "", "inputSchema": {"type": "object", "properties": {}}}
    ]


def test_an_input_schema_without_the_type_object_is_replaced() -> None:
    """Spec, B-4: `"type": "object"` at the root."""
    for schema in (None, "text", [], {"type": "string"}, {"type": ["object", "null"]}):
        (tool,) = tools_of(Plain({"name": "a", "description": 7, "inputSchema": schema}))
        assert tool["inputSchema"] == {"type": "object", "properties": {}}, schema
        assert tool["description"] == ""


def test_other_members_of_a_tool_are_passed_through() -> None:
    """Ours: title, output schema, annotations and icons are defined by the agent; None means that one is missing."""
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    given = {"name": "a", "title": "A", "inputSchema": schema, "annotations": {"readOnlyHint": True}, "icons": None}

    (tool,) = tools_of(Plain(given))

    assert tool["title"] == "A"
    assert tool["annotations"] == {"readOnlyHint": True}
    assert "icons" not in tool
    assert tool["inputSchema"] == {"type": "object", **schema}
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}, "required": ["a"]}


def test_every_tool_of_the_built_in_agents_has_properties() -> None:
    """Ours: smolagents ends the connection without."""
    tools = {name: tools_of(load_agent(name, {"root": "."} if name == "filesystem" else {})) for name in BUILT_IN}

    assert [name for name, its_tools in tools.items() if not its_tools] == []
    assert [
        (name, tool["name"])
        for name, its_tools in tools.items()
        for tool in its_tools
        if "properties" not in tool["inputSchema"]
    ] == []


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
        "resource 'x:': size is not a whole number, and is left out",
    ]


def test_an_invalid_definition_does_not_hide_the_others() -> None:
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


def test_problems_that_an_agent_knows_of_its_tools_are_reported() -> None:
    """Ours: hints that are no schema, of marked methods."""
    reported: list[str] = []
    agent = Plain({"name": "t"})
    agent.get_mcp_tool_problems = lambda: ["Plain.t(x): what is wrong"]  # type: ignore[attr-defined]

    provider = AgentProvider(agent, report=reported.append)

    assert provider.problems == reported == ["Plain.t(x): what is wrong"]


def test_an_agent_without_tools_returns_an_empty_list() -> None:
    """Ours: None is as good as an empty list."""
    agent = Plain()
    agent.tools = None

    assert tools_of(agent) == []


def test_the_list_of_tools_is_read_again_each_time() -> None:
    """Ours: an agent may grow."""
    agent = Plain({"name": "a"})
    served = AgentProvider(agent)
    agent.tools.append({"name": "b"})

    assert [tool["name"] for tool in answer(served, "tools/list", {})["tools"]] == ["a", "b"]


# Calls.


def test_a_call_reaches_the_agent_with_its_arguments() -> None:
    """Spec, tools/call: `name` and `arguments`."""
    agent = Plain({"name": "a"})

    result = answer(AgentProvider(agent), "tools/call", {"name": "a", "arguments": {"x": 1}})

    assert agent.ran == [("a", {"x": 1})]
    assert result["content"] == [{"type": "text", "text": "done"}]


def test_a_call_may_leave_out_the_arguments() -> None:
    """Spec, tools/call: `arguments` is optional."""
    agent = Plain({"name": "a"})

    answer(AgentProvider(agent), "tools/call", {"name": "a"})

    assert agent.ran == [("a", {})]


def test_a_tool_added_after_the_list_was_read_can_be_called() -> None:
    """Ours: an unknown name is looked for once more before it is refused."""
    agent = Plain()
    served = AgentProvider(agent)
    agent.tools.append({"name": "late"})

    assert answer(served, "tools/call", {"name": "late"})["isError"] is False


def test_an_unknown_tool_is_refused() -> None:
    """Spec, tools: an unknown tool is -32602."""
    refused = refusal(Plain(), "tools/call", {"name": "nope"})

    assert refused.code == INVALID_PARAMS
    assert str(refused) == "Unknown tool: nope"


def test_a_malformed_call_is_refused() -> None:
    """Spec, CallToolRequest: malformed requests are -32602."""
    agent = Plain({"name": "a"})
    malformed: list[dict[str, Any]] = [
        {},
        {"name": 7},
        {"name": "a", "arguments": []},
        {"name": "a", "arguments": "x"},
        {"name": "a", "arguments": None},
    ]

    assert [each for each in malformed if refusal(agent, "tools/call", each).code != INVALID_PARAMS] == []
    assert agent.ran == []


def test_invalid_arguments_do_not_reach_the_agent() -> None:
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


def test_an_argument_sent_as_text_reaches_the_agent_as_what_it_is() -> None:
    """Ours: as with the official SDKs. Where the schema allows no text, and if that makes them valid."""
    known = {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}, "s": {"type": "string"}}
    agent = Plain({"name": "a", "inputSchema": {"properties": known, "additionalProperties": False}})
    served = AgentProvider(agent)

    given = {"n": "5", "tags": '["1"]', "s": "5"}
    assert answer(served, "tools/call", {"name": "a", "arguments": given})["isError"] is False
    assert agent.ran == [("a", {"n": 5, "tags": ["1"], "s": "5"})]

    refused = answer(served, "tools/call", {"name": "a", "arguments": {"n": "5", "o": 1}})
    assert refused["isError"] is True
    assert 'Your arguments:\n{\n  "n": "5",' in refused["content"][0]["text"]
    assert len(agent.ran) == 1


def test_an_invalid_input_schema_does_not_prevent_a_call() -> None:
    """Ours: the agent validates its arguments itself. The problem is reported once, however often it occurs."""
    agent = Plain({"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"pattern": "("}}}})
    served = AgentProvider(agent)

    for _ in range(3):
        assert answer(served, "tools/call", {"name": "a", "arguments": {"n": 1}})["isError"] is False

    (problem,) = served.problems
    assert "'a' cannot be used" in problem


def test_an_agent_may_define_its_own_result_for_invalid_arguments() -> None:
    """Ours: where all results of a tool have one form, this is one of them."""

    class Formal(Plain):
        def get_mcp_refusal(self, tool_name: str, problem: str) -> dict[str, Any]:
            return {"tool": tool_name, "problem": problem}

    agent = Formal({"name": "a", "inputSchema": {"type": "object", "required": ["x"]}})

    found = AgentProvider(agent).answer("tools/call", {"name": "a", "arguments": {}}, Call())

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


def test_a_call_may_have_invalid_arguments_refused() -> None:
    """AgentVault: -32602, where MCP has a result that the model reads."""
    agent = Plain({"name": "a", "inputSchema": {"type": "object", "required": ["n"]}})
    call = Call()
    call.rejects_arguments = True

    with pytest.raises(RequestError, match="Invalid params: "):
        AgentProvider(agent).answer("tools/call", {"name": "a", "arguments": {}}, call)
    assert agent.ran == []


def test_a_problem_is_reported_once() -> None:
    """Ours: most agents are served by their authors. A list that is read again reports nothing new."""
    reported: list[str] = []
    agent = Plain({"name": "a", "inputSchema": {"properties": {"n": {"pattern": "("}}}}, {})
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
def test_an_exception_of_a_tool_is_a_result_and_a_line_on_stderr(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec, tool errors: inside the result. Ours: an exit is one too, it must not end the server."""

    def run(_: Any) -> None:
        raise error

    result = answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})

    assert result["isError"] is True
    assert "broken" in result["content"][0]["text"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: tool 'a' raised {type(error).__name__}: broken, at ")


def test_an_exception_of_a_tool_is_given_to_on_failure() -> None:
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


def test_an_exception_of_a_run_that_ends_with_a_question_is_not_reported() -> None:
    """Ours: a thread of the tool has asked, and another run follows."""
    failures: list[str] = []

    class Asking(Call):
        ends_with_question = True

    def run(_: Any) -> None:
        raise IndexError

    provider = AgentProvider(Plain({"name": "a"}, run=run), on_failure=lambda text, _: failures.append(text))

    assert provider.answer("tools/call", {"name": "a"}, Asking())["isError"] is True
    assert failures == []


def test_a_tool_that_requires_a_task_is_refused_without_one() -> None:
    """Spec 2025-11-25, LS-8: before it runs."""
    agent = Plain({"name": "a", "execution": {"taskSupport": "required"}})

    with pytest.raises(RequestError) as caught:
        AgentProvider(agent).answer("tools/call", {"name": "a"}, WithoutTask())

    assert caught.value.code == METHOD_NOT_FOUND
    assert agent.ran == []
    assert answer(AgentProvider(agent), "tools/call", {"name": "a"})["isError"] is False


def test_an_invalid_output_schema_is_reported_and_ignored() -> None:
    """Ours: the value is worth more than the schema."""
    reported: list[str] = []
    agent = Plain({"name": "a", "outputSchema": {"pattern": "("}}, run=lambda _: [1])
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
    assert called(structuredContent=5)["content"][0]["text"].endswith("does not fit its output schema: not an object")


def test_arguments_that_a_tool_rejects_are_reported_as_validation_errors() -> None:
    """Ours: a string that is not a date, for instance, although it conforms to the schema."""

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


def test_members_beside_a_reference_are_ignored_in_draft_7() -> None:
    """JSON Schema, draft 7: the members beside `$ref` are ignored."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/number",
        "type": "object",
        "definitions": {"number": {"type": "integer"}},
    }

    result = answer(
        AgentProvider(Plain({"name": "t", "outputSchema": schema}, run=lambda _: 5)), "tools/call", {"name": "t"}
    )

    assert result["structuredContent"] == 5


def test_a_cancellation_error_of_a_tool_is_raised() -> None:
    """Ours: the server then sends nothing."""

    def run(_: Any) -> None:
        raise CallCancelledError

    with pytest.raises(CallCancelledError):
        answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})
