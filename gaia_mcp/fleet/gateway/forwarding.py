"""Forwards a client's request to a server behind a gateway, from its first round trip to its result; clients and
servers may be of either era (see the package for the four cases).

Members that concern only one of the two connections are removed, and invalid results repaired, since a strict client
drops a whole result for one invalid member, although the tool has run. Everything else is forwarded unchanged. Failures
of the server become errors for the client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.core.errors import (
    ArgumentsError,
    DeadlineError,
    MCPError,
    PeerError,
    ProtocolError,
    ResourceUnknownError,
    UnansweredError,
    resource_unknown,
)
from gaia_mcp.fleet.gateway.instances import BusyError, Instances
from gaia_mcp.fleet.gateway.questions import Ask, Passed, Run, Runs, asked_of, passed_on
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, LOG_LEVEL_KEY, SERVER_INFO_KEY, with_meta
from gaia_mcp.protocol.input_required import (
    ELICIT,
    MAX_ROUND_TRIPS,
    RETRY_MEMBERS,
    InputRequired,
    is_complete,
    required_urls,
    retry_params,
)
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.tasks import EXTENSIONS, is_task
from gaia_mcp.server.definitions import Note, well_typed
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.server.results import checked_block, checked_contents

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.transports.base import OnProgress
    from gaia_mcp.fleet.gateway.backend import Backend
    from gaia_mcp.protocol.events import Progressed

# The content of a result of a tool that has none.
NO_CONTENT: list[Wire] = []
# The types of content blocks. Those of a later revision are not known here, and not judged.
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
Wire = dict[str, Any]
# The prefix of `_meta` members that concern one connection.
_OF_THE_CONNECTION = "io.modelcontextprotocol/"
# Members of a request that concern the client's connection. The tasks of 2025-11-25 are not forwarded.
_OWN_MEMBERS = frozenset({"_meta", "task", *RETRY_MEMBERS})


class Rounds:
    """The request `method` with `params` to the server of `instances`, for `call`. `runs` are those of the gateway.

    `backend` is the instance that is used, or was used last.
    """

    def __init__(self, instances: Instances, method: str, params: Wire, call: Call, runs: Runs) -> None:
        self.backend = instances.listed_by(call)
        self._instances = instances
        self._method = method
        self._params = params
        self._call = call
        self._runs = runs
        self._deadline = self.backend.deadline()

    def result(self) -> Wire:
        """The result of the last round trip."""
        asks_by_result = self._instances.asks_by_result(self._call)
        forget = self._call.on_cancel(self._deadline.cancel)
        try:
            if not asks_by_result:
                return self._by_requests()
            with self._entered() as backend, backend.requests.opened(self._call, asked_of(self._call)):
                backend.requests.host.may_log_later = False
                return self._by_results(backend.ready().client)
        finally:
            forget()

    @contextmanager
    def _entered(self) -> Iterator[Backend]:
        with self._instances.entered(self._call) as self.backend:
            yield self.backend

    # A server that asks by requests, while the forwarded request is open.

    def _by_requests(self) -> Wire:
        if not self._call.asks_by_result:
            return self._answered(asked_of(self._call), self._wanted_reports())
        reports = self._wanted_reports() is not None

        def work(run: Run) -> Wire:
            return self._answered(run.ask, run.report if reports else None)

        run_id = self._call.once(self._instances.name, lambda: self._runs.start(work, self._deadline))
        return self._runs.follow(run_id, self._call)

    def _answered(self, ask: Ask, on_progress: OnProgress | None) -> Wire:
        """The result of the request. `ask` answers the server's questions."""
        with self._entered() as backend, backend.requests.opened(self._call, ask):
            client = backend.ready().client
            backend.want_logs(client, self._call.log_level)
            try:
                return client.engine.round_trip(self._method, self._params, self._deadline, on_progress=on_progress)[0]
            except PeerError as error:
                if not self._have_opened(error, ask):
                    raise
            return client.engine.round_trip(self._method, self._params, self._deadline, on_progress=on_progress)[0]

    def _have_opened(self, error: PeerError, ask: Ask) -> bool:
        """Whether the user has accepted every URL elicitation that `error` requires; False if it requires none, or the
        client has to ask by itself. Raises `UnansweredError` if the user has declined: the client, which gets any other
        error as it is, would ask again.
        """
        urls = required_urls(error.code, error.data)
        questions = [Passed(ELICIT, {"message": error.text, **url, "mode": "url"}) for url in urls]
        if not urls or not all(map(self._call.can_ask, questions)):
            return False
        if not all(ask(question).get("action") == "accept" for question in questions):
            problem = f"requires that a page is opened first, and the user has declined: {error.text}"
            raise UnansweredError(error.server, problem) from error
        return True

    # A server that asks by `input_required` results.

    def _by_results(self, client: MCPClient) -> Wire:
        asking = self._params = with_meta(self._params, meta) if (meta := self._about_client()) else self._params
        names: set[str] = set()
        for number in range(1, MAX_ROUND_TRIPS + 1):
            required = self._required(client, number, asking)
            if isinstance(required, dict):
                return required
            if not required.requests:
                client.engine.pause_before(number, self._method, self._deadline)
            # The server's keys name the questions, with a prefix if an earlier round trip had the same key.
            prefix = f"{number}." if names & required.requests.keys() else ""
            names.update(required.requests)
            asking = retry_params(self._params, required, self._answers(prefix, required.requests))
        raise client.engine.too_many_round_trips()

    def _about_client(self) -> Wire:
        """The members of a stateless request's `_meta` that depend on the gateway's client."""
        meta: Wire = {}
        if self._call.log_level is not None:
            meta[LOG_LEVEL_KEY] = self._call.log_level
        own = passed_on(self._call.client.capabilities)
        if own != self.backend.requests.host.shown:
            # The gateway supports tasks itself, whether the client does or not.
            meta[CAPABILITIES_KEY] = {**own, "extensions": dict(EXTENSIONS)}
        return meta

    def _required(self, client: MCPClient, number: int, asking: Wire) -> InputRequired | Wire:
        """The input that the server requires in this round trip, or the result. Round trips of earlier runs of the call
        are in its record, and are not repeated.
        """
        name = f"{client.name} {number}"
        if (kept := self._call.kept(name)) is None:
            outcome = self._round_trip(client, asking)
            if isinstance(outcome, dict):
                return outcome
            kept = self._call.once(name, lambda: outcome if isinstance(outcome, str) else list(outcome))
        if isinstance(kept, str):
            return self._runs.follow(kept, self._call)
        return InputRequired(*kept)

    def _round_trip(self, client: MCPClient, asking: Wire) -> InputRequired | Wire | str:
        """The required input, the result, or the id of the run that will have the result."""
        reports = self._wanted_reports()
        result, conversation = client.engine.round_trip(self._method, asking, self._deadline, on_progress=reports)
        if is_complete(result):
            return result
        if not is_task(result):
            return client.engine.input_required(result)
        from gaia_mcp.client.conversation import TaskOfCall

        task = TaskOfCall(client.name, str(self._params.get("name")), conversation, result)
        if self._call.continue_as_task() or not self._call.asks_by_result:
            return task.result(self._deadline, lambda requests: self._answers("task.", requests), self._report)

        def work(run: Run) -> Wire:
            return task.result(
                self._deadline,
                lambda requests: {key: run.ask(question) for key, question in _questions("task.", requests).items()},
                run.report if reports is not None else None,
            )

        return self._runs.start(work, self._deadline)

    def _answers(self, prefix: str, requests: dict[str, Wire]) -> Wire:
        """The client's answers by the keys of the server's requests."""
        if not requests:
            return {}
        self._deadline.hold()
        try:
            answers = self._call.ask_all(*_questions(prefix, requests).values())
        finally:
            self._deadline.release()
        return dict(zip(requests, answers, strict=True))

    def _wanted_reports(self) -> OnProgress | None:
        """The function that reports the server's progress; None if neither the client nor the timeout of the entry
        needs progress.
        """
        return self._report if "progressToken" in self._call.meta or self.backend.has_timeout else None

    def _report(self, report: Progressed) -> None:
        with suppress(CallCancelledError):  # Cancelling the call has also cancelled the deadline.
            self._call.progress(report.progress, report.total, report.text)


def _questions(prefix: str, requests: dict[str, Wire]) -> dict[str, Passed]:
    """The questions by the keys of the requests. The name of a question is `prefix` and its key."""
    return {
        key: Passed(request["method"], request.get("params", {}), name=f"{prefix}{key}")
        for key, request in requests.items()
    }


def repaired_result(method: str, params: Wire, result: Wire, note: Note) -> Wire:
    """The complete result of a request in valid form; `result` itself if it is. Repairs are reported to `note`, in the
    same words for each result of the same tool.
    """
    name = params.get("name") if isinstance(params.get("name"), str) else method
    owner = f"a result of {name!r}"
    found = {**result}
    if not isinstance(found.get("_meta", {}), dict):
        note(f"{owner}: _meta is not an object, and is left out")
        del found["_meta"]
    if method == "tools/call":
        found["content"] = _blocks(result["content"], owner, note) if "content" in result else NO_CONTENT
        if not isinstance(failed := found.get("isError", False), bool):
            # A failure must not be shown as a success.
            found["isError"] = failed in (1, "true")
    elif method == "prompts/get":
        found["messages"] = [
            message for each in _as_list(result.get("messages")) for message in _messages(each, owner, note)
        ]
    elif method == "resources/read":
        contents = [_contents(each, params.get("uri"), owner, note) for each in _as_list(result.get("contents"))]
        found["contents"] = [each for each in contents if each is not None]
    elif method == "completion/complete":
        completion = result.get("completion")
        completion = completion if isinstance(completion, dict) else {}
        values = [value for value in _as_list(completion.get("values")) if isinstance(value, str)]
        found["completion"] = {**completion, "values": values}
    return result if found == result else found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _blocks(content: Any, owner: str, note: Note) -> list[Wire]:
    return [_block(block, owner, note) for block in _as_list(content) if block is not None]


def _block(block: Any, owner: str, note: Note) -> Wire:
    """A content block in valid form."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind not in _BLOCKS:
        return block  # type: ignore[no-any-return]
    try:
        if isinstance(kind, str):
            block = well_typed(owner, block, note)
            if kind == "resource" and isinstance(inner := block.get("resource"), dict):
                block["resource"] = well_typed(owner, inner, note)
            elif kind == "resource_link" and block.get("uri"):
                block.setdefault("name", block["uri"])
        return checked_block(block, owner)
    except ResultError:
        note(
            f"{owner}: a block {f'of the type {kind}' if kind else 'without a type'} is invalid, and is passed as text"
        )
        return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


def _messages(message: Any, owner: str, note: Note) -> list[Wire]:
    """A prompt's message in valid form: one for each of its blocks. Empty, with a note, if it is not a message."""
    if isinstance(message, str):
        message = {"role": "user", "content": message}
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        note(f"{owner}: a message is not of the user or the assistant, and is left out")
        return []
    return [{**message, "content": block} for block in _blocks(message.get("content"), owner, note)]


def _contents(contents: Any, uri: Any, owner: str, note: Note) -> Wire | None:
    """The contents of a resource in valid form; None, with a note, if they cannot be."""
    if isinstance(contents, str):
        contents = {"text": contents}
    try:
        if isinstance(contents, dict):
            contents = {"uri": uri, **well_typed(owner, contents, note)}
        return checked_contents(contents, owner)
    except ResultError:
        note(f"{owner}: contents without a uri, or a text or a blob, are left out")
        return None


class UnreachableError(RequestError):
    """A request to a server failed. `failure` is "connection", "timeout", "protocol" (the response is invalid),
    "result" (the result in the response is invalid), "arguments" (they cannot be sent), or "busy" (all instances of the
    server are in use).
    """

    def __init__(self, text: str, failure: str) -> None:
        super().__init__(text, INTERNAL_ERROR)
        self.failure = failure


class UnknownResourceError(RequestError):
    """The server does not have this resource."""


class Passing:
    """Forwards requests. `report` is called with the failures of servers."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._runs = Runs()

    def pass_on(self, instances: Instances, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request from a server.

        Raises `UnknownResourceError`, `UnreachableError`, `RequestError` with the error of the server, and the
        exceptions that end a run of a call, such as `InputRequired`.
        """
        rounds = Rounds(instances, method, _passed_on(params), call, self._runs)
        try:
            result = rounds.result()
        except BusyError as busy:
            self._report(str(busy))
            raise UnreachableError(str(busy), "busy") from None
        except PeerError as error:
            if method != "resources/read" or not isinstance(
                resource_unknown(error, params["uri"]), ResourceUnknownError
            ):
                raise RequestError(error.text, error.code, error.data) from None
            # Servers have several codes for it; this one is converted to the code of the client's revision.
            data = {**(error.data if isinstance(error.data, dict) else {}), "uri": params["uri"]}
            raise UnknownResourceError(error.text, RESOURCE_NOT_FOUND, data) from None
        except MCPError as error:
            call.raise_if_cancelled()
            told = rounds.backend.explained(error) if error is not rounds.backend.problem else error
            self._report(told.message)
            more = f"; {told.hint}" if told.hint else ""
            raise UnreachableError(f"{told.message}{more}", _failure(error)) from None
        result = repaired_result(
            method, params, result, lambda problem: self._report(f"server {instances.name!r}: {problem}")
        )
        return without_server(result)

    def pass_unchanged(self, instances: Instances, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request as the server sent it. Raises `MCPError` as a client of the server does, with its
        secrets masked, `BusyError`, and the exceptions that end a run of a call.
        """
        rounds = Rounds(instances, method, _passed_on(params), call, self._runs)
        try:
            return rounds.result()
        except PeerError:
            raise
        except MCPError as error:
            call.raise_if_cancelled()
            if error is rounds.backend.problem:
                raise
            raise rounds.backend.explained(error) from None

    def close(self) -> None:
        """Cancel the requests that wait for an answer."""
        self._runs.close()


def _failure(error: MCPError) -> str:
    if isinstance(error, DeadlineError):
        return "timeout"
    if isinstance(error, ArgumentsError):
        return "arguments"
    if error.facts.get("invalid") == "result":
        return "result"
    return "protocol" if isinstance(error, ProtocolError) else "connection"


def _passed_on(params: Wire) -> Wire:
    """The parameters of a request without the members that concern the client's connection."""
    passed = {key: value for key, value in params.items() if key not in _OWN_MEMBERS}
    meta = params.get("_meta")
    if isinstance(meta, dict):
        own = {
            key: value
            for key, value in meta.items()
            if key != "progressToken" and not key.startswith(_OF_THE_CONNECTION)
        }
        if own:
            passed["_meta"] = own
    return passed


def without_server(result: Wire) -> Wire:
    """A result without the server's information in `_meta`: the gateway adds its own."""
    meta = result.get("_meta")
    if not isinstance(meta, dict) or SERVER_INFO_KEY not in meta:
        return result
    own = {key: value for key, value in meta.items() if key != SERVER_INFO_KEY}
    without = {key: value for key, value in result.items() if key != "_meta"}
    return {**without, "_meta": own} if own else without
