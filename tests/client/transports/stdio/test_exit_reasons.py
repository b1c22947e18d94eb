"""The line of a server's stderr that tells why it has ended."""

from __future__ import annotations

import pytest

from gaia_mcp.client.transports.stdio.exit_reasons import LOOKED_AT_LINES, fetches_packages, last_words, not_passed_on

# What a server wrote to stderr, and the line that is shown of it.
LAST_WORDS = [
    ("", ""),
    ("\n  \n", ""),
    ("starting\nno such file\n", "no such file"),
    ("Traceback (most recent call last):\n  File x\nValueError: bad\n", "ValueError: bad"),
    ("node:internal\nError: Cannot find module 'x'\n    at a\n    at b\n\nNode.js v22.1.0\n",
     "Error: Cannot find module 'x'"),
    ("TypeError: x is not a function\n    at main (index.js:1)\n", "TypeError: x is not a function"),
    ("Fatal error in main(): Error: fetch failed\n    at a (x.js:1)\n    at async main (x.js:2)\n",
     "Fatal error in main(): Error: fetch failed"),
    ("Fatal error: Error: no bindings. Tried:\n -> a\n    at b (x.js:1) {\n  x: [\n" + "'a',\n" * 40 + "  ]\n}\n",
     "Fatal error: Error: no bindings. Tried:"),
    ("TypeError: fetch failed\n    at a (x.js:1) {\n  [cause]: Error: no host x\n      at b (x.js:1) {\n  }\n}\n",
     "[cause]: Error: no host x"),
    ("there is no key\n    at main (x.js:1)\n    at x.js:2\n", "there is no key"),
    ("at once\n", "at once"),
    ("odd\n}\n", "}"),
    ("error: agent 'x' is not there\nhint: check the path\n", "error: agent 'x' is not there"),
    ("hint: alone\n", "hint: alone"),
    ("red \x1b[31m words\n", "red \\x1b[31m words"),
    ("docker: no daemon\n\nRun 'docker run --help' for more information\n", "docker: no daemon"),
    ("you must set X\nUpdate your environment and try again (no reload needed)!", "you must set X"),
    ("error: no X\nTry --help for help.", "error: no X"),
    ("see the help\n", "see the help"),
    ("log\nError: no context is set\n\nUsage:\n  docker mcp gateway run\n\nFlags:\n      --version   Print it\n",
     "Error: no context is set"),
    ("fatal: no key\nUSAGE: x\n  -v\n", "fatal: no key"),
    ("panic no key\nusage: x\n  -v\n", "panic no key"),
    ("x: error: no key\nusage: x\n  -v\n", "x: error: no key"),
    ("error: an old one\nusage: x [-v]\nx: error: no key\n", "x: error: no key"),
    ("error: an old one\nusage: x [-v]\nTraceback:\nValueError: bad\n", "ValueError: bad"),
    ("error: an old one\nusage: x\n" + "served\n" * 100, "served"),
    ("Usage: x [OPTIONS]\nTry 'x --help' for help.\n\nError: no such file.\nOptions:\n  - Add y\n",
     "Error: no such file."),
    ("Usage: x [OPTIONS]\nTry 'x --help' for help.\n\nlistening\nclosed\n", "closed"),
    ("errors: 0\nusage: x\n  -v\n", "-v"),
    ("usage: x\n  -v\n", "-v"),
    ("npm error code E404\nnpm error 404 Not Found - GET x\nnpm error 404\nnpm error A complete log of this run\n",
     "npm error 404 Not Found - GET x"),
    ("npm ERR! code X\nnpm ERR! syscall open\nnpm ERR! path /x\nnpm ERR! errno -2\nnpm ERR! x no y\nnpm ERR! x z\n",
     "npm ERR! x no y"),
    ("npm error code E1\nnpm error A complete log of this run\n", "npm error A complete log of this run"),
    ("npm error optional\nno such file\n", "no such file"),
    ("sh: 1: x: not found\nnpm notice\nnpm notice New minor version of npm available!\nnpm notice\n",
     "sh: 1: x: not found"),
    ("npm error no y\nnpm notice\nnpm notice To update run: npm install -g npm\nnpm notice\n", "npm error no y"),
    ("npm notice\n", "npm notice"),
    ("up\npanic: no token\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:9 +0x18\nexit status 2\n", "panic: no token"),
    ("panic: no token\n[signal SIGSEGV: code=0x1]\n\ngoroutine 1 gp=0xc0 [running]:\npanic({0x1?})\n\t/p.go:1 +0x1\n",
     "panic: no token"),
    ("fatal error: deadlock!\n\ngoroutine 1 [chan receive]:\nmain.main()\n\t/x.go:5 +0x1\n", "fatal error: deadlock!"),
    ("panic: first [recovered]\n\tpanic: second\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: second"),
    ("panic: in a log\nserved\nclosed\n", "closed"),
    ("\nthread 'main' (7) panicked at src/main.rs:2:5:\nno token\nnote: run with `RUST_BACKTRACE=1`\n", "no token"),
    ("thread 'main' panicked at 'no token', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1`\n", "no token"),
    ("thread 'x' panicked at a.rs:2:5:\nno token\nstack backtrace:\n   1: main\n    at ./a.rs:2:5\n", "no token"),
    ("thread 'x' panicked at a.rs:2:5:\nno token\nin the file\nnote: run with `RUST_BACKTRACE=1`\n", "no token"),
    ("thread 'x' panicked at a.rs:2:5:\nno token", "no token"),
    ("thread 'x' panicked at a.rs:2:5:\n", "thread 'x' panicked at a.rs:2:5:"),
    ("thread 'x' panicked at a.rs:2:5:\nno token\nnote: run with x\nError: it has ended\n", "Error: it has ended"),
    ("Exception A: x\n\tat M.main(M.java:3)\nCaused by: B: no token\n\tat M.f(M.java:2)\n\t... 1 more\n",
     "Caused by: B: no token"),
    ("Unhandled A: x\n ---> B: no token\n   at F()\n   --- End of inner exception stack trace ---\n   at Main()\n",
     "---> B: no token"),
    ("x.rb:1:in 'f': no token (E)\n\tfrom x.rb:3:in '<main>'\n", "x.rb:1:in 'f': no token (E)"),
    ("PHP Fatal error: Uncaught E: no token\nStack trace:\n#0 {main}\n  thrown in /x.php on line 2\n",
     "PHP Fatal error: Uncaught E: no token"),
]  # fmt: skip


def test_the_line_with_the_error_is_selected_from_stderr() -> None:
    """Ours: of a Python traceback the last line, of node's the one with the error; no advice and no usage page."""
    assert {stderr: last_words(stderr) for stderr, _ in LAST_WORDS} == dict(LAST_WORDS)


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
