"""This program's files on disk: atomic replacement, JSON files, the server cache, the lock file, run logs.

Does not interpret configurations: names, values and identities are arguments.
"""
