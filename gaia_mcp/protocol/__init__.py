"""The Model Context Protocol (MCP) as pure rules, for clients and for servers.

Nothing here does input or output, reads a clock, starts a thread or looks at the environment. The owner of a connection
passes in each record that arrived, sends the messages that the connection hands out, acts on the events that it
reports, and never calls it from two threads at once. Every rule can therefore be tested with two connections and no
process.

The modules, from the bottom up:

    framing         bytes to records: one line each, of limited length
    sse             bytes to server-sent events, over HTTP
    jsonrpc         records to messages: requests, notifications, results, errors
    envelope        what a request of the stateless era carries in `params._meta`
    headers         what a request repeats in its HTTP headers
    events          what a connection reports to its owner
    connection      what both roles share: ids, matching responses, cancellation, progress
    negotiation     how a client and a server agree on a revision
    client, server  the two ends
    revisions       which members of a result each revision knows
    input_required  results that require input first
    tasks           calls that the server continues as tasks
    pagination      reading a list page by page

Messages. MCP is JSON-RPC 2.0. A request has an id and a method, and gets exactly one response with the same id: a
result or an error. A notification has a method and no id, and gets none. A message with a `method` is never a response,
whatever its id: both sides may send requests, and each numbers its own. Ids are compared with their type, so 1 and "1"
are two ids. Arrays of messages (batches) exist in the revision 2025-03-26 alone.

Two eras. A revision is one of a fixed set of dates, never compared as a date. Up to 2025-11-25 (the *handshake* era) a
conversation begins with `initialize`: revision, capabilities and identity are agreed once and hold until the connection
ends. Either side may then send requests; a server requests input this way. From 2026-07-28 on (the *stateless* era)
nothing is agreed or remembered. Each request carries its revision and the client's capabilities in `params._meta`, the
envelope. A server sends no requests, and every result has a `resultType`. No code outside this package depends on the
era: `ClientConnection.check_alive`, for example, sends `ping` in one era and `server/discover` in the other.

Negotiation. A client does not know the era of its server, so it first sends `server/discover`, which is harmless
everywhere. (A request such as `tools/list` would prove nothing: some servers of the handshake era answer it before
`initialize`.) A valid result, or the error UNSUPPORTED_VERSION with a list of revisions, decides for the stateless era.
Every other response, whatever its error code, means `initialize` on the same connection; so does silence, which only
the owner can measure and reports with `probe_timed_out`. Once `initialize` is sent, its response alone decides: the id
of the probe is a string that no later request uses, so a late response to it is recognised and ignored. A server that
rejects a revision is offered the next older one. Some servers exit when they get a request that they do not know;
`is_probing` tells the owner that a new process, with `probe=False`, may help.
A server chooses for each message: a request with an envelope is stateless and stands alone, `initialize` begins a
handshake conversation, and both may happen on one connection. Neither `server/discover` nor a rejected request commits
it to an era.

Streams. A pipe has one stream for all messages; HTTP has one stream for each request. So each message to be sent is an
`Outgoing`, whose `about` names the request that it belongs to, or is None. A client's request is about itself. A
server's response, and its progress and log messages for an open request, are about that request. A change notification
is about the subscription that requested it, or about none in the handshake era. `receive` takes the same `about` for a
record that arrived on the stream of one request. It decides which request an error without an id refers to. On a single
stream such an error counts as the response to the pending request, if there is exactly one and the error code means
that the request could not be read; otherwise it is discarded.

Responses. Each request of ours ends in exactly one event: `Result`, `ErrorResponse`, or `InvalidResponse` if the peer
responded with something that its revision does not allow. No second response to the same request reaches the owner.

Cancellation. `abandon` cancels a request of ours: a response that still arrives is ignored. It sends the peer
`notifications/cancelled`, marked with `Outgoing.cancels`, because on HTTP in the stateless era closing the stream means
the same; a server's owner then calls `cancel`. `initialize` must not be cancelled, and cancelling the probe would be
useless. A peer's cancellation is the event `Cancelled`; a response sent after it is dropped. Neither side waits for a
response to a request that it cancelled.

Input. A server may need input from the user (elicitation), from a language model (sampling), or the list of roots.
In the handshake era it sends a request, the event `RequestReceived` on the client, and waits for the response. In the
stateless era it ends the request with `resultType: "input_required"`, which carries input requests, an opaque state, or
both; the client sends the original request again, under a new id, with its responses and the state unchanged. These
round trips are limited in number.

Changes. In the handshake era a server announces changed lists without a request, and changed resources after
`resources/subscribe`. In the stateless era it announces nothing without a subscription, a `subscriptions/listen`
request that stays open. The server first acknowledges it, naming what it grants; the result of the request ends it. A
subscription is not a pending request in the sense above: no deadline applies to it, and an error without an id is never
about it. Changes between two subscriptions are lost, so the end of one is reported as a change. Changes during a
handshake are announced after it. A server limits the subscriptions of a client, and grants one to any URI.

Lists come in pages. A missing or null `nextCursor` ends a list. An empty string is a cursor like any other, although
some older servers mark the end with it; `pagination` follows it once and stops at a cursor that it has seen.

Writing strictly, reading tolerantly. What we send conforms to the schema of the revision in use: `revisions` removes
members that an older client does not know, and replaces content of a kind that it cannot read. What we receive may
deviate where the meaning is clear, because such servers are in use: lines that are not JSON (banners, logs), a byte
order mark, NaN, null for an absent member, unknown members, methods and content types, wrong types of optional members.
Nothing that arrives raises an exception. A record that is not a valid message is either matched to the request it was
meant for, which then fails, or reported as `Discarded`. A server responds to an invalid request with an error, and
never responds to a notification or to a response.
"""

from __future__ import annotations

from collections.abc import Iterable

# Newest first, in both lists. In the stateless era each request stands alone; in the handshake era a conversation
# begins with `initialize`.
STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ALL_VERSIONS = STATELESS_VERSIONS + HANDSHAKE_VERSIONS
# What requests without a connection of their own name in their envelope.
NEWEST = ALL_VERSIONS[0]
# The names of the eras, for display and caches.
ERAS = ("handshake", "stateless")
# The only revision with JSON-RPC batches.
BATCH_VERSION = "2025-03-26"
# The only revision in which a client requests a task, and a tool may require one. Later the server alone decides.
TASK_VERSION = "2025-11-25"


def best_of(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """The newest of `known` that is among `offered`."""
    named = {version for version in offered if isinstance(version, str)}
    return next((version for version in known if version in named), None)


def has_sessions(version: object) -> bool:
    """Whether a conversation of this revision begins with `initialize`, and may have a session over HTTP. False for an
    unknown one.
    """
    return version in HANDSHAKE_VERSIONS


def cancels_by_closing(version: object) -> bool:
    """Whether closing the HTTP stream of a request cancels it; other revisions send a notification. False for an
    unknown one.
    """
    return version in STATELESS_VERSIONS


def is_probed(era: str | None) -> bool:
    """Whether a connection to a server begins with a probe if `era` is cached for it, None if nothing is."""
    return era != "handshake"


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or a later revision. Both must be known revisions."""
    return ALL_VERSIONS.index(version) <= ALL_VERSIONS.index(first)
