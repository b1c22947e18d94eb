"""The manual: pages made of the commands themselves, and of prose that lies in the text files beside this module.

`gaia-mcp.txt` and `gaia-mcp-servers.txt` are the pages; `commands/NAME.txt` is what the help of a command leaves out,
ending, where the command has `--json`, with a line `JSON:` and the shape of its answer, or `JSON LINES:` and that of
each line. A new command brings such a file along, and its runs in `tests/cli/manual/test_shapes.py`. `markup.py` says
how prose is written, and the page itself, under JSON, how shapes are.
"""
