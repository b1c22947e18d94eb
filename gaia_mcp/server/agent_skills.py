"""The skills of an agent: the folders of `get_mcp_skills`, served by the skills extension and as resources."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.server.definitions import page_of
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.results import resource_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.server.agent_code import AgentCode
    from gaia_mcp.server.skill_folders import Skill

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
        from gaia_mcp.server.skill_folders import read_part

        path = next((skill.files[uri] for skill in self._skills() if uri in skill.files), None)
        data = self._noted(partial(read_part, path)) if path is not None else None
        return resource_result(_contents(data), uri, _type_of(uri)) if data is not None else None

    def _skills(self) -> list[Skill]:
        from gaia_mcp.server.skill_folders import read_skill

        found: dict[str, Skill] = {}
        for folder in self._code.optional("get_mcp_skills") or ():
            skill = self._noted(partial(read_skill, Path(folder)))
            if skill is not None and found.setdefault(skill.name, skill) is not skill:
                self._code.note(f"skill {skill.name!r} is there twice; the first one is used")
        return list(found.values())

    def _noted(self, read: Callable[[], Any]) -> Any:
        """The return value of `read`; None after a problem, which is reported."""
        from gaia_mcp.server.skill_folders import SkillError

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
