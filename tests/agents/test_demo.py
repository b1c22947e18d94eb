from __future__ import annotations

import base64
import io
import json
import struct
import threading
import wave
import zlib
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from gaia_mcp import __version__
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CancelledError, PeerError
from gaia_mcp.testing import client_for
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client.mcp_client import MCPClient

    Connect = Callable[..., MCPClient]

REVISIONS = ["2026-07-28", "2025-11-25"]


@pytest.fixture(params=REVISIONS)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes a client of the demo, in each era."""
    clients: list[MCPClient] = []

    def make(**answers: Any) -> MCPClient:
        client = client_for(DemoAgent(), revision=request.param, **answers)
        clients.append(client)
        client.open()
        return client

    yield make
    for client in clients:
        client.disconnect()


@pytest.fixture
def client(connect: Connect) -> MCPClient:
    """A client that answers nothing."""
    return connect()


def blocks(client: MCPClient, tool: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """The content of a result."""
    result = client.call(tool, arguments)
    assert result["isError"] is False, result
    found: list[dict[str, Any]] = result["content"]
    return found


def text(client: MCPClient, tool: str, /, **arguments: Any) -> str:
    """The only text of a result."""
    (block,) = blocks(client, tool, **arguments)
    return str(block["text"])


@pytest.mark.parametrize(
    ("arguments", "greeting"),
    [
        ({"name": "Ada"}, "Hello, Ada!"),
        ({"name": "Ada", "style": "warm"}, "How good to see you, Ada!"),
        ({"name": "Ada", "style": "formal"}, "Good day, Ada."),
    ],
)
def test_greet_returns_a_greeting_in_each_style(client: MCPClient, arguments: dict[str, str], greeting: str) -> None:
    """Ours: a text alone."""
    assert text(client, "greet", **arguments) == greeting
    assert "structuredContent" not in client.call("greet", arguments)


def test_add_returns_structured_content(client: MCPClient) -> None:
    """Spec, MS-16: structured results conform to the output schema, which the client checks."""
    assert client.call("add", {"a": 1, "b": 2.5})["structuredContent"] == {"sum": 3.5}
    assert type(client.call("add", {"a": 1, "b": 2})["structuredContent"]["sum"]) is int


@pytest.mark.parametrize(("arguments", "size"), [({}, 64), ({"size": 1}, 1), ({"size": 300}, 300)])
def test_picture_returns_a_png_of_the_requested_size(client: MCPClient, arguments: dict[str, int], size: int) -> None:
    """Ours: signature, header, checksums and pixels, read by hand."""
    (block,) = blocks(client, "picture", **arguments)
    data = base64.b64decode(block["data"])

    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + length
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (size, size)
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == size * (1 + 3 * size)
    assert rows[1:4] == bytes((0, 0, 160))


def test_sound_returns_a_wav_of_the_requested_length(client: MCPClient) -> None:
    """Ours: a client that plays sound can be tried with it."""
    (block,) = blocks(client, "sound", seconds=0.5, hertz=100)

    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    with wave.open(io.BytesIO(base64.b64decode(block["data"]))) as tone:
        assert (tone.getnframes(), tone.getframerate(), tone.getnchannels()) == (4000, 8000, 1)
        assert any(tone.readframes(4000))


def test_attach_returns_every_other_kind_of_block(client: MCPClient) -> None:
    """Spec, ContentBlock: text, embedded text, embedded blob, link."""
    found = blocks(client, "attach")

    assert [block["type"] for block in found] == ["text", "resource", "resource", "resource_link"]
    assert "text" in found[1]["resource"]
    assert base64.b64decode(found[2]["resource"]["blob"]).startswith(b"\x89PNG")


def test_fail_returns_an_error(client: MCPClient) -> None:
    """Ours: a client shows an error of a tool otherwise than a result."""
    for arguments, message in (({}, "this tool always fails"), ({"message": "this time"}, "this time")):
        result = client.call("fail", arguments)
        assert result["isError"] is True
        assert message in result["content"][0]["text"]


def test_countdown_reports_each_step(client: MCPClient) -> None:
    """Ours; a slow client may get only the newest of several notifications."""
    progress: list[Any] = []
    result = client.call("countdown", {"steps": 2, "seconds": 0}, on_progress=progress.append)

    assert result["content"][0]["text"] == "counted down from 2"
    assert progress[-1][1:] == (2, 2, "0 to go")


def test_countdown_stops_when_its_call_is_cancelled(client: MCPClient) -> None:
    """Ours: the client waits no longer, and the tool ends long before its minute."""
    before = set(threading.enumerate())
    deadline = Deadline(20)

    def count() -> None:
        with pytest.raises(CancelledError):
            client.call("countdown", {"seconds": 60}, deadline=deadline)

    thread = threading.Thread(target=count)
    thread.start()
    wait_until(lambda: any(one.name == "call" for one in set(threading.enumerate()) - before))
    deadline.cancel()
    thread.join()
    wait_until(lambda: not any(one.name == "call" for one in set(threading.enumerate()) - before))


def test_order_elicits_the_fields_of_a_form(connect: Connect) -> None:
    """Ours: the fields that are not answered have their defaults."""
    client = connect(answers=[{"size": "large", "sugar": True}, "decline"])

    assert text(client, "order") == "1 large, with sugar"
    assert text(client, "order") == "no coffee"


def test_haiku_requests_sampling(connect: Connect) -> None:
    """Spec, sampling: the text of the client's model is the result."""
    assert text(connect(sample="An old pond."), "haiku", about="frogs") == "An old pond."


def test_a_note_becomes_a_resource_and_clients_are_notified(client: MCPClient) -> None:
    """Ours: by a changed list, and by an update of the resource that they follow."""
    changed: list[Any] = []
    updated: list[str] = []
    client.on_list_changed = changed.append
    client.on_resource_updated = updated.append
    client.subscribe_resource("demo://notes")
    assert len(client.list_resources()) == 3

    assert text(client, "note", text="buy milk") == "1"

    wait_until(lambda: changed and updated)
    assert updated == ["demo://notes"]
    assert len(client.list_resources()) == 4
    assert json.loads(client.read_resource("demo://notes")["contents"][0]["text"]) == ["buy milk"]
    assert client.read_resource("demo://notes/1")["contents"][0]["text"] == "buy milk"
    with pytest.raises(PeerError):
        client.read_resource("demo://notes/2")
    template = {"type": "ref/resource", "uri": "demo://notes/{number}"}
    assert client.complete(template, "number", "").values == ["1"]


def test_the_prompt_and_the_resources_can_be_read(client: MCPClient) -> None:
    """Ours: everything that is listed."""
    (prompt,) = client.list_prompts()
    said = [
        client.get_prompt("introduce", arguments)["messages"][0]["content"]["text"]
        for arguments in ({"name": "Ada"}, {"name": "Ada", "language": "Dutch"})
    ]

    assert [argument["name"] for argument in prompt["arguments"]] == ["name", "language"]
    assert said == [f"Introduce Ada in two sentences, in {language}." for language in ("English", "Dutch")]
    completion = client.complete({"type": "ref/prompt", "name": "introduce"}, "language", "d")
    assert completion.values == ["Danish", "Dutch"]
    for resource in client.list_resources():
        assert client.read_resource(resource["uri"])["contents"]


def test_unknown_names_are_refused(client: MCPClient) -> None:
    """Spec, MS-15."""
    with pytest.raises(PeerError):
        client.read_resource("demo://nope")
    with pytest.raises(PeerError):
        client.get_prompt("nope", {})
    with pytest.raises(ValueError, match="Unknown tool: nope"):
        DemoAgent().execute_mcp_tool("nope", {})


def test_the_server_info_has_the_version_of_the_package() -> None:
    """Ours: and names every tool."""
    demo = DemoAgent()
    info = demo.get_mcp_server_info()

    assert info["name"] == "demo"
    assert info["version"] == __version__
    assert all(name in info["instructions"] for name in (tool["name"] for tool in demo.get_mcp_tool_definitions()))
    assert demo.get_mcp_tool_problems() == []


def test_the_input_schemas_are_valid() -> None:
    """Spec, B-4: 2020-12, an object at the root; every default fits."""
    for tool in DemoAgent().get_mcp_tool_definitions():
        json.dumps(tool)
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        for described in tool["inputSchema"].get("properties", {}).values():
            if "default" in described:
                jsonschema.validate(described["default"], described)
