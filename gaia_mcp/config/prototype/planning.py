"""Plans the changes of both texts for changed entries: as few values as possible, secrets in the overlay. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaia_mcp.config.prototype.reading import (
    REFERENCE,
    SERVERS,
    TARGETS,
    Item,
    Listing,
    Server,
    default_handler,
    is_secret,
    overlaid,
    split,
)
from gaia_mcp.yamltext.editing import REMOVED, Change

Path = tuple[str, ...]


@dataclass
class Plan:
    """The changes of the main text and of the overlay. Those of the overlay are applied before the main text is
    written, except removals, which follow it, so that no secret is missing in between.
    """

    main: list[Change] = field(default_factory=list)
    overlay: list[Change] = field(default_factory=list)
    overlay_afterwards: list[Change] = field(default_factory=list)


def planned(
    before: Mapping[str, Server], after: Mapping[str, Any], main: Listing, overlay: Listing, files: Sequence[str]
) -> Plan:
    """The plan for changing the entries `before` to `after`. `files` are the files in the folder of handlers."""
    plan, new_main, new_overlay = Plan(), [], []
    old_names = _old_names(list(before), list(after))
    for name, raw in after.items():
        server = before.get(old_names.get(name, name))
        if server is None:
            seen, hidden = split(members_of(name, raw, {}, main.folder, files))
            new_main.append({"name": name, **seen})
        elif server.raw == raw and name in before:
            continue
        else:
            if name not in before:
                _rename(plan, server, name)
            old = overlaid(*(item.members if item is not None else {} for item in (server.main, server.overlay)))
            hidden = _change(plan, server, old, members_of(name, raw, old, main.folder, files))
        if hidden:
            new_overlay.append({"name": name, **hidden})
    plan.main += _additions(main, new_main)
    plan.overlay += _additions(overlay, new_overlay)
    gone = [server for name, server in before.items() if name not in after and name not in old_names.values()]
    plan.main += _removals(server.main for server in gone)
    plan.overlay_afterwards += _removals(server.overlay for server in gone)
    return plan


def _old_names(before: list[str], after: list[str]) -> dict[str, str]:
    """The former name of a renamed server, by its new one. It keeps its position."""
    if len(before) != len(after):
        return {}
    pairs = zip(before, after, strict=True)
    return {new: old for old, new in pairs if old not in after and new not in before}


def members_of(
    name: str, raw: Mapping[str, Any], old: Mapping[str, Any], folder: str, files: Sequence[str]
) -> dict[str, Any]:
    """An entry of ours as az prototype's members; `old` are the server's previous members."""
    members = {key: value for key, value in raw.items() if key != "name"}
    targets = [key for key in TARGETS if key in members]
    if targets == ["handler"] and members["handler"] == default_handler(name, folder, files) and "handler" not in old:
        del members["handler"]
    is_disabled = bool(members.get("disabled"))
    if "disabled" not in old:
        members.pop("disabled", None)
        if is_disabled or "enabled" in old:
            members["enabled"] = not is_disabled
    return members


def _rename(plan: Plan, server: Server, name: str) -> None:
    for item, changes in ((server.main, plan.main), (server.overlay, plan.overlay)):
        if item is not None:
            changes.append(Change((*SERVERS, item.number, "name"), name))


def _change(plan: Plan, server: Server, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the changes of a server's members from `old` to `new`. Returns the secrets for which the overlay has no item
    yet.
    """
    hidden: dict[str, Any] = {}
    main, overlay = server.main, server.overlay
    for path, value in _differences(old, new):
        in_main, in_overlay = _has(main, path), _has(overlay, path)
        is_removed = value is REMOVED
        if is_removed and in_overlay and overlay is not None:
            plan.overlay_afterwards.append(Change((*SERVERS, overlay.number, *path), value))
        goes_over = not is_removed and (in_overlay or main is None or is_secret(path, value))
        if goes_over and overlay is not None:
            plan.overlay.append(Change((*SERVERS, overlay.number, *path), value))
        elif goes_over:
            _put(hidden, path, value)
        if main is not None and ((in_main and (is_removed or goes_over)) or not (is_removed or goes_over)):
            plan.main.append(Change((*SERVERS, main.number, *path), REMOVED if goes_over else value))
    return hidden


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value that differs, with its path; for a new mapping, each value in it."""
    for key in old:
        if key not in new:
            yield (*path, key), REMOVED
    for key, value in new.items():
        held = old.get(key)
        here = (*path, key)
        if (
            isinstance(value, Mapping)
            and value
            and REFERENCE not in value
            and (key not in old or isinstance(held, dict))
        ):
            yield from _differences(held or {}, value, here)
        elif key not in old or held != value or type(held) is not type(value):
            if isinstance(held, dict) and value == {}:
                yield from _differences(held, {}, here)
            else:
                yield here, value


def _has(item: Item | None, path: Path) -> bool:
    held: Any = item.members if item is not None else None
    for step in path:
        if not isinstance(held, dict) or step not in held:
            return False
        held = held[step]
    return True


def _put(members: dict[str, Any], path: Path, value: Any) -> None:
    for step in path[:-1]:
        members = members.setdefault(step, {})
    members[path[-1]] = value


def _additions(listing: Listing, items: list[dict[str, Any]]) -> list[Change]:
    if items and not listing.takes_items:
        return [Change(SERVERS, items)]
    return [Change((*SERVERS, listing.count + number), item) for number, item in enumerate(items)]


def _removals(items: Iterable[Item | None]) -> list[Change]:
    """In reverse order, so that the positions of the others stay valid."""
    numbers = [item.number for item in items if item is not None]
    return [Change((*SERVERS, number), REMOVED) for number in sorted(numbers, reverse=True)]
