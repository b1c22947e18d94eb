"""`python -m tests.prepare [--bench]`: install what the tests need, as far as this user may, and compile them. A second
run finds all of it there. With `--bench`, also install the programs that only `tests.bench` runs.

Debian's packages where the user is root or `sudo` asks for no password; peers from PyPI and npm into the user's cache.
Without one of them the tests that need it are skipped; with `CI=true` they fail, and so does this command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.prepare.installing import InstallError, install_from_debian
from tests.prepare.peers import BENCH_PEERS, CACHE, LATER_PEERS, PEERS, ROOT, missing_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.prepare.peers import Peer


def _prepared(what: str, is_there: bool, install: Callable[[], None]) -> bool:
    """Install something that is not there. Prints what has been done, and returns whether it is there now."""
    if is_there:
        outcome = "is there"
    else:
        try:
            install()
        except InstallError as error:
            print(f"{what}: not installed: {error}", flush=True)
            return False
        outcome = "installed"
    print(f"{what}: {outcome}", flush=True)
    return True


def _prepare_peer(peer: Peer) -> bool:
    return _prepared(f"{peer.name} ({', '.join(peer.versions)})", peer.is_there, peer.install)


def _prepare_debian() -> bool:
    missing = missing_packages()
    words = f" ({', '.join(missing)})" if missing else ""
    done = _prepared(f"Debian's packages{words}", not missing, lambda: install_from_debian(missing))
    return all([done, *map(_prepare_peer, LATER_PEERS)])


def _compile_tests() -> None:
    """Collect the tests once, which compiles them. Each worker of pytest would compile all of them by itself. What is
    wrong with them, pytest reports when it runs them.
    """
    words = ["--collect-only", "-qq", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, check=False)
    print("tests: compiled", flush=True)


def main(words: Sequence[str]) -> int:
    """Install everything, in parallel. Returns the exit status."""
    if set(words) - {"--bench"}:
        print("usage: python -m tests.prepare [--bench]", file=sys.stderr)
        return 2
    print(f"peers of the tests lie in {CACHE}", flush=True)
    with ThreadPoolExecutor() as pool:
        # First, since it takes longest.
        debian = pool.submit(_prepare_debian)
        pool.submit(_compile_tests)
        peers = list(pool.map(_prepare_peer, PEERS + BENCH_PEERS if words else PEERS))
    if all([debian.result(), *peers]):
        return 0
    if os.environ.get("CI") == "true":
        return 1
    print("the tests that need what has not been installed will be skipped", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
