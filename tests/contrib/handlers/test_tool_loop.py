"""The tool loop: real handlers behind a real manager, and a model whose answers are scripted."""

from __future__ import annotations

import json
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import openai
import pytest

from gaia_mcp.client import MCPClientManager, MCPConfig
from gaia_mcp.contrib.handlers.tool_loop import MAX_ARGUMENTS_CHARS, ToolLoopResult, run_tool_loop
from gaia_mcp.core.errors import CompletionError
from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPManager, MCPRegistry, MCPToolDefinition, MCPToolResult
from gaia_mcp.handlers import run_tool_loop as public_name
from tests.model_servers.openai_chat import USAGE, ChatServer, completion, text, tool_call, tool_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

QUESTION = [{"role": "user", "content": "What is 1 + 2?"}]
NUMBERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


class Calculator(MCPHandler):
    """Adds, divides, and remembers what it was called with."""

    name = "calculator"

    def connect(self) -> None:
        self.called: list[tuple[str, dict[str, Any]]] = []
        self._connected = True

    def disconnect(self) -> None:
        self._connected = False

    def list_tools(self) -> list[MCPToolDefinition]:
        names = ("add", "divide", "wiki.read")
        return [MCPToolDefinition(name, f"Does {name}.", NUMBERS, self.name) for name in names]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        self.called.append((name, arguments))
        if name == "divide" and arguments.get("b") == 0:
            return MCPToolResult("", is_error=True, error_message="division by zero")
        if name == "divide" and "b" not in arguments:
            return MCPToolResult("what is b?", is_error=True)
        if name == "wiki.read":
            return MCPToolResult("half a pair: \ud800")
        return MCPToolResult(str(arguments.get("a", 0) + arguments.get("b", 0)))


class Bench:
    """A manager over one handler, and a model server for it."""

    def __init__(self, **restrictions: Any) -> None:
        self.handler = Calculator(MCPHandlerConfig("calculator", **restrictions))
        registry = MCPRegistry()
        registry.register_custom(self.handler)
        self.manager = MCPManager(registry)
        self.requests: list[dict[str, Any]] = []
        self.seen: list[list[dict[str, Any]] | None] = []

    def run(self, replies: Sequence[Any] | Callable[[dict[str, Any]], Any], **options: Any) -> ToolLoopResult:
        """Run the loop over HTTP, with the completions as dicts."""
        with ChatServer(replies) as server:
            url = urlsplit(server.base_url)

            def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> Any:
                self.seen.append(tools)
                body = {"model": "m", "messages": messages, **({"tools": tools} if tools is not None else {})}
                connection = HTTPConnection(url.netloc, timeout=30)
                connection.request("POST", f"{url.path}/chat/completions", json.dumps(body))
                answer = json.loads(connection.getresponse().read())
                connection.close()
                return answer

            self.requests = server.requests
            return run_tool_loop(ask, QUESTION, self.manager, **options)

    def converse(self, *replies: Any) -> ToolLoopResult:
        """Run the loop without a server: these are the completions."""
        left = iter(replies)
        self.requests = []

        def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> Any:
            self.requests.append(json.loads(json.dumps({"messages": messages, "tools": tools})))
            return next(left)

        return run_tool_loop(ask, QUESTION, self.manager)

    @property
    def called(self) -> list[tuple[str, dict[str, Any]]]:
        """What the handler was called with."""
        return getattr(self.handler, "called", [])


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    with made.manager:
        yield made


def answers(result: ToolLoopResult) -> list[str]:
    return [message["content"] for message in result.messages if message["role"] == "tool"]


def test_a_model_calls_a_tool_and_answers_with_its_result(bench: Bench) -> None:
    """A11: `assistant` with `tool_calls`, then `tool` with `tool_call_id`; usage is the sum of all requests."""
    call = tool_call("add", {"a": 1, "b": 2})
    result = bench.run([tool_calls(call), text("It is 3.")])

    assert (result.content, result.iterations, result.finish_reason) == ("It is 3.", 1, "stop")
    assert result.is_complete
    assert bench.called == [("add", {"a": 1, "b": 2})]
    conversation = [
        *QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "3"},
    ]
    assert result.messages == [*conversation, {"role": "assistant", "content": "It is 3."}]
    assert [request["messages"] for request in bench.requests] == [QUESTION, conversation]
    assert [tool["function"]["name"] for tool in bench.requests[0]["tools"]] == ["add", "divide", "wiki_read"]
    details = {"cached_tokens": 8}
    assert result.usage == {
        "prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24, "prompt_tokens_details": details,
    }  # fmt: skip
    assert public_name is run_tool_loop


def test_the_calls_of_one_answer_are_made_and_answered_in_their_order(bench: Bench) -> None:
    """A11: each answer names its call."""
    calls = [tool_call("add", {"a": number}, number) for number in range(5)]
    result = bench.run([tool_calls(*calls), text("done")])
    answered = [message for message in result.messages if message["role"] == "tool"]
    assert [(message["tool_call_id"], message["content"]) for message in answered] == [
        (f"call_{number}", str(number)) for number in range(5)
    ]
    assert [arguments["a"] for _, arguments in bench.called] == [0, 1, 2, 3, 4]


def test_a_function_name_selects_its_tool(bench: Bench) -> None:
    """A10, A11: `wiki.read` is offered as `wiki_read`. Text that no request can carry is replaced."""
    result = bench.run([tool_calls(tool_call("wiki_read", {})), text("done")])
    assert bench.called == [("wiki.read", {})]
    assert answers(result) == ["half a pair: \ufffd"]


def test_a_tool_error_is_reported_to_the_model(bench: Bench) -> None:
    """A11, and MC-14: the model may try something else."""
    for number, (arguments, error) in enumerate([({"a": 1, "b": 0}, "division by zero"), ({"a": 1}, "what is b?")]):
        result = bench.run([tool_calls(tool_call("divide", arguments)), text("sorry")])
        assert answers(result) == [f"Error: {error}"]
        assert result.content == "sorry"
        assert len(bench.called) == number + 1


NOT_AN_OBJECT = [
    "",
    "not json",
    '{"a": 1',
    "[1, 2]",
    '"text"',
    "null",
    "7",
    "{'a': 1}",
    '{"a": NaN}',
    '{"a": ' + "9" * 5000 + "}",
    "[" * 100_000,
    '{"a": "' + "x" * 10_000_000 + '"}',
]


def test_arguments_that_are_not_a_json_object_are_reported_to_the_model(bench: Bench) -> None:
    """A11: `Error: …`, and the tool is not called."""
    for arguments in NOT_AN_OBJECT:
        result = bench.converse(tool_calls(tool_call("add", arguments)), text("sorry"))
        (error,) = answers(result)
        assert error.startswith("Error: the arguments "), arguments[:12]
        assert len(error) < 1000, arguments[:12]
        assert bench.called == [], arguments[:12]
        assert result.is_complete
        # Ten megabytes are not sent back.
        assert len(json.dumps(bench.requests[-1])) < MAX_ARGUMENTS_CHARS, arguments[:12]


def test_an_unknown_tool_is_reported_to_the_model(bench: Bench) -> None:
    """A11: the name is made one that the next request may hold: OpenAI refuses any other."""
    for name in ("unknown", "", "../add", "add ", "a" * 10_000_000, "calc.add", "ad\u0000d", "\ud800"):
        result = bench.converse(tool_calls(tool_call(name, {})), text("sorry"))
        (error,) = answers(result)
        assert error.startswith("Error: "), name[:12]
        assert len(error) < 1000, name[:12]
        assert bench.called == [], name[:12]
        (call,) = bench.requests[-1]["messages"][1]["tool_calls"]
        repeated = call["function"]["name"]
        assert 0 < len(repeated) <= 64, name[:12]
        assert repeated.replace("_", "a").replace("-", "a").isalnum(), name[:12]


def test_the_loop_stops_after_ten_iterations(bench: Bench) -> None:
    """A11: at most 10 iterations. The tool calls of the last completion are not made, nor added to the messages."""
    numbers = iter(range(100))
    result = bench.run(lambda _: tool_calls(tool_call("add", {"a": next(numbers)})))
    assert (result.iterations, len(bench.requests), len(bench.called)) == (10, 11, 10)
    assert not result.is_complete
    assert [json.loads(call["function"]["arguments"]) for call in result.tool_calls] == [{"a": 10}]
    assert result.messages[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "9"}
    assert result.usage["total_tokens"] == 11 * USAGE["total_tokens"]  # type: ignore[operator]
    assert result.finish_reason == "tool_calls"


def test_max_iterations_limits_the_loop() -> None:
    """A11: no iterations, or another number of them; a negative one is an error."""
    for most in (0, 3):
        bench = Bench()
        with bench.manager:
            result = bench.run(lambda _: tool_calls(tool_call("add", {})), max_iterations=most)
            assert (len(bench.called), len(bench.requests), result.iterations) == (most, most + 1, most)
            with pytest.raises(ValueError, match="negative"):
                run_tool_loop(lambda *_: text("x"), QUESTION, bench.manager, max_iterations=-1)


def test_calls_with_the_same_id_get_ids_of_their_own(bench: Bench) -> None:
    """A11: each answer has to find its own call; some local servers number none of them."""
    calls = [{**tool_call("add", {"a": number}), "id": given} for number, given in enumerate(["x", "x", "", "", "x-2"])]
    result = bench.run([tool_calls(*calls), text("done")])
    asked = [call["id"] for call in result.messages[1]["tool_calls"]]
    answered = [message["tool_call_id"] for message in result.messages if message["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 5
    assert all(asked)
    assert answers(result) == ["0", "1", "2", "3", "4"]


def test_the_model_gets_tools_none_if_there_are_no_tools(bench: Bench) -> None:
    """A11: `tools=None`; an empty list is an error for OpenAI."""
    with MCPManager(MCPRegistry()) as empty:
        seen: list[Any] = []
        result = run_tool_loop(lambda _, tools: seen.append(tools) or text("hello"), QUESTION, empty)
    assert seen == [None]
    assert result.content == "hello"


def test_stage_and_agent_restrict_listing_and_calling() -> None:
    """A11, A3: a tool that is out of scope is not offered, and a model that calls it all the same is refused."""
    rows: list[tuple[dict[str, str], bool]] = [
        ({"stage": "build", "agent": "ada"}, True),
        ({"stage": "deploy", "agent": "ada"}, False),
        ({"stage": "build", "agent": "bob"}, False),
        ({}, True),
    ]

    for scope, offered in rows:
        bench = Bench(stages=["build"], agents=["ada"])
        with bench.manager:
            result = bench.run([tool_calls(tool_call("add", {"a": 1})), text("done")], **scope)
        assert [tools is not None for tools in bench.seen] == [offered, offered], scope
        assert bool(bench.called) is offered, scope
        assert answers(result)[0].startswith("1" if offered else "Error: "), scope


def test_the_messages_of_the_caller_are_not_changed(bench: Bench) -> None:
    """Ours: the whole conversation is in the result; what `ask` does to its list changes nothing."""
    given = [dict(message) for message in QUESTION]

    def ask(messages: list[dict[str, Any]], _: Any) -> Any:
        reply = text("done") if len(messages) > 1 else tool_calls(tool_call("add", {}))
        messages.clear()
        return reply

    result = run_tool_loop(ask, given, bench.manager)
    assert given == QUESTION
    assert [message["role"] for message in result.messages] == ["user", "assistant", "tool", "assistant"]


def test_additional_members_of_a_tool_call_are_sent_back(bench: Bench) -> None:
    """Ours: Gemini signs the thoughts behind a call. Arguments may be the object itself, as some servers send it."""
    call = {**tool_call("add", {}), "extra_content": {"google": {"thought_signature": "abc"}}}
    call["function"]["arguments"] = {"a": 4}
    del call["type"]
    result = bench.run([tool_calls(call), text("done")])
    (repeated,) = result.messages[1]["tool_calls"]
    assert repeated["extra_content"] == {"google": {"thought_signature": "abc"}}
    assert repeated["type"] == "function"
    assert repeated["function"]["arguments"] == '{"a": 4}'
    assert answers(result) == ["4"]


NO_FUNCTION = {"id": "x", "type": "function"}


INVALID: list[tuple[Any, str]] = [
    ({}, "has no choices"),
    ({"choices": []}, "has no choices"),
    ({"choices": None, "error": {"message": "out of\ncredit"}}, "has no choices: out of credit"),
    ({"choices": {"0": 1}}, "has no choices"),
    ({"choices": [None]}, "without a message"),
    ({"choices": [{"message": None}]}, "without a message"),
    (completion({"content": ["a"]}, "stop"), "content that is not a string, but list"),
    (completion({"tool_calls": {}}, "stop"), "tool calls that are not a list, but dict"),
    (completion({"tool_calls": [None]}, "stop"), "a tool call without a function"),
    (completion({"tool_calls": [NO_FUNCTION]}, "stop"), "a tool call without a function"),
    (completion({"tool_calls": [{**NO_FUNCTION, "function": {"arguments": "{}"}}]}, "stop"), "has no name"),
    (completion({"tool_calls": [{"function": {"name": "add", "arguments": "{}"}}]}, "stop"), "without an id"),
]


def test_an_invalid_completion_is_a_completion_error(bench: Bench) -> None:
    """Ours: what a broken server answers is not taken for an answer, and no tool is called."""
    for answer, problem in INVALID:
        with pytest.raises(CompletionError) as caught:
            bench.converse(answer)
        assert problem in caught.value.message
        assert caught.value.message == f"the completion {caught.value.problem}"
        assert bench.called == [], answer


def test_a_response_of_another_type_is_a_completion_error(bench: Bench) -> None:
    """Ours: the package returns text for what is not JSON."""
    wrong: list[Any] = [None, "<html>", 5, ["choices"]]

    for answer in wrong:
        with pytest.raises(CompletionError, match=type(answer).__name__):
            bench.converse(answer)


def test_an_invalid_usage_is_not_summed(bench: Bench) -> None:
    """A11: the answer of a model is worth more than a report of its costs."""
    rows: list[tuple[Any, dict[str, Any]]] = [
        (None, {}),
        (5, {}),
        ([], {}),
        ({"total_tokens": "many", "prompt_tokens": True}, {}),
        ({"a": {"b": 1}, "c": 1}, {"a": {"b": 1}}),
    ]

    for usage, summed in rows:
        odd = {**text("done"), "usage": usage}
        result = bench.converse({**tool_calls(tool_call("add", {})), "usage": {"c": {"d": 1}}}, odd)
        assert (result.content, result.usage) == ("done", {"c": {"d": 1}} | summed), usage


def test_empty_content_and_a_refusal_are_returned(bench: Bench) -> None:
    """Ours: `content` may be null; a refusal stands in another place."""
    assert bench.run([completion({"content": None}, "stop")]).content == ""
    assert bench.run([completion({}, "stop")]).content == ""
    refused = bench.run([completion({"content": None, "refusal": "I must not."}, "content_filter")])
    assert (refused.content, refused.finish_reason) == ("I must not.", "content_filter")


def test_an_exception_of_ask_is_raised(bench: Bench) -> None:
    """Ours: the loop knows nothing of how a model is asked."""

    def ask(*_: Any) -> Any:
        raise TimeoutError("too slow")

    with pytest.raises(TimeoutError):
        run_tool_loop(ask, QUESTION, bench.manager)


def test_the_package_of_openai_drives_the_loop(bench: Bench) -> None:
    """Ours: the official client asks, and its objects are read."""
    calls = [tool_call("add", {"a": 2, "b": 2}, 1), tool_call("divide", {"a": 1, "b": 0}, 2)]
    with ChatServer([tool_calls(*calls), text("It is 4.")]) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0)

        def ask(messages: Any, tools: Any) -> Any:
            return client.chat.completions.create(
                model="gpt-x", messages=messages, tools=tools if tools is not None else openai.omit
            )

        with client:
            result = run_tool_loop(ask, QUESTION, bench.manager)
    assert (result.content, result.iterations) == ("It is 4.", 1)
    assert answers(result) == ["4", "Error: division by zero"]
    assert result.usage["total_tokens"] == 24
    assert result.usage["prompt_tokens_details"] == {"cached_tokens": 8}
    assert server.requests[1]["messages"][1]["tool_calls"] == calls
    assert server.keys == ["Bearer sk-test"] * 2


@pytest.mark.story
def test_the_loop_calls_the_tools_of_remote_servers(tmp_path: Path) -> None:
    """Ours: `MCPClientManager` stands on the same manager; its entries have scopes too."""
    program = [sys.executable, "-P", "-m", "gaia_mcp", "serve", "demo"]
    config = MCPConfig(tmp_path / "servers.json")
    config.add_server("demo", {"command": program[0], "args": program[1:], "stages": ["build"]})

    def ask(messages: list[dict[str, Any]], tools: Any) -> Any:
        if messages[-1]["role"] == "tool":
            return text(messages[-1]["content"])
        (name,) = [tool["function"]["name"] for tool in tools if tool["function"]["name"].endswith("add")]
        return tool_calls(tool_call(name, {"a": 2, "b": 3}))

    with MCPClientManager(config) as manager:
        manager.load_from_config()
        result = run_tool_loop(ask, QUESTION, manager, stage="build")
        assert run_tool_loop(lambda _, tools: text(str(tools)), QUESTION, manager, stage="deploy").content == "None"
    assert "5" in result.content


@pytest.mark.parametrize("reply", ["<html>no</html>", {"choices": None}, {"choices": [{"message": {"tool_calls": 5}}]}])
def test_an_invalid_response_read_by_the_openai_package_is_a_completion_error(bench: Bench, reply: Any) -> None:
    """Ours: it does not validate what a server answers, and warns of nothing here."""
    with (
        ChatServer([reply]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client,
        pytest.raises(CompletionError),
    ):
        run_tool_loop(
            lambda messages, _: client.chat.completions.create(model="m", messages=messages), QUESTION, bench.manager
        )
