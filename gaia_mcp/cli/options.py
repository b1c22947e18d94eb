"""The options that commands share, declared once.

A command's module lists its common options in `COMMON`, in the order of its help page; `--quiet` comes with `--json`,
`--max-chars` and `--raw` with `-o`, the other options for answering a server with `--answer`, `--token-env` and `--env`
with `--header`, and `--debug` with every command. A command with the parameter `invocation` receives their values.
"""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import only_server, scope_agents, servers, stage_names
from gaia_mcp.cli.completion.file_names import folder_names

if TYPE_CHECKING:
    from collections.abc import Sequence

# A larger value is a typing error: neither a build nor a person waits a day.
MAX_TIMEOUT_SECONDS = 86_400.0


def _option(parameter: str, kind: object, default: object, *flags: str, **about: Any) -> Parameter:
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
_SERVER_HELP = "Server: a name, command line, URL or agent; or -- COMMAND at the end."
ServerArgument = Annotated[str, typer.Argument(metavar="NAME", help=_SERVER_HELP, autocompletion=servers)]
# For a command that takes nothing else; several words are a command after two dashes.
OnlyServerArgument = Annotated[list[str], typer.Argument(metavar="NAME", help=_SERVER_HELP, autocompletion=only_server)]
ServersArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Servers: names, command lines, URLs or agents. Default: all that are enabled.",
        autocompletion=servers,
        show_default=False,
    ),
]


LockFileOption = Annotated[
    Path | None,
    typer.Option(
        "--lock-file", metavar="PATH", help="Use this lock file. Default: mcp.lock.json in the working folder.",
        show_default=False,
    ),
]  # fmt: skip


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
