"""From `package.module:Class`, `path/to/file.py:Class` or a built-in name to a living agent."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.errors import AgentError
from gaia_mcp.names import did_you_mean

if TYPE_CHECKING:
    from types import ModuleType

BUILT_IN = {"demo": "gaia_mcp.agents.demo:DemoAgent"}

_METHODS = ("get_mcp_tool_definitions", "execute_mcp_tool")
# AMD's agents print banners and look for a model server unless told otherwise; other classes know none of this.
_QUIET: tuple[dict[str, Any], ...] = ({"silent_mode": True, "skip_lemonade": True}, {"silent_mode": True}, {})


def load_agent(target: str, keywords: dict[str, Any] | None = None) -> Any:
    """The agent that `target` names, made with `keywords`.

    Raises `AgentError` saying which step failed.
    """
    found = _find(target)
    if not isinstance(found, type) and all(callable(getattr(found, name, None)) for name in _METHODS):
        if keywords:
            raise AgentError(target, "is an object already, and takes no keyword arguments")
        return found
    if not callable(found):
        raise AgentError(target, f"is a {type(found).__name__}, not a class")
    # Of an abstract class no object can be made, whatever it is given.
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    agent = None if missing else _make(target, found, keywords or {})
    missing = missing or [name for name in _METHODS if not callable(getattr(agent, name, None))]
    if missing:
        raise AgentError(target, f"has no {'() and no '.join(missing)}()", case="agent-incomplete")
    return agent


def source_folder(target: str) -> Path | None:
    """The folder whose Python files make up the agent, None for a built-in one. For watching; loads nothing."""
    if target in BUILT_IN:
        return None
    place, _, _ = _split(target)
    if place.endswith(".py"):
        return Path(place).absolute().parent
    spec = importlib.util.find_spec(place.partition(".")[0])
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return origin.parent


def forget_modules(folder: Path) -> None:
    """Drop the imported modules that came from `folder`, so that they are read anew. What is installed stays, also
    where the environment lies in the folder, and so do we.
    """
    importlib.invalidate_caches()
    ours = Path(__file__).parents[1]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or not (path := Path(file)).is_relative_to(folder):
            continue
        if "site-packages" not in path.relative_to(folder).parts and not path.is_relative_to(ours):
            del sys.modules[name]


def _find(target: str) -> Any:
    if target in BUILT_IN:
        target = BUILT_IN[target]
    place, colon, name = _split(target)
    if place.endswith(".py"):
        module = _import_file(target, Path(place))
    elif colon:
        module = _import_module(target, place)
    else:
        raise AgentError(
            target,
            "is neither a built-in agent nor a place in a module",
            hint=did_you_mean(target, BUILT_IN) or "write package.module:Class or path/to/file.py:Class",
        )
    if not name:
        return _only_agent(target, module)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise AgentError(
                target,
                f"is not there: no {part!r} in {place}",
                hint=did_you_mean(part, dir(found)) or "check the name",
            )
        found = getattr(found, part)
    return found


def _split(target: str) -> tuple[str, str, str]:
    """The place, the colon if there is one, and the name."""
    place, colon, name = target.rpartition(":")
    # A colon between a letter and a slash belongs to a drive of Windows.
    if not colon or (len(place) == 1 and name.startswith(("\\", "/"))):
        return target, "", ""
    return place, colon, name


def _only_agent(target: str, module: ModuleType) -> Any:
    candidates = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and all(hasattr(value, method) for method in _METHODS)
        and not getattr(value, "__abstractmethods__", None)
    ]
    if len(candidates) != 1:
        what = "holds no agent class" if not candidates else f"holds several agents: {', '.join(candidates)}"
        raise AgentError(
            target, what, hint=f"name one: {target.rstrip(':')}:{candidates[0] if candidates else 'Class'}"
        )
    return getattr(module, candidates[0])


def _import_module(target: str, name: str) -> ModuleType:
    # As `python -m` does: what is named explicitly may lie in the working folder.
    try:
        here = str(Path.cwd())
    except OSError:
        here = ""  # That folder is gone; the module may lie elsewhere.
    if here and here not in sys.path:
        sys.path.insert(0, here)
    return _imported(target, lambda: importlib.import_module(name))


def _import_file(target: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise AgentError(target, f"is not there: no file {str(path)!r}", hint="check the path")
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Under its own name, as it would import itself, unless that would hide another module.
    name = path.stem if path.stem not in sys.modules and path.stem not in sys.stdlib_module_names else f"_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    if spec is None or spec.loader is None:
        raise AgentError(target, "cannot be imported: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader

    def run() -> ModuleType:
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    return _imported(target, run)


def _imported(target: str, run: Any) -> ModuleType:
    try:
        module: ModuleType = run()
    except (Exception, SystemExit) as cause:  # an agent's own code may do anything while it is imported
        raise AgentError(target, f"cannot be imported: {_in_words(cause)}", case="agent-failed") from cause
    return module


def _make(target: str, factory: Any, keywords: dict[str, Any]) -> Any:
    for quiet in _QUIET:
        try:
            return factory(**{**quiet, **keywords})
        except TypeError as cause:
            if quiet and _is_about_call(cause, quiet):
                continue
            raise AgentError(target, f"cannot be made: {_in_words(cause)}", case="agent-arguments") from cause
        except (Exception, SystemExit) as cause:
            raise AgentError(target, f"cannot be made: {_in_words(cause)}", case="agent-failed") from cause
    raise AssertionError("the last attempt returns or raises")


def _is_about_call(error: TypeError, quiet: dict[str, Any]) -> bool:
    """Whether our own keywords were the trouble, and not something inside the agent."""
    refused = any(repr(name) in str(error) for name in quiet) or "takes no arguments" in str(error)
    in_our_frame = error.__traceback__ is None or error.__traceback__.tb_next is None
    # `object.__init__` names nobody: a class that passes all its keywords up ends there.
    return refused or in_our_frame or "takes exactly one argument" in str(error)


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
