"""What the stderr of an exited program says about the reason: the line that states it, and the network variables that
the server may lack because they were not passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_mcp.client.transports.stdio.launch import child_environment
from gaia_mcp.text import one_line

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
# What follows the reason: the frames of a stack, and the end of a list of them, of Java, .NET, node, Ruby and PHP.
_FRAME = re.compile(
    r"at |\.\.\. \d+ more$|--- End of |from \S+:\d+:in |#\d+ [/{[]|Stack trace:$|thrown in \S+ on line \d+$"
)
# Go prints the state of its goroutines after the reason, Rust a note about its frames.
_GO_PANIC = re.compile(r"(?:panic|fatal error): ")
_GOROUTINE = re.compile(r"goroutine \d+ ")
_RUST_PANIC = re.compile(r"thread '[^']*'(?: \(\d+\))? panicked at (?:'(.*)', )?\S+:\d+:\d+:?$")
_RUST_NOTE = re.compile(r"note: |\d+: |at |stack backtrace:|thread caused non-unwinding panic|fatal runtime error: ")
# The state that Go prints has other lines before the first goroutine: the signal, the registers.
GO_STATE_LINES = 10
# Usage pages are shorter, as are the properties of a node error; an error further up may be unrelated.
USAGE_PAGE_LINES = NODE_ERROR_LINES = 100
# The server usually recovered from an error further up.
LOOKED_AT_LINES = 40
# Messages of uv, pip, npm, node, Python, curl and OpenSSL. A package of a company's own index is not found in the
# public one; a package that needs a password is denied.
_CERTIFICATE_TROUBLE = re.compile(r"(?i)certificate|self[- ]signed|\bssl|\btls\b|unknownissuer|UNABLE_TO_[A-Z]+")
_TROUBLE = re.compile(
    r"(?i)\bproxy|network|failed to fetch|fetch failed|failed to download|\bdns |name resolution|getaddrinfo"
    r"|(?:could not|couldn't|failed to) resolve|connection (?:refused|reset|error)|connect(?:ion)? time|timed out"
    r"|\bE(?:NOTFOUND|AI_AGAIN|TIMEDOUT|CONN[A-Z]+|40[134])\b|\b40[137] "
    r"|not found in the package registry|no matching distribution"
)
# A line of a usage page about an option.
_OPTION = re.compile(r"\s*--?\w")
_FETCHES_PACKAGES = re.compile(r"(?i)(?:^|[/\\])(?:npx|npm|pnpm|yarn|bunx|uvx|uv|pipx)(?:\.exe|\.cmd)?(?:\s|$)")
# The variables of package managers, except those for publishing packages; then those of networks, and of certificates.
_OF_PACKAGES = re.compile(
    r"(?i)^(?!.*publish)(?:npm_config|pip|uv|yarn|pnpm)_|^(?:npm|node_auth)_token$|^node_options$"
)
_OF_NETWORK = re.compile(r"(?i)prox(?:y|ies)$|netrc|(?:index|registry)_url$")
_OF_CERTIFICATES = re.compile(r"(?i)cert|(?:^|_)ca_?(?:bundle|file|info|path)|ssl|tls")


def last_words(stderr: str) -> str:
    """The last significant line: the last one of a Python traceback, the one with "Error" of node's, the reason of a
    panic of Go or Rust, not the advice of npm or a usage page.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    while len(lines) > 1 and (_POINTS_TO_HELP.match(lines[-1]) or _NPM_NOTICE.match(lines[-1])):
        lines.pop()
    if lines and lines[-1].startswith("npm ") and (reasons := [line for line in lines if _NPM_REASON.match(line)]):
        return one_line(reasons[0])
    if panic := _of_go(lines) or _of_rust(lines):
        return one_line(panic)
    if refusal := _before_usage(lines[-USAGE_PAGE_LINES:]) or _after_usage(lines[-USAGE_PAGE_LINES:]):
        return one_line(refusal)
    telling = [line for line in lines[-NODE_ERROR_LINES:] if _NODE_ERROR.match(line)]
    if lines and lines[-1].startswith(("Node.js v", "at ", "}")) and telling:
        return one_line(telling[-1])
    while len(lines) > 1 and _FRAME.match(lines[-1]):
        lines.pop()
    if lines and lines[-1].startswith("hint: "):
        # An error of this program: the line before states the problem, this one only what to do.
        return one_line(next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1]))
    return one_line(lines[-1]) if lines else ""


def _of_go(lines: list[str]) -> str:
    """The reason of a panic of Go, which ends the program, else an empty string."""
    begins = [at for at, line in enumerate(lines) if _GO_PANIC.match(line)]
    after = lines[begins[-1] + 1 : begins[-1] + 1 + GO_STATE_LINES] if begins else []
    return lines[begins[-1]] if any(_GOROUTINE.match(line) for line in after) else ""


def _of_rust(lines: list[str]) -> str:
    """The reason of a panic of Rust that stderr ends with, else an empty string: a panic may end a single thread."""
    begins = [at for at, line in enumerate(lines) if _RUST_PANIC.match(line)]
    found = _RUST_PANIC.match(lines[begins[-1]]) if begins else None
    if found is None:
        return ""
    after = lines[begins[-1] + 1 :]
    # Since Rust 1.73 the reason has a line of its own.
    reason = found[1] or (after.pop(0) if after else "")
    return reason if not after or _RUST_NOTE.match(after[-1]) else ""


def _before_usage(lines: list[str]) -> str:
    """The last error, if a usage page follows it, else an empty string."""
    last = max((at for at, line in enumerate(lines) if _ERROR.match(line)), default=len(lines))
    return lines[last] if any(_USAGE.match(line) for line in lines[last + 1 :]) else ""


def _after_usage(lines: list[str]) -> str:
    """The error after a usage line, as click prints it, else an empty string. Its message may have several lines."""
    begins = [at for at, line in enumerate(lines[:-2]) if _USAGE.match(line) and _POINTS_TO_HELP.match(lines[at + 1])]
    after = lines[begins[-1] + 2] if begins else ""
    return after if after.startswith("Error: ") else ""


def fetches_packages(command: str) -> bool:
    """Whether a command, or a command line, starts a program that first downloads the server."""
    return bool(_FETCHES_PACKAGES.search(command))


def not_passed_on(
    log: str, own: Mapping[str, str], environ: Mapping[str, str], *, is_fetching: bool = False
) -> list[str]:
    """The variables in `environ` that were not passed to a server with its `own` ones and that it may need, because the
    end of its stderr mentions the network, a package index or a certificate; those of package managers first.

    `is_fetching`: the server is probably still being downloaded; npm prints nothing meanwhile.
    """
    lines = [line for line in log.splitlines()[-LOOKED_AT_LINES:] if not _OPTION.match(line)]
    is_of_certificates = any(map(_CERTIFICATE_TROUBLE.search, lines))
    is_of_network = any(map(_TROUBLE.search, lines)) or (is_fetching and not lines)
    if not is_of_certificates and not is_of_network:
        return []
    kinds = [_OF_PACKAGES, _OF_NETWORK, *([_OF_CERTIFICATES] if is_of_certificates else [])]
    passed_on = child_environment(own, environ)
    held_back = sorted(name for name, value in environ.items() if value and name not in passed_on)
    return list(dict.fromkeys(name for kind in kinds for name in held_back if kind.search(name)))
