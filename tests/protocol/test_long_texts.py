"""A message with long texts is the same as any other, and in memory twice at most."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.internals import compact_writer
from gaia_mcp.protocol.jsonrpc import encode
from gaia_mcp.protocol.long_texts import encode_long
from tests.protocol_support import steady

write = compact_writer()
TEXTS = st.text(st.sampled_from('aé\U0001f600\ud83d\ude00"\\\0\n'), max_size=12)
VALUES = st.recursive(
    TEXTS | st.none() | st.integers(), lambda items: st.lists(items) | st.dictionaries(TEXTS, items), max_leaves=8
)


def as_usual(message: dict[str, Any]) -> Any:
    """What a peer reads of the message, where nothing is written piece by piece."""
    return json.loads(encode(message))


@steady
@given(st.dictionaries(TEXTS, VALUES), st.integers(min_value=1, max_value=6))
def test_a_message_encoded_in_chunks_is_the_same_message(message: dict[str, Any], long_chars: int) -> None:
    """Spec, B-1: JSON in UTF-8, and no half of a surrogate pair."""
    line = encode_long(message, write, long_chars)

    assert json.loads(line) == as_usual(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_a_text_equal_to_the_placeholder_is_encoded() -> None:
    """Ours: a server may return anything."""
    message = {"long": "x" * 30, "other": "\x00long text\x00"}

    assert json.loads(encode_long(message, write, 20)) == message
