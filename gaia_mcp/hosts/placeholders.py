"""Recognises placeholders in an entry, such as `<your token>`, by heuristics. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gaia_mcp.redaction import looks_secret

_ANYWHERE = re.compile(
    r"(?i)<[a-z][^<>]*>|\{\{[^{}]*\}\}|(?<![a-z])your[-_ ]?[a-z]|x{4,}|\*{3,}|\.\.\.$|\u2026$"
    r"|(?:replace|change|insert|enter|fill)[-_ ]?(?:me|this|with|in|your|here)(?![a-z])|[-_ ]here$"
    r"|(?:^|[/\\=])path[/\\]to(?:[/\\]|$)|[/\\]users[/\\]+(?:user(?:name)?|you)(?:[/\\]|$)"
)
_WHOLE = re.compile(
    r"(?i)x{2,}|\.{2,}|todo|tbd|placeholder|dummy|changeme"
    r"|(?:my[-_ ]?)?(?:api[-_ ]?)?(?:key|token|secret|password|value)"
    r"|\[[a-z][\w -]*\]|%[a-z_]\w*%|\$[a-z_]\w*"
)


def placeholders(entry: Mapping[str, Any]) -> list[str]:
    """The places of placeholders in an entry of ours: `env NAME`, `header NAME`, `args N` counted from 0, `command` or
    `url`.
    """
    found = [f"env {name}" for name, held in _pairs(entry.get("env")) if is_placeholder(held, name)]
    found += [f"header {name}" for name, held in _pairs(entry.get("headers")) if is_placeholder(held, name)]
    args = entry.get("args")
    for number, held in enumerate(args if isinstance(args, list) else []):
        if isinstance(held, str) and _ANYWHERE.search(held):
            found.append(f"args {number}")
    return found + [
        key for key in ("command", "url") if isinstance(entry.get(key), str) and _ANYWHERE.search(entry[key])
    ]


def is_placeholder(value: Any, name: str = "") -> bool:
    """Whether `value`, of the variable or header `name`, is a placeholder. An empty secret is one too."""
    if not isinstance(value, str):
        return False
    bare = re.sub(r"(?i)^(?:bearer|basic|token)\s+", "", value.strip())
    if not bare:
        return looks_secret(name)
    return bool(_ANYWHERE.search(bare) or _WHOLE.fullmatch(bare) or (len(bare) > 2 and bare.upper() == name.upper()))


def _pairs(held: Any) -> list[tuple[str, Any]]:
    return list(held.items()) if isinstance(held, dict) else []
