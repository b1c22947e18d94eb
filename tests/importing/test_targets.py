"""How a class of the user's is named."""

from __future__ import annotations

import py_compile
import sys
from typing import TYPE_CHECKING

from gaia_mcp.importing import forget_modules
from gaia_mcp.importing.targets import import_named, split_target

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_target_is_split_into_a_place_and_a_class() -> None:
    """Ours: a path may hold colons."""
    cases = [
        ("package.module:Class", ("package.module", ":", "Class")),
        ("./x.py:Outer.Inner", ("./x.py", ":", "Outer.Inner")),
        ("./x.py", ("./x.py", "", "")),
        ("./x.py:", ("./x.py", ":", "")),
        ("demo", ("demo", "", "")),
        (r"C:\\x.py", (r"C:\\x.py", "", "")),
        (r"C:\\x.py:Class", (r"C:\\x.py", ":", "Class")),
        ("C:/x.py", ("C:/x.py", "", "")),
        ("/srv/a:b/x.py", ("/srv/a:b/x.py", "", "")),
        ("/srv/a:b/x.py:Class", ("/srv/a:b/x.py", ":", "Class")),
    ]

    assert {target: split_target(target) for target, _ in cases} == dict(cases)


def test_a_module_in_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours, as `python -m` does."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "celery_here.py").write_text("WORD = 'here'")
    try:
        assert import_named("celery_here").WORD == "here"
        assert sys.path[0] == str(tmp_path)
        assert import_named("json.decoder").__name__ == "json.decoder"
        assert sys.path.count(str(tmp_path)) == 1
    finally:
        forget_modules(tmp_path)


def test_a_module_in_the_working_folder_is_imported_by_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: compiled code beside it is not what was approved."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    (tmp_path / "salsify.py").write_text("WORD = 'compiled'")
    py_compile.compile("salsify.py", doraise=True, invalidation_mode=mode)
    (tmp_path / "salsify.py").write_text("WORD = 'written'")
    try:
        assert import_named("salsify").WORD == "written"
    finally:
        forget_modules(tmp_path)


def test_a_module_is_imported_in_a_deleted_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the module may be elsewhere."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert import_named("json").__name__ == "json"
