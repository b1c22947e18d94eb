"""Stores in memory that do what those over a network may do."""

from __future__ import annotations

from typing import Any

from gaia_mcp.store import MemoryStore, StoreError


class FailingStore(MemoryStore):
    """A store that is asked in threads, and whose operations fail while they are named in `failing`."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.failing: set[str] = set()

    @property
    def is_shared(self) -> bool:
        return True

    def get(self, *given: Any) -> Any:
        return self._try("get", *given)

    def put(self, *given: Any) -> Any:
        return self._try("put", *given)

    def replace(self, *given: Any) -> Any:
        return self._try("replace", *given)

    def renew(self, *given: Any) -> Any:
        return self._try("renew", *given)

    def remove(self, *given: Any) -> Any:
        return self._try("remove", *given)

    def append(self, *given: Any) -> Any:
        return self._try("append", *given)

    def read(self, *given: Any) -> Any:
        return self._try("read", *given)

    def publish(self, *given: Any) -> Any:
        return self._try("publish", *given)

    def subscribe(self, *given: Any) -> Any:
        return self._try("subscribe", *given)

    def _try(self, operation: str, *given: Any) -> Any:
        if operation in self.failing:
            raise StoreError("gone")
        return getattr(super(), operation)(*given)
