"""Where files are: the configuration folder, the files in it, the cache, and the logs.

`environ` can be passed in, so that a test or an embedding program decides which variables count.
"""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Mapping
from pathlib import Path

from gaia_mcp.core.errors import ConfigFileError

SERVERS_FILE = "mcp_servers.json"
# The suffixes of files of servers in our own format; others may have the format of a system.
JSON_SUFFIXES = ("", ".json")
# In this order: the first that exists in the working folder is the project's own file.
PROJECT_FILES = (SERVERS_FILE, ".mcp.json")


def config_folder(environ: Mapping[str, str] | None = None) -> Path:
    """`$GAIA_HOME`, else `$GAIA_CONFIG_DIR`, else `~/.gaia`. Raises `ConfigFileError` for an unknown home folder."""
    environ = os.environ if environ is None else environ
    chosen = environ.get("GAIA_HOME") or environ.get("GAIA_CONFIG_DIR")
    if chosen:
        return home_expanded(Path(chosen)).absolute()
    try:
        # Tests of programs for GAIA patch this very method.
        return (Path.home() / ".gaia").absolute()
    except RuntimeError as cause:
        raise _home_unknown(Path("~/.gaia")) from cause


def home_expanded(path: Path) -> Path:
    """`path` with a leading `~` or `~name` replaced. Raises `ConfigFileError` for an unknown home folder."""
    try:
        return path.expanduser()
    except RuntimeError as cause:
        raise _home_unknown(path) from cause


def _home_unknown(path: Path) -> ConfigFileError:
    return ConfigFileError(path, "the home folder is unknown", hint="write the path out")


def is_there(path: Path) -> bool:
    """Whether the file exists. Also true if that cannot be determined: reading it reports the error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def servers_file(environ: Mapping[str, str] | None = None) -> Path:
    """The file of the user's own servers."""
    return config_folder(environ) / SERVERS_FILE


def approvals_file(environ: Mapping[str, str] | None = None) -> Path:
    """The file that lists the projects' files that the user has approved."""
    return config_folder(environ) / "trusted_projects.json"


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the cache: inside a moved configuration folder, else where the platform has caches."""
    environ = os.environ if environ is None else environ
    if environ.get("GAIA_HOME") or environ.get("GAIA_CONFIG_DIR"):
        return config_folder(environ) / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("gaia-mcp", appauthor=False)


def log_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the servers' logs: inside a moved configuration folder, else where the platform has logs."""
    environ = os.environ if environ is None else environ
    if environ.get("GAIA_HOME") or environ.get("GAIA_CONFIG_DIR"):
        return config_folder(environ) / "logs"
    from platformdirs import user_log_path

    return user_log_path("gaia-mcp", appauthor=False)


def keeper_folder(configuration: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the keeper's sockets, for a configuration folder: below the folder that the system removes with the
    login session, else a folder of this user's among the temporary ones.

    Not by `platformdirs`: it takes as long as a whole call of a held server.
    """
    environ = os.environ if environ is None else environ
    number = f"{crc32(os.fsencode(configuration)):08x}"
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    if _is_folder(runtime):
        return Path(runtime, "gaia-mcp", number)
    temporary = environ.get("TMPDIR", "")
    # Other users may write there.
    return Path(temporary if _is_folder(temporary) else "/tmp", f"gaia-mcp-{os.getuid()}", number)  # noqa: S108 (it is checked)


def _is_folder(path: str) -> bool:
    return os.path.isabs(path) and os.path.isdir(path)  # noqa: PTH112, PTH117 (they never raise)


def shown(path: Path) -> str:
    """`path` as a person would write it, with `~` for their home."""
    try:
        inside = path.relative_to(Path.home()).as_posix()
    except (ValueError, RuntimeError):
        return str(path)
    return "~" if inside == "." else f"~/{inside}"
