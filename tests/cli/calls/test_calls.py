"""What a call needs besides its session: its server and tool, and its arguments, as far as they are read without it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_the_timeout_limits_the_wait_for_arguments_from_a_pipe(demo: Gaia) -> None:
    """Ours: a script whose producer hangs must not hang too, and no server has been started for it."""
    for words in (["--args", "-"], ["name=@-"]):
        process = demo.popen("call", "demo", "greet", *words, "--timeout", "2")
        assert process.stdin is not None
        process.stdin.write(b'{"name": ')
        process.stdin.flush()
        code = process.wait(20)
        _, err = process.communicate()
        assert (code, err.splitlines()[0]) == (5, b"error: standard input did not end within 2 s"), words


def test_server_and_tool_may_be_written_with_a_dot(demo: Gaia) -> None:
    """Ours: `tools --names` prints them so, to be piped into `call`."""
    assert demo("call", "demo.greet", "name=Ada", "style=formal").stdout == "Good day, Ada.\n"


def test_arguments_come_from_json_files_and_standard_input(demo: Gaia) -> None:
    """Ours: a script need not quote what it has in a file or in a pipe."""
    (demo.cwd / "name.txt").write_text("Grace")
    (demo.cwd / "all.json").write_text('{"name": "Alan", "style": "warm"}')

    assert json.loads(demo("call", "demo", "add", "a:=1", "b:=2").stdout) == {"sum": 3}
    assert demo("call", "demo", "greet", "name=@name.txt").stdout == "Hello, Grace!\n"
    assert demo("call", "demo", "greet", "--args", "@all.json").stdout == "How good to see you, Alan!\n"
    (demo.cwd / "marked.json").write_text('{"name": "Emmy", "style": "warm"}', "utf-8-sig")
    assert demo("call", "demo", "greet", "--args", "@marked.json").stdout == "How good to see you, Emmy!\n"
    assert demo("call", "demo", "greet", "--args", '{"name": "Kurt"}').stdout == "Hello, Kurt!\n"
    assert demo("call", "demo", "greet", "--args", "-", stdin='{"name": "Emmy"}').stdout == "Hello, Emmy!\n"
    assert demo("call", "demo", "greet", "--args", "@all.json", "name=Ada", "style=plain").stdout == "Hello, Ada!\n"


@pytest.mark.parametrize("args", ["@/dev/stdin", "@-", "-"])
def test_standard_input_is_read_once(demo: Gaia, args: str) -> None:
    """Ours: a pipe is empty the second time."""
    ran = demo("call", "demo", "greet", "--args", args, stdin='{"name": "Ada"}')

    assert (ran.code, ran.stdout) == (0, "Hello, Ada!\n")


def test_an_endless_file_is_refused(demo: Gaia) -> None:
    """Ours: a device that is named by mistake must not fill the memory."""
    ran = demo("call", "demo", "greet", "name=@/dev/zero")

    assert ran.code == 2
    assert "'/dev/zero' cannot be read: it is larger than 256 MB" in ran.errors[0]


def test_a_long_signature_is_cut_in_a_usage_error(gaia: Gaia) -> None:
    """Ours: the tools are cached, so that the hint is the line to type instead."""
    gaia.use("asks-much")
    assert gaia("tools", "asks-much").code == 0

    error, hint = gaia("call", "asks-much", "book", "Ritz").errors

    assert error.startswith("error: 'Ritz' is not key=value; the tool is book(hotel: string, ")
    assert len(error) <= 200
    assert hint == "hint: write: gaia mcp call asks-much book hotel=Ritz"


def test_a_mistyped_server_before_a_dot_gets_a_suggestion(demo: Gaia) -> None:
    """Ours: whichever of the two forms was typed."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "my.server": {"command": "x"}})
    for words in (("dmeo.greet",), ("dmeo.greet", "name=x"), ("dmeo.a.b",)):
        ran = demo("call", *words)
        assert (ran.code, ran.errors[1]) == (3, "hint: did you mean 'demo'?"), ran
    assert demo("call", "my.sever", "x").errors[1] == "hint: did you mean 'my.server'?"


def test_an_argument_may_be_typed_like_an_option(demo: Gaia) -> None:
    """Ours: an unknown option is the argument of that name; our own options keep their meaning."""
    assert demo("call", "demo", "add", "--a", "1", "--b=-2").json == {"sum": -1}
    assert demo("call", "demo.add", "--a", "-1", "b=3").json == {"sum": 2}
    ran = demo("call", "demo", "greet", "--name", "Ada", "--json", "--style", "formal", "--timeout=30")
    assert ran.json["content"] == [{"type": "text", "text": "Good day, Ada."}], ran


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (("--name",), "--name needs a value", "show its parameters: gaia mcp call demo greet --help"),
        (("--nmae", "x"), "no such option: --nmae, and tool 'greet' of 'demo' has no such argument", "'--name'"),
        (("name=x", "--jsn"), "no such option: --jsn, and tool 'greet' of 'demo' has no such argument", "'--json'"),
        (("name=x", "--zzzz", "1"), "has no such argument", "show its parameters: gaia mcp call demo greet --help"),
        (("name=x", "-z"), "no such option: -z", "see: gaia mcp call --help"),
        (("name=x", "--args"), "option '--args' requires an argument", "see: gaia mcp call --help"),
        (('{"name": "x"',), "the arguments: not JSON", """'{"key": "value"}'"""),
        (("{}", "--args", "{}"), "cannot be used together", "leave --args out"),
    ],
)
def test_a_wrong_option_is_reported_with_a_hint(demo: Gaia, words: tuple[str, ...], error: str, hint: str) -> None:
    """Ours: exit code 2, and the tool has not run."""
    ran = demo("call", "demo", "greet", *words)

    assert (ran.code, ran.stdout, len(ran.errors)) == (2, "", 2), ran
    assert error in ran.errors[0]
    assert hint in ran.errors[1]


def test_a_json_object_gives_all_arguments(demo: Gaia) -> None:
    """Ours: like that of `--args`, which single arguments override."""
    assert demo("call", "demo", "greet", '{"name": "Ada"}').stdout == "Hello, Ada!\n"
    assert demo("call", "demo", "greet", '{"name": "Ada"}', "name=Eve").stdout == "Hello, Eve!\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("greet 'Ada L'", "greet 'name=Ada L'"),
        ("greet name", "greet name=VALUE"),
        ("add 1 2", "add a=1 b=2"),
        ("add --a 1 2", "add --a=1 b=2"),
        ("add b=1 2", "add b=1 a=2"),
        ("countdown 3", "countdown steps=3"),
    ],
)
def test_a_value_without_a_key_is_reported_with_the_line_to_type(demo: Gaia, words: str, line: str) -> None:
    """Ours: with the signature, once the tools are cached; no server is started for it."""
    assert demo("tools", "demo").code == 0

    ran = demo("call", "demo", *shlex.split(words))

    assert ran.code == 2
    assert "is not key=value; the tool is " + line.partition(" ")[0] + "(" in ran.errors[0]
    assert ran.errors[1] == f"hint: write: gaia mcp call demo {line}"


def test_a_value_without_a_key_is_reported_with_the_syntax_of_arguments(demo: Gaia) -> None:
    """Ours: without a cached signature, or an argument in it, no line can be suggested."""
    ran = demo("call", "demo", "greet", "Ada")

    assert ran.errors == [
        "error: 'Ada' is not key=value",
        "hint: arguments are key=value, key:=JSON or key=@FILE; see them with: gaia mcp tools demo",
    ]
    assert demo("tools", "demo").code == 0
    assert demo("call", "demo", "attach", "Ada").errors[1] == "hint: arguments are key=value, key:=JSON or key=@FILE"


@pytest.mark.parametrize(
    "words",
    [
        ("call", "silent", "echo", "timezone=Europe/\udcff"),
        ("call", "silent", "echo", "time\udcff=a"),
        ("call", "silent", "echo", "--time\udcff", "a"),
        ("call", "silent", "ec\udcff"),
        ("call", "silent", "echo", '{"a": "\udcff"}'),
        ("call", "silent", "echo", "--args", '{"a": "\udcff"}'),
        ("prompt", "silent", "introduce", "name=\udcff"),
        ("prompt", "silent", "introduce\udcff"),
        ("read", "silent", "demo://\udcff"),
        ("read", "silent", "demo://{x}", "x=\udcff"),
        ("watch", "silent", "demo://\udcff"),
        ("test-client", "silent", "--call", "echo", "name=\udcff"),
        ("test-client", "silent", "--call", "ec\udcff"),
    ],
)
def test_words_that_are_not_utf_8_are_refused_before_the_start(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: JSON cannot carry them, and a server that drops the message would be waited for in vain."""
    gaia.write({"silent": {"command": "touch", "args": [str(gaia.cwd / "started")]}})

    ran = gaia(*words)

    assert ran.code == 2, ran
    assert "not UTF-8" in ran.errors[0]
    assert ("--args" if "--args" in words else "\\xff") in ran.errors[0]
    assert not (gaia.cwd / "started").exists()


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("--args", '{"name": "a", "name": "b"}'), "--args"),
        (("--args", "@twice.json"), "twice.json"),
        (("--args", "-"), "standard input"),
        (("name:=" + '{"name": 1, "name": 1}',), "name"),
        (("name:=@twice.json",), "name"),
        (('{"name": "a", "name": "b"}',), "the arguments"),
    ],
)
def test_a_repeated_key_is_refused(demo: Gaia, words: tuple[str, ...], where: str) -> None:
    """Ours: one of its two values would be lost silently."""
    twice = '{"name": "a", "name": "b"}'
    (demo.cwd / "twice.json").write_text(twice)

    ran = demo("call", "demo", "greet", *words, stdin=twice)

    assert ran.code == 2, ran
    assert ran.errors[0] == f"error: {where}: the key 'name' appears twice in one object"


@pytest.mark.parametrize("words", [("--args", "-"), ("name=@-",), ("name=@name.txt",), ("--args", "@name.txt")])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_input_that_is_not_utf_8_is_refused(demo: Gaia, words: tuple[str, ...], locale: str) -> None:
    """Ours: in every locale, with the name of the file."""
    (demo.cwd / "name.txt").write_bytes(b'{"name": "\xff"}')
    with (demo.cwd / "name.txt").open("rb") as stdin:
        process = demo.popen("call", "demo", "greet", *words, stdin=stdin, env={**demo.environ, "LC_ALL": locale})
        _, err = process.communicate(timeout=20)

    assert process.returncode == 2
    name = "'name.txt'" if "name.txt" in words[-1] else "standard input"
    assert err.decode().splitlines()[0] == f"error: {name} is not UTF-8 text"
