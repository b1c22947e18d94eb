from __future__ import annotations

import base64
import io
import json
import wave
from typing import Any

import jsonschema
import pytest

from gaia_mcp import __version__
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.toolcall import Call, CallCancelledError, enter_call


@pytest.fixture
def demo() -> DemoAgent:
    return DemoAgent()


@pytest.mark.parametrize(
    ("arguments", "greeting"),
    [
        ({"name": "Ada"}, "Hello, Ada!"),
        ({"name": "Ada", "style": "warm"}, "How good to see you, Ada!"),
        ({"name": "Ada", "style": "formal"}, "Good day, Ada."),
    ],
)
def test_greet_says_hello_in_each_style(demo: DemoAgent, arguments: dict[str, str], greeting: str) -> None:
    """Ours."""
    assert demo.execute_mcp_tool("greet", arguments) == greeting


def test_add_is_structured_and_fits_its_own_schema(demo: DemoAgent) -> None:
    """Spec, MS-16: structured results conform to the output schema."""
    schema = next(tool for tool in demo.get_mcp_tool_definitions() if tool["name"] == "add")["outputSchema"]

    result = demo.execute_mcp_tool("add", {"a": 1, "b": 2.5})

    assert result == {"sum": 3.5}
    jsonschema.validate(result, schema)


@pytest.mark.parametrize(("arguments", "size"), [({}, 64), ({"size": 1}, 1), ({"size": 300}, 300)])
def test_picture_is_a_png_of_the_size_that_was_asked_for(demo: DemoAgent, arguments: dict[str, int], size: int) -> None:
    """Ours: signature, header, checksums and pixels, read by hand."""
    import struct
    import zlib

    (block,) = demo.execute_mcp_tool("picture", arguments)["content"]
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


def test_sound_is_a_wav_of_the_length_that_was_asked_for(demo: DemoAgent) -> None:
    """Ours."""
    (block,) = demo.execute_mcp_tool("sound", {"seconds": 0.5, "hertz": 100})["content"]

    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    with wave.open(io.BytesIO(base64.b64decode(block["data"]))) as tone:
        assert (tone.getnframes(), tone.getframerate(), tone.getnchannels()) == (4000, 8000, 1)
        assert any(tone.readframes(4000))


def test_attach_returns_every_other_kind_of_block(demo: DemoAgent) -> None:
    """Spec, ContentBlock: text, embedded text, embedded blob, link."""
    blocks = demo.execute_mcp_tool("attach", {})["content"]

    assert [block["type"] for block in blocks] == ["text", "resource", "resource", "resource_link"]
    assert "text" in blocks[1]["resource"]
    assert base64.b64decode(blocks[2]["resource"]["blob"]).startswith(b"\x89PNG")


def test_countdown_reports_each_step(demo: DemoAgent) -> None:
    """Ours."""
    told: list[Any] = []
    enter_call(Call(lambda *progress: told.append(progress)))
    try:
        assert demo.execute_mcp_tool("countdown", {"steps": 2, "seconds": 0}) == "counted down from 2"
    finally:
        enter_call(None)

    assert told == [(1, 2, "1 to go"), (2, 2, "0 to go")]


def test_countdown_stops_when_its_call_is_cancelled(demo: DemoAgent) -> None:
    """Ours."""
    call = Call()
    call.cancel()
    enter_call(call)
    try:
        with pytest.raises(CallCancelledError):
            demo.execute_mcp_tool("countdown", {"seconds": 60})
    finally:
        enter_call(None)


def test_fail_fails(demo: DemoAgent) -> None:
    """Ours."""
    with pytest.raises(RuntimeError, match="always fails"):
        demo.execute_mcp_tool("fail", {})
    with pytest.raises(RuntimeError, match="this time"):
        demo.execute_mcp_tool("fail", {"message": "this time"})


def test_unknown_names_are_value_errors(demo: DemoAgent) -> None:
    """GAIA's documents."""
    with pytest.raises(ValueError, match="Unknown tool: nope"):
        demo.execute_mcp_tool("nope", {})
    with pytest.raises(ValueError, match="Unknown prompt: nope"):
        demo.get_mcp_prompt("nope", {})
    with pytest.raises(ValueError, match="Unknown resource: demo://nope"):
        demo.read_mcp_resource("demo://nope")


def test_its_prompt_and_its_resources_can_be_had(demo: DemoAgent) -> None:
    """Ours: everything that is listed."""
    assert demo.get_mcp_prompt("introduce", {"name": "Ada"}) == "Introduce Ada in two sentences, in English."
    assert demo.get_mcp_prompt("introduce", {"name": "Ada", "language": "Dutch"}).endswith("in Dutch.")
    assert [prompt["name"] for prompt in demo.get_mcp_prompts()] == ["introduce"]
    for resource in demo.get_mcp_resources():
        assert demo.read_mcp_resource(resource["uri"])


def test_it_presents_itself_with_the_version_of_the_package(demo: DemoAgent) -> None:
    """Ours."""
    info = demo.get_mcp_server_info()

    assert info["name"] == "demo"
    assert info["version"] == __version__
    assert all(name in info["instructions"] for name in (tool["name"] for tool in demo.get_mcp_tool_definitions()))


def test_its_definitions_are_valid_json_schema(demo: DemoAgent) -> None:
    """Spec, B-4: 2020-12, an object at the root; every default fits."""
    for tool in demo.get_mcp_tool_definitions():
        json.dumps(tool)
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        for described in tool["inputSchema"].get("properties", {}).values():
            if "default" in described:
                jsonschema.validate(described["default"], described)
