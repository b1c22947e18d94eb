"""The results of the server `everything` from npm in pipes, in files, and on a terminal."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

pytestmark = pytest.mark.peer
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def every(gaia: Gaia, npm_servers: dict[str, list[str]]) -> Gaia:
    """The program, with the server configured as `every`."""
    command, *args = npm_servers["everything"]
    gaia.write({"every": {"command": command, "args": args}})
    return gaia


def by_shell(gaia: Gaia, script: str) -> subprocess.CompletedProcess[bytes]:
    """A script that a person types."""
    return subprocess.run(
        ["sh", "-c", script], capture_output=True, cwd=gaia.cwd, env=gaia.environ, timeout=60, check=False
    )


def test_calls_in_a_loop_print_a_line_each(every: Gaia) -> None:
    """Ours: as `echo` does."""
    ran = by_shell(every, "for i in 1 2 3; do gaia mcp call every echo message=$i; done | cat")

    assert ran.stdout == b"Echo: 1\nEcho: 2\nEcho: 3\n"


def test_a_picture_between_texts_is_saved_at_the_given_path(every: Gaia) -> None:
    """Ours: in a folder, in a file, or through a pipe, where the texts are not among its bytes."""
    texts = ["Here's the image you requested:", "The image above is the MCP logo."]

    ran = every("call", "every", "get-tiny-image")
    assert ran.stdout.splitlines() == texts
    assert ran.stderr.endswith("save it with: gaia mcp call every get-tiny-image -o get-tiny-image.png\n")
    assert list(every.cwd.iterdir()) == []

    ran = every("call", "every", "get-tiny-image", "-o", "pictures/")
    assert ran.stdout.splitlines() == [texts[0], "pictures/get-tiny-image.png", texts[1]]
    saved = (every.cwd / "pictures/get-tiny-image.png").read_bytes()
    assert saved.startswith(PNG)

    assert by_shell(every, "gaia mcp call every get-tiny-image -o - >here.png").stderr.decode().splitlines() == texts
    assert (every.cwd / "here.png").read_bytes() == saved


def test_a_terminal_shows_the_picture_or_its_type_and_size(every: Gaia) -> None:
    """Ours: with the command that saves it."""
    seen, code = run_on_terminal(every, "call", "every", "get-tiny-image")
    assert code == 0
    assert "[image/png, 4,033 bytes]\r\n" in seen
    assert "gaia mcp call every get-tiny-image -o get-tiny-image.png\r\n" in seen

    every.environ["GAIA_IMAGES"] = "kitty"
    seen, _ = run_on_terminal(every, "call", "every", "get-tiny-image")
    assert "\x1b_Ga=T,f=100" in seen
    assert "[image/png" not in seen


def test_resources_are_saved_as_files(every: Gaia) -> None:
    """Ours: a text that is not saved is printed; a blob is not."""
    uri = "demo://resource/dynamic/blob/1"
    assert every("read", "every", uri).stdout == ""
    assert every("read", "every", uri, "-o", "blob").stdout == "blob\n"
    assert b"blob" in (every.cwd / "blob").read_bytes()
    text = every("read", "every", "demo://resource/dynamic/text/1", "--raw").stdout
    assert every("read", "every", "demo://resource/dynamic/text/1", "-o", "text").stdout == "text\n"
    saved = (every.cwd / "text").read_text()
    # They end with the time.
    assert saved[:30] == text[:30]
    assert not saved.endswith("\n")
    assert not text.endswith("\n")


def test_an_unknown_name_exits_with_7(every: Gaia) -> None:
    """Ours: for tools, prompts and resources alike; also their help."""
    for words in (
        ("call", "every", "nope"),
        ("prompt", "every", "nope"),
        ("read", "every", "nope://x"),
        ("tools", "every.nope"),
        ("call", "every", "nope", "--help"),
    ):
        ran = every(*words)
        assert (ran.code, ran.stdout, len(ran.errors)) == (7, "", 2), words
