"""A server in use: from its entry to a process that has certainly ended.

A session is one server for as long as one program uses it. It starts the server, gives each request its deadline, keeps
what the server writes to stderr in a log, remembers what the server offers for programs that do not connect, and ends
the server however its use ends. It prints nothing: what a person may see goes to an `Observer`.

`session` is the surface that every front uses, and `observer` what it tells a front. `prestart` starts a server before
the rest of the program is loaded, and `parallel` uses many at once. `stderr_log` and `remembered` keep what outlives a
session. `recorder` stands between a server and another program that uses it.
"""
