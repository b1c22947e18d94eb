"""Images, sounds and files as content blocks."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import threading
import types
import typing
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field

import gaia_mcp
from gaia_mcp.core.content import (
    Audio,
    File,
    Image,
    NotJSONError,
    as_json_value,
    content_blocks,
    duration_text,
    type_of_bytes,
)

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


class Colour(enum.Enum):
    RED = "red"
    DEEP = datetime.date(2026, 1, 2)


class Size(enum.IntEnum):
    BIG = 3


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str] = dataclasses.field(default_factory=set)
    kind: typing.ClassVar[str] = "point"


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    path: pathlib.PurePosixPath


class Pair(typing.NamedTuple):
    left: int
    right: Colour


class Model(BaseModel):
    when: datetime.date
    inner: list[int] = Field(default=[], serialization_alias="items")


class Text(str):
    pass


DELTA = datetime.timedelta


def test_a_python_value_becomes_json() -> None:
    """Ours: as pydantic writes them, but for bytes, which are base64."""
    cases = [
        (None, None),
        ([1, 2.5, True, "x", None], [1, 2.5, True, "x", None]),
        (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (DELTA(hours=1), "PT1H"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (b"abc", "YWJj"),
        (Colour.RED, "red"),
        (Colour.DEEP, "2026-01-02"),
        (Size.BIG, 3),
        (Text("t"), "t"),
        (Pair(1, Colour.RED), [1, "red"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({"a": 1}.keys(), ["a"]),
        (Point(1, {"t"}), {"x": 1, "tags": ["t"]}),
        (Slotted(pathlib.PurePosixPath("p")), {"path": "p"}),
        (Model(when=datetime.date(2026, 1, 2), inner=[1]), {"when": "2026-01-02", "items": [1]}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        (collections.OrderedDict(a=b""), {"a": ""}),
        (
            {1: "a", None: "b", False: "c", Colour.RED: "d", datetime.date(2026, 1, 2): "e"},
            {"1": "a", "null": "b", "false": "c", "red": "d", "2026-01-02": "e"},
        ),
    ]

    wrong = [
        (value, plain)
        for value, plain in cases
        if not (as_json_value(value) == plain and json.loads(json.dumps(as_json_value(value))) == plain)
    ]

    assert not wrong


def test_a_set_of_unsortable_items_becomes_a_list() -> None:
    """Ours: a value of mixed types is not an error because it cannot be sorted."""
    assert sorted(as_json_value({1, "a"}), key=str) == [1, "a"]


def test_a_value_without_a_json_form_is_named_with_its_path() -> None:
    """Ours: the author has to find it."""
    cases = [
        (threading.Lock(), "it is of type _thread.lock"),
        (object(), "it is of type object"),
        ({"a": [1, Point(1, {2: object()})]}, "a[1].tags.2 is of type object"),
        ({(1, 2): 3}, "a key is of type tuple"),
        ({"a": {(1, 2): 3}}, "a key of a is of type tuple"),
        ((number for number in "ab"), "it is of type generator"),
    ]

    def error_of(value: Any) -> str | None:
        try:
            as_json_value(value)
        except NotJSONError as error:
            return str(error)
        return None

    wrong = [(value, found) for value, problem in cases if (found := error_of(value)) != problem]

    assert not wrong


def test_a_value_that_contains_itself_is_a_recursion_error() -> None:
    """Ours: it has no end."""
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(RecursionError):
        as_json_value(endless)


def test_a_duration_becomes_iso_8601() -> None:
    """ISO 8601, which JSON Schema's format "duration" refers to."""
    cases = [
        (DELTA(), "PT0S"),
        (DELTA(days=1), "P1D"),
        (DELTA(days=1, hours=2, minutes=3, seconds=4, microseconds=500000), "P1DT2H3M4.5S"),
        (DELTA(minutes=-1), "-PT1M"),
        (DELTA(microseconds=10), "PT0.00001S"),
    ]

    wrong = [(value, found) for value, text in cases if (found := duration_text(value)) != text]

    assert not wrong
