"""The options that mount host directories into a container."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator

MOUNTS = ("-v", "--volume", "--mount")
# Fields of `--mount`. The driver options of a volume can also name a host directory.
_SOURCES = ("src", "source", "volume-opt")
_VOLUME = re.compile(r"(?P<source>(?:[A-Za-z]:(?=[/\\]))?[^:]*)(?::[^:]*)?(?::(?P<options>.*))?", re.DOTALL)


def has_folder_of_ours(option: str, value: str, named: Collection[str]) -> bool:
    """Whether the source of a mount is a host directory, not a volume, and the user has not `named` it."""
    return any(re.search(r"[/~\\.]", source) and source not in named for source in _sources(option, value))


def _sources(option: str, value: str) -> Iterator[str]:
    if option != "--mount":
        match = _VOLUME.fullmatch(value)
        yield from (part for part in (match.groups() if match is not None else [value]) if part)
        return
    try:
        # As docker and podman parse it: values may be quoted, and field names may be in upper case.
        fields = next(csv.reader([value]), [])
    except csv.Error:
        fields = [f"src={value}"]
    for field in fields:
        name, _, rest = field.partition("=")
        if name.strip().lower() in _SOURCES:
            yield rest.rpartition("=")[2]
