"""The completion scripts for bash, zsh, fish and PowerShell, where each shell looks for them, and their installation
and removal.

They are thin: the program computes the candidates. Writes a file where the shell reads it by itself; otherwise also one
marked block in the user's start file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.files import open_file
from gaia_mcp.storage.atomic import locked, snapshot_of, write_bytes

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine

BEGIN, END = b"# >>> gaia mcp completion >>>\n", b"# <<< gaia mcp completion <<<\n"
# Any line ends, because an editor may have changed them.
_BLOCK = re.compile(re.escape(BEGIN.strip()) + rb"\r?\n.*?" + re.escape(END.strip()) + rb"\r?(?:\n|\Z)", re.DOTALL)
# Begins the first or second line of each of our scripts, and of no other script.
OURS = b"# Completion of gaia and gmcp for "
_BEGINNING_BYTES = 200
# A start file that takes longer is waiting for input.
ASKING_SECONDS = 10
# The files in `completions/`, and the shell that each is for. Two shells look for a file named like each command.
FILES = {
    "gaia.bash": "bash",
    "gmcp.bash": "bash",
    "_gaia": "zsh",
    "gaia.fish": "fish",
    "gmcp.fish": "fish",
    "gaia.ps1": "powershell",
}
BASH = r"""# Completion of gaia and gmcp for bash. Written by: gaia mcp generate

_gaia_mcp_complete() {
    local reply program=${1//\\/}
    [[ $program == "~/"* ]] && program=$HOME/${program#"~/"}
    # An alias of it.
    type -P -- "$program" >/dev/null || program=gaia
    COMPREPLY=()
    while IFS= read -r reply; do
        COMPREPLY+=("$reply")
    done < <(COLUMNS=$COLUMNS COMP_TYPE=$COMP_TYPE "$program" complete bash -- \
        "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null </dev/null)
    # The first line says whether more belongs to the same word.
    [[ ${COMPREPLY[0]} == open ]] && compopt -o nospace 2>/dev/null
    COMPREPLY=("${COMPREPLY[@]:1}")
}

# The order says what is required; bash before 4.4 knows only its own.
complete -o nosort -F _gaia_mcp_complete gaia gmcp 2>/dev/null || complete -F _gaia_mcp_complete gaia gmcp
"""
ZSH = r"""#compdef gaia gmcp
# Completion of gaia and gmcp for zsh. Written by: gaia mcp generate

_gaia() {
    local reply kept key=${PREFIX%%=*} quote=$compstate[quote] program=${(Q)words[1]}
    local -a whole open
    if [[ -z $quote ]]; then
        # The name of an argument is not shown again with each of its values.
        [[ $PREFIX == *=* && $key != *[^[:alnum:]_:-]* ]] && kept=$key=
        # With a backslash before it, it would be no home any more.
        [[ ${PREFIX#$kept} == '~'*/* ]] && kept+=${${PREFIX#$kept}%%/*}/
    fi
    [[ $program == '~/'* ]] && program=$HOME/${program#'~/'}
    # An alias of it.
    whence -p -- $program >/dev/null || program=gaia
    while IFS= read -r reply; do
        case $reply in
            (+*) open+=("${${reply#?}#$kept}") ;;
            (*) whole+=("${${reply#?}#$kept}") ;;
        esac
    done < <("$program" complete zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q):-$quote$PREFIX$quote}" \
        2>/dev/null </dev/null)
    IPREFIX+=$kept PREFIX=${PREFIX#$kept}
    # The order says what is required; grouped by their descriptions, they would lose it.
    zstyle ":completion:$curcontext:*" list-grouped false
    (( $#whole )) && _describe -V -t values value whole
    (( $#open )) && _describe -V -t words word open -S ''
    (( $#whole + $#open ))
}

if [[ $funcstack[1] == _gaia ]]; then
    _gaia "$@"
else
    compdef _gaia gaia gmcp
fi
"""
# fish prints the token before each candidate that continues it, as it does for `ls --color=`; if all candidates replace
# the token, fish prints each of them in full. So values are listed alone only as separate tokens: `--style formal`.
FISH = r"""# Completion of gaia and gmcp for fish. Written by: gaia mcp generate

function __gaia_mcp_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    # An alias of it.
    command -q -- $program; or set program gaia
    command -q -- $program; or return
    command $program complete fish -- $words "$current" 2>/dev/null </dev/null
end

complete -c gaia -f -k -a '(__gaia_mcp_complete)'
complete -c gmcp -f -k -a '(__gaia_mcp_complete)'
"""
POWERSHELL = r"""# Completion of gaia and gmcp for PowerShell. Written by: gaia mcp generate

Register-ArgumentCompleter -Native -CommandName @("gaia", "gmcp") -ScriptBlock {
    param($word, $line, $cursor)
    $words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object {
        if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { "$_" }
    })
    $before = @($words | Select-Object -Skip 1)
    $encoding = [Console]::OutputEncoding
    try {
        # On Windows it would be that of the console, an old code page.
        [Console]::OutputEncoding = [System.Text.UTF8Encoding]::new()
        # An empty word would not arrive, so there is a dot before it.
        & $words[0] complete powershell '--' @before ('.' + $word.Trim('"', "'")) 2>$null | ForEach-Object {
            $value, $description = $_ -split "`t", 2
            $quoted = "'" + $value.Replace("'", "''") + "'"
            $typed = if ($value -match '[\s''"`$;,(){}&|<>@#]') { $quoted } else { $value }
            # The name of an argument is not shown again with each of its values.
            $listed = $value -replace '^[\w-]+:?=(?=.)'
            [System.Management.Automation.CompletionResult]::new($typed, $listed, 'ParameterValue', $description)
        }
    } finally {
        [Console]::OutputEncoding = $encoding
    }
}
"""
# The script of each shell.
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH, "powershell": POWERSHELL}


class Places(NamedTuple):
    """For one shell: the paths of the script, the start file and the lines that it needs, if any, and the command that
    makes a running shell read them.
    """

    scripts: list[Path]
    start_file: Path | None
    lines: str
    then: str


def places(line: CommandLine, shell: str, environ: Mapping[str, str]) -> Places:
    """The places for the user of `environ`. Raises `ConfigFileError` if PowerShell prints no profile."""
    home = Path(environ.get("HOME") or Path.home())
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "bash":
        folder = Path(environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions"
        start_file = home / (".bash_profile" if sys.platform == "darwin" else ".bashrc")
        # Bash reads the folder only if bash-completion is installed and the start file loads it.
        said = _said("bash", ["-ic", 'echo "completion:$BASH_COMPLETION_VERSINFO"'], environ)
        reads_folder = bool(said.partition("completion:")[2])
        quoted = shlex.quote(str(folder / "gaia"))
        lines = f"[[ -r {quoted} ]] && source {quoted}\n"
        return Places([folder / "gaia", folder / "gmcp"], None if reads_folder else start_file, lines, "exec bash")
    if shell == "zsh":
        path = data / "gaia-mcp" / "_gaia"
        quoted = shlex.quote(str(path))
        # Loading it by `fpath` would depend on the order of commands in the start file.
        lines = (
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n"
            f"[[ -r {quoted} ]] && source {quoted}\n"
        )
        return Places([path], Path(environ.get("ZDOTDIR") or home) / ".zshrc", lines, "exec zsh")
    if shell == "fish":
        # Not in fish's folder for completions, which is read only for commands on PATH.
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "conf.d"
        return Places([folder / "gaia-mcp.fish"], None, "", "exec fish")
    path = data / "gaia-mcp" / "gaia.ps1"
    profile = _said("pwsh", ["-NoProfile", "-Command", "$PROFILE"], environ) or _said(
        "powershell", ["-NoProfile", "-Command", "$PROFILE"], environ
    )
    if not profile:
        raise ConfigFileError(path, "cannot be used: PowerShell did not print the path of its profile",
                              hint=f"print the script with: {line.to_type('completion', 'powershell')}")  # fmt: skip
    quoted = "'" + str(path).replace("'", "''") + "'"
    return Places([path], Path(profile), f". {quoted}\n", ". $PROFILE")


def install(shell: str, there: Places) -> list[Path]:
    """Write the script, and the block if it is needed. Returns the changed files. Raises `ConfigFileError` for a file
    that another program wrote, or that cannot be written.
    """
    data = SCRIPTS[shell].encode()
    for path in there.scripts:
        _check_ours(path)
    changed = [path for path in there.scripts if _put(path, data, new_mode=0o644)]
    if there.start_file is not None:
        with locked(there.start_file):
            standing = snapshot_of(there.start_file)
            rest = _without_block(there.start_file, standing.data)
            gap = b"" if not rest or rest.endswith(b"\n") else b"\n"
            wanted = rest + gap + BEGIN + there.lines.encode() + END
            # A block that is up to date stays where it is, since the user may have moved it.
            if BEGIN + there.lines.encode() + END not in standing.data:
                write_bytes(there.start_file, standing, wanted, standing.mode if standing.exists else 0o644)
                changed.append(there.start_file)
    return changed


def uninstall(there: Places, start_files: list[Path]) -> list[Path]:
    """Remove the script and the block. Returns the changed files. Raises `ConfigFileError`."""
    changed = []
    for path in start_files:
        if not path.exists():
            continue
        with locked(path):
            standing = snapshot_of(path)
            rest = _without_block(path, standing.data)
            if rest != standing.data:
                write_bytes(path, standing, rest, standing.mode)
                changed.append(path)
                if not rest and not path.is_symlink():
                    path.unlink()  # The file did not exist before the installation, or was empty.
    for path in there.scripts:
        if path.exists():
            _check_ours(path)
            try:
                path.unlink()
            except OSError as cause:
                raise ConfigFileError(path, f"cannot be removed: {cause.strerror}") from cause
            changed.append(path)
            with contextlib.suppress(OSError):
                path.parent.rmdir()  # `rmdir` removes only an empty folder.
    return changed


def start_files(shell: str, there: Places, environ: Mapping[str, str]) -> list[Path]:
    """Every start file that may contain our block, also one from before bash-completion was installed."""
    home = Path(environ.get("HOME") or Path.home())
    before = [home / ".bashrc", home / ".bash_profile"] if shell == "bash" else []
    return list(dict.fromkeys([*before, *([there.start_file] if there.start_file is not None else [])]))


def _put(path: Path, data: bytes, *, new_mode: int) -> bool:
    """Write `data` to `path`. Returns whether the file changed."""
    with locked(path):
        standing = snapshot_of(path)
        if standing.data == data:
            return False
        write_bytes(path, standing, data, standing.mode if standing.exists else new_mode)
    return True


def _check_ours(path: Path) -> None:
    try:
        with open_file(path) as file:
            is_ours = OURS in file.read(_BEGINNING_BYTES)
    except FileNotFoundError:
        return
    except OSError as cause:
        raise ConfigFileError(path, f"cannot be read: {cause.strerror}") from cause
    if not is_ours:
        raise ConfigFileError(
            path, "was not written by gaia", hint="it is another program's completion; move it away first"
        )


def _without_block(path: Path, data: bytes) -> bytes:
    rest = _BLOCK.sub(b"", data)
    if BEGIN.strip() in rest:
        raise ConfigFileError(
            path, "has the first line of gaia's block, but not the last", hint="remove the block by hand"
        )
    return rest


def _said(program: str, arguments: list[str], environ: Mapping[str, str]) -> str:
    """The last line that a shell prints; empty if the shell is not installed or does not answer in time."""
    import subprocess

    try:
        # In a new session, because an interactive shell would take control of the terminal.
        done = subprocess.run(
            [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=dict(environ),
            timeout=ASKING_SECONDS, start_new_session=True, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = os.fsdecode(done.stdout).strip().splitlines()
    return lines[-1].strip() if lines else ""
