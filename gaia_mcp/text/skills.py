"""The content of a skill's files (SEP-2640), for servers and clients: the frontmatter of SKILL.md, the digest of a
file, and whether a file that a server sent is the one that it has listed.

Reads no files.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from gaia_mcp.core.content import NotJSONError, as_json_value
from gaia_mcp.core.errors import LocalProtocolError, RemoteProtocolError
from gaia_mcp.text.strict_json import TextProblemError

MANIFEST = "SKILL.md"
# As in the specification of skills: up to 64 characters, and hyphens only inside.
_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_FRONTMATTER = re.compile(r"\ufeff?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
# Replaces the list of a skill's files if they change all the time: then they cannot be verified.
DYNAMIC = "dynamic"


def digest_of(data: bytes) -> str:
    """The digest of a file, in the format of the extension."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def frontmatter_of(data: bytes) -> dict[str, Any]:
    """The YAML at the beginning of a SKILL.md as JSON, with the `name` and the `description` that it must have.

    Raises `ValueError`, which completes "SKILL.md …".
    """
    from gaia_mcp.text.yaml import parse

    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        raise ValueError("is not UTF-8") from cause
    if (match := _FRONTMATTER.match(text)) is None:
        raise ValueError("does not begin with YAML between two lines of ---")
    try:
        found = as_json_value(parse(match[1]))
        json.dumps(found, allow_nan=False)
    except (TextProblemError, NotJSONError, ValueError) as cause:
        raise ValueError(f"begins with YAML that cannot be read: {cause}") from cause
    if not isinstance(found, dict):
        raise ValueError("begins with YAML that is not a mapping")
    name, description = found.get("name"), found.get("description")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("has no name made of lower-case letters, digits and single hyphens")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("has no description")
    return found


def verified(server: str, skill: Mapping[str, Any], uri: str, contents: list[dict[str, Any]]) -> bytes:
    """The content of a file of a listed `skill`, from the `contents` that `server` sent for it.

    Raises `RemoteProtocolError` if its size or digest differs from the listing, or if the SKILL.md belongs to another
    skill.
    """
    data = _content(server, uri, contents)
    if skill.get("resources") != DYNAMIC:
        listed = _listed(server, skill, uri)
        if len(data) != listed.get("size"):
            raise RemoteProtocolError(
                server, f"sent {uri!r} with {len(data)} bytes, and has listed {listed.get('size')}"
            )
        if digest_of(data) != listed.get("digest"):
            raise RemoteProtocolError(server, f"sent {uri!r} with another digest than it has listed")
    if uri == skill["uri"]:
        try:
            frontmatter = frontmatter_of(data)
        except ValueError as problem:
            raise RemoteProtocolError(server, f"sent {uri!r}, which {problem}") from problem
        if frontmatter != skill.get("frontmatter"):
            raise RemoteProtocolError(server, f"sent {uri!r}, which describes another skill than it has listed")
    return data


def check_listed(server: str, skill: Mapping[str, Any], uri: str) -> None:
    """Raises `LocalProtocolError` for a file that the listed skill does not have."""
    folder = str(skill["uri"]).rpartition("/")[0]
    is_listed = any(one.get("uri") == uri for one in _resources(skill)) or skill.get("resources") == DYNAMIC
    if not is_listed or not uri.startswith(f"{folder}/"):
        raise LocalProtocolError(f"{uri!r} is not a file of the skill {skill['uri']!r} of server {server!r}")


def _listed(server: str, skill: Mapping[str, Any], uri: str) -> Mapping[str, Any]:
    found = [one for one in _resources(skill) if one.get("uri") == uri]
    if len(found) != 1:
        raise RemoteProtocolError(server, f"has listed {uri!r} {len(found)} times in its skill")
    return found[0]


def _resources(skill: Mapping[str, Any]) -> list[dict[str, Any]]:
    resources = skill.get("resources")
    return [one for one in resources if isinstance(one, dict)] if isinstance(resources, list) else []


def _content(server: str, uri: str, contents: list[dict[str, Any]]) -> bytes:
    """The one content with this URI."""
    for each in contents:
        if each.get("uri") == uri:
            text, blob = each.get("text"), each.get("blob")
            if isinstance(text, str):
                return text.encode("utf-8", "surrogatepass")
            try:
                return base64.b64decode(blob or b"", validate=True)
            except (binascii.Error, TypeError, ValueError) as cause:
                raise RemoteProtocolError(server, f"sent {uri!r} with a blob that is not base64") from cause
    raise RemoteProtocolError(server, f"sent no content of {uri!r}")
