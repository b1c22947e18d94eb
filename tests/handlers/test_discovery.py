"""Which class is the handler, and why a file has none."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.errors import HandlerError
from gaia_mcp.handlers.base import MCPHandler
from gaia_mcp.handlers.discovery import handler_class, handler_class_in, handler_classes
from gaia_mcp.importing.files import import_file
from tests.handlers.echo import EchoHandler
from tests.handlers.files import HANDLER, IMPORT, WORD, handler_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.handlers.files import Write


def problem(file: Path | str) -> HandlerError:
    with pytest.raises(HandlerError) as caught:
        handler_class(str(file))
    assert isinstance(caught.value, ValueError)
    assert caught.value.target == str(file)
    return caught.value


def test_the_only_handler_that_a_file_defines_is_found(write: Write) -> None:
    """A2: without `MCP_HANDLER_CLASS`."""
    kind = handler_class_in(write("word_handler.py"))

    assert issubclass(kind, MCPHandler)
    assert (kind.__name__, kind.__module__) == ("WordHandler", "word_handler")


def test_mcp_handler_class_takes_precedence_over_discovery(write: Write) -> None:
    """A2: of two, and of none that it defines."""
    two = HANDLER + handler_text("OtherHandler")
    assert handler_class_in(write("two.py", two + "MCP_HANDLER_CLASS = OtherHandler")).__name__ == "OtherHandler"
    chosen = "import tests.handlers.echo\nMCP_HANDLER_CLASS = tests.handlers.echo.EchoHandler"
    assert handler_class_in(write("imported.py", chosen)) is EchoHandler


def test_a_named_class_takes_precedence_over_mcp_handler_class(write: Write) -> None:
    """Ours: `FILE:Class`, also inside another class."""
    inner = "class Outer:\n    Inner = OtherHandler\n"
    path = write("two.py", HANDLER + handler_text("OtherHandler") + inner + "MCP_HANDLER_CLASS = WordHandler")

    assert handler_class(str(path)).__name__ == "WordHandler"
    assert handler_class(f"{path}:OtherHandler").__name__ == "OtherHandler"
    assert handler_class(f"{path}:Outer.Inner").__name__ == "OtherHandler"


def test_a_class_in_a_module_is_found(write: Write) -> None:
    """Ours: one that is installed, or in the working folder."""
    write("pack/__init__.py", "")
    write("pack/inner.py")

    assert handler_class("pack.inner:WordHandler").__module__ == "pack.inner"
    assert handler_class("tests.handlers.echo:EchoHandler") is EchoHandler


def test_an_imported_handler_is_not_a_candidate(write: Write) -> None:
    """A2: neither from a file beside it, nor from elsewhere."""
    write("base_handler.py", HANDLER)
    text = "from base_handler import WordHandler\nfrom tests.handlers.echo import EchoHandler\n"

    kind = handler_class_in(write("word_two_handler.py", text + "class Two(WordHandler): pass"))

    assert kind.__name__ == "Two"
    alone = problem(write("three_handler.py", text))
    assert "No MCPHandler subclass" in str(alone)
    assert alone.hint == "to use one that it imports, write MCP_HANDLER_CLASS = WordHandler at its end"


def test_two_candidates_are_an_error_that_names_them(write: Write) -> None:
    """A2, and how to choose."""
    error = problem(write("two_handler.py", HANDLER + handler_text("OtherHandler")))

    assert "Multiple MCPHandler subclasses found in it: WordHandler, OtherHandler" in str(error)
    assert error.hint == "write MCP_HANDLER_CLASS = WordHandler at its end"


def test_one_class_with_two_names_is_one_candidate(write: Write) -> None:
    """Ours: an alias leaves nothing to choose."""
    assert handler_class_in(write("word_handler.py", HANDLER + "Alias = WordHandler")).__name__ == "WordHandler"


def test_an_abstract_class_is_not_a_candidate_beside_a_concrete_one(write: Write) -> None:
    """Ours: it cannot be created."""
    text = IMPORT + WORD + "class Base(MCPHandler): pass\n" + handler_text("WordHandler", "Base")

    assert handler_class_in(write("word_handler.py", text)).__name__ == "WordHandler"


def test_the_missing_methods_of_an_abstract_class_are_named(write: Write) -> None:
    """Ours: it was meant as the handler, whether it was chosen or found."""
    text = IMPORT + "class Half(MCPHandler):\n    def connect(self): pass\n    def list_tools(self): return []\n"
    words = "is not complete: Half does not define call_tool, disconnect"

    assert words in str(problem(write("half_handler.py", text)))
    assert words in str(problem(write("half_handler.py", text + "MCP_HANDLER_CLASS = Half")))
    assert words in str(problem(f"{write('half_handler.py', text)}:Half"))


def test_an_invalid_mcp_handler_class_is_an_error(write: Write) -> None:
    """A2: discovery does not help it out."""
    for number, (chosen, words) in enumerate(
        [
            ("'WordHandler'", "sets MCP_HANDLER_CLASS to a value of type str, which is not an MCPHandler subclass"),
            ("WordHandler(MCPHandlerConfig('x'))", "a value of type WordHandler, which is not an MCPHandler subclass"),
            ("None", "a value of type NoneType, which is not an MCPHandler subclass"),
            ("dict", "sets MCP_HANDLER_CLASS to dict, which is not an MCPHandler subclass"),
            ("MCPHandler", "MCPHandler does not define call_tool, connect, disconnect, list_tools"),
        ]
    ):
        path = write(f"{number}/word_handler.py", f"{HANDLER}MCP_HANDLER_CLASS = {chosen}")
        assert words in str(problem(path))


def test_a_file_without_a_handler_is_an_error(write: Write) -> None:
    """A2, with what to do."""
    for text in ("", "x = 42", "class Handler:" + "\n    pass", IMPORT):
        error = problem(write("empty_handler.py", text))
        assert "No MCPHandler subclass found in it" in str(error)
        assert error.hint == "derive a class from MCPHandler: from gaia_mcp.handlers import MCPHandler"


def test_a_file_that_redefines_the_base_class_is_reported(write: Write) -> None:
    """Ours: its class is not derived from the one that everything else knows; a derived one of that name is fine."""
    own = "class MCPHandler: pass\n" + handler_text()
    assert "it defines an MCPHandler of its own" in problem(write("word_handler.py", IMPORT + own)).hint

    text = IMPORT + WORD + "class MCPHandler(MCPHandler): pass\n" + handler_text()
    assert handler_class_in(write("word_handler.py", text)).__name__ == "WordHandler"


def test_a_missing_file_is_reported(write: Write) -> None:
    """A2: `not found`, or the error of the operating system."""
    write("missing", "")
    names = ["missing_handler.py", "missing/x_handler.py", "missing.txt", "nul\0.py", "x" * 5000]
    found = {name: str(problem(name)) for name in names}

    assert {name: text for name, text in found.items() if "not found" not in text} == {
        "x" * 5000: found["x" * 5000],
    }
    assert "File name too long" in found["x" * 5000]


def test_a_file_that_is_not_python_is_an_error(write: Write) -> None:
    """A2: `.py`."""
    assert "is not a .py file" in str(problem(write("word_handler.txt")))
    assert "is not a .py file" in str(problem(write("word_handler.pyc")))


def test_a_folder_or_a_pipe_is_not_opened(write: Write, tmp_path: Path) -> None:
    """Ours: a pipe would never end."""
    (tmp_path / "folder.py").mkdir()
    assert "is not a regular file" in str(problem(tmp_path / "folder.py"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        assert "is not a regular file" in str(problem(tmp_path / "pipe.py"))


def test_the_error_for_an_invalid_target_names_the_failed_step(write: Write) -> None:
    """Ours: a wrong file, module and class are each corrected in another place."""
    write("word_handler.py")
    for target, words in [
        ("word_handler.py:Nothing", "was not found: there is no 'Nothing' in it"),
        ("word_handler.py:WordHandler.x", "was not found: there is no 'WordHandler.x' in it"),
        ("word_handler.py:WORD", "is not an MCPHandler subclass"),
        ("no_module_of_ours:Class", "cannot be imported: ModuleNotFoundError: No module named 'no_module_of_ours'"),
        ("no_module_of_ours", "was not found"),
        ("", "is not a .py file"),
    ]:
        assert words in str(problem(target))


def test_a_misspelt_class_is_reported_with_the_existing_ones(write: Write) -> None:
    """Ours: a spelling error is seen beside the right name."""
    write("word_handler.py")
    write("empty.py", "")

    assert problem("word_handler.py:word").hint == "it has: WordHandler"
    assert "derive a class" in problem("empty.py:Word").hint


BROKEN: list[tuple[str | bytes, str]] = [
    ("\n\nraise RuntimeError('no luck')", "RuntimeError: no luck, at "),
    ("\n\n1/0", "bad_handler.py:3"),
    ("import sys\nsys.exit('bye')", "SystemExit: bye, at "),
    ("import asyncio\nraise asyncio.CancelledError", "CancelledError, at "),
    ("class Own(BaseException): pass\nraise Own('mine')", "Own: mine, at "),
    ("raise GeneratorExit", "GeneratorExit"),
    ("x = 1\ndef broken(:", "SyntaxError: invalid syntax (bad_handler.py, line 2)"),
    ("if True:\npass", "IndentationError: "),
    (b"x = 'caf\xe9'", "SyntaxError: "),
    (b"# coding: klingon", "unknown encoding: klingon"),
    ("x = 1".encode("utf-16"), "SyntaxError: "),
    (b"x = '\0'", "null bytes"),
    ("import no_module_of_ours", "ModuleNotFoundError: No module named 'no_module_of_ours'"),
    ("import bad_handler\nbad_handler.X", "AttributeError: "),
    ("def f(): f()\nf()", "RecursionError: "),
]


def test_an_import_error_names_the_cause_and_the_line(write: Write) -> None:
    """A2: whatever its code does; nothing is left of it."""
    for number, (text, words) in enumerate(BROKEN):
        path = write(f"{number}/bad_handler.py", text)
        before = list(sys.path)

        error = problem(path)

        assert f"handler {str(path)!r} cannot be imported: " in str(error)
        assert words in str(error), text
        assert error.case == "handler-failed", text
        assert error.__cause__ is not None, text
        assert sys.path == [*before, str(path.parent)], text


def test_an_interrupt_ends_the_import_and_is_not_reported_as_a_failure(write: Write) -> None:
    """Ours: Ctrl-C while a file is imported slowly."""
    path = write("slow_handler.py", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        handler_class_in(path)

    assert "slow_handler" not in sys.modules


def test_the_hint_for_an_old_import_line_is_the_new_one(write: Write) -> None:
    """A1: one line is to be changed."""
    error = problem(write("old_handler.py", "from azext_prototype.mcp.base import MCPHandler"))

    assert error.hint == "change its import line: from gaia_mcp.handlers import MCPHandler, …"
    other = problem(write("other_handler.py", "import rutabaga"))
    assert other.hint.startswith("install the package of 'rutabaga' for ")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "iso-8859-15", "cp1252"])
def test_a_file_in_another_encoding_is_loaded(write: Write, encoding: str) -> None:
    """Ours: PEP 263, and a byte order mark."""
    head = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    text = head + HANDLER.replace("hello", "größer als 3 €")

    kind = handler_class_in(write("word_handler.py", text.encode(encoding)))

    assert sys.modules[kind.__module__].WORD == "größer als 3 €"


def test_a_file_imports_modules_beside_it(write: Write) -> None:
    """Ours: while it is loaded, from this folder first."""
    for folder in ("one", "two"):
        write(f"{folder}/near_{folder}.py", f"WORD = {folder!r}")
        text = f"{IMPORT}from near_{folder} import WORD\n{handler_text()}"
        kind = handler_class_in(write(f"{folder}/word_handler.py", text))
        assert vars(sys.modules[kind.__module__])["WORD"] == folder


def test_a_file_named_like_a_standard_module_does_not_shadow_it(write: Write) -> None:
    """Ours: neither from itself nor from others."""
    write("json.py", "raise AssertionError('not this one')")
    kind = handler_class_in(write("statistics.py", "import json, statistics\nstatistics.mean\n" + HANDLER))

    assert kind.__module__ == "_file_statistics"
    import statistics

    assert statistics.mean([1, 3]) == 2


def test_code_may_change_the_working_folder(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a relative path is that of the moment in which it is given."""
    write("sub/near.py", "WORD = 'hello'")
    write("sub/word_handler.py", f"import os\nos.chdir('/')\n{IMPORT}from near import WORD\n{handler_text()}")

    assert handler_class("sub/word_handler.py").__name__ == "WordHandler"


def test_getattr_of_a_module_is_not_called_during_discovery(write: Write) -> None:
    """Ours: no code of the file runs while its class is looked for."""
    path = write("word_handler.py", HANDLER + "def __getattr__(name):\n    raise SystemExit(name)\n")

    assert handler_class_in(path).__name__ == "WordHandler"
    assert "there is no 'Other'" in problem(f"{path}:Other").message


def test_the_class_property_of_a_proxy_is_not_read(write: Write) -> None:
    """Ours: those of web frameworks raise outside of a request."""
    proxy = "class Proxy:\n    __class__ = property(lambda self: 1 / 0)\n\nproxy = Proxy()\n"

    assert handler_class_in(write("word_handler.py", proxy + HANDLER)).__name__ == "WordHandler"
    assert "No MCPHandler subclass" in problem(write("empty_handler.py", proxy)).message
    chosen = problem(write("chosen.py", f"{proxy}{HANDLER}MCP_HANDLER_CLASS = proxy\n")).message
    assert "sets MCP_HANDLER_CLASS to a value of type Proxy, which is not an MCPHandler subclass" in chosen


def test_a_virtual_subclass_is_not_a_handler(write: Write) -> None:
    """Ours: it has none of the methods, nor the attributes of an abstract class."""
    registered = f"{IMPORT}class Word:\n    pass\n\nMCPHandler.register(Word)\n"

    assert "No MCPHandler subclass" in problem(write("word_handler.py", registered)).message
    chosen = problem(write("chosen.py", f"{registered}MCP_HANDLER_CLASS = Word\n"))
    assert "sets MCP_HANDLER_CLASS to Word, which is not an MCPHandler subclass" in chosen.message


def test_the_handlers_of_a_module_are_listed(write: Write) -> None:
    """Ours: for what serves a whole module."""
    module = import_file(write("two_handler.py", HANDLER + handler_text("OtherHandler")))

    assert [kind.__name__ for kind in handler_classes(module)] == ["WordHandler", "OtherHandler"]
    assert handler_classes(sys) == []
