"""What an answer consists of: texts, and files, which are images, audio and resources. Knows no screen and no disk."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from gaia_mcp.safetext import encodable

# For types to which the platform's table gives an unusual suffix, or none.
_SUFFIXES = {
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "image/jpeg": ".jpg",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
    "application/octet-stream": ".bin",
    "text/plain": ".txt",
}
_UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


class Text(NamedTuple):
    """A text, of the type that its server gives, and what is wrong with it, in words; or the path of a saved file."""

    text: str
    mime_type: object = "text/plain"
    problem: str = ""
    is_path: bool = False


class File(NamedTuple):
    """A file: its bytes, also as text where it is one, its type, and a name that is safe on every system."""

    data: bytes
    text: str | None
    mime_type: str
    stem: str
    suffix: str

    @property
    def name(self) -> str:
        return self.stem + self.suffix

    def described(self) -> str:
        """`image/png, 4,031 bytes`."""
        return f"{self.mime_type}, {len(self.data):,} bytes"


Part: TypeAlias = Text | File


def parts_of(name: str, blocks: Iterable[Any]) -> Iterator[Part]:
    """The parts of content blocks; `name` is what a file is called that has no name of its own."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            yield Text(str(block.get("text", "")), None)
        elif kind in ("image", "audio"):
            yield _binary(name, block.get("data"), block.get("mimeType"), "")
        elif kind == "resource" and isinstance(resource := block.get("resource"), dict):
            yield resource_part(name, resource)
        elif kind == "resource_link":
            yield Text(str(block.get("uri", "")))
        else:
            # A kind of a newer protocol version is printed as JSON rather than lost.
            yield Text(json.dumps(block, ensure_ascii=False), "application/json")


def resource_part(name: str, resource: dict[str, Any]) -> Part:
    """The part that one resource is, whose URI may end in a name."""
    mime_type, uri = resource.get("mimeType"), str(resource.get("uri", ""))
    if not isinstance(text := resource.get("text"), str):
        return _binary(name, resource.get("blob"), mime_type, uri)
    kind = mime_type if isinstance(mime_type, str) else "text/plain"
    return File(encodable(text).encode(), text, kind, *_name_for(name, kind, uri))


def _binary(name: str, data: Any, mime_type: Any, uri: str) -> Part:
    try:
        decoded = base64.b64decode(data, validate=False)
    except (binascii.Error, TypeError, ValueError):
        return Text(str(data), problem="a file in the answer is not base64, and is printed as it came")
    kind = mime_type if isinstance(mime_type, str) else "application/octet-stream"
    return File(decoded, None, kind, *_name_for(name, kind, uri))


def _name_for(name: str, mime_type: str, uri: str) -> tuple[str, str]:
    """Stem and suffix of a file's name, safe on every system."""
    kind = mime_type.partition(";")[0].strip().lower()
    suffix = _SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ".bin"
    last = uri.rstrip("/").rpartition("/")[2]
    stem, dot, own = last.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", own):
        suffix = f".{own}"
    else:
        stem = last
    safe = _UNSAFE_IN_NAMES.sub("-", stem).strip("-.") or _UNSAFE_IN_NAMES.sub("-", name).strip("-.") or "file"
    return safe[:80], suffix
