"""The server's end of a conversation: both eras on one connection, chosen for each message.

A request with an envelope is stateless and stands alone; `initialize` begins a handshake conversation.

Also batches (2025-03-26): arrays of requests, whose responses are sent together in one array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.protocol import BATCH_VERSION, HANDSHAKE_VERSIONS, STATELESS_VERSIONS, jsonrpc
from gaia_mcp.protocol.connection import Connection, Outgoing
from gaia_mcp.protocol.envelope import (
    LOG_LEVELS,
    SERVER_INFO_KEY,
    SUBSCRIPTION_KEY,
    TASK_METHODS,
    TASKS_EXTENSION,
    has_envelope,
    meta_of,
    progress_token,
    read_context,
)
from gaia_mcp.protocol.events import Cancelled, ErrorResponse, RequestContext, RequestReceived
from gaia_mcp.protocol.input_required import (
    RESULT_TYPES,
    MissingCapabilityError,
    Question,
    QuestionError,
    ResultTypes,
    check_declared,
    missing_capabilities,
    question_for,
)
from gaia_mcp.protocol.jsonrpc import Error, Fixed, Malformed, Message, Notification, Request, RequestId, Result
from gaia_mcp.protocol.revisions import FEATURES, capabilities_for, info_for, known_client, result_for, result_problem
from gaia_mcp.protocol.subscriptions import LISTEN, SUBSCRIBING, SubscriptionError, Subscriptions, declares, names_tasks


class Description(NamedTuple):
    """How a server describes itself: its `Implementation`, capabilities and instructions."""

    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str = ""


class Forwarded(dict[str, Any]):
    """A result that is sent as it is: it comes from a server of the client's revision."""

    __slots__ = ()


class ServerConnection(Connection):
    """The server's end. `description` may be replaced at any time, for example when a slow agent has loaded."""

    _decoder = jsonrpc.STRICT_DECODER

    def __init__(self, description: Description, first_id: int = 1) -> None:
        super().__init__(first_id)
        self.description = description
        self.subscriptions = Subscriptions()
        self._signed: tuple[Description | None, Fixed] = (None, Fixed({}))
        self._version: str | None = None
        self._is_initialized = False
        self._client = RequestContext("", {}, {}, None, None)
        self._log_level = "info"
        self._open: dict[RequestId, tuple[str, RequestContext]] = {}
        # Created by the first batch.
        self._batches: Batches | None = None

    @property
    def version(self) -> str | None:
        """The revision agreed on in the handshake, None before it."""
        return self._version

    @property
    def has_tasks(self) -> bool:
        """Whether the server declares the tasks extension."""
        return TASKS_EXTENSION in self.description.capabilities.get("extensions", ())

    def respond(self, request_id: RequestId, value: dict[str, Any], known: ResultTypes = RESULT_TYPES) -> None:
        """Send the result of a request in the form of the client's revision; an error if it requires input for which
        the client lacks a capability. Nothing is sent for a cancelled request. `known` are the allowed result types.

        Raises `AttributeError`, `KeyError`, `TypeError` or `ValueError` for a value that is not a result of the method;
        the request then stays open. A `Forwarded` value is not looked at.
        """
        if (opened := self._open.get(request_id)) is None:
            return
        method, context = opened
        if type(value) is Forwarded:
            del self._open[request_id]
            self._send_response(request_id, jsonrpc.result(request_id, value))
            return
        if (problem := result_problem(context.version, method, value, known)) is not None:
            raise ValueError(problem)
        asks = value.get("resultType") == "input_required"
        if asks and (missing := missing_capabilities(value.get("inputRequests", {}), context.capabilities)):
            data = {"requiredCapabilities": missing}
            self.respond_error(request_id, jsonrpc.MISSING_CAPABILITY, "Missing required client capability", data)
            return
        shaped = result_for(context.version, method, value, self._signature())
        del self._open[request_id]
        self._send_response(request_id, jsonrpc.result(request_id, shaped))

    def _signature(self) -> Fixed:
        """The `_meta` of every stateless result; rebuilt only when the description changes."""
        signed, signature = self._signed
        if signed is not self.description:
            info = info_for(STATELESS_VERSIONS[0], self.description.info)
            signature = Fixed({SERVER_INFO_KEY: info} if info else {})
            self._signed = (self.description, signature)
        return signature

    def respond_error(self, request_id: RequestId, code: int, text: str, data: Any = None) -> None:
        """Send an error in response to a request. Nothing is sent for a cancelled one."""
        if (opened := self._open.pop(request_id, None)) is None:
            return
        if code == jsonrpc.RESOURCE_NOT_FOUND and opened[1].version in STATELESS_VERSIONS:
            code = jsonrpc.INVALID_PARAMS
        self._send_response(request_id, jsonrpc.error(request_id, code, text, data))

    def cancel(self, request_id: RequestId, reason: str = "") -> None:
        """Cancel an open request, as its client does with a notification or by closing the request's own stream."""
        if self._open.pop(request_id, None) is None or self.subscriptions.end(request_id):
            return
        self._progress.pop(request_id, None)
        self._finish_in_batch(request_id, None)
        self._events.append(Cancelled(request_id, reason))

    def report_progress(self, request_id: RequestId, progress: float, total: float | None, text: str) -> None:
        """Report the progress of a request, if its client requested that and it is still open."""
        if (opened := self._open.get(request_id)) is None or (token := opened[1].progress_token) is None:
            return
        # Progress must increase, and JSON has no infinities.
        if not jsonrpc.is_number(progress) or progress <= self._progress.get(request_id, float("-inf")):
            return
        self._progress[request_id] = progress
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if jsonrpc.is_number(total):
            params["total"] = total
        if text and opened[1].version != HANDSHAKE_VERSIONS[-1]:
            params["message"] = text
        self._notify_about(request_id, "notifications/progress", params)

    def log(self, request_id: RequestId, level: str, data: Any, logger: str) -> None:
        """Send a log message about an open request, if its client requested that level."""
        if (opened := self._open.get(request_id)) is None or "logging" not in self.description.capabilities:
            return
        # In the handshake era one level applies to all requests, and may change while one runs.
        wanted = opened[1].log_level if opened[1].version in STATELESS_VERSIONS else self._log_level
        if wanted is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted):
            params = {"level": level, "logger": logger, "data": data}
            self._notify_about(request_id, "notifications/message", params)

    def ask(self, request_id: RequestId, questions: Mapping[str, Question]) -> dict[str, RequestId] | None:
        """Ask the client for input for an open request.

        In the handshake era each question becomes a request of ours; returns their ids by the keys of the questions.
        Each response is an event; `abandon` cancels a request. None in the stateless era: use `require_input`. Raises
        `QuestionError` for a method that cannot ask, `MissingCapabilityError` for a client that lacks a capability.
        """
        if (opened := self._open.get(request_id)) is None:
            return {}
        method, context = opened
        if method not in (RESULT_TYPES["input_required"] or ()):
            raise QuestionError(f"{method} cannot ask its client")
        check_declared(questions.values(), context.version, context.capabilities)
        if context.version in STATELESS_VERSIONS:
            return None
        if not self._is_initialized:
            # Its requests are served before (some clients never send the notification), but it may not accept ours yet.
            raise QuestionError("the client has not sent notifications/initialized, and cannot be asked before")
        ids: dict[str, RequestId] = {}
        for name, question in questions.items():
            ids[name] = number = self._new_id()
            self._pending[number] = question.method
            asked = jsonrpc.request(number, *question_for(question, context.version, number))
            self._outgoing.append(Outgoing(asked, request_id))
        return ids

    def require_input(self, request_id: RequestId, questions: Mapping[str, Question], state: str) -> None:
        """Respond to a stateless request that input is required. The client retries it with the answers and `state`.

        `ask` has checked the questions. Nothing is sent for a cancelled request.
        """
        if (opened := self._open.pop(request_id, None)) is None:
            return
        method, context = opened
        requests = {name: question.as_input_request() for name, question in questions.items()}
        result = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
        shaped = result_for(context.version, method, result, self._signature())
        self._send_response(request_id, jsonrpc.result(request_id, shaped))

    def respond_missing(self, request_id: RequestId, problem: MissingCapabilityError) -> None:
        """Respond that the client lacks a capability that the request needs."""
        if (opened := self._open.get(request_id)) is None:
            return
        method, context = opened
        if context.version in STATELESS_VERSIONS:
            data = {"requiredCapabilities": problem.required}
            self.respond_error(request_id, jsonrpc.MISSING_CAPABILITY, str(problem), data)
        elif method == "tools/call":
            self.respond(request_id, {"content": [{"type": "text", "text": str(problem)}], "isError": True})
        else:
            self.respond_error(request_id, jsonrpc.INVALID_REQUEST, str(problem))

    def subscribe(self, request: Request | RequestReceived, tasks: Sequence[str] = ()) -> None:
        """Begin the subscription of a request; `tasks` are the ids of its client's tasks that it covers."""
        if request.method == LISTEN:
            # It stays open for long: the client's description may be large, and is not needed.
            context = RequestContext(STATELESS_VERSIONS[0], {}, {}, None, None)
            self._open[request.id] = (request.method, context)
        try:
            self._outgoing += self.subscriptions.begin(request, self.description.capabilities, tasks)
        except SubscriptionError as refusal:
            self.respond_error(request.id, refusal.code, str(refusal))
        else:
            if request.method != LISTEN:
                self.respond(request.id, {})

    def announce_list_changed(self, kind: str) -> None:
        """Announce that the list of `kind` ("tools", "prompts", "resources") has changed, if the client is subscribed
        or has made a handshake.
        """
        self._outgoing += self.subscriptions.list_changed(kind, self.description.capabilities)

    def announce_resource_updated(self, uri: str) -> None:
        """Announce that a resource has changed, to its subscribers."""
        self._outgoing += self.subscriptions.resource_updated(uri)

    def announce_task(self, task_id: str, described: dict[str, Any]) -> bool:
        """Announce that a task has changed. Returns whether there is a subscription to it."""
        self._outgoing += (messages := self.subscriptions.task_changed(task_id, described))
        return bool(messages)

    def close(self) -> None:
        """Send the results that end the subscriptions. Nothing else is sent when a connection ends."""
        for subscription in self.subscriptions:
            self.subscriptions.end(subscription)
            self.respond(subscription, {"_meta": {SUBSCRIPTION_KEY: subscription}})

    # Requests.

    def _receive_request(self, request: Request) -> None:
        request_id, method, params = request
        if request_id in self._open:
            self._refuse_used_id(request_id)
            return
        self._open[request_id] = (method, self._client)
        if has_envelope(params):
            context = read_context(params)
            if isinstance(context, str):
                self.respond_error(request_id, jsonrpc.INVALID_PARAMS, context)
            else:
                self._serve_stateless(request, context)
        elif method == "initialize":
            self._receive_initialize(request)
        elif method == "ping":
            self._open[request_id] = (method, self._client._replace(version=HANDSHAKE_VERSIONS[0]))
            self.respond(request_id, {})
        elif self._version is not None:
            context = self._client._replace(progress_token=progress_token(meta_of(params)), log_level=self._log_level)
            self._open[request_id] = (method, context)
            self._serve_handshake(request, context)
        elif method in FEATURES or method in ("server/discover", LISTEN):
            text = "send initialize first, or put the 2026-07-28 keys into params._meta"
            self.respond_error(request_id, jsonrpc.INVALID_PARAMS, text)
        else:
            self.respond_error(request_id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}")

    def receive_stateless(self, request: Request, context: RequestContext) -> None:
        """As `receive_request`, for a stateless request whose envelope has been read."""
        self._about = None
        if request.id in self._open:
            self._refuse_used_id(request.id)
        else:
            self._serve_stateless(request, context)

    def _refuse_used_id(self, request_id: RequestId) -> None:
        # Not about that id: the stream belongs to the earlier request.
        text = f"id {request_id!r} is still in use"
        self._outgoing.append(Outgoing(jsonrpc.error(request_id, jsonrpc.INVALID_REQUEST, text)))

    def _serve_stateless(self, request: Request, context: RequestContext) -> None:
        request_id, method, params = request
        self._open[request_id] = (method, context)
        if context.version not in STATELESS_VERSIONS:
            data = {"supported": list(STATELESS_VERSIONS), "requested": context.version}
            self.respond_error(request_id, jsonrpc.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        elif method == "server/discover":
            self.respond(request_id, self._discovered())
        elif (method in TASK_METHODS or (method == LISTEN and names_tasks(params))) and self.has_tasks:
            self._events.append(RequestReceived(request_id, method, params, context))
        elif method == LISTEN:
            self.subscribe(request)
        else:
            self._serve_feature(request, context)

    def _discovered(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "supportedVersions": list(STATELESS_VERSIONS),
            "capabilities": capabilities_for(STATELESS_VERSIONS[0], self.description.capabilities),
        }
        if self.description.instructions:
            found["instructions"] = self.description.instructions
        return found

    def _receive_initialize(self, request: Request) -> None:
        params = request.params
        proposed, capabilities, info = (
            params.get("protocolVersion"),
            params.get("capabilities", {}),
            params.get("clientInfo", {}),
        )
        if not isinstance(proposed, str) or not isinstance(capabilities, dict) or not isinstance(info, dict):
            text = "initialize needs protocolVersion (a string), capabilities and clientInfo (objects)"
            self.respond_error(request.id, jsonrpc.INVALID_PARAMS, text)
            return
        self._version = proposed if proposed in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        self._is_initialized = False
        self.subscriptions.begin_handshake()
        self._client = RequestContext(self._version, *known_client(info, capabilities), None, None)
        self._open[request.id] = (request.method, self._client)
        response: dict[str, Any] = {
            "protocolVersion": self._version,
            "capabilities": capabilities_for(self._version, self.description.capabilities),
            "serverInfo": info_for(self._version, self.description.info),
        }
        if self.description.instructions:
            response["instructions"] = self.description.instructions
        self.respond(request.id, response)

    def _serve_handshake(self, request: Request, context: RequestContext) -> None:
        if request.method == "logging/setLevel" and "logging" in self.description.capabilities:
            level = request.params.get("level")
            if level in LOG_LEVELS:
                self._log_level = level
                self.respond(request.id, {})
            else:
                self.respond_error(request.id, jsonrpc.INVALID_PARAMS, f"level must be one of {', '.join(LOG_LEVELS)}")
        elif request.method in SUBSCRIBING and declares(self.description.capabilities, "resources", "subscribe"):
            self.subscribe(request)
        else:
            self._serve_feature(request, context)

    def _serve_feature(self, request: Request, context: RequestContext) -> None:
        feature, declared = FEATURES.get(request.method), self.description.capabilities
        if feature in declared or feature in declared.get("extensions", ()):
            self._events.append(RequestReceived(request.id, request.method, request.params, context))
        else:
            self.respond_error(request.id, jsonrpc.METHOD_NOT_FOUND, f"Method not found: {request.method}")

    def _notify_about(self, request_id: RequestId, method: str, params: dict[str, Any]) -> None:
        self._outgoing.append(Outgoing(jsonrpc.notification(method, params), request_id))

    # Everything else that arrives.

    def _receive_response(self, method: str, response: Result | Error) -> None:
        if isinstance(response, Result):
            self._events.append(response)
        else:
            assert response.id is not None  # noqa: S101 (it was matched by its id)
            self._events.append(ErrorResponse(response.id, method, response.code, response.message, response.data))

    def _receive_notification(self, notification: Notification) -> None:
        if notification.method == "notifications/initialized":
            self._is_initialized = True
            self._outgoing += self.subscriptions.initialized()
        if notification.method != "notifications/cancelled":
            return  # Nothing depends on any other.
        cancelled = notification.params.get("requestId")
        if jsonrpc.is_id(cancelled):
            self.cancel(cancelled, jsonrpc.as_text(notification.params.get("reason", "")))

    def _accepts_batches(self) -> bool:
        return self._version == BATCH_VERSION

    def _receive_batch(self, values: list[Any]) -> None:
        messages = [jsonrpc.classify(value) for value in values]
        asked = {message.id for message in messages if isinstance(message, Request)}
        problems = [
            error
            for message in messages
            if isinstance(message, Malformed)
            for error in self._errors_for_malformed(message, b"")
        ]
        # A request with an id in use gets an error of its own; the earlier request is not part of this batch.
        self._batches = self._batches or Batches()
        if not self._batches.begin(asked - self._open.keys(), problems) and problems:
            self._outgoing.append(Outgoing(problems))
        for message in messages:
            if not isinstance(message, Malformed):
                self._receive_message(message)

    def _send_response(self, request_id: RequestId, response: Message) -> None:
        self._progress.pop(request_id, None)
        if self._batches is None or not self._finish_in_batch(request_id, response):
            self._outgoing.append(Outgoing(response, request_id))

    def _finish_in_batch(self, request_id: RequestId, response: Message | None) -> bool:
        """Whether the request is part of a batch, whose responses are sent if this was the last one."""
        if self._batches is None or request_id not in self._batches:
            return False
        if responses := self._batches.finish(request_id, response):
            self._outgoing.append(Outgoing(responses, request_id))
        return True

    def _receive_invalid_json(self, record: bytes) -> None:
        # Other lines are ignored, as in every SDK; a line that looks like a message gets an error.
        if record.lstrip().startswith((b"{", b"[")):
            self._outgoing.append(Outgoing(jsonrpc.error(None, jsonrpc.PARSE_ERROR, "Parse error")))
        else:
            super()._receive_invalid_json(record)

    def _receive_malformed(self, message: Malformed, record: bytes) -> None:
        self._outgoing += map(Outgoing, self._errors_for_malformed(message, record))

    def _receive_malformed_batch(self, messages: list[Malformed], record: bytes) -> None:
        if errors := [error for message in messages for error in self._errors_for_malformed(message, record)]:
            self._outgoing.append(Outgoing(errors))

    def _errors_for_malformed(self, message: Malformed, record: bytes) -> list[Message]:
        if message.kind in ("response", "") and message.id in self._pending:
            self._fail_pending(message.id, message.problem)
            return []
        if message.kind in ("notification", "response"):
            # Neither gets a response: the peer would match an error with the id of a response to one of its requests.
            self._discard(message.problem, record)
            return []
        return [jsonrpc.error(message.id, jsonrpc.INVALID_REQUEST, f"Invalid request: {message.problem}")]


class Batches:
    """The batches that have open requests. `id in batches`: an open request with this id is part of a batch."""

    def __init__(self) -> None:
        self._of: dict[RequestId, _Batch] = {}

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._of

    def begin(self, ids: set[RequestId], responses: list[Message]) -> bool:
        """Add a batch of requests with these ids, and the responses known already. Returns whether any is open."""
        self._of.update(dict.fromkeys(ids, _Batch(ids, responses)))
        return bool(ids)

    def finish(self, request_id: RequestId, response: Message | None) -> list[Message]:
        """End a request, with or without a response. Returns all responses of its batch if it was the last one."""
        batch = self._of.pop(request_id)
        batch.open_ids.discard(request_id)
        if response is not None:
            batch.responses.append(response)
        return [] if batch.open_ids else batch.responses


class _Batch:
    def __init__(self, open_ids: set[RequestId], responses: list[Message]) -> None:
        self.open_ids = set(open_ids)
        self.responses = list(responses)
