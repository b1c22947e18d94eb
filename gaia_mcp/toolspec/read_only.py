"""Whether a tool only reads, as far as its definition tells, and other hints of its server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# The parts of a name such as `delete_file`, `deleteFile` or `delete-file`.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# A tool whose name has one of these changes something, whatever its server claims. One too many costs a question.
_WRITING_VERBS = frozenset({
    "add", "append", "apply", "archive", "assign", "cancel", "clear", "close", "commit", "copy", "create", "delete",
    "deploy", "disable", "drop", "edit", "enable", "execute", "grant", "import", "insert", "install", "invite",
    "kill", "merge", "modify", "move", "patch", "pay", "post", "publish", "purge", "push", "put", "remove", "rename",
    "replace", "reset", "restart", "restore", "revoke", "run", "save", "send", "set", "start", "stop", "submit",
    "sync", "truncate", "uninstall", "unlock", "update", "upload", "upsert", "write",
})  # fmt: skip


def claims_to_only_read(annotations: Mapping[str, Any]) -> bool:
    """Whether the server says so: `readOnlyHint` is literally true. A tool without the hint may do anything."""
    return annotations.get("readOnlyHint") is True


def hints_in_words(annotations: Mapping[str, Any]) -> list[str]:
    """`read-only` or `destructive`, if the server says so. Neither is what a tool does without the hint."""
    if claims_to_only_read(annotations):
        return ["read-only"]
    return ["destructive"] if annotations.get("destructiveHint") is True else []


def only_reads(name: str, annotations: Mapping[str, Any]) -> bool:
    """Whether the server says so, and the tool's name has no verb that contradicts it."""
    words = _WORD.findall(name.replace("_", "-"))
    return claims_to_only_read(annotations) and _WRITING_VERBS.isdisjoint(word.lower() for word in words)
