"""Reads skills from folders (SEP-2640): the YAML front matter of SKILL.md holds the name and the description.

Knows no agent and no request. Hidden files, and links that lead out of the folder, are not part of a skill.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from gaia_mcp.filebytes import read_file
from gaia_mcp.skilltext import MANIFEST, digest_of, frontmatter_of

Wire = dict[str, Any]

# The limits of the extension, above which a client may refuse a skill.
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024


class SkillError(Exception):
    """A folder is not a valid skill; the message is the reason."""


class Skill(NamedTuple):
    """One skill. `frontmatter` is that of its SKILL.md, as JSON; `files` maps URIs to paths, SKILL.md first."""

    name: str
    frontmatter: Wire
    files: dict[str, Path]

    @property
    def root(self) -> str:
        """The URI of its folder."""
        return f"skill://{self.name}"

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md, which identifies the skill."""
        return f"{self.root}/{MANIFEST}"

    def entry(self, max_bytes: int = MAX_BYTES) -> Wire:
        """The skill's entry in `skills/list`, with the size and digest of each file. Raises `SkillError`."""
        resources, size = [], 0
        for uri, path in self.files.items():
            data = read_part(path)
            size += len(data)
            if size > max_bytes:
                raise SkillError(f"skill {self.name!r} has more than {max_bytes} bytes")
            resources.append({"uri": uri, "digest": digest_of(data), "size": len(data)})
        return {"uri": self.uri, "frontmatter": self.frontmatter, "resources": resources}

    def children(self, uri: str) -> dict[str, bool] | None:
        """The URIs in the folder `uri`, and whether each is a folder; None if there is no such folder."""
        if uri.rstrip("/") != self.root and not uri.startswith(f"{self.root}/"):
            return None
        prefix = f"{uri.rstrip('/')}/"
        below = [each.removeprefix(prefix) for each in self.files if each.startswith(prefix)]
        return {f"{prefix}{rest.partition('/')[0]}": "/" in rest for rest in below} or None


def read_skill(folder: Path) -> Skill:
    """The skill in a folder. Raises `SkillError`."""
    paths = _files(folder)
    if MANIFEST not in paths:
        raise SkillError(f"{folder}: has no {MANIFEST}, or one that is a link out of it")
    try:
        frontmatter = frontmatter_of(read_part(folder / MANIFEST))
    except ValueError as cause:
        raise SkillError(f"{folder / MANIFEST} {cause}") from cause
    name = frontmatter["name"]
    if len(paths) > MAX_FILES:
        raise SkillError(f"skill {name!r} has more than {MAX_FILES} files")
    return Skill(name, frontmatter, {f"skill://{name}/{quote(path)}": folder / path for path in paths})


def read_part(path: Path) -> bytes:
    """A file of a skill. Raises `SkillError`."""
    try:
        return read_file(path, MAX_BYTES)
    except OSError as cause:
        raise SkillError(f"{path}: cannot be read: {cause.strerror}") from cause


def _files(folder: Path) -> list[str]:
    """The paths of the files, as in a URI, SKILL.md first."""
    found = []
    inside = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in names:
            path = Path(place, name)
            if not name.startswith(".") and path.is_file() and path.resolve().is_relative_to(inside):
                found.append(path.relative_to(folder).as_posix())
    return sorted(found, key=lambda path: (path != MANIFEST, path))
