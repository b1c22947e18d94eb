"""Output on all kinds of terminals: narrow, dumb, without colours, without Unicode, with hostile servers."""

from __future__ import annotations

import base64
import json
import re
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

PNG = b"\x89PNG\r\n\x1a\n picture"
# Everything that a name, a text or a description should not hold.
EVIL = "a\x1b]0;owned\x07\x1b[2J\x9b3m\u202e\u2028\u200b b'\"🙂 ع"
# An agent whose every word is like that.
AGENT = f"""
import json, sys
EVIL = {EVIL!r}
PNG = {PNG!r}
print("log", EVIL, file=sys.stderr)
class Agent:
    def get_mcp_server_info(self):
        return {{"name": EVIL, "version": EVIL, "title": EVIL}}
    def get_mcp_tool_definitions(self):
        properties = {{EVIL: {{"type": "string", "description": EVIL, "enum": [EVIL]}}}}
        schema = {{"type": "object", "properties": properties}}
        return [
            {{"name": name, "description": EVIL * 20, "inputSchema": schema}}
            for name in ("say", "fail", "json", "image", "long", "markdown", EVIL)
        ]
    def execute_mcp_tool(self, name, arguments):
        if name == "fail":
            raise RuntimeError(EVIL)
        if name == "image":
            import base64
            data = base64.b64encode(PNG).decode()
            return {{"content": [{{"type": "image", "data": data, "mimeType": "image/png"}}]}}
        text = {{"json": json.dumps([EVIL], ensure_ascii=False), "long": EVIL + "x" * 200_000}}.get(name, EVIL)
        return {{"content": [{{"type": "text", "text": "# Title" if name == "markdown" else text}}]}}
    def get_mcp_prompts(self):
        return [{{"name": EVIL, "description": EVIL, "arguments": [{{"name": EVIL, "description": EVIL}}]}}]
    def get_mcp_prompt(self, name, arguments):
        return EVIL
    def get_mcp_resources(self):
        return [{{"uri": "x://" + EVIL, "name": EVIL, "description": EVIL, "mimeType": EVIL}}]
    def read_mcp_resource(self, uri):
        return EVIL
"""
ODD_NAME = "a b 'c' \"d\" 🙂 ع \x1b[2J"
# What we write ourselves to move about and to colour.
OURS = re.compile(r"\r(?:\x1b\[K)?|\x1b\[K|\x1b\[(?:0|1|2|3|3[1-6])m")

COMMANDS = [
    ("list",),
    ("list", "--check"),
    ("list", "--json"),
    ("tools", "evil"),
    ("tools", "evil", "--schema"),
    ("tools", "evil", "--json"),
    ("search", "owned"),
    ("show", "evil", "--check"),
    ("show", ODD_NAME),
    ("call", "evil", "say"),
    ("call", "evil", "say", "--json"),
    ("call", "evil", "fail"),
    ("call", "evil", "json"),
    ("call", "evil", "long"),
    ("call", "evil", "say", f"{EVIL}=1"),
    ("call", "evil", EVIL[:5]),
    ("call", ODD_NAME, "say"),
    ("call", EVIL, "say"),
    ("prompts", "evil"),
    ("prompt", "evil", EVIL),
    ("resources", "evil"),
    ("read", "evil", f"x://{EVIL}"),
    ("test-client", "evil"),
    ("logs", "evil"),
    ("lock", "evil"),
    (EVIL,),
    ("list", f"--{EVIL}"),
    ("import", EVIL),
]


@pytest.fixture
def evil(gaia: Gaia) -> Gaia:
    """The program, with a hostile server, and one with an unusual name."""
    (gaia.cwd / "evil.py").write_text(AGENT)
    command = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "evil.py:Agent"]}
    gaia.write({"evil": command, ODD_NAME: {"command": "true", "args": [EVIL]}})
    assert gaia("tools", "evil").code == 0
    return gaia


def unsafe(seen: str) -> list[str]:
    """The characters on a terminal that are neither text nor what we write ourselves."""
    left = OURS.sub("", seen)
    return [char for char in left if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in "\r\n\t"]


def test_no_control_character_reaches_the_terminal(evil: Gaia) -> None:
    """Ours: from a server, a file or the command line, in each command, also on a narrow terminal."""
    evil.environ["COLUMNS"] = "40"

    shown = {words: run_on_terminal(evil, *words)[0] for words in COMMANDS}

    assert {words: seen for words, seen in shown.items() if unsafe(seen) or not seen.strip()} == {}


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_dumb_terminals_and_no_color_get_no_colours(evil: Gaia, variables: dict[str, str]) -> None:
    """The NO_COLOR convention. A dumb terminal gets no progress line either."""
    evil.environ |= variables

    for tool, text in (("markdown", "# Title"), ("json", '["a\\')):
        seen, code = run_on_terminal(evil, "call", "evil", tool)

        assert code == 0, seen
        assert text in seen
        assert "\x1b" not in seen


def test_a_c_locale_gets_escaped_ascii(evil: Gaia) -> None:
    """Ours: a C locale without Python's own coercion; a terminal then gets nothing but ASCII."""
    ascii_only = {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    evil.environ |= ascii_only

    for words in (("call", "evil", "say"), ("tools", "evil"), ("list",), ("call", "evil", "json", "--json")):
        seen, code = run_on_terminal(evil, *words)

        assert code == 0, seen
        assert seen.isascii()
        assert unsafe(seen) == []


@pytest.mark.parametrize("language", ["C", "C.UTF-8", "POSIX"])
def test_a_result_is_printed_to_a_pipe_in_every_locale(evil: Gaia, language: str) -> None:
    """Ours: also in one that cannot encode it."""
    ran = evil("call", "evil", "say", LANG=language, LC_ALL=language)

    assert ran.code == 0
    assert "🙂" in ran.stdout or "\\U0001f642" in ran.stdout


def test_a_pipe_gets_no_colours(evil: Gaia) -> None:
    """Ours: a pipe gets the server's text and a newline."""
    seen, _ = run_on_terminal(evil, "call", "evil", "markdown")

    assert "\x1b[1m\x1b[35m# Title\x1b[0m" in seen
    assert evil("call", "evil", "markdown").stdout == "# Title\n"
    assert json.loads(evil("call", "evil", "json").stdout) == [EVIL]
    assert len(evil("call", "evil", "long").stdout) == len(EVIL) + 200_000 + len("\n")


def test_a_long_text_is_cut_on_a_terminal_only(evil: Gaia) -> None:
    """Ours: with a way to see all of it."""
    seen, code = run_on_terminal(evil, "call", "evil", "long")

    assert code == 0
    assert len(seen) < 20_000
    assert "note: this is the beginning of 200 kB; for all of it add | less, > FILE or --json" in seen


@pytest.mark.parametrize(("variables", "is_shown"), [({"TERM_PROGRAM": "WezTerm"}, True), ({}, False)])
def test_a_picture_is_shown_on_a_capable_terminal(evil: Gaia, variables: dict[str, str], is_shown: bool) -> None:
    """Ours: another gets a description and the command that saves the picture; no file is written."""
    evil.environ |= variables
    picture = base64.b64encode(PNG).decode()

    seen, _ = run_on_terminal(evil, "call", "evil", "image")

    assert (picture in seen) is is_shown
    assert (f"[image/png, {len(PNG)} bytes]\r\n" in seen) is not is_shown
    assert ("gaia mcp call evil image -o image.png\r\n" in seen) is not is_shown
    assert not list(evil.cwd.glob("*.png"))
    for options in (("--json",), ("-o", "out/")):
        seen, _ = run_on_terminal(evil, "call", "evil", "image", *options)
        assert "\x1b]1337" not in seen


def test_a_list_fits_a_narrow_terminal(gaia: Gaia) -> None:
    """Ours: except for names, which are never cut."""
    long_name = "a-name-that-is-longer-than-the-terminal"
    gaia.write({name: {"command": "program", "args": ["--with", "many", "words"]} for name in ("short", long_name)})

    for width in (20, 40, 80, 200):
        gaia.environ["COLUMNS"] = str(width)
        lines = run_on_terminal(gaia, "list")[0].splitlines()
        assert [line for line in lines if len(line) > width] == ([long_name] if width == 20 else [])
        assert ("…" in "".join(lines)) is (width in (40, 80))
    assert "…" not in gaia("list").stdout


HANGS = "import sys; print('resolving \\x1b[31m packages', file=sys.stderr, flush=True); sys.stdin.read()"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_slow_start_shows_the_last_log_line_and_erases_it(gaia: Gaia, term: str) -> None:
    """Ours: the end of the log often explains the delay, and does not belong to the output."""
    gaia.environ["TERM"] = term
    gaia.write({"slow": {"command": sys.executable, "args": ["-c", HANGS]}})

    seen, code = run_on_terminal(gaia, "call", "slow", "echo", "--timeout", "6")

    assert code == 5
    shown = re.search(r"still starting slow \(\d+ s\): resolving \\x1b\[31m packages\x1b\[K", seen)
    assert bool(shown) is (term == "xterm")
    assert unsafe(seen) == []
    left = seen.rpartition("\r\x1b[K")[2].splitlines()
    assert [line[:6] for line in left] == ["error:", "hint: "]
    assert left[0].endswith("; the last line of its stderr: resolving \\x1b[31m packages")
