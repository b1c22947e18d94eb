"""The program from its first instruction to its last: `gaia`, `gmcp`, `python -m gaia_mcp`.

Loading Typer takes longer than most of what a command does. So a TAB is answered without it, and the server that a
`call` needs starts while it is loaded; from before that moment on, no way out leaves that server running.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.session.prestart import Prestarted


def main() -> None:
    """Run the program and exit."""
    # What loading makes stays, and the collector would look through it every 700 objects.
    gc.set_threshold(10_000)
    _open_what_was_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What the terminal's encoding lacks is shown as an escape rather than ending in an exception.
            stream.reconfigure(errors="backslashreplace")
    if hasattr(sys.stdin, "reconfigure"):
        # What is not text is noticed where it is used.
        sys.stdin.reconfigure(errors="surrogateescape")
    words = sys.argv[1:]
    if words[:1] == ["complete"]:
        from gaia_mcp.cli.completion.answering import answer

        os._exit(answer(words[1:]))
    from gaia_mcp.cli.signals import Terminated, listen_to_signals

    try:
        listen_to_signals()
        status = _run(words)
    except KeyboardInterrupt:
        status = 130
    except Terminated as terminated:
        status = 128 + terminated.number
    try:
        _leave(status)
    except KeyboardInterrupt:
        os._exit(130)
    except Terminated as terminated:
        os._exit(128 + terminated.number)


def _run(words: list[str]) -> int:
    if words[:1] == ["call"] or words[:2] == ["mcp", "call"]:
        from gaia_mcp.cli.calls.prestart import prestarted_for_call

        with prestarted_for_call(words) as server:
            return _commanded(words, server)
    return _commanded(words)


def _commanded(words: list[str], prestarted: Prestarted | None = None) -> int:
    from gaia_mcp.cli.app import run

    return run(words, prestarted)


def _leave(status: int) -> None:
    """Exit at once: threads that wait for a server's last words have nothing more to do."""
    # After a signal the answer is no longer wanted, and who does not read it must not keep us.
    for stream in (sys.stderr,) if status > 128 else (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # It has no reader any more.
    os._exit(status)


def _open_what_was_closed() -> None:
    """What our caller has closed reads and writes nothing from now on; else the next pipe would take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # In this order each gets its own number, the lowest that is free.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (open from now on)
