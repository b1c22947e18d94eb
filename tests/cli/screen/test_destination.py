"""`cli.screen.destination`: what `-o` names, and how files are written there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gaia_mcp.cli.screen.content import File
from gaia_mcp.cli.screen.destination import Destination, SaveError, read_destination
from gaia_mcp.cli.status import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file(data: bytes = b"new", stem: str = "picture", suffix: str = ".png") -> File:
    return File(data, None, "image/png", stem, suffix)


@pytest.mark.parametrize(
    ("output", "path", "is_folder"),
    [("out/", "out", True), ("out/deep/", "out/deep", True), ("there", "there", True), ("new", "new", False)],
)
def test_a_folder_ends_with_a_slash_or_is_there(output: str, path: str, is_folder: bool) -> None:
    """Ours: as for cp."""
    Path("there").mkdir()

    destination = read_destination(output, None, as_json=False)

    assert (destination.path, destination.is_folder) == (Path(path), is_folder)


def test_the_older_option_always_names_a_folder() -> None:
    """Ours: --output-dir, as it was."""
    destination = read_destination(None, Path("out"), as_json=True)

    assert (destination.path, destination.is_folder) == (Path("out"), True)


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_a_dash_is_standard_output(output: str) -> None:
    """Ours."""
    assert read_destination(output, None, as_json=False).is_stdout


@pytest.mark.parametrize("output", ["", "file/", "file/x", "file/x/y", "file/x/"])
def test_what_cannot_be_written_is_refused_before_anything_is_asked(output: str) -> None:
    """Ours: a call must not run for nothing."""
    Path("file").touch()

    with pytest.raises(UsageError):
        read_destination(output, None, as_json=False)


def test_a_file_that_was_named_is_written_through_links_and_keeps_its_mode(folder: Path) -> None:
    """Ours: as by the shell's `>`."""
    target = folder / "target"
    target.write_text("older and longer")
    target.chmod(0o640)
    (folder / "link").symlink_to(target)

    assert Destination(Path("link")).save(file()) == Path("link")

    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_names_that_we_choose_are_new_ones() -> None:
    """Ours: also where a link leads nowhere, and for several files of one answer."""
    Path("picture.png").symlink_to("nowhere")
    into, one = Destination(Path(), is_folder=True), Destination(Path("one.png"))
    Path("one-2.png").touch()

    assert [into.save(file()) for _ in range(2)] == [Path("picture-2.png"), Path("picture-3.png")]
    assert [one.save(file(suffix=".jpg")) for _ in range(2)] == [Path("one.png"), Path("one-3.png")]
    assert not Path("nowhere").exists()


def test_a_device_is_written_and_stays() -> None:
    """Ours: /dev/full stands for a full disk, /dev/null for any device."""
    assert Destination(Path("/dev/null")).save(file()) == Path("/dev/null")
    with pytest.raises(SaveError):
        Destination(Path("/dev/full")).save(file())

    assert Path("/dev/full").exists()
