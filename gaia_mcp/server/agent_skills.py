"""The skills of an agent: the folders of `get_mcp_skills`, served by the skills extension and as resources."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from gaia_mcp.filebytes import read_file
from gaia_mcp.server.definitions import page_of
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.results import resource_result
from gaia_mcp.skilltext import MANIFEST, digest_of, frontmatter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.server.agent_code import AgentCode

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


Wire = dict[str, Any]

SCHEME = "skill://"
_FOLDER = "inode/directory"


class AgentSkills:
    """The skills; read again for each request."""

    def __init__(self, code: AgentCode) -> None:
        self._code = code

    def exist(self) -> bool:
        """Whether the agent has skill folders."""
        return bool(self._code.optional("get_mcp_skills"))

    def listed(self, params: Wire, _: Call) -> Wire:
        """The result of `skills/list`."""
        entries = [entry for skill in self._skills() if (entry := self._noted(skill.entry)) is not None]
        return page_of("skills", entries, "uri", params)

    def get(self, params: Wire, _: Call) -> Wire:
        """The result of `skills/get`."""
        uri = params.get("uri")
        found = next((skill for skill in self._skills() if skill.uri == uri), None)
        entry = self._noted(found.entry) if found is not None else None
        if entry is None:
            raise RequestError(f"Unknown skill: {uri}")
        return {"skill": entry}

    def read_folder(self, params: Wire, _: Call) -> Wire:
        """The result of `resources/directory/read`."""
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RequestError("resources/directory/read needs params.uri, a string")
        for skill in self._skills():
            if (children := skill.children(uri)) is not None:
                listed = [
                    {"uri": each, "name": each.rpartition("/")[2], "mimeType": _FOLDER if is_folder else _type_of(each)}
                    for each, is_folder in children.items()
                ]
                return page_of("resources", listed, "uri", params)
        raise RequestError(f"Not a directory: {uri}")

    def resources(self) -> list[Wire]:
        """MCP's `Resource` of each SKILL.md."""
        return [
            {
                "uri": skill.uri,
                "name": skill.name,
                "description": skill.frontmatter["description"],
                "mimeType": _type_of(skill.uri),
            }
            for skill in self._skills()
        ]

    def read(self, uri: str) -> Wire | None:
        """The result of `resources/read` for a file of a skill; None for any other URI."""
        if not uri.startswith(SCHEME):
            return None

        path = next((skill.files[uri] for skill in self._skills() if uri in skill.files), None)
        data = self._noted(partial(read_part, path)) if path is not None else None
        return resource_result(_contents(data), uri, _type_of(uri)) if data is not None else None

    def _skills(self) -> list[Skill]:
        found: dict[str, Skill] = {}
        for folder in self._code.optional("get_mcp_skills") or ():
            skill = self._noted(partial(read_skill, Path(folder)))
            if skill is not None and found.setdefault(skill.name, skill) is not skill:
                self._code.note(f"skill {skill.name!r} is there twice; the first one is used")
        return list(found.values())

    def _noted(self, read: Callable[[], Any]) -> Any:
        """The return value of `read`; None after a problem, which is reported."""
        try:
            return read()
        except SkillError as problem:
            self._code.note(f"{problem}; it is left out")
            return None


def _contents(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _type_of(uri: str) -> str:
    if uri.endswith(".md"):
        return "text/markdown"
    import mimetypes

    return mimetypes.guess_type(uri)[0] or "application/octet-stream"
