"""The URL of an elicitation, as a person must see it before opening it: complete, on one line, and with a clear host.

This module never fetches a URL.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, urlsplit


def address_lines(url: str) -> list[str]:
    """The lines that display `url`."""
    return [whole(url), f"({_host_in_words(url)}; enter nothing there that you would not give to this site)"]


def to_open(url: str) -> str:
    """`url` for use within a sentence, followed by its host where a reader could mistake the host."""
    host = host_of(url)
    is_plain = host.isascii() and url.lower().startswith((f"https://{host}", f"http://{host}"))
    return whole(url) if is_plain else f"{whole(url)} ({_host_in_words(url)})"


def is_site(url: str) -> bool:
    """Whether `url` is an HTTP or HTTPS URL with a host, and not one that a browser would execute or display itself."""
    return url.lower().startswith(("https://", "http://")) and bool(host_of(url))


def whole(url: str) -> str:
    """`url` on one line, in full: each unprintable character is percent-encoded, as a URL requires."""
    return "".join(letter if letter.isprintable() and letter != " " else _encoded(letter) for letter in url)


def _encoded(letter: str) -> str:
    return quote(letter, safe="", errors="surrogatepass")


def _host_in_words(url: str) -> str:
    host = host_of(url)
    if not host:
        return "it has no host"
    ascii_form = _in_ascii(host)
    return f"on {whole(host)}" if ascii_form == host else f"on {whole(host)}, which is {ascii_form} in ASCII"


def host_of(url: str) -> str:
    """The host that a browser would connect to. Browsers drop control characters and treat a backslash as a slash."""
    kept = "".join(letter for letter in url.strip() if letter.isprintable()).replace("\\", "/")
    try:
        return urlsplit(kept).hostname or ""
    except ValueError:
        return ""


def _in_ascii(host: str) -> str:
    """The host's name in ASCII, as DNS looks it up. It differs for look-alike letters of two alphabets."""
    # Python's codec follows IDNA 2003, which maps some names to a different host.
    labels = unicodedata.normalize("NFKC", host).lower().replace("\u3002", ".").split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in labels)
