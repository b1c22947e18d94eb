"""Which tools of a server may be used: those that its entry includes and does not exclude, those of the caller's stage
and agent, and those that are read-only according to their definition.

These are the only definitions of `includeTools`, `excludeTools`, `stages`, `agents` and of what counts as read-only.

Both are names, or patterns such as `read_*` with `*`, `?` and `[…]`. This is the one definition of what they mean.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# The members of an entry.
INCLUDE, EXCLUDE = "includeTools", "excludeTools"
# In `stages`, means every stage. It is also a valid name of an agent.
EVERY_STAGE = "all"
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


class ToolFilter(NamedTuple):
    """`include` None includes every tool, an empty one no tool. `exclude` takes precedence over `include`."""

    include: Sequence[str] | None = None
    exclude: Sequence[str] = ()

    def allows(self, tool: str) -> bool:
        """Whether the tool of this name is used."""
        return not self.excluded_by(tool)

    def excluded_by(self, tool: str) -> str:
        """The member of the entry that excludes the tool of this name; empty if none does."""
        if any(is_match(tool, pattern) for pattern in self.exclude):
            return EXCLUDE
        return "" if self.include is None or any(is_match(tool, pattern) for pattern in self.include) else INCLUDE

    def patterns(self, member: str) -> Sequence[str]:
        """The patterns in the member of the entry with this name."""
        return self.exclude if member == EXCLUDE else self.include or ()

    def without_match(self, tools: Iterable[str]) -> list[str]:
        """The patterns that match none of `tools`."""
        names = list(tools)
        patterns = [*self.patterns(INCLUDE), *self.patterns(EXCLUDE)]
        return [pattern for pattern in patterns if not any(is_match(name, pattern) for name in names)]


def is_match(tool: str, pattern: str) -> bool:
    """Whether a pattern matches the name of a tool; upper and lower case are not the same, as in the protocol."""
    if not is_pattern(pattern):
        return tool == pattern
    from fnmatch import fnmatchcase

    return fnmatchcase(tool, pattern)


def is_pattern(text: str) -> bool:
    """Whether this is a pattern, rather than the name of one tool."""
    return any(special in text for special in "*?[")


def is_in_scope(
    stages: Collection[str] | None, agents: Collection[str] | None, stage: str | None, agent: str | None
) -> bool:
    """Whether `agent` may use at `stage` what is restricted to `stages` and `agents`.

    A restriction that is None allows everything, and an empty one nothing; both must allow the caller. A caller that
    does not name its stage, or its agent, is not restricted by it.
    """
    if stage is not None and stages is not None and stage not in stages and EVERY_STAGE not in stages:
        return False
    return agent is None or agents is None or agent in agents


def can_meet(
    stages: Collection[str] | None,
    agents: Collection[str] | None,
    other_stages: Collection[str] | None,
    other_agents: Collection[str] | None,
) -> bool:
    """Whether an agent at a stage may satisfy both restrictions: `stages` and `agents`, and the other two."""

    def meet(ours: Collection[str] | None, theirs: Collection[str] | None) -> bool:
        if ours is None or theirs is None:
            return (ours is None or bool(ours)) and (theirs is None or bool(theirs))
        return not set(ours).isdisjoint(theirs)

    def every(stages: Collection[str] | None) -> Collection[str] | None:
        return None if stages is not None and EVERY_STAGE in stages else stages

    return meet(every(stages), every(other_stages)) and meet(agents, other_agents)


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
