"""Why a server that did not start may have had no network: its log speaks of it, and settings were not passed on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_mcp.client.transports.stdio.environment import child_environment

# An error further up was most often overcome.
LOOKED_AT_LINES = 40
# In the words of uv, pip, npm, node, Python, curl and OpenSSL. A package that only a company's index has is not found
# in the public one; one that needs a password is refused.
_TROUBLE = re.compile(
    r"(?i)certificate|self[- ]signed|\bssl|\btls\b|\bproxy|network|failed to fetch|fetch failed|failed to download"
    r"|\bdns |name resolution|(?:could not|couldn't|failed to) resolve|getaddrinfo|\bE(?:NOTFOUND|AI_AGAIN|TIMEDOUT)\b"
    r"|connection (?:refused|reset|error)|connect(?:ion)? time|timed out|\bECONN[A-Z]+|UNABLE_TO_[A-Z]+"
    r"|\b(?:E40[134]|40[137] )|not found in the package registry|no matching distribution"
)
# The settings of package managers, by their names; those that only publish packages are of no use here. Then those of
# networks and certificates in general.
_OF_PACKAGES = re.compile(
    r"(?i)^(?!.*publish)(?:npm_config|pip|uv|yarn|pnpm)_|^(?:npm|node_auth)_token$|^node_options$"
)
_OF_NETWORK = re.compile(
    r"(?i)prox(?:y|ies)$|cert|(?:^|_)ca_?(?:bundle|file|info|path)|ssl|tls|netrc|(?:index|registry)_url$"
)


def speaks_of_network(log: str) -> bool:
    """Whether the end of a log is about a network, a certificate or a package index."""
    return any(_TROUBLE.search(line) for line in log.splitlines()[-LOOKED_AT_LINES:])


def not_passed_on(own: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """The settings of package managers and networks in `environ` that a server with its `own` variables does not get,
    the former first.
    """
    passed_on = child_environment(own, environ)
    held_back = sorted(name for name, value in environ.items() if value and name not in passed_on)
    of_packages = [name for name in held_back if _OF_PACKAGES.search(name)]
    return of_packages + [name for name in held_back if name not in of_packages and _OF_NETWORK.search(name)]
