"""A simple proxy: each request goes to the next worker, from every client, by a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import TYPE_CHECKING

from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECE_BYTES = 64 * 1024


class RoundRobin:
    """Listens at `port`, in a thread, until `end`. A worker that cannot be connected to is left out."""

    def __init__(self, workers: Sequence[int]) -> None:
        self._workers = cycle(workers)
        self._count = len(workers)
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(PATIENCE_SECONDS)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def end(self) -> None:
        """Leave nothing behind."""

        async def end_all() -> None:
            # Not cancelled, nor the server closed first: `asyncio` loses connections that it accepts meanwhile.
            while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
                for writer in self._open:
                    writer.transport.abort()
                await asyncio.wait(tasks, timeout=0.01)
            self._server.close()
            # What was ended last is closed in the next turn.
            await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(end_all(), self._loop).result(PATIENCE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError), self._closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            sizes = [int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(sum(sizes))
            above_reader, above = await self._connected()
            with self._closing(above):
                above.write(b"\r\n".join([lines[0], b"connection: close", *lines[1:]]) + body)
                gone = asyncio.create_task(reader.read(1))
                gone.add_done_callback(lambda _: above.close())
                while piece := await above_reader.read(_PIECE_BYTES):
                    writer.write(piece)
                    await writer.drain()
                gone.cancel()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in range(self._count):
            with suppress(ConnectionError):
                return await asyncio.open_connection("127.0.0.1", next(self._workers))
        raise ConnectionError

    @contextmanager
    def _closing(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.remove(writer)
            writer.close()
