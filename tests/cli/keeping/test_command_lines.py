"""Command lines that the keeper runs: what is printed for one, and which it leaves to a process of its own.

That it prints the same is in `test_keeping__alike.py`.
"""

from __future__ import annotations

import pytest

from gaia_mcp._version import __version__
from gaia_mcp.cli.keeping.command_lines import Request, read_request


def sent(*fields: str, version: str = __version__) -> bytes:
    """A request with these fields."""
    return "\0".join((version, *fields)).encode()


def test_a_request_has_the_words_the_folder_and_the_variables() -> None:
    """Ours: each string ends where the next begins, and words may have an equals sign as well."""
    found = read_request(sent("/bin/gaia", "/work", "t", "3", "call", "s", "a=b", "HOME=/root", "EMPTY=", "A=b=c"))

    assert found == Request(
        "/bin/gaia", ["call", "s", "a=b"], "/work", {"HOME": "/root", "EMPTY": "", "A": "b=c"}, has_terminal=True
    )


def test_a_request_keeps_bytes_that_are_no_text() -> None:
    """POSIX: words, paths and variables are bytes; the program has them as Python does."""
    found = read_request(sent("gaia", "/w", "tp", "1", "call") + b"\0A=\xff")

    assert found is not None
    assert found.environ == {"A": "\udcff"}
    assert found.has_person


@pytest.mark.parametrize(
    "data",
    [b"", sent(), sent("gaia", "/w", "", "many", "call"), sent("gaia", "/w", "", "1", "call", version="0.0.9")],
)
def test_an_invalid_request_and_one_of_another_version_are_not_run(data: bytes) -> None:
    """Ours: the command runs its line itself then."""
    assert read_request(data) is None
