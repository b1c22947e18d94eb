"""Systems that stand on the client, the server and the fleet. Each can be removed: no other package knows it by name.

They register here what they add to the tables of `core.systems`; none is imported for that.
"""

from gaia_mcp.core.systems import BuiltInAgent, CodeKind, FrontOption, HttpDialect, System, register

# The handlers of az prototype, and its file.
register(
    System(
        kinds={
            "handler": CodeKind(
                "gaia_mcp.contrib.handlers.base:MCPHandler", "gaia_mcp.contrib.handlers.serving:handlers_provider"
            )
        },
        formats=dict.fromkeys((".yaml", ".yml"), "gaia_mcp.contrib.handlers.prototype:PrototypeFiles"),
    )
)
# The hub of agents.
register(
    System(
        agents={
            "agents": BuiltInAgent("gaia_mcp.contrib.hub:AgentsHub", servers_setting="config"),
            "agents-tools": BuiltInAgent("gaia_mcp.contrib.hub.tool_server:ToolsOfFile", is_listed=False),
        }
    )
)
# AgentVault.
register(
    System(
        agents={
            "code-runner": BuiltInAgent("gaia_mcp.contrib.agentvault.code_runner:CodeRunner", fronts=("rpc",)),
            "filesystem": BuiltInAgent("gaia_mcp.contrib.agentvault.filesystem:FilesystemAgent", fronts=("rpc",)),
        },
        fronts={
            "rpc": FrontOption(
                "gaia_mcp.contrib.agentvault.rpc:RpcFront",
                "Serve AgentVault's dialect at /rpc too; filesystem and code-runner always have it.",
                "AgentVault",
            ),
            "a2a": FrontOption(
                "gaia_mcp.contrib.agentvault.a2a_front:A2aFront",
                "Serve tools to agents of AgentVault's A2A too, at /a2a; see MCP_SERVER_MAP.",
                "AgentVault",
                is_for_gateways=True,
            ),
        },
        dialects={
            "rpc": HttpDialect("gaia_mcp.contrib.agentvault.rpc_channel:RpcChannel", "AgentVault's dialect", "/rpc")
        },
    )
)
