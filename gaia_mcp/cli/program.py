"""The entry point of the program: `gaia`, `gmcp`, `python -m gaia_mcp`.

Loading Typer takes longer than most of what a command does. So completion runs without it, a plain `list`, and a plain
`call`, whose server starts while the modules for the call are loaded. From before that moment on, the server is stopped
however the program ends.
"""

from __future__ import annotations

import gc
import os
import sys

from gaia_mcp.core.internals import bare_signal

# Type checkers treat it as true. `typing` is not imported for it, because an interrupt before `main` prints a
# traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Run the program and exit."""
    # Until the signal handlers are installed, Ctrl-C has its default action, without a traceback from an import.
    signal = bare_signal()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Objects made by imports stay alive, and by default the collector would scan them every 700 objects; most commands
    # end before it would find anything.
    gc.set_threshold(100_000)
    _open_what_was_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Characters that the terminal's encoding lacks are escaped rather than raising an exception.
            stream.reconfigure(errors="backslashreplace")
    if hasattr(sys.stdin, "reconfigure"):
        # Invalid input is detected where it is used.
        sys.stdin.reconfigure(errors="surrogateescape")
    words = sys.argv[1:]
    if words[:1] == ["complete"]:
        _complete(words[1:])
    if words[:1] == ["call"] or words[:2] == ["mcp", "call"]:
        from gaia_mcp.cli.warm import run_if_held

        if (status := run_if_held(words)) is not None:
            os._exit(status)
    from gaia_mcp.cli.signals import last_words

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
        os._exit(0)  # On any error, the line being typed stays as it is.


def _run_to_its_end(words: list[str]) -> None:
    from gaia_mcp.cli.signals import code_of_signal, listen_to_signals

    dead: list[BaseException] = []
    status: int | None
    try:
        listen_to_signals()
        _watch_threads(dead)
        status = _run(words)
    except BaseException as error:
        status = code_of_signal(error)
        if status is None:
            raise
    status = 1 if dead else status
    try:
        _leave(status)
    except BaseException as error:
        status = code_of_signal(error)
        if status is None:
            raise
        os._exit(status)


def _watch_threads(dead: list[BaseException]) -> None:
    """End the program, as SIGTERM does, when a thread dies of a resource shortage, because other threads may wait for
    it. The error is reported, and added to `dead`.
    """
    import signal
    import threading

    from gaia_mcp.cli.signals import last_words, send_to_main, shortage_in

    def report(death: threading.ExceptHookArgs) -> None:
        if death.exc_value is None or shortage_in(death.exc_value) is None:
            threading.__excepthook__(death)
        elif not dead:
            dead.append(death.exc_value)
            last_words(death.exc_value)
            send_to_main(signal.SIGTERM)

    threading.excepthook = report


def _run(words: list[str]) -> int:
    verb = words[1:2] if words[:1] == ["mcp"] else words[:1]
    status = None
    if verb == ["call"]:
        from gaia_mcp.cli.calls.calling import run_if_plain as run_call

        status = run_call(words)
    elif verb == ["list"]:
        from gaia_mcp.cli.entries.overview import run_if_plain as run_list

        status = run_list(words)
    if status is not None:
        return status
    from gaia_mcp.cli.app import run

    return run(words)


def _leave(status: int) -> None:
    """Exit at once, without joining threads that still wait for a server's output."""
    # After a signal the result is not wanted any more, and a blocked reader of stdout must not delay the exit.
    for stream in (sys.stderr,) if status > 128 else (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # The stream's reader is closed.
    os._exit(status)


def _open_what_was_closed() -> None:
    """Open the standard streams that the caller closed: stdin at its end, stdout so that writing fails, stderr so that
    it discards. Otherwise the next pipe would get one of their descriptors.
    """
    # stdout is opened for reading only, so that writing fails as it would on a closed descriptor.
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            # In this order each gets its own number, the lowest free descriptor.
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))
