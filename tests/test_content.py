"""Images, sounds and files as content blocks."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import gaia_mcp
from gaia_mcp.content import Audio, File, Image, content_blocks, type_of_bytes
from gaia_mcp.jsonvalues import NotJSONError

if TYPE_CHECKING:
    from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n rest"
WAV = b"RIFF\x00\x01\x02\x03WAVEfmt "


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_the_classes_are_importable_from_the_package() -> None:
    """Ours: authors import them beside `tool`."""
    assert (gaia_mcp.Image, gaia_mcp.Audio, gaia_mcp.File) == (Image, Audio, File)


def test_the_mime_type_of_bytes_is_detected_by_their_signature() -> None:
    """Ours: a tool that returns bytes need not name their type."""
    cases = [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x01\x02\x03WEBP", "image/webp"),
        (WAV, "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"%PDF-1.7", "application/pdf"),
        (b"RIFF", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ]

    wrong = [(data, found) for data, mime_type in cases if (found := type_of_bytes(data)) != mime_type]

    assert not wrong


def test_an_image_and_a_sound_become_blocks() -> None:
    """Spec, image and audio content: base64 and a MIME type."""
    cases = [
        (Image(data=PNG), {"type": "image", "data": encoded(PNG), "mimeType": "image/png"}),
        (Image(data=b"x", format="jpg"), {"type": "image", "data": encoded(b"x"), "mimeType": "image/jpeg"}),
        (Image(data=b"x", format="image/avif"), {"type": "image", "data": encoded(b"x"), "mimeType": "image/avif"}),
        (Audio(data=WAV), {"type": "audio", "data": encoded(WAV), "mimeType": "audio/wav"}),
        (Audio(data=b"x", format="MP3"), {"type": "audio", "data": encoded(b"x"), "mimeType": "audio/mpeg"}),
        (PNG, {"type": "image", "data": encoded(PNG), "mimeType": "image/png"}),
        (bytearray(WAV), {"type": "audio", "data": encoded(WAV), "mimeType": "audio/wav"}),
    ]

    wrong = [(value, block) for value, block in cases if content_blocks(value) != [block]]

    assert not wrong


def test_a_file_becomes_an_embedded_resource() -> None:
    """Spec, embedded resources: a URI, a MIME type, and text or a blob."""
    cases = [
        (File(data=b"%PDF-1"), ("attachment:///file.pdf", "application/pdf", "blob", encoded(b"%PDF-1"))),
        (File(data=b"a,b", format="csv"), ("attachment:///file.csv", "text/csv", "text", "a,b")),
        (File(data=b"{}", name="my data.json"), ("attachment:///my%20data.json", "application/json", "text", "{}")),
        (File(data=b"\xff", name="a.txt"), ("attachment:///a.txt", "text/plain", "blob", encoded(b"\xff"))),
        (File(data=b"x", format="txt", uri="test://a"), ("test://a", "text/plain", "text", "x")),
        (File(data=b"x", format="text/x-own", name="n"), ("attachment:///n", "text/x-own", "text", "x")),
        (b"\x00\x01", ("attachment:///file.bin", "application/octet-stream", "blob", encoded(b"\x00\x01"))),
    ]

    wrong = []
    for value, resource in cases:
        uri, mime_type, member, content = resource
        if content_blocks(value) != [
            {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, member: content}}
        ]:
            wrong.append((value, resource))

    assert not wrong


def test_a_path_is_read_when_the_result_is_made(tmp_path: Path) -> None:
    """Ours: with the type of its name."""
    path = tmp_path / "my plot.png"
    image, file = Image(path), File(path=str(path))
    path.write_bytes(b"now")

    assert image.block() == {"type": "image", "data": encoded(b"now"), "mimeType": "image/png"}
    assert file.block()["resource"]["uri"] == "attachment:///my%20plot.png"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        image.block()


def test_a_list_may_mix_images_text_blocks_and_values() -> None:
    """Ours: a picture with its caption."""
    link = {"type": "resource_link", "uri": "x://a", "name": "a"}

    assert content_blocks(["caption", Image(data=PNG), link, {"n": 1}, (1, 2)]) == [
        {"type": "text", "text": "caption"},
        {"type": "image", "data": encoded(PNG), "mimeType": "image/png"},
        link,
        {"type": "text", "text": '{"n": 1}'},
        {"type": "text", "text": "[1, 2]"},
    ]


def test_any_other_value_has_no_content_blocks() -> None:
    """Ours: it becomes JSON."""
    cases = [None, "text", 1, {"a": PNG}, ["text"], []]

    wrong = [value for value in cases if content_blocks(value) is not None]

    assert not wrong


def test_a_value_that_is_not_json_beside_an_image_is_an_error() -> None:
    """Ours: the author of the tool has to find the value."""
    with pytest.raises(NotJSONError):
        content_blocks([PNG, object()])


def test_bytes_given_as_the_path_are_an_error_that_names_data() -> None:
    """Ours: the first argument is a path, and a first author tries bytes."""
    with pytest.raises(TypeError, match=r"Image takes bytes as Image\(data=…\)"):
        Image(b"\x89PNG\r\n\x1a\n")  # type: ignore[arg-type]


def test_an_image_has_one_source_and_a_known_type(tmp_path: Path) -> None:
    """Ours: a wrong type is worse than an error, which names what is missing."""
    for wrong in ({}, {"path": "a.png", "data": PNG}):
        with pytest.raises(TypeError, match="Image needs either path or data"):
            Image(**wrong)  # type: ignore[arg-type]
    for make in (lambda: Image(data=b"x"), lambda: Image("a.txt"), lambda: Image(data=WAV)):
        with pytest.raises(ValueError, match="give its format, such as image/"):
            make()
