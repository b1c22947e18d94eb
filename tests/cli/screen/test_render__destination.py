"""`cli.screen.destination`: what `-o` names, and how files are written there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gaia_mcp.cli.screen.render import Destination, File, SaveError, read_destination
from gaia_mcp.cli.status import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file(data: bytes = b"new", stem: str = "picture", suffix: str = ".png") -> File:
    return File(data, None, "image/png", stem, suffix)


def test_a_folder_exists_or_ends_with_a_slash() -> None:
    """Ours: as for `cp`."""
    Path("there").mkdir()

    named = {"out/": ("out", True), "out/deep/": ("out/deep", True), "there": ("there", True), "new": ("new", False)}

    read = {output: read_destination(output, None, as_json=False) for output in named}
    assert {output: (str(found.path), found.is_folder) for output, found in read.items()} == named


def test_output_dir_always_names_a_folder() -> None:
    """Ours: it is older than `-o`, and keeps its meaning."""
    destination = read_destination(None, Path("out"), as_json=True)

    assert (destination.path, destination.is_folder) == (Path("out"), True)


def test_a_dash_is_standard_output() -> None:
    """POSIX, utility syntax guideline 13: `-` names standard output."""
    for output in ("-", "/dev/stdout"):
        assert read_destination(output, None, as_json=False).is_stdout, output


def is_refused(output: str) -> bool:
    try:
        read_destination(output, None, as_json=False)
    except UsageError:
        return True
    return False


def test_an_unwritable_output_is_a_usage_error() -> None:
    """Ours: a tool must not be called if its result cannot be saved."""
    Path("file").touch()

    assert not [output for output in ("", "file/", "file/x", "file/x/y", "file/x/") if not is_refused(output)]


def test_a_named_file_is_written_through_links_and_keeps_its_mode(folder: Path) -> None:
    """Ours: as by the shell's `>`."""
    target = folder / "target"
    target.write_text("older and longer")
    target.chmod(0o640)
    (folder / "link").symlink_to(target)

    assert Destination(Path("link")).save(file()) == Path("link")

    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_chosen_file_names_are_unused() -> None:
    """Ours: nothing is overwritten, also not through a dangling link or by a second file of one result."""
    Path("picture.png").symlink_to("nowhere")
    into, one = Destination(Path(), is_folder=True), Destination(Path("one.png"))
    Path("one-2.png").touch()

    assert [into.save(file()) for _ in range(2)] == [Path("picture-2.png"), Path("picture-3.png")]
    assert [one.save(file(suffix=".jpg")) for _ in range(2)] == [Path("one.png"), Path("one-3.png")]
    assert not Path("nowhere").exists()


def test_a_device_is_written_and_not_replaced() -> None:
    """Ours: /dev/full stands for a full disk, /dev/null for any device."""
    assert Destination(Path("/dev/null")).save(file()) == Path("/dev/null")
    with pytest.raises(SaveError):
        Destination(Path("/dev/full")).save(file())

    assert Path("/dev/full").exists()
