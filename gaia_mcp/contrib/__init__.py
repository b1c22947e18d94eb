"""Systems that stand on the client, the server and the fleet. Each can be removed: no other package knows it by name.

They register here what they add to the tables of `core.systems`; none is imported for that.
"""

from gaia_mcp.core.systems import BuiltInAgent, System, register

# The hub of agents.
register(
    System(
        agents={
            "agents": BuiltInAgent("gaia_mcp.contrib.hub.hub:AgentsHub", servers_setting="config"),
            "agents-tools": BuiltInAgent("gaia_mcp.contrib.hub.tool_server:ToolsOfFile", is_listed=False),
        }
    )
)
# AgentVault.
register(
    System(
        agents={
            "code-runner": BuiltInAgent("gaia_mcp.contrib.agentvault.code_runner:CodeRunner", endpoints=("rpc",)),
            "filesystem": BuiltInAgent("gaia_mcp.contrib.agentvault.filesystem:FilesystemAgent", endpoints=("rpc",)),
        }
    )
)
