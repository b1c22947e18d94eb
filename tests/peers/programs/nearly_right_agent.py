"""An agent whose definitions and results are nearly right: a client that validates them drops the whole message."""

from typing import Any

TEXT = {"type": "text", "text": "fine"}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
# By tool: its definition, and what it returns.
TOOLS: dict[str, tuple[dict[str, Any], Any]] = {
    "no_structured_content": ({"outputSchema": POINT}, {"content": [TEXT]}),
    "another_structure": ({"outputSchema": POINT}, {"content": [TEXT], "structuredContent": {"x": "1"}}),
    "another_value": ({"outputSchema": POINT}, {"y": 1}),
    "unfinished": (
        {},
        {"content": [TEXT], "resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}},
    ),
    "unknown_type": ({}, {"content": [TEXT], "resultType": "partial"}),
    "invalid_block": ({}, {"content": [TEXT, {"type": "image", "data": "AA=="}]}),
    "no_boolean": ({}, {"content": [TEXT], "isError": "no"}),
    # These can be mended.
    "nulls": ({"title": 7, "annotations": "safe"}, {"content": [{**TEXT, "annotations": None}], "_meta": None}),
    "state": ({"icons": {}}, {"content": [TEXT], "resultType": "complete", "requestState": "s", "ttlMs": -1}),
    "only_structured": ({"outputSchema": POINT}, {"structuredContent": {"x": 1}}),
}


class NearlyRight:
    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": name, **definition} for name, (definition, _) in TOOLS.items()]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        return TOOLS[tool_name][1]

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "nearly", "version": 1, "title": ["no text"]}

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [{"name": "system", "title": 5, "arguments": [{"name": "x", "required": "no"}]}]

    def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        return [{"role": "system", "content": "Be kind."}]

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [{"uri": "x://lasting", "name": 5, "size": "big"}]

    def read_mcp_resource(self, uri: str) -> Any:
        return {"contents": [{"text": "a"}], "ttlMs": -5} if uri == "x://lasting" else {"contents": []}
