"""Stands for the package `requests`, as far as the handlers beside it use that: a session over HTTP."""

from __future__ import annotations

import json as jsontext
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


class RequestException(OSError):  # noqa: N818 (its name there)
    """A request failed."""


class Timeout(RequestException):
    """Time ran out."""


class Response:
    """What a server answered."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status_code = status
        self._body = body

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            raise RequestException(f"HTTP {self.status_code}")

    def json(self) -> Any:
        return jsontext.loads(self._body)


class Session:
    """Requests with the same headers."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, url: str, params: dict[str, str], timeout: float) -> Response:
        return self._send(f"{url}?{urllib.parse.urlencode(params)}", None, timeout)

    def post(self, url: str, json: Any, timeout: float) -> Response:
        return self._send(url, jsontext.dumps(json).encode(), timeout)

    def close(self) -> None:
        self._opener.close()

    def _send(self, url: str, data: bytes | None, timeout: float) -> Response:
        request = urllib.request.Request(url, data, self.headers)
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return Response(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.read())
        except TimeoutError as cause:
            raise Timeout(str(cause)) from cause
        except urllib.error.URLError as cause:
            kind = Timeout if isinstance(cause.reason, TimeoutError) else RequestException
            raise kind(str(cause.reason)) from cause
