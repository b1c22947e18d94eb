"""Skills in folders, good ones and others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.server.agent_features import MAX_FILES, Skill, SkillError, read_skill

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "---\nname: brewing\ndescription: Brew coffee\n---\n\nHeat the water.\n"


def skill_in(folder: Path, text: str | bytes = TEXT, **files: str) -> Path:
    """A folder with a SKILL.md and other files; two underscores in their names stand for a slash."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_a_skill_is_listed_with_size_and_digest_of_each_file(tmp_path: Path) -> None:
    """Extension: SKILL.md is among them, and names the skill."""
    skill = read_skill(skill_in(tmp_path / "x", a="ä", references__b="b"))
    entry = skill.entry()

    assert (skill.name, skill.root, skill.uri) == ("brewing", "skill://brewing", "skill://brewing/SKILL.md")
    assert entry["frontmatter"] == {"name": "brewing", "description": "Brew coffee"}
    assert [resource["uri"].removeprefix("skill://brewing/") for resource in entry["resources"]] == [
        "SKILL.md", "a.md", "references/b.md",
    ]  # fmt: skip
    assert entry["resources"][1] == {
        "uri": "skill://brewing/a.md", "size": 2, "digest": f"sha256:{hashlib.sha256('ä'.encode()).hexdigest()}"
    }  # fmt: skip


def test_children_are_the_direct_members_of_a_directory(tmp_path: Path) -> None:
    """Extension: direct ones; a folder is there by its files."""
    skill = read_skill(skill_in(tmp_path, a__b="1", a__c__d="2"))
    root = {"skill://brewing/SKILL.md": False, "skill://brewing/a": True}

    assert (skill.children("skill://brewing"), skill.children("skill://brewing/")) == (root, root)
    assert skill.children("skill://brewing/a") == {"skill://brewing/a/b.md": False, "skill://brewing/a/c": True}
    for uri in ("skill://brewing/SKILL.md", "skill://brew", "skill://brewing/a/b", "", "skill://"):
        assert skill.children(uri) is None, uri


def test_hidden_files_and_links_out_of_the_folder_are_not_part_of_a_skill(tmp_path: Path) -> None:
    """Ours: a link must not lead to other files of the machine, and hidden files are often secret."""
    (tmp_path / "secret").write_text("s3cret")
    folder = skill_in(tmp_path / "x", a="1", **{".git__config": "x", "__pycache____x": "y", ".env": "z"})
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "gone").symlink_to("nowhere")
    (folder / "within").symlink_to("a.md")

    names = [uri.rpartition("/")[2] for uri in read_skill(folder).files]
    assert names == ["SKILL.md", "a.md", "within"]


def test_a_manifest_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    """Ours: as any other link out of the folder."""
    skill_in(tmp_path / "other")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").symlink_to(tmp_path / "other" / "SKILL.md")

    with pytest.raises(SkillError, match=r"has no SKILL\.md"):
        read_skill(tmp_path / "x")


def test_file_names_are_percent_encoded_in_uris(tmp_path: Path) -> None:
    """Spec, RFC 3986."""
    files = read_skill(skill_in(tmp_path, **{"a b#c?": "1"})).files

    assert files["skill://brewing/a%20b%23c%3F.md"].read_text() == "1"


def test_an_invalid_manifest_is_refused(tmp_path: Path) -> None:
    """Extension: the message names the file."""
    with pytest.raises(SkillError, match=r"SKILL\.md has no description"):
        read_skill(skill_in(tmp_path, "---\nname: a\n---\n"))


def test_the_files_and_bytes_of_a_skill_are_limited(tmp_path: Path) -> None:
    """Extension: clients may refuse what is larger."""
    folder = skill_in(tmp_path, **{f"f{number}": "" for number in range(MAX_FILES - 1)})
    assert len(read_skill(folder).files) == MAX_FILES
    (folder / "more").touch()
    with pytest.raises(SkillError, match="more than 512 files"):
        read_skill(folder)

    small = read_skill(skill_in(tmp_path / "small"))
    assert len(small.entry(len(TEXT))["resources"]) == 1
    small = read_skill(skill_in(tmp_path / "small", b="x"))
    with pytest.raises(SkillError, match="more than 64 bytes"):
        small.entry(len(TEXT))


def test_a_deleted_file_is_an_error(tmp_path: Path) -> None:
    """Ours: files may change while a server runs; the message names the file and the reason."""
    skill = Skill("a", {}, {"skill://a/SKILL.md": tmp_path / "SKILL.md"})

    with pytest.raises(SkillError, match="cannot be read: No such file"):
        skill.entry()
    with pytest.raises(SkillError, match=r"has no SKILL\.md"):
        read_skill(tmp_path)
