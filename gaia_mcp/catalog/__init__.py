"""A registry's documents about servers, and the entries that are made of them.

A registry lists servers by names such as `io.github.owner/server`. Its document about one version of a server, the
format of a `server.json` file, has packages, each of which becomes a command line, and remotes, each a URL. What a
document leaves to the user is an *input*: an argument, a variable, a header or a part of one. A document is written by
a stranger: its texts never reach a shell, it cannot refer to variables of the user's environment, and it cannot have
the program that runs a package, such as npx, do anything but run that package.

`documents` reads the format, `inputs` fills in inputs, and `packages` makes entries: none of them does I/O. `registry`
is the client of the API.
"""
