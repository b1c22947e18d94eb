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

from gaia_mcp.errors import HandlerError
from gaia_mcp.handlers.base import MCPHandlerConfig
from gaia_mcp.handlers.loader import load_handler, load_handlers_from_directory, load_mcp_handler
from tests.handlers.files import HANDLER, IMPORT, METHODS, WORD
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.handlers.files import Write

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
    echo = load_handler("tests.handlers.echo:EchoHandler", CONFIG, project_config={"a": 1})
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
