"""The files of other MCP hosts: where they are, how they hold servers, and how one server in them is changed.

`known` lists the hosts, `places` finds their files, `documents` reads and changes a text by `jsonc`, `toml_text` or
`yaml_text`, `files` does so for a file. `reading` and `writing` translate one entry, `variables` its references. A
change keeps every other character of a file.
"""
