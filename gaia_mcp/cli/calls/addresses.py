"""The URL of a question, as a person must see it before opening it: whole, on one line, and with the host made clear.

Nothing of it is ever fetched here.
"""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, urlsplit


def address_lines(url: str) -> list[str]:
    """The lines that show `url`."""
    return [whole(url), f"({_host_in_words(url)}; enter nothing there that you would not give to this site)"]


def to_open(url: str) -> str:
    """`url` within a sentence: with its host where a reader might take another one for it."""
    host = host_of(url)
    is_plain = host.isascii() and url.lower().startswith((f"https://{host}", f"http://{host}"))
    return whole(url) if is_plain else f"{whole(url)} ({_host_in_words(url)})"


def is_site(url: str) -> bool:
    """Whether a browser finds a site there, and does not run or read what the URL itself says."""
    return url.lower().startswith(("https://", "http://")) and bool(host_of(url))


def whole(url: str) -> str:
    """`url` on one line, not shortened: each character that cannot be seen is percent-encoded, as a URL requires."""
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
    """The host that a browser would go to, which drops control characters and takes a backslash for a slash."""
    kept = "".join(letter for letter in url.strip() if letter.isprintable()).replace("\\", "/")
    try:
        return urlsplit(kept).hostname or ""
    except ValueError:
        return ""


def _in_ascii(host: str) -> str:
    """The name by which a host is looked up. Letters of two alphabets that look alike differ in it."""
    # Not by Python's codec, which follows the rules of 2003 and makes another host of some names.
    labels = unicodedata.normalize("NFKC", host).lower().replace("\u3002", ".").split(".")
    return ".".join(label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in labels)
