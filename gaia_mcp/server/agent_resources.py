"""The resources and resource templates of an agent: those of its marked methods, then those that its own methods list.

A URI is looked up among the resources and the files of skills, then among the templates (the most specific match wins),
and is else passed to `read_mcp_resource`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.jsonrpc import RESOURCE_NOT_FOUND
from gaia_mcp.server.definitions import (
    listed_resource,
    listed_template,
    page_of,
    resource_definitions,
    template_definitions,
)
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.results import resource_result
from gaia_mcp.toolspec.validation import InvalidArgumentsError

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.server.agent_code import AgentCode, MarkedResource
    from gaia_mcp.server.agent_skills import AgentSkills
    from gaia_mcp.server.definitions import Note

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
            return _contents(value, uri, marked)
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
        return _contents(value, uri, template)

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


def _contents(value: Any, uri: str, marked: MarkedResource) -> Wire:
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
