"""The files of other MCP hosts: where they are, their format, and how to change one server in them.

`known` lists the hosts, `documents` reads and changes a text as JSON with comments, TOML or YAML, and `files` finds the
files of a host, and does so for a file. `conversion` converts one entry in both directions, `dialects` its references.
A change keeps every other character of a file.
"""
