"""Redaction takes linear time, whatever the text: four times the length takes about four times as long."""

from __future__ import annotations

import signal
from time import thread_time
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.text.redaction import looks_secret, masked_arguments, masked_url, masked_value
from gaia_mcp.text.redaction.masker import Masker, secrets_in
from tests.expressions import BRIEF_SECONDS, LIMIT, grows_too_fast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[str], object]

# How long a text is, in characters, and from how many of its parts it is made, unless it would be too long.
LARGE, MOST, PARTS_OF_ONE = 10_000, 20_000, 1_500
# Processor time, of which linear expressions take a few seconds on a slow machine, and exponential ones any amount.
SECONDS = 60
PARTS = [
    "-", "a", "=", '="', ":", "://", "://a:", "?", "&", "a=1&", "key=", "key=/a ", "key=[", 'key="', 'token="\\"',
    "token=${A} ", "session=a ", "session={", "bearer ", "basic QUJD", "-----BEGIN PRIVATE KEY-----",
    "machine password ", "token='a';", "\\", "a ", " ", "{", "sk-", "no-",
    "a-file.", "%41", "@", "Aa1", "/Aa1", "\n", "'", '"', "\\n",
]  # fmt: skip


def masker_of(text: str) -> Masker:
    """A masker, among whose secrets are those of the beginning of a text."""
    beginning = text[: len(text) // 40]
    given = secrets_in({"TOKEN": beginning, "A": beginning}, [beginning])
    return Masker([*given, 'pä"ss\\wö&r<9>/+ x', "q7Lm2xPw9Rt4", "two\nlines of it"])


MASKING: dict[str, Work] = {
    "masked_arguments": lambda text: masked_arguments(["https://h/" + text, text]),
    "masked_url": masked_url,
    "masked_value": lambda text: masked_value("A", text),
    "looks_secret": looks_secret,
}
FINDING: dict[str, Work] = {
    "secrets_in": lambda text: secrets_in({"TOKEN": text, "A": text}, [text]),
    "Masker.text": lambda text: masker_of(text).text(text),
    "Masker.excerpt": lambda text: masker_of(text).excerpt(text),
}


@pytest.fixture
def processor_limit() -> Iterator[None]:
    """Ends a test with an expression that takes exponential time, which would never end by itself."""

    def give_up(*_: object) -> None:
        pytest.fail(f"more than {SECONDS} seconds")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def slowness(work: Work, part: str) -> str:
    """How much longer a text of this part takes that is four times as long, if it takes much more than four times as
    long; else empty. Only what seems to is measured several times.
    """

    def work_on(size: int) -> object:
        return work(part * (size // len(part)))

    def spent(size: int) -> float:
        began = thread_time()
        work_on(size)
        return thread_time() - began

    size = min(MOST, max(LARGE, PARTS_OF_ONE * len(part)))
    large = spent(size)
    if large < LIMIT * BRIEF_SECONDS or large < LIMIT * spent(size // 4):
        return ""
    return grows_too_fast(work_on)


def slow_ones(works: dict[str, Work]) -> dict[tuple[str, str], str]:
    """What takes more than linear time, by the name of the function and the part of its text."""
    return {(name, part): found for name, work in works.items() for part in PARTS if (found := slowness(work, part))}


def test_masking_takes_linear_time(processor_limit: None) -> None:
    """Ours: other programs write the files that are shown, and a long value must not stop a command."""
    assert slow_ones(MASKING) == {}


def test_finding_secrets_takes_linear_time(processor_limit: None) -> None:
    """Ours: a server decides how much it writes, and all of it is searched for secrets."""
    assert slow_ones(FINDING) == {}
