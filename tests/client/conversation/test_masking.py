from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.conversation.masking import MAX_DEPTH, masked_excerpt, masked_value

TOKEN = "hunter22-hunter22"


def test_a_secret_is_masked_wherever_it_stands_in_a_value() -> None:
    """Ours: never a secret in an error or a log."""
    value = {"why": [f"no such token: {TOKEN}", 1, None, True], TOKEN: {"deep": TOKEN}, "other": 1.5}

    assert masked_value(value, [TOKEN]) == {
        "why": ["no such token: ****", 1, None, True], "****": {"deep": "****"}, "other": 1.5,
    }  # fmt: skip
    assert masked_value(TOKEN, [TOKEN]) == "****"


def test_a_value_is_left_alone_where_there_are_no_secrets() -> None:
    """Ours."""
    value = {"a": [TOKEN]}

    assert masked_value(value, []) is value


def test_what_is_nested_too_deeply_is_masked_as_a_whole() -> None:
    """Ours: a server's data must not end in an error of ours."""
    value: Any = TOKEN
    for _ in range(50_000):
        value = [value]

    masked = masked_value(value, [TOKEN])

    for _ in range(MAX_DEPTH):
        (masked,) = masked
    assert masked == "****"


@pytest.mark.parametrize(
    ("excerpt", "masked"),
    [
        (f"token {TOKEN} refused", "token **** refused"),
        ("token hunter22-hun", "token ****"),
        ("token hunt", "token ****"),
        # Too little to tell anything.
        ("token hun", "token hun"),
        ("hunt for a token", "hunt for a token"),
        ("", ""),
    ],
)
def test_a_secret_that_was_cut_off_is_masked_too(excerpt: str, masked: str) -> None:
    """Ours: of a long line only the beginning is kept, and a secret may lie across its end."""
    assert masked_excerpt(excerpt, ["unrelated", TOKEN]) == masked


def test_of_two_secrets_the_one_that_shows_more_is_masked() -> None:
    """Ours."""
    assert masked_excerpt("is abcd1234", ["1234-5678", "abcd1234-5678"]) == "is ****"
    assert masked_excerpt("nothing given", []) == "nothing given"
