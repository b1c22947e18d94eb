"""`python disconnects.py EVERY FIRST {raises | returns}`: one call for each line of ours that a call passes through in
the main thread, and before that line a disconnect, as a signal handler would do it. Of the lines, each EVERYth from the
FIRST. The handler raises, or it returns and the call goes on.

Prints each line before it is tried: the last one is where it hangs. Then it ends with the stacks of all threads.
"""

from __future__ import annotations

import faulthandler
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gaia_mcp
from gaia_mcp.client import MCPClient
from gaia_mcp.core.errors import NotConnectedError

if TYPE_CHECKING:
    from types import FrameType

ROOT = str(Path(gaia_mcp.__file__).parent)
SERVER = Path(__file__).parents[2] / "bench" / "programs" / "plain_server.py"
ENTRY = {"command": sys.executable, "args": ["-S", "-E", str(SERVER)], "timeout": 20}
# The longest that a disconnect takes, which finds the pipe held that it interrupts, is two seconds.
HANG_SECONDS = 15.0

Place = tuple[str, int]


class LeftError(BaseException):
    """What the handler raises."""


def call(at: Place | None, *, raises: bool) -> tuple[list[Place], bool]:
    """Make a call, with the handler before the line `at`: the lines that were passed until then, and whether it ran."""
    client = MCPClient.from_config("plain", ENTRY)
    passed: dict[Place, None] = {}
    ran = False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal ran
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line":
            passed.setdefault(place)
        if event == "line" and place == at:
            ran = True
            sys.settrace(None)
            client.disconnect()
            if raises:
                raise LeftError
        return trace

    sys.settrace(trace)
    try:
        with client:
            client.call("greet", {"name": "Ada"})
    except (LeftError, NotConnectedError):
        pass  # What the handler has ended cannot go on.
    finally:
        sys.settrace(None)
        client.disconnect()
    return list(passed), ran


def main() -> None:
    """Try the lines that are asked for."""
    every, first, raises = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "raises"
    call(None, raises=False)  # What is loaded by the first call alone is passed by no other.
    places, _ = call(None, raises=False)
    tried = 0
    for place in places[first::every]:
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        print(f"{place[0].removeprefix(ROOT)}:{place[1]}", flush=True)
        tried += call(place, raises=raises)[1]
    faulthandler.cancel_dump_traceback_later()
    print(f"tried {tried} of {len(places)} lines")


if __name__ == "__main__":
    main()
