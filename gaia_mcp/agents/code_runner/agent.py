"""The built-in agent `code-runner`: runs Python code in a separate process.

gaia mcp serve code-runner --kwarg timeout=5

Its tool and the tool's argument have the same names as in AgentVault's code runner.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, TypedDict

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.marks import tool
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.code_runner.runner import Limits, is_cut_off, run
from gaia_mcp.asking import Call  # noqa: TC001 (the tool's parameters are read)
from gaia_mcp.safetext import cut_middle

DEFAULT_SECONDS = 10
LONGEST_SECONDS = 600
# Each run is a process that may use the memory limit in full.
MAX_CALLS = 4
# How much of each stream the error of a terminated run contains.
SHOWN_CHARS = 2000


class CodeOutput(TypedDict):
    """The output of the code and its exit status: 1 after an exception, 128 + N after signal N."""

    stdout: str
    stderr: str
    exit_status: int


class CodeRunner(MCPAgent):
    """Runs code for up to `timeout` seconds. Raises `TypeError` or `ValueError` for an invalid `timeout`.

    Each run is a process with an empty working folder and a minimal environment. Its time, the memory of each process,
    the number of processes, its output, and the files below its folder and those without a name are limited. The
    variables and connections of this server are out of its reach. Where Linux lets an unprivileged user create
    namespaces, it has no network and no socket of the system, sees no other process, and all its processes end with it.
    Elsewhere it can signal the user's processes, and so prevent that its own are ended. It can read and write all files
    that this server's user can: this contains mistakes, but is not a sandbox for malicious code.
    """

    max_calls = MAX_CALLS

    def __init__(self, timeout: float = DEFAULT_SECONDS) -> None:
        super().__init__()
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout is a number of seconds, not {timeout!r}")
        if not 0 < timeout <= LONGEST_SECONDS:
            raise ValueError(f"timeout is more than 0 and at most {LONGEST_SECONDS} seconds, not {timeout:g}")
        self._limits = Limits(timeout)

    @tool(name="code.runPython", read_only=False, destructive=True, open_world=True)
    def run_python(self, call: Call, code: Annotated[str, "The program"]) -> CodeOutput:
        """Run Python code in an empty folder, and return what it writes. Nothing is kept from one run to the next."""
        ran = run(code, self._limits, call)
        if ran.exit_status is None:
            written = [("stdout", ran.stdout), ("stderr", ran.stderr)]
            shown = [f"{name}:\n{cut_middle(text, SHOWN_CHARS)}" for name, text in written if text]
            raise RuntimeError("\n".join([f"the code was ended: {ran.problem}", *shown]))
        return {"stdout": ran.stdout, "stderr": ran.stderr, "exit_status": ran.exit_status}

    @cached_property
    def _has_network(self) -> bool:
        return not is_cut_off()

    def get_mcp_server_info(self) -> dict[str, Any]:
        network = "can use the network" if self._has_network else "has no network"
        return {
            "name": "code-runner",
            "title": "Python code in a process of its own",
            "version": __version__,
            "instructions": f"Code runs for up to {self._limits.seconds:g} s in an empty folder, and {network}. It can "
            "read and write the files that the user of this server can: this is no sandbox for code that means harm.",
        }
