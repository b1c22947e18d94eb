"""The table of the kinds of OAuth grants."""

from __future__ import annotations

from collections import Counter

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.config.targets import read_oauth
from gaia_mcp.core.grant_kinds import GRANT_KINDS

# Every member that a kind may require.
MEMBERS = {"clientId": "x", "assertion": "x", "idpTokenEndpoint": "x", "idpClientId": "x"}


def test_an_entry_names_each_kind_by_each_of_its_names() -> None:
    """Ours: a name stands for one kind, and the settings hold the key of the table."""
    names = Counter(name for kind in GRANT_KINDS.values() for name in kind.names)

    assert set(names.values()) == {1}
    for grant, kind in GRANT_KINDS.items():
        found = {read_oauth("web", {"oauth": {**MEMBERS, "grantType": name}}).values["grant"] for name in kind.names}
        assert found == {grant}


def test_a_kind_requires_settings_that_exist() -> None:
    """Ours: a misspelled one could never be given."""
    assert {name for kind in GRANT_KINDS.values() for name in kind.needs} <= set(Settings._fields)
