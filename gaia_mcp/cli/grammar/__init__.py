"""The command line as plain data, and one parser for it, for what must be quick: neither loads Typer.

Typer defines the commands, and parses the lines of most. Two things cannot wait the 30 ms that loading it takes: a TAB,
and a plain `call`. Both read `table.json`, which `gaia mcp generate` writes from the Typer commands, through `parsing`.
A test compares the table with the commands byte for byte, others compare what the two parsers make of the same lines.
"""
