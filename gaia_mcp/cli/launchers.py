"""Programs that servers are started with."""

from __future__ import annotations

# Programs that start others.
LAUNCHERS = frozenset(
    ("npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "tsx", "ts-node", "uvx", "uv", "pipx",
     "python", "python3", "py", "docker", "podman", "cmd", "sh", "bash", "zsh", "env", "java", "dotnet", "go", "cargo",
     "gaia", "gmcp")
)  # fmt: skip


def may_start_server(program: str) -> bool:
    """Whether a program is known to start servers, or is called like one; `time` is a program too."""
    return program in LAUNCHERS or "mcp" in program.lower()
