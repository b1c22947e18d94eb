"""`prototype.yaml`, az prototype's file with the handlers of a project, and its secrets file in the same folder.

The main file lists servers under `mcp.servers`; `prototype.secrets.yaml` has the same format and overrides it: servers
are merged by name, member by member. `listing` converts both to our entries, and decides which values belong in the
secrets file; `files` reads both, and writes changed entries as changes of the texts.

A server without a command, a URL, a handler or an agent is a handler: the file `NAME_handler.py` in `.prototype/mcp`
beside the main file. `enabled: false` is our `disabled`.
"""
