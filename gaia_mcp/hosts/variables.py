"""References to variables, in each host's notation. Ours is `${NAME}` and `${NAME:-default}`.

Pure: nothing is looked up here. What has no counterpart is reported by `remark`, never copied as if it meant the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Value = Callable[[str, str | None], str | None]

# In braces stand up to a thousand characters: so one that is never closed is not looked for to the end of the text.
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SHELL = rf"\$\{{(?P<shell>{_NAME})(?::-(?P<default>[^}}]{{0,1000}}))?\}}"
_BARE = rf"\$(?P<bare>{_NAME})"
# Text that looks like a reference, but is one in no host's notation.
_LOOK_ALIKE = re.compile(rf"%{_NAME}%|^\${_NAME}$")
_EDITOR = rf"\$\{{env:(?P<editor>{_NAME})\}}|\$\{{input:(?P<input>[^}}]{{1,1000}})\}}"
_VARIABLE = re.compile(_NAME)
_PLACES = (
    r"\$\{(?P<place>userHome|pathSeparator|/|workspaceFolder(?:Basename)?(?::[^}]{0,1000})?|(?:command|config):[^}]{0,1000}"
    r"|cwd|execPath|(?:relativeF|f)ile\w*)\}"
)
_BRACES = rf"\{{env:(?P<braces>{_NAME})\}}|\{{(?P<file>file:[^}}]{{1,1000}})\}}"
_SECRETS = rf"\$\{{\{{\s*secrets\.(?P<secret>{_NAME})\s*\}}\}}"


@dataclass(frozen=True)
class Notation:
    """How a host writes references: what it reads as one, and how one is written, None where it has none."""

    pattern: re.Pattern[str] | None
    written: str | None
    default: str | None = None


OURS = re.compile(_SHELL)
SHELL = Notation(OURS, "${%s}", "${%s:-%s}")
GEMINI = Notation(re.compile(f"{_SHELL}|{_BARE}"), "${%s}", "${%s:-%s}")
QWEN = Notation(re.compile(rf"\$\{{(?P<shell>{_NAME})\}}|{_BARE}"), "${%s}")
KIRO = Notation(re.compile(rf"\$\{{(?P<shell>{_NAME})\}}"), "${%s}")
EDITOR = Notation(re.compile(f"{_EDITOR}|{_PLACES}"), "${env:%s}")
CLINE = Notation(re.compile(rf"\$\{{env:(?P<editor>{_NAME})\}}"), "${env:%s}")
BRACES = Notation(re.compile(_BRACES), "{env:%s}")
SECRETS = Notation(re.compile(_SECRETS), "${{ secrets.%s }}")
NONE = Notation(None, None)


class UntranslatableError(ValueError):
    """A reference that means nothing on the other side. `what` is the reference, never its value."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"{what} {problem}")


def to_ours(
    text: str, notation: Notation, *, key: str = "", folder: str | None = None, remark: Callable[[str], None]
) -> str:
    """`text` of a host in our notation. `key` is the variable that it is the value of; `folder` the project's.

    Raises `UntranslatableError`.
    """

    def ours(match: re.Match[str]) -> str:
        found = {name: held for name, held in match.groupdict().items() if held is not None}
        default = found.pop("default", None)
        ((kind, held),) = found.items()
        if kind == "input":
            # A value that is asked for becomes the variable that it is for, or one of the same name.
            name = key if match.group() == text and _VARIABLE.fullmatch(key) else _variable_name(held)
            remark(f"the host asks for {match.group()}; here it is the environment variable {name}")
            return f"${{{name}}}"
        if kind == "place":
            return _place(held, match.group(), folder)
        if kind == "file":
            raise UntranslatableError(match.group(), "is read from a file by the host, which is not supported here")
        return f"${{{held}}}" if default is None else f"${{{held}:-{default}}}"

    pattern = notation.pattern
    rest = pattern.sub("", text) if pattern is not None else text
    for match in OURS.finditer(rest):
        remark(f"{match.group()} is plain text for the host, but a variable here")
    for match in _LOOK_ALIKE.finditer(rest):
        remark(f"{match.group()} is plain text; a variable is written as ${{{match.group().strip('$%')}}}")
    return pattern.sub(ours, text) if pattern is not None else text


def to_theirs(text: str, notation: Notation, *, value: Value = lambda _name, _default: None) -> str:
    """Our `text` in a host's notation. `value` is called with the name and the default of a variable, and returns the
    text to write in its place, or None.

    Raises `UntranslatableError`.
    """

    def theirs(match: re.Match[str]) -> str:
        name, default = match["shell"], match["default"]
        held = value(name, default)
        if held is not None:
            return held
        if notation.written is None:
            raise UntranslatableError(match.group(), "is a variable, and the host expands none")
        if default is None:
            return notation.written % name
        if notation.default is None:
            raise UntranslatableError(match.group(), "has a default value, which the host does not support")
        return notation.default % (name, default)

    return OURS.sub(theirs, text)


def _variable_name(words: str) -> str:
    name = re.sub(r"\W+", "_", words, flags=re.ASCII).upper()
    return name if _VARIABLE.fullmatch(name) else f"_{name}"


def _place(name: str, whole: str, folder: str | None) -> str:
    if name == "userHome":
        return "${HOME}"
    if name in ("pathSeparator", "/"):
        return "/"
    if name.startswith("workspaceFolder") and folder is not None:
        return folder if name == "workspaceFolder" else folder.rstrip("/").rpartition("/")[2]
    if name.startswith("workspaceFolder"):
        raise UntranslatableError(whole, "is the folder that is open in the host, and is not known here")
    raise UntranslatableError(whole, "is not supported here")
