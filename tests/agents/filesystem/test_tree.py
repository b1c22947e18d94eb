"""No path leads out of a folder, and what is asked for below it is done whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.agents.filesystem import tree
from gaia_mcp.agents.filesystem.tree import Entry, PathError, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture(params=["in open folders", "by their paths"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with one of each, beside a secret."""
    # The second way is that of Windows, as far as another system can take it.
    monkeypatch.setattr(tree, "_HAS_DESCRIPTORS", request.param == "in open folders")
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("a")
    (root / "sub" / "b.txt").write_text("b")
    (root / "out").symlink_to(tmp_path)
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "in.txt").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    before = open_descriptors()
    yield root
    assert open_descriptors() == before


def test_files_are_read_written_and_listed(root: Path) -> None:
    """Spec, C5."""
    files = Tree(root)

    assert files.read("a.txt") == b"a"
    assert files.read("./sub//b.txt") == b"b"
    files.write("sub/deep/new.txt", b"new")
    files.write("a.txt", b"longer than before")

    assert (root / "sub" / "deep" / "new.txt").read_bytes() == b"new"
    assert (root / "a.txt").read_bytes() == b"longer than before"
    assert files.entries("sub") == ([Entry("b.txt", "file"), Entry("deep", "folder")], True)
    kinds = {entry.name: entry.kind for entry in files.entries("")[0]}
    assert kinds == {
        "a.txt": "file",
        "in.txt": "link",
        "out": "link",
        "out.txt": "link",
        "pipe": "other",
        "sub": "folder",
    }


# What leads elsewhere, or nowhere, with a word of the reason.
BAD_PATHS = {
    "../secret.txt": "'..'",
    "sub/../a.txt": "'..'",
    "sub/../../secret.txt": "'..'",
    "..": "'..'",
    "/etc/passwd": "absolute",
    "out.txt": "link",
    "in.txt": "link",
    "out/secret.txt": "'out' is a link",
    "..%2Fsecret.txt": "does not exist",
    "..\\secret.txt": "does not exist",
    "\uff0e\uff0e/secret.txt": "no folder",
    "\u2025/secret.txt": "no folder",
    "no/a.txt": "no folder 'no'",
    "a.txt/b": "'a.txt' is not a folder",
    "sub": "folder",
    "": "root folder",
    ".": "root folder",
    "pipe": "pipe",
    "a\0.txt": "zero byte",
    "x" * 300: "too long",
    "x" * 300 + "/a": "too long",
}


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_leads_elsewhere_is_refused(root: Path, path: str) -> None:
    """Spec, C5: by `..`, as an absolute path, over a link; and all that is no regular file."""
    with pytest.raises(PathError, match=BAD_PATHS[path]):
        Tree(root).read(path)


@pytest.mark.parametrize("path", [path for path, reason in BAD_PATHS.items() if reason != "does not exist"])
def test_nothing_is_written_elsewhere(root: Path, path: str) -> None:
    """Spec, C5."""
    before = sorted(str(each) for each in root.parent.rglob("*"))

    with pytest.raises(PathError, match=BAD_PATHS[path]):
        Tree(root).write(path, b"x")

    assert sorted(str(each) for each in root.parent.rglob("*")) == before
    assert (root.parent / "secret.txt").read_text() == "secret"
    assert (root / "in.txt").is_symlink()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("out", "link"),
        ("a.txt", "not a folder"),
        ("no", "no folder"),
        ("..", "'..'"),
        ("/", "absolute"),
        ("pipe", "not a folder"),
    ],
)
def test_no_other_folder_is_listed(root: Path, path: str, reason: str) -> None:
    """Spec, C5."""
    with pytest.raises(PathError, match=reason):
        Tree(root).entries(path)


@pytest.mark.parametrize("swapped", ["folder", "folder/file"])
@pytest.mark.parametrize("is_writing", [False, True])
def test_a_link_that_is_swapped_in_gains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, is_writing: bool
) -> None:
    """Spec, C5: between the look at a folder, or at a file, and its use."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "folder").mkdir(parents=True)
    (elsewhere / "folder" / "file").write_text("secret")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").write_text("mine")
    files, look, looks = Tree(root), tree._is_link, iter(["folder", "folder/file"])

    def look_and_swap(status: os.stat_result) -> bool:
        found = look(status)
        if next(looks, None) == swapped:
            (root / swapped).rename(root / "aside")
            (root / swapped).symlink_to(elsewhere / swapped)
        return found

    monkeypatch.setattr(tree, "_is_link", look_and_swap)
    with pytest.raises(PathError):
        files.write("folder/file", b"new") if is_writing else files.read("folder/file")

    assert [each.read_text() for each in elsewhere.rglob("*") if each.is_file()] == ["secret"]


def test_a_root_that_has_gone_or_became_a_link_is_not_served(root: Path) -> None:
    """Ours."""
    files = Tree(root)
    root.rename(root.parent / "moved")

    with pytest.raises(PathError, match=r"no folder|root folder cannot be opened|does not exist"):
        files.entries("")
    root.symlink_to(root.parent / "moved")
    if tree._HAS_DESCRIPTORS:
        with pytest.raises(PathError, match="root folder cannot be opened"):
            files.read("a.txt")


def test_a_file_keeps_its_permissions(root: Path) -> None:
    """Ours: a secret that was private stays private."""
    (root / "a.txt").chmod(0o600)

    Tree(root).write("a.txt", b"new")

    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_file_as_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a full disk, for instance."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PathError, match="No space left on device"):
        Tree(root).write("a.txt", b"new")

    assert (root / "a.txt").read_bytes() == b"a"
    assert sorted(each.name for each in root.iterdir()) == ["a.txt", "in.txt", "out", "out.txt", "pipe", "sub"]


def test_a_huge_file_and_a_huge_folder_are_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a model asks for anything."""
    os.truncate(root / "a.txt", tree.MAX_FILE_BYTES + 1)
    with pytest.raises(PathError, match="larger than 16 MB"):
        Tree(root).read("a.txt")

    monkeypatch.setattr(tree, "MAX_ENTRIES", 2)
    entries, is_all = Tree(root).entries("")
    assert len(entries) == 2
    assert not is_all
