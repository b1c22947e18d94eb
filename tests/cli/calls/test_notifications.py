"""What is announced, on its way to whoever prints it."""

from __future__ import annotations

from gaia_mcp.cli.calls.notifications import MAX_MESSAGES, News, Newsroom


def taken(room: Newsroom) -> list[tuple[str, object]]:
    """All that is there."""
    found = []
    while (news := room.next(0.01)) is not None:
        assert isinstance(news, News)
        found.append((news.what, news.about))
    return found


def test_news_come_in_their_order() -> None:
    """Ours."""
    room = Newsroom()
    room.tell("list", "tools")
    room.logged("info", "app", {"a": 1})
    room.tell("end", "x://a")

    assert taken(room) == [("list", "tools"), ("log", ("info", "app", {"a": 1})), ("end", "x://a")]


def test_the_same_news_is_there_once_until_it_is_taken() -> None:
    """Ours: a server that announces faster than it can be asked costs no memory."""
    room = Newsroom()
    for _ in range(3):
        room.tell("list", "tools")
        room.tell("resource", "tools")
    assert taken(room) == [("list", "tools"), ("resource", "tools")]

    room.tell("list", "tools")
    assert taken(room) == [("list", "tools")]


def test_a_flood_of_messages_is_left_out_and_counted() -> None:
    """Ours: but no change is ever lost."""
    room = Newsroom()
    for number in range(MAX_MESSAGES + 5):
        room.logged("info", "", number)
    room.tell("list", "tools")

    found = taken(room)
    assert (len(found), room.dropped) == (MAX_MESSAGES + 1, 5)
    assert found[-1] == ("list", "tools")
