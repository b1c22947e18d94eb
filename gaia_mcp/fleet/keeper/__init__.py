"""The keeper: a process of its own that holds servers open between commands.

There is one for each user and configuration folder. It listens at Unix sockets in a folder that only its user can
enter: at `.keeper` for this program, and at a socket of its own for each server that it holds, for any MCP client. It
speaks MCP at both, so that questions, progress, cancellation, tasks and subscriptions pass as between a client and a
server; this program's connections begin with a request that says which server is meant. At the socket of a server it
speaks HTTP as well (`over_http`).

Such a request names a server, and never contains an entry: the keeper reads the entry from the file itself, and with it
its approval and its filters. The `Address` also has what decides between two servers of one name: the configuration
file, the working folder, the instance, and the variables of the shell. A server is started as the command that held it
would start it: in its working folder, and with its variables.

`process` is the keeper, `folder` where it listens, `held` a server that it holds, `requests` what a command sends to
it, `holding` the connection that a command gets, and `errors` the errors that are sent back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.core.paths import config_folder, keeper_folder

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from gaia_mcp.core.deadline import Deadline

# The socket of the keeper itself, and the file that it locks as long as it runs. No server's name begins with a dot.
SOCKET, LOCK = ".keeper", ".lock"
# "0" in this variable: no command uses or starts a keeper.
SWITCH = "GAIA_MCP_KEEPER"
# The methods of the keeper. Each request has the parameters of an `Address`, and those named here.
#   use        continue as an MCP connection to the server; `error` if it is not held
#   hold       hold the server, with `keepAlive` for so many seconds without a call
#   list       the keeper and the servers that it holds
#   release    end the servers called `names`, or all; `places` has the file or the folder that each name is of
#   stderr     the end of what the server wrote to stderr after `written` bytes
#   complete   the values of an argument, with the parameters of MCP's `completion/complete` as `completion`
#   ping       check within `seconds` that the server responds
#   subscribe  check within `seconds` that it accepts a subscription to the resource `uri`
#   end        end, if no call is running
_METHODS = ("use", "hold", "list", "release", "stderr", "complete", "ping", "subscribe", "end")
USE, HOLD, LIST, RELEASE, STDERR, COMPLETE, PING, SUBSCRIBE, END = (f"gaia/{method}" for method in _METHODS)
# The codes of its error responses: the server is not held; the request is of another version; a call is running.
NOT_HELD, OTHER_VERSION, IS_BUSY = -32050, -32051, -32052
# An error of the server, in a response to a request that was passed on to it: `data` is the error.
SERVER_ERROR = -32053
READ_BYTES = 64 * 1024
# A request contains the variables of a shell, a response an error of a server. Results are not sent in such lines.
MAX_LINE_BYTES = 64 * 1024 * 1024
# A socket takes no time of zero for a limit.
MIN_SECONDS = 0.001
Wire = dict[str, Any]


class Address(NamedTuple):
    """A server as a command names it: by its saved `name`, or by the `words` of a target; and the command's working
    folder, its variables, and the file of `--config`.
    """

    name: str = ""
    words: Sequence[str] = ()
    instance: str = ""
    config: str | None = None
    folder: str = ""
    environ: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """What is typed to name it."""
        typed = self.name or " ".join(self.words)
        return f"{typed}@{self.instance}" if self.instance else typed

    def as_json(self) -> Wire:
        """The parameters of a request."""
        return {**self._asdict(), "words": list(self.words), "environ": dict(self.environ)}

    @classmethod
    def of(cls, params: Wire) -> Address:
        """The address in the parameters of a request. Raises `ValueError` if they are invalid."""
        known = {name: params[name] for name in cls._fields if name in params}
        texts = [known.get(name, "") for name in ("name", "instance", "folder")]
        environ, words = known.get("environ", {}), known.get("words", [])
        if not (
            all(isinstance(text, str) for text in texts)
            and isinstance(known.get("config"), str | None)
            and isinstance(words, list)
            and all(isinstance(word, str) for word in words)
            and isinstance(environ, dict)
            and all(isinstance(value, str) for value in environ.values())
            # Of no file and no folder.
            and not any("\0" in text for text in (*texts, known.get("config") or ""))
        ):
            raise ValueError("an address is invalid")
        return cls(**known)


def socket_path(environ: Mapping[str, str] | None = None) -> Path:
    """The socket of the keeper of this user and this configuration. Raises as `config_folder` does."""
    return keeper_folder(config_folder(environ), environ) / SOCKET


def is_switched_off(environ: Mapping[str, str] | None = None) -> bool:
    """Whether commands use no keeper."""
    return (os.environ if environ is None else environ).get(SWITCH) == "0"


def encoded_line(message: Wire) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def read_line(
    connection: socket.socket, deadline: Deadline, received: bytes = b"", *, limit: int = MAX_LINE_BYTES
) -> tuple[bytes, bytes] | None:
    """The next line that is not blank, and what was received after it; None if the connection has ended before, or if
    the line has more than `limit` bytes. `received` was received already. Raises `OSError`, and `TimeoutError` at the
    deadline.
    """
    begun, searched = bytearray(received), 0
    while True:
        while (end := begun.find(b"\n", searched)) < 0:
            searched = len(begun)
            # Also of a connection that sends a byte now and then.
            if deadline.expired:
                raise TimeoutError
            connection.settimeout(max(deadline.remaining(), MIN_SECONDS))
            data = connection.recv(READ_BYTES)
            if not data or searched > limit:
                return None
            begun += data
        line, searched = bytes(begun[:end]), 0
        del begun[: end + 1]
        if line.strip():
            return line, bytes(begun)
