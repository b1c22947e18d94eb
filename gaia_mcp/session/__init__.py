"""A server in use: from its entry to a process that has certainly ended.

A session is one server for as long as one program uses it. It starts the server, gives each request its deadline, keeps
what the server writes to stderr in a log, remembers what the server offers for programs that do not connect, and ends
the server however its use ends. It prints nothing: what a person may see goes to an `Observer`.

The modules: `session` is the surface that every front uses; `observer` is what it tells a front; `prestart` starts a
server before the program is loaded; `parallel` uses many servers at once; `stderr_log` keeps their stderr.
"""
