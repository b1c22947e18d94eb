# Completion of gaia and gmcp for bash. Written by: gaia mcp generate

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
