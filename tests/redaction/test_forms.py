"""The forms that a secret takes on its way."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.redaction.forms import MAX_CHARS, forms_of, longest
from gaia_mcp.redaction.masker import MIN_CHARS, Masker
from gaia_mcp.safetext import MASK
from tests.protocol_support import steady

if TYPE_CHECKING:
    from collections.abc import Callable

# Text as passwords and keys have it; the spaces at its ends are not a part of a secret.
SECRETS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=MIN_CHARS, max_size=40).filter(
    lambda text: len(text.strip()) >= MIN_CHARS and text == text.strip() and MASK not in text
)
ESCAPED: list[Callable[[str], str]] = [
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text))[3:-3],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(json.dumps(text, ensure_ascii=False))[3:-3],
    lambda text: repr(text)[1:-1],
    lambda text: ascii(text)[1:-1],
    lambda text: repr(text.encode())[2:-1],
    lambda text: json.dumps(repr(text)[1:-1])[1:-1],
    html.escape,
    lambda text: html.escape(json.dumps(text))[6:-6],
    lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    lambda text: quote(text, safe=""),
    lambda text: quote(text),
    quote_plus,
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: quote(text, safe="").lower() if text.islower() else quote(text),
]


@steady
@given(SECRETS)
def test_a_secret_is_found_however_it_is_escaped(secret: str) -> None:
    """Ours: a server may write it in any of these ways."""
    masker = Masker([secret])
    texts = [f"a {escaped(secret)} b" for escaped in ESCAPED]

    assert {text: masker.text(text) for text in texts} == dict.fromkeys(texts, f"a {MASK} b")


@steady
@given(SECRETS, st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([b"+/", b"-_"]))
def test_a_secret_is_found_in_base64_among_any_bytes(secret: str, before: bytes, after: bytes, signs: bytes) -> None:
    """RFC 4648, both alphabets: what stands before it shifts it."""
    data = secret.encode()
    text = base64.b64encode(before + data + after, signs).decode()

    shown = Masker([secret]).text(text)

    # Of the secret's own characters none is left, and of the others at most one at each edge is gone too.
    assert MASK in shown
    assert len(shown) - len(MASK) <= (len(before) + len(after)) * 8 / 6 + 6


def test_the_lines_of_a_secret_are_found_joined_in_any_way() -> None:
    """Ours: a private key in a log is often one line."""
    key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIH\npQ7zL1vXc9Tn5Yr3Hs8Wd2\nQ==\n-----END PRIVATE KEY-----"

    for joint in ("\n", "\r\n", "\n  ", "", " ", "\\n", "\\\\n", "\\r\\n", "%0A", "&#10;"):
        assert Masker([key]).text(f"a {key.replace(chr(10), joint)} b") == f"a {MASK} b", joint


def test_a_long_secret_is_searched_unencoded() -> None:
    """Ours: an expression for all of its forms would take seconds to compile."""
    secret = "q7Lm2xPw" * MAX_CHARS

    assert Masker([secret]).text(f"a {secret} b") == f"a {MASK} b"
    assert len(list(forms_of(secret))) == 1


@steady
@given(SECRETS)
def test_no_form_exceeds_the_reported_length(secret: str) -> None:
    """Ours: what may be the beginning of one waits for its rest."""
    assert all(len(escaped(secret).encode()) <= longest(secret) for escaped in ESCAPED)
