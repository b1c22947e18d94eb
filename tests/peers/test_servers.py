"""Our client with servers that others wrote."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.steps import names_checked, texts_checked
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import DeadlineError, PeerError, RemoteProtocolError
from tests.peers.conftest import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.client import MCPClient

    Connect = Callable[..., MCPClient]


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def _names(client: MCPClient) -> set[str]:
    assert client.tool_problems == []
    return {tool.name for tool in client.fetch_tools()}


def _assert_no_warning(client: MCPClient, server: str) -> None:
    """That `test-client` warns about nothing in the tools of a server that means well. Wrong warnings teach people to
    ignore all of them.
    """
    tools = client.fetch_tools()
    assert tools
    assert texts_checked(tools) == ("ok", "nothing suspicious")
    assert names_checked(server, tools, {}) == ("ok", "as recommended")


# From npm: the handshake era, TypeScript.


@pytest.fixture(scope="module")
def everything(npm_servers: dict[str, list[str]], connect_once: Connect) -> MCPClient:
    return connect_once(*npm_servers["everything"])


def test_everything_is_connected_by_handshake(everything: MCPClient) -> None:
    """Spec, compatibility: the probe is refused, the same pipe goes on with `initialize`."""
    assert everything.peer is not None
    assert everything.peer.version == "2025-11-25"
    assert everything.peer.era == "handshake"
    assert everything.peer.info["name"] == "mcp-servers/everything"
    assert {"echo", "get-sum", "get-tiny-image", "trigger-elicitation-request"} <= _names(everything)
    everything.check_alive()
    _assert_no_warning(everything, "everything")


def test_everything_returns_text(everything: MCPClient) -> None:
    """Spec, tools/call."""
    assert _text(everything.call("echo", {"message": "grüße \U0001f30d"})) == "Echo: grüße \U0001f30d"
    assert "is 3" in _text(everything.call("get-sum", {"a": 1, "b": 2}))


def test_everything_returns_every_kind_of_content(everything: MCPClient) -> None:
    """Spec, ContentBlock: as the server sent it."""
    image = everything.call("get-tiny-image", {})["content"]
    assert [block["mimeType"] for block in image if block["type"] == "image"] == ["image/png"]

    links = everything.call("get-resource-links", {"count": 3})["content"]
    assert [block["type"] for block in links] == ["text"] + ["resource_link"] * 3

    embedded = everything.call("get-resource-reference", {"resourceType": "Blob", "resourceId": 1})["content"]
    assert any("blob" in block.get("resource", {}) for block in embedded)

    structured = everything.call("get-structured-content", {"location": "Chicago"})
    assert set(structured["structuredContent"]) == {"temperature", "conditions", "humidity"}
    assert json.loads(_text(structured)) == structured["structuredContent"]

    assert everything.call("get-annotated-message", {"messageType": "error"})["content"][0]["annotations"]


def test_everything_reports_progress(everything: MCPClient) -> None:
    """Spec, progress: before the result; of several that arrive together the newest is reported."""
    heard: list[Any] = []

    result = everything.call("trigger-long-running-operation", {"duration": 0.3, "steps": 3}, on_progress=heard.append)

    assert "completed" in _text(result)
    steps = [(step.progress, step.total) for step in heard]
    assert steps[-1] == (3, 3)
    assert steps == sorted(set(steps))


def test_an_elicitation_of_everything_is_declined_without_a_person(everything: MCPClient) -> None:
    """Spec, elicitation: a decline is a valid answer."""
    assert "declined" in _text(everything.call("trigger-elicitation-request", {}))


def test_everything_has_no_sampling_tool_without_the_capability(everything: MCPClient) -> None:
    """Spec: a server must not use what a client did not declare."""
    assert "trigger-sampling-request" not in _names(everything)


def test_everything_reports_invalid_arguments_and_unknown_tools(everything: MCPClient) -> None:
    """Spec, errors: an error response or a tool error; both are reported."""
    assert everything.call_tool("get-sum", {"a": "x"}) != {}
    result = everything.call_tool("nope", {})
    assert "nope" in json.dumps(result)


def test_everything_goes_on_after_a_timeout(everything: MCPClient) -> None:
    """Spec, B-8: on expiry the request is cancelled; the conversation lives."""
    with pytest.raises(DeadlineError):
        everything.call("trigger-long-running-operation", {"duration": 60, "steps": 1}, Deadline(0.3))

    assert _text(everything.call("echo", {"message": "still here"})) == "Echo: still here"


def test_everything_has_prompts_and_resources(everything: MCPClient) -> None:
    """Spec, prompts and resources, through the general request."""
    prompts = {prompt["name"] for prompt in everything.items("prompts/list")}
    assert prompts
    uris = [resource["uri"] for resource in everything.items("resources/list")]
    assert everything.request("resources/read", {"uri": uris[0]})["contents"]


def test_the_filesystem_server_writes_and_reads_real_files(
    npm_servers: dict[str, list[str]], connect: Connect, tmp_path: Path
) -> None:
    """A real effect, with a text of many kinds of characters; a path outside is refused."""
    client = connect(*npm_servers["filesystem"], tmp_path)
    text = "line\n\ttab “quotes” \U0001f30d\n"

    client.call("write_file", {"path": str(tmp_path / "a.txt"), "content": text})

    assert (tmp_path / "a.txt").read_text() == text
    assert _text(client.call("read_text_file", {"path": str(tmp_path / "a.txt")})) == text
    assert "a.txt" in _text(client.call("list_directory", {"path": str(tmp_path)}))
    assert client.call("read_text_file", {"path": "/etc/passwd"})["isError"] is True
    assert len(_names(client)) >= 10
    _assert_no_warning(client, "filesystem")


def test_the_memory_server_remembers(npm_servers: dict[str, list[str]], connect: Connect, tmp_path: Path) -> None:
    """A real effect: the next process has the entities that one process saved."""
    memory = tmp_path / "memory.jsonl"
    entity = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    first = connect(*npm_servers["memory"], env={"MEMORY_FILE_PATH": str(memory)})
    first.call("create_entities", {"entities": [entity]})
    first.disconnect()

    second = connect(*npm_servers["memory"], env={"MEMORY_FILE_PATH": str(memory)})

    assert second.call("open_nodes", {"names": ["Ada"]})["structuredContent"]["entities"] == [entity]
    assert "Ada" in memory.read_text()
    _assert_no_warning(second, "memory")


# In this environment: the stateless era, Python.


def test_the_time_server_converts_between_zones(connect: Connect) -> None:
    """Spec 2026-07-28: discovered, no handshake."""
    client = connect(sys.executable, "-m", "mcp_server_time")
    assert client.peer is not None
    assert (client.peer.version, client.peer.era) == ("2026-07-28", "stateless")
    assert _names(client) == {"get_current_time", "convert_time"}

    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    result = client.call("convert_time", arguments)

    assert "21:00" in result["structuredContent"]["target"]["datetime"]
    assert json.loads(_text(result)) == result["structuredContent"]
    assert client.call("convert_time", {**arguments, "target_timezone": "No/Where"})["isError"] is True
    _assert_no_warning(client, "mcp_server_time")


def test_the_git_server_sees_a_real_repository(connect: Connect, tmp_path: Path) -> None:
    """A real effect: what is added and committed through it is in the repository."""
    environment = {"GIT_CONFIG_GLOBAL": str(tmp_path / "config"), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    (tmp_path / "config").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=repository, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "--quiet", ".")
    (repository / "new.txt").write_text("new\n")
    client = connect(sys.executable, "-m", "mcp_server_git", env=environment)
    where = {"repo_path": str(repository)}

    assert "new.txt" in _text(client.call("git_status", where))
    client.call("git_add", {**where, "files": ["new.txt"]})
    client.call("git_commit", {**where, "message": "say hello"})

    assert "say hello" in git("log", "--format=%s")
    assert "clean" in _text(client.call("git_status", where))
    _assert_no_warning(client, "mcp_server_git")


@pytest.fixture(scope="module")
def sdk(connect_once: Connect) -> MCPClient:
    return connect_once(sys.executable, PROGRAMS / "sdk_server.py")


def test_a_server_of_the_sdk_is_discovered(sdk: MCPClient) -> None:
    """Spec 2026-07-28."""
    assert sdk.peer is not None
    assert (sdk.peer.version, sdk.peer.era) == ("2026-07-28", "stateless")
    assert (sdk.peer.info["name"], sdk.peer.info["version"]) == ("sdk", "1.2.3")
    assert sdk.peer.instructions == "Just try."
    assert {"greet", "weather", "work", "favourite"} <= _names(sdk)
    sdk.check_alive()


def test_a_server_of_the_sdk_returns_structured_output(sdk: MCPClient) -> None:
    """Spec, structured content, with its schema in the list."""
    result = sdk.call("weather", {"city": "Oslo"})

    assert result["structuredContent"] == {"city": "Oslo", "degrees": 4.5}
    tool = sdk.find_tool("weather")
    assert tool is not None
    assert tool.output_schema["properties"]["degrees"]["type"] == "number"


def test_a_server_of_the_sdk_reports_progress(sdk: MCPClient) -> None:
    """Spec, progress. Ours: of several that arrive together the newest is reported."""
    heard: list[Any] = []

    assert _text(sdk.call("work", {"steps": 3}, on_progress=heard.append)) == "worked"
    steps = [(step.progress, step.total, step.text) for step in heard]
    assert steps == [step for step in [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")] if step in steps]
    assert steps[-1] == (3, 3, "step 3")


def test_an_elicitation_of_the_sdk_is_declined_without_a_person(sdk: MCPClient) -> None:
    """Spec, elicitation: a decline aborts this tool, which is a tool error."""
    assert sdk.call("favourite", {"question": "Which colour?"})["isError"] is True


def test_a_server_of_the_sdk_gets_no_undeclared_sampling(sdk: MCPClient) -> None:
    """Spec, MS-4 and LC-3: an undeclared capability must not be used. The call fails at once, and others go on."""
    with pytest.raises((PeerError, RemoteProtocolError), match=r"(?i)sampling|capabilit"):
        sdk.call("dream", {})
    sdk.check_alive()


def test_failures_of_a_server_of_the_sdk_are_results_or_errors(sdk: MCPClient) -> None:
    """Spec, errors."""
    assert "fail" in _text(sdk.call("fail", {}))
    assert sdk.call("fail", {})["isError"] is True
    assert "name" in json.dumps(sdk.call_tool("greet", {"nme": "Ada"}))
    assert "nope" in json.dumps(sdk.call_tool("nope", {}))


def test_a_server_of_the_sdk_goes_on_after_a_timeout(sdk: MCPClient) -> None:
    """Spec, cancellation."""
    with pytest.raises(DeadlineError):
        sdk.call("sleep", {}, Deadline(0.3))

    assert _text(sdk.call("greet", {"name": "Ada"})) == "Hello, Ada!"


def test_forty_threads_share_one_server_of_the_sdk(sdk: MCPClient) -> None:
    """Ours: each thread gets the responses to its own requests."""
    greetings: dict[int, str] = {}

    def greet(number: int) -> None:
        greetings[number] = _text(sdk.call("greet", {"name": str(number)}))

    threads = [threading.Thread(target=greet, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert greetings == {number: f"Hello, {number}!" for number in range(40)}


def test_a_server_of_the_sdk_has_prompts_and_resources(sdk: MCPClient) -> None:
    """Spec, prompts and resources, through the general request."""
    assert [prompt["name"] for prompt in sdk.items("prompts/list")] == ["review"]
    got = sdk.request("prompts/get", {"name": "review", "arguments": {"language": "Python"}})
    assert got["messages"][0]["content"]["text"] == "Review this Python."
    assert [resource["uri"] for resource in sdk.items("resources/list")] == ["sdk://about"]
    assert sdk.request("resources/read", {"uri": "sdk://about"})["contents"][0]["text"] == "a server"


# The SDK of 2025.


@pytest.fixture(scope="module")
def old(old_python: Path, connect_once: Connect) -> MCPClient:
    return connect_once(old_python, PROGRAMS / "old_server.py")


def test_an_old_server_is_connected_by_handshake(old: MCPClient) -> None:
    """Spec, compatibility: it answers the probe with -32602, and counter-offers its own newest version."""
    assert old.peer is not None
    assert (old.peer.version, old.peer.era) == ("2025-03-26", "handshake")
    assert _names(old) == {"greet", "work", "sample", "fail"}
    old.check_alive()


def test_an_old_server_is_called_with_progress_and_failures(old: MCPClient) -> None:
    """Spec 2025-03-26: calls, failures, progress, of which the newest counts."""
    heard: list[Any] = []

    assert _text(old.call("greet", {"name": "Ada"})) == "Hello, Ada!"
    assert _text(old.call("work", {"steps": 2}, on_progress=heard.append)) == "worked"
    assert [(step.progress, step.total) for step in heard][-1:] == [(2, 2)]
    assert old.call("fail", {})["isError"] is True
    assert old.call("nope", {})["isError"] is True


def test_sampling_by_an_old_server_is_refused(old: MCPClient) -> None:
    """Spec, LC-10: refused rather than ignored, or its tool would hang."""
    result = old.call("sample", {})

    assert result["isError"] is True
    assert "Method not found" in _text(result)
