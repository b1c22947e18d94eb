"""A provider that may take long to load: described without it meanwhile, so that no client gives up waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.envelope import TASKS_EXTENSION
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.provider import Change, Listener, Listeners, Provider

if TYPE_CHECKING:
    from gaia_mcp.toolcall import Call

# Declared for a provider that has not loaded yet: whatever it may turn out to have.
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "extensions": {TASKS_EXTENSION: {}},
}
# A provider is given this long to load before it is described without it: clients give up on a probe after ten seconds,
# the quickest on `initialize` too, and this process has taken a while to start.
LOADING_SECONDS = 8.0
# After this, a client that has sent something more is not kept waiting: it may have given up on its probe.
IMPATIENT_SECONDS = 3.0
# How often it is looked whether it has.
POLL_SECONDS = 0.1


class LoadingProvider:
    """Stands for a provider until `load` supplies it, and passes everything on to it from then on.

    It is called `name` until then. `is_settled`: `await_description` has nothing left to wait for.
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
        # Only now: a request that waited for this is judged by the new description.
        self.is_settled = True
        self._loaded.set()

    def has_loaded_within(self, seconds: float) -> bool:
        """Whether the provider has loaded, waited for up to `seconds`."""
        return self._loaded.wait(seconds)

    def await_description(self, record: bytes, has_sent_more: Callable[[], bool] = lambda: False) -> None:
        """Before a record is received: give the provider a moment to load if the client asks for its description. That
        is a short one if the client has sent more meanwhile.
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
        """The provider's own description, or one that promises nothing but a name while it loads."""
        if self._provider is None:
            return Description({"name": self._name, "version": ""}, CAPABILITIES)
        description = self._provider.describe()
        if not self._was_described_early:
            return description
        # A capability that was declared once is kept, even if its list turns out to be empty and never changes.
        kept = {kind: {**features, **description.capabilities.get(kind, {})} for kind, features in CAPABILITIES.items()}
        return description._replace(capabilities={**description.capabilities, **kept})

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """As the provider does, waited for as long as it takes to load."""
        if self._provider is None:
            self._loaded.wait()
            call.raise_if_cancelled()
        assert self._provider is not None  # noqa: S101 (that is what was waited for)
        return self._provider.answer(method, params, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` when the provider has loaded, and after its changes."""
        return self._listeners.add(listener, wanted)

    def close(self) -> None:
        """Close the provider, if it has loaded."""
        if self._provider is not None:
            self._provider.close()
