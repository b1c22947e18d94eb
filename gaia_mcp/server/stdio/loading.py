"""A placeholder for a provider that is slow to load: it answers for it, so that no client times out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.envelope import TASKS_EXTENSION
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.provider import Change, Listener, Listeners, Provider

if TYPE_CHECKING:
    from gaia_mcp.asking import Call

# Declared for a provider that has not loaded yet: every capability that it may have.
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "extensions": {TASKS_EXTENSION: {}},
}
# How long a request for the description waits for the provider. The fastest clients time out on a probe or `initialize`
# after ten seconds, of which the start of this process has taken some.
LOADING_SECONDS = 8.0
# After this, stop waiting if the client has sent another message: its probe may have timed out.
IMPATIENT_SECONDS = 3.0
# How often to check for such a message.
POLL_SECONDS = 0.1


class LoadingProvider:
    """Stands in for a provider until `load` supplies it, and delegates to it from then on.

    Its name is `name` until then. `is_settled` is true when `await_description` no longer waits.
    """

    def __init__(
        self, name: str, loading_seconds: float = LOADING_SECONDS, impatient_seconds: float = IMPATIENT_SECONDS
    ) -> None:
        self._name = name
        self._loading_seconds = loading_seconds
        self._impatient_seconds = impatient_seconds
        self._listeners = Listeners()
        self._loaded = threading.Event()
        self._provider: Provider | None = None
        self._was_described_early = False
        self.is_settled = False

    def load(self, provider: Provider) -> None:
        """Supply the provider. To be called once."""
        self._provider = provider
        provider.on_change(self._listeners.announce, self._listeners)
        self._listeners.announce(Change(description=True))
        # Set last: a request that waited for this must see the new description.
        self.is_settled = True
        self._loaded.set()

    def has_loaded_within(self, seconds: float) -> bool:
        """Wait up to `seconds` for the provider to load; whether it has."""
        return self._loaded.wait(seconds)

    def await_description(self, record: bytes, has_sent_more: Callable[[], bool] = lambda: False) -> None:
        """If the record asks for the description, wait for the provider to load, up to a limit. The limit is shorter if
        the client has sent another message meanwhile. To be called before the record is processed.
        """
        if not self.is_settled and (b'"initialize"' in record or b'"server/discover"' in record):
            self._was_described_early = not self._has_loaded_in_time(has_sent_more)
            self.is_settled = True

    def _has_loaded_in_time(self, has_sent_more: Callable[[], bool]) -> bool:
        began = time.monotonic()
        while not self._loaded.wait(POLL_SECONDS):
            waited = time.monotonic() - began
            if waited >= self._loading_seconds or (waited >= self._impatient_seconds and has_sent_more()):
                return False
        return True

    def describe(self) -> Description:
        """The provider's own description; while it loads, one with `name` and all capabilities."""
        if self._provider is None:
            return Description({"name": self._name, "version": ""}, CAPABILITIES)
        description = self._provider.describe()
        if not self._was_described_early:
            return description
        # A capability that was declared while loading stays declared, even if its list is empty and never changes.
        declared = {
            kind: {**features, **description.capabilities.get(kind, {})} for kind, features in CAPABILITIES.items()
        }
        return description._replace(capabilities={**description.capabilities, **declared})

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The provider's answer. Waits without limit for the provider to load."""
        if self._provider is None:
            self._loaded.wait()
            call.raise_if_cancelled()
        assert self._provider is not None  # noqa: S101 (`load` sets it before `_loaded`)
        return self._provider.answer(method, params, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` when the provider has loaded, and after its changes."""
        return self._listeners.add(listener, wanted)

    def close(self) -> None:
        """Close the provider, if it has loaded."""
        if self._provider is not None:
            self._provider.close()
