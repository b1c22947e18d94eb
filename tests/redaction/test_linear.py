"""No text takes long to look at, however it is made: twice the length takes about twice the time."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.redaction import looks_secret, masked_arguments, masked_url, masked_value
from gaia_mcp.redaction.given import secrets_in
from gaia_mcp.redaction.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Iterator

CHARS = 100_000
# An expression that is quadratic would take many minutes; these take a second or two on a slow machine.
SECONDS = 60
PARTS = [
    "-", "a", "=", '="', ":", "://", "://a:", "?", "&", "a=1&", "key=", "key=/a ", "key=[", 'key="', 'token="\\"',
    "token=${A} ", "session=a ", "session={", "bearer ", "basic QUJD", "-----BEGIN PRIVATE KEY-----",
    "machine password ", "token='a';", "\\", "a ", " ", "{", "sk-", "no-",
    "a-file.", "%41", "@", "Aa1", "/Aa1", "\n", "'", '"', "\\n",
]  # fmt: skip


@pytest.fixture
def patience() -> Iterator[None]:
    """Ends a test that takes too long, which the expressions of Python would never do."""

    def give_up(*_: object) -> None:
        pytest.fail(f"more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("part", PARTS)
def test_what_is_made_of_one_part_is_looked_at_in_linear_time(part: str, patience: None) -> None:
    """Ours: whatever stands in another program's file."""
    text = part * (CHARS // len(part))

    masked_arguments(["https://h/" + text, text])
    masked_url(text)
    masked_value("A", text)
    looks_secret(text)


@pytest.mark.parametrize("part", PARTS)
def test_secrets_are_looked_for_in_linear_time(part: str, patience: None) -> None:
    """Ours: among what a server is given, and in what it writes."""
    text = part * (CHARS // 10 // len(part))
    given = secrets_in({"TOKEN": text, "A": text}, [text])

    masker = Masker([*given, 'pä"ss\\wö&r<9>/+ x', "q7Lm2xPw9Rt4", "two\nlines of it"])

    masker.text(text * 10)
    masker.excerpt(text * 10)
