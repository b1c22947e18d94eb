"""Serving one client over this process's standard input and output."""
