"""The options that mount host directories and volumes into a container."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator

MOUNTS = ("-v", "--volume", "--mount")
# The fields of `--mount` that name a directory or a volume.
_SOURCES = ("src", "source")
_VOLUME = re.compile(r"(?P<source>(?:[A-Za-z]:(?=[/\\]))?[^:]*)(?::[^:]*)?(?::(?P<options>.*))?", re.DOTALL)
_OF_PATHS = r"[/~\\.]"


def has_data_of_ours(option: str, value: str, named: Collection[str]) -> bool:
    """Whether a mount has a source that the user has not `named`: a host directory, or a volume, which may exist and
    hold the data of something else.
    """
    return any(source not in named for source in _sources(option, value))


def _sources(option: str, value: str) -> Iterator[str]:
    if option != "--mount":
        match = _VOLUME.fullmatch(value)
        source, options = match.groups() if match is not None else (value, None)
        yield source
        # An option can name a directory as well, as `upperdir` does.
        if options and re.search(_OF_PATHS, options):
            yield options
        return
    try:
        # As docker and podman parse it: values may be quoted, and field names may be in upper case.
        fields = next(csv.reader([value]), [])
    except csv.Error:
        fields = [f"src={value}"]
    for field in fields:
        name, _, rest = field.partition("=")
        held = rest.rpartition("=")[2]
        # The driver options of a volume can name a host directory.
        if name.strip().lower() in _SOURCES or (name.strip().lower() == "volume-opt" and re.search(_OF_PATHS, held)):
            yield held
