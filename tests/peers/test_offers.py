"""What servers offer beside tools, asked of servers that others wrote, and of an agent that we serve."""

from __future__ import annotations

import base64
import json
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.host import DeclinedError
from gaia_mcp.client.mcp_client import Completion
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.core.errors import (
    CallCancelledError,
    CancelledError,
    LocalProtocolError,
    PeerError,
    RemoteProtocolError,
    ServerExitedError,
)
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.transports.talk import in_thread
from tests.peers.conftest import PROGRAMS, TIMEOUT_SECONDS
from tests.processes import living_with
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ERAS = {"stateless": "2026-07-28", "handshake": "2025-11-25"}
OFFERING = [sys.executable, str(PROGRAMS / "offering_server.py")]
SERVING = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", "demo"]
in_both_eras = pytest.mark.parametrize("era", ERAS)
WORDS = {"role": "assistant", "content": {"type": "text", "text": "moon"}, "model": "tiny", "stopReason": "endTurn"}


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


class Heard:
    """Everything that a client receives, and its answers."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.lists: list[str] = []
        self.resources: list[str] = []
        self.ended: list[str] = []
        self.logs: list[tuple[str, str, Any]] = []
        self.sampled: list[dict[str, Any]] = []
        self.elicited: list[dict[str, Any]] = []
        self.folders = [{"uri": "file:///first", "name": "first"}]
        self.words: Callable[[], dict[str, Any]] = lambda: WORDS

    def host(self) -> Host:
        return Host(
            elicit=self.elicit,
            sample=self.sample,
            roots=lambda: self.folders,
            on_log=lambda *message: self.logs.append(message),
        )

    def elicit(self, params: dict[str, Any]) -> dict[str, Any]:
        self.elicited.append(params)
        return {"action": "accept", "content": {"colour": "blue", "name": "Ada"}}

    def sample(self, params: dict[str, Any]) -> dict[str, Any]:
        self.sampled.append(params)
        return self.words()

    def decline(self) -> dict[str, Any]:
        raise DeclinedError("not for a test")

    def listen(self, client: MCPClient) -> None:
        client.on_list_changed = lambda kind: self.lists.append(kind)
        client.on_resource_updated = lambda uri: self.resources.append(uri)
        client.on_subscription_ended = lambda uri: self.ended.append(uri)


HEARD = Heard()


@pytest.fixture
def heard() -> Heard:
    """What is heard in this test."""
    HEARD.clear()
    return HEARD


@contextmanager
def connected(folder: Path, command: list[str], era: str, host: Host | None = None) -> Iterator[MCPClient]:
    """Our client of a command, with this era in its cache. At the end no process is left."""
    entry = ServerEntry("peer", Command(command[0], command[1:], {"PEER_OF_TEST": str(folder)}))
    era_cache = ServerCache(folder, entry)
    era_cache.keep_era(era)
    client = MCPClient.from_entry(entry, timeout=TIMEOUT_SECONDS, host=host or HEARD.host(), era_cache=era_cache)
    HEARD.listen(client)
    with client:
        assert client.protocol_version == ERAS[era]
        yield client
    wait_until(lambda: not living_with(str(folder)))


@pytest.fixture(scope="module", params=ERAS)
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MCPClient]:
    """Started once for each era: the SDK takes its time."""
    with connected(tmp_path_factory.mktemp(request.param), OFFERING, request.param) as client:
        yield client


@pytest.fixture
def client(started: MCPClient, heard: Heard) -> MCPClient:
    """A client of the SDK's server, in each era."""
    return started


# A server of the official SDK for Python, the same program in both eras.

REVIEW = {"type": "ref/prompt", "name": "review"}


def test_the_instructions_and_capabilities_of_the_sdk_are_read(client: MCPClient) -> None:
    """Spec, lifecycle and discovery."""
    assert client.instructions == "Read before you ask."
    assert client.server_info == {"name": "offering", "version": "3.1"}
    assert set(client.capabilities) == {"tools", "prompts", "resources", "completions", "logging"}
    assert client.capabilities["resources"]["subscribe"] is True


def test_prompts_of_the_sdk_are_listed_and_filled(client: MCPClient) -> None:
    """Spec, server/prompts; what is missing is an error, of whatever code."""
    prompt = next(prompt for prompt in client.list_prompts() if prompt["name"] == "review")
    assert (prompt["name"], prompt["title"], prompt["description"]) == ("review", "Review", "Review code.")
    assert [(item["name"], item["required"]) for item in prompt["arguments"]] == [("language", True), ("style", False)]
    filled = client.get_prompt("review", {"language": "Python", "style": "at length"})
    expected = {"role": "user", "content": {"type": "text", "text": "Review this Python, at length."}}
    assert (filled["description"], filled["messages"]) == ("Review code.", [expected])
    for name, arguments in (("review", {"style": "short"}), ("nope", {})):
        with pytest.raises(PeerError) as caught:
            client.get_prompt(name, arguments)
        assert caught.value.asked == "prompts/get"
    assert client.tool_problems == []


def test_resources_of_the_sdk_are_listed_and_read(client: MCPClient) -> None:
    """Spec, server/resources: text, bytes, and one that only a template describes."""
    listed = {resource["uri"]: resource["mimeType"] for resource in client.list_resources()}
    assert listed == {"offering://text": "text/plain", "offering://bytes": "application/octet-stream"}
    (template,) = client.list_resource_templates()
    assert (template["uriTemplate"], template["name"]) == ("offering://by-name/{name}", "by_name")

    (text,) = client.read_resource("offering://text")["contents"]
    assert text == {"uri": "offering://text", "mimeType": "text/plain", "text": "grüße"}
    (blob,) = client.read_resource("offering://bytes")["contents"]
    assert base64.b64decode(blob["blob"]) == b"\x00\x01\xff"
    (named,) = client.read_resource("offering://by-name/ada")["contents"]
    assert named["text"] == "this is ada"
    with pytest.raises(PeerError, match="offering://nope"):
        client.read_resource("offering://nope")


def test_the_sdk_completes_arguments(client: MCPClient) -> None:
    """Spec, utilities/completion: of a prompt, with what is known already, of a template; nonsense is refused."""
    template = {"type": "ref/resource", "uri": "offering://by-name/{name}"}

    assert client.complete(REVIEW, "language", "p") == Completion(["perl", "php"], 4, has_more=True)
    assert client.complete(REVIEW, "language", "py") == Completion(["python"], 1, has_more=False)
    assert client.complete(REVIEW, "style", "").values == []
    assert client.complete(REVIEW, "style", "", {"language": "Python"}).values == ["as Python is"]
    assert client.complete(template, "name", "ada") == Completion(["ada-1"], None, has_more=False)
    with pytest.raises(PeerError):
        client.complete({"type": "ref/nonsense"}, "name", "")


def test_the_sdk_logs_from_the_level_that_was_asked_for(client: MCPClient, heard: Heard) -> None:
    """Spec, utilities/logging. An invalid level is refused before it is sent."""
    client.set_log_level("warning")
    client.call("say", {"level": "error", "text": "it burns"})
    with pytest.raises(LocalProtocolError):
        client.set_log_level("loud")
    client.call("say", {"level": "critical", "text": "it still burns"})

    client.set_log_level("emergency")

    wait_until(lambda: len(heard.logs) == 2)
    assert heard.logs == [("error", "offering", "it burns"), ("critical", "offering", "it still burns")]


def test_resource_updates_of_the_sdk_arrive(client: MCPClient, heard: Heard) -> None:
    """Spec, server/resources: of those subscribed to, once, and until unsubscribed."""
    client.subscribe_resource("offering://text")
    client.subscribe_resource("offering://text")
    client.subscribe_resource("offering://not-there-yet")

    for uri in ("offering://bytes", "offering://text", "offering://not-there-yet"):
        client.call("touch", {"uri": uri})
    wait_until(lambda: len(heard.resources) == 2)
    client.unsubscribe_resource("offering://text")
    client.unsubscribe_resource("offering://never-subscribed")
    for uri in ("offering://text", "offering://not-there-yet"):
        client.call("touch", {"uri": uri})

    wait_until(lambda: len(heard.resources) == 3)
    assert heard.resources == ["offering://text", "offering://not-there-yet", "offering://not-there-yet"]
    assert heard.ended == []
    client.unsubscribe_resource("offering://not-there-yet")
    assert client.host.breaches == []


def test_subscriptions_survive_a_restart_of_the_sdks_server(client: MCPClient, heard: Heard) -> None:
    """Spec, IO-7: a resource may have changed meanwhile, so an update is reported too. List changes are announced
    unasked in the handshake era, by listening since, and after another start as well.
    """
    before = client.list_prompts()
    client.subscribe_resource("offering://text")
    client.call("grow", {})
    wait_until(lambda: heard.lists == ["prompts"])
    assert len(client.list_prompts()) == len(before) + 1

    with pytest.raises(ServerExitedError):
        client.call("die", {})
    client.call("touch", {"uri": "offering://text"})
    client.call("grow", {})

    wait_until(lambda: (len(heard.resources), len(heard.lists)) == (2, 2))
    assert (heard.resources, heard.lists) == (["offering://text"] * 2, ["prompts"] * 2)
    client.unsubscribe_resource("offering://text")


def test_the_sdk_requests_sampling(client: MCPClient, heard: Heard) -> None:
    """Spec, sampling: a request of the server's, or another round."""
    assert _text(client.call("dream", {})) == "tiny says moon"

    assert heard.sampled == [
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Think of a word."}}],
            "maxTokens": 10,
            "systemPrompt": "Be brief.",
        }
    ]


def test_the_sdk_gets_the_current_roots(client: MCPClient, heard: Heard) -> None:
    """Spec, roots: read again at every request for them."""
    assert _text(client.call("folders", {})) == "file:///first"
    heard.folders = [{"uri": "file:///second"}, {"uri": "file:///third"}]
    assert _text(client.call("folders", {})) == "file:///second file:///third"


def test_the_sdk_requests_elicitation(client: MCPClient, heard: Heard) -> None:
    """Spec, elicitation. MC-4 to MC-6: `input_required`, answered by a new request with the state that came along."""
    assert _text(client.call("favourite", {"question": "Which?"})) == "it is blue"
    assert [params["message"] for params in heard.elicited] == ["Which?"]


def test_declined_sampling_ends_the_call_of_the_sdk(client: MCPClient, heard: Heard) -> None:
    """Spec, sampling: only the older era has an error for the server. Either goes on with the next call."""
    heard.words = heard.decline

    if client.protocol_version == ERAS["stateless"]:
        with pytest.raises(CancelledError, match="not for a test"):
            client.call("dream", {})
    else:
        with pytest.raises(PeerError, match="not for a test"):
            client.call("dream", {})

    heard.words = lambda: WORDS
    assert _text(client.call("dream", {})) == "tiny says moon"


@pytest.mark.parametrize("nonsense", [{}, {**WORDS, "content": 7}, {"role": "assistant", "model": "tiny"}])
def test_an_invalid_sampling_result_fails_only_its_call(client: MCPClient, heard: Heard, nonsense: Any) -> None:
    """Ours: the server validates it; one of the handshake era returns a tool error."""
    heard.words = lambda: nonsense

    if client.protocol_version == ERAS["stateless"]:
        with pytest.raises(PeerError):
            client.call("dream", {})
    else:
        assert client.call("dream", {})["isError"] is True

    heard.words = lambda: WORDS
    assert _text(client.call("dream", {})) == "tiny says moon"


def test_a_missing_sampling_result_fails_only_its_call(client: MCPClient, heard: Heard) -> None:
    """Ours: an invalid result is never sent. In 2026-07-28 there is no message for that to the server."""
    heard.words = lambda: None  # type: ignore[assignment, return-value]

    with pytest.raises(TypeError if client.protocol_version == ERAS["stateless"] else PeerError):
        client.call("dream", {})

    heard.words = lambda: WORDS
    assert _text(client.call("dream", {})) == "tiny says moon"


def test_a_call_to_the_sdk_is_cancelled_during_sampling(client: MCPClient, heard: Heard) -> None:
    """Ours: the caller gets an error; the server goes on with other requests."""
    thinking, thought = threading.Event(), threading.Event()

    def words() -> dict[str, Any]:
        thinking.set()
        thought.wait(PATIENCE_SECONDS)
        return WORDS

    heard.words = words
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.call("dream", {}, deadline))
    assert thinking.wait(TIMEOUT_SECONDS)
    deadline.cancel()
    if client.protocol_version == ERAS["stateless"]:
        thought.set()  # It is the caller's own thread that asks the model there.
    thread.join(PATIENCE_SECONDS)
    thought.set()

    assert [isinstance(outcome, CancelledError) for outcome in outcomes] == [True]
    assert client.list_prompts()


def test_undeclared_sampling_by_the_sdk_is_refused_in_the_handshake_era(tmp_path: Path) -> None:
    """Spec, MS-4 and LC-3: no sampling without a model."""
    with connected(tmp_path, OFFERING, "handshake", Host()) as client:
        with pytest.raises((PeerError, RemoteProtocolError), match=r"(?i)sampling|capabilit"):
            client.call("dream", {})
        assert client.list_resources()


def test_many_threads_use_the_sdk_at_once(client: MCPClient, heard: Heard) -> None:
    """Ours: each thread gets the responses to its own requests."""
    outcomes: dict[int, list[Any]] = {}

    def ask(number: int) -> None:
        uri = f"offering://by-name/{number}"
        outcomes[number] = [
            client.read_resource(uri)["contents"][0]["text"],
            client.get_prompt("review", {"language": str(number)})["messages"][0]["content"]["text"],
            client.complete(REVIEW, "style", "", {"language": str(number)}).values,
            _text(client.call("dream", {})),
        ]
        client.subscribe_resource(uri)
        client.call("touch", {"uri": uri})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_SECONDS)

    assert outcomes == {
        number: [f"this is {number}", f"Review this {number}, short.", [f"as {number} is"], "tiny says moon"]
        for number in range(12)
    }
    wait_until(lambda: sorted(heard.resources) == sorted(f"offering://by-name/{number}" for number in range(12)))


# An agent of ours.


@in_both_eras
def test_a_served_agent_has_the_same_features_in_both_eras(tmp_path: Path, era: str) -> None:
    """Ours: the built-in agent has one of each."""
    with connected(tmp_path, SERVING, era) as client:
        assert "greet" in client.instructions
        assert [prompt["name"] for prompt in client.list_prompts()] == ["introduce"]
        filled = client.get_prompt("introduce", {"name": "Ada"})
        assert "Ada" in json.dumps(filled["messages"])
        listed = [resource["uri"] for resource in client.list_resources()]
        assert listed
        for uri in listed:
            (contents,) = client.read_resource(uri)["contents"]
            assert contents["uri"] == uri
            assert contents.get("text") or contents.get("blob")
        templates = [template["uriTemplate"] for template in client.list_resource_templates()]
        assert templates == ["demo://notes/{number}"]
        assert client.tool_problems == []
        client.set_log_level("debug")
        assert client.complete({"type": "ref/prompt", "name": "introduce"}, "language", "").values
        client.subscribe_resource(listed[0])
        for ask in (
            lambda: client.get_prompt("nope"),
            lambda: client.get_prompt("introduce"),
            lambda: client.read_resource("nope://"),
        ):
            with pytest.raises(PeerError):
                ask()
        assert client.host.breaches == []


# The reference server from npm: the handshake era, TypeScript.


@pytest.fixture(scope="module")
def everything_started(
    npm_servers: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MCPClient]:
    """Started once."""
    with connected(tmp_path_factory.mktemp("everything"), npm_servers["everything"], "handshake") as client:
        yield client


@pytest.fixture
def everything(everything_started: MCPClient, heard: Heard) -> MCPClient:
    return everything_started


def test_the_instructions_and_capabilities_of_everything_are_read(everything: MCPClient) -> None:
    """Spec, lifecycle."""
    assert everything.protocol_version == "2025-11-25"
    assert everything.server_info["name"] == "mcp-servers/everything"
    assert "# Everything Server" in everything.instructions
    assert {"tools", "prompts", "resources", "logging", "completions"} <= set(everything.capabilities)


def test_everything_fills_prompts(everything: MCPClient) -> None:
    """Spec, server/prompts: without arguments, with them, and with a resource inside."""
    prompts = {prompt["name"]: prompt for prompt in everything.list_prompts()}
    assert set(prompts) == {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"}
    assert [item["name"] for item in prompts["args-prompt"]["arguments"]] == ["city", "state"]

    assert everything.get_prompt("simple-prompt")["messages"][0]["role"] == "user"
    filled = everything.get_prompt("args-prompt", {"city": "Oslo", "state": "Norway"})
    assert filled["messages"][0]["content"]["text"] == "What's weather in Oslo, Norway?"
    embedded = everything.get_prompt("resource-prompt", {"resourceType": "Blob", "resourceId": "3"})
    resource = embedded["messages"][1]["content"]["resource"]
    assert b"Resource 3" in base64.b64decode(resource["blob"])
    for name, arguments in (("args-prompt", {}), ("nope", {}), ("resource-prompt", {"resourceType": "Odd"})):
        with pytest.raises(PeerError):
            everything.get_prompt(name, arguments)


def test_everything_has_resources_and_templates(everything: MCPClient) -> None:
    """Spec, server/resources."""
    listed = everything.list_resources()
    assert listed
    for resource in listed:
        (contents,) = everything.read_resource(resource["uri"])["contents"]
        assert contents["text"]
    templates = {template["uriTemplate"] for template in everything.list_resource_templates()}
    assert {f"demo://resource/dynamic/{kind}/{{resourceId}}" for kind in ("text", "blob")} <= templates
    (text,) = everything.read_resource("demo://resource/dynamic/text/7")["contents"]
    assert text["text"].startswith("Resource 7:")
    (blob,) = everything.read_resource("demo://resource/dynamic/blob/7")["contents"]
    assert base64.b64decode(blob["blob"]).startswith(b"Resource 7:")
    with pytest.raises(PeerError):
        everything.read_resource("demo://resource/dynamic/text/none")


def test_everything_completes_arguments(everything: MCPClient) -> None:
    """Spec, utilities/completion: the second argument depends on the first."""
    team = {"type": "ref/prompt", "name": "completable-prompt"}
    template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}

    assert everything.complete(team, "department", "S") == Completion(["Sales", "Support"], 2, has_more=False)
    assert everything.complete(team, "name", "", {"department": "Sales"}).values == ["David", "Eve", "Frank"]
    assert everything.complete(team, "name", "").values == []
    assert everything.complete(template, "resourceId", "12").values == ["12"]
    with pytest.raises(PeerError):
        everything.complete({"type": "ref/prompt", "name": "nope"}, "name", "")


def test_everything_sends_resource_updates(everything: MCPClient, heard: Heard) -> None:
    """Spec, server/resources: of subscribed resources. It also logs them, from the level that was set."""
    uris = [f"demo://resource/dynamic/text/{number}" for number in (1, 2, 3)]
    everything.set_log_level("info")
    for uri in uris:
        everything.subscribe_resource(uri)
    everything.unsubscribe_resource(uris[1])

    everything.call("toggle-subscriber-updates", {})

    wait_until(lambda: len(heard.resources) == 2)
    assert heard.resources == [uris[0], uris[2]]
    everything.call("toggle-subscriber-updates", {})
    logged = [data for _, _, data in heard.logs if "ubscribe" in str(data)]
    assert [uri for uri in uris if any(uri in data for data in logged)] == uris


def test_everything_sends_list_changed_notifications(everything: MCPClient, heard: Heard) -> None:
    """Spec: it has more tools for clients that declare sampling, and more resources when it has packed one."""
    wait_until(lambda: "tools" in heard.lists or everything.find_tool("trigger-sampling-request") is not None)
    heard.lists.clear()
    before = len(everything.list_resources())
    packed = {"name": "a.gz", "data": "data:text/plain;base64,aGk=", "outputType": "resourceLink"}

    everything.call("gzip-file-as-resource", packed)

    wait_until(lambda: "resources" in heard.lists)
    assert len(everything.list_resources()) == before + 1


def test_everything_requests_sampling(everything: MCPClient, heard: Heard) -> None:
    """Spec, sampling: a request of the server's while the call runs."""
    answered = _text(everything.call("trigger-sampling-request", {"prompt": "a word", "maxTokens": 7}))

    assert json.loads(answered.partition("\n")[2]) == WORDS
    (params,) = heard.sampled
    assert (params["maxTokens"], params["systemPrompt"]) == (7, "You are a helpful test server.")
    assert "a word" in params["messages"][0]["content"]["text"]


def test_everything_gets_an_error_for_declined_sampling(everything: MCPClient, heard: Heard) -> None:
    """Spec, sampling: the person's refusal is an error, which this server turns into a failed result."""
    heard.words = heard.decline

    result = everything.call("trigger-sampling-request", {"prompt": "a word"})

    assert (result["isError"], "not for a test" in _text(result)) == (True, True)


def test_everything_gets_our_roots_and_our_elicitation_result(everything: MCPClient, heard: Heard) -> None:
    """Spec, roots and elicitation, requests of the server's while a call runs, with roots that are read then."""
    assert "file:///first" in _text(everything.call("get-roots-list", {}))
    assert "Name: Ada" in _text(everything.call("trigger-elicitation-request", {}))
    (elicited,) = heard.elicited
    assert elicited["requestedSchema"]["required"] == ["name"]


def test_a_call_to_everything_is_cancelled(everything: MCPClient) -> None:
    """Spec, utilities/cancellation: with a deadline that another thread cancels; the server goes on."""
    deadline = everything.deadline()
    running = threading.Event()
    arguments = {"duration": 120, "steps": 240}
    thread, outcomes = in_thread(
        lambda: everything.call(
            "trigger-long-running-operation", arguments, deadline, on_progress=lambda _: running.set()
        )
    )
    assert running.wait(TIMEOUT_SECONDS)
    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    assert _text(everything.call("echo", {"message": "still here"})) == "Echo: still here"
