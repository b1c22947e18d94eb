"""The plan of an import: which servers are new, which exist already, and which are in conflict. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.hosts.files import Place

# The members that define the connection, which are replaced together.
_REACHED = ("command", "args", "cwd", "url", "type", "handler", "agent")
_REACHED_INSIDE = ("env", "headers", "settings")
# The members that filter tools, and those that restrict who may use them.
_CHOICE = (INCLUDE, EXCLUDE)
_SCOPE = ("stages", "agents")


class Found(NamedTuple):
    """A host's entry in our format; with `reason`, one that could not be converted. `theirs` is its name there."""

    name: str
    theirs: str
    place: Place
    entry: dict[str, Any]
    remarks: Sequence[str] = ()
    reason: str = ""


@dataclass
class Step:
    """The outcome for one name: "new", "same", "replaced", "conflict" or "left".

    `differs` are the members that conflict, `against` is the file that they conflict with.
    """

    name: str
    outcome: str
    sources: list[Found]
    entry: dict[str, Any] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)
    against: Path | None = None
    reason: str = ""

    @property
    def is_saved(self) -> bool:
        """Whether the import writes the entry."""
        return self.outcome in ("new", "replaced")


def plan(
    found: Sequence[Found],
    ours: Mapping[str, Any],
    path: Path,
    *,
    force: bool = False,
    which: Callable[[str], str | None] = lambda _: None,
    as_held_by: Callable[[Found, Any], Any] = lambda _, entry: entry,
) -> list[Step]:
    """A step for each name, in the order found. With `force` the first that was found replaces the others; members of
    ours that do not decide how the server is reached, and do not differ, stay, unless the new entry has them too.

    `ours` are the entries of `path`; `which` finds a program, so that `npx` and its full path are the same;
    `as_held_by` is an entry of ours as the host of another would hold it: what it has no place for is no difference.
    """

    def differing(entry: Any, one: Found) -> list[str]:
        differs = differences(entry, one.entry, which)
        return differs and differences(as_held_by(one, entry), one.entry, which)

    steps: dict[str, Step] = {}
    for one in found:
        step = steps.get(one.name)
        if one.reason:
            steps.setdefault(f"\0{one.place.path}\0{one.name}", Step(one.name, "left", [one], reason=one.reason))
        elif step is None:
            differs = differing(ours[one.name], one) if one.name in ours else []
            steps[one.name] = _first(one, ours, path, differs, force=force)
        elif step.outcome == "same" and (differs := differing(ours[one.name], one)) and not force:
            steps[one.name] = Step(one.name, "conflict", [one, *step.sources], one.entry, differs, path)
        else:
            if step.outcome == "new" and (differs := differing(step.entry, one)) and not force:
                step.outcome, step.differs, step.against = "conflict", differs, one.place.path
            step.sources.append(one)
    return list(steps.values())


def differences(one: Any, other: Any, which: Callable[[str], str | None] = lambda _: None) -> list[str]:
    """The members in which two entries are not the same: those that decide how the server is reached, and those that
    choose among its tools, or restrict who may use them, if `other` has any of these. Not whether it is enabled, nor
    its timeout.
    """
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ["everything"]
    scopes = [key for key in _SCOPE if key in other and one.get(key) != other[key]]
    one, other = _comparable(one, which), _comparable(other, which)
    compared = (*_REACHED, *_CHOICE) if any(other[key] is not None for key in _CHOICE) else _REACHED
    differs = [key for key in compared if one[key] != other[key]]
    for key in _REACHED_INSIDE:
        names = [name for name in {**one[key], **other[key]} if one[key].get(name) != other[key].get(name)]
        differs += [f"{key} {name}" for name in names]
    return differs + scopes


def with_replaced(held: Any, new: Mapping[str, Any], differs: Sequence[str]) -> dict[str, Any]:
    """The entry `new` in the place of `held`, whose members stay that do not decide how the server is reached, and do
    not differ, unless `new` has them too.
    """
    members = held if isinstance(held, dict) else {}
    replaced = {*_REACHED, *_REACHED_INSIDE, *differs}
    merged = {key: value for key, value in members.items() if key not in replaced} | dict(new)
    return {key: merged[key] for key in members if key in merged} | merged


def _first(one: Found, ours: Mapping[str, Any], path: Path, differs: list[str], *, force: bool) -> Step:
    if one.name not in ours:
        return Step(one.name, "new", [one], one.entry)
    if not differs:
        return Step(one.name, "same", [one], one.entry)
    if not force:
        return Step(one.name, "conflict", [one], one.entry, differs, path)
    return Step(one.name, "replaced", [one], with_replaced(ours[one.name], one.entry, differs), differs, path)


def _comparable(entry: dict[str, Any], which: Callable[[str], str | None]) -> dict[str, Any]:
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str) and args is None and not which(command):
        # A command line in one text.
        command, *args = command.split() or [command]
    if isinstance(command, str):
        command = which(command) or command
    kind = entry.get("type")
    return {
        "command": command,
        "args": args or [],
        "cwd": entry.get("cwd"),
        "url": entry.get("url"),
        "type": "sse" if kind == "sse" else None,
        "env": entry.get("env") if isinstance(entry.get("env"), dict) else {},
        "headers": entry.get("headers") if isinstance(entry.get("headers"), dict) else {},
        "handler": entry.get("handler"),
        "agent": entry.get("agent"),
        "settings": entry.get("settings") if isinstance(entry.get("settings"), dict) else {},
        INCLUDE: _names(entry.get(INCLUDE)),
        EXCLUDE: _names(entry.get(EXCLUDE)) or None,
    }


def _names(held: Any) -> list[str] | None:
    return sorted({str(name) for name in held}) if isinstance(held, list) else None
