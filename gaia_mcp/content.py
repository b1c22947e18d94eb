"""Tool results that are not JSON: images, audio, files. Each becomes a content block of the result."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, ClassVar

from gaia_mcp.filebytes import read_file

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

    from gaia_mcp.jsonvalues import as_json_value

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
