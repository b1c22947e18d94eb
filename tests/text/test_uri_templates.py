"""Matching URI templates: RFC 6570 defines expansion, so each match is compared with that."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from uritemplate import expand

from gaia_mcp.text.uri_templates import MAX_URI_CHARS, Template, TemplateError, has_scheme, uri_problem
from tests.protocol_support import steady


def test_a_matching_uri_gives_the_values_of_the_variables() -> None:
    """Ours: as many characters as it can for each variable, the first variable first; named ones in any order."""
    cases = [
        ("a://b", "a://b", {}),
        ("a://b", "a://bc", None),
        ("a://{x}", "a://1", {"x": "1"}),
        ("a://{x}", "a://", None),
        ("a://{x}", "a://1/2", None),
        ("a://{x}", "a://%C3%A9%2F", {"x": "é/"}),
        ("a://{x}.txt", "a://b.txt.txt", {"x": "b.txt"}),
        ("a://{x}-{y}", "a://1-2-3", {"x": "1-2", "y": "3"}),
        ("a://{x,y}", "a://1,2", {"x": "1", "y": "2"}),
        ("a://{x,y}", "a://1,2,3", None),
        ("a://{+x}", "a://1/2?3#4", {"x": "1/2?3#4"}),
        ("file:///{+folder}/{name}", "file:///a/b/c", {"folder": "a/b", "name": "c"}),
        ("file:///{+folder}/{name}", "file:///c", None),
        ("a:{#x}", "a:#b/c", {"x": "b/c"}),
        ("a:b{.x,y}", "a:b.c.d", {"x": "c", "y": "d"}),
        ("a:b{/x,y}", "a:b/c/d", {"x": "c", "y": "d"}),
        ("a:b{/x}", "a:b", None),
        ("a:b{?x,y}", "a:b?x=1&y=2", {"x": "1", "y": "2"}),
        ("a:b{?x,y}", "a:b?y=2&x=1", {"x": "1", "y": "2"}),
        ("a:b{?x,y}", "a:b?y=", {"y": ""}),
        ("a:b{?x,y}", "a:b", {}),
        ("a:b{?x}", "a:b?z=1", None),
        ("a:b{?x}", "a:b?x=1&x=2", None),
        ("a:b{?x}{&y}", "a:b?x=1&y=2", {"x": "1", "y": "2"}),
        ("a:b?k=v{&x}", "a:b?k=v&x=1", {"x": "1"}),
        ("a:b{;x,y}/c", "a:b;x=1;y/c", {"x": "1", "y": ""}),
        ("a:b{?x}{#y}", "a:b?x=1#2", {"x": "1", "y": "2"}),
        ("a:b{;x}{;y}", "a:b;x=1;y=2", None),
    ]

    wrong = [
        (template, uri, actual) for template, uri, found in cases if (actual := Template(template).match(uri)) != found
    ]

    assert not wrong


OPERATORS = ("", "+", "#", ".", "/", ";", "?", "&")
TEXTS = st.text(alphabet="aZ0-_~é /,.;?&=#%", min_size=1, max_size=6)


@steady
@given(st.sampled_from(OPERATORS), TEXTS)
def test_an_expansion_matches_its_template(operator: str, value: str) -> None:
    """RFC 6570: the value comes back, but for the two operators that leave reserved characters as they are."""
    uri = expand(f"x:a{{{operator}v}}", v=value)

    found = Template(f"x:a{{{operator}v}}").match(uri)

    assert found is not None
    assert expand(f"x:a{{{operator}v}}", found) == uri
    if operator not in ("+", "#"):
        assert found == {"v": value}


@steady
@given(st.sampled_from(list(product(OPERATORS, repeat=2))), TEXTS, TEXTS)
def test_a_literal_separates_two_expressions(operators: tuple[str, str], first: str, second: str) -> None:
    """RFC 6570, 1.4: literals delimit what is matched; what is found expands to the URI again."""
    template = f"x:{{{operators[0]}v}}!{{{operators[1]}w}}"
    uri = expand(template, v=first, w=second)

    found = Template(template).match(uri)

    assert found is not None
    assert expand(template, found) == uri


def test_a_template_lists_its_variables_and_the_optional_ones() -> None:
    """Ours: who reads a template checks them against the parameters of a method."""
    template = Template("a://{x}/{+y}{?z}")

    assert template.variables == ("x", "y", "z")
    assert template.optional == {"z"}


def test_templates_of_one_shape_differ_in_names_alone() -> None:
    """Ours: they match the same URIs, so that the author has to choose."""
    assert Template("a://{x}").shape == Template("a://{y}").shape
    assert Template("a://{x}").shape != Template("a://{+x}").shape
    assert Template("a://{x}").shape != Template("b://{x}").shape


def test_more_fixed_characters_are_more_specific_and_then_fewer_variables() -> None:
    """Ours: `notes://today/{x}` before `notes://{x}/{y}`."""
    ordered = ["a://{+x}", "a://{x}/{y}", "a://{x}/b", "a://bcd/{x}"]

    assert sorted(ordered, key=lambda text: Template(text).specificity) == ordered
    assert Template("a:{x}b").specificity > Template("a:{x}b{y}").specificity


def test_an_invalid_or_level_4_template_is_an_error() -> None:
    """RFC 6570, 2: and level 4, of which matching is not defined."""
    cases = [
        ("a:{x", "a brace without its partner"),
        ("a:x}", "a brace without its partner"),
        ("a:{}", "an invalid variable ''"),
        ("a:{x,}", "an invalid variable ''"),
        ("a:{x y}", "an invalid variable 'x y'"),
        ("a:{=x}", "an invalid variable '=x'"),
        ("a:{x*}", "an invalid variable 'x*' (prefixes and lists, of level 4, cannot be matched)"),
        ("a:{x:3}", "an invalid variable 'x:3' (prefixes and lists, of level 4, cannot be matched)"),
        ("a:{x}{?x}", "the same variable twice"),
    ]

    def problem(template: str) -> str | None:
        try:
            Template(template)
        except TemplateError as error:
            return str(error)
        return None

    wrong = [
        (template, found) for template, words in cases if (found := problem(template)) != f"{template!r} has {words}"
    ]

    assert not wrong


def test_a_uri_beyond_the_limit_matches_nothing() -> None:
    """RFC 9110, 4.1: no server has to read more."""
    template = Template("a:{x}")

    assert template.match("a:" + "x" * (MAX_URI_CHARS - 2)) is not None
    assert template.match("a:" + "x" * (MAX_URI_CHARS - 1)) is None


def test_a_template_does_not_backtrack() -> None:
    """Ours: a pattern of a regular expression would take longer than the universe is old."""
    template = Template("a:" + "".join(f"{{+v{number}}}-" for number in range(30)) + "!")

    assert template.match("a:" + "-" * 7000) is None


def test_a_uri_has_a_scheme() -> None:
    """RFC 3986, 3.1."""
    cases = [
        ("a:", True),
        ("a+b.c-1://x", True),
        ("", False),
        ("a", False),
        ("/a:b", False),
        ("1a:b", False),
        ("a b:c", False),
    ]

    wrong = [(uri, found) for uri, is_absolute in cases if (found := has_scheme(uri)) is not is_absolute]

    assert not wrong


def test_a_uri_that_clients_refuse_has_a_problem() -> None:
    """Ours: the official SDK for Python drops a whole list, or a result, for one of these."""
    wrong = {
        "notes/1": "has no scheme, as notes://1 has",
        "é:a": "has no scheme, as notes://1 has",
        "http://": "has no host",
        "https:///a": "has no host",
        "x://a b/c": "has an invalid host, 'a b'",
        "x://[/": "has an invalid host, '['",
    }
    valid = ["x:", "x://", "file:///a b", "http://a", "https://[::1]:80/a", "urn:a:b c", "notes://1?q=[a b"]

    assert {uri: uri_problem(uri) for uri in wrong} == wrong
    assert [uri for uri in valid if uri_problem(uri) is not None] == []
