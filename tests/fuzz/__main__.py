"""`python -m tests.fuzz WHAT [OPTIONS]`: bad input, bad peers and bad moments, as long as one likes.

The suite runs a little of each with fixed seeds; this runs as much as is asked for, and prints what it found. The exit
status is 1 if there was a fault.
"""

from __future__ import annotations

import argparse
import signal
import sys


def main() -> int:
    """Run one of them."""
    # A run in the background of a script ignores it, and all that it starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    from tests.fuzz.messages import TARGETS

    messages = commands.add_parser("messages", help="mutated messages to client and server")
    messages.add_argument("--only", choices=TARGETS, action="append", help="this target alone; may be repeated")
    kills = commands.add_parser("kills", help="SIGKILL at any moment of a command that writes")
    kills.add_argument("--cold", type=int, default=0, help="how many more in processes that are started cold")
    signals = commands.add_parser("signals", help="SIGINT and SIGTERM at any moment of every command")
    readers = commands.add_parser("readers", help="mutated files and arguments to all that reads them")
    hostile = commands.add_parser("hostile", help="hostile HTTP requests to a served agent")
    counts = ((messages, 100_000), (kills, 1000), (signals, 400), (readers, 1000), (hostile, 50_000))
    for command, count in counts:
        command.add_argument("--count", type=int, default=count, help=f"how many; {count} by default")
        command.add_argument("--seed", type=int, default=0, help="where to begin; 0 by default")
    given = parser.parse_args()
    if given.what == "messages":
        from tests.fuzz.messages import report

        return int(report(given.only or list(TARGETS), given.count, given.seed) > 0)
    if given.what == "kills":
        from tests.fuzz import kills as killing

        return int(killing.report(given.count, given.seed, given.cold) > 0)
    if given.what == "hostile":
        from tests.fuzz import hostile as asking

        return int(asking.report(given.count, given.seed) > 0)
    if given.what == "readers":
        from tests.fuzz import readers as reading

        return int(reading.report(given.count, given.seed) > 0)
    from tests.fuzz import signals as signalling

    return int(signalling.report(given.count, given.seed) > 0)


if __name__ == "__main__":
    sys.exit(main())
