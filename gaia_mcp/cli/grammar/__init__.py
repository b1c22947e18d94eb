"""The command line as plain data, with one parser. It is for the fast paths, and does not load Typer.

Typer defines the commands and parses most lines. Completion and a plain `call` cannot wait the 30 ms that loading Typer
takes. Both read `table.json`, which `gaia mcp generate` writes from the Typer commands, and use `parsing`. A test
compares the table with the commands byte for byte; others compare the results of the two parsers for the same lines.
"""
