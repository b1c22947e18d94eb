"""`gaia mcp completion`: install or print the completion script of a shell."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import shell_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import JSON

ShellArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[bash|zsh|fish|powershell]",
        help="Default: the current shell.",
        show_default=False,
        autocompletion=shell_names,
    ),
]
InstallOption = Annotated[bool, typer.Option("--install", help="Install the script where that shell looks for it.")]
UninstallOption = Annotated[bool, typer.Option("--uninstall", help="Remove the installed script.")]

COMMON = (JSON,)


def completion(
    invocation: Invocation,
    shell: ShellArgument = None,
    install: InstallOption = False,
    uninstall: UninstallOption = False,
) -> None:
    """Complete commands, servers, tools and arguments with TAB.

    Prints the script for a shell, or installs it for this user. A start file such as ~/.zshrc is changed only where
    the shell would not find the script otherwise, in one marked block.

    Example: gaia mcp completion --install
    """
    screen = invocation.screen
    from gaia_mcp.cli.completion.installing import SCRIPTS
    from gaia_mcp.cli.status import UsageError

    if install and uninstall:
        raise UsageError("--install and --uninstall cannot be used together", hint="choose one of them")
    chosen = _chosen(shell)
    if not install and not uninstall:
        if screen.as_json:
            screen.done("", shell=chosen, script=SCRIPTS[chosen])
        else:
            screen.write_text(SCRIPTS[chosen])
        return
    from gaia_mcp.cli.completion import installing as shellfiles
    from gaia_mcp.core.paths import shown

    there = shellfiles.places(screen.line, chosen, os.environ)
    if install:
        changed = shellfiles.install(chosen, there)
        then = f"; start a new {chosen} to use it, or type: {there.then}"
        nothing = f"completion for {chosen} is already installed"
    else:
        changed = shellfiles.uninstall(there, shellfiles.start_files(chosen, there, os.environ))
        then, nothing = "", f"completion for {chosen} is not installed"
    verb = "wrote" if install else "removed it from"
    said = f"{verb} {', '.join(shown(path) for path in changed)}" if changed else nothing
    facts = {"shell": chosen, "changed": [str(path) for path in changed]}
    screen.done(said + then, **facts, **({"next": there.then} if install else {}))


def _chosen(shell: str | None) -> str:
    """The shell that is named, or the parent shell. Raises `UsageError` for an unknown one."""
    from gaia_mcp.cli.completion.installing import SCRIPTS
    from gaia_mcp.cli.status import UsageError

    hint = f"name one of: {', '.join(SCRIPTS)}"
    if shell is None:
        import shellingham  # type: ignore[import-untyped]

        try:
            shell = shellingham.detect_shell()[0]
        except shellingham.ShellDetectionFailure:
            shell = os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119
            if not shell:
                raise UsageError("this shell could not be detected", hint=hint) from None
    shell = "powershell" if shell == "pwsh" else shell
    if shell not in SCRIPTS:
        raise UsageError(f"there is no completion for {shell!r}", hint=hint)
    return shell
