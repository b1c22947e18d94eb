"""Servers that are reached over HTTP."""
