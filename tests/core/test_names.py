"""Names: which are allowed, how they are split, what was meant."""

from __future__ import annotations

import shlex

from gaia_mcp.core.names import (
    did_you_mean,
    handler_key,
    handler_name,
    is_server_name,
    near_misses,
    split_tool_name,
    tidy_name,
    typeable,
)


def test_a_name_that_needs_no_quoting_is_allowed() -> None:
    """Ours: no quoting, and room for it inside a tool's name."""
    cases = ["a", "fs", "_x", "9lives", "my-server", "a.b", "mail@work", "A" * 64]

    wrong = [name for name in cases if not is_server_name(name)]

    assert not wrong


def test_a_name_that_needs_quoting_or_is_a_path_is_refused() -> None:
    """Ours: `-x` would be an option, `../x` a path, and a line's end is not part of a name."""
    cases = ["", "-x", ".x", "@x", "a b", "a/b", "a\n", "\n", "ä", "a$b", "a:b", "../x", "A" * 65, "x\x00"]

    wrong = [name for name in cases if is_server_name(name)]

    assert not wrong


def test_a_name_is_tidied_into_an_allowed_one() -> None:
    """Ours: a name proposed for a server is one that `add` accepts; it is empty if no name can be made of the text."""
    cases = [
        ("time", "time"),
        ("My Server", "My-Server"),
        ("a/b (c)", "a-b-c"),
        (" -x- ", "x"),
        ("é", ""),
        ("", ""),
        ("x" * 80, "x" * 64),
    ]

    wrong = [(name, found) for name, tidied in cases if (found := tidy_name(name)) != tidied]

    assert not wrong


def test_a_tool_s_full_name_is_split_at_the_longest_known_server() -> None:
    """Ours: `call NAME.TOOL`."""
    cases = [
        ("fs.read", ("fs", "read")),
        ("fs.read.all", ("fs", "read.all")),
        ("fs.v2.read", ("fs.v2", "read")),
        ("fs.v3.read", ("fs", "v3.read")),
        ("db.read", None),
        ("fs.", None),
        (".fs", None),
        ("fs", None),
        ("", None),
        ("fs..read", ("fs", ".read")),
    ]

    assert {text: split_tool_name(text, {"fs", "fs.v2"}) for text, _ in cases} == dict(cases)


def test_near_misses_of_a_name_are_found() -> None:
    """Ours: a typing error, another spelling, or a part that a person remembered."""
    cases = [
        ("raed_file", ["read_file"]),
        ("READ-FILE", ["read_file"]),
        ("time", ["get_current_time"]),
        ("xyz", []),
        ("ti", []),
        ("", []),
    ]

    assert {typed: near_misses(typed, ["read_file", "get_current_time", "add"]) for typed, _ in cases} == dict(cases)


def test_at_most_three_near_misses_are_returned_best_first() -> None:
    """Ours: three suggestions can be read."""
    known = ["file_read_all_lines", "file_red", "write", "file_reader_of_many"]
    assert near_misses("file_read", known) == ["file_red", "file_reader_of_many", "file_read_all_lines"]
    assert near_misses("file_read", known, limit=1) == ["file_red"]
    assert len(near_misses("file_read", [f"file_read_{number}" for number in range(9)])) == 3


def test_the_shortest_name_that_contains_the_text_comes_first() -> None:
    """Ours: the shortest name that holds it is the likeliest."""
    assert near_misses("zone", ["convert_between_timezones", "list_all_the_zones"]) == [
        "list_all_the_zones",
        "convert_between_timezones",
    ]


def test_two_spellings_of_one_name_are_suggested_once() -> None:
    """Ours: the first one."""
    assert near_misses("read_fil", ["read-file", "read_file"]) == ["read-file"]


def test_a_suggestion_reads_as_a_question() -> None:
    """Ours: the hint says what to do."""
    assert did_you_mean("raed", ["read"]) == "did you mean 'read'?"
    assert did_you_mean("rea", ["read", "real"]) == "did you mean 'real' or 'read'?"
    assert did_you_mean("xyz", ["read"]) == ""


def test_a_name_is_quoted_for_a_shell() -> None:
    """Ours: what a hint says to type has to work; what needs no quotes has none."""
    cases = ["fs", "my-server", "a b", "it's", "", "日本", "$HOME"]

    wrong = [
        name
        for name in cases
        if not (shlex.split(typeable(name)) == [name] and (typeable(name) == name) is is_server_name(name))
    ]

    assert not wrong


def test_dashes_and_underscores_are_the_same_in_the_name_of_a_handler() -> None:
    """A2: the document's `cost_lookup_handler.py` is the handler `cost-lookup`."""
    assert handler_key("cost-lookup") == handler_key("cost_lookup")
    assert handler_key("cost-lookup") != handler_key("Cost-Lookup") != handler_key("costlookup")


def test_a_handler_has_the_name_of_its_file_without_the_suffix() -> None:
    """A2: `cost_lookup_handler.py` is the handler `cost_lookup`; a file of another name may hold one too."""
    cases = [("cost_lookup_handler", "cost_lookup"), ("cost", "cost"), ("_handler", "_handler")]

    assert {stem: handler_name(stem) for stem, _ in cases} == dict(cases)
