"""Hypothesis as an engine: it draws examples by a seed, and makes one that fails smaller.

Drawing takes longer than a call. So an example is several arguments at once, and more of them are mixed from their
members. A mixture depends on nothing but the example, so the engine makes it smaller as it does with the rest.

It is told to keep nothing: no database, and what it computes once goes into our cache, not into the working folder.
"""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, configuration, errors

from gaia_mcp.core.paths import cache_folder

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Of each run of the engine. Each begins with the simplest values, and has a start of its own.
EXAMPLES = 100
# So many values of one argument are joined at most.
MAX_JOINED = 3


class FailedExample(Exception):  # noqa: N818 (it is a signal for the engine, and no error)
    """The example fails: the engine makes it smaller."""


class Enough(BaseException):
    """No more examples are needed. No `Exception`: the engine would take it for a failure, and make it smaller."""


class DrawError(ValueError):
    """No example can be drawn."""


def draw(strategy: SearchStrategy[Any], seed: str, use: Callable[[Any], None], examples: int = EXAMPLES) -> None:
    """Call `use` with some examples, always the same ones for this `seed`, until it or the strategy raises `Enough`. If
    it raises `FailedExample`, it is called with ever smaller ones, until none fails any more. Any other exception is
    raised.

    Raises `DrawError` if the strategy fails.
    """
    # A number that is the same in every process.
    number = zlib.crc32(seed.encode("utf-8", "backslashreplace"))
    raised: list[BaseException] = []

    @hypothesis.seed(number)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def run(example: Any) -> None:
        try:
            use(example)
        except FailedExample:
            raise
        except BaseException as problem:
            raised.append(problem)
            raise Enough from problem

    configuration.set_hypothesis_home_dir(cache_folder() / "hypothesis")
    _use_no_constants()
    with warnings.catch_warnings():
        # About strategies from strange schemas, of which the person has written none.
        warnings.simplefilter("ignore")
        try:
            run()
        except (FailedExample, errors.HypothesisException):
            pass  # The smallest one; or there were too few, or one that fails no more.
        except Enough:
            if raised and not isinstance(raised[0], Enough):
                raise raised[0] from None
        except Exception as problem:  # from whatever a strategy calls
            raise DrawError(f"arguments cannot be drawn: {problem}") from problem


def _use_no_constants() -> None:
    """Keep hypothesis from reading the source of each loaded module that is not in site-packages, for constants that a
    test may be about. In an editable installation these are all modules of ours: that takes seconds, and the examples
    of a seed would depend on what has been loaded. There is no setting for it.
    """
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    seen = getattr(providers, "_seen_modules", None)
    if isinstance(seen, set):
        seen.update(map(id, list(sys.modules.values())))


def mixed(drawn: Sequence[dict[str, Any]], salt: str, place: int, joinable: Collection[str] = ()) -> dict[str, Any]:
    """Arguments with members of those that were drawn together, each from one of them, or from one that has none; of
    the `joinable` ones, some are joined of two. The same `salt` and `place` choose the same ones, whatever these are.
    """
    found = {}
    for name in dict.fromkeys(chain.from_iterable(drawn)):
        chosen = zlib.crc32(f"{salt}:{place}:{name}".encode("utf-8", "backslashreplace"))
        chosen, at = divmod(chosen, len(drawn))
        if name not in drawn[at]:
            continue
        found[name] = drawn[at][name]
        # None, one or two others.
        chosen, others = divmod(chosen, MAX_JOINED)
        for _ in range(others if name in joinable else 0):
            chosen, at = divmod(chosen, len(drawn))
            if name in drawn[at]:
                found[name] = _joined(found[name], drawn[at][name])
    return found


def _joined(one: Any, other: Any) -> Any:
    if type(one) is type(other) and type(one) in (str, int, float, list):
        joined = one + other
        return joined if type(joined) is not float or isfinite(joined) else one
    return one
