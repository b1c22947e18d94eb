"""The servers in a text of any format."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from gaia_mcp.hosts import Layout, parsed, read_servers, with_server
from gaia_mcp.text.strict_json import TextProblemError

JSON = Layout("json", ("mcpServers",))
DEEP = Layout("json", ("projects", "/a.b", "mcpServers"))
BARE = Layout("json", ())
TOML = Layout("toml", ("mcp_servers",))
YAML = Layout("yaml", ("extensions",))
LIST = Layout("yaml", ("mcpServers",), listed=True)
ENTRY = {"command": "uvx"}


def test_servers_are_found_in_every_format() -> None:
    """Ours: an empty file holds none. Entries are validated later, where an error can name the server."""
    cases = [
        ('{"mcpServers": {"a": {"command": "x"}, "b": 5}}', JSON, {"a": {"command": "x"}, "b": 5}),
        ('{"projects": {"/a.b": {"mcpServers": {"a": {}}}}}', DEEP, {"a": {}}),
        ('{"projects": {"/other": {}}}', DEEP, {}),
        ('{"a": {}}', BARE, {"a": {}}),
        ('{"mcpServers": null}', JSON, {}),
        ("{}", JSON, {}),
        (" \n", JSON, {}),
        ("", TOML, {}),
        ("[mcp_servers.a]\nx = 1", TOML, {"a": {"x": 1}}),
        ("# nothing", YAML, {}),
        ("extensions:\n  a: {}\n  1: {}", YAML, {"a": {}, "1": {}}),
        (
            "mcpServers:\n- name: a\n- just text\n- name: ''",
            LIST,
            {"a": {"name": "a"}, "#2": "just text", "#3": {"name": ""}},
        ),
    ]

    wrong = [
        (text, layout, found) for text, layout, servers in cases if (found := read_servers(text, layout)) != servers
    ]

    assert not wrong


def test_a_file_without_a_servers_object_is_an_error() -> None:
    """Ours; and such a text is never changed."""
    cases = [
        ("[]", JSON, "does not contain an object"),
        ("[]", BARE, "does not contain an object"),
        ('{"mcpServers": []}', JSON, "'mcpServers' is not an object"),
        ('{"projects": {"/a.b": 1}}', DEEP, "'projects./a.b' is not an object"),
        ("mcpServers: {a: 1}", LIST, "'mcpServers' is not a list"),
        ("mcpServers:\n- name: a\n- name: a\n", LIST, "two servers called 'a'"),
        ('{"mcpServers": {"a": 1, "a": 2}}', JSON, "the key 'a' twice"),
        ('{"mcpServers": {}, "mcpServers": {}}', JSON, "the key 'mcpServers' twice"),
    ]

    wrong = []
    for text, layout, words in cases:
        try:
            read_servers(text, layout)
        except TextProblemError as error:
            if not re.search(words, str(error)):
                wrong.append((text, words, error))
        else:
            wrong.append((text, words, None))
        with suppress(TextProblemError):
            wrong.append((text, "changed", with_server(text, layout, "n", ENTRY)))

    assert not wrong


def test_a_repeated_key_outside_the_servers_is_ignored() -> None:
    """Ours: editors allow it in their settings."""
    assert read_servers('{"other": {"x": 1, "x": 2}, "mcpServers": {}}', JSON) == {}


@pytest.mark.parametrize(
    ("text", "layout", "place"),
    [('{\n  "a": tru}', JSON, (2, 8)), ("a = 1\nb = @", TOML, (2, 5)), ("a: 1\n b: 2", YAML, (2, 3))],
)
def test_a_syntax_error_has_line_and_column(text: str, layout: Layout, place: tuple[int, int]) -> None:
    """Ours: in reading and in writing."""
    for act in (
        lambda: read_servers(text, layout),
        lambda: parsed(text, layout.format),
        lambda: with_server(text, layout, "n", ENTRY),
    ):
        with pytest.raises(TextProblemError) as caught:
            act()
        assert (caught.value.line, caught.value.column) == place


def test_a_server_is_written_in_every_format() -> None:
    """Ours: the new text is read back with the entry, and with all others as they were."""
    cases = [
        ('{"mcpServers": {"a": {}}}', JSON),
        ('{"projects": {}}', DEEP),
        ('{"projects": {"/a.b": {"mcpServers": {"n": {}}}}}', DEEP),
        ('{"a": {}}', BARE),
        ("", BARE),
        ("[mcp_servers.n]\nx = 1\n", TOML),
        ("[mcp_servers]\n", TOML),
        ("extensions:\n  n:\n    x: 1\n", YAML),
        ("mcpServers:\n  - name: n\n", LIST),
        ("mcpServers: []\n", LIST),
        ("", LIST),
    ]

    wrong = []
    for text, layout in cases:
        entry = {"name": "n", **ENTRY}
        before = read_servers(text, layout)
        if read_servers(with_server(text, layout, "n", entry), layout) != {**before, "n": entry}:
            wrong.append((text, layout))

    assert not wrong


def test_a_server_that_cannot_be_changed_alone_is_refused() -> None:
    """Ours: nothing is reformatted, and nothing lost."""
    cases = [
        ("mcp_servers = {n = {x = 1}}", TOML),
        ("mcp_servers = {a = {x = 1}}", TOML),
        ("[mcp_servers]\nn = {x = 1}\n", TOML),
        ("mcp_servers.n.x = 1\n", TOML),
        ("extensions: {n: {}}\n", YAML),
        ("base: &b {x: 1}\nextensions:\n  n: &n\n    x: 1\nother: *n\n", YAML),
        ("extensions:\n  n: &n\n    x: *n\n", YAML),
        ("x: &x\n  a: *x\nextensions: {}\n", YAML),
        ("mcpServers: &n\n- *n\n", LIST),
        ("mcpServers:\n-\n  name: n\n", LIST),
        ("a: 1\n...\n", YAML),
    ]

    wrong = []
    for text, layout in cases:
        try:
            with_server(text, layout, "n", {"name": "n", **ENTRY})
        except TextProblemError as error:
            if not re.search(r"cannot be changed alone|within brackets", str(error)):
                wrong.append((text, layout, error))
        else:
            wrong.append((text, layout, None))

    assert not wrong


@pytest.mark.parametrize("layout", [JSON, TOML], ids=lambda layout: layout.format)
def test_a_name_that_is_not_utf_8_is_refused(layout: Layout) -> None:
    """Ours: half of a surrogate pair has no UTF-8."""
    with pytest.raises(TextProblemError, match="half a surrogate pair"):
        with_server("", layout, "\ud800", ENTRY)


def test_a_list_of_servers_may_be_nested() -> None:
    """A12: `mcp.servers` of az prototype; an item is found by its name there too."""
    layout = Layout("yaml", ("mcp", "servers"), listed=True)
    text = with_server("a: 1\n", layout, "x", {"name": "x", "stages": ["build"]})
    assert text == "a: 1\nmcp:\n  servers:\n    - name: x\n      stages:\n        - build\n"
    assert read_servers(text, layout) == {"x": {"name": "x", "stages": ["build"]}}
    more = with_server(text, layout, "y", {"name": "y"})
    assert list(read_servers(more, layout)) == ["x", "y"]
    with pytest.raises(TextProblemError):
        with_server(more, layout, "x", {"name": "x", "stages": []})
