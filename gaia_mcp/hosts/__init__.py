"""The files of other MCP hosts: where they are, their format, and how to change one server in them.

`known` lists the hosts, `places` finds their files, `documents` reads and changes a text with `jsonc`, `toml_text` or
`yaml_text`, and `files` does so for a file. `reading` and `writing` convert one entry, `variables` its references. A
change keeps every other character of a file.
"""
