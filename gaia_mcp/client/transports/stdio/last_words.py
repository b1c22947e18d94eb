"""The line of an exited program's stderr that states the reason."""

from __future__ import annotations

import re

from gaia_mcp.safetext import one_line

# Many programs end with such a line; the error is before it.
_POINTS_TO_HELP = re.compile(
    r"(?:run|see|try|use|for more|type)\b.*(?:help|more information|usage)|update your environment\b", re.IGNORECASE
)
# npm advises to update itself, after whatever else was printed.
_NPM_NOTICE = re.compile(r"npm notice\b", re.IGNORECASE)
# npm prints its reason first, then advice and the path of its log.
_NPM_REASON = re.compile(r"npm (?:error|ERR!) (?!(?:code|syscall|errno|path|dest) |A complete log)\S")
_ERROR = re.compile(r"(?:\S+: )?(?:[\w.]*error|fatal|panic)[: ]", re.IGNORECASE)
_USAGE = re.compile(r"usage:", re.IGNORECASE)
# An error of node; the prefix is its reporter, or marks it as the cause of the error before.
_NODE_ERROR = re.compile(r"(?:[\w ()]+: ){0,2}(?:\[cause\]: )?(?:[A-Z]\w*)?Error\b|fatal|FATAL")
# Usage pages are shorter, as are the properties of a node error; an error further up may be unrelated.
USAGE_PAGE_LINES = NODE_ERROR_LINES = 100


def last_words(stderr: str) -> str:
    """The last significant line: the last one of a Python traceback, the one with "Error" of node's, not the advice of
    npm or a usage page.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    while len(lines) > 1 and (_POINTS_TO_HELP.match(lines[-1]) or _NPM_NOTICE.match(lines[-1])):
        lines.pop()
    if lines and lines[-1].startswith("npm ") and (reasons := [line for line in lines if _NPM_REASON.match(line)]):
        return one_line(reasons[0])
    if refusal := _before_usage(lines[-USAGE_PAGE_LINES:]) or _after_usage(lines[-USAGE_PAGE_LINES:]):
        return one_line(refusal)
    telling = [line for line in lines[-NODE_ERROR_LINES:] if _NODE_ERROR.match(line)]
    if lines and lines[-1].startswith(("Node.js v", "at ", "}")) and telling:
        return one_line(telling[-1])
    while len(lines) > 1 and lines[-1].startswith("at "):
        lines.pop()
    if lines and lines[-1].startswith("hint: "):
        # An error of this program: the line before states the problem, this one only what to do.
        return one_line(next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1]))
    return one_line(lines[-1]) if lines else ""


def _before_usage(lines: list[str]) -> str:
    """The last error, if a usage page follows it, else an empty string."""
    last = max((at for at, line in enumerate(lines) if _ERROR.match(line)), default=len(lines))
    return lines[last] if any(_USAGE.match(line) for line in lines[last + 1 :]) else ""


def _after_usage(lines: list[str]) -> str:
    """The error after a usage line, as click prints it, else an empty string. Its message may have several lines."""
    begins = [at for at, line in enumerate(lines[:-2]) if _USAGE.match(line) and _POINTS_TO_HELP.match(lines[at + 1])]
    after = lines[begins[-1] + 2] if begins else ""
    return after if after.startswith("Error: ") else ""
