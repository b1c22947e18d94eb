"""`prototype.yaml`, in which az prototype keeps the handlers of a project, and the secrets file beside it.

The main file lists servers under `mcp.servers`; `prototype.secrets.yaml` has the same form, and lies over it: servers
are merged by their names, and of one server member by member. `reading` makes our entries of both, `routing` knows
which values belong into the secrets file, `planning` turns changed entries into changes of the two texts, and `files`
reads and writes the files.

A server without a command, a URL, a handler or an agent is a handler: the file `NAME_handler.py` in `.prototype/mcp`
beside the main file. `enabled: false` is our `disabled`.
"""
