"""Programs that servers are started with."""

from __future__ import annotations

# Programs that start others.
LAUNCHERS = frozenset(
    ("npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "tsx", "ts-node", "uvx", "uv", "pipx",
     "python", "python3", "py", "docker", "podman", "cmd", "sh", "bash", "zsh", "env", "java", "dotnet", "go", "cargo",
     "gaia", "gmcp")
)  # fmt: skip


# Those that are servers, or print what can be done, without arguments.
_OURS = frozenset(("gaia", "gmcp"))


def needs_arguments(program: str) -> bool:
    """Whether a program cannot be a server without arguments: by itself it reads a script from its input, or ends."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".exe").removesuffix(".cmd") in LAUNCHERS - _OURS


def may_start_server(program: str) -> bool:
    """Whether a program is known to start servers, or is called like one; `time` is a program too."""
    return program in LAUNCHERS or "mcp" in program.lower()
