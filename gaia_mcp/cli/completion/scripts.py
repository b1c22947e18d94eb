"""The completion scripts for bash, zsh, fish and PowerShell. They are thin: the program computes the candidates.

Each script runs the program as it was typed, so that a program in a virtual environment is found without PATH.
"""

from __future__ import annotations

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
