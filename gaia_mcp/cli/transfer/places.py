"""What `import`, `export` and `serve --print-config` share: which files are meant, and what of an entry may be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.redaction import looks_secret, masked, masked_arguments, masked_url
from gaia_mcp.safetext import MASK

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from gaia_mcp.hosts.known import Host
    from gaia_mcp.hosts.places import Place

# Members whose values are secrets more often than not.
_VALUES = ("env", "envs", "environment", "headers", "http_headers")
_NAMES = ("env_http_headers",)


def host_or_file(word: str, *, project: bool) -> list[Place]:
    """The files that a host's name stands for, or the one that is named, whether they are there or not.

    Raises `ConfigError` for what is neither, `ConfigFileError` for a file that cannot be read.
    """
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.hosts.files import read_document
    from gaia_mcp.hosts.known import HOSTS
    from gaia_mcp.hosts.places import format_of, is_there, place_of, places, project_places
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import home_expanded

    if word in HOSTS:
        host = HOSTS[word]
        if not project:
            return places(host, os.environ, home_folder())
        found = project_places(host, project_folder(), os.environ, home_folder())
        if not found:
            raise ConfigError(f"{host.title} keeps no servers in a project", hint="leave --project out")
        return found
    path = home_expanded(Path(word))
    if not is_there(path) and not path.is_symlink() and not path.suffix and "/" not in word:
        names = did_you_mean(word, HOSTS) or f"the hosts are {', '.join(HOSTS)}"
        raise ConfigError(f"{word!r} is no host that is known, and no file", hint=names)
    document = read_document(path, format_of(path)) if is_there(path) else {}
    return [place_of(path, document, os.environ, home_folder())]


def home_folder() -> Path:
    """The person's home. Raises `ConfigFileError` if it is not known."""
    from gaia_mcp.paths import home_expanded

    return home_expanded(Path("~"))


def working_folder() -> Path | None:
    """The working folder, None if it has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def project_folder() -> Path:
    """The working folder, whose project is meant. Raises `ConfigError` if it has been removed."""
    from gaia_mcp.errors import ConfigError

    folder = working_folder()
    if folder is None:
        raise ConfigError("the working folder is no longer there", hint="change to the project's folder")
    return folder


def masked_entry(entry: Any, reference: re.Pattern[str] | None = None) -> Any:
    """An entry, ours or a host's, with its secrets masked. `reference` is what a reference to a variable looks like."""

    def value_of(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            if key in _VALUES:
                return {name: hidden(held) for name, held in value.items()}
            return {name: held if key in _NAMES else value_of(name, held) for name, held in value.items()}
        if isinstance(value, list):
            texts = [part for part in value if isinstance(part, str)]
            if len(texts) != len(value):
                return [value_of(key, part) for part in value]
            return masked_arguments(texts) if _shows_secrets(key, value, reference) else value
        if not isinstance(value, str):
            # A date, which JSON has no word for.
            return value if value is None or isinstance(value, (bool, int, float)) else str(value)
        if key == "command":
            return " ".join(masked_arguments(value.split(" ")))
        if looks_secret(key):
            return hidden(value)
        return masked_url(value) if _shows_secrets(key, value, reference) else value

    def hidden(value: Any) -> Any:
        if not isinstance(value, str):
            return value if isinstance(value, (bool, dict)) else MASK
        return value if masked(_in_our_words(value, reference)) != MASK else MASK

    return {key: value_of(key, value) for key, value in entry.items()} if isinstance(entry, dict) else MASK


def plain_secrets(entry: Mapping[str, Any], reference: re.Pattern[str] | None = None) -> list[str]:
    """Where in an entry, ours or a host's, a secret stands as it is: `env NAME`, `header NAME`, or a member."""
    found = []
    for key, value in entry.items():
        if key in _VALUES and isinstance(value, dict):
            kind = "header" if "headers" in key else "env"
            for name, held in value.items():
                if isinstance(held, str) and masked(text := _in_our_words(held, reference)) == MASK:
                    found += [f"{kind} {name}"] if looks_secret(name) or masked_arguments([text]) != [text] else []
        elif key not in _NAMES and _shows_secrets(key, value, reference):
            found.append(key)
    return found


def _shows_secrets(key: str, value: Any, reference: re.Pattern[str] | None) -> bool:
    """Whether there is something to be masked in a list of arguments, or a URL."""
    if isinstance(value, list):
        texts = [_in_our_words(part, reference) for part in value if isinstance(part, str)]
        return len(texts) == len(value) and masked_arguments(texts) != texts
    if not isinstance(value, str):
        return False
    text = _in_our_words(value, reference)
    if key == "command":
        return masked_arguments(text.split(" ")) != text.split(" ")
    return "://" in text and masked_url(text) != text


def _in_our_words(text: str, reference: re.Pattern[str] | None) -> str:
    """`text` with a host's references as ours, which are known for what they are. A default may be a secret."""
    if reference is None:
        return text
    return reference.sub(lambda match: match[0] if match.groupdict().get("default") else "${REFERENCE}", text)


def snippet(host: Host, entries: dict[str, dict[str, Any]]) -> str:
    """The whole of what a person pastes into the host's file, in its own format. Raises `ConfigError`."""
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.hosts.documents import with_server
    from gaia_mcp.hosts.problems import TextProblemError

    text = ""
    for name, entry in entries.items():
        try:
            text = with_server(text, host.layout, name, entry)
        except TextProblemError as problem:
            hint = f"see the entry with: gaia mcp show {name}"
            raise ConfigError(f"{name!r} cannot be given to {host.title}: {problem}", hint=hint) from problem
    return text


def outcome_word(outcome: str, *, dry_run: bool) -> str:
    """What becomes of a server, as it is said to a person."""
    if outcome == "replaced" and dry_run:
        return "replace"
    return "left out" if outcome == "left" else outcome


def difference(before: str, after: str, path: Path) -> str:
    """A unified diff of two texts of one file; empty if they are the same."""
    from difflib import unified_diff

    from gaia_mcp.paths import shown

    lines = unified_diff(before.splitlines(), after.splitlines(), shown(path), shown(path), lineterm="")
    return "\n".join(lines)
