"""The table of hosts."""

from __future__ import annotations

from gaia_mcp.hosts.known import BY_KEY, HOSTS


def test_the_table_of_hosts_is_consistent() -> None:
    """Ours: a key of the table is the host's own, and every key of a file leads to a host that reads it."""
    assert all(key == host.key for key, host in HOSTS.items())
    assert all(HOSTS[host].layout.root == (key,) for key, host in BY_KEY.items())


def test_a_host_without_commands_and_urls_has_handlers() -> None:
    """Ours: a system reads and writes its file. Claude Desktop has no URLs, but commands."""
    assert [key for key, host in HOSTS.items() if host.runs_handlers] == ["prototype"]
