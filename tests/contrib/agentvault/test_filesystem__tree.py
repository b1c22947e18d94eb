"""No path leads out of a folder, and what is asked for below it is done whole or not at all."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.contrib.agentvault import filesystem as tree
from gaia_mcp.contrib.agentvault.filesystem import Entry, PathError, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture(params=["in open folders", "by their paths"])
def in_open_folders(request: pytest.FixtureRequest) -> bool:
    """Both ways: the second is that of Windows, as far as another system can take it."""
    return bool(request.param == "in open folders")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder with one of each, beside a secret."""
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


@pytest.fixture
def files(root: Path, in_open_folders: bool) -> Tree:
    return Tree(root, in_open_folders=in_open_folders)


def problem_of(use: Callable[[], object]) -> str:
    """Why a path is refused; empty if it is not."""
    try:
        use()
    except PathError as problem:
        return str(problem)
    return ""


def test_files_are_read_written_and_listed(root: Path, files: Tree) -> None:
    """Spec, C5: by paths relative to the root, with `.` and repeated `/` as everywhere."""

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


def test_a_path_out_of_the_root_is_refused(files: Tree) -> None:
    """Spec, C5: by `..`, as an absolute path, over a link; and all that is no regular file."""
    problems = {path: problem_of(partial(files.read, path)) for path in BAD_PATHS}
    assert {path: problems[path] for path, reason in BAD_PATHS.items() if reason not in problems[path]} == {}


def test_nothing_is_written_outside_the_root(root: Path, files: Tree) -> None:
    """Spec, C5: a path that cannot be read cannot be written either, and leaves no file behind."""
    bad = {path: reason for path, reason in BAD_PATHS.items() if reason != "does not exist"}
    before = sorted(str(each) for each in root.parent.rglob("*"))

    problems = {path: problem_of(partial(files.write, path, b"x")) for path in bad}

    assert {path: problems[path] for path, reason in bad.items() if reason not in problems[path]} == {}
    assert sorted(str(each) for each in root.parent.rglob("*")) == before
    assert (root.parent / "secret.txt").read_text() == "secret"
    assert (root / "in.txt").is_symlink()


def test_no_folder_outside_the_root_is_listed(files: Tree) -> None:
    """Spec, C5: names alone may tell too much."""
    cases = [
        ("out", "link"),
        ("a.txt", "not a folder"),
        ("no", "no folder"),
        ("..", "'..'"),
        ("/", "absolute"),
        ("pipe", "not a folder"),
    ]

    problems = {path: problem_of(partial(files.entries, path)) for path, _ in cases}
    assert {path: problems[path] for path, reason in cases if reason not in problems[path]} == {}


@pytest.mark.parametrize("swapped", ["folder", "folder/file"])
@pytest.mark.parametrize("is_writing", [False, True])
def test_a_link_swapped_in_during_the_access_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, is_writing: bool
) -> None:
    """Spec, C5: between the look at a folder, or at a file, and its use."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "folder").mkdir(parents=True)
    (elsewhere / "folder" / "file").write_text("secret")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "file").write_text("mine")
    open_file = os.open

    def swap_and_open(path: str | Path, *arguments: Any, **options: Any) -> int:
        if path == Path(swapped).name and not (root / "aside").exists():
            (root / swapped).rename(root / "aside")
            (root / swapped).symlink_to(elsewhere / swapped)
        return open_file(path, *arguments, **options)

    # No other program can be had to act at this very moment.
    monkeypatch.setattr(os, "open", swap_and_open)

    with pytest.raises(PathError):
        Tree(root).write("folder/file", b"new") if is_writing else Tree(root).read("folder/file")
    assert (root / "aside").exists()
    assert [each.read_text() for each in elsewhere.rglob("*") if each.is_file()] == ["secret"]


def test_a_deleted_root_or_one_replaced_by_a_link_is_not_served(root: Path, files: Tree, in_open_folders: bool) -> None:
    """Ours: the folder that was named is served, and none that takes its place."""
    root.rename(root.parent / "moved")

    with pytest.raises(PathError, match=r"no folder|root folder cannot be opened|does not exist"):
        files.entries("")
    root.symlink_to(root.parent / "moved")
    if in_open_folders:
        with pytest.raises(PathError, match="root folder cannot be opened"):
            files.read("a.txt")


def test_a_file_keeps_its_permissions(root: Path, files: Tree) -> None:
    """Ours: a secret that was private stays private."""
    (root / "a.txt").chmod(0o600)

    files.write("a.txt", b"new")
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_file_unchanged(root: Path, files: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a full disk, for instance."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    # A test cannot fill the disk of the machine.
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PathError, match="No space left on device"):
        files.write("a.txt", b"new")

    assert (root / "a.txt").read_bytes() == b"a"
    assert sorted(each.name for each in root.iterdir()) == ["a.txt", "in.txt", "out", "out.txt", "pipe", "sub"]


def test_the_size_of_files_and_of_folders_is_limited(root: Path, in_open_folders: bool) -> None:
    """Ours: a model asks for anything."""
    files = Tree(root, max_entries=2, in_open_folders=in_open_folders)
    os.truncate(root / "a.txt", tree.MAX_FILE_BYTES + 1)

    with pytest.raises(PathError, match="larger than 16 MB"):
        files.read("a.txt")
    entries, is_all = files.entries("")
    assert len(entries) == 2
    assert not is_all
