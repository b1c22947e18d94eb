"""The settings of an entry."""

from __future__ import annotations

from gaia_mcp.client.transports.http.auth import CLIENT_CREDENTIALS, Settings, settings_of


def test_settings_are_the_members_of_an_entry() -> None:
    """Ours: what an entry does not name has its default."""
    assert settings_of({}) == Settings()
    assert settings_of({"client_id": "x", "scopes": ["a"]}) == Settings(client_id="x", scopes=("a",))
    assert not Settings().is_for_programs
    assert Settings(grant=CLIENT_CREDENTIALS).is_for_programs
