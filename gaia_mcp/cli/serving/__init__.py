"""The targets of `gaia mcp serve`: an agent, handlers, or configured servers, over stdio or HTTP."""

# The groups of the options of `serve`. They come in the order of its parameters.
SERVED = "What is served"
WHERE = "Where it is served"
ACCESS = "Who may use it over HTTP"
LIMITS = "Limits and logs"
