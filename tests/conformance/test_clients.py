"""Clients that others wrote, each with the agent `Everything`, over stdio and HTTP, in the eras that it knows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.conformance.steps import Step, steps_of, steps_without_capabilities
from tests.prepare.installing import python_in
from tests.prepare.peers import FASTMCP, NPM_CLIENTS, PYTHON_SDK_1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.prepare.fixtures import Prepared

Wire = dict[str, Any]
HERE = Path(__file__).parent
# All scripts of one client, on a busy machine.
TIMEOUT_SECONDS = 300

BOTH = ("stateless", "handshake")
# The eras of each client.
CLIENTS = {
    "python_2": BOTH,
    "fastmcp_4": BOTH,
    "typescript_2": BOTH,
    "python_1": ("handshake",),
    "typescript_1": ("handshake",),
}


class Script(NamedTuple):
    """What a client does at a server: over stdio by a `command`, or at a `url`."""

    era: str
    server: Wire
    steps: list[Step]
    capable: bool = True

    def as_wire(self) -> Wire:
        """As `clients/player.py` reads it."""
        steps = [step.as_script() for step in self.steps]
        return {**self.server, "era": self.era, "capable": self.capable, "steps": steps}


def command_of(client: str, prepared: Prepared, folder: Path) -> list[str]:
    """The command that starts the program of a client."""
    if client.startswith("typescript"):
        # Modules of JavaScript are found beside the program alone.
        for name in ("player.mjs", f"{client}.mjs"):
            shutil.copy(HERE / "clients" / name, folder)
        (folder / "node_modules").symlink_to(prepared.folder(NPM_CLIENTS) / "node_modules")
        return [prepared.node(), str(folder / f"{client}.mjs")]
    peers = {"python_1": PYTHON_SDK_1, "fastmcp_4": FASTMCP}
    python = python_in(prepared.folder(peers[client])) if client in peers else sys.executable
    return [str(python), str(HERE / "clients" / f"{client}.py")]


def play(command: list[str], mark: dict[str, str], scripts: dict[str, Script]) -> dict[str, Wire]:
    """What the client has observed, by the names of the scripts and of the steps."""
    done = subprocess.run(
        command,
        input=json.dumps({name: script.as_wire() for name, script in scripts.items()}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env={**mark, "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    observed: dict[str, Wire] = json.loads(done.stdout)
    return observed


def differences(observed: Any, expected: Any, where: str = "") -> Iterator[str]:
    """Where an observation lacks what is expected: `...` is anything, a set has the possible values,
    and each item of a tuple is one of a list.
    """
    if expected is ...:
        return
    if isinstance(expected, dict) and isinstance(observed, dict):
        for key, value in expected.items():
            if key not in observed:
                yield f"{where}.{key} is missing in {observed}"
            else:
                yield from differences(observed[key], value, f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(observed, list) and len(expected) == len(observed):
        for number, (one, other) in enumerate(zip(observed, expected, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif isinstance(expected, tuple) and isinstance(observed, list):
        for part in expected:
            if all(any(differences(one, part)) for one in observed):
                yield f"{where} is {observed!r}, without {part!r}"
    elif observed not in expected if isinstance(expected, set) else observed != expected:
        yield f"{where} is {observed!r}, not {expected!r}"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_foreign_client_gets_the_expected_results(
    client: str,
    prepared: Prepared,
    mark: dict[str, str],
    stand_in: list[str],
    serve_over_http: Callable[[], str],
    tmp_path: Path,
) -> None:
    """Spec, both eras: tools, what they send and ask, prompts, resources, completion, input required; and Streamable
    HTTP, where no result is another one than over stdio.
    """
    scripts = {}
    over_stdio = {"command": stand_in, "env": mark}
    for era in CLIENTS[client]:
        scripts[f"{era} over stdio"] = Script(era, over_stdio, steps_of(era))
        steps = steps_without_capabilities(era)
        scripts[f"{era} over stdio, asked nothing"] = Script(era, over_stdio, steps, capable=False)
        # Some steps change the agent for all that it serves.
        scripts[f"{era} over HTTP"] = Script(era, {"url": serve_over_http()}, steps_of(era))

    observed = play(command_of(client, prepared, tmp_path), mark, scripts)

    found = [
        f"{name}: {problem}"
        for name, script in scripts.items()
        for step in script.steps
        for problem in differences(observed[name][step.name], step.expected, step.name)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("era", BOTH)
def test_each_step_has_a_name_of_its_own(era: str) -> None:
    """Ours: what is observed has the names of the steps."""
    for steps in (steps_of(era), steps_without_capabilities(era)):
        assert len({step.name for step in steps}) == len(steps)


def test_a_difference_is_found() -> None:
    """Ours: what is expected is a part of what is observed."""
    rows: list[tuple[Wire, Wire]] = [
        ({}, {"a": 1}),
        ({}, {"a": ...}),
        ({"a": 2}, {"a": 1}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": [{"b": 1}]}, {"a": ({"b": 1}, {"b": 2})}),
        ({"a": 3}, {"a": {1, 2}}),
        ({"a": "x"}, {"a": {"b": ...}}),
    ]

    assert not [row for row in rows if len([*differences(*row, "a step")]) != 1]
    assert not any(differences({"a": 1, "b": [1, {"c": 2, "d": 3}]}, {"a": {1, 2}, "b": [..., {"c": 2}]}))
