"""The variables of a server: those of its entry, and a short list of variables inherited from this process.

A server must not read the secrets of the shell that it was started from. So only the variables listed here are
inherited, and of those listed by prefix none that looks like a secret. A server of ours keeps the secrets that protect
it, whatever else a child inherits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gaia_mcp.client.transports.stdio.command_line import expanded_word
from gaia_mcp.names import SERVER_SECRETS

# As in the SDKs, plus the temporary folder, without which installers fail.
_POSIX = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_WINDOWS = (
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
)  # fmt: skip
# Behind a company's proxy no package can be downloaded and no service reached without these. The URL of a proxy is
# inherited with its password, which is required; no error, log or list shows it.
_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
_NETWORK = (
    *_PROXIES, *map(str.lower, _PROXIES), "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY", "NODE_USE_SYSTEM_CA", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)  # fmt: skip
# For a server that opens a window or a browser, or uses git. They name sockets and files, although some look like
# secrets.
_DESKTOP = (
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "SSH_AUTH_SOCK", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP", "XDG_SESSION_ID", "XDG_SESSION_TYPE",
)  # fmt: skip
INHERITED_POSIX = frozenset((*_POSIX, *_NETWORK, *_DESKTOP))
INHERITED_WINDOWS = frozenset((*_WINDOWS, *_NETWORK))
# Language and folders; the settings of package managers, such as a company's index; and those of version managers,
# whose programs on PATH cannot run without them.
INHERITED_PREFIXES = (
    "LC_", "NPM_CONFIG_", "NVM_", "PIP_", "PYENV_", "UV_", "VOLTA_", "XDG_", "npm_config_",
)  # fmt: skip


def child_environment(
    own: Mapping[str, str], environ: Mapping[str, str], *, inherits_all: bool = False, system: str = os.name
) -> dict[str, str]:
    """The environment of a server: the inherited part of `environ`, or all of it but `SERVER_SECRETS`, and its `own`
    variables, which take precedence.
    """
    names = INHERITED_WINDOWS if system == "nt" else INHERITED_POSIX
    inherited = {
        name: value
        for name, value in environ.items()
        # Functions exported by old shells begin like this; they are code, not values.
        if (inherits_all or name in names or (name.startswith(INHERITED_PREFIXES) and not _is_secret(name, value)))
        and not value.startswith("()")
        and name not in SERVER_SECRETS
    }
    return {**inherited, **own}


def secrets_given(
    command: str, arguments: Sequence[str] | None, own: Mapping[str, str], *, inherits_all: bool = False
) -> list[str]:
    """The secrets passed to a server, which no error or log may contain: the values of its `own` variables, apparent
    secrets among its arguments and inherited variables, and credentials in URLs, such as a proxy's.

    Without `arguments` the command is a command line.
    """
    from gaia_mcp.redaction import looks_secret
    from gaia_mcp.redaction.finding import in_text, in_value
    from gaia_mcp.redaction.masker import credentials_in, secrets_at, secrets_in

    found = secrets_in(own, arguments or [expanded_word(word, os.environ) for word in command.split()])
    for name, value in child_environment({}, os.environ, inherits_all=inherits_all).items():
        if name not in INHERITED_POSIX and looks_secret(name):
            # Some variables that look like secrets by name contain a path.
            is_place = os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117
            found += [] if is_place else secrets_at(value, in_value(name, value))
        elif inherits_all and name not in INHERITED_POSIX:
            found += secrets_at(value, in_text(value))
        elif "@" in value:
            # The URL of a proxy may have no scheme.
            found += credentials_in(value if "://" in value else f"://{value}" if _is_proxy(name) else "")
    return found


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret: by its name, or as a URL with credentials that is not a proxy's."""
    from gaia_mcp.redaction import looks_secret, masked_url

    return looks_secret(name) or ("://" in value and not _is_proxy(name) and masked_url(value) != value)


def _is_proxy(name: str) -> bool:
    return name.upper().endswith("PROXY")
