"""The client for the tests of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import ListRoots, MCPAgent, current_call, tool
from gaia_mcp.protocol import ALL_VERSIONS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.testing import Answers, client_for

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
REVISIONS = pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])


class Notes(MCPAgent):
    """Keeps notes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.notes: list[str] = []

    @tool
    def add(self, text: str) -> int:
        """Add a note."""
        self.notes.append(text)
        return len(self.notes)

    @tool
    def sign(self) -> str:
        """Ask who writes."""
        answer = current_call().elicit("Who are you?", NAME)
        return answer.value["name"] if answer.action == "accept" else answer.action

    @tool
    def visit(self) -> str:
        """Ask for a visit."""
        return current_call().elicit_url("Look", "https://example.com").action

    @tool
    def compare(self) -> bool:
        """Ask for the folders twice at once."""
        one, another = current_call().ask_all(ListRoots(name="one"), ListRoots(name="another"))
        return bool(one == another)

    @tool
    async def think(self) -> str:
        """Ask the model, and for the folders."""
        call = current_call()
        (roots,) = await call.ask_all(ListRoots())
        return f"{(await call.sample('Well?')).text} in {roots[0].uri}"


def result_of(client: MCPClient, name: str, **arguments: Any) -> Any:
    """What a tool returned."""
    return client.call(name, arguments)["structuredContent"]["result"]


def test_an_agent_is_called_as_by_a_client_of_any_revision() -> None:
    """Ours: a real conversation, in the revision that the test is about."""
    found = {}
    for revision in ALL_VERSIONS:
        notes = Notes()
        with client_for(notes, revision=revision) as client:
            text = client.call("add", {"text": "buy milk"})["content"][0]["text"]
            found[revision] = (client.peer and client.peer.version, text, notes.notes)
        assert client.peer is None, revision

    assert found == {revision: (revision, "1", ["buy milk"]) for revision in ALL_VERSIONS}


def test_arguments_are_validated() -> None:
    """B-11: by the server, as always."""
    with client_for(Notes()) as client:
        result = client.call("add", {"txt": "buy milk"})

    assert result["isError"] is True
    assert "'text' is missing" in result["content"][0]["text"]


@REVISIONS
def test_answers_are_used_in_order(revision: str) -> None:
    """Ours: what a person says, in the words that the specification has for it."""
    answers = Answers([{"name": "Ada"}, "decline", "cancel", "accept", "decline"])

    with client_for(Notes(), revision=revision, answers=answers) as client:
        said = [result_of(client, "sign") for _ in range(3)]
        said += [result_of(client, "visit") for _ in range(2)]

    assert said == ["Ada", "decline", "cancel", "accept", "decline"]
    assert [params["message"] for params in answers.asked] == ["Who are you?"] * 3 + ["Look"] * 2


@REVISIONS
def test_a_form_may_be_accepted_as_it_is(revision: str) -> None:
    """Ours: nothing is filled in; a required field is then asked for again."""
    with client_for(Notes(), revision=revision, answers=["accept", {"name": "Ada"}]) as client:
        assert result_of(client, "sign") == "Ada"


def test_an_elicitation_without_an_answer_fails_the_call() -> None:
    """Ours: a test that forgot an answer ends, and says which."""
    with client_for(Notes()) as client, pytest.raises(LookupError, match="Who are you"):
        client.call("sign", {})


@REVISIONS
def test_sampling_and_roots_are_answered(revision: str) -> None:
    """Ours: a text is enough for a model, and without one the client declares no sampling."""
    roots = [{"uri": "file:///r"}]
    with client_for(Notes(), revision=revision, roots=roots, sample="Hm") as client:
        assert result_of(client, "think") == "Hm in file:///r"

    made = {"role": "assistant", "content": {"type": "text", "text": "Ah"}, "model": "m"}
    with client_for(Notes(), revision=revision, roots=roots, sample=lambda _: made) as client:
        assert result_of(client, "think") == "Ah in file:///r"


@REVISIONS
def test_several_server_requests_at_once_are_answered(revision: str) -> None:
    """Ours: the first answer arrives while the second question is still to be sent."""
    with client_for(Notes(), revision=revision, roots=[{"uri": "file:///r"}]) as client:
        assert result_of(client, "compare") is True


@REVISIONS
def test_a_client_connects_again(revision: str) -> None:
    """Ours: as every client does after `disconnect()`."""
    client = client_for(Notes(), revision=revision, roots=[{"uri": "file:///r"}], sample="Hm")
    for _ in range(2):
        with client:
            assert result_of(client, "think") == "Hm in file:///r"


def test_a_provider_is_served_as_it_is() -> None:
    """Ours: whatever a front can show."""
    with client_for(AgentProvider(Notes())) as client:
        assert result_of(client, "add", text="x") == 1


def test_an_unknown_revision_is_refused() -> None:
    """Ours: before anything is connected."""
    with pytest.raises(ValueError, match="2025-11-25"):
        client_for(Notes(), revision="2025-11-24")
