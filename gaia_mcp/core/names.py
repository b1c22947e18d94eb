"""Names: valid server names, how `SERVER.TOOL` is split, suggestions for mistyped names, and variables with secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

# Names that every shell takes without quoting, and that leave room inside a tool's name.
_SERVER_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}"
# Prefix of files for a server that has no name, since it is not saved. No server's name begins like this.
UNSAVED_MARK = "~"
# Stand-in, in a command line, for a `$` that does not begin a variable. No variable or file can contain this surrogate.
LITERAL_DOLLAR = "\udc24"

# At the end of the name of a handler's file, before `.py`.
HANDLER_SUFFIX = "_handler"

# What protects a server over HTTP: the token of its clients, the keys of their state, and the URL of its store, which
# contains a password. A process that it starts could use them to act as any client.
SERVER_SECRETS = frozenset(("GAIA_MCP_STATE_KEYS", "GAIA_MCP_STORE", "GAIA_MCP_TOKEN"))


def is_server_name(name: str) -> bool:
    """Whether a new server may have this name."""
    return bool(re.fullmatch(_SERVER_NAME, name))


def tidy_name(name: str) -> str:
    """`name` changed into a valid server name; empty if that is impossible."""
    if is_server_name(name):
        return name
    tidied = re.sub(r"[^A-Za-z0-9_.@-]+", "-", name).strip("-.@")[:64]
    return tidied if is_server_name(tidied) else ""


def typeable(word: str) -> str:
    """`word` as it is typed in a shell, quoted if necessary."""
    if is_server_name(word):
        return word
    import shlex

    return shlex.quote(word)


def split_tool_name(text: str, servers: Collection[str]) -> tuple[str, str] | None:
    """The two parts of `SERVER.TOOL`, for the longest known server that it begins with; None without one."""
    for at in range(len(text) - 1, 0, -1):
        if text[at] == "." and text[:at] in servers and text[at + 1 :]:
            return text[:at], text[at + 1 :]
    return None


def handler_key(name: str) -> str:
    """The name of a handler for comparison with others: `-` and `_` are equal, since the name of a module cannot
    contain `-`.
    """
    return name.replace("-", "_")


def handler_name(stem: str) -> str:
    """The name of the handler in the file `stem`.py: `cost` for `cost_handler`."""
    return stem.removesuffix(HANDLER_SUFFIX) or stem


def near_misses(name: str, known: Iterable[str], limit: int = 3, likeness: float = 0.6) -> list[str]:
    """The names among `known` that are most like `name`, the best first; at least by `likeness`, up to 1."""
    from difflib import get_close_matches

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(_folded(candidate), candidate)
    wanted = _folded(name)
    close = get_close_matches(wanted, by_folded, n=limit, cutoff=likeness)
    # "time" for "get_current_time": people remember a part.
    parts = [folded for folded in by_folded if len(wanted) >= 3 and wanted in folded and folded not in close]
    return [by_folded[folded] for folded in [*close, *sorted(parts, key=len)][:limit]]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'a' or 'b'?`, or an empty string when nothing is close."""
    close = [repr(candidate) for candidate in near_misses(name, known)]
    return f"did you mean {' or '.join(close)}?" if close else ""


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")
