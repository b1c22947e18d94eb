"""The internals of Python that this package relies on, each with a fallback for Python versions that lack it.

A test of this module fails when one of them has moved or changed its behaviour.
"""

from __future__ import annotations

import atexit

# Type checkers take it for true: the program begins with this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def compact_writer(*, sort_keys: bool = False) -> Callable[[Any], str]:
    """A function that encodes a value as `json.dumps(value, separators=(",", ":"), allow_nan=False)` does, and raises
    the same; `sort_keys` is its option of that name.

    It is created once: `json` creates an encoder for each value, which takes longer than encoding a small one. Unlike
    `json` it does not check for cycles: one raises `RecursionError`.
    """
    import json.encoder

    encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=sort_keys)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    parts = make(None, encoder.default, json.encoder.encode_basestring_ascii, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(parts(value, 0))


def run_exit_functions(then: Callable[[], object] = lambda: None) -> None:
    """Run the functions registered with `atexit`, and clear them, then call `then`; only `then` if Python has no
    function for that.
    """
    run = getattr(atexit, "_run_exitfuncs", None)
    try:
        if run is not None:
            run()
    finally:
        then()


def bare_signal() -> Any:
    """The module under `signal`: the same functions and numbers, without the enumerations, which take a millisecond."""
    try:
        import _signal as bare  # type: ignore[import-not-found]
    except ImportError:
        import signal as bare
    return bare


def bare_socket() -> Any:
    """The module under `socket`: the same classes and numbers, without the enumerations, which take a millisecond."""
    try:
        import _socket as bare
    except ImportError:
        import socket as bare  # type: ignore[no-redef]
    return bare
