from __future__ import annotations

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.provider import Listeners, RequestError, method_not_found


def test_an_error_is_one_about_the_params_unless_it_names_another_code() -> None:
    """Ours: most refusals are."""
    error = RequestError("no such page")

    assert (error.code, str(error), error.data) == (INVALID_PARAMS, "no such page", None)


def test_a_method_that_is_not_there_has_its_own_code() -> None:
    """Spec, JSON-RPC: -32601."""
    error = method_not_found("completion/complete")

    assert error.code == METHOD_NOT_FOUND
    assert str(error) == "Method not found: completion/complete"


def test_every_listener_hears_of_every_change_until_it_is_removed() -> None:
    """Ours: a provider may serve many clients at once."""
    heard: list[tuple[str, tuple[str, ...]]] = []
    listeners = Listeners()
    listeners.announce("tools")
    remove_first = listeners.add(lambda lists: heard.append(("first", lists)))
    listeners.add(lambda lists: heard.append(("second", lists)))

    listeners.announce("tools", "prompts")
    remove_first()
    remove_first()
    listeners.announce()

    assert heard == [("first", ("tools", "prompts")), ("second", ("tools", "prompts")), ("second", ())]


def test_a_listener_may_remove_itself_while_it_is_called() -> None:
    """Ours: a client that has gone is often noticed by sending to it."""
    heard: list[str] = []
    listeners = Listeners()

    def listen(_: tuple[str, ...]) -> None:
        heard.append("once")
        remove()

    remove = listeners.add(listen)
    listeners.announce("tools")
    listeners.announce("tools")

    assert heard == ["once"]
