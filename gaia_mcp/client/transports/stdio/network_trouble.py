"""Network variables that a failed server may lack: its stderr mentions the network, and they were not passed on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_mcp.client.transports.stdio.command_line import child_environment

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
