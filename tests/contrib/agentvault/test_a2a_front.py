"""The variables of AgentVault's proxy."""

from __future__ import annotations

import json

import pytest

from gaia_mcp.config.targets import Remote
from gaia_mcp.contrib.agentvault.a2a_front import call_seconds, mapped_servers
from gaia_mcp.core.errors import ConfigError


def test_the_url_of_each_server_ends_in_rpc() -> None:
    """Seed systems, C10: below its base URL."""
    cases = [
        ("http://files:8001", "http://files:8001/rpc"),
        ("https://files.example/", "https://files.example/rpc"),
        ("http://files:8001/tools", "http://files:8001/tools/rpc"),
        ("http://files:8001/rpc", "http://files:8001/rpc"),
    ]

    wrong = []
    for base, url in cases:
        entries = mapped_servers({"MCP_SERVER_MAP": json.dumps({"tip_virustotal": base})})
        found = {name: (entry.name, entry.transport, entry.target) for name, entry in entries.items()}
        if found != {"tip_virustotal": ("tip_virustotal", "rpc", Remote(url, {}, "rpc"))}:
            wrong.append((base, found))

    assert not wrong


def test_a_missing_or_empty_map_has_no_servers() -> None:
    """Seed systems, C10: the variable is unset where no proxy runs."""
    cases = [None, "", " ", "{}"]

    wrong = [value for value in cases if mapped_servers({} if value is None else {"MCP_SERVER_MAP": value}) != {}]

    assert not wrong


def test_an_invalid_map_is_an_error() -> None:
    """Seed systems, C10: without its text, which may hold credentials."""
    cases = [
        ("{", "MCP_SERVER_MAP is not valid JSON at character 2"),
        ("[" * 100_000, "MCP_SERVER_MAP is not valid JSON"),
        ("[]", "MCP_SERVER_MAP is not a JSON object"),
        ('"http://files"', "MCP_SERVER_MAP is not a JSON object"),
        ('{"": "http://files"}', "MCP_SERVER_MAP has a server named ''"),
        ('{"a b": "http://files"}', "MCP_SERVER_MAP has a server named 'a b'"),
        ('{"files": 5}', "MCP_SERVER_MAP has no URL for 'files'"),
        ('{"files": "ftp://files"}', "MCP_SERVER_MAP has no URL for 'files'"),
        ('{"files": {"url": "http://files"}}', "MCP_SERVER_MAP has no URL for 'files'"),
    ]

    wrong = []
    for value, problem in cases:
        try:
            mapped_servers({"MCP_SERVER_MAP": value})
        except ConfigError as error:
            if not (error.message.startswith(problem) and error.hint):
                wrong.append((value, problem, error))
        else:
            wrong.append((value, problem, None))

    assert not wrong


def test_the_error_about_a_map_does_not_quote_it() -> None:
    """Ours: it may hold credentials."""
    with pytest.raises(ConfigError) as refused:
        mapped_servers({"MCP_SERVER_MAP": '{"files": "http://ada:secret@files'})

    assert "secret" not in f"{refused.value.message}{refused.value.hint}"


def test_the_timeout_of_calls_is_read_from_a_variable() -> None:
    """Seed systems, C10: 60 seconds, unless a variable says otherwise."""
    cases = [(None, 60.0), ("", 60.0), ("30", 30.0), (" 0.5 ", 0.5)]

    wrong = [
        (value, found)
        for value, seconds in cases
        if (found := call_seconds({} if value is None else {"MCP_CALL_TIMEOUT": value})) != seconds
    ]

    assert not wrong


def test_an_invalid_timeout_is_an_error() -> None:
    """Seed systems, C10: a wrong limit would be noticed only by a call that hangs."""
    cases = ["soon", "0", "-1", "nan", "inf"]

    wrong = []
    for value in cases:
        try:
            call_seconds({"MCP_CALL_TIMEOUT": value})
        except ConfigError as error:
            if "MCP_CALL_TIMEOUT is not a number of seconds" not in str(error):
                wrong.append((value, error))
        else:
            wrong.append((value, None))

    assert not wrong
