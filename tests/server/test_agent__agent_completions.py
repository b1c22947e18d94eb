"""Completing arguments by an agent's own code."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, current_call, prompt, resource, tool
from gaia_mcp.asking import CallCancelledError
from gaia_mcp.protocol.input_required import MissingCapabilityError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
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


def test_at_most_a_hundred_values_are_sent() -> None:
    """Spec, CompleteResult: `total` and `hasMore` report the others."""
    completions: list[tuple[Any, dict[str, Any]]] = [
        (["a", "b"], {"values": ["a", "b"], "total": 2, "hasMore": False}),
        ("text", {"values": ["text"], "total": 1, "hasMore": False}),
        (None, {"values": [], "total": 0, "hasMore": False}),
        ({1: 2}, {"values": ["1"], "total": 1, "hasMore": False}),
        (range(100), {"values": list(map(str, range(100))), "total": 100, "hasMore": False}),
        (range(10_000), {"values": list(map(str, range(100))), "total": 10_000, "hasMore": True}),
    ]

    def completion_of(found: Any) -> dict[str, Any]:
        return completed(agent_with(lambda agent, typed: found), params())

    assert [completion_of(found) for found, _ in completions] == [completion for _, completion in completions]


def test_an_infinite_iterator_of_values_is_read_up_to_the_limit() -> None:
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
def test_a_failing_completion_is_empty_and_reported(error: BaseException) -> None:
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
def test_a_cancellation_in_a_completion_is_raised(error: Exception) -> None:
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


def test_an_invalid_request_for_completion_is_refused() -> None:
    """Spec, completion: -32602."""
    invalid: list[dict[str, Any]] = [
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
    ]
    agent = agent_with(list)

    assert [each for each in invalid if refusal(agent, "completion/complete", each).code != INVALID_PARAMS] == []


def test_only_string_arguments_of_the_context_are_passed_on() -> None:
    """Ours: an invalid context does not prevent a completion."""
    agent = agent_with(lambda agent, typed, given: [*given])

    assert completed(agent, params(context={"arguments": {"a": 1, "b": "c"}}))["values"] == ["b"]
    for invalid in (None, "x", {}, {"arguments": []}):
        assert completed(agent, params(context=invalid))["values"] == [], invalid


def test_complete_mcp_argument_completes_prompts_and_templates() -> None:
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


def test_a_described_prompt_has_no_completion() -> None:
    """Ours: beside marked methods, which have."""

    class Both(type(agent_with(list))):  # type: ignore[misc]
        def get_mcp_prompts(self) -> Any:
            return [{"name": "own"}]

    assert completed(Both(), params(of="own"))["values"] == []


def test_an_agent_without_completions_does_not_have_the_method() -> None:
    """Spec, JSON-RPC: -32601; nor does it declare the capability."""
    assert refusal(Plain(), "completion/complete", params()).code == METHOD_NOT_FOUND
    assert "completions" not in AgentProvider(Plain()).describe().capabilities
