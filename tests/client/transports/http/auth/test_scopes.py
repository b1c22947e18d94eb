"""Which scopes are asked for."""

from __future__ import annotations

from gaia_mcp.client.transports.http.auth.scopes import first_scopes, is_more, union


def test_the_scopes_of_the_challenge_are_requested() -> None:
    """Spec: AC-10, the challenge is authoritative; what the user wishes comes with it."""
    assert first_scopes(["a"], [], ["b", "c"], []) == ("a",)
    assert first_scopes(["a"], ["w", "a"], ["b"], []) == ("a", "w")


def test_the_scopes_of_the_metadata_are_requested_if_the_challenge_has_none() -> None:
    """Spec: all of `scopes_supported`; without those the parameter is omitted."""
    assert first_scopes([], [], ["b", "c"], []) == ("b", "c")
    assert first_scopes([], ["w"], ["b"], []) == ("w",)
    assert first_scopes([], [], [], ["x"]) == ()


def test_offline_access_is_requested_if_the_server_lists_it() -> None:
    """Spec: it must not be asked for otherwise; alone it would take the place of the server's own choice."""
    assert first_scopes([], [], ["b"], ["b", "offline_access"]) == ("b", "offline_access")
    assert first_scopes([], [], ["b"], ["b"]) == ("b",)
    assert first_scopes([], [], [], ["offline_access"]) == ()


def test_the_scopes_of_a_step_up_are_the_union() -> None:
    """Spec: AC-10: what was granted before is not lost."""
    assert union(["a", "b"], ["c", "a"]) == ("a", "b", "c")
    assert is_more(["a", "b"], ["c"])
    assert not is_more(["a", "b"], ["b"])
    assert not is_more(["a"], [])
