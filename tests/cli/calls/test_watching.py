"""The queue of notifications between the connection and the thread that prints them."""

from __future__ import annotations

from gaia_mcp.cli.calls.watching import MAX_MESSAGES, Notification, Notifications
from gaia_mcp.protocol.events import ListChanged, Logged, ResourceUpdated, SubscriptionEnded


def taken(notifications: Notifications) -> list[object]:
    """All that is there."""
    found: list[object] = []
    while (notification := notifications.next(0.01)) is not None:
        assert isinstance(notification, Notification)
        found.append(notification.event)
    return found


def test_notifications_are_taken_in_order_of_arrival() -> None:
    """Ours: `watch` prints them as a history, whatever their kinds."""
    notifications = Notifications()
    notifications.changed(ListChanged("tools"))
    notifications.logged("info", "app", {"a": 1})
    notifications.changed(SubscriptionEnded("x://a"))

    found = taken(notifications)
    assert found == [ListChanged("tools"), Logged("info", "app", {"a": 1}), SubscriptionEnded("x://a")]
    assert list(map(type, found)) == [ListChanged, Logged, SubscriptionEnded]


def test_a_repeated_change_is_queued_once() -> None:
    """Ours: a server that sends faster than they are printed costs no memory."""
    notifications = Notifications()
    for _ in range(3):
        notifications.changed(ListChanged("tools"))
        notifications.changed(ResourceUpdated("tools"))
    assert list(map(type, taken(notifications))) == [ListChanged, ResourceUpdated]

    notifications.changed(ListChanged("tools"))
    assert taken(notifications) == [ListChanged("tools")]


def test_log_messages_beyond_the_limit_are_dropped_and_counted() -> None:
    """Ours: memory stays bounded, but no change is ever dropped."""
    notifications = Notifications()
    for number in range(MAX_MESSAGES + 5):
        notifications.logged("info", "", number)
    notifications.changed(ListChanged("tools"))

    found = taken(notifications)
    assert (len(found), notifications.dropped) == (MAX_MESSAGES + 1, 5)
    assert found[-1] == ListChanged("tools")
