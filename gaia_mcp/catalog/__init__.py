"""A registry's documents about servers, and the entries that are generated from them.

A registry lists servers by names such as `io.github.owner/server`. Its document about one version of a server, in the
format of a `server.json` file, has packages, each of which becomes a command line, and remotes, each a URL. A value
that the user provides is an *input*: an argument, a variable, a header or a part of one. Documents are untrusted: their
texts never reach a shell, they cannot refer to variables of the user's environment, and they cannot make the program
that runs a package, such as npx, do anything but run that package.

`documents` reads the format, and `packages` fills in inputs and generates entries: neither does I/O.
`registry` is the client of the API.
"""
