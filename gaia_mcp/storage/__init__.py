"""This program's files on disk: atomic replacement, JSON files, the server cache, run logs, files of results.

Does not interpret configurations: names, values and identities are arguments.
"""
