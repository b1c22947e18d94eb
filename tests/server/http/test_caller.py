"""The challenge that a token gets which lacks scopes."""

from __future__ import annotations

from gaia_mcp.server.http.caller import Caller


def test_a_challenge_names_all_scopes_once_and_where_to_get_them() -> None:
    """Spec, AS-3: RFC 6750, section 3."""
    caller = Caller("ada", frozenset({"use"}), ["use"], ['resource_metadata="https://a.example/m"'])

    assert caller.scope_challenge(["write", "use"]) == (
        (
            b"www-authenticate",
            b'Bearer error="insufficient_scope", scope="use write", resource_metadata="https://a.example/m"',
        ),
    )
