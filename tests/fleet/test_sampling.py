"""A program that answers sampling requests: what it is given, what its output means, and its certain end."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.errors import EntryError, SpawnError, UnansweredError
from gaia_mcp.fleet.sampling import Sampler, program_of
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story

PARAMS = {"messages": [], "maxTokens": 5}
TEXT = {"role": "assistant", "model": "sh", "stopReason": "endTurn"}


def shell(script: str) -> list[str]:
    """The program that runs a shell script."""
    return ["/bin/sh", "-c", script]


def problem(sampler: Sampler, params: dict[str, Any] = PARAMS) -> str:
    """The error of a request that is not answered."""
    with pytest.raises(UnansweredError) as caught:
        sampler.answering("asking")(params)
    assert caught.value.facts["question"] == params
    return str(caught.value)


def test_the_program_of_a_command_line_is_found_before_it_is_needed() -> None:
    """Ours: a server may cost money or time, which a typing error must not."""
    assert program_of("sh -c 'exit 3'") == [shutil.which("sh"), "-c", "exit 3"]
    for line, error in (("no-such-program-anywhere -x", SpawnError), ("'", EntryError)):
        with pytest.raises(error):
            program_of(line)


def test_the_output_of_a_program_is_the_result_or_its_text() -> None:
    """Spec, MC-7: it reads the params as JSON. Members of the result that it does not print are added."""
    content = {"type": "text", "text": "Hm."}
    own = {"role": "user", "content": [content], "model": "m"}
    answered = {
        "cat; echo .": {**TEXT, "content": {"type": "text", "text": f"{json.dumps(PARAMS)}."}},
        "sleep 0.5; echo 7": {**TEXT, "content": {"type": "text", "text": "7"}},
        f"echo '{json.dumps({'content': content})}'": {"role": "assistant", "model": "sh", "content": content},
        f"echo '{json.dumps(own)}'": own,
    }

    for script, expected in answered.items():
        assert Sampler(shell(script)).answering("asking")(PARAMS) == expected, script


def test_a_program_may_answer_without_reading_its_input() -> None:
    """Ours: a request may be longer than a pipe holds."""
    answer = Sampler(shell("exec <&-; echo Hm.")).answering("asking")

    assert answer({"messages": ["x" * 1_000_000]})["content"]["text"] == "Hm."


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'no key' >&2; exit 3", "ended with status 3: no key"),
        ("exit 3", "ended with status 3"),
        ("echo '{}'", "printed JSON without 'content'"),
        ("echo", "printed nothing"),
        (r"printf '\377'", "printed text that is not UTF-8"),
        ("head -c 1048577 /dev/zero; sleep 60", "printed more than 1 MiB"),
    ],
)
def test_a_failed_program_is_an_error_with_its_status_or_output(script: str, expected: str) -> None:
    """Ours: for the person to correct it."""
    assert problem(Sampler(shell(script), max_bytes=1 << 20)).endswith(f"{shlex.quote(script)} {expected}")


def test_a_program_that_cannot_be_started_is_an_error() -> None:
    """Ours: it may have been removed since the command began."""
    assert problem(Sampler(["/nowhere/at/all"])).endswith("/nowhere/at/all does not exist")


def test_a_program_is_ended_after_its_time() -> None:
    """Ours: the call has a timeout."""
    assert "did not end in 0 s" in problem(Sampler(["/bin/sleep", "60"], 0.0))


def test_a_closed_sampler_stops_its_programs_and_starts_no_others(tmp_path: Path) -> None:
    """Ours: a Ctrl-C ends the call, and nothing is left running."""
    sampler, problems = Sampler(shell(f"touch {tmp_path}/began; exec sleep 60")), []
    running = threading.Thread(target=lambda: problems.append(problem(sampler)))
    running.start()
    wait_until((tmp_path / "began").exists)

    sampler.close()
    running.join(PATIENCE_SECONDS)

    assert "ended with status -" in problems[0]
    assert "is no longer started" in problem(sampler)
