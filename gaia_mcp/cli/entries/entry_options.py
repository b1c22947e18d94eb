"""The options of `add` and `edit` that describe a server's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import listed_tools, revisions, scope_agents, stage_names
from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS


def _option(*names: str, metavar: str | None = None, about: str, **more: Any) -> Any:
    """An option without a default of its own."""
    return typer.Option(*names, metavar=metavar, help=about, show_default=False, **more)


RegistryOption = Annotated[
    str | None,
    _option(
        "--registry",
        metavar="URL",
        about="Use this registry of servers. Default: GAIA_MCP_REGISTRY, or the official one.",
    ),
]
UrlOption = Annotated[str | None, _option("--url", metavar="URL", about="Connect to this URL over HTTP.")]
EnvOption = Annotated[
    list[str] | None,
    _option("--env", "-e", metavar="K[=V]", about="Set a variable for the server; K alone stores the reference ${K}."),
]
InheritOption = Annotated[
    bool | None,
    _option("--inherit-env/--no-inherit-env", about="Pass on all variables, or only those that every server gets."),
]
HeaderOption = Annotated[list[str] | None, _option("--header", "-H", metavar="K:V", about="Send this header to a URL.")]
TokenEnvOption = Annotated[
    str | None,
    _option("--token-env", metavar="VAR", about="Send a URL the bearer token in this variable."),
]
# The options with which other programs set the authorization of a URL, for lines that are pasted.
ClientIdOption = Annotated[str | None, typer.Option("--client-id", hidden=True)]
ClientSecretOption = Annotated[bool, typer.Option("--client-secret", hidden=True)]
CallbackPortOption = Annotated[int | None, typer.Option("--callback-port", min=1, max=65535, hidden=True)]
BearerTokenOption = Annotated[str | None, typer.Option("--bearer-token-env-var", hidden=True)]
CwdOption = Annotated[
    Path | None,
    _option("--cwd", metavar="DIR", about="Start the server in this folder.", autocompletion=folder_names),
]
RequestTimeoutOption = Annotated[
    float | None,
    _option(
        "--request-timeout", metavar="SECONDS", about="Save this time limit for each request.",
        min=0.01, max=MAX_ENTRY_TIMEOUT_SECONDS,
    ),
]  # fmt: skip
OnlyOption = Annotated[
    list[str] | None,
    _option(
        "--only",
        metavar="TOOL",
        about="Use only these tools: names, or patterns such as 'read_*'.",
        autocompletion=listed_tools,
    ),
]
ExceptOption = Annotated[
    list[str] | None,
    _option(
        "--except",
        metavar="TOOL",
        about="Do not use these tools: names, or patterns such as '*_delete'.",
        autocompletion=listed_tools,
    ),
]
ProtocolOption = Annotated[
    str | None,
    _option(
        "--protocol", metavar="REVISION", about="Use only this revision of MCP with it, such as 2025-11-25.",
        autocompletion=revisions,
    ),
]  # fmt: skip
TrustHintsOption = Annotated[
    bool | None,
    typer.Option(
        "--trust-hints/--no-trust-hints",
        help="Trust its tool annotations, such as readOnlyHint.",
        show_default=False,
    ),
]
StageOption = Annotated[
    list[str] | None,
    _option("--stage", metavar="STAGE", about="Restrict its tools to these stages.", autocompletion=stage_names),
]
AgentOption = Annotated[
    list[str] | None,
    _option("--agent", metavar="AGENT", about="Restrict its tools to these agents.", autocompletion=scope_agents),
]
SettingOption = Annotated[
    list[str] | None,
    _option("--setting", metavar="K=JSON", about="Pass this to a handler or agent; a value that is not JSON is text."),
]
NoCheckOption = Annotated[bool, typer.Option("--no-check", help="Save without connecting.")]
