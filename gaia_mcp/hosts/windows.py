"""Entries that were written for Windows, on another system. Pure.

READMEs and hosts' files start npx by `cmd /c npx` there, since it is a batch file, or by its path on a drive.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

# A path on a drive, or on another machine. A URL with a scheme of one letter does not exist.
_PATH = re.compile(r"[A-Za-z]:[\\/].*|\\\\[^\\].*", re.DOTALL)
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
# Programs that have the same name on every system. The launcher `py` is called python3 there.
_EVERYWHERE = {
    **{
        name: name for name in ("bun", "bunx", "deno", "docker", "dotnet", "java", "node", "npm", "npx", "pipx", "pnpm")
    },
    **{name: name for name in ("podman", "python", "python3", "uv", "uvx", "yarn")},
    "py": "python3",
}


def without_windows(entry: Mapping[str, Any], is_program: Callable[[str], bool]) -> tuple[dict[str, Any], list[str]]:
    """A valid entry of ours as this system can start it, and the remarks: without `cmd /c`, and with the name of a
    program in place of its path on Windows. Other paths of Windows are only named. `is_program` tells whether a program
    exists here: then its entry stays as it is.
    """
    changed = dict(entry)
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or is_program(command):
        return changed, []
    remarks = []
    words = [command, *(args if isinstance(args, list) else [])]
    if _name_of(command) == "cmd" and (inner := _after_cmd(words[1:])):
        words = inner
        remarks.append(f"{words[0]!r} is started without 'cmd /c', which is of Windows")
    name = _EVERYWHERE.get(_name_of(words[0]))
    if name is not None and name != words[0] and not is_program(words[0]):
        remarks.append(f"the program {words[0]!r} is of Windows; here it is {name!r}")
        words[0] = name
    if words != [command, *(args if isinstance(args, list) else [])]:
        changed |= {"command": words[0], "args": words[1:]}
    env = entry.get("env")
    places = [
        *(("the program", word) for word in words[:1]),
        *(("the argument", word) for word in words[1:]),
        *((f"env {key}", held) for key, held in (env.items() if isinstance(env, dict) else ())),
        ("the folder", entry.get("cwd")),
    ]
    paths = [f"{where} {held!r}" for where, held in places if isinstance(held, str) and _PATH.fullmatch(held)]
    return changed, remarks + [f"{path} is a path of Windows, which is not here" for path in paths]


def _name_of(program: str) -> str:
    """The name of a program without its folder on Windows and its suffix."""
    name = re.split(r"[\\/]", program)[-1] if _PATH.fullmatch(program) else program
    return _SUFFIX.sub("", name).lower()


def _after_cmd(arguments: list[str]) -> list[str]:
    """The words of the command in the arguments of cmd.exe; empty without one."""
    flags = 0
    while flags < len(arguments) and re.fullmatch(r"/[A-Za-z]", arguments[flags]):
        flags += 1
        if arguments[flags - 1].lower() in ("/c", "/k"):
            rest = arguments[flags:]
            if len(rest) == 1 and not _PATH.fullmatch(rest[0]):
                try:
                    return shlex.split(rest[0])
                except ValueError:
                    return []
            return rest
    return []
