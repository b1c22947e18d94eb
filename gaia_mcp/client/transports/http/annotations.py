"""The header annotations of a server's tools: which arguments are repeated in headers (stateless era).

A tool with malformed annotations is removed from the list, as the specification requires of a client over HTTP.
"""

from __future__ import annotations

from typing import Any

from gaia_mcp.protocol.headers import AnnotationError, Parameter, annotated_parameters, parameter_headers


class Annotations:
    """The annotated parameters of a server's tools, by the tool's name. `left_out` has the problems of the tools that
    were removed from the list, by their names.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, str] = {}
        self._parameters: dict[str, tuple[Parameter, ...]] = {}

    def headers(self, params: dict[str, Any]) -> dict[str, str]:
        """The headers that repeat arguments of a `tools/call`."""
        parameters = self._parameters.get(str(params.get("name")))
        return parameter_headers(parameters, params.get("arguments")) if parameters else {}

    def learn(self, result: dict[str, Any], *, is_first: bool = True) -> dict[str, Any]:
        """The result of a `tools/list`, without the tools whose annotations are malformed. Stores the annotations of
        the others. `is_first` is whether this is the first page of a list.
        """
        if is_first:
            self.left_out = {}
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        kept = [tool for tool in tools if self._accepts(tool)]
        return {**result, "tools": kept} if len(kept) < len(tools) else result

    def _accepts(self, tool: Any) -> bool:
        if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
            return True  # The reader of the list reports what is wrong with it.
        try:
            parameters = annotated_parameters(tool.get("inputSchema"))
        except AnnotationError as problem:
            self.left_out[name] = str(problem)
            return False
        if parameters:
            self._parameters[name] = parameters
        else:
            self._parameters.pop(name, None)
        return True
