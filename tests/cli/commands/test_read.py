"""`gaia mcp read`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_a_text_resource_is_printed_unchanged(demo: Gaia) -> None:
    """Ours: it ends with a newline, so none is added."""
    ran = demo("read", "demo", "demo://about")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == "This agent comes with gaia-mcp. It needs no network and keeps nothing.\n"


def test_a_resource_is_saved_at_the_given_path(demo: Gaia) -> None:
    """Ours: in a folder under its own name, never over an existing file; a named file is overwritten, as by curl. A
    text is saved byte for byte too.
    """
    (demo.cwd / "mine.png").write_text("mine")

    assert demo("read", "demo", "demo://logo", "-o", "out/").stdout == "out/logo.png\n"
    assert demo("read", "demo", "demo://logo", "-o", "out").stdout == "out/logo-2.png\n"
    assert demo("read", "demo", "demo://logo", "--output-dir", "old").stdout == "old/logo.png\n"
    assert demo("read", "demo", "demo://logo", "-o", "mine.png").stdout == "mine.png\n"
    assert demo("read", "demo", "demo://about", "-o", "out/").stdout == "out/about.txt\n"

    assert (demo.cwd / "out/logo.png").read_bytes().startswith(b"\x89PNG")
    assert (demo.cwd / "mine.png").read_bytes() == (demo.cwd / "out/logo-2.png").read_bytes()
    assert (demo.cwd / "out/about.txt").read_text() == demo("read", "demo", "demo://about").stdout


def test_a_binary_resource_is_printed_only_on_request(demo: Gaia) -> None:
    """Ours: a pipe gets bytes with `-o -` alone; otherwise the command that saves them is printed."""
    ran = demo("read", "demo", "demo://logo")
    assert (ran.code, ran.stdout) == (0, "")
    assert re.fullmatch(
        r"note: image/png, \d+ bytes: save it with: gaia mcp read demo demo://logo -o logo.png\n", ran.stderr
    )
    assert list(demo.cwd.iterdir()) == []

    piped = demo.popen("read", "demo", "demo://logo", "-o", "-")
    stdout, stderr = piped.communicate()
    assert (piped.returncode, stdout[:4], stderr) == (0, b"\x89PNG", b"")


def test_json_has_the_whole_result_of_a_read(demo: Gaia) -> None:
    """Ours: a program needs the MIME types."""
    (content,) = demo("read", "demo", "demo://about", "--json").json["contents"]

    assert content["mimeType"] == "text/plain"


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("words", "uri"),
    [
        (("file:///{path}", "path=a b"), "file:///a%20b"),
        (("file:///{+path}", "path=a/b"), "file:///a/b"),
        (("x://y{?q,r}", "q=1", "r=2"), "x://y?q=1&r=2"),
        (("file:///plain",), "file:///plain"),
    ],
)
def test_a_uri_template_is_expanded(gaia: Gaia, era: str, words: tuple[str, ...], uri: str) -> None:
    """RFC 6570, in servers of both eras."""
    gaia.write({"x": entry_of("offers", era)})

    assert gaia("read", "x", *words, "--json").json["contents"][0]["uri"] == uri


@pytest.mark.parametrize(
    ("words", "expected", "hint"),
    [
        (("demo://{x}",), "'x' is missing", "its variables are: x"),
        (("demo://{x}", "y=1"), "'x' is missing; there is no 'y'", "its variables are: x"),
        (("demo://about", "y=1"), "there is no 'y'", "only a template takes arguments"),
        (("demo://{x:abc}", "x=1"), "is not a template", "gaia mcp resources"),
        (("demo://{x}", "x"), "'x' is not key=value", ""),
    ],
)
def test_a_template_that_cannot_be_expanded_is_reported(
    demo: Gaia, words: tuple[str, ...], expected: str, hint: str
) -> None:
    """Ours: before the server is started."""
    ran = demo("read", "demo", *words)

    error, next_step = ran.errors
    assert (ran.code, ran.stdout) == (2, "")
    assert expected in error
    assert hint in next_step


def test_an_unknown_resource_exits_with_7(demo: Gaia) -> None:
    """Ours: like an unknown tool or prompt. Not every resource is listed, so its server is asked."""
    assert demo("read", "demo", "demo://nowhere").code == 7
    assert demo("read", "demo", "demo://nowhere").errors == [
        "error: server 'demo' has no resource 'demo://nowhere'",
        "hint: see its resources with: gaia mcp resources demo",
    ]
    demo("resources", "demo")
    assert demo("read", "demo", "demo://abot").errors[1].startswith("hint: did you mean 'demo://about'")
    assert demo("prompt", "demo", "nowhere").code == demo("call", "demo", "nowhere").code == 7


@pytest.mark.parametrize(
    ("code", "text", "status", "error"),
    [
        (-32002, "Resource not found", 7, "server 'x' has no resource 'x://y'"),
        (-32602, "MCP error -32602: Resource x://y not found", 7, "server 'x' has no resource 'x://y'"),
        (-32602, "no scheme like that", 7, "server 'x' has no resource 'x://y': no scheme like that"),
        (0, "Unknown resource: x://y", 7, "server 'x' has no resource 'x://y'"),
        (-32603, "disk on fire", 6, "server 'x' answered resources/read with error -32603: disk on fire"),
    ],
)
def test_each_error_for_an_unknown_resource_is_recognized(
    gaia: Gaia, code: int, text: str, status: int, error: str
) -> None:
    """Spec, server/resources: -32002 or -32602, with the revision. The SDKs send 0 too; other failures stay apart."""
    gaia.write({"x": entry_of("refuses-reads", str(code), text)})

    ran = gaia("read", "x", "x://y")

    assert (ran.code, ran.errors[0]) == (status, f"error: {error}")


def test_a_server_without_resources_is_reported_as_such(gaia: Gaia) -> None:
    """Ours: it does not declare the capability, so no request is sent."""
    gaia.use("good-handshake")

    ran = gaia("read", "good-handshake", "x://y")

    assert (ran.code, ran.errors[0]) == (7, "error: server 'good-handshake' has no resource 'x://y'")
    assert "it has no resources" in ran.errors[1]


def test_template_values_are_typed_like_tool_arguments(demo: Gaia) -> None:
    """Ours: one syntax for both, also as options or a JSON object."""
    whole = demo("read", "demo", "demo://about").stdout
    for words in (("what=about",), ("--what", "about"), ("--what=about",), ('{"what": "about"}',)):
        assert demo("read", "demo", "demo://{what}", *words).stdout == whole, words

    refused = demo("read", "demo", "--zzz")
    assert (refused.code, refused.errors[0]) == (2, "error: no such option: --zzz")
    assert demo("read", "demo", "demo://about", "--what", "x").code == 2
