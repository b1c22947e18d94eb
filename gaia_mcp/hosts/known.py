"""The supported hosts: the name, the files and the entry format of each."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_mcp.hosts import Layout
from gaia_mcp.hosts.dialects import (
    BRACES,
    CLINE,
    EDITOR,
    GEMINI,
    KIRO,
    QWEN,
    SECRETS,
    SHELL,
    Dialect,
    OAuthKeys,
    ToolKeys,
)

_USUAL = Layout("json", ("mcpServers",))
_SERVERS = Layout("json", ("servers",))
_PLAIN = Dialect()
_AS_OURS = ToolKeys("includeTools", "excludeTools")
_DISABLED = ToolKeys(exclude="disabledTools")
# Claude Code keeps the client's secret in its own store.
_OF_CLAUDE = ("clientId", "scopes", "callbackPort", "authServerMetadataUrl")
_OF_GEMINI = OAuthKeys("oauth", ("clientId", "clientSecret", "scopes", "redirectUri"))
_VSCODE_STORAGE = "{config}/Code/User/globalStorage"


@dataclass(frozen=True)
class HostProgram:
    """A program that uses MCP servers, such as an editor.

    `user` and `project` are its files, the default one first. Placeholders in them: `{home}`; `{config}`, the
    platform's settings folder; `{dot}`, `~/.config`; `{local}`, Windows' local settings folder; or a variable such as
    `{CODEX_HOME:.codex}`, with a default relative to the home folder. The prefix `win:`, `mac:` or `linux:` limits a
    file to that system. Without `user` only projects have a file. A host that `is_desktop` is not started from a shell,
    and does not have its PATH. One that `opens_sockets` takes the URL of a Unix socket, at which a server speaks HTTP.
    """

    key: str
    title: str
    user: tuple[str, ...]
    project: str | None = None
    layout: Layout = _USUAL
    dialect: Dialect = _PLAIN
    is_desktop: bool = True
    opens_sockets: bool = False

    @property
    def runs_handlers(self) -> bool:
        """Whether its entries are handlers, which are no command and no URL. Its file has a format of its own."""
        return not self.dialect.command and not self.dialect.remote


HOSTS = {
    host.key: host
    for host in (
        HostProgram(
            "claude-desktop", "Claude Desktop",
            ("{config}/Claude/claude_desktop_config.json",
             "win:{local}/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"),
            dialect=Dialect(remote=False),
        ),
        HostProgram(
            "claude-code", "Claude Code", ("{CLAUDE_CONFIG_DIR:}/.claude.json",), ".mcp.json",
            dialect=Dialect(
                types=("stdio", "http", "sse"), notation=SHELL,
                oauth=OAuthKeys("oauth", _OF_CLAUDE, as_text=True),
            ),
            is_desktop=False,
        ),
        HostProgram(
            "cursor", "Cursor", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json",
            dialect=Dialect(
                notation=EDITOR,
                oauth=OAuthKeys("auth", ("CLIENT_ID", "CLIENT_SECRET", "scopes")),
            ),
        ),
        HostProgram(
            "vscode", "VS Code",
            ("{config}/Code/User/mcp.json", "{config}/Code - Insiders/User/mcp.json",
             "linux:{home}/.vscode-server/data/User/mcp.json"),
            ".vscode/mcp.json", _SERVERS,
            Dialect(types=("stdio", "http", "sse"), cwd="cwd", notation=EDITOR), opens_sockets=True,
        ),
        HostProgram(
            "windsurf", "Windsurf",
            ("{home}/.codeium/windsurf/mcp_config.json", "{dot}/devin/mcp_config.json",
             "win:{config}/devin/mcp_config.json", "{home}/.codeium/windsurf-next/mcp_config.json"),
            dialect=Dialect(url="serverUrl", disabled="disabled", notation=EDITOR, tools=_DISABLED),
        ),
        HostProgram(
            "codex", "Codex", ("{CODEX_HOME:.codex}/config.toml",), ".codex/config.toml",
            Layout("toml", ("mcp_servers",)),
            Dialect(cwd="cwd", headers="http_headers", disabled="enabled", timeout=("tool_timeout_sec", 1),
                    names_variables="env_vars", tools=ToolKeys("enabled_tools", "disabled_tools"),
                    oauth=OAuthKeys("oauth", ("client_id", "scopes"), beside=True)),
            is_desktop=False,
        ),
        HostProgram(
            "gemini", "Gemini CLI", ("{home}/.gemini/settings.json",), ".gemini/settings.json",
            dialect=Dialect(
                url="httpUrl", url_means="sse", cwd="cwd", timeout=("timeout", 1000), notation=GEMINI, tools=_AS_OURS,
                oauth=_OF_GEMINI,
            ),
            is_desktop=False,
        ),
        HostProgram(
            "zed", "Zed", ("win:{config}/Zed/settings.json", "{dot}/zed/settings.json"), ".zed/settings.json",
            Layout("json", ("context_servers",)), Dialect(disabled="enabled"),
        ),
        HostProgram(
            "lm-studio", "LM Studio", ("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json"),
        ),
        HostProgram(
            "goose", "Goose", ("win:{config}/Block/goose/config/config.yaml", "{dot}/goose/config.yaml"),
            layout=Layout("yaml", ("extensions",)),
            dialect=Dialect(
                command="cmd", env="envs", url="uri", types=("stdio", "streamable_http", "sse"), disabled="enabled",
                timeout=("timeout", 1), names_variables="env_keys", always={"enabled": True, "timeout": 300},
                names_itself=True, tools=ToolKeys("available_tools", everything=()),
            ),
        ),
        HostProgram(
            "cline", "Cline",
            (f"{_VSCODE_STORAGE}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
             "{CLINE_DIR:.cline}/data/settings/cline_mcp_settings.json"),
            dialect=Dialect(
                types=("", "streamableHttp", "sse"), disabled="disabled", timeout=("timeout", 1), notation=CLINE,
            ),
        ),
        HostProgram(
            "roo", "Roo Code", (f"{_VSCODE_STORAGE}/rooveterinaryinc.roo-cline/settings/mcp_settings.json",),
            ".roo/mcp.json",
            dialect=Dialect(
                types=("", "streamable-http", "sse"), disabled="disabled", timeout=("timeout", 1), notation=EDITOR,
                tools=_DISABLED,
            ),
        ),
        HostProgram(
            "continue", "Continue", ("{home}/.continue/config.yaml",),
            layout=Layout("yaml", ("mcpServers",), listed=True),
            dialect=Dialect(types=("", "streamable-http", "sse"), cwd="cwd", notation=SECRETS, names_itself=True),
        ),
        HostProgram(
            "opencode", "OpenCode", ("{dot}/opencode/opencode.json", "{dot}/opencode/opencode.jsonc"), "opencode.json",
            Layout("json", ("mcp",)),
            Dialect(
                command="[]", env="environment", types=("local", "remote", "remote"), cwd="cwd", disabled="enabled",
                timeout=("timeout", 1000), notation=BRACES,
                oauth=OAuthKeys("oauth", ("clientId", "clientSecret", "scope"), as_text=True, can_be_off=True),
            ),
            is_desktop=False,
        ),
        HostProgram("jetbrains", "JetBrains AI Assistant", ("{home}/.ai/mcp/mcp.json",), ".ai/mcp/mcp.json"),
        HostProgram("junie", "JetBrains Junie", ("{home}/.junie/mcp/mcp.json",), ".junie/mcp/mcp.json"),
        HostProgram(
            "copilot-cli", "GitHub Copilot CLI", ("{home}/.copilot/mcp-config.json",),
            dialect=Dialect(
                types=("local", "http", "sse"), notation=GEMINI, looks_up_in=("env",), always={"tools": ["*"]},
                tools=ToolKeys("tools", everything=("*",)),
            ),
            is_desktop=False,
        ),
        HostProgram(
            "kiro", "Kiro", ("{home}/.kiro/settings/mcp.json",), ".kiro/settings/mcp.json",
            dialect=Dialect(disabled="disabled", notation=KIRO, looks_up_in=("env", "headers"), tools=_DISABLED),
        ),
        HostProgram("warp", "Warp", ("{home}/.warp/.mcp.json",)),
        HostProgram("amp", "Amp", ("{dot}/amp/settings.json",), layout=Layout("json", ("amp.mcpServers",))),
        HostProgram(
            "antigravity", "Antigravity",
            ("{home}/.gemini/antigravity/mcp_config.json", "{home}/.gemini/config/mcp_config.json"),
            dialect=Dialect(url="serverUrl"),
        ),
        HostProgram(
            "qwen", "Qwen Code", ("{home}/.qwen/settings.json",), ".qwen/settings.json",
            dialect=Dialect(
                url="httpUrl", url_means="sse", cwd="cwd", timeout=("timeout", 1000), notation=QWEN, tools=_AS_OURS,
                oauth=_OF_GEMINI,
            ),
            is_desktop=False,
        ),
        HostProgram("trae", "Trae", ("linux:{dot}/trae/mcp.json", "{config}/Trae/User/mcp.json")),
        HostProgram(
            "mcporter", "mcporter", ("{home}/.mcporter/mcporter.json", "{home}/.mcporter/mcporter.jsonc"),
            "config/mcporter.json",
            dialect=Dialect(
                cwd="cwd", lifecycle="lifecycle", notation=SHELL,
                tools=ToolKeys("allowedTools", "blockedTools", is_exclusive=True),
            ),
            is_desktop=False,
        ),
        HostProgram(
            "inspector", "MCP Inspector", ("{home}/.mcp-inspector/mcp.json",),
            dialect=Dialect(types=("stdio", "streamable-http", "sse")), is_desktop=False,
        ),
        HostProgram(
            "mcpm", "mcpm", ("{dot}/mcpm/servers.json",), layout=Layout("json", ()), is_desktop=False,
        ),
        # It has only handlers; a system reads and writes its file.
        HostProgram(
            "prototype", "az prototype", (), "prototype.yaml", Layout("yaml", ("mcp", "servers"), listed=True),
            Dialect(command="", remote=False, names_itself=True), is_desktop=False,
        ),
    )
}  # fmt: skip

# The host whose format an unknown host's file probably has, by the key that contains its servers.
BY_KEY = {
    "mcpServers": "claude-code", "servers": "vscode", "mcp_servers": "codex", "context_servers": "zed",
    "extensions": "goose", "mcp": "opencode", "amp.mcpServers": "amp",
}  # fmt: skip
