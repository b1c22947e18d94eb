"""Programs that are used to start servers."""

from __future__ import annotations

# Programs that start other programs.
LAUNCHERS = frozenset(
    ("npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "tsx", "ts-node", "uvx", "uv", "pipx",
     "python", "python3", "py", "docker", "podman", "cmd", "sh", "bash", "zsh", "env", "java", "dotnet", "go", "cargo",
     "gaia", "gmcp")
)  # fmt: skip


# Programs that without arguments are a server, or print their help.
_OURS = frozenset(("gaia", "gmcp"))


def needs_arguments(program: str) -> bool:
    """Whether a program without arguments cannot be a server: it reads a script from stdin, or exits."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".exe").removesuffix(".cmd") in LAUNCHERS - _OURS


def may_start_server(program: str) -> bool:
    """Whether a program is known to start servers, or has `mcp` in its name. Other words may be programs as well, such
    as `time`.
    """
    return program in LAUNCHERS or "mcp" in program.lower()
