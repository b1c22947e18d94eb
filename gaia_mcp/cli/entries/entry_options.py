"""The options of `add` and `edit` that describe a server's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import listed_tools, revisions, scope_agents, stage_names
from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS

UrlOption = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Connect to this URL over HTTP.", show_default=False)
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env", "-e", metavar="K[=V]", help="Set a variable for the server; K alone stores the reference ${K}."
    ),
]
InheritOption = Annotated[
    bool | None,
    typer.Option(
        "--inherit-env/--no-inherit-env",
        help="Pass on all variables, or only those that every server gets.",
        show_default=False,
    ),
]
HeaderOption = Annotated[
    list[str] | None, typer.Option("--header", "-H", metavar="K:V", help="Send this header to a URL.")
]
CwdOption = Annotated[
    Path | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        help="Start the server in this folder.",
        show_default=False,
        autocompletion=folder_names,
    ),
]
RequestTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--request-timeout", metavar="SECONDS", min=0.01, max=MAX_ENTRY_TIMEOUT_SECONDS,
        help="Save this time limit for each of its requests.", show_default=False,
    ),
]  # fmt: skip
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="TOOL", help="Use only these tools: names, or patterns such as 'read_*'.",
        autocompletion=listed_tools,
    ),
]  # fmt: skip
ExceptOption = Annotated[
    list[str] | None,
    typer.Option(
        "--except", metavar="TOOL", help="Do not use these tools: names, or patterns such as '*_delete'.",
        autocompletion=listed_tools,
    ),
]  # fmt: skip
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--protocol", metavar="REVISION", help="Use only this revision of MCP with it, such as 2025-11-25.",
        autocompletion=revisions, show_default=False,
    ),
]  # fmt: skip
StageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stage", metavar="STAGE", help="Offer its tools only at these stages.", autocompletion=stage_names,
        show_default=False,
    ),
]  # fmt: skip
AgentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent", metavar="AGENT", help="Offer its tools only to these agents.", autocompletion=scope_agents,
        show_default=False,
    ),
]  # fmt: skip
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--setting", metavar="K=JSON", help="Give this to a handler or agent; what is not JSON is text.",
        show_default=False,
    ),
]  # fmt: skip
NoCheckOption = Annotated[bool, typer.Option("--no-check", help="Save without connecting.")]
