"""What `tests.prepare` has installed, for the tests that use it; `conftest.py` marks each of those as `peer`.

Nothing is installed here. What is missing is a failure with `CI=true`; on a person's machine it skips the test.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.prepare.installing import InstallError, node_and_npm, python_in, run
from tests.prepare.peers import (
    AGENT_PACKAGES,
    GAIA_BESIDE,
    NPM_PACKAGES,
    NPM_SERVERS,
    OLD_SDK,
    PLAYWRIGHT,
    POWERSHELL_FILES,
    ROOT,
    WHEELS,
    WINE_HOME,
    program,
    wine_environ,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.prepare.peers import Peer


class Prepared:
    """Where things lie that have been prepared. What is missing fails the test where everything has to be there, and
    skips it on a person's machine. Either names the command that installs it.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._is_required = environ.get("CI") == "true"

    def folder(self, peer: Peer) -> Path:
        """The folder of a peer."""
        return peer.folder if peer.is_there else self.missing(peer.name)

    def program(self, name: str) -> str:
        """The path of a program or file from Debian."""
        return program(name) or self.missing(name)

    def node(self) -> str:
        """The path of node."""
        try:
            return node_and_npm()[0]
        except InstallError:
            self.missing("node")

    def missing(self, what: str) -> NoReturn:
        """End the test."""
        reason = f"{what} is missing: install it with `python -m tests.prepare`"
        if self._is_required:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    """Where things lie; what uses it is a `peer`."""
    return Prepared(os.environ)


@pytest.fixture(scope="session")
def npm_servers(prepared: Prepared) -> dict[str, list[str]]:
    """The commands of the servers from npm, by the last words of their names."""
    folder = prepared.folder(NPM_SERVERS) / "node_modules"
    node = prepared.node()
    names = [package.rpartition("@")[0] for package in NPM_PACKAGES]
    return {name.rpartition("server-")[2]: [node, str(folder / name / "dist" / "index.js")] for name in names}


@pytest.fixture(scope="session")
def playwright(prepared: Prepared) -> list[str]:
    """The command of the Playwright server, with a browser that has no window and leaves no profile."""
    script = prepared.folder(PLAYWRIGHT) / "node_modules" / "@playwright" / "mcp" / "cli.js"
    # Root's Chromium starts without its sandbox only.
    options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", prepared.program("chromium")]
    return [prepared.node(), str(script), *options]


@pytest.fixture(scope="session")
def agents_path(prepared: Prepared) -> str:
    """A PATH on which the programs of the agents are, with what they need."""
    programs = prepared.folder(AGENT_PACKAGES) / "node_modules" / ".bin"
    return os.pathsep.join((str(programs), str(Path(prepared.node()).parent), "/usr/bin", "/bin"))


@pytest.fixture(scope="session")
def old_python(prepared: Prepared) -> Path:
    """An interpreter with the official SDK as it was in 2025."""
    return python_in(prepared.folder(OLD_SDK))


@pytest.fixture(scope="session")
def gaia_python(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with AMD's GAIA, what its agents import, and this package as it stands."""
    beside = prepared.folder(GAIA_BESIDE)
    folder = tmp_path_factory.mktemp("gaia") / "env"
    run([python_in(beside), "-m", "venv", "--without-pip", folder])
    (packages,) = beside.glob("[Ll]ib/**/site-packages")
    (ours,) = folder.glob("[Ll]ib/**/site-packages")
    (ours / "prepared.pth").write_text(f"{packages}\n{ROOT}\n")
    return python_in(folder)


@pytest.fixture(scope="session")
def shells(prepared: Prepared) -> dict[str, str]:
    """The paths of the shells that complete."""
    return {name: prepared.program(name) for name in ("bash", "zsh", "fish")}


@pytest.fixture(scope="session")
def bash_completion(prepared: Prepared) -> str:
    """The script that a start file loads to have bash find completions by itself."""
    return prepared.program("/usr/share/bash-completion/bash_completion")


@pytest.fixture(scope="session")
def groff(prepared: Prepared) -> str:
    """The path of groff."""
    return prepared.program("groff")


@pytest.fixture(scope="session")
def mandoc(prepared: Prepared) -> str:
    """The path of mandoc, the other reader of manual pages."""
    return prepared.program("mandoc")


@pytest.fixture(scope="session")
def jq(prepared: Prepared) -> str:
    """The path of jq."""
    return prepared.program("jq")


@pytest.fixture(scope="session")
def wheels(prepared: Prepared) -> Path:
    """A folder with all that it takes to build and install this package."""
    return prepared.folder(WHEELS)


def _copy_or_link(source: str, target: str) -> None:
    """Copy a file. Programs, which are nearly all of 700 MB, are not written to: a link will do."""
    if source.endswith((".dll", ".exe")):
        Path(target).symlink_to(source)
    else:
        shutil.copy2(source, target)


@pytest.fixture(scope="session")
def powershell(prepared: Prepared) -> tuple[list[str], Callable[[Path], dict[str, str]]]:
    """The command of PowerShell, the one for Windows under Wine, and the environment for it with a home of its own."""
    command = [prepared.program("wine"), str(prepared.folder(POWERSHELL_FILES) / "package" / "pwsh" / "pwsh.exe")]
    wine = prepared.folder(WINE_HOME) / "wine"

    def environ(home: Path) -> dict[str, str]:
        shutil.copytree(wine, home / "wine", symlinks=True, copy_function=_copy_or_link)
        # Under Wine, .NET's garbage collection crashes now and then; with this many bytes (hexadecimal) there is none.
        return {**wine_environ(home), "DOTNET_GCgen0size": "20000000"}

    return command, environ
