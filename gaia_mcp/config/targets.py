"""The target of an entry: a command, a URL, or a handler or an agent that this program serves.

Each kind of target expands its variables, describes itself without secrets, and has an identity. Does not connect: a
transport is created from a target elsewhere, and a kind that cannot be reached is rejected there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gaia_mcp.config.command import NOTHING, Command, expanded, on_one_line, references_in
from gaia_mcp.config.oauth import NO_MEMBERS, OAuthMembers
from gaia_mcp.config.served import Served
from gaia_mcp.errors import EntryError

URL_SCHEMES = ("http://", "https://")
# The members of an entry that name TLS files, as in Hermes Agent's format.
TLS_FILES = ("ssl_verify", "client_cert", "client_key")


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
        from gaia_mcp.redaction import masked_url, masked_value

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
        from gaia_mcp.redaction import masked_url

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
