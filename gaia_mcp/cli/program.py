"""The program from its first instruction to its last: `gaia`, `gmcp`, `python -m gaia_mcp`.

Loading Typer takes longer than most of what a command does. So a TAB is answered without it, and so is a plain `call`,
whose server starts while what the call needs is loaded; from before that moment on, no way out leaves that server
running.
"""

from __future__ import annotations

import gc
import os
import sys

from gaia_mcp.internals import bare_signal

# Type checkers take it for true: what is loaded before `main` is interrupted with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Run the program and exit."""
    # Until the program listens to signals, Ctrl-C ends it as it ends others, without a traceback of what it is loading.
    signal = bare_signal()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What loading makes stays, and the collector would look through it every 700 objects; most commands end before it
    # would find anything.
    gc.set_threshold(100_000)
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
        _complete(words[1:])
    from gaia_mcp.cli.shortage import last_words

    try:
        _run_to_its_end(words)
    except Exception as error:  # noqa: BLE001 (whatever the commands had no means left to report)
        last_words(error)
        os._exit(1)


def _complete(words: list[str]) -> NoReturn:
    try:
        from gaia_mcp.cli.completion.answering import answer

        answer(words)
    finally:
        os._exit(0)  # Whatever went wrong: the line that is being typed stays as it is.


def _run_to_its_end(words: list[str]) -> None:
    from gaia_mcp.cli.signals import Terminated, listen_to_signals

    dead: list[BaseException] = []
    try:
        listen_to_signals()
        _watch_threads(dead)
        status = _run(words)
    except KeyboardInterrupt:
        status = 130
    except Terminated as terminated:
        status = 128 + terminated.number
    status = 1 if dead else status
    try:
        _leave(status)
    except KeyboardInterrupt:
        os._exit(130)
    except Terminated as terminated:
        os._exit(128 + terminated.number)


def _watch_threads(dead: list[BaseException]) -> None:
    """End the program, as SIGTERM does, when a thread dies of a shortage: others would wait for what it was to do. Its
    error is reported, and added to `dead`.
    """
    import signal
    import threading

    from gaia_mcp.cli.shortage import last_words, shortage_in
    from gaia_mcp.cli.signals import send_to_main

    def report(death: threading.ExceptHookArgs) -> None:
        if death.exc_value is None or shortage_in(death.exc_value) is None:
            threading.__excepthook__(death)
        elif not dead:
            dead.append(death.exc_value)
            last_words(death.exc_value)
            send_to_main(signal.SIGTERM)

    threading.excepthook = report


def _run(words: list[str]) -> int:
    if words[:1] == ["call"] or words[:2] == ["mcp", "call"]:
        from gaia_mcp.cli.calls.direct import run_if_plain

        status = run_if_plain(words)
        if status is not None:
            return status
    from gaia_mcp.cli.app import run

    return run(words)


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
    """What our caller has closed has nothing to read from now on, and takes no answer, but takes remarks; else the next
    pipe would take its number.
    """
    # A stdout that can only be read: what is written to it fails, as it would if it were closed.
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # In this order each gets its own number, the lowest that is free.
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))
