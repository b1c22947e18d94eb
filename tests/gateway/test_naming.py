"""The names behind a gateway: shown, understood, and refused where they could mean several things."""

from __future__ import annotations

import pytest

from gaia_mcp.gateway.naming import Names, Owner, Prefix, servers_of, unlisted

OFFERED = {"files": ["read", "write"], "web.site": ["read", "search"]}


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        (Prefix.ALWAYS, ["files__read", "files__write", "web_site__read", "web_site__search"]),
        (Prefix.CONFLICT, ["files__read", "write", "web_site__read", "search"]),
        (Prefix.NEVER, ["read", "write", None, "search"]),
    ],
)
def test_names_begin_with_their_server_when_they_are_to(prefix: Prefix, shown: list[str | None]) -> None:
    """Ours: a dot is not allowed in the names that language models are given."""
    names = Names(OFFERED, prefix)
    owners = [Owner(server, name) for server, offered in OFFERED.items() for name in offered]

    assert [names.shown(owner) for owner in owners] == shown
    assert [names.find(name) for name in shown if name] == [o for o, name in zip(owners, shown, strict=True) if name]


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_name_with_its_server_is_always_understood(prefix: Prefix) -> None:
    """Ours: so that a name which a conflict has changed can still be used."""
    assert Names(OFFERED, prefix).find("web_site__read") == Owner("web.site", "read")
    assert Names(OFFERED, prefix).find("files__write") == Owner("files", "write")


def test_a_name_that_could_mean_several_things_means_nothing() -> None:
    """Ours: a call never reaches another server than the one that was meant."""
    names = Names(OFFERED, Prefix.CONFLICT)

    assert names.find("read") is None
    assert names.meanings("read") == ["files__read", "web_site__read"]
    assert (names.find("nope"), names.meanings("nope")) == (None, [])


def test_no_server_poses_as_another() -> None:
    """Ours: servers choose the names of their tools, and a hostile one may choose such a one."""
    names = Names({"evil": ["bank__pay", "bank__look"], "bank": ["pay"]}, Prefix.CONFLICT)

    assert names.shown(Owner("bank", "pay")) == "pay"
    assert names.find("bank__pay") == Owner("bank", "pay")
    assert names.shown(Owner("evil", "bank__pay")) == "evil__bank__pay"
    assert names.find("bank__look") is None


def test_servers_whose_names_look_alike_are_told_apart() -> None:
    """Ours: characters that are not allowed in a tool's name become the same one."""
    names = Names({"a.b": ["x"], "a_b": ["x"]}, Prefix.CONFLICT)

    assert names.shown(Owner("a.b", "x")) == "a_b__x"
    assert names.shown(Owner("a_b", "x")) == "a_b__x_2"
    assert names.find("a_b__x_2") == Owner("a_b", "x")


def test_what_no_server_lists_is_for_the_server_that_is_named() -> None:
    """Ours: some servers have tools that they do not list."""
    assert unlisted("web__site__read", ["web", "web__site", "a"]) == Owner("web__site", "read")
    assert unlisted("read", ["web"]) == Owner("web", "read")
    assert unlisted("read", ["web", "a"]) is None


def test_the_servers_that_a_name_may_begin_with_are_known() -> None:
    """Ours: only these have to be connected for a call."""
    assert servers_of("web_site__read", ["web", "web.site", "files"]) == ["web.site"]
