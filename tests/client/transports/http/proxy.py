"""A proxy on loopback: it forwards requests with an absolute URL, and opens tunnels for CONNECT."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Proxy:
    """Keeps the first line of each connection in `asked`. With `credentials`, as in `Proxy-Authorization`, it refuses
    those who do not have them.
    """

    def __init__(self, credentials: str = "") -> None:
        self.asked: list[str] = []
        self._credentials = credentials
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """End all connections, and wait for their threads."""
        for each in [self._listener, *self._sockets]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in [self._listener, *self._sockets]:
            each.close()

    def _start(self, target: object, *arguments: object) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments))  # type: ignore[arg-type]
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            more = client.recv(65536)
            if not more:
                return
            head += more
        method, target, _ = head.partition(b"\r\n")[0].decode().split()
        self.asked.append(f"{method} {target}")
        if self._credentials and f"proxy-authorization: {self._credentials}".lower() not in head.decode().lower():
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            client.shutdown(socket.SHUT_RDWR)
            return
        host, _, port = target.removeprefix("http://").partition("/")[0].partition(":")
        server = socket.create_connection((host, int(port)))
        self._sockets.append(server)
        if method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            server.sendall(head.replace(f"http://{host}:{port}".encode(), b"", 1))
        self._start(_pump, server, client)
        _pump(client, server)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxying(credentials: str = "") -> Iterator[Proxy]:
    proxy = Proxy(credentials)
    try:
        yield proxy
    finally:
        proxy.close()
