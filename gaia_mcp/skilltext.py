"""The content of a skill's files (SEP-2640), for servers and clients: the frontmatter of SKILL.md, and the digest of a
file. Reads no files.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from gaia_mcp.content import NotJSONError, as_json_value
from gaia_mcp.jsontext import TextProblemError

MANIFEST = "SKILL.md"
# As in the specification of skills: up to 64 characters, and hyphens only inside.
_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_FRONTMATTER = re.compile(r"\ufeff?---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def digest_of(data: bytes) -> str:
    """The digest of a file, in the format of the extension."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def frontmatter_of(data: bytes) -> dict[str, Any]:
    """The YAML at the beginning of a SKILL.md as JSON, with the `name` and the `description` that it must have.

    Raises `ValueError`, which completes "SKILL.md …".
    """
    from gaia_mcp.yamltext.reading import parse

    try:
        text = data.decode()
    except UnicodeDecodeError as cause:
        raise ValueError("is not UTF-8") from cause
    if (match := _FRONTMATTER.match(text)) is None:
        raise ValueError("does not begin with YAML between two lines of ---")
    try:
        found = as_json_value(parse(match[1]))
        json.dumps(found, allow_nan=False)
    except (TextProblemError, NotJSONError, ValueError) as cause:
        raise ValueError(f"begins with YAML that cannot be read: {cause}") from cause
    if not isinstance(found, dict):
        raise ValueError("begins with YAML that is not a mapping")
    name, description = found.get("name"), found.get("description")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("has no name made of lower-case letters, digits and single hyphens")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("has no description")
    return found
