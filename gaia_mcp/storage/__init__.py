"""Files of ours on disk: atomic replacement, JSON files, the server cache, the lock file, run logs.

Nothing here knows what a configuration means: names, values and identities are arguments.
"""
