"""What to type next after a server has answered with a JSON-RPC error, or has ended: what its own words advise."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gaia_mcp.cli.lines import Typed, again, to_type
from gaia_mcp.protocol.input_required import required_urls
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, RESOURCE_NOT_FOUND

if TYPE_CHECKING:
    from gaia_mcp.errors import PeerError

# Of variables that may be missing; more would bury what to type.
MAX_VARIABLES = 3
# So much of a message is read, and so much around a name.
READ_CHARS, NEAR_CHARS = 2000, 80
# Requests for one thing of many. These codes mean that the server does not have it.
_FOR_ONE = ("tools/call", "prompts/get", "resources/read", "completion/complete")
_NOT_THERE = (INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND)

# Commands that can answer a server's requests for a message of a model.
_ANSWERING = ("call", "prompt", "read", "test-client")

_NAME = r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"
# The names of errors, which are written in the same way.
_ERROR = (
    r"(?:ERR|INVALID|MISSING|EXPIRED|UNKNOWN|BAD|NO|UNABLE|CERT)_\w+"
    r"|\w+_(?:ERR|ERROR|FAILED|FAILURE|FOUND|DENIED|EXCEEDED|EXPIRED|INVALID|REQUIRED|EXCEPTION|CHAIN|SIGNATURE)"
)
# What only a setting is called.
_SETTING = r"\w+_(?:TOKEN|KEY|SECRET|PASSWORD|PASS|URL|URI|ID|HOST|USER|USERNAME|EMAIL|PATH|DIR|PAT|DSN)"
# Words that make any name one of a variable: those before it, and those behind it.
_BEFORE = (
    r"(?i:\b(?:set|export|provide|specify|define|configure|missing|requires?|KeyError)\b"
    r"(?: (?:the|an?|your|required|following|env|environment|variables?|vars?))*)\W*$"
)
_BEHIND = (
    r"\W*(?i:(?:env|environment|variables?|must)\b"
    r"|(?:is |are |was |were )?(?:not|missing|required|undefined|unset|empty)\b)"
)


def missing_variables(text: str) -> list[str]:
    """The environment variables that a server asks for in `text`, as far as can be seen; empty if it names none."""
    found: dict[str, None] = {}
    text = text[:READ_CHARS]
    for match in re.finditer(_NAME, text):
        begin, end, name = *match.span(), match[0]
        before, behind = text[max(0, begin - NEAR_CHARS) : begin], text[end : end + NEAR_CHARS]
        if re.fullmatch(_ERROR, name) is None and (
            re.fullmatch(_SETTING, name) or re.search(_BEFORE, before) or re.match(_BEHIND, behind)
        ):
            found[name] = None
    return list(found)[:MAX_VARIABLES]


def how_to_set(names: list[str], server: str) -> str:
    """How `server` gets these variables."""
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    # One that is set here is referred to, and not repeated.
    options = [word for name in names for word in ("--env", name if name in os.environ else f"{name}=VALUE")]
    if Typed.command in ("add", "edit"):
        how = f"nothing was saved; {again('try again', *options, server=server)}"
    elif Typed.is_saved(server):
        how = f"set it with: {to_type('edit', server, more=' '.join(options))}"
    else:
        how = f"set it by saving the server: {to_type('add', more=' '.join([*options, 'NAME -- COMMAND']))}"
    return f"the server speaks of {listed}; {how}"


def after_error(error: PeerError) -> str:
    """What to type after a JSON-RPC error."""
    if urls := required_urls(error.code, error.data):
        from gaia_mcp.cli.calls.addresses import is_site, whole

        if all(is_site(each["url"]) for each in urls):
            return f"open {' and '.join(whole(each['url']) for each in urls)} and repeat the command"
    if names := missing_variables(error.text):
        return how_to_set(names, error.server)
    if error.code == MISSING_CAPABILITY and "sampling" in str(error.data) and Typed.command in _ANSWERING:
        return again("answer its sampling requests", "--sample", "PROGRAM")
    begun = "nothing was saved; " if Typed.command in ("add", "edit") else ""
    if error.asked in _FOR_ONE and error.code in _NOT_THERE:
        kind = error.asked.partition("/")[0]
        listed = kind if kind in ("prompts", "resources") else "tools"
        return f"see what it has with: {to_type(listed, error.server)}"
    if error.is_logged:
        return f"{begun}its log may show why: {to_type('logs', error.server)}"
    if begun:
        return f"{begun}the error is the server's own; {again('save it as it is', '--no-check')}"
    return "the error is the server's own; report it to its author"
