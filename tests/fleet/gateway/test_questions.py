"""The requests of a server that does not say which call they belong to, each answered through an open call."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.client.host import DeclinedError
from gaia_mcp.fleet.gateway.questions import Declared, Passed, ServerRequests
from gaia_mcp.protocol.input_required import QuestionError


def test_a_server_request_is_declined_while_several_clients_call() -> None:
    """Ours: a request of a server over stdio does not name the call that it belongs to."""
    requests = ServerRequests(Declared({}), tells_apart=True)
    ada, again, bob = Call(), Call(), Call()
    ada.session = again.session = "ada"
    with requests.opened(ada, lambda _: {"roots": []}), requests.opened(again, lambda _: {"roots": []}):
        assert requests.host.answer("roots/list", {}) == {"roots": []}
        with requests.opened(bob, lambda _: {"roots": []}), pytest.raises(DeclinedError, match="several clients"):
            requests.host.answer("roots/list", {})


def test_a_server_request_goes_to_another_call_if_one_has_ended() -> None:
    """Ours: a server over stdio does not say which call asks, and the newest may not have."""
    requests = ServerRequests(Declared({}))

    def ended(_: Passed) -> dict[str, Any]:
        newest.close()
        raise QuestionError("the call has ended")

    def refused(_: Passed) -> dict[str, Any]:
        raise QuestionError("no")

    newest = ExitStack()
    with requests.opened(Call(), lambda _: {"roots": [{"uri": "file:///a"}]}):
        newest.enter_context(requests.opened(Call(), ended))
        assert requests.host.answer("roots/list", {})["roots"]
        with requests.opened(Call(), refused), pytest.raises(DeclinedError, match="no"):
            requests.host.answer("roots/list", {})
    with pytest.raises(DeclinedError, match="no call is open"):
        requests.host.answer("roots/list", {})
