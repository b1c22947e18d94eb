"""The files of a skill, verified against its listing."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gaia_mcp.core.errors import LocalProtocolError, RemoteProtocolError
from gaia_mcp.text.skills import check_listed, digest_of, verified
from tests.client.conftest import error_of

ROOT = "skill://brewing"
URI, OTHER = f"{ROOT}/SKILL.md", f"{ROOT}/logo.png"
TEXT = "---\nname: brewing\ndescription: Brew coffee\n---\n\nHeat the water.\n"
LOGO = b"\x89PNG\xff"
FRONTMATTER = {"name": "brewing", "description": "Brew coffee"}


def listed(uri: str, data: bytes) -> dict[str, Any]:
    return {"uri": uri, "digest": digest_of(data), "size": len(data)}


SKILL: dict[str, Any] = {
    "uri": URI,
    "frontmatter": FRONTMATTER,
    "resources": [listed(URI, TEXT.encode()), listed(OTHER, LOGO)],
}


def text(content: str, uri: str = URI) -> dict[str, Any]:
    return {"uri": uri, "text": content}


def test_the_content_of_a_listed_file_is_returned() -> None:
    """Extension: the bytes of a file, as text or in base64."""
    assert verified("s", SKILL, URI, [text("x", ROOT), text(TEXT)]) == TEXT.encode()
    blob = {"uri": OTHER, "blob": base64.b64encode(LOGO).decode()}
    assert verified("s", SKILL, OTHER, [blob]) == LOGO


def test_a_dynamic_skill_is_verified_by_its_frontmatter() -> None:
    """Extension: it has no digests."""
    dynamic = {**SKILL, "resources": "dynamic"}

    assert verified("s", dynamic, URI, [text(TEXT + "more")]) == (TEXT + "more").encode()
    assert verified("s", dynamic, OTHER, [text("any", OTHER)]) == b"any"
    check_listed("s", dynamic, OTHER)
    with pytest.raises(RemoteProtocolError, match="describes another skill"):
        verified("s", dynamic, URI, [text(TEXT.replace("Brew", "Burn"))])


def is_refused(error: Exception | None, problem: str) -> bool:
    return isinstance(error, RemoteProtocolError) and problem in str(error)


def test_content_that_differs_from_its_listing_is_refused() -> None:
    """Extension: a client must not use it."""
    rows: list[tuple[dict[str, Any], str]] = [
        (text(TEXT + "x"), "with 65 bytes, and has listed 64"),
        (text(TEXT.replace("Heat", "Boil")), "with another digest than it has listed"),
        (text(TEXT, OTHER), "sent no content of"),
        ({"uri": URI, "blob": "?"}, "a blob that is not base64"),
        ({"uri": URI, "blob": 7}, "a blob that is not base64"),
        ({"uri": URI}, "with 0 bytes"),
    ]
    errors = [(error_of(verified, "s", SKILL, URI, [content]), content, problem) for content, problem in rows]

    assert [each for each in errors if not is_refused(each[0], each[2])] == []


def test_a_listing_that_contradicts_its_files_is_refused() -> None:
    """Extension: a listing with matching digests may be wrong in other ways."""
    rows: list[tuple[dict[str, Any], str, str]] = [
        ({"frontmatter": {"name": "brewing"}}, TEXT, "describes another skill"),
        ({"resources": [listed(URI, b"none")]}, "none", "does not begin with YAML"),
        ({"resources": [listed(URI, b"x")] * 2}, "x", "2 times"),
        ({"resources": None}, "x", "0 times"),
        ({"resources": ["x"]}, "x", "0 times"),
    ]

    errors = [
        (error_of(verified, "s", {**SKILL, **changes}, URI, [text(sent)]), changes, problem)
        for changes, sent, problem in rows
    ]

    assert [each for each in errors if not is_refused(each[0], each[2])] == []


def test_a_file_outside_the_skill_is_refused() -> None:
    """Extension: the files of a skill are those that were listed, and lie in its folder."""
    uris = [f"{ROOT}/none", "file:///etc/passwd", ROOT, "skill://brewing-2/SKILL.md", ""]
    check_listed("s", SKILL, URI)

    errors = {uri: error_of(check_listed, "s", SKILL, uri) for uri in uris}

    assert {uri: type(error) for uri, error in errors.items()} == dict.fromkeys(uris, LocalProtocolError)
    assert {uri: error for uri, error in errors.items() if "is not a file of the skill" not in str(error)} == {}
    with pytest.raises(LocalProtocolError):
        check_listed("s", {**SKILL, "resources": [{"uri": "file:///etc/passwd"}]}, "file:///etc/passwd")
