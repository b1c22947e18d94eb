"""A server in use: from its entry to a process that has reliably ended.

A session covers one server for as long as one program uses it. It starts the server, gives each request its deadline,
writes the server's stderr to a log, caches the server's lists for programs that do not connect, and stops the server
however its use ends. It prints nothing: output for the user goes to an `Observer`.

`session` is the interface for every front, and `observer` the interface that a front implements. `prestart` starts a
server before the rest of the program is loaded, and `parallel` uses many at once. `stderr_log` and `remembered` store
what outlives a session. `recorder` relays between a server and another program that uses it.
"""
