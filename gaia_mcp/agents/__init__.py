"""Agents: the base classes to subclass, and the built-in `demo`.

An agent is loaded here, by `package.module:Class`, `path/to/file.py:Class` or a built-in name, and again whenever one
of its files changes, for development.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.core.errors import AgentError, ConfigFileError, MCPError
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.systems import BuiltInAgent, built_in_agents, imported

if TYPE_CHECKING:
    from types import ModuleType

# The agent of this package itself; systems add theirs.
DEMO = BuiltInAgent("gaia_mcp.agents.demo:DemoAgent")
_METHODS = ("get_mcp_tool_definitions", "execute_mcp_tool")
# Without these, AMD's agents print banners and look for a model server; other classes may lack these parameters.
_QUIET: tuple[dict[str, Any], ...] = ({"silent_mode": True, "skip_lemonade": True}, {"silent_mode": True}, {})
# Short enough to notice a save at once, and long enough to cost little.
POLL_SECONDS = 0.3
# Files by path: modification time and size.
_Files: TypeAlias = dict[str, tuple[int, int]]


def built_in() -> dict[str, BuiltInAgent]:
    """The built-in agents that users name, sorted by name."""
    return {name: agent for name, agent in _all_built_in().items() if agent.is_listed}


def _all_built_in() -> dict[str, BuiltInAgent]:
    return dict(sorted({"demo": DEMO, **built_in_agents()}.items()))


def load_agent(target: str, keywords: dict[str, Any] | None = None) -> Any:
    """The agent that `target` names, created with `keywords`.

    Raises `AgentError`, which names the step that failed.
    """
    found = _find(target)
    if not isinstance(found, type) and all(callable(getattr(found, name, None)) for name in _METHODS):
        if keywords:
            raise AgentError(target, "is already an object, and takes no keyword arguments")
        return found
    if not callable(found):
        raise AgentError(target, f"is a {type(found).__name__}, not a class")
    # An abstract class cannot be instantiated.
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    agent = None if missing else _make(target, found, keywords or {})
    missing = missing or [name for name in _METHODS if not callable(getattr(agent, name, None))]
    if missing and _is_marked(found):
        hint = f"derive it from gaia_mcp.MCPAgent: class {found.__name__}(MCPAgent)"
        raise AgentError(target, "has marked methods, such as with @tool, but is not derived from MCPAgent", hint=hint)
    if missing:
        raise AgentError(target, f"has no {'() and no '.join(missing)}()", case="agent-incomplete")
    return agent


def source_folder(target: str) -> Path | None:
    """The folder with the agent's Python files, to be watched for changes; None for a built-in agent, or if it is not
    found. Does not import the agent.
    """
    if target in built_in():
        return None
    from gaia_mcp.importing import split_target

    place, _, _ = split_target(target)
    if place.endswith(".py"):
        return Path(place).absolute().parent
    spec = importlib.util.find_spec(place.partition(".")[0])
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _find(target: str) -> Any:
    from gaia_mcp.importing import import_named, split_target

    if (own := _all_built_in().get(target)) is not None:
        # Not `import_named`, which may import from the working folder: built-in agents come only from this package.
        return imported(own.reference)
    place, colon, name = split_target(target)
    if place.endswith(".py"):
        module = _import_file(target, Path(place))
    elif colon:
        module = _imported(target, lambda: import_named(place))
    else:
        raise AgentError(
            target,
            "is neither a built-in agent nor module:Class",
            hint=did_you_mean(target, built_in()) or "write package.module:Class or path/to/file.py:Class",
        )
    if not name:
        return _only_agent(target, module)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise AgentError(
                target,
                f"does not exist: {place} has no {part!r}",
                hint=_meant(part, found),
            )
        found = getattr(found, part)
    return found


def _meant(name: str, found: Any) -> str:
    """The hint for an unknown name: the agents of a module, if it has any."""
    if isinstance(found, type(sys)) and (agents := _agents_in(found)):
        return did_you_mean(name, agents) or f"it has: {', '.join(agents)}"
    return did_you_mean(name, [each for each in dir(found) if not each.startswith("_")]) or "check the name"


def _agents_in(module: Any) -> list[str]:
    """The names of the agent classes that a module defines, or, without any, of its incomplete ones."""
    own = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == getattr(module, "__name__", None)
    }
    agents = [name for name, value in own.items() if all(hasattr(value, method) for method in _METHODS)]
    complete = [name for name in agents if not getattr(own[name], "__abstractmethods__", None)]
    # An incomplete class is chosen too, so that the error describes what it lacks.
    return complete or agents or [name for name, value in own.items() if _is_marked(value)]


def _only_agent(target: str, module: ModuleType) -> Any:
    candidates = _agents_in(module)
    if len(candidates) != 1:
        what = "contains no agent class" if not candidates else f"contains several agents: {', '.join(candidates)}"
        raise AgentError(
            target, what, hint=f"name one: {target.rstrip(':')}:{candidates[0] if candidates else 'Class'}"
        )
    return getattr(module, candidates[0])


def _is_marked(found: Any) -> bool:
    """Whether it is a class with methods marked with `@tool`, `@prompt` or `@resource`."""
    from gaia_mcp.agents.base.tools import has_marks

    return isinstance(found, type) and has_marks(found)


def _import_file(target: str, path: Path) -> ModuleType:
    from gaia_mcp.importing import import_file

    if not path.is_file():
        raise AgentError(target, f"does not exist: there is no file {str(path)!r}", hint="check the path")

    def run() -> ModuleType:
        # As late as possible: from here on, a file of the agent's folder could hide a module of ours with its name.
        folder = str(path.absolute().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        return import_file(path)

    return _imported(target, run)


def _imported(target: str, run: Callable[[], ModuleType]) -> ModuleType:
    from gaia_mcp.importing import failure_in_words, missing_package

    try:
        module = run()
    except (Exception, SystemExit) as cause:  # an agent's own code may raise anything during its import
        problem = f"cannot be imported: {failure_in_words(cause)}"
        raise AgentError(target, problem, hint=missing_package(cause), case="agent-failed") from cause
    return module


def _make(target: str, factory: Any, keywords: dict[str, Any], attempts: Sequence[dict[str, Any]] = _QUIET) -> Any:
    from gaia_mcp.importing import failure_in_words

    quiet, *others = attempts
    try:
        return factory(**{**quiet, **keywords})
    except TypeError as cause:
        if not others or not _is_about_call(cause, quiet):
            raise AgentError(target, f"cannot be created: {failure_in_words(cause)}", case="agent-arguments") from cause
    except ConfigFileError as cause:  # Its message names the file and the problem.
        raise AgentError(target, f"cannot be configured: {cause}", hint="correct the file") from cause
    except (Exception, SystemExit) as cause:
        raise AgentError(target, f"cannot be created: {failure_in_words(cause)}", case="agent-failed") from cause
    return _make(target, factory, keywords, others)


def _is_about_call(error: TypeError, quiet: dict[str, Any]) -> bool:
    """Whether the agent does not accept our own keyword arguments, instead of failing inside its constructor."""
    refused = any(repr(name) in str(error) for name in quiet) or "takes no arguments" in str(error)
    in_our_frame = error.__traceback__ is None or error.__traceback__.tb_next is None
    # The error of `object.__init__`, where a class that passes on all keyword arguments ends, names none of them.
    return refused or in_our_frame or "takes exactly one argument" in str(error)


def watch(
    folder: Path,
    reload: Callable[[], None],
    on_error: Callable[[MCPError], object],
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """Watch the Python files in `folder` in a separate thread, and call `reload` whenever they change.

    If a version cannot be loaded, `on_error` is called with the error, and the previous version stays in service.
    `pause` waits for a number of seconds; once it returns true, as `Event.wait` may, the thread ends.
    """
    # Before the first request is answered, which may already change a file.
    seen = _snapshot(folder)
    threading.Thread(target=_watch, args=(folder, seen, reload, on_error, pause), name="reload", daemon=True).start()


def _watch(
    folder: Path,
    seen: _Files,
    reload: Callable[[], None],
    on_error: Callable[[MCPError], object],
    pause: Callable[[float], object],
) -> None:
    while not pause(POLL_SECONDS):
        now = _snapshot(folder)
        if now == seen:
            continue
        seen = now
        from gaia_mcp.importing import forget_modules

        forget_modules(folder)
        try:
            reload()
        except MCPError as error:
            on_error(error)
        except BaseException as cause:  # noqa: BLE001 (the agent's own code, which may even try to exit)
            problem = f"the changed agent cannot be served: {type(cause).__name__}: {cause}"
            hint = "the previous version stays in use; correct the file, and it is loaded again"
            on_error(MCPError(problem, hint=hint))


def _snapshot(folder: Path) -> _Files:
    found: _Files = {}
    for path in folder.rglob("*.py"):
        try:
            status = path.stat()
        except OSError:
            continue  # deleted in the meantime
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found
