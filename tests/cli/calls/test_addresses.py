"""The URL of a question, as it is shown."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.calls.addresses import address_lines, is_site


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://e.org/a?b=1", "on e.org;"),
        ("https://bank.example@e.org:8443/", "on e.org;"),
        # A browser takes a backslash for a slash, and drops control characters.
        ("https://evil.org\\\\@e.org/", "on evil.org;"),
        ("https://e.org\n.evil.org/", "on e.org.evil.org;"),
        (
            "https://\u0430\u0440\u0440\u04cf\u0435.com/",
            "on \u0430\u0440\u0440\u04cf\u0435.com, which is xn--80ak6aa92e.com in ASCII;",
        ),
        ("https://stra\u00dfe.de/", "which is xn--strae-oqa.de in ASCII;"),
        ("https://\uff45.org/", "which is e.org in ASCII;"),
        ("https://a\u3002org/", "which is a.org in ASCII;"),
        ("https://E.org/", "on e.org;"),
        ("http://[2001:db8::1]:80/", "on 2001:db8::1;"),
        ("http://[::1", "it has no host;"),
        ("mailto:a", "it has no host;"),
        ("", "it has no host;"),
    ],
)
def test_the_host_is_named_also_in_ascii(url: str, host: str) -> None:
    """MC-8: letters of two alphabets that look alike name two hosts."""
    assert host in address_lines(url)[1]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://e.org/{'a' * 5000}", f"https://e.org/{'a' * 5000}"),
        ("https://e.org/\nerror: all is lost", "https://e.org/%0Aerror:%20all%20is%20lost"),
        ("https://e.org/\x1b[2J\r\u202e\u200d\x85", "https://e.org/%1B[2J%0D%E2%80%AE%E2%80%8D%C2%85"),
        ("https://e.org/\ud800", "https://e.org/%ED%A0%80"),
        ("https://e.org/\u00e4", "https://e.org/\u00e4"),
    ],
)
def test_a_url_is_shown_whole_on_one_line(url: str, shown: str) -> None:
    """MC-8."""
    assert address_lines(url)[0] == shown


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://e.org", True),
        ("HTTP://e.org/a", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("https:///a", False),
        ("vscode://e.org/a", False),
        (" https://e.org", False),
        ("", False),
    ],
)
def test_only_a_site_is_one(url: str, is_one: bool) -> None:
    """MC-8: no hint says to open what runs in the browser, or reads a file."""
    assert is_site(url) is is_one
