from __future__ import annotations

import pytest

from gaia_mcp.client.transports.stdio.network_trouble import LOOKED_AT_LINES, fetches_packages, not_passed_on

NETWORK_ERRORS = [
    # uv
    "error: Failed to fetch: `https://index.example.org/simple/mcp-server-time/`",
    "  Caused by: invalid peer certificate: UnknownIssuer",
    "  Caused by: dns error",
    "  Caused by: failed to lookup address information: Temporary failure in name resolution",
    "Because x was not found in the package registry and you require x, your requirements are unsatisfiable.",
    "  Caused by: HTTP status client error (401 Unauthorized) for url (https://index.corp/simple/x/)",
    # pip
    "ERROR: No matching distribution found for mcp-server-corp",
    "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: ...'",
    # npm and node
    "npm error code ENOTFOUND",
    "npm error network request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN",
    "npm ERR! code E404",
    "npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "npm ERR! self-signed certificate in certificate chain",
    "TypeError: fetch failed",
    "Error: connect ECONNREFUSED 127.0.0.1:3128",
    # Python, curl
    "httpx.ConnectError: [Errno 111] Connection refused",
    "requests.exceptions.ProxyError: HTTPSConnectionPool(host='x', port=443)",
    "urllib.error.HTTPError: HTTP Error 407: Proxy Authentication Required",
    "curl: (6) Could not resolve host: index.corp",
]


def test_network_errors_in_the_log_are_recognized() -> None:
    """Ours: in the words of the programs that fetch servers, and of those that servers are written with."""
    named = {line: not_passed_on(f"starting\n{line}\n", {}, {"NPM_TOKEN": "x"}) for line in NETWORK_ERRORS}

    assert named == {line: ["NPM_TOKEN"] for line in NETWORK_ERRORS}


OTHER_LOGS = [
    "", "usage: server [-h] [--port PORT]", "ModuleNotFoundError: No module named 'server'",
    "KeyError: 'GITHUB_TOKEN'", "error: unrecognized arguments: --stdio", "listening on 8401",
    "Failed to fetch\n" + "ready\n" * LOOKED_AT_LINES,
    "Error: no context\nFlags:\n      --tls-cert string   The certificate\n  -p, --proxy string   The proxy\n",
]  # fmt: skip


def test_other_logs_are_not_network_errors() -> None:
    """Ours: also what happened long before the end."""
    named = {log: not_passed_on(log, {}, {"NPM_TOKEN": "x"}) for log in OTHER_LOGS}

    assert named == {log: [] for log in OTHER_LOGS}


@pytest.mark.parametrize(
    ("log", "of_certificates"),
    [("npm error code ENOTFOUND", []), ("npm error code UNABLE_TO_VERIFY_LEAF_SIGNATURE", ["CARGO_HTTP_CAINFO"])],
)
def test_the_missing_network_settings_of_a_server_are_listed(log: str, of_certificates: list[str]) -> None:
    """Ours: those of package managers first, and only what may help: certificates where one was refused."""
    environ = {
        "PATH": "/bin", "HTTPS_PROXY": "http://proxy", "UV_CACHE_DIR": "/c", "EDITOR": "vi", "OPENAI_API_KEY": "x",
        "CARGO_HTTP_CAINFO": "/c.pem", "UV_INDEX_URL": "https://ada:hunter2@i/simple", "NPM_CONFIG__AUTH": "x",
        "UV_PUBLISH_TOKEN": "x", "NPM_TOKEN": "x", "ftp_proxy": "http://proxy", "DENO_CERT": "", "PIP_PASSWORD": "x",
    }  # fmt: skip

    assert not_passed_on(log, {"PIP_PASSWORD": "own"}, environ) == [
        "NPM_CONFIG__AUTH", "NPM_TOKEN", "UV_INDEX_URL", "ftp_proxy", *of_certificates,
    ]  # fmt: skip


def test_missing_settings_of_package_managers_are_listed_without_a_log() -> None:
    """Ours: npm writes nothing for a minute while it tries to reach a registry."""
    environ = {"NPM_CONFIG__AUTH": "x", "CARGO_HTTP_CAINFO": "/c.pem"}

    assert not_passed_on("", {}, environ, is_fetching=True) == ["NPM_CONFIG__AUTH"]
    assert not_passed_on("", {}, environ) == []
    assert not_passed_on("loading a model\n", {}, environ, is_fetching=True) == []


FETCHES = {
    "npx": True,
    "/usr/bin/npx": True,
    "C:\\node\\npx.CMD": True,
    "uvx mcp-server-time": True,
    "uv": True,
    "C:\\Program Files\\nodejs\\npx.cmd": True,
    "node": False,
    "/npx/server": False,
    "my-npx": False,
    "": False,
}  # fmt: skip


def test_programs_that_fetch_packages_are_recognized() -> None:
    """Ours: with its path, or with a whole command line."""
    assert {command: fetches_packages(command) for command in FETCHES} == FETCHES
