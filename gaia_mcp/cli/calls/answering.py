"""How a command answers a server's requests: `--answer`, `--answers`, `--decline`, `--root` and `--sample`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.cli.calls import Answers, read_answers
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.paths import home_expanded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.cli.invocation import Invocation
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.screen.session_view import Waiting
    from gaia_mcp.fleet.sampling import Sampler
    from gaia_mcp.fleet.session import Answerers


class Answering:
    """The given answers, the folders offered as roots, and the program that answers sampling requests. With `declines`
    no person is asked.

    A context manager: on exit it stops the sampling program, and prints a remark about answers that were not used.
    """

    def __init__(
        self,
        screen: Screen,
        answers: Answers,
        *,
        declines: bool = False,
        roots: Sequence[dict[str, str]] = (),
        sampler: Sampler | None = None,
    ) -> None:
        self._screen = screen
        self._answers = answers
        self._declines = declines
        self._roots = roots
        self._sampler = sampler
        # By server: answers used instead of the common ones.
        self._answers_of: dict[str, Answers] = {}
        # The servers whose elicitations are declined without a remark for each.
        self._silent: set[str] = set()
        # Held to answer: a server may send several questions at once, and the person is asked one after another.
        self._answering = threading.Lock()

    @classmethod
    def of(cls, invocation: Invocation) -> Self:
        """Read the options of a command. Raises `UsageError`, and `ConfigFileError` for an unknown home folder."""
        is_given = bool(invocation.answer) or invocation.answers is not None
        sampler = None
        if invocation.sample is not None:
            sampler = _sampler(invocation.sample, invocation.timeout)
        return cls(
            invocation.screen,
            read_answers(invocation.answer or (), invocation.answers) if is_given else Answers(),
            declines=invocation.decline,
            roots=[_root(path) for path in invocation.root or ()],
            sampler=sampler,
        )

    def answerers(self, server: str, waiting: Waiting, *, attended: bool = True) -> Answerers:
        """The answerers for requests of `server`. Unless `attended`, no person is asked, and without any given answers
        elicitations are declined.
        """
        from gaia_mcp.fleet.session import Answerers

        sample = self._sampler.answering(server) if self._sampler is not None else None

        def elicit(params: dict[str, Any]) -> dict[str, Any]:
            with self._answering:
                # Imported late: most tools never elicit.
                from gaia_mcp.cli.calls.elicitation import DECLINED, answered

                answers = self._answers_of.get(server, self._answers)
                declines = self._declines or not (attended or answers.are_given)
                if declines and server in self._silent:
                    return dict(DECLINED)
                return answered(server, params, waiting, answers, declines=declines, attended=attended)

        return Answerers(elicit, self._roots, sample)

    def answer_with(self, server: str, answers: Answers) -> None:
        """Use `answers` for a server instead of the common ones; the common ones again if `answers` has none."""
        if answers.are_given:
            self._answers_of[server] = answers
        else:
            self._answers_of.pop(server, None)

    def decline_silently(self, server: str) -> None:
        """Print no remark for each elicitation that is declined from now on: there may be thousands."""
        self._silent.add(server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._sampler is not None:
            self._sampler.close()
        if not self._answers.are_given:
            return
        from gaia_mcp.core.errors import UnansweredError

        if (error is None or isinstance(error, UnansweredError)) and (unused := self._answers.unused()):
            self._screen.remark(unused)


def _root(path: str) -> dict[str, str]:
    folder = home_expanded(Path(path)).absolute()
    if not folder.is_dir():
        raise UsageError(f"--root {path!r} is not a folder", hint="name a folder that exists, such as . for this one")
    return {"uri": folder.as_uri(), "name": folder.name or str(folder)}


def _sampler(line: str, seconds: float | None) -> Sampler:
    from gaia_mcp.core.errors import EntryError, SpawnError
    from gaia_mcp.fleet.sampling import Sampler, program_of

    try:
        return Sampler(program_of(line), seconds)
    except (EntryError, SpawnError) as error:
        problem = f"{error.command!r} {error.reason}" if isinstance(error, SpawnError) else error.message
        hint = "name a program that reads JSON from its standard input and prints the message"
        raise UsageError(f"--sample: {problem}", hint=hint) from None
