"""The parts of Python's own insides that this package relies on, each with what to do where Python lacks it.

A test of this module fails when one of them has moved or does something else.
"""

from __future__ import annotations

import atexit

# Type checkers take it for true: the program begins with this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def compact_writer(*, sort_keys: bool = False) -> Callable[[Any], str]:
    """What writes a value as `json.dumps(value, separators=(",", ":"), allow_nan=False)` does, and raises the same;
    `sort_keys` is its option of that name.

    It is made once: `json` makes its encoder anew for each value, which takes longer than writing a small one. Unlike
    `json` it looks for no cycles: one raises `RecursionError`.
    """
    import json.encoder

    encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=sort_keys)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    parts = make(None, encoder.default, json.encoder.encode_basestring_ascii, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(parts(value, 0))


def run_exit_functions(then: Callable[[], object] = lambda: None) -> None:
    """Call what was registered with `atexit`, and forget it, and call `then`; only that where Python has no such
    function.
    """
    run = getattr(atexit, "_run_exitfuncs", None)
    try:
        if run is not None:
            run()
    finally:
        then()


def bare_signal() -> Any:
    """What `signal` is made of: the same functions and numbers, without the enumerations, which take a millisecond."""
    try:
        import _signal as bare  # type: ignore[import-not-found]
    except ImportError:
        import signal as bare
    return bare
