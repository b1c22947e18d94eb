"""Completing arguments by an agent's own code."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, current_call, prompt, resource, tool
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.protocol.questions import MissingCapabilityError
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.toolcall import CallCancelledError
from tests.server.agents_under_test import Full, Plain, answer, refusal

if TYPE_CHECKING:
    from collections.abc import Callable


def agent_with(complete: Callable[..., Any]) -> MCPAgent:
    """An agent whose only prompt has one argument, completed by this."""

    class Completing(MCPAgent):
        @tool
        def nothing(self) -> None:
            """A tool."""

        @prompt(complete={"x": complete})
        def ask(self, x: str) -> str:
            return x

        @resource("a://{y}")
        def read(self, y: bool) -> str:
            return str(y)

    return Completing()


def params(name: str = "x", typed: Any = "", of: str = "ask", **more: Any) -> dict[str, Any]:
    """Of `completion/complete`."""
    return {"ref": {"type": "ref/prompt", "name": of}, "argument": {"name": name, "value": typed}, **more}


def completed(agent: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The `completion` of the result."""
    found: dict[str, Any] = answer(AgentProvider(agent), "completion/complete", given)["completion"]
    return found


@pytest.mark.parametrize(
    ("found", "completion"),
    [
        (["a", "b"], {"values": ["a", "b"], "total": 2, "hasMore": False}),
        ("text", {"values": ["text"], "total": 1, "hasMore": False}),
        (None, {"values": [], "total": 0, "hasMore": False}),
        ({1: 2}, {"values": ["1"], "total": 1, "hasMore": False}),
        (range(100), {"values": list(map(str, range(100))), "total": 100, "hasMore": False}),
        (range(10_000), {"values": list(map(str, range(100))), "total": 10_000, "hasMore": True}),
    ],
)
def test_at_most_a_hundred_values_are_sent(found: Any, completion: dict[str, Any]) -> None:
    """Spec, CompleteResult: `total` and `hasMore` tell of the others."""
    assert completed(agent_with(lambda agent, typed: found), params()) == completion


def test_values_may_come_without_an_end() -> None:
    """Ours: no more of them are made than are sent."""
    found = completed(agent_with(lambda agent, typed: map(str, itertools.count())), params())

    assert (len(found["values"]), found["hasMore"]) == (100, True)
    assert "total" not in found


def test_a_function_for_completion_may_be_a_coroutine() -> None:
    """Ours: as every method may."""

    async def complete(agent: Any, typed: str) -> list[str]:
        return [f"{typed}!"]

    provider = AgentProvider(agent_with(complete))

    found = answer(provider, "completion/complete", params(typed="a"))
    provider.close()

    assert found["completion"]["values"] == ["a!"]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit("broken")])
def test_a_completion_that_raises_is_empty_and_in_the_log(error: BaseException) -> None:
    """Ours: it only helps typing."""
    failures: list[str] = []

    def complete(agent: Any, typed: str) -> list[str]:
        raise error

    provider = AgentProvider(agent_with(complete), on_failure=lambda what, _: failures.append(what))

    assert answer(provider, "completion/complete", params())["completion"] == {
        "values": [],
        "total": 0,
        "hasMore": False,
    }
    assert failures == [f"the completion of 'x' of 'ask' raised {type(error).__name__}: broken"]


@pytest.mark.parametrize("error", [CallCancelledError(), MissingCapabilityError({})])
def test_a_completion_that_is_cancelled_has_not_failed(error: Exception) -> None:
    """Ours: nothing is sent then."""

    def complete(agent: Any, typed: str) -> list[str]:
        assert not current_call().is_cancelled
        raise error

    with pytest.raises(type(error)):
        completed(agent_with(complete), params())


def test_the_variable_of_a_template_is_completed() -> None:
    """Spec: `ref/resource`."""
    ref = {"type": "ref/resource", "uri": "a://{y}"}

    assert completed(agent_with(list), {**params("y"), "ref": ref})["values"] == ["true", "false"]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"ref": "ask", "argument": {"name": "x", "value": ""}},
        {**params(), "ref": {"type": "ref/prompt"}},
        {**params(), "ref": {"type": "ref/resource", "name": "a"}},
        {**params(), "ref": {"type": ["ref/prompt"], "name": "ask"}},
        {**params(), "argument": "x"},
        params(typed=7),
        params("nope"),
        params(of="nope"),
        {**params(), "ref": {"type": "ref/resource", "uri": "a://nope"}},
    ],
)
def test_an_invalid_request_for_completion_is_refused(wrong: dict[str, Any]) -> None:
    """Spec, completion: -32602."""
    assert refusal(agent_with(list), "completion/complete", wrong).code == INVALID_PARAMS


@pytest.mark.parametrize("context", [None, "x", {}, {"arguments": []}, {"arguments": {"a": 1, "b": "c"}}])
def test_the_other_arguments_are_those_that_are_texts(context: Any) -> None:
    """Ours: what is wrong with the context does not keep a person from typing."""
    agent = agent_with(lambda agent, typed, given: [*given])

    expected = ["b"] if isinstance(context, dict) and context.get("arguments") else []
    assert completed(agent, params(context=context))["values"] == expected


def test_an_agent_may_complete_what_its_own_methods_describe() -> None:
    """Ours: `complete_mcp_argument`, beside the methods of GAIA's documents."""

    class Own(Full):
        prompts = ({"name": "ask"},)

        def get_mcp_resource_templates(self) -> Any:
            return [{"uriTemplate": "a://{x}"}]

        def complete_mcp_argument(self, *given: Any) -> list[str]:
            return [str(given)]

    assert completed(Own(), params(typed="t", context={"arguments": {"a": "b"}}))["values"] == [
        "({'type': 'ref/prompt', 'name': 'ask'}, 'x', 't', {'a': 'b'})"
    ]
    assert completed(Own(), {**params(), "ref": {"type": "ref/resource", "uri": "a://{x}"}})["total"] == 1
    assert AgentProvider(Own()).describe().capabilities["completions"] == {}


def test_what_an_agent_only_describes_has_no_completion() -> None:
    """Ours: beside marked methods, which have."""

    class Both(type(agent_with(list))):  # type: ignore[misc]
        def get_mcp_prompts(self) -> Any:
            return [{"name": "own"}]

    assert completed(Both(), params(of="own"))["values"] == []


def test_an_agent_with_nothing_to_complete_does_not_have_the_method() -> None:
    """Spec, JSON-RPC: -32601; nor does it declare the capability."""
    assert refusal(Plain(), "completion/complete", params()).code == METHOD_NOT_FOUND
    assert "completions" not in AgentProvider(Plain()).describe().capabilities
