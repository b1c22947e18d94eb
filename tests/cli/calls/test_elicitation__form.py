"""`gaia mcp call -i`: arguments are asked for on a real terminal."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import SERVERS, run_on_terminal
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia
    from tests.cli.terminals import Person

# Its one tool has the schema that it was started with, and returns the arguments of each call.
ECHOING = """
import json, sys, _wire
TOOL = {"name": "send", "inputSchema": json.loads(sys.argv[1])}
for message in _wire.messages():
    if message.get("method") == "tools/list":
        _wire.send(_wire.result(message, {"tools": [TOOL]}))
    elif message.get("method") == "tools/call":
        _wire.send(_wire.result(message, _wire.text(json.dumps(message["params"]["arguments"]))))
    elif answer := _wire.handshake(message):
        _wire.send(answer)
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "default": "none", "description": "To add"},
        "to": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "count": {"type": "integer", "minimum": 1},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "loud": {"type": "boolean", "default": False},
    },
    "required": ["count", "loud"],
    "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
Steps = list[tuple[str, bytes]]


def asked(
    gaia: Gaia, terminal: tuple[Person, int], steps: Steps, *words: str, schema: Any = SCHEMA
) -> tuple[int, bytes, str]:
    """Exit code, stdout and what else was shown, when `steps` are what is waited for and typed then."""
    environ = {"PYTHONPATH": str(SERVERS)}
    gaia.write({"s": {"command": sys.executable, "args": ["-c", ECHOING, json.dumps(schema)], "env": environ}})
    person, end = terminal
    process = gaia.popen("call", "s", "send", *words, stdin=end, stderr=end)
    for text, keys in steps:
        person.waits_for(text)
        person.types(keys)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, person.has_read()


def test_required_arguments_are_prompted_for_first_and_the_others_may_be_left_empty(
    gaia: Gaia, terminal: tuple[Person, int]
) -> None:
    """Ours: a default is only sent where a value is required; an invalid value is prompted for again."""
    steps = [
        ("send(count: integer (at least 1), [note: string", b""),
        ("count [integer, at least 1]: ", b"0\n"),
        ("is less than the minimum of 1", b""),
        ("count [integer, at least 1]: ", b"2\n"),
        ("note (To add) [string] [none]: ", b"\n"),
        ("to [{name: string} | null]: ", b'{"nam": 1}\n'),
        ("to [{name: string} | null]: ", b'{"name": "Ada L"}\n'),
        ("numbers [array of integer]: ", b"1, 2\n"),
        ("loud [boolean] [false]: ", b"\n"),
    ]

    code, out, shown = asked(gaia, terminal, steps, "-i")

    arguments = {"to": {"name": "Ada L"}, "count": 2, "numbers": [1, 2], "loud": False}
    assert (code, json.loads(out)) == (0, arguments)
    # The line that is shown does the same.
    line = shown.partition("the same command without prompts: gaia mcp ")[2].strip()
    again = gaia(*shlex.split(line))
    assert (again.code, again.json) == (0, arguments)


def test_given_arguments_are_not_prompted_for(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: in whichever form they are given."""
    steps = [("numbers [array of integer]: ", b"\n")]

    code, out, shown = asked(gaia, terminal, steps, '{"note": "x", "to": null}', "--count", "3", "loud=yes", "-i")
    assert (code, json.loads(out)) == (0, {"note": "x", "to": None, "count": 3, "loud": True})
    assert "the same" not in shown


def test_a_tool_without_arguments_is_called_at_once(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: there is nothing to prompt for."""
    assert asked(gaia, terminal, [], "-i", schema={"type": "object"})[:2] == (0, b"{}\n")


@pytest.mark.parametrize("keys", [b"\x04", b"\x03"], ids=["Ctrl-D", "Ctrl-C"])
def test_leaving_a_prompt_calls_no_tool(gaia: Gaia, keys: bytes) -> None:
    """Ours: exit code 130, as for Ctrl-C anywhere."""
    environ = {"PYTHONPATH": str(SERVERS)}
    gaia.write({"s": {"command": sys.executable, "args": ["-c", ECHOING, json.dumps(SCHEMA)], "env": environ}})

    shown, code = run_on_terminal(gaia, "call", "s", "send", "-i", typed=keys, after=b"count [integer, at least 1]: ")

    assert code == 130
    assert "{" not in shown.partition("count [integer]")[2]
    assert ("'send' was not called" in shown) == (keys == b"\x04")


def test_interactive_without_a_terminal_starts_no_server(gaia: Gaia) -> None:
    """Ours: a script must not wait for a person."""
    gaia.write({"s": {"command": "surely-not-installed"}})

    ran = gaia("call", "s", "send", "-i")

    assert (ran.code, ran.errors) == (
        2,
        ["error: --interactive needs a terminal", "hint: write the arguments on the command line: key=value"],
    )
