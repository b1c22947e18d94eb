"""Fuzzing: calls of tools with generated arguments, for `test-client --fuzz`.

`strategies` makes the arguments from a schema, `engine` has hypothesis draw and shrink them, `callers` are threads that
call, `judging` says what is wrong with what came of a call, and `runs` does it all for the tools of a server.

What a server is expected to do: it neither exits nor hangs, answers no valid arguments with an error of the protocol
and none at all with an internal error, keeps to its output schema, and refuses arguments that its schema refuses.

Calls go out several at once, unless the tool may not be called again: then one at a time, so that the call to blame is
known, and nothing is shrunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

from gaia_mcp.cli.status import UsageError

# Seeds are chosen below this: short enough to be copied by hand.
SEEDS = 10**9


class FuzzWanted(NamedTuple):
    """Call each chosen tool `calls` times: those that match one of `patterns`; without any, those that are marked as
    read-only, or all if it `is_unsafe`. Whatever is random depends on `seed`.
    """

    calls: int
    seed: int
    patterns: Sequence[str] = ()
    is_unsafe: bool = False


def fuzz_wanted(calls: int | None, seed: int | None, patterns: Sequence[str], *, is_unsafe: bool) -> FuzzWanted | None:
    """What the options ask for; None without `--fuzz`. Raises `UsageError` for options without it, and if hypothesis is
    not installed.
    """
    if calls is None:
        given = {"--seed": seed is not None, "--tool": bool(patterns), "--unsafe": is_unsafe}
        for option, is_given in given.items():
            if is_given:
                raise UsageError(f"{option} is for --fuzz", hint=f"leave {option} out, or add --fuzz N")
        return None
    if find_spec("hypothesis") is None:
        hint = "install the extra: pip install 'gaia-mcp[fuzz]'"
        raise UsageError("--fuzz needs hypothesis, not installed here", hint=hint)
    if seed is None:
        import random

        seed = random.SystemRandom().randrange(SEEDS)
    return FuzzWanted(calls, seed, tuple(patterns), is_unsafe)
