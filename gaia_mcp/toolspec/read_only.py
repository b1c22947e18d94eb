"""Whether a tool is read-only according to its definition, and other hints of its server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Between the parts of a name such as `deleteFile` or `DELETEFile`; what else is not a letter separates parts too.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# A tool whose name has one of these is not read-only, whatever its server claims. A false positive costs one prompt.
# Includes all verbs for which GAIA 0.25 asks the user.
_WRITING_VERBS = frozenset({
    "add", "alter", "append", "apply", "approve", "archive", "assign", "cancel", "checkout", "chmod", "chown", "clear",
    "clone", "close", "commit", "copy", "create", "delete", "deploy", "destroy", "disable", "dismiss", "dispatch",
    "drop", "edit", "enable", "erase", "exec", "execute", "flush", "fork", "grant", "import", "insert", "install",
    "interact", "invite", "invoke", "kill", "launch", "lock", "mark", "merge", "mkdir", "modify", "move", "notify",
    "overwrite", "patch", "pay", "post", "provision", "publish", "purge", "push", "put", "reject", "remove", "rename",
    "replace", "reset", "restart", "restore", "revoke", "run", "save", "schedule", "send", "set", "share", "sign",
    "spawn", "start", "stop", "submit", "sync", "terminate", "transfer", "trigger", "truncate", "uninstall", "unlink",
    "unlock", "update", "upload", "upsert", "wait", "write",
})  # fmt: skip


def claims_to_only_read(annotations: Mapping[str, Any]) -> bool:
    """Whether the server declares it: `readOnlyHint` is literally true. A tool without the hint may do anything."""
    return annotations.get("readOnlyHint") is True


def hints_in_words(annotations: Mapping[str, Any]) -> list[str]:
    """`read-only` or `destructive`, if the server says so. Neither is what a tool does without the hint."""
    if claims_to_only_read(annotations):
        return ["read-only"]
    return ["destructive"] if annotations.get("destructiveHint") is True else []


def only_reads(name: str, annotations: Mapping[str, Any]) -> bool:
    """Whether the server declares it read-only, and the tool's name has no verb that contradicts it."""
    words = re.findall("[a-z]+", _HUMP.sub(" ", name).lower())
    return claims_to_only_read(annotations) and _WRITING_VERBS.isdisjoint(words)
