"""The configuration and the caches that a completion reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.completion.completers import call_targets, call_words
from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.core.paths import cache_folder
from tests.cli.completion.conftest import SERVERS, after

if TYPE_CHECKING:
    from collections.abc import Callable


def test_an_excluded_tool_is_offered_only_to_edit(configure: Callable[[dict[str, Any]], None], known: None) -> None:
    """Ours: elsewhere it does not exist. The cache holds all tools, so that a new filter can be completed."""
    configure({"demo": {**SERVERS["demo"], "excludeTools": ["a*"]}, "wrong": {"command": 7}})

    assert after("mcp", "call", "demo", "") == ["greet", "odd"]
    assert after("mcp", "call", "demo.") == ["demo.greet", "demo.odd"]
    assert after("mcp", "test-client", "demo", "--call", "") == ["greet", "odd"]
    assert after("mcp", "edit", "demo", "--only", "") == ["greet", "add", "odd"]
    assert after("mcp", "edit", "demo", "--except", "a") == ["add"]
    assert after("mcp", "edit", "wrong", "--only", "") == []
    assert after("mcp", "edit", "nowhere", "--only", "") == []


def test_the_config_option_on_the_line_is_used(known: None) -> None:
    """Ours: wherever the option stands."""
    Path("other.json").write_text('{"mcpServers": {"elsewhere": {"command": "x"}}}')

    assert after("mcp", "call", "--config", "other.json", "") == ["elsewhere"]
    assert after("mcp", "call", "--config", "missing.json", "d") == []


def test_a_corrupt_configuration_offers_no_servers(configure: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    """Ours: an error message would garble the line that is being typed."""
    for content in ("", "{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 7}}', "\xff"):
        (tmp_path / "home" / "mcp_servers.json").write_bytes(content.encode("latin-1"))
        assert after("mcp", "call", "") == (["a"] if "7" in content else []), content
        assert after("mcp", "call", "a", "x") == [], content


def test_only_the_cache_of_the_named_server_is_read(known: None) -> None:
    """Ours: other caches may be large or unreadable, which must not delay a TAB."""
    for path in (cache_folder() / "tools").iterdir():
        if path.name != "demo.json":
            path.unlink()
            path.mkdir()

    assert after("mcp", "call", "demo", "g") == ["greet"]


def test_the_configuration_is_read_once(configure: Callable[[dict[str, Any]], None]) -> None:
    """Ours: a server, its tools and their arguments come from one reading of the file."""
    configure({})
    other = Path("other.json")
    other.write_text('{"mcpServers": {"my server": {"command": "x"}, "a:b": {"command": "y z"}}}')
    context = CompletionContext({"config": "other.json", "target": "a:b", "words": ["greet"]})

    call_targets(context)
    other.unlink()

    assert [each.value for each in call_targets(context)] == ["my server", "a:b"]
    assert call_words(context) == []
