"""Files that are named like another module: each in a process of its own, as an agent is served."""

from __future__ import annotations

import importlib
import json
import py_compile
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gaia_mcp.agents import load_agent
from gaia_mcp.importing import (
    failure_in_words,
    forget_modules,
    import_file,
    import_named,
    missing_package,
    module_name,
    split_target,
)

# A dataclass looks for its module when it is made, and so does pickle.
AGENT = """
from __future__ import annotations
import pickle
from dataclasses import dataclass
import neighbour

@dataclass
class Note:
    text: str

class Agent:
    def get_mcp_tool_definitions(self):
        return [{"name": "t"}]
    def execute_mcp_tool(self, name, arguments):
        return pickle.loads(pickle.dumps(Note(neighbour.WORD))).text
"""
# What else is imported from now on, and was not before, comes from where it belongs.
LOAD = """
import importlib, multiprocessing, sys
name = sys.argv[1]
was_loaded = sys.modules.get(name), sys.modules.get("_" + name)
from gaia_mcp.agents import load_agent
agent = load_agent(name + ".py:Agent")
assert agent.execute_mcp_tool("t", {}) == "near"
found = importlib.import_module(name)
assert not hasattr(found, "Agent"), found
assert was_loaded[0] in (None, found)
assert sys.modules.get("_" + name) in (None, was_loaded[1]) or not hasattr(sys.modules["_" + name], "Agent")
if sys.platform == "linux":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(agent.execute_mcp_tool, ("t", {})) == "near"
"""


@pytest.mark.story
@pytest.mark.parametrize("name", ["json", "signal", "statistics", "sched", "wave", "secrets", "select", "types"])
def test_a_file_named_like_a_standard_module_does_not_replace_it(tmp_path: Path, name: str) -> None:
    """Ours: whether that module is loaded already, built in, or imported for the first time afterwards."""
    (tmp_path / f"{name}.py").write_text(AGENT)
    (tmp_path / "neighbour.py").write_text("WORD = 'near'\n")

    # As the installed program does, it finds nothing in the working folder by itself.
    command = [sys.executable, "-P", "-c", LOAD, name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_standard_module_that_is_not_installed_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: programs ask for `winreg` to see where they are, and must not get an agent."""
    (tmp_path / "winreg.py").write_text(AGENT)
    (tmp_path / "neighbour.py").write_text("WORD = 'near'\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    try:
        for _ in range(2):
            assert type(load_agent(str(tmp_path / "winreg.py"))).__module__ == "_file_winreg"
            with pytest.raises(ModuleNotFoundError, match="No module named 'winreg'"):
                import winreg  # noqa: F401
            assert load_agent(str(tmp_path / "winreg.py:Agent")).execute_mcp_tool("t", {}) == "near"
            # As when its files have changed.
            forget_modules(tmp_path)
    finally:
        forget_modules(tmp_path)


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: two files of the same name in one process."""
    assert module_name("my_notes", str(tmp_path)) == "my_notes"
    for taken, name in (("my_notes", "_file_my_notes"), ("_file_my_notes", "_file_my_notes_2")):
        monkeypatch.setitem(sys.modules, taken, sys)
        assert module_name("my_notes", str(tmp_path)) == name


def install(folder: Path, name: str) -> None:
    (folder / "site-packages").mkdir()
    (folder / "site-packages" / f"{name}.py").write_text("WORD = 'installed'\n")


def test_a_file_named_like_an_installed_module_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: many people write a `redis.py` around the module `redis`."""
    install(tmp_path, "radish")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "radish.py").write_text("import radish\nWORD = radish.WORD + ', wrapped'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "here"), *sys.path, str(tmp_path / "site-packages")])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    try:
        module = import_file(tmp_path / "here" / "radish.py")
        assert (module.__name__, module.WORD) == ("_file_radish", "installed, wrapped")
        assert importlib.import_module("radish").WORD == "installed"
    finally:
        sys.modules.pop("radish", None)
        forget_modules(tmp_path)


def test_a_file_reached_through_a_link_in_the_path_is_the_same_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a folder of packages may hold the file itself, and be reached through a link."""
    install(tmp_path, "turnip")
    (tmp_path / "link").symlink_to(tmp_path / "site-packages")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site-packages")])

    assert module_name("turnip", str(tmp_path / "link")) == "turnip"


def test_a_file_whose_name_is_not_an_identifier_has_its_own_name(tmp_path: Path) -> None:
    """Ours: nothing can import it by that name."""
    stems = ["turnip.json", "two words", "-", "json.turnip"]

    assert {stem: module_name(stem, str(tmp_path)) for stem in stems} == {stem: stem for stem in stems}


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import json\n\njson.loads('{')", "JSONDecodeError: Expecting property name"),
        ("\n\nraise KeyError('HOME')", "KeyError: 'HOME', at "),
        ("\n\nraise SystemExit", "SystemExit, at "),
    ],
)
def test_a_failure_names_the_line_of_the_users_file(tmp_path: Path, text: str, words: str) -> None:
    """Ours: however deep in a library it ended."""
    path = tmp_path / "half.py"
    path.write_text(text)

    with pytest.raises(BaseException) as caught:
        import_file(path)

    assert failure_in_words(caught.value).startswith(words)
    assert failure_in_words(caught.value).endswith(f", at {path}:3")


@pytest.mark.parametrize(
    ("text", "line"), [(b"x = 1\ndef broken(:", 2), (b"x = '\xe4'", 1), (b"# coding: klingon\nx = 1", 0)]
)
def test_a_syntax_error_names_its_file_and_line_itself(tmp_path: Path, text: bytes, line: int) -> None:
    """Ours: also bytes that are not of the declared encoding."""
    path = tmp_path / "half.py"
    path.write_bytes(text)

    with pytest.raises(SyntaxError) as caught:
        import_file(path)

    words = failure_in_words(caught.value)
    assert words.startswith("SyntaxError: ")
    assert "half.py" in words
    assert not line or words.endswith(f"(half.py, line {line})")


def test_a_failure_outside_the_users_code_has_no_place() -> None:
    """Ours: the user cannot mend the standard library."""
    thread = ThreadPoolExecutor(1).submit(json.loads, "{")

    assert failure_in_words(thread.exception() or ValueError()).endswith("line 1 column 2 (char 1)")
    assert failure_in_words(ValueError()) == "ValueError"


def test_a_failure_is_one_line_of_printable_text() -> None:
    """Ours: it is shown on terminals and in logs."""
    assert failure_in_words(ValueError("one\ntwo \x1b[31mred")) == r"ValueError: one two \x1b[31mred"
    assert len(failure_in_words(ValueError("x" * 100_000))) < 2000


def test_an_error_whose_str_fails_is_shown_by_its_class() -> None:
    """Ours: it is the user's code as well."""

    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert failure_in_words(SilentError()) == "SilentError"


def test_a_package_that_is_not_installed_is_named_with_the_python_that_lacks_it() -> None:
    """Ours: a machine has several."""
    missing = ModuleNotFoundError("No module named 'rutabaga'", name="rutabaga")

    assert missing_package(missing).startswith("install the package of 'rutabaga' for ")
    assert missing_package(missing).endswith(Path(sys.executable).name)
    # The package is there, and does not have this part.
    assert missing_package(ModuleNotFoundError("No module named 'json.x'", name="json.x")) == ""
    assert missing_package(ModuleNotFoundError()) == missing_package(ImportError("x", name="json")) == ""
