"""The URL of an elicitation request, as it is shown."""

from __future__ import annotations

from gaia_mcp.cli.refusals import address_lines, is_site

HOSTS = {
    "https://e.org/a?b=1": "on e.org;",
    "https://bank.example@e.org:8443/": "on e.org;",
    # A browser takes a backslash for a slash, and drops control characters.
    "https://evil.org\\\\@e.org/": "on evil.org;",
    "https://e.org\n.evil.org/": "on e.org.evil.org;",
    "https://\u0430\u0440\u0440\u04cf\u0435.com/": (
        "on \u0430\u0440\u0440\u04cf\u0435.com, which is xn--80ak6aa92e.com in ASCII;"
    ),
    "https://stra\u00dfe.de/": "which is xn--strae-oqa.de in ASCII;",
    "https://\uff45.org/": "which is e.org in ASCII;",
    "https://a\u3002org/": "which is a.org in ASCII;",
    "https://E.org/": "on e.org;",
    "http://[2001:db8::1]:80/": "on 2001:db8::1;",
    "http://[::1": "it has no host;",
    "mailto:a": "it has no host;",
    "": "it has no host;",
}
SHOWN = {
    f"https://e.org/{'a' * 5000}": f"https://e.org/{'a' * 5000}",
    "https://e.org/\nerror: all is lost": "https://e.org/%0Aerror:%20all%20is%20lost",
    "https://e.org/\x1b[2J\r\u202e\u200d\x85": "https://e.org/%1B[2J%0D%E2%80%AE%E2%80%8D%C2%85",
    "https://e.org/\ud800": "https://e.org/%ED%A0%80",
    "https://e.org/\u00e4": "https://e.org/\u00e4",
}
SITES = ("https://e.org", "HTTP://e.org/a")
OTHER_URLS = (
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https:///a",
    "vscode://e.org/a",
    " https://e.org",
    "",
)


def test_the_host_is_named_in_ascii_too() -> None:
    """MC-8: letters of two alphabets that look alike name two hosts."""
    wrong = {url: line for url, host in HOSTS.items() if host not in (line := address_lines(url)[1])}

    assert not wrong


def test_a_url_is_shown_whole_on_one_line() -> None:
    """MC-8: a URL must not be able to print a line of its own."""
    assert {url: address_lines(url)[0] for url in SHOWN} == SHOWN


def test_only_an_http_url_with_a_host_is_a_site() -> None:
    """MC-8: no hint advises opening a URL that runs code in the browser, or reads a file."""
    assert [url for url in (*SITES, *OTHER_URLS) if is_site(url)] == list(SITES)
