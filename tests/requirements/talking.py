"""Servers in a line of Python, for what a whole server does not do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.config.entries import read_entry

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

# Answers the requests with the lines of its arguments, of which "ID" is the id of the request; then reads to the end.
PROGRAM = """
import json, sys
for said in sys.argv[1:]:
    while True:
        line = sys.stdin.readline()
        if not line:
            break
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            break
    for each in said.split("\\n"):
        print(each.replace('"ID"', json.dumps(asked["id"])), flush=True)
sys.stdin.read()
"""


def saying(*answers: Any) -> ServerEntry:
    """A server that answers each request in turn, with one message, or with several in a list, or with a raw text."""
    lines = [
        each if isinstance(each, str) else "\n".join(map(json.dumps, each if isinstance(each, list) else [each]))
        for each in answers
    ]
    return read_entry("s", {"command": sys.executable, "args": ["-S", "-E", "-c", PROGRAM, *lines]}, Path("/s.json"))


def result(value: dict[str, Any]) -> dict[str, Any]:
    """A response to the request."""
    return {"jsonrpc": "2.0", "id": "ID", "result": value}


def error(code: Any, text: Any = "no") -> dict[str, Any]:
    """A refusal of the request."""
    return {"jsonrpc": "2.0", "id": "ID", "error": {"code": code, "message": text}}
