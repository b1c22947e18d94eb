"""The words before a command's name: `mcp`, which is optional, and `help`."""

from __future__ import annotations

from collections.abc import Sequence

# Words that belong to the program, not to `mcp`.
_OF_PROGRAM = ("mcp", "help", "version")


def with_group(words: Sequence[str]) -> list[str]:
    """`words`, with a missing `mcp` added before the command: for `gmcp call …`, `gmcp help call`.

    `help` belongs after `mcp`, because it explains the commands of `mcp`.
    """
    if words[:2] == ["help", "mcp"]:
        return ["mcp", "help", *words[2:]]
    lead = words[1:2] if words[:1] == ["help"] else words[:1]
    is_command = bool(lead) and lead[0] not in _OF_PROGRAM and not lead[0].startswith("-")
    return ["mcp", *words] if is_command else list(words)
