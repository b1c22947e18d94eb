"""What the tests need beside this package and its test extra: programs on PATH, and peers in a cache.

A peer's folder is named by all that decides what is in it, so that another version is another folder, and appears
whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from tests.prepare.installing import InstallError, make_environment, node_and_npm, python_in, run, run_npm

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
# Read before any test moves its home.
CACHE = user_cache_path("gaia-mcp-tests", appauthor=False)

# By the program, or the file, that has to be there: the package of Debian that has it.
PACKAGES = {
    "bash": "bash",
    "chromium": "chromium",
    "dbus-daemon": "dbus-daemon",
    "fish": "fish",
    "git": "git",
    "gnome-keyring-daemon": "gnome-keyring",
    "groff": "groff-base",
    "jq": "jq",
    "mandoc": "mandoc",
    "redis-server": "redis-server",
    "script": "bsdutils",
    "wine": "wine",
    "zsh": "zsh",
    "/usr/share/bash-completion/bash_completion": "bash-completion",
}


def program(name: str) -> str | None:
    """The path of a program or file of `PACKAGES`, or None."""
    return (name if Path(name).exists() else None) if "/" in name else shutil.which(name)


def missing_packages() -> list[str]:
    """The packages of Debian that have what is not there."""
    return [package for name, package in PACKAGES.items() if program(name) is None]


@dataclass(frozen=True)
class Peer:
    """Something installed in a folder of the cache."""

    name: str
    versions: tuple[str, ...]
    make: Callable[[Path], None]
    # A file of it. If it is a link to something that is there no longer, the peer has to be made again.
    witness: str
    cache: Path = CACHE

    @property
    def folder(self) -> Path:
        """Where it lies once it has been made."""
        known = (*self.versions, *sys.version_info[:2], platform.machine(), sys.platform)
        return self.cache / f"{self.name}-{hashlib.sha256(repr(known).encode()).hexdigest()[:12]}"

    @property
    def is_there(self) -> bool:
        return (self.folder / self.witness).exists()

    def install(self) -> None:
        """Make it, if it is not there. Raises `InstallError`."""
        if self.is_there:
            return
        self.cache.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.cache))
        try:
            self.make(unfinished)
            if not (unfinished / self.witness).exists():
                raise InstallError(f"{' '.join(self.versions)} has no {self.witness}")
            if not self.is_there:  # Another run may have been quicker.
                shutil.rmtree(self.folder, ignore_errors=True)
                unfinished.rename(self.folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
OUR_NEEDS = tuple(PROJECT["project"]["dependencies"])
BUILD_NEEDS = tuple(PROJECT["build-system"]["requires"])
NPM_PACKAGES = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)
# A server that keeps something open between calls: a browser.
BROWSER_SERVERS = ("@playwright/mcp@0.0.83",)
# The official SDKs of TypeScript: the one of both eras, and the one before.
NPM_SDKS = ("@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/sdk@1.32.2")
# Clients of servers behind URLs: a bridge to hosts that know stdio alone, and the official inspector. The inspector's
# `mcpdo` holds connections between its commands.
URL_CLIENTS = ("mcp-remote@0.15.1", "@modelcontextprotocol/inspector@2.12.0")
# Other command lines whose daemons hold connections.
HOLDERS = ("mcporter@0.12.3", "@apify/mcpc@0.2.6")
# The official conformance suite, which speaks HTTP only, and a bridge from that to stdio.
CONFORMANCE_PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "supergateway@4.0.0")
# The agents of the hub. Their native programs come as optional packages of npm.
AGENTS = ("@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.169.0", "@google/gemini-cli@0.61.0")
AGENT_PROGRAMS = ("claude", "codex", "gemini")
# Of its time: it imports an inner name of pydantic that later ones no longer have.
SDK_OF_2025 = ("mcp==1.9.4", "pydantic==2.11.7")
# The last one of the handshake era.
SDK_1 = ("mcp==1.30.0",)
# The package that the system's keyring is reached with.
KEYRING_PACKAGES = ("keyring==25.7.0", "SecretStorage==3.5.0")
FASTMCP_PACKAGES = ("fastmcp==4.1.2",)
# What HTTP/2 is spoken with where it is installed, and a server that speaks it.
HTTP2_PACKAGES = ("h2==4.4.1", "hypercorn==0.18.0")
# The clients of two dialects of A2A: AgentVault's, and the official one.
AGENTVAULT_PACKAGES = ("agentvault==0.2.1",)
A2A_PACKAGES = ("a2a-sdk==1.3.0",)
GAIA = "amd-gaia==0.19.0"
# What its agents import; all that it declares would be gigabytes.
GAIA_NEEDS = ("rich", "python-dotenv", "openai", "psutil", "requests")
# Microsoft's own files, for Windows; another author's package is the only one of them that npm, PyPI or Debian has.
POWERSHELL = "likecu-powershell-win10@7.6.2"
POWERSHELL_SHA512 = (
    "33f8224bf71534cc623dc5899dfbba1715ab06b6c15a200f4407c7f4f92b0ed6"
    "fb7d867d8b7d4c2e2073192feeeef667a04cad74a6c621974c6be9a7edc2ce05"
)


def _install_from_npm(folder: Path, packages: tuple[str, ...]) -> None:
    run_npm(folder, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", *packages)


def _peer_from_npm(name: str, packages: tuple[str, ...]) -> Peer:
    return Peer(name, packages, lambda folder: _install_from_npm(folder, packages), NPM_WITNESS)


def _peer_from_pypi(name: str, packages: tuple[str, ...]) -> Peer:
    return Peer(name, packages, lambda folder: make_environment(folder, packages), PYTHON)


def _peer_for_path(name: str, packages: tuple[str, ...], witness: str) -> Peer:
    """A peer that is put on the path of the interpreter that runs the tests."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    return Peer(name, packages, lambda folder: run([*pip, "--target", str(folder), *packages]), witness)


def _make_agents(folder: Path) -> None:
    _install_from_npm(folder, AGENTS)
    # What its script does: without it, the program only prints that it has not run.
    node, _ = node_and_npm()
    run([node, "install.cjs"], folder / "node_modules" / "@anthropic-ai" / "claude-code")
    programs = folder / "node_modules" / ".bin"
    environ = {"HOME": str(folder), "PATH": os.pathsep.join((str(Path(node).parent), "/usr/bin", "/bin"))}
    for name in AGENT_PROGRAMS:
        run([programs / name, "--version"], folder, environ)


def _make_powershell(folder: Path) -> None:
    run_npm(folder, "pack", "--silent", POWERSHELL)
    (archive,) = folder.glob("*.tgz")
    found = hashlib.sha512(archive.read_bytes()).hexdigest()
    if found != POWERSHELL_SHA512:
        raise InstallError(f"{POWERSHELL} is not what it was: {found}")
    run(["tar", "-xzf", archive], folder)
    archive.unlink()


def _make_wine_home(folder: Path) -> None:
    if program("wine") is None:
        raise InstallError("there is no wine")
    environ = wine_environ(folder)
    run(["wine", "wineboot", "--init"], folder, environ)
    run(["wineserver", "--wait"], folder, environ)


def wine_environ(home: Path) -> dict[str, str]:
    """The environment for programs that run under Wine with this home."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm",
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "WINEPREFIX": str(home / "wine"),
    }


def _download_wheels(folder: Path) -> None:
    run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), *BUILD_NEEDS, *OUR_NEEDS])
    (folder / "complete").touch()


PYTHON = python_in(Path()).as_posix()
NPM_WITNESS = "node_modules/.package-lock.json"
NPM_SERVERS = _peer_from_npm("npm-servers", NPM_PACKAGES)
PLAYWRIGHT = _peer_from_npm("npm-playwright", BROWSER_SERVERS)
NPM_CLIENTS = _peer_from_npm("npm-clients", NPM_SDKS)
NPM_URL_CLIENTS = _peer_from_npm("npm-url-clients", URL_CLIENTS)
NPM_HOLDERS = _peer_from_npm("npm-holders", HOLDERS)
CONFORMANCE = _peer_from_npm("conformance", CONFORMANCE_PACKAGES)
AGENT_PACKAGES = Peer("agents", AGENTS, _make_agents, NPM_WITNESS)
OLD_SDK = _peer_from_pypi("old-sdk", SDK_OF_2025)
PYTHON_SDK_1 = _peer_from_pypi("sdk-1", SDK_1)
AGENTVAULT = _peer_from_pypi("agentvault", AGENTVAULT_PACKAGES)
A2A_SDK = _peer_from_pypi("a2a-sdk", A2A_PACKAGES)
FASTMCP = _peer_from_pypi("fastmcp", FASTMCP_PACKAGES)
KEYRING = _peer_for_path("keyring", KEYRING_PACKAGES, "keyring/__init__.py")
HTTP2 = _peer_for_path("http2", HTTP2_PACKAGES, "h2/__init__.py")
# With what this package needs: its caller adds the package as it stands.
GAIA_BESIDE = Peer(
    "gaia",
    (GAIA, *GAIA_NEEDS, *OUR_NEEDS),
    lambda folder: make_environment(folder, [*GAIA_NEEDS, *OUR_NEEDS], ["--no-deps", GAIA]),
    PYTHON,
)
POWERSHELL_FILES = Peer("powershell", (POWERSHELL,), _make_powershell, "package/pwsh/pwsh.exe")
WINE_HOME = Peer("wine", ("1",), _make_wine_home, "wine/system.reg")
# To install this package from a copy of it, without a network.
WHEELS = Peer("wheels", (*BUILD_NEEDS, *OUR_NEEDS), _download_wheels, "complete")

PEERS = (
    NPM_SERVERS,
    PLAYWRIGHT,
    NPM_CLIENTS,
    NPM_URL_CLIENTS,
    CONFORMANCE,
    AGENT_PACKAGES,
    OLD_SDK,
    PYTHON_SDK_1,
    AGENTVAULT,
    A2A_SDK,
    FASTMCP,
    KEYRING,
    HTTP2,
    GAIA_BESIDE,
    POWERSHELL_FILES,
    WHEELS,
)
# These need programs from Debian.
LATER_PEERS = (WINE_HOME,)
# Only `tests.bench` uses these.
BENCH_PEERS = (NPM_HOLDERS,)
