"""The drivers of command lines: the invocation for a request, and the answer that is read from the output."""

from __future__ import annotations

import json

import pytest

from gaia_mcp.contrib.hub.drivers import DRIVERS
from gaia_mcp.contrib.hub.drivers.base import Driver, Request

EVERY = pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)


def test_the_prompt_is_standard_input_byte_for_byte() -> None:
    """B4: a leading `--`, newlines and a megabyte are nothing special, and no argument holds any of it."""
    prompts = ["--help", "-", "@file", "two\nlines\n", "x" * 1_000_000, "ünïcode \0"]

    wrong = []
    for name, driver in DRIVERS.items():
        arguments = driver.invocation(Request("other")).arguments
        for prompt in prompts:
            run = driver.invocation(Request(prompt))
            if (run.stdin, run.arguments) != (prompt.encode(), arguments):
                wrong.append((name, prompt[:20], run.arguments))

    assert not wrong


@EVERY
def test_the_context_follows_the_prompt(driver: Driver) -> None:
    """B4: the context reaches the agent, and leaves the prompt as it is."""
    run = driver.invocation(Request("fix it", {"language": "python", "code": 'print("é")'}))

    prompt, _, context = run.stdin.decode().partition("\n\nContext (JSON):\n")
    assert (prompt, json.loads(context)) == ("fix it", {"language": "python", "code": 'print("é")'})


@EVERY
def test_the_model_follows_its_option(driver: Driver) -> None:
    """B4: `config.model` becomes the model flag."""
    plain, chosen = (driver.invocation(Request("p", model=model)).arguments for model in ("", "big-1"))

    assert chosen[chosen.index("big-1") - 1] in ("--model", "-m")
    assert len(chosen) == len(plain) + 2


def test_output_of_another_format_is_a_failure() -> None:
    """B5, B6: half a JSON, nothing, or anything else is never an answer, and never raises."""
    outputs = [
        b"",
        b"\n",
        b'{"result": "half',
        b"[1, 2]",
        b"null",
        b"\xff\xfe",
        b"hello",
        b"[" * 100_000,
        b"{}",
        b"\n{" * 9999,
    ]

    wrong = []
    for name, driver in DRIVERS.items():
        for stdout in outputs:
            answer = driver.answer(stdout, 0, "")
            if not answer.error.startswith(f"{driver.program} wrote") or answer.content:
                wrong.append((name, stdout[:20], answer))

    assert not wrong


def test_only_gemini_takes_a_temperature() -> None:
    """B4: the other two programs have no option or setting for it."""
    assert [name for name, driver in DRIVERS.items() if "temperature" in driver.settings] == ["gemini"]


def test_a_line_of_another_format_reports_no_activity() -> None:
    """B5: an agent may print anything."""
    lines = [b"", b"[]", b"no JSON", b'{"type":"error"}', b"{" * 99_999]

    assert [(name, line) for name, driver in DRIVERS.items() for line in lines if driver.reported(line)] == []
