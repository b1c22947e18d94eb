"""Reads the commands, their arguments and their options from `table.json`, which `gaia mcp generate` writes."""

from __future__ import annotations

import json
from pathlib import Path

from gaia_mcp.cli.grammar.model import Command

FILE = Path(__file__).with_name("table.json")
_TABLE = json.loads(FILE.read_bytes())
PROGRAM = Command(_TABLE["program"], _TABLE["options"])
