"""Validating values against untrusted schemas, in bounded time.

The validator is native code: while it runs, no other thread of the process runs, and no signal is handled. So it runs
in this process only if `toolspec.cost` guarantees that it finishes in a moment; that is the usual case. Otherwise it
runs in a separate process, which is stopped when the time is up, or with the caller.
"""

# The default time limit; also at most half of the remaining time, since the call itself needs some too.
CHECK_SECONDS = 3.0
