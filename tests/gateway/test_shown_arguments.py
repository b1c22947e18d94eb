"""Arguments as they are recorded."""

from __future__ import annotations

import json
from typing import Any

from gaia_mcp.gateway.shown_arguments import LEFT_OUT, MAX_DEPTH, MAX_TEXT_CHARS, MAX_VALUES, shown_arguments

TOKEN = "ghp_hunter2hunter2"


SHOWN: list[tuple[Any, Any]] = [
    ({"a": 1, "b": [True, None, 1.5], "c": {"d": "x"}}, None),
    # Prose is no secret.
    ({"text": "Hello, World! 50% off: https://example.com/a?b=c"}, None),
    ({"path": "/home/ada/notes.txt", "max_tokens": 5}, None),
    ({"password": "hunter2"}, {"password": "****"}),
    ({"pin": 123456}, {"pin": "****"}),
    ({"auth": {"user": "ada", "value": ["hunter2!x"]}}, {"auth": {"user": "****", "value": ["****"]}}),
    ({"apiKey": None, "secret": False}, None),
    ({"text": f"use {TOKEN} for it"}, {"text": "use **** for it"}),
    ({"header": "Authorization: Bearer hunter2hunter2"}, {"header": "Authorization: ****"}),
    ({"url": "https://ada:hunter2@example.com/"}, {"url": "https://****@example.com/"}),
    ({TOKEN: 1}, {"****": 1}),
]


def test_secrets_are_masked_by_key_and_by_pattern() -> None:
    """Ours: as everywhere, but for prose, of which most arguments are made."""
    assert [(given, shown_arguments(given)) for given, _ in SHOWN] == [
        (given, given if shown is None else shown) for given, shown in SHOWN
    ]


def test_long_arguments_are_truncated() -> None:
    """Ours: a file that was sent along does not belong into a log."""
    long = shown_arguments({"text": "a" * 10_000_000})["text"]
    rows = shown_arguments({"rows": [{"n": number} for number in range(100_000)], "after": 1})
    wide = shown_arguments({f"k{number}": 1 for number in range(100_000)})

    assert (len(long), long[-1]) == (MAX_TEXT_CHARS, LEFT_OUT)
    assert rows["rows"][-1] == LEFT_OUT
    assert len(json.dumps(rows)) < 20 * MAX_VALUES
    assert (len(wide), wide[LEFT_OUT]) == (MAX_VALUES + 1, LEFT_OUT)


def test_a_secret_at_the_truncation_limit_is_masked() -> None:
    """Ours: its beginning would be shown otherwise."""
    text = "." * (MAX_TEXT_CHARS - 10) + " " + TOKEN

    assert "hunter" not in shown_arguments({"text": text})["text"]


def test_deeply_nested_arguments_are_truncated() -> None:
    """Ours: a client's data must not end in an error of ours."""
    value: Any = {}
    for _ in range(100_000):
        value = {"a": [value]}

    shown = json.dumps(shown_arguments(value))

    assert shown.count("[") == MAX_DEPTH // 2
    assert "\\u2026" in shown
