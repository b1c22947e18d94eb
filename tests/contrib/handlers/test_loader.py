"""Loading handlers: from a file, and from a folder of files."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig
from gaia_mcp.contrib.handlers.loader import (
    handler_class,
    handler_class_in,
    handler_classes,
    load_handler,
    load_handlers_from_directory,
    load_mcp_handler,
)
from gaia_mcp.core.errors import HandlerError
from gaia_mcp.importing import import_file
from tests.contrib.handlers.echo import EchoHandler
from tests.contrib.handlers.files import HANDLER, IMPORT, METHODS, WORD, handler_text
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contrib.handlers.files import Write

CONFIG = MCPHandlerConfig("word")
# On a busy machine, a file that does not hang may take a while too.
LIMIT_SECONDS = 2.5


class Screen:
    """A console that remembers its warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def print_warning(self, message: str) -> None:
        self.warnings.append(message)


def configs(*names: str) -> dict[str, MCPHandlerConfig]:
    return {name: MCPHandlerConfig(name) for name in names}


def with_init(body: str, head: str = "self, config, **kwargs") -> str:
    return f"{IMPORT}{WORD}class WordHandler(MCPHandler):\n    def __init__({head}):\n        {body}\n{METHODS}"


def error_of(path: Path | str, **keywords: Any) -> HandlerError:
    with pytest.raises(HandlerError) as caught:
        load_mcp_handler(path, CONFIG, **keywords)
    return caught.value


# One file.


def test_a_handler_is_created_with_its_configuration_and_keywords(write: Write) -> None:
    """The contract: `load_mcp_handler(file, config, **kwargs)`, a path or a text."""
    path, screen, project = write("word_handler.py"), Screen(), {"project": {}}

    handler = load_mcp_handler(str(path), CONFIG, console=screen, project_config=project)

    assert handler.name == "word"
    assert handler.config is CONFIG
    assert (handler.console, handler.project_config) == (screen, project)
    assert handler.health_check() is False
    handler.connect()
    assert handler.health_check() is True
    assert [tool.name for tool in handler.list_tools()] == ["word"]
    assert handler.call_tool("word", {}).content == "hello"
    handler.disconnect()
    assert load_mcp_handler(path, CONFIG).call_tool("word", {}).content == "hello"


def test_a_named_class_is_created(write: Write) -> None:
    """Ours: `FILE:Class`, or a class in a module."""
    path = write("word_handler.py")

    assert load_handler(f"{path}:WordHandler", CONFIG).call_tool("word", {}).content == "hello"
    echo = load_handler("tests.contrib.handlers.echo:EchoHandler", CONFIG, project_config={"a": 1})
    assert (echo.name, echo.project_config) == ("word", {"a": 1})


def test_two_handlers_of_one_file_share_nothing(write: Write) -> None:
    """Ours: the same file may be configured twice."""
    path = write("word_handler.py")

    one, two = load_mcp_handler(path, CONFIG), load_mcp_handler(path, MCPHandlerConfig("other"))

    assert (one.name, two.name) == ("word", "other")
    assert type(one) is not type(two)


def test_a_file_that_cannot_be_loaded_is_a_value_error_with_the_reason(write: Write, tmp_path: Path) -> None:
    """A2."""
    rows: list[tuple[str, str | None, str]] = [
        ("missing_handler.py", None, "not found"),
        ("word.txt", HANDLER, ".py"),
        ("word_handler.py", "x = 42", "No MCPHandler subclass"),
        ("word_handler.py", HANDLER + "class Other(WordHandler): pass", "Multiple"),
        ("word_handler.py", "MCP_HANDLER_CLASS = 'not a class'", "MCPHandler subclass"),
    ]

    for number, (name, content, words) in enumerate(rows):
        path = tmp_path / str(number) / name
        if content is not None:
            write(f"{number}/{name}", content)
        error = error_of(str(path))
        assert isinstance(error, ValueError), words
        assert str(path) in str(error)
        assert words in str(error)


UNUSABLE = [
    (with_init("raise RuntimeError('no luck')"), "cannot be created: RuntimeError: no luck, at ", ""),
    (with_init("raise SystemExit(3)"), "cannot be created: SystemExit: 3, at ", ""),
    (with_init("pass"), "WordHandler.__init__ does not call that of MCPHandler", "begin it with: super().__init__"),
    (with_init("super().__init__(config)", "self, config"), "'console'", "define __init__(self, config, **kwargs)"),
    (with_init("super().__init__(config)", "self, config, needed, **kwargs"), "'needed'", ""),
    (with_init("super().__init__(config)\n        self.name = 3"), "its name is 3, not a text", "name = 'word'"),
    (f"{HANDLER}    def __new__(cls, *a, **k): return 'oops'", "cannot be created: WordHandler returned a str", ""),
]


def test_a_handler_that_cannot_be_created_names_the_reason(write: Write) -> None:
    """A2: a broken file is never silence."""
    for number, (text, words, hint) in enumerate(UNUSABLE):
        path = write(f"{number}/word_handler.py", text)
        error = error_of(path, console=Screen())
        assert str(path) in str(error)
        assert words in str(error)
        assert hint in error.hint


def test_a_handler_needs_a_name(write: Write) -> None:
    """Ours: of its class, or of its configuration."""
    with pytest.raises(HandlerError, match="its name is '', not a text"):
        load_mcp_handler(write("word_handler.py"), MCPHandlerConfig(""))


def test_an_interrupt_while_a_handler_is_created_is_passed_on(write: Write) -> None:
    """Ours: Ctrl-C is not a failure of the handler."""
    with pytest.raises(KeyboardInterrupt):
        load_mcp_handler(write("word_handler.py", with_init("raise KeyboardInterrupt")), CONFIG)


# A folder.


def test_the_files_of_a_folder_are_matched_with_the_configurations(write: Write, tmp_path: Path) -> None:
    """A2: the stem without `_handler`; `-` and `_` are the same, as the document's cost-lookup needs; in order."""
    for name in ("zebra_handler.py", "cost_lookup_handler.py", "plain.py", "dashed-name_handler.py", "handler.py"):
        write(f"mcp/{name}")
    names = ("plain", "cost-lookup", "dashed_name", "zebra", "handler", "not-here")

    handlers = load_handlers_from_directory(str(tmp_path / "mcp"), configs(*names))

    assert [handler.name for handler in handlers] == ["cost-lookup", "dashed_name", "handler", "plain", "zebra"]


def test_each_handler_has_its_own_configuration_and_the_common_keywords(write: Write, tmp_path: Path) -> None:
    """The contract: `load_handlers_from_directory(directory, configs, **kwargs)`."""
    write("a_handler.py")
    write("b_handler.py")
    given, screen = configs("a", "b"), Screen()

    handlers = load_handlers_from_directory(tmp_path, given, console=screen, project_config={"x": 1})

    assert [handler.config for handler in handlers] == [given["a"], given["b"]]
    assert {id(handler.console) for handler in handlers} == {id(screen)}
    assert [handler.project_config for handler in handlers] == [{"x": 1}] * 2
    assert screen.warnings == []


def test_a_file_without_a_configuration_is_not_executed(write: Write, tmp_path: Path) -> None:
    """A2: files that begin with `_`, unknown names, and what is not Python."""
    mark = f"open({str(tmp_path / 'executed')!r}, 'a').write(__file__)\n"
    for name in ("_private_handler.py", "__init__.py", "orphan_handler.py", "word_handler.txt", "word_handler.py.bak"):
        write(f"mcp/{name}", mark + HANDLER)

    screen = Screen()
    handlers = load_handlers_from_directory(
        tmp_path / "mcp", configs("_private", "private", "__init__", "init", "word"), console=screen
    )

    assert handlers == []
    assert screen.warnings == []
    assert not (tmp_path / "executed").exists()


def test_a_broken_file_is_a_warning_with_its_reason_and_the_others_are_loaded(
    write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A2: shown and logged, never silence."""
    broken = {
        "a_handler.py": "def broken(:",
        "b_handler.py": "import sys; sys.exit(3)",
        "c_handler.py": "x = 1",
        "d_handler.py": with_init("raise OSError('no network')"),
        "e_handler.py": HANDLER + "class Other(WordHandler): pass",
    }
    for name, text in {**broken, "good_handler.py": HANDLER}.items():
        write(name, text)
    (tmp_path / "f_handler.py").mkdir()
    screen = Screen()

    handlers = load_handlers_from_directory(tmp_path, configs(*"abcdef", "good"), console=screen)

    assert [handler.name for handler in handlers] == ["good"]
    words = ["SyntaxError", "SystemExit: 3", "No MCPHandler subclass", "no network", "Multiple", "not a regular file"]
    assert len(screen.warnings) == len(words)
    for name, word, warning in zip([*broken, "f_handler.py"], words, screen.warnings, strict=True):
        assert str(tmp_path / name) in warning
        assert word in warning
    assert "write MCP_HANDLER_CLASS = WordHandler" in screen.warnings[4]
    logged = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one.getMessage() for one in logged] == screen.warnings
    assert {one.name for one in logged} == {"gaia_mcp"}


@pytest.mark.parametrize("console", [None, object()], ids=["none", "one without the method"])
def test_without_a_console_a_broken_file_is_logged(
    write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture, console: Any
) -> None:
    """A2."""
    write("a_handler.py", "1/0")

    assert load_handlers_from_directory(tmp_path, configs("a"), console=console) == []
    assert "ZeroDivisionError" in caplog.text


def test_a_second_file_for_the_same_name_is_reported(write: Write, tmp_path: Path) -> None:
    """Ours: both would be the same handler."""
    write("cost-lookup_handler.py")
    write("cost_lookup.py")
    screen = Screen()

    handlers = load_handlers_from_directory(tmp_path, configs("cost_lookup"), console=screen)

    assert len(handlers) == 1
    second = str(tmp_path / "cost_lookup.py")
    assert screen.warnings == [f"handler {second!r} is not loaded: 'cost-lookup_handler.py' has the same name"]


def test_a_second_file_is_loaded_if_the_first_is_broken(write: Write, tmp_path: Path) -> None:
    """Ours: the user has both, and the broken one is reported."""
    write("cost-lookup_handler.py", "1/0")
    write("cost_lookup.py")
    screen = Screen()

    assert len(load_handlers_from_directory(tmp_path, configs("cost_lookup"), console=screen)) == 1
    assert len(screen.warnings) == 1


def test_a_missing_folder_has_no_handlers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The contract: most projects have none."""
    assert load_handlers_from_directory(str(tmp_path / "nope"), configs("a")) == []
    assert caplog.records == []


def test_a_file_or_an_unreadable_folder_is_a_warning(write: Write, tmp_path: Path) -> None:
    """Ours: it was named for a reason."""
    screen = Screen()
    file = write("file")
    assert load_handlers_from_directory(file, configs("a"), console=screen) == []
    assert screen.warnings == [f"the handlers in {str(file)!r} cannot be loaded: Not a directory"]

    if os.name == "posix" and os.getuid():
        tmp_path.chmod(stat.S_IWUSR)
        try:
            assert load_handlers_from_directory(tmp_path, configs("a"), console=screen) == []
        finally:
            tmp_path.chmod(stat.S_IRWXU)
        assert "Permission denied" in screen.warnings[1]


def test_a_file_that_changes_the_working_folder_does_not_hide_the_next(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the folder is that of the moment in which it was named."""
    write("mcp/a_handler.py", "import os\nos.chdir('/')\n" + HANDLER)
    write("mcp/b_handler.py")

    handlers = load_handlers_from_directory("mcp", configs("a", "b"))

    assert [handler.name for handler in handlers] == ["a", "b"]
    assert Path.cwd() == Path("/")


def test_handlers_of_a_folder_can_import_modules_beside_them(write: Write, tmp_path: Path) -> None:
    """Ours: a base class of their own is the usual case, and it is no candidate."""
    write("base.py", HANDLER)
    for name in ("a", "b"):
        write(f"{name}_handler.py", f"from base import WordHandler\nclass {name.upper()}(WordHandler): pass")

    handlers = load_handlers_from_directory(tmp_path, configs("a", "b", "c"))

    assert [handler.call_tool("word", {}).content for handler in handlers] == ["hello", "hello"]
    assert [type(handler).__name__ for handler in handlers] == ["A", "B"]


def test_a_handler_can_import_modules_during_a_call(write: Write) -> None:
    """Ours: its folder stays the last that modules are imported from."""
    text = HANDLER.replace("return MCPToolResult(WORD)", "import near_late; return MCPToolResult(near_late.WORD)")
    handler = load_mcp_handler(write("word_handler.py", text), CONFIG)
    write("near_late.py", "WORD = 'late'")

    assert handler.call_tool("word", {}).content == "late"


@pytest.mark.story
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_file_that_forks_while_it_is_loaded_does_not_run_the_program_twice(write: Write, tmp_path: Path) -> None:
    """Ours: also one whose child raises."""
    for name, end in (("a", "pass"), ("b", "raise ValueError"), ("c", "raise SystemExit(3)")):
        write(f"{name}_handler.py", f"import os\nif os.fork() == 0:\n    {end}\n{HANDLER}")
    program = write(
        "program.py",
        "import os\nfrom gaia_mcp.handlers import MCPHandlerConfig, load_handlers_from_directory\n"
        "found = load_handlers_from_directory('.', {name: MCPHandlerConfig(name) for name in 'abc'})\n"
        "while True:\n    try: assert os.wait()[1] == 0\n    except ChildProcessError: break\n"
        "print(*(handler.name for handler in found))",
    )

    ran = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "a b c\n", "")


@pytest.fixture
def hanging(write: Write) -> Iterator[Path]:
    """A file that hangs while it is imported, until the test is over."""
    reading, writing = os.pipe()
    yield write("slow_handler.py", f"import os\nos.read({reading}, 1)\n{HANDLER}")
    os.close(writing)
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "MCP handler: import"])
    os.close(reading)


@pytest.mark.parametrize("load", [load_mcp_handler, load_handler])
def test_a_file_that_hangs_is_abandoned_after_import_seconds(load: Any, hanging: Path) -> None:
    """Ours: in a thread, which is left behind; from its folder nothing else is imported first."""
    before = list(sys.path)

    with pytest.raises(HandlerError) as caught:
        load(str(hanging), MCPHandlerConfig("slow"), import_seconds=LIMIT_SECONDS)

    assert caught.value.message == f"handler {str(hanging)!r} was not loaded within {LIMIT_SECONDS} s"
    assert sys.path == [*before, str(hanging.parent)]


def test_the_other_files_of_a_folder_are_loaded_after_one_that_hangs(
    write: Write, hanging: Path, tmp_path: Path
) -> None:
    """Ours: with a warning that names the file; other errors are reported as without a limit."""
    write("word_handler.py")
    write("bad_handler.py", "raise SystemExit(3)")
    console = Screen()

    loaded = load_handlers_from_directory(
        tmp_path, configs("slow", "word", "bad"), console=console, import_seconds=LIMIT_SECONDS
    )

    assert [handler.config.name for handler in loaded] == ["word"]
    assert "bad_handler.py' cannot be imported: SystemExit: 3" in console.warnings[0]
    assert f"handler {str(hanging)!r} was not loaded within {LIMIT_SECONDS} s" in console.warnings[1]


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
    chosen = "import tests.contrib.handlers.echo\nMCP_HANDLER_CLASS = tests.contrib.handlers.echo.EchoHandler"
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
    assert handler_class("tests.contrib.handlers.echo:EchoHandler") is EchoHandler


def test_an_imported_handler_is_not_a_candidate(write: Write) -> None:
    """A2: neither from a file beside it, nor from elsewhere."""
    write("base_handler.py", HANDLER)
    text = "from base_handler import WordHandler\nfrom tests.contrib.handlers.echo import EchoHandler\n"

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
