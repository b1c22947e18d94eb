"""The minimal example of the document about handlers, told anew: a REST API of prices."""

import requests
from azext_prototype.mcp.base import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult

PRICES = "https://prices.azure.com/api/retail/prices"


class CostLookupHandler(MCPHandler):
    name = "cost-lookup"
    description = "Retail prices of a cloud"

    def __init__(self, config: MCPHandlerConfig, **kwargs):
        super().__init__(config, **kwargs)
        self._session: requests.Session | None = None

    def connect(self) -> None:
        self._session = requests.Session()
        self._session.headers["Accept"] = "application/json"
        self._connected = True
        self.logger.info("connected")

    def disconnect(self) -> None:
        if self._session:
            self._session.close()
            self._session = None
        self._connected = False

    def list_tools(self) -> list[MCPToolDefinition]:
        text = {"type": "string"}
        schema = {
            "type": "object",
            "properties": {"service_name": text, "sku_name": text, "region": text},
            "required": ["service_name"],
        }
        return [
            MCPToolDefinition(
                name="lookup_price",
                description="Look up the price of a service",
                input_schema=schema,
                handler_name=self.name,
            )
        ]

    def call_tool(self, name: str, arguments: dict) -> MCPToolResult:
        if name != "lookup_price":
            return MCPToolResult(content="", is_error=True, error_message=f"Unknown tool: {name}")
        try:
            wanted = [
                f"serviceName eq '{arguments['service_name']}'",
                f"armRegionName eq '{arguments.get('region', 'eastus')}'",
            ]
            answer = self._session.get(
                self.config.settings.get("base_url", PRICES),
                params={"$filter": " and ".join(wanted)},
                timeout=self.config.timeout,
            )
            answer.raise_for_status()
            items = answer.json().get("Items", [])[:5]
            if not items:
                return MCPToolResult(content="No prices found.")
            content = "\n".join(f"- {item['productName']}: ${item['retailPrice']:.4f}" for item in items)
            if len(content) > self.config.max_result_bytes:
                content = content[: self.config.max_result_bytes] + "...(truncated)"
            return MCPToolResult(content=content)
        except requests.Timeout:
            return MCPToolResult(content="", is_error=True, error_message=f"Timeout after {self.config.timeout}s")
        except Exception as exc:
            return MCPToolResult(content="", is_error=True, error_message=f"Failed: {exc}")


MCP_HANDLER_CLASS = CostLookupHandler
