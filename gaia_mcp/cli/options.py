"""The options of commands, declared once: those that commands share, those of `add` and `edit` that describe an entry,
and the command lines of other programs that `add` accepts.

A command's module lists its common options in `COMMON`, in the order of its help page; `--quiet` comes with `--json`,
`--max-chars` and `--raw` with `-o`, the other options for answering a server with `--answer`, `--token-env` and `--env`
with `--header`, and `--debug` with every command. A command with the parameter `invocation` receives their values.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from inspect import Parameter
from itertools import dropwhile
from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import listed_tools, only_server, revisions, scope_agents, servers, stage_names
from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS

# A larger value is a typing error: neither a build nor a person waits a day.
MAX_TIMEOUT_SECONDS = 86_400.0
# The group of the options that commands share, where those of a command's own are in groups.
COMMON_OPTIONS = "Common options"
_SERVER_HELP = "Server: a name, command line, URL or agent; or -- COMMAND at the end."
# Programs whose `mcp add` has nearly the same form, and this program.
_PROGRAMS = frozenset(("claude", "codex", "gemini", "qwen", "amp", "droid", "copilot", "opencode", "gaia", "gmcp"))
_VERBS = ("add", "add-json")
# Editors that take the entry, including its name, as the value of an option.
_EDITORS = frozenset(("code", "code-insiders", "cursor", "codium", "windsurf"))
_PROMPT = re.compile(r"\s*(?:[$%>]\s+)?")
# A variable for the other program alone, such as `MCP_CLIENT_SECRET=…`: a secret, to which an entry only refers.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,99}=.*", re.DOTALL)


def _option(parameter: str, kind: object, default: object, *flags: str, **about: Any) -> Parameter:
    about["rich_help_panel"] = COMMON_OPTIONS
    annotation = Annotated[kind, typer.Option(*flags, **about)]  # type: ignore[valid-type]
    return Parameter(parameter, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def timeout_option(text: str) -> Parameter:
    """`--timeout` with this help text."""
    return _option(
        "timeout", float | None, None, "--timeout",
        metavar="SECONDS", help=text, show_default=False, min=0.01, max=MAX_TIMEOUT_SECONDS,
    )  # fmt: skip


CONFIG = _option(
    "config", Path | None, None, "--config",
    metavar="PATH", help="Use this configuration file, and no project's.", show_default=False,
)  # fmt: skip
JSON = _option("as_json", bool, False, "--json", help="Print the result as JSON.")
QUIET = _option("quiet", bool, False, "--quiet", help="Print only the result and errors.")
DEBUG = _option("debug", bool, False, "--debug", help="Show tracebacks, all messages, and the stderr of servers.")
TIMEOUT = timeout_option("Limit the time of all steps together. Default: 30, or the entry's, per request.")
FRESH = _option("fresh", bool, False, "--fresh", help="Start the server, also if it is held.")
STAGE = _option(
    "stage", str | None, None, "--stage",
    metavar="STAGE", help="Use only what is available at this stage.", show_default=False, autocompletion=stage_names,
)  # fmt: skip
AGENT = _option(
    "agent", str | None, None, "--agent",
    metavar="AGENT", help="Use only what is available to this agent.", show_default=False, autocompletion=scope_agents,
)  # fmt: skip
OUTPUT = _option(
    "output", str | None, None, "-o", "--output",
    metavar="FILE", help="Save images and other files as FILE, in DIR/, or - for stdout.", show_default=False,
)  # fmt: skip
OUTPUT_DIR = _option(
    "output_dir", Path | None, None, "--output-dir",
    metavar="DIR", help="The same as -o DIR/.", show_default=False, autocompletion=folder_names,
)  # fmt: skip
MAX_CHARS = _option(
    "max_chars", int | None, None, "--max-chars",
    metavar="N", help="Print at most N characters, and how many were left out.", min=1, show_default=False,
)  # fmt: skip
RAW = _option("raw", bool, False, "--raw", help="Do not add a newline to text in a pipe.")
ANSWER = _option(
    "answer", list[str] | None, None, "--answer",
    metavar="KEY=VALUE", help="Answer questions: a field of a form, or HOST=accept for a URL.", show_default=False,
)  # fmt: skip
ANSWERS = _option(
    "answers", str | None, None, "--answers",
    metavar="FILE", help="Take answers from a JSON object in a file, or - for stdin.", show_default=False,
)  # fmt: skip
DECLINE = _option("decline", bool, False, "--decline", help="Decline the questions that have no answer.")
ROOT = _option(
    "root", list[str] | None, None, "--root",
    metavar="DIR", help="Offer this folder as a root.", show_default=False, autocompletion=folder_names,
)  # fmt: skip
SAMPLE = _option(
    "sample", str | None, None, "--sample",
    metavar="COMMAND", help="Answer sampling requests with this program.", show_default=False,
)  # fmt: skip
# What `add` saves in an entry, for a server that has none.
HEADER = _option(
    "header", list[str] | None, None, "--header", "-H",
    metavar="K:V", help="Send this header to a URL given in place of a name.", show_default=False,
)  # fmt: skip
TOKEN_ENV = _option(
    "token_env", str | None, None, "--token-env",
    metavar="VAR", help="Send such a URL the bearer token in this variable.", show_default=False,
)  # fmt: skip
ENV = _option(
    "env", list[str] | None, None, "--env", "-e",
    metavar="K[=V]", help="Set this variable for a command given in place of a name.", show_default=False,
)  # fmt: skip
ServerArgument = Annotated[str, typer.Argument(metavar="NAME", help=_SERVER_HELP, autocompletion=servers)]
# For a command that takes nothing else; several words are a command after two dashes.
OnlyServerArgument = Annotated[list[str], typer.Argument(metavar="NAME", help=_SERVER_HELP, autocompletion=only_server)]
OptionalServerArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]", help=_SERVER_HELP, autocompletion=only_server, show_default=False),
]
ServersArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Servers: names, command lines, URLs or agents. Default: all that are enabled.",
        autocompletion=servers,
        show_default=False,
    ),
]


def lock_file_option(group: str | None = None) -> Any:
    """`--lock-file` in this group of a help page."""
    return typer.Option(
        "--lock-file", metavar="PATH", help="Use this lock file. Default: mcp.lock.json in the working folder.",
        show_default=False, rich_help_panel=group,
    )  # fmt: skip


LockFileOption = Annotated[Path | None, lock_file_option()]
CompatibleOption = Annotated[
    bool,
    typer.Option("--compatible", help="With --locked: allow changes that cannot break a caller."),
]


# Options that are implied by others.
_WITH = {
    "as_json": (QUIET,),
    "output": (OUTPUT_DIR, MAX_CHARS, RAW),
    "answer": (ANSWERS, DECLINE, ROOT, SAMPLE),
    "header": (TOKEN_ENV, ENV),
}


def with_implied(common: Sequence[Parameter]) -> list[Parameter]:
    """`common`, each option followed by those it implies, and `--debug` at the end."""
    implied = [option for each in common for option in (each, *_WITH.get(each.name, ()))]
    return [*implied, DEBUG]


def _entry_option(*names: str, metavar: str | None = None, about: str, **more: Any) -> Any:
    """An option without a default of its own."""
    return typer.Option(*names, metavar=metavar, help=about, show_default=False, **more)


RegistryOption = Annotated[
    str | None,
    _entry_option(
        "--registry",
        metavar="URL",
        about="Use this registry of servers. Default: GAIA_MCP_REGISTRY, or the official one.",
    ),
]
UrlOption = Annotated[str | None, _entry_option("--url", metavar="URL", about="Connect to this URL over HTTP.")]
EnvOption = Annotated[
    list[str] | None,
    _entry_option(
        "--env", "-e", metavar="K[=V]", about="Set a variable for the server; K alone stores the reference ${K}."
    ),
]
InheritOption = Annotated[
    bool | None,
    _entry_option(
        "--inherit-env/--no-inherit-env", about="Pass on all variables, or only those that every server gets."
    ),
]
HeaderOption = Annotated[
    list[str] | None, _entry_option("--header", "-H", metavar="K:V", about="Send this header to a URL.")
]
TokenEnvOption = Annotated[
    str | None,
    _entry_option("--token-env", metavar="VAR", about="Send a URL the bearer token in this variable."),
]
# The options with which other programs set the authorization of a URL, for lines that are pasted.
ClientIdOption = Annotated[str | None, typer.Option("--client-id", hidden=True)]
ClientSecretOption = Annotated[bool, typer.Option("--client-secret", hidden=True)]
CallbackPortOption = Annotated[int | None, typer.Option("--callback-port", min=1, max=65535, hidden=True)]
BearerTokenOption = Annotated[str | None, typer.Option("--bearer-token-env-var", hidden=True)]
CwdOption = Annotated[
    Path | None,
    _entry_option("--cwd", metavar="DIR", about="Start the server in this folder.", autocompletion=folder_names),
]
RequestTimeoutOption = Annotated[
    float | None,
    _entry_option(
        "--request-timeout", metavar="SECONDS", about="Save this time limit for each request.",
        min=0.01, max=MAX_ENTRY_TIMEOUT_SECONDS,
    ),
]  # fmt: skip
OnlyOption = Annotated[
    list[str] | None,
    _entry_option(
        "--only",
        metavar="TOOL",
        about="Use only these tools: names, or patterns such as 'read_*'.",
        autocompletion=listed_tools,
    ),
]
ExceptOption = Annotated[
    list[str] | None,
    _entry_option(
        "--except",
        metavar="TOOL",
        about="Do not use these tools: names, or patterns such as '*_delete'.",
        autocompletion=listed_tools,
    ),
]
ProtocolOption = Annotated[
    str | None,
    _entry_option(
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
KeepAliveOption = Annotated[
    str | None,
    _entry_option(
        "--keep-alive", metavar="[=TIME]", about="Keep it open until it is unused for TIME, such as 30m; alone: 15m."
    ),
]  # fmt: skip
StageOption = Annotated[
    list[str] | None,
    _entry_option("--stage", metavar="STAGE", about="Restrict its tools to these stages.", autocompletion=stage_names),
]
AgentOption = Annotated[
    list[str] | None,
    _entry_option("--agent", metavar="AGENT", about="Restrict its tools to these agents.", autocompletion=scope_agents),
]
SettingOption = Annotated[
    list[str] | None,
    _entry_option(
        "--setting", metavar="K=JSON", about="Pass this to a handler or agent; a value that is not JSON is text."
    ),
]
NoCheckOption = Annotated[bool, typer.Option("--no-check", help="Save without connecting.")]


def own_words(args: Sequence[str]) -> list[str]:
    """The words after `add`, without a leading command such as `claude mcp add`: `time -- uvx x` for `claude mcp add
    time -- uvx x`, given as several words or as one.
    """
    for at, word in enumerate(args):
        if word == "--":
            break
        if (inner := _inside(args[at:])) is not None:
            return [*args[:at], *inner]
        if not word.startswith("-"):
            line = _split(word)
            inner = _inside(line) if len(line) > 1 else None
            # The words after the quoted line are our options. They must come before the dashes in the line.
            return [*args[:at], *args[at + 1 :], *inner] if inner is not None else list(args)
    return list(args)


def _inside(words: Sequence[str]) -> list[str] | None:
    match list(dropwhile(_ASSIGNMENT.fullmatch, words)):
        case [program, "mcp", verb, *rest] if program in _PROGRAMS and verb in _VERBS:
            return rest
        case [program, "--add-mcp", entry] if program in _EDITORS:
            return [entry]
    return None


def _split(line: str) -> list[str]:
    """The words of a command line that may begin with a shell prompt and contain escaped line breaks."""
    try:
        return shlex.split(_PROMPT.sub("", line, count=1).replace("\\\n", " "))
    except ValueError:
        return []
