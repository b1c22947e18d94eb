"""The results of tools: Python values as JSON values, and images, audio and files as content blocks.

Knows the standard types and pydantic's models, without importing any of them: a value whose type is not loaded cannot
exist.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.core.files import read_file

if TYPE_CHECKING:
    import os
    from pathlib import Path

Wire = dict[str, Any]

# A response is one line of JSON, and no client takes one as long as this in base64.
MAX_BYTES = 256 << 20
UNKNOWN = "application/octet-stream"
# The first bytes of files of these types; `*` stands for any four bytes.
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF*WEBP", "image/webp"),
    (b"RIFF*WAVE", "audio/wav"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)
# For names that the platform's table lacks or maps differently.
_FORMATS = {"jpg": "jpeg", "mp3": "mpeg", "svg": "svg+xml", "m4a": "mp4"}


class Image:
    """An image, from a file or from bytes. `format` is a short name such as "png", or a whole MIME type; without it the
    type is derived from the file's name, or from the first bytes.

    Raises `TypeError` unless exactly one of `path` and `data` is given, `ValueError` if the type of the bytes is
    unknown.
    """

    family: ClassVar[str] = "image"

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        format: str | None = None,  # noqa: A002
    ) -> None:
        name = type(self).__name__
        if isinstance(path, (bytes, bytearray)):
            raise TypeError(f"{name} takes bytes as {name}(data=…)")
        if (path is None) == (data is None):
            raise TypeError(f"{name} needs either path or data")
        self.path = _path(path) if path is not None else None
        self.data = data
        self.mime_type = self._type_of(format)

    def block(self) -> Wire:
        """The content block. Raises `OSError` if the file cannot be read."""
        return {"type": self.family, "data": _base64(self._read()), "mimeType": self.mime_type}

    def _read(self) -> bytes:
        if self.path is not None:
            return read_file(self.path, MAX_BYTES)
        return bytes(self.data or b"")

    def _type_of(self, format: str | None) -> str:  # noqa: A002
        if format is not None:
            return format if "/" in format else f"{self.family}/{_FORMATS.get(format.lower(), format.lower())}"
        found = _type_of_name(self.path.name) if self.path is not None else type_of_bytes(self.data or b"")
        if not found.startswith(f"{self.family}/"):
            raise ValueError(f"this is not known to be {self.family}: give its format, such as {self.family}/…")
        return found


class Audio(Image):
    """Audio; otherwise as `Image`."""

    family = "audio"


class File(Image):
    """A file of any type, which becomes an embedded resource, as text if possible, else as bytes. `name` is the file
    name to save it under, without a folder; by default that of `path`. `uri` is for a resource of the server. Otherwise
    as `Image`; the type may be unknown.
    """

    family = "application"

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        format: str | None = None,  # noqa: A002
        name: str | None = None,
        uri: str | None = None,
    ) -> None:
        self.name = name
        self.uri = uri
        super().__init__(path, data, format)

    def block(self) -> Wire:
        """The content block. Raises `OSError` if the file cannot be read."""
        from urllib.parse import quote

        data = self._read()
        name = self.name or (self.path.name if self.path is not None else f"file{_suffix_of(self.mime_type)}")
        resource: Wire = {"uri": self.uri or f"attachment:///{quote(name)}", "mimeType": self.mime_type}
        return {"type": "resource", "resource": {**resource, **_text_or_blob(data, self.mime_type)}}

    def _type_of(self, format: str | None) -> str:  # noqa: A002
        if format is not None:
            return format if "/" in format else _type_of_name(f"file.{format}")
        name = self.name or (self.path.name if self.path is not None else "")
        named = _type_of_name(name)
        return named if named != UNKNOWN or self.data is None else type_of_bytes(self.data)


def content_blocks(value: Any) -> list[Wire] | None:
    """The content of a result that is an `Image`, `Audio`, `File` or bytes, or a list with such items; None for any
    other value. Other items of such a list become text, except content blocks, which are unchanged.

    Raises `OSError` if a file cannot be read, and `NotJSONError`.
    """
    if isinstance(value, Image):
        return [value.block()]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [_block_of_bytes(bytes(value))]
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Image, bytes, bytearray)) for item in value):
        return [block for item in value for block in content_blocks(item) or [_block_of(item)]]
    return None


def type_of_bytes(data: bytes) -> str:
    """The MIME type of `data`, by its first bytes."""
    for beginning, mime_type in _BEGINNINGS:
        lead, _, rest = beginning.partition(b"*")
        if data.startswith(lead) and data[len(lead) + 4 :].startswith(rest):
            return mime_type
    return UNKNOWN


def _block_of_bytes(data: bytes) -> Wire:
    family = type_of_bytes(data).partition("/")[0]
    makers = {"image": Image, "audio": Audio}
    return makers.get(family, File)(data=data).block()


def _block_of(value: Any) -> Wire:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return value
    if isinstance(value, str):
        return {"type": "text", "text": value}
    import json

    return {"type": "text", "text": json.dumps(as_json_value(value), ensure_ascii=False)}


def _text_or_blob(data: bytes, mime_type: str) -> Wire:
    if mime_type.startswith("text/") or mime_type in ("application/json", "image/svg+xml"):
        try:
            return {"text": data.decode("utf-8")}
        except UnicodeDecodeError:
            pass  # Bytes, whatever their type claims.
    return {"blob": _base64(data)}


def _path(path: str | os.PathLike[str]) -> Path:
    from pathlib import Path

    return Path(path)


def _type_of_name(name: str) -> str:
    import mimetypes

    return mimetypes.guess_type(name)[0] or UNKNOWN


def _suffix_of(mime_type: str) -> str:
    import mimetypes

    return mimetypes.guess_extension(mime_type) or ""


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_SCALARS = frozenset({str, int, float, bool, type(None)})


class NotJSONError(TypeError):
    """A value that JSON cannot express. `where` is its path (`a.b[0]`), empty for the value itself."""

    def __init__(self, where: str, kind: type) -> None:
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        super().__init__(f"{where} is of type {name}" if where else f"it is of type {name}")
        self.where = where


def as_json_value(value: Any, where: str = "") -> Any:
    """`value` as a dict with string keys, list, string, number, boolean or None, made of such values throughout.

    A dataclass and a pydantic model become objects, a named tuple a list, an enumeration's member its value, bytes
    base64; times, durations, decimals, UUIDs and paths become text. Raises `NotJSONError`, and `RecursionError` for a
    value that contains itself.
    """
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Enum):
        return as_json_value(value.value, where)
    if isinstance(value, Mapping):
        return {_key(key, where): as_json_value(item, at(where, str(key))) for key, item in value.items()}
    if isinstance(value, (list, tuple, Set)):
        items = _sorted(value) if isinstance(value, Set) else value
        return [as_json_value(item, at(where, number)) for number, item in enumerate(items)]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (str, int, float)):
        return value
    if (make := _maker(value)) is not None:
        return as_json_value(make(value), where)
    raise NotJSONError(where, type(value))


def at(where: str, step: str | int) -> str:
    """The path of a member or an item of the value at `where`."""
    if isinstance(step, int):
        return f"{where}[{step}]"
    return f"{where}.{step}" if where else step


def duration_text(value: Any) -> str:
    """A `timedelta` by ISO 8601: `P1DT2H3M4.5S`."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    parts = ((hours, "H"), (minutes, "M"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if number)
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    date = f"{value.days}D" if value.days else ""
    return f"{sign}P{date}T{clock}" if clock else f"{sign}P{date or 'T0S'}"


def _key(key: Any, where: str) -> str:
    plain = as_json_value(key, where)
    if isinstance(plain, str):
        return plain
    if isinstance(plain, (list, dict)):
        raise NotJSONError(f"a key of {where}" if where else "a key", type(key))
    return json.dumps(plain)


def _sorted(items: Set[Any]) -> list[Any]:
    """The items in an order that is the same in every process, if they can be ordered."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


def _fields(record: Any) -> dict[str, Any]:
    import dataclasses

    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


# By the full names of types.
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "datetime.datetime": lambda value: value.isoformat(),
    "datetime.date": lambda value: value.isoformat(),
    "datetime.time": lambda value: value.isoformat(),
    "datetime.timedelta": duration_text,
    "decimal.Decimal": str,
    "uuid.UUID": str,
}


def _maker(value: Any) -> Callable[[Any], Any] | None:
    """The function that converts a value of this type to a simpler one, None if there is none."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)):
        return lambda model: model.model_dump(mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        return _fields
    if hasattr(kind, "__fspath__"):
        return lambda path: path.__fspath__()
    return next((make for base in kind.__mro__ if (make := _MAKERS.get(f"{base.__module__}.{base.__name__}"))), None)
