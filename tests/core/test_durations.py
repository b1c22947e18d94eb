"""Durations: which texts are valid, and how a duration is written."""

from __future__ import annotations

from gaia_mcp.core.durations import MAX_KEEP_ALIVE_SECONDS, duration_of, keep_alive_seconds, seconds_in


def test_a_duration_is_a_whole_number_with_its_unit() -> None:
    """Ours: the notation of sleep(1)."""
    cases = [("1s", 1), ("90s", 90), ("30m", 1800), ("2h", 7200), ("7d", 604_800), ("0m", 0), ("604800s", 604_800)]

    assert [(text, seconds_in(text)) for text, _ in cases] == cases


def test_any_other_text_is_not_a_duration() -> None:
    """Ours: a number without a unit would be seconds to one user and minutes to another. Python's own conversion
    accepts signs, blanks, underscores and digits of other scripts, and refuses numbers of 5,000 digits.
    """
    texts = [
        "",
        "s",
        "30",
        "1.5h",
        "-1s",
        "+1s",
        " 1s",
        "1 s",
        "1M",
        "1w",
        "1_0s",
        "\u0663s",
        "\u00b2s",
        f"{'9' * 5000}s",
    ]

    assert not [text for text in texts if seconds_in(text) is not None]


def test_a_server_is_kept_open_for_a_second_to_a_week() -> None:
    """Ours: the limits of `keepAlive`."""
    valid = {"1s": 1, "30m": 1800, "7d": MAX_KEEP_ALIVE_SECONDS}
    invalid = ["0s", "8d", "604801s", "30", 30, 1.5, True, False, None, ["1s"]]

    assert {text: keep_alive_seconds(text) for text in valid} == valid
    assert not [held for held in invalid if keep_alive_seconds(held) is not None]


def test_a_duration_is_written_in_the_largest_unit_that_fits() -> None:
    """Ours: what is written is read again."""
    for seconds, text in ((1, "1s"), (90, "90s"), (1800, "30m"), (5400, "90m"), (7200, "2h"), (604_800, "7d")):
        assert (duration_of(seconds), seconds_in(text)) == (text, seconds)
