"""Masks the secrets in our entries and in those of other hosts, and finds the places of secrets and of placeholders,
such as `<your token>`, in an entry.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gaia_mcp.hosts.dialects import folded_setting
from gaia_mcp.text import MASK
from gaia_mcp.text.redaction import in_text, looks_secret, masked_arguments, masked_members, masked_url, masked_value

# Members whose values are usually secrets, and members whose values are names of variables.
_VALUES = ("env", "envs", "environment", "headers", "http_headers")
_NAMES = ("env_http_headers",)
# Members with the settings of an authorization, of which a few are secrets.
_AUTHORIZATION = ("oauth", "auth")
_SECRET_SETTINGS = ("clientsecret", "privatekey", "assertion")
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


def masked_entry(entry: Any, reference: re.Pattern[str] | None = None) -> Any:
    """An entry, ours or a host's, with its secrets masked. `reference` matches a host's references to variables."""

    def value_of(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            if key == "settings":
                return masked_members(value)
            if key in _AUTHORIZATION:
                secrets = _secret_settings(value)
                return {
                    name: hidden("secret", held) if name in secrets else shown(held) for name, held in value.items()
                }
            if key in _VALUES:
                return {name: hidden(name, held) for name, held in value.items()}
            return {name: held if key in _NAMES else value_of(name, held) for name, held in value.items()}
        if isinstance(value, list):
            texts = [part for part in value if isinstance(part, str)]
            if len(texts) != len(value):
                return [value_of(key, part) for part in value]
            return masked_arguments(texts) if _shows_secrets(key, value, reference) else value
        if not isinstance(value, str):
            # A date, for which JSON has no type.
            return value if value is None or isinstance(value, (bool, int, float)) else str(value)
        if key == "command":
            return " ".join(masked_arguments(value.split(" ")))
        if looks_secret(key):
            return hidden(key, value)
        return masked_url(value) if _shows_secrets(key, value, reference) else value

    def hidden(name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value if isinstance(value, (bool, dict)) or masked_value(name, str(value)) != MASK else MASK
        text = _with_our_references(value, reference)
        return value if masked_value(name, text) == text else masked_value(name, value)

    def shown(setting: Any) -> Any:
        return masked_url(setting) if isinstance(setting, str) else setting

    return {key: value_of(key, value) for key, value in entry.items()} if isinstance(entry, dict) else MASK


def plain_secrets(entry: Mapping[str, Any], reference: re.Pattern[str] | None = None) -> list[str]:
    """The places of plain-text secrets in an entry, ours or a host's: `env NAME`, `header NAME`, `settings NAME`,
    `oauth NAME`, or a member.
    """
    found = []
    for key, value in entry.items():
        if key in _VALUES and isinstance(value, dict):
            kind = "header" if "headers" in key else "env"
            for name, held in value.items():
                text = _with_our_references(held, reference) if isinstance(held, str) else ""
                # A value that may be a secret is masked, but not reported.
                if masked_value(name, text) != text and (looks_secret(name) or in_text(text)):
                    found.append(f"{kind} {name}")
        elif key == "settings" and isinstance(value, dict):
            shown = masked_members(value)
            found += [
                f"settings {name}"
                for name, held in value.items()
                if shown[name] != held and (looks_secret(name) or in_text(str(held)))
            ]
        elif key in _AUTHORIZATION and isinstance(value, dict):
            secrets = {name: value[name] for name in _secret_settings(value) if isinstance(value[name], str)}
            texts = {name: _with_our_references(held, reference) for name, held in secrets.items()}
            found += [f"{key} {name}" for name, text in texts.items() if masked_value("secret", text) != text]
        elif key not in _NAMES and _shows_secrets(key, value, reference):
            found.append(key)
    return found


def _secret_settings(authorization: Mapping[str, Any]) -> list[str]:
    """The names of the settings of an authorization that are secrets, in any of their spellings."""
    return [name for name in authorization if folded_setting(name) in _SECRET_SETTINGS]


def _shows_secrets(key: str, value: Any, reference: re.Pattern[str] | None) -> bool:
    """Whether a list of arguments, a command or a URL contains a secret."""
    if isinstance(value, list):
        texts = [_with_our_references(part, reference) for part in value if isinstance(part, str)]
        return len(texts) == len(value) and masked_arguments(texts) != texts
    if not isinstance(value, str):
        return False
    text = _with_our_references(value, reference)
    if key == "command":
        return masked_arguments(text.split(" ")) != text.split(" ")
    return "://" in text and masked_url(text) != text


def _with_our_references(text: str, reference: re.Pattern[str] | None) -> str:
    """`text` with a host's references in our notation. One with a default is kept, since that may be a secret."""
    if reference is None:
        return text
    return reference.sub(lambda match: match[0] if match.groupdict().get("default") else "${REFERENCE}", text)


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
