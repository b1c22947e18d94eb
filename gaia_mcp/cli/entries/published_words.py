"""Whether the words after `add` name a server of a registry, or a `server.json` file. Loads other modules only then."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.entries.given import is_pasted, is_stream, names_file, pasted_text
from gaia_mcp.cli.status import UsageError
from gaia_mcp.hosts.pasted import looks_pasted
from gaia_mcp.jsontext import JSONTextError, parse_json

if TYPE_CHECKING:
    from gaia_mcp.cli.entries.given import Given, Options
    from gaia_mcp.deadline import Deadline

# A reversed domain and a name, possibly with a version. A domain that ends with one of these, and does not begin with
# one, is not reversed: the word is then a URL without its scheme.
_TOP_DOMAINS = frozenset(("ai", "app", "cloud", "co", "com", "de", "dev", "eu", "io", "me", "net", "org", "sh", "uk"))
_PUBLISHED = r"(?P<name>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/[A-Za-z0-9._-]+)(?:@(?P<version>[^\s/@]{1,255}))?"


def published_server(
    name: str | None, words: Sequence[str], registry: str | None, options: Options, deadline: Deadline | None
) -> Given | None:
    """The server that the words name; None if they do not name one.

    Raises `UsageError` for an option that applies only to such a server, and as `from_registry` and `from_document` do.
    """
    word = words[0] if len(words) == 1 else name if not words else None
    called = name if words else None
    match = re.fullmatch(_PUBLISHED, word) if word is not None and not _is_address(word) else None
    if word is not None and match is not None and not os.path.exists(word):  # noqa: PTH110
        from gaia_mcp.cli.entries.published import from_registry

        return from_registry(called, match["name"], match["version"] or "", registry, options, deadline)
    # A source that can be read only once is left to the caller.
    is_file = word is not None and not (is_stream(word.removeprefix("@")) or looks_pasted(word))
    if word is not None and is_file and (is_pasted(word) or names_file(word)):
        try:
            held = parse_json(pasted_text(word).text)
        except JSONTextError:
            held = None
        if isinstance(held, dict) and "mcpServers" not in held and _is_document(held):
            from gaia_mcp.cli.entries.published import from_document

            return from_document(called, held, options)
    for option, value in (("--via", options.via), ("--registry", registry)):
        if value is not None:
            raise UsageError(f"{option} is for a server of a registry", hint="name it as io.github.owner/server")
    return None


def _is_document(held: dict[str, Any]) -> bool:
    """Whether an object is a registry's document, rather than entries by their names, of which one has such a name."""
    return any(not isinstance(held[member], dict) for member in ("packages", "remotes") if member in held)


def _is_address(word: str) -> bool:
    labels = word.partition("/")[0].lower().split(".")
    return labels[-1] in _TOP_DOMAINS and labels[0] not in _TOP_DOMAINS
