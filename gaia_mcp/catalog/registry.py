"""The client of a registry's API, version 0.1: gets one document, and searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from gaia_mcp.catalog import Document, DocumentError, read_document
from gaia_mcp.core.errors import CatalogError, DeadlineError, MCPError, RegistryError, RegistryUnknownError
from gaia_mcp.text import one_line
from gaia_mcp.text.redaction import masked_url

if TYPE_CHECKING:
    import httpx2

    from gaia_mcp.core.deadline import Deadline

OFFICIAL_URL = "https://registry.modelcontextprotocol.io"
# The largest page that the official registry sends. Its pages have about 1.5 KB for each server.
PAGE_SERVERS = 100
MAX_RESPONSE_BYTES = 10 * 2**20
# A search with more matches has to be narrowed down.
MAX_PAGES = 20
LATEST = "latest"
# The prefix of most server names; it is not searched.
_OF_GITHUB = "io.github."


class Registry:
    """The registry at a URL, as a context manager. `deadline` applies to all requests.

    Credentials in the URL, or a bearer `token`, are sent with each request; the attribute `url` does not contain them.
    Redirects are not followed. Its methods raise `RegistryError` and `DeadlineError`.
    """

    def __init__(self, url: str, deadline: Deadline, token: str = "") -> None:
        import httpx2

        from gaia_mcp.client.transports.http.auth.fetching import TimeLimit

        self._deadline = deadline
        self.url = without_credentials(url).rstrip("/")
        if not _is_base(self.url):
            raise RegistryError(self._shown, "is not an http or https URL without a query")
        headers = {"accept": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
        self._client = httpx2.Client(headers=headers)
        self._limit = TimeLimit()
        self._address = url.rstrip("/")

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def _shown(self) -> str:
        return masked_url(self.url)

    def document(self, name: str, version: str = LATEST) -> Document:
        """The document about a version of a server. Raises `RegistryUnknownError` if it does not exist, and
        `CatalogError` if it is invalid.
        """
        place = f"/v0.1/servers/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        missing = RegistryUnknownError(self._shown, name, "" if version == LATEST else version)
        found = self._get(place, {}, missing)
        try:
            return self._document(found)
        except DocumentError as problem:
            raise CatalogError(name, f"the registry {self._shown} returned an invalid document: {problem}") from None

    def search(self, words: list[str]) -> Iterator[Document]:
        """The latest versions of the servers whose name, title or description contain each of `words`, in the order of
        the registry. Invalid documents are omitted.
        """
        wanted, names = [word.casefold() for word in words], set()
        # The registry searches only names, for one string: the longest word has the fewest matches.
        for word in sorted(wanted, key=len, reverse=True):
            is_found = False
            for one in self._named_like(word):
                name = one.name.removeprefix(_OF_GITHUB)
                text = f"{name} {one.title} {one.description}".casefold()
                if one.name not in names and one.status != "deleted" and all(each in text for each in wanted):
                    is_found = True
                    names.add(one.name)
                    yield one
            if is_found:
                return

    def _named_like(self, word: str) -> Iterator[Document]:
        query: dict[str, Any] = {"version": LATEST, "limit": PAGE_SERVERS, "search": word}
        cursors: set[str] = set()
        for _ in range(MAX_PAGES):
            missing = RegistryError(self._shown, "has no list of servers: is it the URL of a registry?")
            page = self._get("/v0.1/servers", query, missing)
            for found in page.get("servers") or []:
                with suppress(RegistryError, DocumentError):
                    yield self._document(found)
            metadata = page.get("metadata")
            cursor = metadata.get("nextCursor") if isinstance(metadata, dict) else None
            if not cursor or not isinstance(cursor, str) or cursor in cursors:
                return
            cursors.add(cursor)
            query["cursor"] = cursor

    def _document(self, found: Any) -> Document:
        """The document in a part of a response. Raises `DocumentError` for an invalid one, and `RegistryError`."""
        server = found.get("server") if isinstance(found, dict) else None
        if not isinstance(server, dict):
            raise RegistryError(self._shown, "returned a server that is not an object")
        return read_document(server, found.get("_meta"))

    def _get(self, place: str, query: dict[str, Any], missing: MCPError) -> dict[str, Any]:
        """The JSON object at a path. Raises `missing` for status 404."""
        import httpx2

        from gaia_mcp.text.strict_json import JSONTextError, parse_json

        asking = self._client.stream(
            "GET",
            self._address + place,
            params=query,
            timeout=self._deadline.remaining(),
            extensions=self._limit.extensions,
        )
        try:
            with self._limit.until(self._deadline), asking as response:
                if response.status_code != 200:
                    raise self._refused(response, place, missing)
                body = self._body(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as cause:  # UnicodeError: a host with "..".
            # When the deadline has expired, a connection may also fail with other exceptions.
            if isinstance(cause, httpx2.TimeoutException) or self._deadline.expired:
                raise self._late() from None
            raise RegistryError(self._shown, f"cannot be reached: {cause or type(cause).__name__}") from cause
        try:
            found = parse_json(body.decode())
        except (JSONTextError, UnicodeDecodeError):
            found = None
        if not isinstance(found, dict):
            raise RegistryError(self._shown, "did not return a JSON object: is it the URL of a registry?")
        return found

    def _refused(self, response: httpx2.Response, place: str, missing: MCPError) -> MCPError:
        status = response.status_code
        if status == 404:
            return missing
        if status in (401, 403):
            problem = f"demands authorization: it responded with status {status}"
            return RegistryError(self._shown, problem, case="registry-unauthorized")
        if 300 <= status < 400 and (location := response.headers.get("location")):
            whole = without_credentials(urljoin(f"{self.url}{place}", location))
            moved = masked_url(one_line(whole.partition("?")[0].removesuffix(place)))
            return RegistryError(self._shown, f"redirects to {moved}", case="registry-moved", moved=moved)
        busy = {429: ": too many requests"}.get(status, "")
        case = "registry-busy" if status == 429 or status >= 500 else ""
        return RegistryError(self._shown, f"responded with status {status}{busy}", case=case)

    def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > MAX_RESPONSE_BYTES:
                raise RegistryError(self._shown, f"sent more than {MAX_RESPONSE_BYTES >> 20} MiB")
        # A body without a known length ends when the connection closes, which may be due to the deadline.
        if self._deadline.expired:
            raise self._late()
        return bytes(body)

    def _late(self) -> DeadlineError:
        return DeadlineError(self._shown, "a request to the registry", self._deadline.allowed)


def without_credentials(url: str) -> str:
    """`url` without user and password. An invalid URL is returned unchanged."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _is_base(url: str) -> bool:
    """Whether a URL is valid as a base to which paths are appended."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (it raises for one that is no number)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
