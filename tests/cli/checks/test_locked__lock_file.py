"""The lock file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.checks.locked import LockedServer, read_lock, update_lock
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.toolspec.contract import contract_of
from tests.protocol_support import check_rows
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

ECHO = {"name": "echo", "description": "Says it again."}


def server(*tools: dict[str, Any]) -> LockedServer:
    return LockedServer({"command": "uvx"}, contract_of(tools or [ECHO]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcp.lock.json"


def problem_of(path: Path) -> ConfigFileError:
    """What is wrong with a file, which is neither read nor overwritten."""
    before = path.read_bytes()
    with pytest.raises(ConfigFileError) as caught:
        read_lock(path)
    with pytest.raises(ConfigFileError):
        update_lock(path, {"x": server()})
    assert path.read_bytes() == before
    return caught.value


def test_a_written_lock_is_read_back(path: Path) -> None:
    """Ours: other servers in the file stay."""
    assert read_lock(path) is None
    update_lock(path, {"b": server()})
    update_lock(path, {"a": server({"name": "x"}, {"name": "a"})})

    assert read_lock(path) == {"a": server({"name": "x"}, {"name": "a"}), "b": server()}


@pytest.mark.story
def test_concurrent_updates_preserve_each_others_servers(path: Path) -> None:
    """Ours: each program reads and writes while it holds the lock."""
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from gaia_mcp.cli.checks.locked import LockedServer, update_lock\n"
        "print(flush=True)\nsys.stdin.readline()\n"
        "for number in range(10):\n"
        "    update_lock(Path(sys.argv[1]), {f'{sys.argv[2]}{number}': LockedServer({}, {})})\n"
    )
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in "ab"
    ]
    for one in programs:
        assert one.stdout is not None
        one.stdout.readline()
    # Both are ready, and begin at once.
    for one in programs:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in programs:
        one.communicate(timeout=PATIENCE_SECONDS)

    assert [one.returncode for one in programs] == [0, 0]
    assert read_lock(path) == {f"{name}{number}": LockedServer({}, {}) for name in "ab" for number in range(10)}


def test_the_file_is_sorted_and_reproducible(path: Path) -> None:
    """Ours: sorted, two spaces, a final newline, and the same bytes for the same tools."""
    update_lock(path, {"b": server(), "a": server({"name": "x"}, {"name": "a"})})
    text = path.read_text()

    assert text.startswith('{\n  "version": 1,\n  "servers": {\n    "a": {\n')
    assert text.endswith("}\n")
    assert [list(one["tools"]) for one in json.loads(text)["servers"].values()] == [["a", "x"], ["echo"]]
    assert path.stat().st_mode & 0o777 == 0o644
    update_lock(path, {"b": server({"description": "Says it again.", "name": "echo"})})
    assert path.read_text() == text


def test_invisible_characters_are_escaped(path: Path) -> None:
    """Ours: a reviewer of the file has to see all of it. Visible characters stay as they are."""
    tool = {"name": "e", "description": "grüß\u200b \u202e \x9b \U000e0041 \ud800 Gott"}

    update_lock(path, {"a": server(tool)})

    assert '"grüß\\u200b \\u202e \\u009b \\udb40\\udc41 \\ud800 Gott"' in path.read_text("utf-8")
    assert read_lock(path) == {"a": server(tool)}


def test_the_mode_of_the_file_is_preserved(path: Path) -> None:
    """Ours: and one that may not be written is not."""
    update_lock(path, {"a": server()})
    path.chmod(0o640)
    update_lock(path, {"b": server()})
    assert path.stat().st_mode & 0o777 == 0o640

    path.chmod(0o440)
    with pytest.raises(ConfigFileError, match="read-only"):
        update_lock(path, {"c": server()})


def test_a_file_that_is_not_a_lock_file_is_an_error(path: Path) -> None:
    """Ours: a contract that cannot be read must not be taken for an empty one."""
    cases = [
        ("", "is empty"),
        ("[]", "contains a list"),
        ('{"version": 1,\n', "ends too early"),
        ('{"version": 1}', "is not a lock file"),
        ('{"servers": {}}', "is not a lock file"),
        ('{"version": true, "servers": {}}', "is not a lock file"),
        ('{"version": 2, "servers": {}}', "of version 2"),
        ('{"version": 1, "servers": {"a": 7}}', "has no member 'tools'"),
        ('{"version": 1, "servers": {"a": {"tools": {"t": 7}}}}', "has no definition"),
        ('{"version": 1, "servers": {"a": {"tools": {"t": {"definition": {"name": "t"}}}}}}', "has no definition"),
        (
            '{"version": 1, "servers": {"a": {"tools": {"t": {"hash": "", "definition": {"name": "u"}}}}}}',
            "has no definition",
        ),
    ]

    def check(text: str, problem: str) -> None:
        path.write_text(text)

        found = problem_of(path)

        assert problem in found.message
        assert str(path) in found.message
        assert found.hint == ("update gaia-mcp" if "version 2" in problem else found.hint)
        assert "mcpServers" not in found.hint

    check_rows(check, cases)


def test_a_file_changed_by_hand_is_an_error_with_its_line(path: Path) -> None:
    """Ours: what was approved is what stands there."""
    update_lock(path, {"a": server()})
    text = path.read_text().replace("Says it again.", "Says it twice.")
    path.write_text(text)

    found = problem_of(path)

    assert "'echo' of 'a' was changed by hand" in found.message
    assert '"hash"' in text.splitlines()[found.line - 1]


@pytest.mark.parametrize("made_up", ["", "\\ud800", "sha256:0"])
def test_an_invalid_hash_is_an_error(path: Path, made_up: str) -> None:
    """Ours: any hash but that of the definition means a change by hand."""
    update_lock(path, {"a": server()})
    path.write_text(re.sub('"hash": "[^"]*"', lambda _: f'"hash": "{made_up}"', path.read_text()))

    assert "was changed by hand" in problem_of(path).message


def test_a_file_that_cannot_be_read_is_an_error(path: Path) -> None:
    """Ours: it must not be taken for a missing one, whose contract may be written anew."""
    path.mkdir()

    with pytest.raises(ConfigFileError, match="cannot be read"):
        read_lock(path)


def test_a_server_without_an_entry_is_read(path: Path) -> None:
    """Ours: the entry is only there for the reader of the file."""
    update_lock(path, {"a": server()})
    document = json.loads(path.read_text())
    document["servers"]["a"]["entry"] = None
    path.write_text(json.dumps(document))

    assert read_lock(path) == {"a": LockedServer({}, server().contract)}
