"""Checking values against schemas that others have written, in bounded time.

The validator is native code: while it works no other thread of the process runs, and no signal is handled. So it works
in this process only where it is certain to be done in a moment, which `toolspec.cost` calculates; that is the usual
case. Otherwise it works in a process of its own, which is stopped when the time is up, or with the caller.
"""
