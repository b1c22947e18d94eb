"""Sealing: only what we have sealed, for the same request, in time, with one of our keys."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest

from gaia_mcp.asking.sealing import VALID_SECONDS, Sealer, SealError, subject_of

NOW = 1_800_000_000.0
OURS = subject_of("", "tools/call", {"name": "order", "arguments": {"what": "pizza"}})
SECRETS = ["a" * 32, "b" * 40]


def test_a_sealed_state_is_opened() -> None:
    """MS-9: for the same request, within an hour."""
    sealer = Sealer()
    sealed = sealer.seal("text äß", OURS, NOW)

    assert sealer.open(sealed, OURS, NOW + VALID_SECONDS) == "text äß"
    assert "text" not in base64.b64decode(sealed).decode("latin-1")
    assert sealer.seal("text äß", OURS, NOW) != sealed


def test_a_state_sealed_for_another_path_is_refused() -> None:
    """MS-9: agents that share a key may have tools of the same name."""
    sealed = Sealer(SECRETS, "/a/mcp").seal("text", OURS, NOW)

    assert Sealer(SECRETS, "/a/mcp").open(sealed, OURS, NOW) == "text"
    with pytest.raises(SealError, match="another key"):
        Sealer(SECRETS, "/b/mcp").open(sealed, OURS, NOW)


def test_a_changed_state_is_refused() -> None:
    """MS-9: one bit, at the key's number, in the nonce, in the expiry, at the end."""
    cases = [0, 5, 20, -1]

    sealer = Sealer()
    accepted = []
    for at in cases:
        raw = bytearray(base64.b64decode(sealer.seal("text", OURS, NOW)))
        raw[at] ^= 1
        with suppress(SealError):
            sealer.open(base64.b64encode(raw).decode(), OURS, NOW)
            accepted.append(at)

    assert not accepted


def test_a_state_that_was_never_sealed_is_refused() -> None:
    """MS-9: it is the client's to choose."""
    cases = ["", "AAAA", "not base64!", "\ud800", "A" * 40]

    accepted = []
    for sealed in cases:
        with suppress(SealError):
            Sealer().open(sealed, OURS, NOW)
            accepted.append(sealed)

    assert not accepted


def test_an_expired_state_is_refused() -> None:
    """MS-9: expiry is bound."""
    sealer = Sealer()

    with pytest.raises(SealError, match="expired"):
        sealer.open(sealer.seal("text", OURS, NOW), OURS, NOW + VALID_SECONDS + 1)


def test_a_state_is_bound_to_caller_method_name_and_arguments() -> None:
    """MS-9: a state of one request is worth nothing with another."""
    cases = [
        subject_of("ada", "tools/call", {"name": "order", "arguments": {"what": "pizza"}}),
        subject_of("", "prompts/get", {"name": "order", "arguments": {"what": "pizza"}}),
        subject_of("", "tools/call", {"name": "other", "arguments": {"what": "pizza"}}),
        subject_of("", "tools/call", {"name": "order", "arguments": {"what": "pasta"}}),
    ]

    sealer = Sealer()
    sealed = sealer.seal("text", OURS, NOW)
    accepted = []
    for other in cases:
        with suppress(SealError):
            sealer.open(sealed, other, NOW)
            accepted.append(other)

    assert not accepted


def test_a_state_is_not_bound_to_members_that_change_each_round() -> None:
    """Spec 2026-07-28: the retry has answers, the state, and a progress token of its own."""
    params = {"name": "order", "arguments": {"what": "pizza"}, "requestState": "x", "inputResponses": {}, "_meta": {}}

    assert subject_of("", "tools/call", params) == OURS


def test_keys_can_be_replaced() -> None:
    """Ours: the first seals, all open; without the old one its states are refused."""
    old, both, new = Sealer(SECRETS[:1]), Sealer(SECRETS[::-1]), Sealer(SECRETS[1:])
    sealed = old.seal("text", OURS, NOW)

    assert both.open(sealed, OURS, NOW) == "text"
    assert new.open(both.seal("text", OURS, NOW), OURS, NOW) == "text"
    with pytest.raises(SealError, match="another key"):
        new.open(sealed, OURS, NOW)


def test_a_short_key_is_refused() -> None:
    """Ours: what can be guessed protects nothing."""
    with pytest.raises(ValueError, match="32 characters"):
        Sealer(["secret"])
