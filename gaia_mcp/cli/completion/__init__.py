"""Completion with TAB: the candidates for a line, the shells' scripts, and their installation."""
