"""TOML: changed in one table."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.text.toml import parse, with_table
from tests.protocol_support import steady

OLD = '''# top
model = "x" # m
note = """
[mcp_servers.a]
"""
matrix = [
  [1],
]

# about a
[mcp_servers.a] # hi
command = "u"
args = [
  "x",
]

[mcp_servers.a.env]
K = "v"

# about next
[profile.z]
q = 1

[[rules]]
r = 1
# end
'''
NEW = '[mcp_servers.a]\ncommand = "n"\n\n[mcp_servers.a.env]\nZ = "1"\n'
VALUE = {"command": "n", "env": {"Z": "1"}}


def test_a_table_is_replaced_with_its_subtables() -> None:
    """Ours: text that only looks like a table, in a string or a list, is kept; comments about others stay."""
    start, end = OLD.index("[mcp_servers.a] # hi"), OLD.index("\n# about next")
    assert with_table(OLD, ("mcp_servers", "a"), VALUE) == OLD[:start] + NEW + OLD[end:]


def test_a_new_table_is_appended() -> None:
    """Ours: a table in between would take the keys that follow it."""
    cases = [("", ""), ("\n", "\n"), ("a = 1\n", "a = 1\n\n"), ("a = 1", "a = 1\n\n")]

    assert {old: with_table(old, ("mcp_servers", "a"), VALUE) for old, _ in cases} == {
        old: before + NEW for old, before in cases
    }
    cut = with_table(OLD[:20], ("mcp_servers", "a"), VALUE)
    assert cut.startswith(OLD[:20])
    assert cut.endswith(NEW)


def test_line_ends_are_those_of_the_file() -> None:
    """Ours: an editor on Windows shows a mixture."""
    old = OLD.replace("\n", "\r\n")
    assert with_table(old, ("mcp_servers", "a"), VALUE) == with_table(OLD, ("mcp_servers", "a"), VALUE).replace(
        "\n", "\r\n"
    )


def test_the_end_of_a_multi_line_string_is_not_a_comment() -> None:
    """Ours: a line of it may look like one, as it may look like a table."""
    kept = "[s.b]\nx = 2\n"
    expected = f"[s.a]\nn = 1\n\n# about b\n{kept}"
    texts = [
        f"[s.a]\ny = {quotes}\n{last}{quotes} # mine\n\n# about b\n{kept}"
        for quotes in ("'''", '"""')
        for last in ("# b", "#", " #b\n\n# c", "")
    ]

    assert {old: with_table(old, ("s", "a"), {"n": 1}) for old in texts} == dict.fromkeys(texts, expected)


def test_a_table_header_within_a_value_is_text() -> None:
    """TOML 1.0: strings of four kinds, which may end in quotes of their own, lists over several lines, comments."""
    cases = [
        'x = """\n[s.a]\n""""" # "\n',
        "x = '''\n[s.a]\n'''''\n",
        'x = "\\"\\\\" # [s.a]\n',
        "x = 'C:\\' # '\n",
        'x = [ # ]\n  "]",\n  [\n[1]],\n]\n',
        'x = """\\"""\n[s.a]\n"""\n',
        "x = { 'a' = [1], \"b\" = { c = '''\n[s.a]\n''' } }\n",
        "x = 1979-05-27T07:32:00Z\n'q.r' . \"[s.a]\" = +1_0.0e-1\n",
    ]

    wrong = []
    for text in cases:
        old = text + '[ s . "a" ] # m\ny = 1\n[[s.c]]\nz = 1\n'
        new = with_table(old, ("s", "a"), {"n": 1})
        if not (
            new == text + "[s.a]\nn = 1\n[[s.c]]\nz = 1\n"
            and tomllib.loads(new) == {**tomllib.loads(old), "s": {"a": {"n": 1}, "c": [{"z": 1}]}}
        ):
            wrong.append(text)

    assert not wrong


def test_a_number_beyond_the_limit_of_python_is_a_syntax_error() -> None:
    """Ours: not an exception of the reader."""
    with pytest.raises(TextProblemError, match="not TOML"):
        parse(f"a = {'9' * 5000}\n")


def test_scattered_subtables_become_one_and_others_between_them_stay() -> None:
    """Ours: TOML allows the tables of one server in any order, and others between them."""
    old = "[s.a]\nx = 1\n[other]\ny = 2\n\n[s.a.env]\nz = 3"
    new = with_table(old, ("s", "a"), {"n": 1})
    assert new == "[s.a]\nn = 1\n[other]\ny = 2\n\n"
    old = "[s.a]\nx = 1\n[b]\ny = 2\n[s.a.env]\nz = 3\n[c]\ny = 4\n[s.a.more]\nz = 5\n[d]\n"
    assert with_table(old, ("s", "a"), {"n": 1}) == "[s.a]\nn = 1\n[b]\ny = 2\n[c]\ny = 4\n[d]\n"


def test_an_indented_table_is_found() -> None:
    """TOML: white space before a header says nothing."""
    old = "[b]\ny = 2\n  [s.a]\n  x = 1\n\t[c]\n\ty = 4\n"
    assert with_table(old, ("s", "a"), {"n": 1}) == "[b]\ny = 2\n[s.a]\nn = 1\n\t[c]\n\ty = 4\n"


def test_a_missing_newline_at_the_end_stays_missing() -> None:
    """Ours: nothing but the table is changed."""
    assert with_table("[s.a]\nx = 1", ("s", "a"), {"n": 1}) == "[s.a]\nn = 1"


def test_a_syntax_error_has_its_place() -> None:
    """Ours: a person goes to the place in an editor; some errors of Python have none."""
    cases: list[tuple[str, str, tuple[int, int] | None]] = [
        ("a = 1\nb =\n", "invalid value", (2, 4)),
        ("[a\n", "expected", (1, 3)),
        ('a = "x', "unterminated", None),
        ("a = " + "[" * 100_000, "nested too deeply", None),
    ]

    wrong = []
    for text, words, place in cases:
        try:
            parse(text)
        except TextProblemError as error:
            if words not in str(error) or (place is not None and (error.line, error.column) != place):
                wrong.append((text[:20], error))
        else:
            wrong.append((text[:20], None))

    assert not wrong


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)


@steady
@given(
    entries=st.dictionaries(
        NAMES, st.fixed_dictionaries({"command": TEXTS, "args": st.lists(TEXTS, max_size=3)}), max_size=4
    ),
    name=NAMES,
    value=st.fixed_dictionaries({"command": TEXTS, "env": st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2)}),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_the_surrounding_text_is_preserved(
    entries: dict[str, Any], name: str, value: dict[str, Any], newline: str
) -> None:
    """Ours: every other table is there again, character for character."""
    import tomli_w

    chunks = {key: tomli_w.dumps({"s": {key: held}}).replace("\n", newline) for key, held in entries.items()}
    note = f"# {newline}"
    text = note.join(chunks.values())

    new = with_table(text, ("s", name), value)

    assert tomllib.loads(new) == {"s": {**entries, name: value}}
    assert all(chunk.strip() in new for key, chunk in chunks.items() if key != name)
    assert new.count(note) >= max(len(entries) - 1, 0)


# The ends of long strings that look like comments, headers, or the ends of others.
LINES = st.sampled_from(["# b", "[s.x]", "[[s.x]]", "a = 1", "", " ", "]", "# '", '# "', "[", "x # y", "\\\\"])
QUOTED = st.builds(
    lambda quotes, lines, last: f"{quotes}{chr(10).join(lines)}{last}{quotes}",
    st.sampled_from(["'''", '"""']),
    st.lists(LINES, max_size=4).map(lambda lines: [*lines, ""]),
    st.sampled_from(["", "# b", "text", "[s.x]", "'", '"']),
).filter(lambda text: text[-4] != text[-1])


@steady
@given(
    values=st.lists(st.tuples(QUOTED, st.booleans()), min_size=1, max_size=4),
    aside=st.lists(LINES, max_size=2),
    at=st.integers(0, 3),
)
def test_lines_of_a_multi_line_string_are_text(values: list[tuple[str, bool]], aside: list[str], at: int) -> None:
    """TOML, strings: what stands in one is text. Ours: no line of it is left behind, and none of another is lost."""
    note = "".join(f"# {line}\n" for line in aside)
    chunks = [
        f"[s.t{number}]\nv = {f'[ # {quoted[-1]}{chr(10)}{quoted},{chr(10)}]' if listed else quoted} # {number}\n"
        for number, (quoted, listed) in enumerate(values)
    ]
    name = f"t{at % len(chunks)}"

    new = with_table(f"\n{note}".join(chunks), ("s", name), {"n": 1})

    chunks[at % len(chunks)] = f"[s.{name}]\nn = 1\n"
    assert new == f"\n{note}".join(chunks)
