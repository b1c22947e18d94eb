"""Handlers, the Python plug-ins of az prototype: their base classes and loading, and the manager that calls them.

`gaia_mcp.handlers` has the public names, and shows their use.
"""
