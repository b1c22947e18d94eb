"""Exits with status 3 before a word, and says why on stderr."""

import sys

print("starting", file=sys.stderr)
print("no configuration found", file=sys.stderr)
sys.exit(3)
