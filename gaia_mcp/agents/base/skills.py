"""The folders of an agent's skills."""

from __future__ import annotations

import inspect
from pathlib import Path


def skills_of(kind: type, folder: str | Path) -> list[Path]:
    """The subfolders of `folder` with a SKILL.md, sorted. `folder` is relative to the file of the class that defines
    `skills_folder`.
    """
    owner = next(each for each in kind.__mro__ if each.__dict__.get("skills_folder") is not None)
    place = Path(inspect.getfile(owner)).parent / folder
    return sorted(path.parent for path in place.glob("*/SKILL.md"))
