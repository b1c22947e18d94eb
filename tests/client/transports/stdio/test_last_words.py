"""The line of a server's stderr that tells why it has ended."""

from __future__ import annotations

from gaia_mcp.client.transports.stdio.last_words import last_words

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
]  # fmt: skip


def test_the_line_with_the_error_is_selected_from_stderr() -> None:
    """Ours: of a Python traceback the last line, of node's the one with the error; no advice and no usage page."""
    assert {stderr: last_words(stderr) for stderr, _ in LAST_WORDS} == dict(LAST_WORDS)
