"""What a user's own code raised, in one line."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gaia_mcp.importing import import_file
from gaia_mcp.importing.failures import failure_in_words, missing_package


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
