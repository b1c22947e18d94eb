"""What is read of a skill, and whether that is what was listed."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gaia_mcp.client.skills import check_listed, verified
from gaia_mcp.errors import LocalProtocolError, RemoteProtocolError
from gaia_mcp.skilltext import digest_of

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


def test_what_was_listed_is_read() -> None:
    """Extension: the bytes of a file, as text or in base64."""
    assert verified("s", SKILL, URI, [text("x", ROOT), text(TEXT)]) == TEXT.encode()
    blob = {"uri": OTHER, "blob": base64.b64encode(LOGO).decode()}
    assert verified("s", SKILL, OTHER, [blob]) == LOGO


def test_a_skill_that_changes_all_the_time_is_compared_by_its_description() -> None:
    """Extension: it has no digests."""
    dynamic = {**SKILL, "resources": "dynamic"}

    assert verified("s", dynamic, URI, [text(TEXT + "more")]) == (TEXT + "more").encode()
    assert verified("s", dynamic, OTHER, [text("any", OTHER)]) == b"any"
    check_listed("s", dynamic, OTHER)
    with pytest.raises(RemoteProtocolError, match="describes another skill"):
        verified("s", dynamic, URI, [text(TEXT.replace("Brew", "Burn"))])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (text(TEXT + "x"), "with 65 bytes, and has listed 64"),
        (text(TEXT.replace("Heat", "Boil")), "with another digest than it has listed"),
        (text(TEXT, OTHER), "sent no content of"),
        ({"uri": URI, "blob": "?"}, "a blob that is not base64"),
        ({"uri": URI, "blob": 7}, "a blob that is not base64"),
        ({"uri": URI}, "with 0 bytes"),
    ],
)
def test_what_was_not_listed_is_refused(content: dict[str, Any], problem: str) -> None:
    """Extension: a client must not use it."""
    with pytest.raises(RemoteProtocolError, match=problem):
        verified("s", SKILL, URI, [content])


@pytest.mark.parametrize(
    ("changes", "sent", "problem"),
    [
        ({"frontmatter": {"name": "brewing"}}, TEXT, "describes another skill"),
        ({"resources": [listed(URI, b"none")]}, "none", "does not begin with YAML"),
        ({"resources": [listed(URI, b"x")] * 2}, "x", "2 times"),
        ({"resources": None}, "x", "0 times"),
        ({"resources": ["x"]}, "x", "0 times"),
    ],
)
def test_an_entry_that_its_files_belie_is_refused(changes: dict[str, Any], sent: str, problem: str) -> None:
    """Extension: digests that fit do not make it one."""
    with pytest.raises(RemoteProtocolError, match=problem):
        verified("s", {**SKILL, **changes}, URI, [text(sent)])


@pytest.mark.parametrize("uri", [f"{ROOT}/none", "file:///etc/passwd", ROOT, "skill://brewing-2/SKILL.md", ""])
def test_a_file_of_another_skill_is_not_asked_for(uri: str) -> None:
    """Extension: the files of a skill are those that were listed, and lie in its folder."""
    check_listed("s", SKILL, URI)
    with pytest.raises(LocalProtocolError, match="is not a file of the skill"):
        check_listed("s", SKILL, uri)
    with pytest.raises(LocalProtocolError):
        check_listed("s", {**SKILL, "resources": [{"uri": "file:///etc/passwd"}]}, "file:///etc/passwd")
