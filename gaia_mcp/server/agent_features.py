"""What an agent offers beside its tools: prompts, resources, resource templates, and skills, which are folders served
by the skills extension and as resources (SEP-2640).

Hidden files, and links that lead out of a skill's folder, are not part of it.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from gaia_mcp.core.files import read_file
from gaia_mcp.protocol.jsonrpc import RESOURCE_NOT_FOUND
from gaia_mcp.server.definitions import (
    Note,
    listed_resource,
    listed_template,
    page_of,
    prompt_definitions,
    resource_definitions,
    template_definitions,
)
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.results import prompt_result, resource_result
from gaia_mcp.text.skills import MANIFEST, digest_of, frontmatter_of
from gaia_mcp.toolspec.validation import InvalidArgumentsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.server.agent_code import AgentCode, MarkedResource

# The limits of the extension, above which a client may refuse a skill.
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024
SCHEME = "skill://"
_FOLDER = "inode/directory"
Wire = dict[str, Any]


class AgentResources:
    """The resources and templates; read again for each request."""

    def __init__(self, code: AgentCode, skills: AgentSkills) -> None:
        self._code = code
        self._skills = skills

    def exist(self) -> bool:
        """Whether the agent has resources or templates."""
        marked = self._code.features()
        own = (self._code.optional(name) for name in ("get_mcp_resources", "get_mcp_resource_templates"))
        return bool(marked.resources or marked.templates) or any(own) or self._skills.exist()

    def listed(self, params: Wire, _: Call) -> Wire:
        """The result of `resources/list`."""
        marked = self._code.features().resources
        own = [listed_resource(resource, self._code.note) for resource in self._own(self._code.note)]
        listed = [listed_resource(resource.definition, self._code.note) for resource in marked.values()]
        listed += self._code.without_marked("resource", own, "uri", marked)
        listed += self._skills.resources()
        return {**self._code.list_caching("resources"), **page_of("resources", listed, "uri", params)}

    def list_templates(self, params: Wire, _: Call) -> Wire:
        """The result of `resources/templates/list`."""
        page = page_of("resourceTemplates", self.templates(), "uriTemplate", params)
        return {**self._code.list_caching("templates"), **page}

    def templates(self) -> list[Wire]:
        """MCP's `ResourceTemplate` of each."""
        marked = self._code.features().templates
        own = template_definitions(self._code.optional("get_mcp_resource_templates"))
        listed = [template.definition for template in marked.values()]
        listed += self._code.without_marked("template", own, "uriTemplate", marked)
        return [listed_template(template, self._code.note) for template in listed]

    def read(self, params: Wire, call: Call) -> Wire:
        """The result of `resources/read`."""
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RequestError("resources/read needs params.uri, a string")
        features = self._code.features()
        if (marked := features.resources.get(uri)) is not None:
            value = self._code.awaited(marked.text.call(self._code.agent, {}), call)
            return _resource_contents(value, uri, marked)
        if (held := self._skills.read(uri)) is not None:
            return held
        resource = next((resource for resource in self._own() if resource["uri"] == uri), None)
        # A resource that is listed without contents is read through the template that matches its URI.
        if resource is None or not self._has_contents(resource):
            matching = [(one, found) for one in features.templates.values() if (found := one.match(uri)) is not None]
            if matching:
                template, variables = max(matching, key=lambda match: match[0].specificity)
                return self._read_template(template, uri, variables, call)
        return self._read_own(resource, uri, call)

    def _read_template(self, template: MarkedResource, uri: str, variables: dict[str, str], call: Call) -> Wire:
        try:
            value = self._code.awaited(template.text.call(self._code.agent, variables), call)
        except (InvalidArgumentsError, LookupError, FileNotFoundError) as error:
            raise _not_found(uri, error) from error
        if value is None:
            raise _not_found(uri)
        return _resource_contents(value, uri, template)

    def _read_own(self, resource: Wire | None, uri: str, call: Call) -> Wire:
        read = getattr(self._code.agent, "read_mcp_resource", None)
        mime_type = resource.get("mimeType") if resource else None
        if read is None:
            if resource is None:
                raise _not_found(uri)
            return _defined_contents(resource, uri, mime_type)
        try:
            value = self._code.awaited(read(uri), call)
        except (ValueError, KeyError, FileNotFoundError) as error:
            if resource is not None:
                raise  # The resource exists: this is a bug, worth a traceback.
            raise _not_found(uri, error) from error
        if value is None and resource is None:
            raise _not_found(uri)
        return _existing(resource_result(value, uri, mime_type), uri)

    def _has_contents(self, resource: Wire) -> bool:
        is_read = hasattr(self._code.agent, "read_mcp_resource")
        return is_read or any(resource.get(member) is not None for member in ("text", "blob"))

    def _own(self, note: Note = lambda _: None) -> list[Wire]:
        return resource_definitions(self._code.optional("get_mcp_resources"), note)


def _resource_contents(value: Any, uri: str, marked: MarkedResource) -> Wire:
    return {**marked.caching, **_existing(resource_result(value, uri, marked.definition.get("mimeType")), uri)}


def _existing(result: Wire, uri: str) -> Wire:
    if not result["contents"]:
        raise _not_found(uri)
    return result


def _not_found(uri: str, error: Exception | None = None) -> RequestError:
    reason = "" if error is None else f": {error}"
    return RequestError(f"Resource not found{reason}", RESOURCE_NOT_FOUND, {"uri": uri})


def _defined_contents(resource: Wire, uri: str, mime_type: str | None) -> Wire:
    """The result for contents given in the resource's definition; a `blob` that is a string is base64."""
    text, blob = resource.get("text"), resource.get("blob")
    if text is not None:
        return resource_result(text, uri, mime_type)
    if isinstance(blob, str):
        return resource_result({"contents": [{"uri": uri, "blob": blob}]}, uri, mime_type)
    if blob is not None:
        return resource_result(blob, uri, mime_type)
    raise RequestError(f"the agent describes {uri} but has no read_mcp_resource()", data={"uri": uri})


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


class AgentPrompts:
    """The prompts; read again for each request."""

    def __init__(self, code: AgentCode) -> None:
        self._code = code

    def exist(self) -> bool:
        """Whether the agent has prompts."""
        return bool(self._code.features().prompts or self._code.optional("get_mcp_prompts"))

    def definitions(self) -> list[Wire]:
        """MCP's `Prompt` of each."""
        marked = self._code.features().prompts
        own = prompt_definitions(self._code.optional("get_mcp_prompts"), self._code.note)
        given = [prompt.definition for prompt in marked.values()]
        named = prompt_definitions(given, self._code.note)
        return named + self._code.without_marked("prompt", own, "name", marked)

    def listed(self, params: Wire, _: Call) -> Wire:
        """The result of `prompts/list`."""
        return {**self._code.list_caching("prompts"), **page_of("prompts", self.definitions(), "name", params)}

    def get(self, params: Wire, call: Call) -> Wire:
        """The result of `prompts/get`."""
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompt = next((prompt for prompt in self.definitions() if prompt["name"] == name), None)
        if prompt is None:
            raise RequestError(f"Unknown prompt: {name}")
        if not isinstance(arguments, dict):
            raise RequestError("prompts/get needs params.arguments to be an object")
        for argument in prompt["arguments"]:
            if argument.get("required") and argument["name"] not in arguments:
                raise RequestError(f"prompt {name!r} needs the argument {argument['name']!r}")
        description = str(prompt.get("description") or "")
        return prompt_result(self._returned(str(name), arguments, description, call), description)

    def _returned(self, name: str, arguments: Wire, description: str, call: Call) -> Any:
        agent = self._code.agent
        if (marked := self._code.features().prompts.get(name)) is not None:
            if wrong := [key for key, value in arguments.items() if not isinstance(value, str)]:
                raise RequestError(f"prompt {name!r}: the argument {wrong[0]!r} is not a text")
            try:
                value = marked.text.call(agent, arguments)
            except InvalidArgumentsError as error:
                raise RequestError(f"prompt {name!r}: {'; '.join(error.problems)}") from error
            return self._code.awaited(value, call)
        get = getattr(agent, "get_mcp_prompt", None)
        if get is None:
            # GAIA's own agents define prompts without a method that returns one: the description is the prompt.
            given = "".join(f"\n{key}: {value}" for key, value in arguments.items())
            return (description or name) + given
        return self._code.awaited(get(name, arguments), call)
