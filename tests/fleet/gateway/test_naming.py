"""The names behind a gateway: shown, understood, and refused where they could mean several things."""

from __future__ import annotations

import pytest

from gaia_mcp.fleet.gateway.naming import Names, Owner, Prefix, listed_name, prefixed_name, servers_of, unlisted

OFFERED = {"files": ["read", "write"], "web.site": ["read", "search"]}


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (Prefix.ALWAYS, ["files__read", "files__write", "web_site__read", "web_site__search"]),
        (Prefix.CONFLICT, ["files__read", "write", "web_site__read", "search"]),
        (Prefix.NEVER, ["read", "write", None, "search"]),
    ],
)
def test_names_are_prefixed_with_their_server_as_configured(prefix: Prefix, shown: list[str | None]) -> None:
    """Ours: a dot is not allowed in the names that language models are given."""
    names = Names(OFFERED, prefix)
    owners = [Owner(server, name) for server, offered in OFFERED.items() for name in offered]

    assert [names.shown(owner) for owner in owners] == shown
    assert [names.find(name) for name in shown if name] == [o for o, name in zip(owners, shown, strict=True) if name]


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_prefixed_name_is_always_accepted(prefix: Prefix) -> None:
    """Ours: so that a name which a conflict has changed can still be used."""
    assert Names(OFFERED, prefix).find("web_site__read") == Owner("web.site", "read")
    assert Names(OFFERED, prefix).find("files__write") == Owner("files", "write")


def test_an_ambiguous_name_has_no_owner() -> None:
    """Ours: a call never reaches another server than the one that was meant."""
    names = Names(OFFERED, Prefix.CONFLICT)

    assert names.find("read") is None
    assert names.meanings("read") == ["files__read", "web_site__read"]
    assert (names.find("nope"), names.meanings("nope")) == (None, [])


def test_a_server_cannot_pose_as_another() -> None:
    """Ours: servers choose the names of their tools, and a hostile one may choose such a one."""
    names = Names({"evil": ["bank__pay", "bank__look"], "bank": ["pay"]}, Prefix.CONFLICT)

    assert names.shown(Owner("bank", "pay")) == "pay"
    assert names.find("bank__pay") == Owner("bank", "pay")
    assert names.shown(Owner("evil", "bank__pay")) == "evil__bank__pay"
    assert names.find("bank__look") is None


def test_names_that_become_equal_are_numbered() -> None:
    """Ours: characters that are not allowed in a tool's name become the same one."""
    names = Names({"a.b": ["x"], "a_b": ["x"]}, Prefix.CONFLICT)

    assert names.shown(Owner("a.b", "x")) == "a_b__x"
    assert names.shown(Owner("a_b", "x")) == "a_b__x_2"
    assert names.find("a_b__x_2") == Owner("a_b", "x")


def test_an_unlisted_name_belongs_to_the_server_in_its_prefix() -> None:
    """Ours: some servers have tools that they do not list."""
    assert unlisted("web__site__read", ["web", "web__site", "a"]) == Owner("web__site", "read")
    assert unlisted("read", ["web"]) == Owner("web", "read")
    assert unlisted("read", ["web", "a"]) is None


def test_the_prefix_of_a_name_selects_the_servers_to_connect() -> None:
    """Ours: only these have to be connected for a call."""
    assert servers_of("web_site__read", ["web", "web.site", "files"]) == ["web.site"]


LONG = "azure-managed-lustre-filesystem-operations-production-eu"
LIST = "azmcp_virtualdesktop_hostpool_sessionhost_usersession-list"


def test_a_prefixed_name_is_one_that_the_apis_of_models_allow() -> None:
    """Ours: up to 64 letters, digits, `_` and `-`. The server is shortened first."""
    expected = {
        (LONG, "search"): f"{LONG}__search",
        (LONG, "search7"): "azure-managed-lustre-filesystem-operations-pro_3982d387__search7",
        ("other", LIST): "other__azmcp_virtualdesktop_hostpool_sessionhost_userse_b73c8a2e",
        ("other", "a:b.c/d e"): "other__a_b_c_d_e",
        ("a.b", "c"): "a_b__c",
        ("other", "\u67e5\u8be2"): "other__tool_bcd6771e",
    }
    assert {owner: len(listed_name(*owner)) <= 64 for owner in expected} == dict.fromkeys(expected, True)
    assert {owner: listed_name(*owner) for owner in expected} == expected
    both = listed_name(LONG, LIST)
    assert len(both) == 64
    assert both.startswith("azure-manag_")
    assert both[20:].startswith("__azmcp_virtualdesktop_hostpool")


@pytest.mark.parametrize("prefix", [Prefix.ALWAYS, Prefix.CONFLICT])
def test_a_changed_name_is_unique_and_the_own_one_is_accepted_too(prefix: Prefix) -> None:
    """Ours: a name that did not have to be changed is not taken by one that had to."""
    own = ["a.b", "a b", "a_b", LIST, f"{LIST}2"]
    offered = {LONG: own, f"{LONG}-2": own, "other": own}
    names = Names(offered, prefix)
    owners = [Owner(server, name) for server in offered for name in own]

    shown = [names.shown(owner) or "" for owner in owners]
    assert len(set(shown)) == len(shown)
    assert [len(name) <= 64 for name in shown] == [True] * len(shown)
    assert [names.find(name) for name in shown] == owners
    assert names.shown(Owner("other", "a_b")) == "other__a_b"
    assert [names.find(prefixed_name(*owner)) for owner in owners] == owners
    assert {owner: Names(offered, prefix).shown(owner) for owner in owners} == dict(zip(owners, shown, strict=True))


def test_a_shortened_prefix_selects_its_server() -> None:
    """Ours: also before its tools are listed; and no other server can pose as it."""
    servers = [LONG, f"{LONG}-2", "other"]
    for server in servers[:2]:
        name = listed_name(server, LIST)
        assert servers_of(name, servers) == [server]
        assert unlisted(f"{name.partition('__')[0]}__x", servers) == Owner(server, "x")
    assert servers_of("_", servers) == []

    names = Names({"evil": [listed_name(LONG, LIST)], LONG: [LIST]}, Prefix.ALWAYS)
    assert names.find(listed_name(LONG, LIST)) == Owner(LONG, LIST)
