"""Executing a Python file as a module."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import py_compile
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gaia_mcp
from gaia_mcp.importing import first_in_path, forget_modules, import_file, load_by_source

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports from its folder is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield
    monkeypatch.undo()
    forget_modules(tmp_path)


def write(name: str, text: str | bytes) -> Path:
    """A file in the working folder, named as a person types it."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def compiled_as(path: Path, word: str) -> str:
    """What else would be imported instead of the source: compiled code that claims to need no check."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    other = py_compile.compile(str(write("other.py", f"WORD = {word!r}")), doraise=True, invalidation_mode=mode)
    target = Path(importlib.util.cache_from_source(str(path)))
    target.parent.mkdir(exist_ok=True)
    return str(Path(other).replace(target))


def test_a_file_becomes_a_module_of_its_name(tmp_path: Path) -> None:
    """Ours: so that pickle, dataclasses and its neighbours find it."""
    module = import_file(write("carrot.py", "WORD = __name__"))

    assert module.WORD == "carrot"
    assert sys.modules["carrot"] is module
    assert module.__file__ == str(tmp_path / "carrot.py")


def test_a_file_is_executed_again_on_each_import() -> None:
    """Ours: two handlers may come from one file."""
    path = write("carrot.py", "PLACE = object()")

    first, second = import_file(path), import_file(path)

    assert first.PLACE is not second.PLACE
    assert (first.__name__, second.__name__) == ("carrot", "_file_carrot")


def test_a_compiled_file_is_not_used() -> None:
    """Ours: it may have been compiled from other source, and the user has approved the file alone."""
    path = write("carrot.py", "WORD = 'written'")
    compiled_as(path, "compiled")
    with first_in_path(str(path.parent.absolute())):
        assert importlib.import_module("carrot").WORD == "compiled"  # as Python does it

    assert import_file(path).WORD == "written"


def test_a_file_in_another_encoding_is_read_as_it_declares() -> None:
    """PEP 263, and a byte order mark."""
    latin = "# -*- coding: iso-8859-15 -*-\nWORD = 'Preis: 3 €'\n".encode("iso-8859-15")

    assert import_file(write("latin.py", latin)).WORD == "Preis: 3 €"
    assert import_file(write("marked.py", b"\xef\xbb\xbfWORD = 'Preis: 3 \xe2\x82\xac'")).WORD == "Preis: 3 €"


def test_a_failed_import_leaves_no_module(tmp_path: Path) -> None:
    """Ours: whatever it raises; the next try begins anew."""
    texts = ["raise SystemExit(3)", "raise KeyboardInterrupt", "def (", "1/0", b"'\xe4'", b"\0"]

    for text in texts:
        path = write("carrot.py", text)
        with pytest.raises(BaseException) as caught:
            import_file(path)
        assert not isinstance(caught.value, AssertionError), text
        assert "carrot" not in sys.modules, text
        path.write_text("WORD = 1")
        assert import_file(path).__name__ == "carrot", text
        forget_modules(tmp_path)


def test_a_missing_file_is_an_error() -> None:
    """Ours: that of the system."""
    with pytest.raises(FileNotFoundError):
        import_file(Path("carrot.py"))
    assert "carrot" not in sys.modules


@pytest.mark.story
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("end", ["", "raise ValueError", "raise SystemExit(3)"])
def test_the_forked_child_of_an_imported_file_exits(tmp_path: Path, end: str) -> None:
    """Ours: the program would run twice."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    text = f"import os\nCHILD = os.fork()\nif not CHILD:\n    os.write({writing}, b'in the child')\n    {end or 'pass'}"

    module = import_file(write("carrot.py", text))

    os.close(writing)
    assert os.waitpid(module.CHILD, 0) == (module.CHILD, 0)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"in the child"


def test_modules_in_the_folder_of_a_file_are_imported_from_source(tmp_path: Path) -> None:
    """Ours: that is what was approved; packages, and what they import, and also what is imported later."""
    for name in ("sack/__init__.py", "sack/inner.py", "near.py", "late.py"):
        compiled_as(write(name, "WORD = 'written'"), "compiled")
    write("sack/inner.py", "import near\nWORD = 'written, beside ' + near.WORD")
    write("carrot.py", "from sack import inner\ndef late():\n    import late\n    return late.WORD")

    with first_in_path(str(tmp_path)):
        module = import_file(Path("carrot.py"))

    assert (sys.modules["sack"].WORD, module.inner.WORD) == ("written", "written, beside written")
    assert module.late() == "written"


def test_a_file_named_like_another_module_does_not_hide_it(tmp_path: Path) -> None:
    """Ours: also after another file has been loaded from the same folder."""
    for name in ("carrot.py", "parsnip.py", "gettext.py"):
        write(name, "import json\nimport gettext\nPLACE = gettext.__file__")
    sys.modules.pop("gettext", None)

    with first_in_path(str(tmp_path)):
        own = import_file(Path("gettext.py"))
        places = [import_file(Path(name)).PLACE for name in ("carrot.py", "parsnip.py")]

    assert own.__file__ == str(tmp_path / "gettext.py")
    assert not any(place.startswith(str(tmp_path)) for place in places)


def test_a_module_elsewhere_is_imported_as_usual(tmp_path: Path) -> None:
    """Ours: what is installed, also in an environment inside the folder, folders without `__init__`, and compiled code
    alone.
    """
    compiled_as(write("here/env/lib/site-packages/celeriac.py", "WORD = 'written'"), "compiled")
    compiled_as(write("far/fennel.py", "WORD = 'written'"), "compiled")
    compiled_as(write("hereafter/sorrel.py", "WORD = 'written'"), "compiled")
    write("here/space/chard.py", "WORD = 'written'")
    compiled = compiled_as(write("here/leek.py", ""), "compiled")
    (tmp_path / "here/leek.py").unlink()
    Path(compiled).rename(tmp_path / "here/leek.pyc")
    for entry in ("far", "hereafter", "here/env/lib/site-packages", "here"):
        sys.path.insert(0, str(tmp_path / entry))

    load_by_source(str(tmp_path / "here"))
    words = {
        name: importlib.import_module(name).WORD for name in ("celeriac", "fennel", "sorrel", "space.chard", "leek")
    }
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("rutabaga")

    compiled_ones = dict.fromkeys(("celeriac", "fennel", "sorrel", "leek"), "compiled")
    assert words == {**compiled_ones, "space.chard": "written"}
    del sys.modules["celeriac"]  # It is installed, and would not be forgotten.


def test_a_module_may_replace_the_import_finders(tmp_path: Path) -> None:
    """Ours: many an importer of others does."""
    write("endive.py", "import sys\nsys.meta_path.clear()")
    sys.path.insert(0, str(tmp_path))

    load_by_source(str(tmp_path))
    importlib.import_module("endive")
    load_by_source(str(tmp_path))

    assert "endive" in sys.modules
    assert len(sys.meta_path) == 1


def test_a_folder_is_first_in_the_path_and_last_afterwards(tmp_path: Path) -> None:
    """Ours: as that of a script is; afterwards it must not be in the way of what the program imports."""
    before = list(sys.path)
    write("near/parsnip.py", "WORD = 'near'")
    write("far/parsnip.py", "WORD = 'far'")
    write("near/leek.py", "")
    sys.path.insert(0, str(tmp_path / "far"))

    with first_in_path(str(tmp_path / "near")):
        assert importlib.import_module("parsnip").WORD == "near"

    assert sys.path == [str(tmp_path / "far"), *before, str(tmp_path / "near")]
    assert importlib.import_module("leek").__file__ == str(tmp_path / "near/leek.py")
    del sys.modules["parsnip"]
    assert importlib.import_module("parsnip").WORD == "far"

    with first_in_path(str(tmp_path / "near")):
        assert sys.path[0] == str(tmp_path / "near")
    assert sys.path.count(str(tmp_path / "near")) == 1


def test_a_folder_that_was_in_the_path_stays_where_it_was(tmp_path: Path) -> None:
    """Ours: the program wants it there."""
    sys.path.insert(0, str(tmp_path))
    before = list(sys.path)

    with contextlib.suppress(RuntimeError), first_in_path(str(tmp_path)):
        raise RuntimeError

    assert sys.path == before


def test_code_may_change_the_path(tmp_path: Path) -> None:
    """Ours: many a file does."""
    with first_in_path(str(tmp_path)):
        sys.path.clear()

    assert sys.path == [str(tmp_path)]


def test_forgotten_modules_are_imported_again(tmp_path: Path) -> None:
    """Ours: the file and those that it imports from its folder, nothing else."""
    write("turnip.py", "WORD = 'old'\n")
    path = write("carrot.py", "from turnip import WORD\n")
    with first_in_path(str(tmp_path)):
        first = import_file(path)
        write("turnip.py", "WORD = 'longer than before'\n")

        forget_modules(tmp_path)

        assert first.WORD == "old"
        assert import_file(path).WORD == "longer than before"
    assert "json" in sys.modules


def test_installed_modules_and_our_own_are_not_forgotten(tmp_path: Path) -> None:
    """Ours: an environment inside the folder, and a folder that we lie in ourselves."""
    write("env/lib/site-packages/installed_here.py", "")
    sys.path.insert(0, str(tmp_path / "env/lib/site-packages"))
    installed = importlib.import_module("installed_here")
    try:
        forget_modules(tmp_path)
        forget_modules(Path(gaia_mcp.__file__).parent)

        assert sys.modules["installed_here"] is installed
        assert sys.modules["gaia_mcp"] is gaia_mcp
    finally:
        del sys.modules["installed_here"]
