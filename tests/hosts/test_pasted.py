"""Entries in text that a person pastes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.hosts.pasted import is_foreign, looks_pasted, read_pasted
from gaia_mcp.text.strict_json import TextProblemError

TIME: dict[str, Any] = {"command": "uvx", "args": ["mcp-server-time"]}
TEXT = json.dumps(TIME)
FENCED = f'Put this into the file:\n\n```json\n{{\n  // ours\n  "time": {TEXT},\n}}\n```\nand restart.\n'


def test_an_entry_is_read_from_any_surrounding_text() -> None:
    """Ours: the forms in which READMEs and hosts' files give one."""
    cases = [
        (f'{{"mcpServers": {{"time": {TEXT}}}}}', "time", "claude-code"),
        (f'{{"servers": {{"time": {TEXT}}}, "inputs": []}}', "time", "vscode"),
        (f'{{"mcp": {{"servers": {{"time": {TEXT}}}}}}}', "time", "vscode"),
        (f'{{"context_servers": {{"time": {TEXT}}}}}', "time", "zed"),
        (f'{{"mcpServers": [{{"name": "time", {TEXT[1:]}]}}', "time", "continue"),
        (f'[{{"name": "time", {TEXT[1:]}]', "time", "claude-code"),
        (f'{{"time": {TEXT}}}', "time", "claude-code"),
        (f'{{"mcp": {TEXT}}}', "mcp", "claude-code"),
        (f'{{"url": {TEXT}}}', "url", "claude-code"),
        (f'{{"mcpServers": {{"url": {TEXT}}}}}', "url", "claude-code"),
        (f'{{"servers": {{"command": {TEXT}}}}}', "command", "vscode"),
        (f'{{"name": "time", {TEXT[1:]}', "time", "claude-code"),
        (TEXT, None, "claude-code"),
        (f'"time": {TEXT}', "time", "claude-code"),
        (f'  "time": {TEXT},\n', "time", "claude-code"),
        (f'"mcpServers": {{"time": {TEXT}}}', "time", "claude-code"),
        (TEXT[1:-1], None, "claude-code"),
        (f"\ufeff{TEXT},", None, "claude-code"),
        (TEXT.replace(" ", "\u00a0"), None, "claude-code"),
        (TEXT.replace("]}", ", /* one */ ], // two\n}"), None, "claude-code"),
        (FENCED, "time", "claude-code"),
        (f"```\n{TEXT}", None, "claude-code"),
        ('[mcp_servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n', "time", "codex"),
        ("mcpServers:\n  - name: time\n    command: uvx\n    args: [mcp-server-time]\n", "time", "continue"),
    ]

    wrong = []
    for text, name, host in cases:
        found = [(one.name, one.host.key, {**one.raw, "name": ""}) for one in read_pasted(text)]
        if found != [(name, host, {**TIME, "name": ""})]:
            wrong.append((text, found))

    assert not wrong


def test_several_entries_are_read_in_order() -> None:
    """Ours: the order is the author's, and they are saved and listed in it."""
    text = '"b": {"command": "x"}, "a": {"url": "https://host"},'
    assert [(one.name, list(one.raw)) for one in read_pasted(text)] == [("b", ["command"]), ("a", ["url"])]
    assert read_pasted('{"mcpServers": {}}') == read_pasted("[]") == []


def test_a_value_without_a_json_type_becomes_a_string() -> None:
    """Ours: TOML and YAML have dates, and keys that are no text."""
    (toml,) = read_pasted('[mcp_servers.a]\ncommand = "x"\nsince = 2026-01-02\n')
    (yaml,) = read_pasted("mcpServers:\n  a: {command: x, since: 2026-01-02, 5: y}\n")
    assert toml.raw == {"command": "x", "since": "2026-01-02"}
    assert yaml.raw == {"command": "x", "since": "2026-01-02", "5": "y"}


def test_an_object_without_servers_is_one_entry() -> None:
    """Ours: of a kind that only we have, of a host's earlier form, or invalid, which reading the entry reports."""
    cases = ["{}", '{"a": {"b": 1}}', '{"handler": "x.y:Z"}', '{"command": {"path": "x"}}']

    wrong = []
    for text in cases:
        found = [(one.name, one.raw) for one in read_pasted(text)]
        if found != [(None, json.loads(text))]:
            wrong.append((text, found))

    assert not wrong


def test_an_invalid_entry_is_reported_with_its_place() -> None:
    """Ours: what is wrong, and where it stands in the text as it was pasted."""
    cases = [
        ("", 0, 0, "is empty"),
        ('{\n  "time": {"command": "uvx" "args": []}\n}', 2, 29, "a comma"),
        ("{'command': 'x'}", 1, 2, "' stands where JSON has a double quote"),
        ("{\u201ccommand\u201d: 1}", 1, 2, "double quote"),
        ('{"command": "x", "args": [...]}', 1, 27, "... stands for something"),
        ('{"command": "x", "args": <your args>}', 1, 26, "<your args> stands for something"),
        ('{"command": "x", "disabled": False}', 1, 30, "False is not JSON, which has false"),
        ('{"command": "x", "env": None}', 1, 25, "null"),
        ('{"command": "C:\\Users"}', 1, 16, "a backslash in a text is written twice"),
        ('{"command": "x\ny"}', 1, 15, "must end on the line"),
        ('{"command": "x\0y"}', 1, 15, "control character"),
        ('{"command": "x"', 1, 16, "ends too early"),
        ('"time": {"command": "x"', 1, 24, "ends too early"),
        ('{"command": "x"}}', 1, 17, "there is one } too many"),
        ('{"command": "x"} {}', 1, 18, "goes on after its end"),
        ("{command: 1}", 1, 2, "a name in double quotes"),
        ("/* x", 1, 1, "comment has no end"),
        ("```json\n{\n  x\n}\n```", 3, 3, "a name in double quotes"),
        ("```\n{}\n```\n\n```\n{}\n```", 5, 1, "has 2 code blocks"),
        ("[mcp_servers.time]\ncommand = uvx", 2, 11, "not TOML"),
        ('{"mcpServers": 5}', 0, 0, "'mcpServers' is not an object"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', 0, 0, "the key 'a' twice"),
        ('{"command": "x", "n": 1e999}', 0, 0, "a value that JSON does not have"),
        ('{"command": "x", "n": NaN}', 0, 0, "a value that JSON does not have"),
        ("7", 1, 1, "does not contain an object"),
        ("{" * 100_000, 1, 2, "a name in double quotes"),
        ('{"a":' * 100_000, 1, 1006, "nested too deeply"),
    ]

    wrong = []
    for text, line, column, problem in cases:
        try:
            read_pasted(text)
        except TextProblemError as error:
            if problem not in error.problem or (error.line, error.column) != (line, column):
                wrong.append((text, error.line, error.column, error))
        else:
            wrong.append((text, 0, 0, None))

    assert not wrong


@given(st.text() | st.text(alphabet='{}[]":,\\/*`\n abc-_10', max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Ours: entries, or the one error; and what was read can be written as JSON."""
    try:
        found = read_pasted(text)
    except TextProblemError:
        return
    json.dumps([one.raw for one in found], allow_nan=False)


def test_a_pasted_entry_is_distinguished_from_a_name_or_a_command() -> None:
    """Ours: no name and no program begins so."""
    entries = [TEXT, f'"time": {TEXT}', "```json\n{}", "// c\n{}", "[mcp_servers.a]\n", "{command:x}", "[]"]
    others = ["time", "uvx mcp-server-time", "./run.sh", "https://host/mcp", "-", "[ -f x ]", ""]

    assert [text for text in entries if not looks_pasted(text)] == []
    assert [text for text in others if looks_pasted(text)] == []


def test_only_a_form_of_another_host_is_translated() -> None:
    """Ours: all else is saved as it was pasted, and an invalid entry is reported as that."""
    cases = [
        (TIME, False),
        ({"command": "x", "env": {"A": "${B}"}, "alwaysAllow": []}, False),
        ({"url": "https://host", "type": "http"}, False),
        ({"serverUrl": "https://host"}, True),
        ({"type": "local", "command": ["x"]}, True),
        ({"command": "x", "enabled": True}, True),
        ({"command": "x", "args": [3000]}, True),
        ({"command": "x", "env": {"PORT": 3000}}, True),
        ({"command": "x", "env": {"A": "${env:B}"}}, True),
        ({"url": "https://host", "headers": {"Authorization": "Bearer ${input:token}"}}, True),
        ({"command": "x", "env": 5}, False),
        (5, False),
    ]

    wrong = [(raw, found) for raw, foreign in cases if (found := is_foreign(raw)) is not foreign]

    assert not wrong
