"""Answers to the requests of a server, given as options: an unanswered request ends the call, in both eras alike."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import REVISION
from tests.cli.conftest import BIN
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia
    from tests.cli.terminals import Person

AGENT = Path(__file__).parents[2] / "peers" / "programs" / "asking_agent.py"
ERAS = {"asking": {}, "asking-old": {REVISION: "2025-11-25"}}
# Programs that answer a sampling request.
COUNTING = "import json, sys; print('I was given', json.load(sys.stdin)['maxTokens'], 'tokens')"
FULL = """print('{"role": "assistant", "content": {"type": "text", "text": "Hm."}, "model": "m"}')"""

# Its prompt and its resource ask for a name.
WELCOMING = """
from gaia_mcp import MCPAgent, current_call, tool

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def welcome():
    answer = current_call().elicit("Who?", FORM)
    return f"Welcome, {answer.value['name']}." if answer.action == "accept" else "Welcome."


class Welcoming(MCPAgent):
    @tool
    def wave(self) -> str:
        'Wave.'
        return "waved"

    def get_mcp_prompts(self):
        return [{"name": "welcome"}]

    def get_mcp_prompt(self, name, arguments):
        return welcome()

    def get_mcp_resources(self):
        return [{"uri": "welcome://one", "name": "one"}]

    def read_mcp_resource(self, uri):
        return welcome()
"""


@pytest.fixture(params=list(ERAS))
def era(request: pytest.FixtureRequest, gaia: Gaia) -> str:
    """The name of a server that asks, in one of the eras."""
    entry = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", f"{AGENT}:Asking"]}
    gaia.write({name: {**entry, **more} for name, more in ERAS.items()})
    name: str = request.param
    return name


def program(gaia: Gaia, text: str) -> str:
    """The command line of a Python program."""
    path = gaia.cwd / "program.py"
    path.write_text(text)
    return f"{sys.executable} {path}"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--answer", "size=small"], "1 SMALL Ada 1 False None accept"),
        (
            ["--answer", "size=large", "--answer", "count=3", "--answer", 'name:="Bo"', "--answer", "gift=yes"],
            "1 LARGE Bo 3 True None accept",
        ),
        (
            ["--answer", "toppings=ham", "--answers", '{"size": "small"}', "--answer", "toppings=cheese"],
            "1 SMALL Ada 1 False ['ham', 'cheese'] accept",
        ),
        (["--answers", '{"size": "small", "count": 2}', "--answer", "count=4"], "1 SMALL Ada 4 False None accept"),
        (["--decline"], "no order: decline"),
    ],
)
def test_a_form_is_answered_in_the_types_of_its_schema(gaia: Gaia, era: str, words: list[str], expected: str) -> None:
    """Spec, elicitation: accepted with content that fits. Ours: defaults fill the rest."""
    ran = gaia("call", era, "order", *words)

    assert (ran.stdout, ran.code) == (f"{expected}\n", 0)


@pytest.mark.parametrize("name", ["-", "answers.json"])
def test_answers_are_read_from_a_file_and_from_standard_input(gaia: Gaia, era: str, name: str) -> None:
    """Ours: a JSON object."""
    text = '{"size": "large", "sure": false}'
    (gaia.cwd / "answers.json").write_text(text)

    ran = gaia("call", era, "order", "--answers", name, stdin=text)

    assert (ran.stdout, ran.code) == ("1 LARGE Ada 1 False None accept\n", 0)


def test_an_unanswered_elicitation_in_a_pipe_ends_the_call(gaia: Gaia, era: str) -> None:
    """Ours: a script must not continue as if a person had declined. The line in the hint works."""
    ran = gaia("call", era, "order")

    assert ran.code == 8
    assert ran.errors[0].startswith(f"error: server {era!r} asks 'Which one?', and needs size;")
    assert ran.errors[1] == f"hint: answer it with: gaia mcp call {era} order --answer size=small"


def test_an_unanswered_elicitation_and_its_schema_are_in_the_json(gaia: Gaia, era: str) -> None:
    """Ours: a program can ask its own user, and call again."""
    ran = gaia("call", era, "order", "--json")

    assert (ran.code, ran.json["exit"], ran.json["error"]["kind"]) == (8, 8, "unanswered")
    question = ran.json["error"]["question"]
    assert question["message"] == "Which one?"
    assert question["requestedSchema"]["required"] == ["size"]


def test_an_invalid_answer_ends_the_call(gaia: Gaia, era: str) -> None:
    """Ours: nothing invalid is sent, and the error names the field."""
    ran = gaia("call", era, "order", "--answer", "size=huge")

    assert ran.code == 8
    assert """the answer for 'size' is invalid: "huge" is not one of""" in ran.errors[0]
    assert ran.errors[1] == "hint: write --answer size=small"


def test_an_invalid_answer_ends_the_call_before_a_prompt(gaia: Gaia, era: str, terminal: tuple[Person, int]) -> None:
    """Ours: the given answers are checked before the person is asked for the others."""
    _, end = terminal

    process = gaia.popen("call", era, "order", "--answer", "count=many", stdin=end)

    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 8
    assert b"the answer for 'count' is invalid" in err


def test_unused_answers_are_reported_in_one_note(gaia: Gaia, era: str) -> None:
    """Ours: most are typing errors."""
    ran = gaia("call", era, "order", "--answer", "size=small", "--answer", "sise=1", "--answer", "x=2")

    assert ran.code == 0
    assert ran.stderr == "note: no question used 'sise', 'x'; did you mean 'size'?\n"


def test_a_url_is_accepted_only_by_the_name_of_its_host(gaia: Gaia, era: str) -> None:
    """Spec, elicitation by URL: nothing without explicit consent. Ours: it is shown in full, also in a script."""
    refused = gaia("call", era, "login", "--answer", "url=accept", "--answers", "{}")
    accepted = gaia("call", era, "login", "--answer", "example.com=accept")
    declined = gaia("call", era, "login", "--answers", '{"example.com": "decline"}')
    wrong = gaia("call", era, "login", "--answer", "example.com=yes")

    assert (refused.code, accepted.stdout, declined.stdout) == (8, "accept\n", "decline\n")
    assert "  https://example.com/login?x=1\n" in refused.stderr
    assert refused.errors[-1].endswith("--answer example.com=accept")
    assert "  https://example.com/login?x=1\n" in accepted.stderr
    assert (wrong.code, wrong.errors[-1]) == (8, "hint: write --answer example.com=accept")


def test_root_options_are_listed_as_roots(gaia: Gaia, era: str) -> None:
    """Spec, roots: each a file URI with a name."""
    (gaia.cwd / "a b").mkdir()

    ran = gaia("call", era, "look", "--root", "a b", "--root", ".", "--answer", "name=Ada")

    assert (ran.stdout, ran.code) == (f"{(gaia.cwd / 'a b').as_uri()} Ada\n", 0)


@pytest.mark.parametrize(("text", "expected"), [(COUNTING, "I was given 5 tokens"), (FULL, "Hm.")])
def test_a_program_answers_sampling_requests(gaia: Gaia, era: str, text: str, expected: str) -> None:
    """Spec, MC-7: it reads the params as JSON, and prints the result, or a text that becomes one."""
    ran = gaia("call", era, "think", "--sample", program(gaia, text))

    assert (ran.stdout, ran.code) == (f"{expected}\n", 0)


def test_a_sampling_request_without_a_program_is_reported_with_the_option(gaia: Gaia, era: str) -> None:
    """Spec: a capability is declared only by a client that has it. Ours: the stateless era has an error for it, the
    handshake era the failure of the tool.
    """
    ran = gaia("call", era, "think")

    assert ran.code == (6 if era == "asking" else 9)
    assert ran.errors[1] == f"hint: answer its sampling requests with: gaia mcp call {era} think --sample PROGRAM"


def test_a_failing_sampling_program_ends_the_call(gaia: Gaia, era: str) -> None:
    """Ours: with the reason, for the person to correct it."""
    ran = gaia("call", era, "think", "--sample", program(gaia, "import sys; sys.exit('no key')"))

    assert ran.code == 8
    assert "program.py ended with status 1: no key" in ran.errors[0]


def test_a_sampling_program_is_ended_by_the_timeout_of_the_call(gaia: Gaia, era: str) -> None:
    """Ours: the fixture proves that it is not left running."""
    ran = gaia("call", era, "think", "--timeout", "6", "--sample", program(gaia, "import time; time.sleep(60)"))

    assert ran.code == 8
    assert "did not end in 6 s" in ran.errors[0]


def test_ctrl_c_ends_the_sampling_program_with_the_call(gaia: Gaia, era: str) -> None:
    """Ours: also one that ignores SIGINT."""
    stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); open('ready', 'w'); time.sleep(60)"
    process = gaia.popen("call", era, "think", "--sample", program(gaia, stubborn))
    wait_until((gaia.cwd / "ready").exists)

    process.send_signal(signal.SIGINT)

    assert process.wait(PATIENCE_SECONDS) == 130


@pytest.mark.parametrize(
    "words",
    [
        ["--answer", "size"],
        ["--answer", "size:={"],
        ["--answers", "["],
        ["--answers", "{"],
        ["--answers", "nowhere.json"],
        ["--root", "nowhere"],
        ["--sample", "no-such-program-anywhere"],
        ["--sample", "'"],
    ],
)
def test_an_invalid_answer_option_starts_no_server(gaia: Gaia, words: list[str]) -> None:
    """Ours: a server may cost money or time, which a typing error must not."""
    gaia.write({"noting": {"command": "/bin/sh", "args": ["-c", "touch started"]}})

    ran = gaia("call", "noting", "echo", *words)

    assert ran.code == 2
    assert not (gaia.cwd / "started").exists()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("words", [("prompt", "hall", "welcome"), ("read", "hall", "welcome://one")])
def test_elicitations_of_prompts_and_resources_are_answered(gaia: Gaia, words: tuple[str, ...], revision: str) -> None:
    """Spec: both may ask as a tool does."""
    (gaia.cwd / "hall.py").write_text(WELCOMING)
    args = ["mcp", "serve", f"{gaia.cwd / 'hall.py'}:Welcoming"]
    gaia.write({"hall": {"command": str(BIN / "gaia"), "args": args, REVISION: revision}})

    answered = gaia(*words, "--answer", "name=Ada")
    declined = gaia(*words, "--decline")
    refused = gaia(*words)

    assert "Welcome, Ada." in answered.stdout
    assert (declined.code, "Welcome." in declined.stdout) == (0, True)
    assert (refused.code, refused.errors[1].endswith("--answer name=VALUE")) == (8, True)


def test_elicitations_without_end_are_answered_a_hundred_times(gaia: Gaia) -> None:
    """Ours: a script gives the same answer every time, so the call would never end."""
    text = """
import json, sys, _wire
for message in _wire.messages():
    if message.get("method") == "tools/call" or "method" not in message:
        params = {"message": "Again?", "requestedSchema": {"type": "object", "properties": {}}}
        _wire.send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
    elif answer := _wire.handshake(message):
        _wire.send(answer)
"""
    servers = Path(__file__).parents[2] / "servers"
    gaia.write({"again": {"command": sys.executable, "args": ["-c", text], "env": {"PYTHONPATH": str(servers)}}})

    ran = gaia("call", "again", "echo", "--answers", "{}")

    assert ran.code == 8
    assert "keeps asking: 100 questions were answered" in ran.errors[0]


def test_test_client_takes_the_same_answers(gaia: Gaia, era: str) -> None:
    """Ours: with some answers, an unanswered request fails the check; without any, it is declined."""
    accepted = gaia("test-client", era, "--call", "order", "--answer", "size=small", "--json")
    failed = gaia("test-client", era, "--call", "order", "--answer", "count=3", "--json")
    declined = gaia("test-client", era, "--call", "order", "--json")

    def call_of(printed: Any) -> dict[str, Any]:
        return next(check for check in printed["servers"][0]["checks"] if check["name"] == "call")

    assert "1 SMALL Ada 1 False None accept" in json.dumps(call_of(accepted.json))
    assert (failed.code, declined.code) == (8, 0)
    assert "needs size" in json.dumps(call_of(failed.json))
    assert "no order: decline" in json.dumps(call_of(declined.json))


def test_a_terminal_is_prompted_for_the_answers_that_are_not_given(
    gaia: Gaia, era: str, terminal: tuple[Person, int]
) -> None:
    """Ours: what was given is not prompted for again."""
    person, end = terminal
    process = gaia.popen("call", era, "order", "--answer", "name=Bo", stdin=end, stderr=end)
    for words, keys in [
        ("asks: Which one?", b""),
        ("(n declines, Ctrl-D cancels)", b""),
        ("Answer? [Y/n]", b"\n"),
        ('size (How large.) ["small" | "large"]', b"large\n"),
        ("count [integer] [1]:", b"2\n"),
        ("gift [boolean] [false]:", b"-\n"),
        ("toppings", b"\n"),
        ("asks: Sure?", b""),
        ("Answer? [Y/n]", b"n\n"),
        ("declined", b""),
    ]:
        person.waits_for(words)
        person.types(keys)

    out, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert (out, process.returncode) == (b"1 LARGE Bo 2 False None decline\n", 0)
