"""What a server writes to stderr: kept, shown, and without its secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.redaction.masker import Masker
from gaia_mcp.session.stderr_log import StderrLog

if TYPE_CHECKING:
    from tests.session.conftest import Entries


def masker() -> Masker:
    return Masker(["hunter2222"])


def test_a_silent_server_leaves_no_log(entries: Entries) -> None:
    """Ours: no file, no folder."""
    StderrLog(entries("good_handshake"), "call", masker).end(0)

    assert entries.logs() == []


def test_stderr_is_logged_until_the_server_ends(entries: Entries) -> None:
    """Ours: the name of the log has the front and the exit status. `end` may be called twice."""
    log = StderrLog(entries("good_handshake"), "call", masker)
    log.hear(b"has hunter")
    log.hear(b"2222\nlast")
    log.end(3)
    log.end(None)
    log.hear(b"late\n")

    assert entries.logs() == ["call.3.log: has ****\nlast\n"]


def test_whole_lines_are_shown(entries: Entries) -> None:
    """Ours: also the last one, which may have no end."""
    shown: list[bytes] = []
    log = StderrLog(entries("good_handshake"), "call", masker, shown.append)
    log.hear(b"one\nhas hunter")
    log.hear(b"2222\nla")
    log.hear(b"st")
    log.end(0)
    log.end(0)

    assert b"".join(shown) == b"one\nhas ****\nlast\n"
