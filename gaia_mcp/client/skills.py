"""The skills of a server (SEP-2640): a file is returned only if it matches the listing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from gaia_mcp.errors import LocalProtocolError, RemoteProtocolError
from gaia_mcp.skilltext import digest_of, frontmatter_of

# Replaces the list of a skill's files if they change all the time: then they cannot be verified.
DYNAMIC = "dynamic"


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
