"""Is fetched before it runs, as from a package index: the one that UV_INDEX_URL names, which only a proxy reaches."""

import os
import sys
import urllib.request

import _wire

index = os.environ.get("UV_INDEX_URL", "http://public.index.invalid/simple")
print(f"fetching from {index} by {os.environ.get('http_proxy', 'no proxy')}", file=sys.stderr, flush=True)
try:
    urllib.request.urlopen(index, timeout=10).close()
except OSError as problem:
    sys.exit(f"error: Failed to fetch: {problem}")
_wire.serve()
