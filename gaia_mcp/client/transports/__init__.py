"""Ways to reach a server."""
