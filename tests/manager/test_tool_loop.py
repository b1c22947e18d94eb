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
from gaia_mcp.errors import CompletionError
from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPManager, MCPRegistry, MCPToolDefinition, MCPToolResult
from gaia_mcp.handlers import run_tool_loop as public_name
from gaia_mcp.manager.completions import MAX_ARGUMENTS_CHARS
from gaia_mcp.manager.tool_loop import ToolLoopResult, run_tool_loop
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


def test_a_model_calls_a_tool_and_answers_with_what_it_returned(bench: Bench) -> None:
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
    told = [message for message in result.messages if message["role"] == "tool"]
    assert [(message["tool_call_id"], message["content"]) for message in told] == [
        (f"call_{number}", str(number)) for number in range(5)
    ]
    assert [arguments["a"] for _, arguments in bench.called] == [0, 1, 2, 3, 4]


def test_a_name_that_a_model_may_use_leads_back_to_its_tool(bench: Bench) -> None:
    """A10, A11: `wiki.read` is offered as `wiki_read`. Text that no request can carry is replaced."""
    result = bench.run([tool_calls(tool_call("wiki_read", {})), text("done")])
    assert bench.called == [("wiki.read", {})]
    assert answers(result) == ["half a pair: \ufffd"]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("divide", {"a": 1, "b": 0}, "Error: division by zero"),
        ("divide", {"a": 1}, "Error: what is b?"),
    ],
)
def test_a_tool_that_fails_is_told_as_an_error(bench: Bench, name: str, arguments: Any, told: str) -> None:
    """A11, and MC-14: the model may try something else."""
    result = bench.run([tool_calls(tool_call(name, arguments)), text("sorry")])
    assert answers(result) == [told]
    assert result.content == "sorry"


@pytest.mark.parametrize(
    "arguments",
    [
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
    ],
    ids=lambda text: text[:12],
)
def test_arguments_that_are_not_a_json_object_call_nothing(bench: Bench, arguments: str) -> None:
    """A11: `Error: …`, and the tool is not called."""
    result = bench.run([tool_calls(tool_call("add", arguments)), text("sorry")])
    (told,) = answers(result)
    assert told.startswith("Error: the arguments ")
    assert len(told) < 1000
    assert bench.called == []
    assert result.is_complete
    # Ten megabytes are not sent back.
    assert len(json.dumps(bench.requests[-1])) < MAX_ARGUMENTS_CHARS


@pytest.mark.parametrize("name", ["unknown", "", "../add", "add ", "a" * 10_000_000, "calc.add", "ad\u0000d", "\ud800"])
def test_a_tool_that_does_not_exist_is_told_as_an_error(bench: Bench, name: str) -> None:
    """A11: the name is made one that the next request may hold: OpenAI refuses any other."""
    result = bench.run([tool_calls(tool_call(name, {})), text("sorry")])
    (told,) = answers(result)
    assert told.startswith("Error: ")
    assert len(told) < 1000
    assert bench.called == []
    (call,) = bench.requests[-1]["messages"][1]["tool_calls"]
    repeated = call["function"]["name"]
    assert 0 < len(repeated) <= 64
    assert repeated.replace("_", "a").replace("-", "a").isalnum()


def test_a_model_that_never_ends_is_left_after_ten_iterations(bench: Bench) -> None:
    """A11: at most 10 iterations. What it asked for then is not called, and is no part of the conversation."""
    numbers = iter(range(100))
    result = bench.run(lambda _: tool_calls(tool_call("add", {"a": next(numbers)})))
    assert (result.iterations, len(bench.requests), len(bench.called)) == (10, 11, 10)
    assert not result.is_complete
    assert [json.loads(call["function"]["arguments"]) for call in result.tool_calls] == [{"a": 10}]
    assert result.messages[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "9"}
    assert result.usage["total_tokens"] == 11 * USAGE["total_tokens"]  # type: ignore[operator]
    assert result.finish_reason == "tool_calls"


@pytest.mark.parametrize("most", [0, 3])
def test_the_limit_can_be_another_one(bench: Bench, most: int) -> None:
    """A11."""
    result = bench.run(lambda _: tool_calls(tool_call("add", {})), max_iterations=most)
    assert (len(bench.called), len(bench.requests)) == (most, most + 1)
    assert result.iterations == most
    with pytest.raises(ValueError, match="negative"):
        run_tool_loop(lambda *_: text("x"), QUESTION, bench.manager, max_iterations=-1)


def test_calls_that_share_an_id_are_told_apart(bench: Bench) -> None:
    """A11: each answer has to find its own call; some local servers number none of them."""
    calls = [{**tool_call("add", {"a": number}), "id": given} for number, given in enumerate(["x", "x", "", "", "x-2"])]
    result = bench.run([tool_calls(*calls), text("done")])
    asked = [call["id"] for call in result.messages[1]["tool_calls"]]
    told = [message["tool_call_id"] for message in result.messages if message["role"] == "tool"]
    assert asked == told
    assert len(set(asked)) == 5
    assert all(asked)
    assert answers(result) == ["0", "1", "2", "3", "4"]


def test_without_tools_none_are_offered(bench: Bench) -> None:
    """A11: `tools=None`; an empty list is an error for OpenAI."""
    with MCPManager(MCPRegistry()) as empty:
        seen: list[Any] = []
        result = run_tool_loop(lambda _, tools: seen.append(tools) or text("hello"), QUESTION, empty)
    assert seen == [None]
    assert result.content == "hello"


@pytest.mark.parametrize(
    ("scope", "offered"),
    [
        ({"stage": "build", "agent": "ada"}, True),
        ({"stage": "deploy", "agent": "ada"}, False),
        ({"stage": "build", "agent": "bob"}, False),
        ({}, True),
    ],
)
def test_stage_and_agent_reach_the_listing_and_the_calling(scope: dict[str, str], offered: bool) -> None:
    """A11, A3: a tool that is out of scope is not offered, and a model that calls it all the same is refused."""
    bench = Bench(stages=["build"], agents=["ada"])
    with bench.manager:
        result = bench.run([tool_calls(tool_call("add", {"a": 1})), text("done")], **scope)
    assert [tools is not None for tools in bench.seen] == [offered, offered]
    assert bool(bench.called) is offered
    assert answers(result)[0].startswith("1" if offered else "Error: ")


def test_the_messages_of_the_caller_stay_as_they_are(bench: Bench) -> None:
    """Ours: the whole conversation is in the result; what `ask` does to its list changes nothing."""
    given = [dict(message) for message in QUESTION]

    def ask(messages: list[dict[str, Any]], _: Any) -> Any:
        reply = text("done") if len(messages) > 1 else tool_calls(tool_call("add", {}))
        messages.clear()
        return reply

    result = run_tool_loop(ask, given, bench.manager)
    assert given == QUESTION
    assert [message["role"] for message in result.messages] == ["user", "assistant", "tool", "assistant"]


def test_what_a_server_adds_to_a_call_is_sent_back(bench: Bench) -> None:
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


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
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
    ],
)
def test_an_invalid_completion_is_a_typed_error(bench: Bench, answer: Any, problem: str) -> None:
    """Ours: what a broken server answers is not taken for an answer, and no tool is called."""
    with pytest.raises(CompletionError) as caught:
        bench.run([answer])
    assert problem in caught.value.message
    assert caught.value.message == f"the completion {caught.value.problem}"
    assert bench.called == []


@pytest.mark.parametrize("answer", [None, "<html>", 5, ["choices"]])
def test_what_is_neither_a_completion_nor_a_dict_is_a_typed_error(bench: Bench, answer: Any) -> None:
    """Ours: the package returns text for what is not JSON."""
    with pytest.raises(CompletionError, match=type(answer).__name__):
        run_tool_loop(lambda *_: answer, QUESTION, bench.manager)


@pytest.mark.parametrize(
    "usage", [None, 5, [], {"total_tokens": "many", "prompt_tokens": True}, {"a": {"b": 1}, "c": 1}]
)
def test_a_count_that_is_none_is_not_summed(bench: Bench, usage: Any) -> None:
    """A11: what a server says of its costs is of no use for the answer."""
    odd = {**text("done"), "usage": usage}
    result = bench.run([{**tool_calls(tool_call("add", {})), "usage": {"c": {"d": 1}}}, odd])
    assert result.content == "done"
    assert result.usage == {"c": {"d": 1}} | ({"a": {"b": 1}} if isinstance(usage, dict) and "a" in usage else {})


def test_a_model_without_words_and_one_that_refuses(bench: Bench) -> None:
    """Ours: `content` may be null; a refusal stands in another place."""
    assert bench.run([completion({"content": None}, "stop")]).content == ""
    assert bench.run([completion({}, "stop")]).content == ""
    refused = bench.run([completion({"content": None, "refusal": "I must not."}, "content_filter")])
    assert (refused.content, refused.finish_reason) == ("I must not.", "content_filter")


def test_what_ask_raises_is_for_the_caller(bench: Bench) -> None:
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
def test_the_tools_of_remote_servers_are_called_in_the_same_way(tmp_path: Path) -> None:
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
def test_what_the_package_of_openai_lets_through_is_a_typed_error(bench: Bench, reply: Any) -> None:
    """Ours: it does not validate what a server answers, and warns of nothing here."""
    with (
        ChatServer([reply]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client,
        pytest.raises(CompletionError),
    ):
        run_tool_loop(
            lambda messages, _: client.chat.completions.create(model="m", messages=messages), QUESTION, bench.manager
        )
