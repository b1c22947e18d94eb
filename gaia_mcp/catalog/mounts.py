"""The options by which a container gets folders of this machine."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator

MOUNTS = ("-v", "--volume", "--mount")
# Of `--mount`. The options of a volume's driver can make it a folder too.
_SOURCES = ("src", "source", "volume-opt")
_VOLUME = re.compile(r"(?P<source>(?:[A-Za-z]:(?=[/\\]))?[^:]*)(?::[^:]*)?(?::(?P<options>.*))?", re.DOTALL)


def has_folder_of_ours(option: str, value: str, named: Collection[str]) -> bool:
    """Whether a mount has a folder of this machine for its source, rather than a volume, and it is not one of those
    that the user has `named`.
    """
    return any(re.search(r"[/~\\.]", source) and source not in named for source in _sources(option, value))


def _sources(option: str, value: str) -> Iterator[str]:
    if option != "--mount":
        match = _VOLUME.fullmatch(value)
        yield from (part for part in (match.groups() if match is not None else [value]) if part)
        return
    try:
        # As docker and podman read it: there may be quotes, and names in upper case.
        fields = next(csv.reader([value]), [])
    except csv.Error:
        fields = [f"src={value}"]
    for field in fields:
        name, _, rest = field.partition("=")
        if name.strip().lower() in _SOURCES:
            yield rest.rpartition("=")[2]
