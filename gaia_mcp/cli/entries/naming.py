"""Suggests a name for a server from the command or URL in its entry. Heuristic, and pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from gaia_mcp.cli.lines import LAUNCHERS
from gaia_mcp.names import handler_name, tidy_name
from gaia_mcp.redaction import masked_arguments

# Launcher options that take a value. The value of `--from` or `-p` is only the package that contains the program.
_VALUED = frozenset(
    ("--from", "--with", "--python", "--index-url", "--directory", "--project", "-p", "--package", "-e", "--env",
     "--env-file", "-v", "--volume", "--mount", "--name", "--network", "--entrypoint", "--platform", "-w", "--workdir",
     "-u", "--user", "--add-host")
)  # fmt: skip
# Words that do not identify a server: subcommands of launchers, and common names of files and folders.
_COMMON = frozenset(
    ("", "gaia_mcp", "run", "dlx", "exec", "tool", "x", "c", "serve", "start", "mcp", "server", "servers", "index",
     "main", "__main__", "app", "cli", "dist", "build", "src", "out", "bin", "lib", "target", "release", "debug",
     "stdio", "remote", "proxy", "latest", "node_modules", "site-packages", *LAUNCHERS)
)  # fmt: skip
# Common prefixes and suffixes around the part of a name that identifies the server.
_AFFIXES = re.compile(r"^(?:mcp[-_.])?(?:server[-_.])?(?:mcp[-_.])?|[-_.](?:mcp[-_.]?)?server(?:[-_.]mcp)?$|[-_.]mcp$")
_SUFFIXES = re.compile(r"\.(?:py|m?js|cjs|ts|exe|cmd|bat|sh|jar|rb)$")
# `file.py:Class` or `package.module:Class`.
_AGENT = re.compile(r"(?:.*\.py|[A-Za-z_][\w.]*):(?P<class>[A-Z]\w*)")
_HOST_LABELS = frozenset(("mcp", "api", "www", "app", "docs", "server", "co", "com", "org", "net", "ac", "gov"))


def suggested_name(entry: Mapping[str, Any]) -> str:
    """A name for the server of `entry`: `time` for `uvx mcp-server-time`; empty if nothing suggests one. The name never
    contains a secret.
    """
    url, command, args = entry.get("url"), entry.get("command"), entry.get("args")
    if isinstance(url, str):
        return _name_of_url(url)
    if isinstance(handler := entry.get("handler"), str) and isinstance(command, type(None)):
        return tidy_name(_handler_name(handler))
    if isinstance(agent := entry.get("agent"), str) and isinstance(command, type(None)):
        return tidy_name(_essence(agent))
    if not isinstance(command, str):
        return ""
    program, *rest = [command, *map(str, args)] if isinstance(args, list) else _split(command) or [""]
    # An interpreter's folder does not identify a server; a script's folder does.
    words = [re.split(r"[/\\]", program)[-1], *_named(masked_arguments(rest))]
    return next((name for word in words if (name := tidy_name(_essence(word)))), "")


def _handler_name(target: str) -> str:
    file = re.split(r"[/\\]", target.rpartition(":")[0] or target)[-1].removesuffix(".py")
    return handler_name(file.rpartition(".")[2])


def _named(words: list[str]) -> Iterator[str]:
    """The words that are neither options nor their values."""
    rest = iter(words)
    for word in rest:
        if word in _VALUED:
            next(rest, None)
        elif not word.startswith(("-", "$", "%")) and not re.search(r"\s", word):
            yield word


def _essence(word: str) -> str:
    """The part of a package, an image, a path or a URL that identifies the server; empty if none does."""
    if "://" in word:
        return _name_of_url(word)
    if (agent := _AGENT.fullmatch(word)) is not None:
        word = agent["class"]
    for part in reversed(re.split(r"[/\\]", word)):
        # A version follows an @ that is not the first character, a tag of an image follows a colon.
        bare = re.split(r"(?<=.)[@:=\[<>~!]", part)[0].removeprefix("@").lower()
        name = _AFFIXES.sub("", _SUFFIXES.sub("", bare))
        if name not in _COMMON and not name.isdigit():
            return name
    return ""


def _name_of_url(url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    labels = host.split(".")
    if labels[-1].isdigit() or len(labels) == 1:
        return tidy_name(host)
    telling = [label for label in labels[:-1] if label not in _HOST_LABELS]
    return tidy_name(telling[-1] if telling else labels[-2])


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
