# Completion of gaia and gmcp for fish. Written by: gaia mcp generate

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
