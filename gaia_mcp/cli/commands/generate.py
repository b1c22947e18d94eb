"""`gaia mcp generate`: write the files of a checkout that are generated from the commands: the manual, the completion
scripts, and the table for parsing command lines without Typer.

For the developers of this package; the help does not list it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import done

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="The checkout. Default: the working folder.", show_default=False),
]
CheckOption = Annotated[bool, typer.Option("--check", help="Write nothing; fail if a file is out of date.")]

COMMON = (JSON,)


def generate(folder: Folder = None, check: CheckOption = False) -> None:
    """Write the man pages, the completion scripts and the command table of a checkout.

    They are made from the commands, and are always the same for the same commands.

    Example: gaia mcp generate --check
    """
    from gaia_mcp.errors import ConfigFileError, MCPError
    from gaia_mcp.storage.atomic import read_bytes
    from gaia_mcp.storage.output_files import put_file

    root = folder or Path()
    if not (root / "gaia_mcp" / "cli").is_dir():
        raise ConfigFileError(root.absolute(), "is not a checkout of gaia-mcp", hint="name its folder")
    wanted = {name: text.encode() for name, text in generated().items()}
    differing = [name for name, data in wanted.items() if read_bytes(root / name) != data]
    if check:
        if differing:
            problem = f"out of date: {', '.join(differing)}"
            raise MCPError(problem, hint=f"write them with: {to_type('generate')}")
        done("all files are up to date", checked=list(wanted))
        return
    for name in differing:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        put_file(root / name, wanted[name])
    done(f"wrote {', '.join(differing)}" if differing else "all files were up to date", written=differing)


def generated() -> dict[str, str]:
    """The expected content of each file, by its path within a checkout."""
    from gaia_mcp.cli.completion.scripts import FILES, SCRIPTS
    from gaia_mcp.cli.grammar.generating import table_text
    from gaia_mcp.cli.manual.pages import pages

    return {
        "gaia_mcp/cli/grammar/table.json": table_text(),
        **{f"man/{name}": text for name, text in pages().items()},
        **{f"completions/{name}": SCRIPTS[shell] for name, shell in FILES.items()},
    }
