"""Durations as a configuration file has them: a whole number and its unit, such as `90s`, `30m` or `2h`."""

from __future__ import annotations

from typing import Any

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
# Enough for a week in seconds; int() refuses very long numbers.
_MAX_DIGITS = 6
# The limits of the member `keepAlive`. A server that was not used for a week is not in use.
_MIN_KEEP_ALIVE_SECONDS, MAX_KEEP_ALIVE_SECONDS = 1, 7 * 86_400


def seconds_in(text: str) -> int | None:
    """The seconds of a duration; None for any other text."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()) or len(number) > _MAX_DIGITS:
        return None
    return int(number) * _UNITS[unit]


def keep_alive_seconds(held: Any) -> int | None:
    """The seconds of a duration that is valid as the member `keepAlive`; None for any other value."""
    seconds = seconds_in(held) if isinstance(held, str) else None
    return seconds if seconds is not None and _MIN_KEEP_ALIVE_SECONDS <= seconds <= MAX_KEEP_ALIVE_SECONDS else None


def duration_of(seconds: int) -> str:
    """The duration, in the largest unit of which it is a multiple."""
    unit, size = next((unit, size) for unit, size in _UNITS.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"
