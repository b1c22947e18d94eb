"""The circuit breaker: when to stop trying a server, and when to try again.

Counts what its owner counts: failed connections, lists or tools. Knows no clock and no lock: callers pass `now`, and
hold one.
"""

from __future__ import annotations

from enum import Enum, auto

# As specified in the document of handlers.
MAX_CONSECUTIVE_ERRORS = 3


class Admission(Enum):
    """Whether a call is admitted, and in which role."""

    REFUSED = auto()
    ADMITTED = auto()
    # The single call that tests whether the handler can be used again.
    TRIAL = auto()


class CircuitBreaker:
    """Opens after `max_errors` consecutive errors, and then refuses every call.

    With `cool_down_seconds` it admits one trial that long after it has opened: a success closes it, an error restarts
    the cool-down, which doubles up to `longest_seconds`. Without, it stays open. The outcome of a call that was
    admitted before it opened is ignored. `errors` is the number of consecutive errors.
    """

    def __init__(
        self,
        cool_down_seconds: float | None = None,
        *,
        longest_seconds: float = 0.0,
        max_errors: int = MAX_CONSECUTIVE_ERRORS,
    ) -> None:
        self.errors = 0
        self._cool_down_seconds = self._first_seconds = cool_down_seconds
        self._longest_seconds = longest_seconds
        self._max_errors = max_errors
        self._opened_at: float | None = None
        self._is_on_trial = False

    @property
    def is_open(self) -> bool:
        """Whether it has opened and not closed since, also during a trial."""
        return self._opened_at is not None

    def refuses(self, now: float) -> bool:
        """Whether a call at `now`, in seconds, would be refused."""
        if self._opened_at is None:
            return False
        if self._cool_down_seconds is None or self._is_on_trial:
            return True
        return now < self._opened_at + self._cool_down_seconds

    def admit(self, now: float) -> Admission:
        """Admit a call at `now`, in seconds, or refuse it. An admitted one ends with one of the three methods below."""
        if self._opened_at is None:
            return Admission.ADMITTED
        if self.refuses(now):
            return Admission.REFUSED
        self._is_on_trial = True
        return Admission.TRIAL

    def succeeded(self, admission: Admission) -> bool:
        """The call succeeded. Returns whether this closed the breaker."""
        closes = admission is Admission.TRIAL
        if closes:
            self._opened_at, self._is_on_trial, self._cool_down_seconds = None, False, self._first_seconds
        if self._opened_at is None:
            self.errors = 0
        return closes

    def failed(self, admission: Admission, now: float) -> bool:
        """The call failed at `now`, in seconds. Returns whether this opened the breaker."""
        if self._opened_at is not None:
            if admission is Admission.TRIAL:
                self._opened_at, self._is_on_trial = now, False
                if (seconds := self._cool_down_seconds) is not None:
                    self._cool_down_seconds = max(seconds, min(seconds * 2, self._longest_seconds))
            return False
        self.errors += 1
        if self.errors < self._max_errors:
            return False
        self._opened_at = now
        return True

    def withdrawn(self, admission: Admission) -> None:
        """The call was cancelled, which is neither a success nor an error."""
        if admission is Admission.TRIAL:
            self._is_on_trial = False
