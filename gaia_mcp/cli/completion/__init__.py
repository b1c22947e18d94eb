"""Completion with TAB: the candidates for a line, the scripts of the shells, and how these are installed."""
