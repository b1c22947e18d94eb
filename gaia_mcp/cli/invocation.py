"""One run of a command: the values of its common options, what they open, and the conversion of its outcome to an exit
code and of its exceptions to two lines on stderr.

Does not load Typer, because a `call` runs without it.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen import on_terminal
from gaia_mcp.cli.screen.output import STDOUT, Screen
from gaia_mcp.cli.signals import Terminated, code_of_signal, listen_to_signals, shortage_in
from gaia_mcp.cli.status import ExitStatus, UsageError
from gaia_mcp.core.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.cli.grammar import ServerWords
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.render import Destination
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.deadline import Deadline


# The common options that choose the form of the output.
_FORM = ("as_json", "quiet", "debug", "raw", "max_chars")


class Invocation(NamedTuple):
    """One run of a command: its `screen`, and the values of the common options; those that it does not take have their
    defaults. `after` holds the last of its arguments, those after two dashes.
    """

    screen: Screen
    config: Path | None = None
    timeout: float | None = None
    output: str | None = None
    output_dir: Path | None = None
    stage: str | None = None
    agent: str | None = None
    answer: Sequence[str] | None = None
    answers: str | None = None
    decline: bool = False
    root: Sequence[str] | None = None
    sample: str | None = None
    header: Sequence[str] | None = None
    token_env: str | None = None
    env: Sequence[str] | None = None
    after: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        line: CommandLine,
        command: str,
        options: dict[str, Any],
        after: Sequence[str] = (),
        write: Callable[[int, bytes], None] | None = None,
    ) -> Invocation:
        """The run of `command`, as typed in `line`, with these values of the common options; `write` is that of
        `Screen`.
        """
        form = {name: options.pop(name) for name in _FORM if name in options}
        line = line.for_command(command, options.get("config"), is_fresh=options.pop("fresh", False))
        return cls(Screen(line, **form, write=write), **options, after=after)

    @property
    def line(self) -> CommandLine:
        """The line of this command."""
        return self.screen.line

    def open_store(self, *, may_be_new: bool = False) -> ConfigStore:
        """Open the configuration of `--config`, or the default one, with a remark about a project that is not approved.

        Raises `ConfigFileError` if `--config` names a file that does not exist, unless it `may_be_new`, and as
        `ConfigStore.locate` does.
        """
        from gaia_mcp.config.store import ConfigStore
        from gaia_mcp.core.errors import ConfigFileError
        from gaia_mcp.core.names import typeable
        from gaia_mcp.core.paths import is_there, shown

        store = ConfigStore.locate(self.config, reads_once=True)
        if self.config is not None and not may_be_new and not is_there(store.path):
            begun = self.line.to_type("add", more="NAME -- COMMAND")
            raise ConfigFileError(store.path, "is not there", hint=f"check --config, or begin the file: {begun}")
        if store.project is not None and not store.project.approved:
            changed = shown(Path(store.project.changed)) if store.project.changed else ""
            unread = f"names code that has changed since it was approved, {changed}" if changed else "is not approved"
            reason = store.project.problem or f"{unread}; read it, and then: {self.line.to_type('trust')}"
            self.screen.remark(f"{shown(store.project.path)} is not used, since it {reason}")
        if (secrets := store.exposed_secrets()) is not None:
            private = f"chmod 600 {typeable(str(secrets))}"
            self.screen.remark(
                f"{shown(secrets)} contains secrets, and other users may read it; restrict it with: {private}"
            )
        return store

    def open_store_for(self, typed: ServerWords, *, has_item: bool = False, may_be_new: bool = False) -> ConfigStore:
        """As `open_store`. If the line begins with a target, or the server is a command, an unreadable file is only a
        remark, and its servers are omitted, because the command needs none of them.
        """
        from gaia_mcp.core.errors import ConfigFileError

        store = self.open_store(may_be_new=may_be_new)
        try:
            store.names()
        except ConfigFileError as error:
            from gaia_mcp.cli.entries.targets import is_target

            first = next(iter(typed.words), "")
            if not (typed.has_command((), has_item=has_item) or (first and is_target(first))):
                raise
            self.screen.remark(f"{error.message}; its servers are left out")
            return store.unread()
        return store

    def typed(self, words: Sequence[str]) -> ServerWords:
        """All arguments that may name servers, split at the two dashes."""
        from gaia_mcp.cli.grammar import ServerWords

        return ServerWords.of(words, self.after)

    def server(
        self, *words: str, has_item: bool = True, store: ConfigStore | None = None
    ) -> tuple[ServerEntry, list[str]]:
        """The server that `words`, all arguments of a command, name, and the remaining words.

        Raises as `open_store` and `find_server` do.
        """
        from gaia_mcp.cli.entries.targets import find_server

        typed = self.typed(words)
        store = self.open_store_for(typed, has_item=has_item) if store is None else store
        entry, rest = find_server(self.line, store, typed, has_item=has_item)
        return self.using(entry), rest

    def only_server(self, words: Sequence[str], store: ConfigStore | None = None) -> ServerEntry:
        """The one server that `words` name. Raises as `server` does, and `UsageError` if they name more than one."""
        entry, rest = self.server(*words, has_item=False, store=store)
        if rest:
            hint = f"see: {self.line.to_type(self.line.command, more='--help')}"
            raise UsageError(f"one server at a time, not also {rest[0]!r}", hint=hint)
        return entry

    def servers(self, store: ConfigStore, typed: ServerWords) -> list[ServerEntry]:
        """The servers that are `typed`, from `store` or as targets. Raises as `find_servers` does."""
        from gaia_mcp.cli.entries.targets import find_servers

        return [self.using(entry) for entry in find_servers(store, typed)]

    def using(self, entry: ServerEntry) -> ServerEntry:
        """Check and record that the command uses this entry, and return it with the headers and variables of the
        command line. Raises `ScopeError` for an entry that is not available to the command, and `UsageError` for such
        options if the entry is saved, or is not the only one.
        """
        if self._entry_options:
            from gaia_mcp.cli.entries.targets import with_options

            if entry.source is not None:
                self.check_saved(entry)
            if any(other.name != entry.name for other in self.line.used):
                hint = "use one server at a time, or save them first"
                raise UsageError(f"{self._entry_options[0]} is for one server", hint=hint)
            entry = with_options(entry, self.env or (), self.header or (), self.token_env)
        if not entry.is_available(self.stage, self.agent):
            from gaia_mcp.core.errors import ScopeError

            raise ScopeError(entry.name, self.stage, self.agent)
        if self.screen.debug:
            from gaia_mcp.cli.entries.remarks import remark_on_held_back
            from gaia_mcp.config.served import Served

            remark_on_held_back(self.screen, entry)
            if isinstance(entry.target, Served):
                # Our own child process then logs tracebacks.
                entry = entry._replace(target=entry.target._replace(options=("--debug",)))
        self.line.uses(entry)
        if entry.source is not None and entry.name.endswith(".py") and Path(entry.name).is_file():
            self.screen.remark(
                f"{entry.name!r} is the name of a saved server, which is used; for the file, type ./{entry.name}"
            )
        return entry

    @property
    def _entry_options(self) -> list[str]:
        """The given options for the entry of a typed server."""
        given = {"--header": self.header, "--token-env": self.token_env, "--env": self.env}
        return [option for option, value in given.items() if value]

    def check_saved(self, entry: ServerEntry | None = None) -> None:
        """Raises `UsageError` for options for the entry of a typed server, since the command uses saved ones: `entry`,
        or several.
        """
        for option in self._entry_options[:1]:
            if entry is None:
                hint = f"name a URL or a command, or leave {option} out"
                raise UsageError(f"{option} is for a server that is typed, and none is given", hint=hint)
            hint = f"leave {option} out"
            if entry.is_remote is (option != "--env"):
                value = {"--header": "'Name: value'", "--token-env": "NAME"}.get(option, "NAME=VALUE")
                hint = f"save it in the entry: {self.line.to_type('edit', entry.name, more=f'{option} {value}')}"
            elif self.line.command in ("call", "prompt", "read"):
                hint = f"for an argument, write {option[2:]}=VALUE"
            raise UsageError(f"{option} is for a server that is typed, and {entry.name!r} is saved", hint=hint)

    def destination(self) -> Destination | None:
        """The destination that `-o` names for the files of the result. Raises `UsageError` if it cannot be written."""
        from gaia_mcp.cli.screen.render import read_destination

        if self.output is None and self.output_dir is None:
            return None
        return read_destination(self.output, self.output_dir, as_json=self.screen.as_json)

    def deadline(self) -> Deadline | None:
        """A deadline from `--timeout` that starts now, and that all servers share."""
        from gaia_mcp.core.deadline import Deadline

        return Deadline(self.timeout) if self.timeout is not None else None

    def tell_how_to_keep(self) -> None:
        """After a success on a terminal: print a remark on how to save a server that was used without a name."""
        if not self.line.unsaved or self.screen.as_json or not (on_terminal(sys.stdout) and on_terminal(sys.stderr)):
            return
        from gaia_mcp.cli.entries.targets import how_to_keep
        from gaia_mcp.config.store import ConfigStore
        from gaia_mcp.core.errors import ConfigFileError

        try:
            taken = ConfigStore.locate(self.config).names()
        except ConfigFileError:
            return  # The error was reported already, and nothing can be added to the file.
        for entry in self.line.unsaved:
            self.screen.remark(f"this server is not saved; save it with: {how_to_keep(self.line, entry, taken)}")


def status_of_run(
    invocation: Invocation,
    command: Callable[[], int | None],
    passed: tuple[type[Exception], ...] = (),
) -> int:
    """Run `command`, and return the exit code; `command` may return one, or None.

    Raises exceptions of the classes `passed` and, with `--debug`, unexpected exceptions.
    """
    screen = invocation.screen
    listen_to_signals()
    try:
        if screen.max_chars is not None and screen.as_json:
            raise UsageError("--max-chars cuts text, and JSON would be invalid", hint="leave out one of the two")
        status = command()
        invocation.tell_how_to_keep()
        return status or ExitStatus.DONE
    except MCPError as error:
        return screen.fail(error)
    except KeyboardInterrupt:
        if on_terminal(sys.stderr):
            screen.to_stderr("")  # The shell's prompt then begins on a new line.
        return ExitStatus.INTERRUPTED
    except Terminated as terminated:
        return 128 + terminated.number
    except passed:
        raise
    except OSError as error:
        return screen.fail(refused(screen.line, error))
    except Exception as error:
        if (shortage := shortage_in(error)) is not None:
            return screen.fail(MCPError(shortage.message, hint=shortage.hint))
        if (status := code_of_signal(error)) is not None:
            return status
        if screen.debug:
            raise
        # A bug is reported in two lines rather than with a traceback.
        bug = MCPError(
            f"{type(error).__name__}: {error}", hint="this is a bug in gaia mcp; please report it with --debug"
        )
        return screen.fail(bug)


def refused(line: CommandLine, error: OSError) -> MCPError:
    """The message for an error of the operating system, for example a full disk behind stdout."""
    if (shortage := shortage_in(error)) is not None:
        return MCPError(shortage.message, hint=shortage.hint)
    if error.filename == STDOUT:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        return MCPError(f"{STDOUT} cannot be written: {reason}", hint="write the answer elsewhere: > FILE")
    if not error.filename and not _has_folder():
        return MCPError("the working folder no longer exists", hint="change to a folder that exists, and try again")
    where = f" ({error.filename})" if error.filename else ""
    # A help page accepts no options.
    hint = "more with --debug" if line.command else "check where its output goes"
    return MCPError(f"{error.strerror or error}{where}", hint=hint)


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
