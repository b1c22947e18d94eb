"""The variables of AgentVault's proxy."""

from __future__ import annotations

import json

import pytest

from gaia_mcp.config.server_map import call_seconds, mapped_servers
from gaia_mcp.config.targets import Remote
from gaia_mcp.errors import ConfigError


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://files:8001", "http://files:8001/rpc"),
        ("https://files.example/", "https://files.example/rpc"),
        ("http://files:8001/tools", "http://files:8001/tools/rpc"),
        ("http://files:8001/rpc", "http://files:8001/rpc"),
    ],
)
def test_each_server_answers_at_rpc(base: str, url: str) -> None:
    """Seed systems, C10: below its base URL."""
    [(name, entry)] = mapped_servers({"MCP_SERVER_MAP": json.dumps({"tip_virustotal": base})}).items()

    assert (name, entry.name, entry.transport) == ("tip_virustotal", "tip_virustotal", "rpc")
    assert isinstance(entry.target, Remote)
    assert entry.target.url == url


@pytest.mark.parametrize("value", [None, "", " ", "{}"])
def test_there_may_be_no_map(value: str | None) -> None:
    """Seed systems, C10."""
    assert mapped_servers({} if value is None else {"MCP_SERVER_MAP": value}) == {}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "MCP_SERVER_MAP is not valid JSON at character 2"),
        ("[" * 100_000, "MCP_SERVER_MAP is not valid JSON"),
        ("[]", "MCP_SERVER_MAP is not a JSON object"),
        ('"http://files"', "MCP_SERVER_MAP is not a JSON object"),
        ('{"": "http://files"}', "MCP_SERVER_MAP has a server named ''"),
        ('{"a b": "http://files"}', "MCP_SERVER_MAP has a server named 'a b'"),
        ('{"files": 5}', "MCP_SERVER_MAP has no URL for 'files'"),
        ('{"files": "ftp://files"}', "MCP_SERVER_MAP has no URL for 'files'"),
        ('{"files": {"url": "http://files"}}', "MCP_SERVER_MAP has no URL for 'files'"),
    ],
)
def test_a_map_that_is_not_valid_is_an_error_at_the_start(value: str, problem: str) -> None:
    """Seed systems, C10: without its text, which may hold credentials."""
    with pytest.raises(ConfigError) as refused:
        mapped_servers({"MCP_SERVER_MAP": value})

    assert refused.value.message.startswith(problem)
    assert refused.value.hint


def test_the_error_about_a_map_does_not_quote_it() -> None:
    """Ours: it may hold credentials."""
    with pytest.raises(ConfigError) as refused:
        mapped_servers({"MCP_SERVER_MAP": '{"files": "http://ada:secret@files'})

    assert "secret" not in f"{refused.value.message}{refused.value.hint}"


@pytest.mark.parametrize(("value", "seconds"), [(None, 60.0), ("", 60.0), ("30", 30.0), (" 0.5 ", 0.5)])
def test_a_call_takes_no_longer_than_this(value: str | None, seconds: float) -> None:
    """Seed systems, C10."""
    assert call_seconds({} if value is None else {"MCP_CALL_TIMEOUT": value}) == seconds


@pytest.mark.parametrize("value", ["soon", "0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_an_error(value: str) -> None:
    """Seed systems, C10."""
    with pytest.raises(ConfigError, match="MCP_CALL_TIMEOUT is not a number of seconds"):
        call_seconds({"MCP_CALL_TIMEOUT": value})
