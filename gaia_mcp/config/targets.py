"""The target of an entry: a command, a URL with its authorization settings, or a handler or an agent that this program
serves.

Each kind expands its variables, describes itself without secrets, and has an identity. The settings are the member
`oauth`, in the format of the programs that share the file, or `auth`, in Cursor's; unknown members are ignored. Does
not connect: a transport is created from a target elsewhere, and a kind that cannot be reached is rejected there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gaia_mcp.config.command import NOTHING, Command, expanded, on_one_line, references_in
from gaia_mcp.config.served import Served
from gaia_mcp.core.errors import EntryError
from gaia_mcp.core.grant_kinds import GRANT_KINDS

URL_SCHEMES = ("http://", "https://")
# The members of an entry that name TLS files, as in Hermes Agent's format.
TLS_FILES = ("ssl_verify", "client_cert", "client_key")


# The members that are strings, with their alternative spellings, by the name of the setting.
_TEXTS = {
    "client_id": ("clientId", "client_id", "CLIENT_ID"),
    "client_secret": ("clientSecret", "client_secret", "CLIENT_SECRET"),
    "issuer": ("issuer",),
    "metadata_url": ("authServerMetadataUrl",),
    "client_document": ("clientMetadataUrl",),
    "redirect_uri": ("redirectUri", "redirect_uri"),
    "private_key": ("privateKey",),
    "algorithm": ("signingAlgorithm",),
    "assertion": ("assertion",),
    "provider": ("idpTokenEndpoint",),
    "provider_client": ("idpClientId",),
}
_SECRETS = ("client_secret", "private_key", "assertion")
# A secret that another program renews: it is read on use.
_FILES = {"private_key": "privateKeyFile", "assertion": "assertionFile"}
_SCOPES = ("scopes", "scope")
_PORT = ("callbackPort", "callback_port")
_GRANT = ("grantType", "grant")
_ENABLED = "enabled"
KNOWN = frozenset(
    (_ENABLED, *_FILES.values(), *_SCOPES, *_PORT, *_GRANT, *(each for names in _TEXTS.values() for each in names))
)
_GRANTS = {name: grant for grant, kind in GRANT_KINDS.items() for name in kind.names}
# Far larger than any key or token.
MAX_FILE_BYTES = 1 << 20


class OAuthMembers(NamedTuple):
    """The settings by name, as written in the entry: a string, or `{"$keyring": …}`. `files` are files that contain a
    secret. With `is_off` there is no authorization.
    """

    values: Mapping[str, Any]
    files: Mapping[str, str]
    is_off: bool = False

    def resolved(self, server: str, environ: Mapping[str, str]) -> dict[str, Any]:
        """The settings for use. Raises `VariableUnsetError`, and `EntryError` for a secret that cannot be read."""
        found = dict(self.values)
        for name in _TEXTS:
            held = found.get(name)
            if isinstance(held, dict):
                from gaia_mcp.config.command import secret_from_keyring

                found[name] = secret_from_keyring(server, f"oauth {_TEXTS[name][0]}", held["$keyring"])
            elif held is not None:
                found[name] = expanded(held, environ, server=server, field=f"oauth {_TEXTS[name][0]}")
        for name, path in self.files.items():
            found[name] = _content(server, _FILES[name], expanded(path, environ, server=server, field=_FILES[name]))
        return found

    def masked(self) -> dict[str, Any]:
        """The member of the entry for display, with its secrets masked."""
        if self.is_off:
            return {"enabled": False}
        from gaia_mcp.text.redaction import masked_url, masked_value

        shown: dict[str, Any] = {}
        for name, held in self.values.items():
            spelled = _TEXTS[name][0] if name in _TEXTS else {"callback_port": _PORT[0], "grant": _GRANT[0]}.get(name)
            if isinstance(held, str):
                held = masked_value("secret", held) if name in _SECRETS else masked_url(held)
            shown[spelled or name] = held
        return {**shown, **{_FILES[name]: path for name, path in self.files.items()}}


NO_MEMBERS = OAuthMembers({}, {})


def read_oauth(server: str, entry: Mapping[str, Any]) -> OAuthMembers:
    """The settings of an entry. Raises `EntryError` for a member that is invalid."""
    held = entry.get("oauth", entry.get("auth"))
    if held is False:
        return OAuthMembers({}, {}, is_off=True)
    if held is None or held is True or ("oauth" not in entry and not isinstance(held, dict)):
        return NO_MEMBERS
    if not isinstance(held, dict):
        raise EntryError(server, "'oauth' must be an object, or false for none")
    if held.get(_ENABLED) is False:
        return OAuthMembers({}, {}, is_off=True)
    values: dict[str, Any] = {}
    for name, spellings in _TEXTS.items():
        found = _first(held, spellings)
        if found is None:
            continue
        is_reference = name in _SECRETS and isinstance(found, dict) and isinstance(found.get("$keyring"), str)
        if not is_reference and (not isinstance(found, str) or not found):
            raise EntryError(server, f"'oauth' has {spellings[0]!r}, which must be a string that is not empty")
        values[name] = found
    files = {name: held[member] for name, member in _FILES.items() if isinstance(held.get(member), str)}
    if (scopes := _first(held, _SCOPES)) is not None:
        values["scopes"] = _scopes(server, scopes)
    if (port := _first(held, _PORT)) is not None:
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65536:
            raise EntryError(server, f"'oauth' has {_PORT[0]!r}, which must be the number of a port")
        values["callback_port"] = port
    if (word := _first(held, _GRANT)) is not None:
        values["grant"] = _grant(server, word, {*values, *files})
    return OAuthMembers(values, files)


def unknown_members(entry: Mapping[str, Any]) -> list[str]:
    """The members of an entry's settings that are not read."""
    held = entry.get("oauth")
    return [name for name in held if name not in KNOWN] if isinstance(held, dict) else []


def _first(held: Mapping[str, Any], spellings: tuple[str, ...]) -> Any:
    return next((held[each] for each in spellings if held.get(each) is not None), None)


def _scopes(server: str, held: object) -> list[str]:
    scopes = held.split() if isinstance(held, str) else held
    if not isinstance(scopes, list) or not all(isinstance(scope, str) and scope.split() == [scope] for scope in scopes):
        raise EntryError(server, "'oauth' has 'scopes', which must be a list of scopes")
    return scopes


def _grant(server: str, word: object, given: set[str]) -> str:
    grant = _GRANTS.get(word) if isinstance(word, str) else None
    if grant is None:
        raise EntryError(server, f"'oauth' has {_GRANT[0]!r}, which must be one of {', '.join(_GRANTS)}")
    missing = [_TEXTS[name][0] for name in GRANT_KINDS[grant].needs if name not in given]
    if missing:
        raise EntryError(server, f"'oauth' needs {', '.join(map(repr, missing))} for the grant {word!r}")
    return grant


def _content(server: str, member: str, path: str) -> str:
    from gaia_mcp.config.command import with_home
    from gaia_mcp.core.files import read_file

    try:
        return read_file(with_home(path), MAX_FILE_BYTES).decode().strip()
    except OSError as cause:
        raise EntryError(server, f"{member} {path!r} cannot be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise EntryError(server, f"{member} {path!r} is not text") from cause


class Remote(NamedTuple):
    """A server behind a URL. `transport` is "http", "sse" or "rpc"; `oauth` are its authorization settings. `ca`,
    `cert` and `key` are PEM files: the certificate authorities that are trusted instead of the system's, the client
    certificate, and its key, if that is not in the same file.

    A value of `headers` is a string, or `{"$keyring": …}` until it is resolved.
    """

    url: str
    headers: Mapping[str, Any] = NOTHING
    transport: str = "http"
    oauth: OAuthMembers = NO_MEMBERS
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def resolved(self, server: str, environ: Mapping[str, str]) -> Remote:
        """The URL and the headers with their variables expanded, and secrets read from the keyring. A header whose
        token is empty is left out.

        Raises `VariableUnsetError`, and `EntryError` if the expanded URL is not an HTTP URL, for a secret that cannot
        be read, and for a header that HTTP cannot carry.
        """
        url = expanded(self.url, environ, server=server, field="url")
        if not url.startswith(URL_SCHEMES):
            raise EntryError(server, "'url' must begin with http:// or https://, also after its variables are expanded")
        headers = {
            name: value
            for name, held in self.headers.items()
            if (value := _header(server, name, held, environ)) is not None
        }
        files = [
            held if held is None else expanded(held, environ, server=server, field=field)
            for field, held in self._files().items()
        ]
        return Remote(url, headers, self.transport, self.oauth, *files)

    def masked(self) -> dict[str, Any]:
        """The members of the entry, with their secrets masked."""
        from gaia_mcp.text.redaction import masked_url, masked_value

        shown: dict[str, Any] = {"url": masked_url(self.url)}
        if self.headers:
            shown["headers"] = {
                name: masked_value(name, held) if isinstance(held, str) else held for name, held in self.headers.items()
            }
        if self.oauth != NO_MEMBERS:
            shown["oauth"] = self.oauth.masked()
        shown.update((member, held) for member, held in self._files().items() if held is not None)
        return shown

    def summary(self) -> dict[str, Any]:
        """The members that identify the server, for a file that others read."""
        return {"url": self.masked()["url"]}

    def described(self) -> str:
        """The URL, on one line and without secrets."""
        from gaia_mcp.text.redaction import masked_url

        return on_one_line(masked_url(self.url))

    def identity(self) -> list[Any]:
        """The identity of the server, as JSON. Contains only the names of its headers."""
        client = self.oauth.values.get("client_id")
        return [self.transport, self.url, sorted(self.headers), *([] if client is None else [client])]

    def _files(self) -> dict[str, str | None]:
        return dict(zip(TLS_FILES, (self.ca, self.cert, self.key), strict=True))


def _header(server: str, name: str, held: Any, environ: Mapping[str, str]) -> str | None:
    """The value of the header `name`; None if its token is empty, so that a login can take its place."""
    field = f"header {name}"
    if isinstance(held, str):
        value = expanded(held, environ, server=server, field=field)
    else:
        from gaia_mcp.config.command import secret_from_keyring

        value = secret_from_keyring(server, field, held["$keyring"])
    if _is_without_token(name, value) or (value != held and not value.strip(" \t")):
        return None
    from gaia_mcp.protocol.headers import header_fault

    if (fault := header_fault(value)) is not None:
        used = references_in(held) if isinstance(held, str) else []
        source = f" (from {', '.join(used)})" if used else "" if isinstance(held, str) else " (from the keyring)"
        raise EntryError(server, f"the header {name!r} {fault}{source}")
    return value


def _is_without_token(name: str, value: str) -> bool:
    """Whether the header is an Authorization that is empty, or only a scheme that takes a token."""
    return name.lower() == "authorization" and value.strip(" \t").lower() in ("", "bearer", "basic", "token")


Target = Command | Remote | Served
