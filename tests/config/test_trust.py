"""Which projects' files are approved."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.trust import MAX_BYTES, Limits, TooMuchCodeError, approve, code_of, find_project_file, revoke
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.paths import approvals_file

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT = '{"mcpServers": {"fs": {"command": "npx"}}}'


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"GAIA_HOME": str(tmp_path / "home")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "mcp_servers.json").write_text(CONTENT)
    return folder


def is_approved(folder: Path, environ: dict[str, str]) -> bool:
    found = find_project_file(folder, environ)
    assert found is not None
    return found.approved


def test_a_folder_without_a_project_file_has_none(tmp_path: Path, environ: dict[str, str]) -> None:
    """Ours: the usual case; not even the approvals are read."""
    assert find_project_file(tmp_path, environ) is None
    assert not approvals_file(environ).parent.exists()


def test_a_file_is_found_but_not_approved(project: Path, environ: dict[str, str]) -> None:
    """Ours: until the user has approved that very content."""
    found = find_project_file(project, environ)
    assert found is not None
    assert (found.path, found.data, found.approved) == (project / "mcp_servers.json", CONTENT.encode(), False)


def test_an_approval_is_saved(project: Path, environ: dict[str, str]) -> None:
    """Ours: in a file that only its owner can read and write."""
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    assert is_approved(project, environ)
    assert stat.S_IMODE(approvals_file(environ).stat().st_mode) == 0o600
    assert stat.S_IMODE(approvals_file(environ).parent.stat().st_mode) == 0o700


def test_a_changed_byte_ends_the_approval(project: Path, environ: dict[str, str]) -> None:
    """Ours: that very content. As it was before, it is approved again."""
    approve_now(project, environ)

    for change in (CONTENT + " ", CONTENT.replace("npx", "nqx"), "", "{}"):
        (project / "mcp_servers.json").write_text(change)
        assert not is_approved(project, environ), change
        (project / "mcp_servers.json").write_text(CONTENT)
        assert is_approved(project, environ)


def test_the_content_that_was_read_is_approved(project: Path, environ: dict[str, str]) -> None:
    """Ours: a file that changes between reading and approving is not approved."""
    found = find_project_file(project, environ)
    assert found is not None
    (project / "mcp_servers.json").write_text('{"mcpServers": {"fs": {"command": "evil"}}}')
    approve(found, environ)
    assert not is_approved(project, environ)


def test_the_same_content_elsewhere_is_not_approved(project: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    """Ours: `./server.py` means another program in another folder."""
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mcp_servers.json").write_text(CONTENT)
    assert not is_approved(other, environ)


def test_a_link_to_the_folder_is_the_same_folder(project: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    """Ours: whichever way one came."""
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    (tmp_path / "link").symlink_to(project)
    assert is_approved(tmp_path / "link", environ)


def test_an_approval_can_be_revoked(project: Path, environ: dict[str, str]) -> None:
    """Ours: `gaia mcp untrust`; also when the file has gone."""
    path = project / "mcp_servers.json"
    assert not revoke(path, environ)
    assert not approvals_file(environ).parent.exists()
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    path.unlink()

    assert revoke(path, environ)
    assert not revoke(path, environ)
    path.write_text(CONTENT)
    assert not is_approved(project, environ)


def test_the_shared_name_is_the_second_choice(project: Path, environ: dict[str, str]) -> None:
    """Ours: `./mcp_servers.json` (or `.mcp.json`)."""
    (project / ".mcp.json").write_text("{}")
    found = find_project_file(project, environ)
    assert found is not None
    assert found.path.name == "mcp_servers.json"

    found.path.unlink()
    found = find_project_file(project, environ)
    assert found is not None
    assert found.path.name == ".mcp.json"
    approve(found, environ)
    assert is_approved(project, environ)


def test_only_a_regular_file_is_used(tmp_path: Path, environ: dict[str, str]) -> None:
    """Ours: a pipe in a working folder must not keep every command waiting. Without another, the reason is known."""
    makers: dict[str, Callable[[Path], object]] = {
        "folder": Path.mkdir,
        "pipe": os.mkfifo,
        "link to itself": lambda path: path.symlink_to(path),
    }
    for kind, make in makers.items():
        path = tmp_path / kind / "mcp_servers.json"
        path.parent.mkdir()
        make(path)

        found = find_project_file(path.parent, environ)
        assert found is not None, kind
        assert (found.path, found.data, found.approved) == (path, b"", False)
        assert found.problem.startswith("cannot be read: "), kind

        (path.parent / ".mcp.json").write_text("{}")
        found = find_project_file(path.parent, environ)
        assert found is not None
        assert found.path.name == ".mcp.json", kind


def test_a_broken_link_is_no_file(tmp_path: Path, environ: dict[str, str]) -> None:
    """Ours: the shared file is used in its place."""
    (tmp_path / "mcp_servers.json").symlink_to("nowhere")
    assert find_project_file(tmp_path, environ) is None

    (tmp_path / ".mcp.json").write_text("{}")
    found = find_project_file(tmp_path, environ)
    assert found is not None
    assert found.path.name == ".mcp.json"


def test_other_approvals_and_unknown_keys_are_preserved(project: Path, environ: dict[str, str]) -> None:
    """Ours: keys we do not know are kept."""
    path = approvals_file(environ)
    path.parent.mkdir()
    path.write_text('{"version": 2, "approved": {"/other/mcp_servers.json": "abc"}}')
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)

    kept = json.loads(path.read_text())
    assert kept["version"] == 2
    assert kept["approved"]["/other/mcp_servers.json"] == "abc"
    assert len(kept["approved"]) == 2
    revoke(found.path, environ)
    assert json.loads(path.read_text()) == {"version": 2, "approved": {"/other/mcp_servers.json": "abc"}}


def test_an_invalid_approvals_file_is_an_error_and_not_changed(project: Path, environ: dict[str, str]) -> None:
    """Ours: nothing is approved by accident, and nothing is overwritten."""
    path = approvals_file(environ)
    path.parent.mkdir()
    for content in ('{"approved": []}', "[]", "", "{"):
        path.write_text(content)
        with pytest.raises(ConfigFileError) as caught:
            find_project_file(project, environ)
        assert caught.value.path == path, content
        with pytest.raises(ConfigFileError):
            revoke(project / "mcp_servers.json", environ)
        assert path.read_text() == content


def test_an_approval_that_is_not_a_string_approves_nothing(project: Path, environ: dict[str, str]) -> None:
    """Ours: the file may have been edited by hand."""
    path = approvals_file(environ)
    path.parent.mkdir()
    path.write_text(json.dumps({"approved": {str(project / "mcp_servers.json"): True}}))
    assert not is_approved(project, environ)


def test_without_an_environment_the_process_s_own_is_used(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the usual case."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "mine"))
    found = find_project_file(project)
    assert found is not None
    approve(found)
    assert (tmp_path / "mine" / "trusted_projects.json").exists()
    assert revoke(found.path)


HANDLERS = {"cost": {"handler": "x_handler.py"}, "fs": {"command": "npx"}, "notes": {"agent": "pkg.notes:Notes"}}


@pytest.fixture
def coded(project: Path, environ: dict[str, str]) -> Path:
    """A project whose code is approved."""
    (project / "mcp_servers.json").write_text(json.dumps({"mcpServers": HANDLERS}))
    (project / "x_handler.py").write_text("one")
    (project / "pkg").mkdir()
    (project / "pkg" / "notes.py").write_text("one")
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    assert is_approved(project, environ)
    return project


@pytest.mark.parametrize("name", ["x_handler.py", "pkg/notes.py", "pkg/notes/__init__.py"])
def test_changed_code_is_no_longer_approved(coded: Path, environ: dict[str, str], name: str) -> None:
    """Ours: the trust is bound to the content of the file, also of one that would be imported instead."""
    file = coded / name
    before = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text("two")

    found = find_project_file(coded, environ)
    assert found is not None
    assert (found.approved, found.changed, found.problem) == (False, str(file), "")
    if before is None:
        file.unlink()
    else:
        file.write_bytes(before)
    assert is_approved(coded, environ)


def test_removed_replaced_or_relinked_code_is_no_longer_approved(
    coded: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """Ours: what cannot be read has changed; a link counts by what it leads to."""
    file = coded / "x_handler.py"
    other = tmp_path / "other.py"
    file.rename(other)
    assert not is_approved(coded, environ)
    file.mkdir()
    assert not is_approved(coded, environ)
    file.rmdir()
    file.symlink_to(other)
    assert is_approved(coded, environ)
    other.write_text("two")
    assert not is_approved(coded, environ)


def test_a_path_changed_by_a_variable_is_no_longer_approved(project: Path, environ: dict[str, str]) -> None:
    """Ours: the file is approved, not its name."""
    (project / "mcp_servers.json").write_text('{"mcpServers": {"x": {"handler": "${WHERE}/x.py"}}}')
    for folder in ("one", "two"):
        (project / folder).mkdir()
        (project / folder / "x.py").write_text("same")
    found = find_project_file(project, {**environ, "WHERE": "one"})
    assert found is not None
    approve(found, environ)

    assert is_approved(project, {**environ, "WHERE": "one"})
    assert not is_approved(project, {**environ, "WHERE": "two"})
    assert not is_approved(project, environ)


def test_an_approval_of_an_earlier_version_does_not_count_for_code(coded: Path, environ: dict[str, str]) -> None:
    """Ours: that version could not run it. Without code it still counts."""
    path = approvals_file(environ)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({"approved": document["approved"], "code": []}))
    assert not is_approved(coded, environ)
    found = find_project_file(coded, environ)
    assert found is not None
    approve(found, environ)
    assert is_approved(coded, environ)
    revoke(found.path, environ)
    assert "code" not in json.loads(path.read_text())


def test_an_entry_without_code_needs_no_other_approval(project: Path, environ: dict[str, str]) -> None:
    """Ours: the approval of the project's file covers all that it names."""
    for entry in ({"handler": 5}, {"agent": "demo"}, {"handler": "x.py", "command": "npx"}, "x", None):
        (project / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"x": entry}}))

        found = find_project_file(project, environ)
        assert found is not None
        assert found.code == {}, entry
        approve(found, environ)
        assert is_approved(project, environ), entry


@pytest.mark.parametrize("content", ["{", '{"mcpServers": []}'])
def test_an_invalid_project_file_has_no_code(project: Path, environ: dict[str, str], content: str) -> None:
    """Ours: what is wrong with it is reported where it is used."""
    (project / "mcp_servers.json").write_text(content)
    found = find_project_file(project, environ)
    assert found is not None
    assert found.code == {}


IMPORTABLE = (
    "near.py",
    "requests.py",
    "sack/__init__.py",
    "sack/inner/deep.py",
    "space/chard.py",
    "fast.cpython-311-x86_64-linux-gnu.so",
    "fast.pyd",
    "alone.pyc",
    "pkg/__init__.py",
)
NOT_IMPORTABLE = (
    "notes.txt",
    "__pycache__/near.cpython-311.pyc",
    "sack/__pycache__/inner.cpython-311.opt-1.pyc",
    ".venv/lib/near.py",
    "env/lib/python3.11/site-packages/near.py",
    "node_modules/gyp/near.py",
    "../other/near.py",
)


def approve_now(project: Path, environ: dict[str, str]) -> None:
    found = find_project_file(project, environ)
    assert found is not None
    approve(found, environ)
    assert is_approved(project, environ)


def test_importable_files_are_approved_with_the_code(coded: Path, environ: dict[str, str]) -> None:
    """Ours: a file that is added, changed or removed; a new one may come before an installed module."""
    for name in IMPORTABLE:
        file = coded / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("one")
        found = find_project_file(coded, environ)
        assert found is not None
        assert (found.approved, found.changed) == (False, str(file)), name
        approve_now(coded, environ)
        file.write_text("two")
        assert not is_approved(coded, environ), name
        approve_now(coded, environ)
        file.unlink()
        assert not is_approved(coded, environ), name
        approve_now(coded, environ)


def test_files_that_are_not_importable_need_no_approval(coded: Path, environ: dict[str, str]) -> None:
    """Ours: data, what is made of a source, what is installed, and what is not of the project."""
    refused = []
    for name in NOT_IMPORTABLE:
        file = coded / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("one")
        if not is_approved(coded, environ):
            refused.append(name)

    assert not refused


def test_code_outside_the_project_is_approved_without_its_folder(
    project: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """Ours: that folder is not the project's; it may be the home folder."""
    code = tmp_path / "x_handler.py"
    code.write_text("one")
    (project / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"x": {"handler": str(code)}}}))
    approve_now(project, environ)

    (tmp_path / "near.py").write_text("one")
    assert is_approved(project, environ)
    code.write_text("two")
    assert not is_approved(project, environ)


def test_a_new_folder_is_not_approved(project: Path, environ: dict[str, str]) -> None:
    """Ours: what could not be read has changed; links in a circle end nothing."""
    (project / "mcp_servers.json").write_text('{"mcpServers": {"x": {"handler": "late/x.py"}}}')
    approve_now(project, environ)

    (project / "late").mkdir()
    assert not is_approved(project, environ)
    (project / "late" / "again").symlink_to(project / "late")
    (project / "late" / "self").symlink_to("self")
    (project / "late" / "self.py").symlink_to("self.py")
    approve_now(project, environ)
    (project / "late" / "near.py").write_text("one")
    assert not is_approved(project, environ)


def test_a_project_with_too_much_code_is_not_approved(coded: Path, environ: dict[str, str]) -> None:
    """Ours: with the reason; every command in the folder would read all of it."""
    with (coded / "huge.py").open("wb") as huge:
        huge.truncate(MAX_BYTES + 1)  # Without taking the space.

    found = find_project_file(coded, environ)
    assert found is not None
    assert (found.approved, found.changed, found.code) == (False, "", {})
    assert found.problem.startswith("runs code ")


def test_files_bytes_and_entries_of_folders_are_limited(coded: Path, environ: dict[str, str]) -> None:
    """Ours: a folder may be a home folder, with all kinds of files."""
    path = coded / "mcp_servers.json"
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (coded / name).write_bytes(b"x" * 10)
    for name in ("e.txt", "f.txt", "g.txt", "h.txt"):
        (coded / name).touch()
    code = code_of(path, path.read_bytes(), environ)
    content = sum((coded / name).stat().st_size for name in code if (coded / name).is_file())
    enough = Limits(files=len(code), size=content + 1, entries=20)

    assert code_of(path, path.read_bytes(), environ, limits=enough) == code
    for few in (enough._replace(files=len(code) - 1), enough._replace(size=content), enough._replace(size=9),
                enough._replace(entries=10)):  # fmt: skip
        with pytest.raises(TooMuchCodeError):
            code_of(path, path.read_bytes(), environ, limits=few)


@pytest.mark.parametrize("cwd", [None, "code"])
def test_files_in_the_pythonpath_of_an_entry_are_approved_with_it(
    project: Path, environ: dict[str, str], cwd: str | None
) -> None:
    """Ours: as far as it is of the project; the path begins in the folder that the code runs in."""
    entry = {"handler": "code/x.py", "env": {"PYTHONPATH": f"lib:${{MORE:-more}}:{project.parent}"}, "cwd": cwd}
    (project / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"x": entry}}))
    for name in ("code/x.py", "lib/near.py", "more/near.py", "code/lib/near.py", "../near.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("one")
    approve_now(project, environ)

    own = "code/lib/near.py" if cwd else "lib/near.py"
    (project / "../near.py").write_text("two")
    (project / "lib/data.txt").write_text("two")
    assert is_approved(project, environ)
    (project / own).write_text("two")
    found = find_project_file(project, environ)
    assert found is not None
    assert (found.approved, found.changed) == (False, str(project / own))


def test_deeply_nested_folders_are_no_error(coded: Path, environ: dict[str, str]) -> None:
    """Ours: every command in the folder reads them."""
    folders = [coded.joinpath(*["d"] * depth) for depth in range(1, 1200)]
    for folder in folders:
        folder.mkdir()
    (folders[-1] / "near.py").touch()
    try:
        assert not is_approved(coded, environ)
        approve_now(coded, environ)
    finally:
        (folders[-1] / "near.py").unlink()
        for folder in reversed(folders):
            folder.rmdir()
