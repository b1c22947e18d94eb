"""The program from its first instruction to its last: `gaia`, `gmcp`, `python -m gaia_mcp`.

Loading Typer takes longer than most of what a command does. So the server that a `call` will need is started first,
and starts while Typer is loaded; from before that moment on, no way out leaves it running.
"""

from __future__ import annotations

import os
import sys

from gaia_mcp.cli.signals import Terminated, listen_to_signals


def main() -> None:
    """Run the program and exit."""
    _keep_standard_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            # What the terminal's encoding lacks is shown as an escape rather than ending in an exception.
            stream.reconfigure(errors="backslashreplace")
    try:
        listen_to_signals()
        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    except Terminated as terminated:
        status = 128 + terminated.number
    _leave(status)


def _run(words: list[str]) -> int:
    if words[:1] == ["call"] or words[:2] == ["mcp", "call"]:
        from gaia_mcp.cli.launch import launched_ahead

        with launched_ahead(words):
            return _commanded(words)
    return _commanded(words)


def _commanded(words: list[str]) -> int:
    from gaia_mcp.cli.app import run

    return run(words)


def _leave(status: int) -> None:
    """Exit at once: threads that wait for a server's last words have nothing more to do."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue  # Nobody reads it any more.
    os._exit(status)


def _keep_standard_descriptors() -> None:
    """If 0, 1 or 2 were closed by our caller, the next pipe would take its number: give them to nobody instead."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
