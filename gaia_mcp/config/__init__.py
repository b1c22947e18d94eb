"""The user's configuration: entries, the file that holds them, and the approved projects.

An entry is one server as written in a file. It is parsed into a `ServerEntry`, whose target is a command, a URL, a
handler or an agent. Variables and secrets stay references until the entry is resolved, when it is used.
"""
