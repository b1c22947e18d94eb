"""The manual: pages made from the commands themselves, and from the prose in the text files beside this module.

`gaia-mcp.txt` and `gaia-mcp-servers.txt` are the pages. `commands/NAME.txt` adds to the help of a command. If the
command has `--json`, the file ends with a line `JSON:` and the shape of its output, or `JSON LINES:` and the shape of
each line. A new command needs such a file, and runs in `tests/cli/manual/test_shapes.py`. `markup.py` describes how
prose is written, and the page `gaia-mcp.txt`, under JSON, how shapes are.
"""
