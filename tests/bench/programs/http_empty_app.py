"""A Starlette route that reads its body and answers with little, on the port that is given."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route


async def answer(request: Any) -> Response:
    """Always the same."""
    await request.body()
    return Response(b'{"jsonrpc":"2.0","id":1,"result":{}}', media_type="application/json")


uvicorn.run(
    Starlette(routes=[Route("/mcp", answer, methods=["POST"])]),
    port=int(sys.argv[1]), http="httptools", loop="uvloop", log_config=None, access_log=False,
)  # fmt: skip
