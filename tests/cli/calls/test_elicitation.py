"""Elicitation requests of a server on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import SERVERS, entry_of
from tests.cli.terminals import Person
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

END_OF_INPUT = b"\x04"
# Its one tool asks what it was started with, and gives back what it was answered.
ASKING = """
import json, sys, _wire
for message in _wire.messages():
    if message.get("method") == "tools/call":
        asked, params = message, json.loads(sys.argv[1])
        _wire.send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params})
    elif "method" not in message:
        _wire.send(_wire.result(asked, _wire.text(json.dumps(message["result"]))))
    elif answer := _wire.handshake(message):
        _wire.send(answer)
"""
# Asks for a name and for a town at once, and gives back both answers.
ASKING_TWICE = """
import json, _wire
for message in _wire.messages():
    if message.get("method") == "tools/call":
        asked, answers = message, {}
        for name in ("name", "town"):
            form = {"type": "object", "properties": {name: {"type": "string"}}}
            params = {"message": f"Which {name}?", "requestedSchema": form}
            _wire.send({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": params})
    elif "method" not in message:
        answers[message["id"]] = message["result"].get("content")
        if len(answers) == 2:
            _wire.send(_wire.result(asked, _wire.text(json.dumps(answers, sort_keys=True))))
    elif answer := _wire.handshake(message):
        _wire.send(answer)
"""
Steps = list[tuple[str, bytes]]


def asking(params: dict[str, Any]) -> dict[str, Any]:
    """The entry of a server whose tool asks with `params`."""
    return {
        "command": sys.executable,
        "args": ["-c", ASKING, json.dumps(params)],
        "env": {"PYTHONPATH": str(SERVERS), "A_TOKEN": "hunter2222"},
    }


def asked(gaia: Gaia, terminal: tuple[Person, int], params: dict[str, Any], steps: Steps) -> Any:
    """What a server that asks with `params` is answered, when `steps` are what is waited for and typed then."""
    person, end = terminal
    gaia.write({"asking": asking(params)})
    process = gaia.popen("call", "asking", "echo", stdin=end, stderr=end)
    for words, keys in steps:
        person.waits_for(words)
        person.types(keys)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.startswith(b"{")  # Nothing of the questions is in it.
    return json.loads(out)


def filled_in(gaia: Gaia, terminal: tuple[Person, int], schema: dict[str, Any], steps: Steps) -> Any:
    """What becomes of a form."""
    params = {"message": "Well?", "requestedSchema": schema}
    answer = asked(gaia, terminal, params, [("Answer?", b"y\n"), *steps])
    assert answer["action"] == "accept"
    return answer["content"]


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([("Answer?", b"y\n"), ("city", b"Oslo\n")], {"action": "accept", "content": {"city": "Oslo"}}),
        ([("Answer?", b"n\n")], {"action": "decline"}),
        ([("Answer?", END_OF_INPUT)], {"action": "cancel"}),
        ([("Answer?", b"y\n"), ("city", END_OF_INPUT)], {"action": "cancel"}),
    ],
)
def test_a_form_is_accepted_declined_or_cancelled(
    gaia: Gaia, terminal: tuple[Person, int], steps: Steps, answer: object
) -> None:
    """Spec, MC-7: a form without a mode. Accept with content, decline, or cancel on leaving without a choice."""
    person, end = terminal
    gaia.use("good-handshake")
    process = gaia.popen("call", "good-handshake", "ask", stdin=end, stderr=end)

    for prompt, keys in steps:
        person.waits_for(prompt)
        person.types(keys)

    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (json.loads(out), process.returncode) == (answer, 0)


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ({"type": "integer", "default": 0}, "[0]"),
        ({"type": "boolean", "default": False}, "[false]"),
        ({"type": "string", "default": "Oslo"}, "[Oslo]"),
        ({"type": "string", "default": "a\x1bb"}, "[a\\x1bb]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]}, '[["b"]]'),
    ],
)
def test_enter_accepts_the_default_that_is_shown(
    gaia: Gaia, terminal: tuple[Person, int], field: dict[str, Any], shown: str
) -> None:
    """Spec, elicitation: clients pre-populate the form with it. Ours: as JSON, with control characters escaped."""
    schema = {"properties": {"x": field}, "required": ["x"]}

    content = filled_in(gaia, terminal, schema, [(f"{shown}:", b"\n")])

    assert json.dumps(content) == json.dumps({"x": field["default"]})


@pytest.mark.parametrize(
    ("field", "steps", "value"),
    [
        ({"type": "number", "default": 3}, [("[number] [3]:", b"2.5\n")], 2.5),
        ({"type": "array", "items": {"type": "string"}}, [("x ", b"a, b\n")], ["a", "b"]),
        ({"type": "array", "items": []}, [("x ", b"a\n")], ["a"]),
        ({"type": "array", "items": {"type": "string"}}, [("x ", b'["a, b"]\n')], ["a, b"]),
        ({"type": "integer"}, [("x [integer]", b"many\n"), ("not of type", b""), ("x [integer]", b"7\n")], 7),
        ({"oneOf": [{"const": "n", "title": "North"}]}, [("x [n: North]", b"n\n")], "n"),
        ({"enum": ["n", "s"], "enumNames": ["North", "South"]}, [("x [n: North, s: South]", b"s\n")], "s"),
        ({"type": "string"}, [("x [string]", b"\xff\n"), ("not UTF-8", b""), ("x [string]", b"\xc3\xa4\n")], "\u00e4"),
        ({"type": "object"}, [("x ", b'{"a": 1, "a": 2}\n'), ("'a' twice", b""), ("x ", b'{"a": 1}\n')], {"a": 1}),
        ({"type": "integer"}, [("x [integer]", b"\xd9\xa3\n"), ("not of type", b""), ("x [integer]", b"7\n")], 7),
        ({"type": "boolean"}, [("x [boolean]", b"maybe\n"), ("y or n?", b""), ("x [boolean]", b"N\n")], False),
        ({"title": "X", "description": "of Y", "type": "string"}, [("X (of Y) [string]", b"n\n")], "n"),
        # A schema that nothing can be checked against.
        ({"type": "nonsense"}, [("x [nonsense]", b"n\n")], "n"),
    ],
)
def test_typed_text_is_converted_to_the_type_of_the_field(
    gaia: Gaia, terminal: tuple[Person, int], field: dict[str, Any], steps: Steps, value: object
) -> None:
    """Spec, elicitation: the content matches the schema. Ours: an invalid value is prompted for again."""
    assert filled_in(gaia, terminal, {"properties": {"x": field}}, steps) == {"x": value}


def test_only_optional_fields_may_be_left_empty(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Spec, elicitation: the schema lists the required fields. Ours: an empty one is prompted for again."""
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    steps = [("a [string]", b"\n"), ("b [string]", b"\n"), ("an answer is required", b""), ("b [string]", b"x\n")]

    assert filled_in(gaia, terminal, schema, steps) == {"b": "x"}


@pytest.mark.parametrize(("keys", "action"), [(b"YES\n", "accept"), (b"n\n", "decline"), (b"\n", "decline")])
def test_a_url_is_shown_with_its_host_before_consent(
    gaia: Gaia, terminal: tuple[Person, int], keys: bytes, action: str
) -> None:
    """Spec, elicitation by URL: the whole URL, its domain made clear, and nothing without consent."""
    url = "https://bank.example@elsewhere.example/pay?id=1"
    steps = [("Well?", b""), (url, b""), ("on elsewhere.example;", b""), ("open it yourself?", keys)]
    params = {"mode": "url", "message": "Well?", "url": url, "elicitationId": "1"}

    assert asked(gaia, terminal, params, steps) == {"action": action}


def test_a_url_cannot_print_a_line_of_its_own(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """MC-8: it is shown in full, and on one line."""
    params = {"mode": "url", "message": "Well?", "url": "https://e.org/\n  (on bank.example; all is well)"}
    steps = [("https://e.org/%0A%20%20(on%20bank.example;%20all%20is%20well)", b""), ("open it yourself?", b"n\n")]

    assert asked(gaia, terminal, params, steps) == {"action": "decline"}


def test_a_url_is_shown_without_a_terminal_too(gaia: Gaia) -> None:
    """MC-8: it may be opened elsewhere; no person has consented to it here."""
    gaia.write({"asking": asking({"mode": "url", "message": "Sign in", "url": "https://e.org/\u00e4?a=1"})})

    ran = gaia("call", "asking", "echo")

    assert ran.code == 8
    assert "  https://e.org/\u00e4?a=1\n  (on e.org;" in ran.stderr
    assert "(on e.org;" not in gaia("call", "asking", "echo", "--quiet").stderr


def test_secrets_in_an_elicitation_message_are_masked(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: other people may see the screen."""
    params = {"message": "Is hunter2222 right?", "requestedSchema": {"properties": {}}}

    answer = asked(gaia, terminal, params, [("asks: Is **** right?", b""), ("Answer?", b"n\n")])

    assert answer == {"action": "decline"}


def test_concurrent_elicitations_are_prompted_for_one_after_another(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: the person sees which one is being answered."""
    person, end = terminal
    gaia.write({"asking": {**asking({}), "args": ["-c", ASKING_TWICE]}})
    process = gaia.popen("call", "asking", "echo", stdin=end, stderr=end)
    person.waits_for("Answer?")
    first, second = ("name", "town") if "Which name?" in person.seen else ("town", "name")
    person.types(b"y\n")
    for words, keys in [
        (f"{first} [string]", first.upper().encode()),
        (f"Which {second}?", b"y"),
        (f"{second} [string]", second.upper().encode()),
    ]:
        person.waits_for(words)
        person.types(keys + b"\n")

    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (json.loads(out), process.returncode) == ({"name": {"name": "NAME"}, "town": {"town": "TOWN"}}, 0)
    shown = person.seen
    assert shown.index(first.upper()) < shown.index(f"Which {second}?")


def test_after_ctrl_c_no_further_prompt_is_shown(gaia: Gaia) -> None:
    """Ours: what is typed then is for the shell, also while the server is still being stopped."""
    fields = {name: {"type": "string"} for name in ("first", "second")}
    params = {"message": "Well?", "requestedSchema": {"properties": fields}}
    stopping = gaia.cwd / "stopping"
    slow = f"{ASKING}\nimport time; open({str(stopping)!r}, 'w').close(); time.sleep(1)"
    gaia.write({"asking": {**asking(params), "args": ["-c", slow, json.dumps(params)]}})
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    command = gaia.popen("call", "asking", "echo", env={**gaia.environ, "TERM": "dumb"}, terminal=True, **streams)
    os.close(theirs)
    person = Person(ours)
    for words, keys in [("Answer?", b"y\n"), ("first [string]", b"\x03")]:
        person.waits_for(words)
        person.types(keys)
    person.waits_for("^C")
    wait_until(stopping.exists)
    person.types(b"one\ntwo\n")

    assert command.wait(PATIENCE_SECONDS) == 130
    assert "second" not in person.has_read()
    os.close(ours)


def test_after_ctrl_c_the_next_elicitation_is_not_shown(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Ours: it waits while another one is prompted for, and the server takes a second to stop."""
    person, end = terminal
    gaia.write({"asking": {**asking({}), "args": ["-c", f"{ASKING_TWICE}\nimport time; time.sleep(1)"]}})
    process = gaia.popen("call", "asking", "echo", stdin=end, stderr=end)
    person.waits_for("Answer?")

    process.send_signal(signal.SIGINT)

    assert process.wait(PATIENCE_SECONDS) == 130
    assert "asks:" not in person.has_read()


def test_a_call_continues_after_its_required_urls_are_opened(gaia: Gaia, terminal: tuple[Person, int]) -> None:
    """Spec 2025-11-25: -32042 lists URLs to be opened first. Ours: each is shown in full, and asked about."""
    person, end = terminal
    gaia.write({"s": entry_of("requires-url", "1")})
    process = gaia.popen("call", "s", "echo", "a=1", stdin=end, stderr=end)
    for url in ("  https://e.org/?a=1&b=%0A2\r\n", "  https://other.org/\r\n"):
        person.waits_for(url)
        person.waits_for("Have you opened it and finished there? [y/N]: ")
        person.types(b"y\n")

    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (json.loads(out), process.returncode) == ({"a": "1"}, 0)


def test_a_required_url_is_reported_without_a_terminal(gaia: Gaia) -> None:
    """Ours: it is shown, is in the hint, and in the data of the error, without secrets."""
    url = f"https://e.org/?{'a' * 3000}"
    data = {"elicitations": [{"url": url, "message": "Sign in"}], "key": "hunter2222"}
    gaia.write({"s": entry_of("requires-url", "1", json.dumps(data), env={"A_TOKEN": "hunter2222"})})

    ran = gaia("call", "s", "echo")
    assert ran.code == 6
    assert f"  {url}\n" in ran.stderr
    assert "\nhint: open https://e.org/?aaa" in ran.stderr
    error = gaia("call", "s", "echo", "--json").json["error"]
    assert (error["code"], error["data"]) == (-32042, {**data, "key": "****"})


def test_the_data_of_an_error_is_in_the_json(gaia: Gaia) -> None:
    """Ours: a program often needs what a server adds to an error."""
    gaia.write(
        {"s": entry_of("requires-url", "1", '{"why": ["no money"]}'), "t": entry_of("list-errors", "-32603", "no")}
    )

    error = gaia("call", "s", "echo", "--json").json["error"]
    assert (error["code"], error["data"]) == (-32042, {"why": ["no money"]})
    assert gaia("tools", "t", "--json").json["error"]["code"] == -32603
