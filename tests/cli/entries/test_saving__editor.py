"""An entry that is changed in an editor."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}


def with_editor(gaia: Gaia, script: str) -> Path:
    """From now on the editor is a shell script that is given the file as `$1`, and notes its name and mode."""
    editor = gaia.home / "an editor"
    editor.write_text(f'#!/bin/sh\necho "$1" >> {gaia.home}/files\nstat -c %a "$1" > {gaia.home}/mode\n{script}\n')
    editor.chmod(0o755)
    gaia.environ["EDITOR"] = f"'{editor}'"
    gaia.environ["TMPDIR"] = str(gaia.home)
    return gaia.home / "files"


def test_on_a_terminal_the_entry_is_opened_in_an_editor(gaia: Gaia) -> None:
    """Ours: in a file that only its owner can read, and that is deleted once it is saved."""
    gaia.write({"x": {**DEMO, "env": {"A": "hunter2222"}}})
    files = with_editor(gaia, """sed -i 's/hunter2222/hunter3333/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 0, shown
    assert "env.A: **** → ****" in shown
    assert gaia.saved["x"]["env"] == {"A": "hunter3333"}
    assert (gaia.home / "mode").read_text() == "600\n"
    assert not os.path.exists(files.read_text().strip())  # noqa: PTH110


@pytest.mark.parametrize("script", [":", 'rm "$1"'])
def test_an_unchanged_or_deleted_editor_file_changes_nothing(gaia: Gaia, script: str) -> None:
    """Ours: a person who changed their mind leaves the editor so."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, script)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert (code, "nothing changed in 'x'" in shown) == (0, True)
    assert not os.path.exists(files.read_text().strip())  # noqa: PTH110


@pytest.mark.parametrize("name", ["a/b", "n" * 300])
def test_a_server_of_any_name_is_opened_in_the_editor(gaia: Gaia, name: str) -> None:
    """Ours: in a file named after it as far as possible. It can be saved only under a valid name."""
    gaia.write({name: DEMO})
    with_editor(gaia, """sed -i 's/^{/{"timeout": 9,/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", name, typed=b"n\n", after=b"Edit it again?")

    assert code == 3, shown
    assert "not saved: " in shown


def test_a_lone_surrogate_can_be_edited(gaia: Gaia) -> None:
    """Ours: JSON can have one, as an escape only."""
    gaia.write({"x": {**DEMO, "note": "\ud800"}})
    with_editor(gaia, """sed -i 's/ud800/udfff/; s/^{/{"timeout": 9,/' "$1" """)

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 0, shown
    assert gaia.saved["x"] == {"timeout": 9, **DEMO, "note": "\udfff"}


def test_a_mistake_can_be_corrected_in_the_editor(gaia: Gaia) -> None:
    """Ours: the editor opens the text that was written."""
    gaia.write({"x": DEMO})
    mend = """sed -i 's/oops//; s/^{/{"timeout": 9,/' "$1" """
    fix = f'if grep -q oops "$1"; then {mend}; else echo oops >> "$1"; fi'
    files = with_editor(gaia, fix)

    shown, code = run_on_terminal(gaia, "edit", "x", typed=b"y\n", after=b"Edit it again?")

    assert code == 0, shown
    assert "not saved: " in shown
    assert gaia.saved["x"] == {"timeout": 9, **DEMO}
    first, second = files.read_text().splitlines()
    assert first == second


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('echo oops >> "$1"', "not JSON"),
        ("""sed -i 's/"command"/"order"/' "$1" """, "'command'"),
        ("""sed -i 's/"serve"/"swerve"/' "$1" """, "exited with status"),
    ],
)
def test_the_editor_file_is_preserved_when_it_cannot_be_saved(gaia: Gaia, script: str, expected: str) -> None:
    """Ours: and its path is named."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, script)

    shown, code = run_on_terminal(gaia, "edit", "x", typed=b"n\n", after=b"Edit it again?")

    (file,) = files.read_text().splitlines()
    assert code in (3, 4)
    assert expected in shown
    assert f"what you wrote is in {file}" in shown.replace("\r\n", "")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600  # noqa: PTH116
    assert gaia.saved["x"] == DEMO


def test_the_editor_file_is_preserved_when_the_editor_fails(gaia: Gaia) -> None:
    """Ours: it may have been hours of work."""
    gaia.write({"x": DEMO})
    files = with_editor(gaia, """sed -i 's/serve/swerve/' "$1"; exit 1""")

    shown, code = run_on_terminal(gaia, "edit", "x")

    file = Path(files.read_text().strip())
    assert code == 3
    assert "ended with status 1" in shown
    assert f"what you wrote is in {file}" in shown.replace("\r\n", "")
    assert json.loads(file.read_text()) == {**DEMO, "args": ["mcp", "swerve", "demo"]}
    assert gaia.saved["x"] == DEMO


@pytest.mark.parametrize(
    ("editor", "expected"),
    [("sh -c 'exit 7'", "ended with status 7"), ("no-such-editor", "cannot be run"), ("vi 'x", "cannot be run")],
)
def test_an_editor_that_fails_changes_nothing(gaia: Gaia, editor: str, expected: str) -> None:
    """Ours: neither the entry nor the folder of temporary files."""
    gaia.write({"x": DEMO})
    with_editor(gaia, "")
    gaia.environ["VISUAL"] = editor

    shown, code = run_on_terminal(gaia, "edit", "x")

    assert code == 3
    assert expected in shown
    assert gaia.saved["x"] == DEMO
    assert not list(gaia.home.glob("gaia-x-*"))
