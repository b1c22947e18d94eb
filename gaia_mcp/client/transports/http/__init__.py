"""Servers that are reached by HTTP."""
