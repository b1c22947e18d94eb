"""The commands that write files, and what each must have done when it has reported success."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fuzz.oracles import Fault

if TYPE_CHECKING:
    from random import Random

Entries = Mapping[str, Any]
SERVER = Path(__file__).parents[1] / "servers" / "good_stateless.py"
# A file of this size takes long enough to be written for a kill to come in the middle.
NOTE = "x" * 100_000
MOST_ENTRIES = 30


class Writing(NamedTuple):
    """A command line; the file that it writes, and which of its entries it may change; and whether it has done so."""

    words: list[str]
    file: str
    names: frozenset[str]
    is_done: Callable[[Entries], bool]

    @property
    def command(self) -> str:
        """The verb."""
        return self.words[0]


class World:
    """A home and a working folder of their own, with files of ours and of two other hosts in them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.files = {
            "config": self.home / ".gaia" / "mcp_servers.json",
            "cursor": self.home / ".cursor" / "mcp.json",
            "codex": self.home / ".codex" / "config.toml",
            "lock": self.cwd / "mcp.lock.json",
        }
        # Entries as they were when they were last looked at.
        self.known: dict[str, Entries] = {}
        for path in self.files.values():
            path.parent.mkdir(parents=True)
        entry = {"command": sys.executable, "args": [str(SERVER)]}
        config = {"note": NOTE, "mcpServers": {"real": entry, **{f"s{number}": entry for number in range(5)}}}
        self.files["config"].write_text(json.dumps(config, indent=2) + "\n")
        self.files["cursor"].write_text(json.dumps({"note": NOTE, "mcpServers": {}}, indent=2) + "\n")
        self.files["codex"].write_text(f'note = "{NOTE}"\n')
        self.source = self.cwd / "pasted.json"
        for name in self.files:
            self.known[name] = self.entries(name)

    def entries(self, name: str) -> Entries:
        """What a file holds. Raises `Fault` if it is damaged."""
        path = self.files[name]
        try:
            text = path.read_text()
            document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        except FileNotFoundError:
            if self.known.get(name):
                raise Fault(f"{path} is gone") from None
            return {}
        except ValueError as problem:
            raise Fault(f"{path} is damaged: {problem}") from problem
        if name != "lock" and document["note"] != NOTE:
            raise Fault(f"{path} has lost what was not ours")
        found: Entries = document.get({"lock": "servers", "codex": "mcp_servers"}.get(name, "mcpServers"), {})
        return found

    def left_over(self, name: str) -> list[str]:
        """The temporary files of a file, in its folder."""
        path = self.files[name]
        return [found.name for found in path.parent.glob(f".{path.name}.*")]

    def strange(self) -> list[str]:
        """Everything in the folders of the files that is neither one of them nor a temporary file of one."""
        ours = {*self.files.values(), self.source}
        prefixes = tuple(f".{path.name}." for path in self.files.values())
        return [
            str(found)
            for folder in {path.parent for path in self.files.values()}
            for found in folder.iterdir()
            if found.is_file() and found not in ours and not found.name.startswith(prefixes)
        ]

    def check(self, writing: Writing, *, is_acknowledged: bool) -> bool:
        """Look at every file after a command has ended, in whatever way. Returns whether it has done its work.

        Raises `Fault`.
        """
        known, self.known = self.known, {name: self.entries(name) for name in self.files}
        for name, after in self.known.items():
            before, may_change = known[name], writing.names if name == writing.file else frozenset()
            for entry in {*before, *after} - may_change:
                if before.get(entry) != after.get(entry):
                    raise Fault(f"{writing.words}: {entry!r} of {self.files[name]} has changed")
        before, after = known[writing.file], self.known[writing.file]
        is_done = writing.is_done(after)
        if not is_done and before != after:
            raise Fault(f"{writing.words}: {self.files[writing.file]} is neither as before nor as it should be")
        if is_acknowledged and not is_done:
            raise Fault(f"{writing.words}: it reported success, and has not done it")
        # What is there already is not written again.
        if is_acknowledged and before != after and (left := self.left_over(writing.file)):
            raise Fault(f"{writing.words}: the writer has left {left}")
        if strange := self.strange():
            raise Fault(f"{writing.words}: it has left {strange}")
        return is_done

    def next(self, random: Random, *, only: str = "") -> Writing:
        """A command that succeeds if it is left alone; `only` names its verb."""
        names = [name for name in self.known["config"] if name != "real"]
        makers = {
            "add": self._add, "remove": self._remove, "edit": self._edit, "enable": self._enable,
            "disable": self._enable, "import": self._import, "export": self._export, "lock": self._lock,
        }  # fmt: skip
        if len(names) < 4:
            only = "add"
        elif len(names) > MOST_ENTRIES:
            only = "remove"
        verb = only or random.choice([*makers, "add", "remove", "import", "export"])
        return makers[verb](random, verb, names)

    def _add(self, random: Random, verb: str, _: list[str]) -> Writing:
        name, word = f"s{random.randrange(100)}", f"w{random.randrange(10**6)}"
        how = [] if random.random() < 0.1 else ["--no-check"]
        words = [verb, name, "--force", *how, "--", sys.executable, str(SERVER), word]
        return Writing(words, "config", frozenset({name}), lambda now: word in now.get(name, {}).get("args", []))

    def _remove(self, random: Random, verb: str, names: list[str]) -> Writing:
        gone = random.sample(names, random.choice((1, 2)))
        return Writing([verb, *gone], "config", frozenset(gone), lambda now: not now.keys() & gone)

    def _edit(self, random: Random, verb: str, names: list[str]) -> Writing:
        name, seconds = random.choice(names), random.randrange(1, 600)
        words = [verb, name, "--no-check", "--request-timeout", str(seconds)]
        return Writing(words, "config", frozenset({name}), lambda now: now.get(name, {}).get("timeout") == seconds)

    def _enable(self, random: Random, verb: str, names: list[str]) -> Writing:
        name = random.choice(names)
        off = verb == "disable"
        return Writing(
            [verb, name], "config", frozenset({name}), lambda now: now.get(name, {}).get("disabled", False) == off
        )

    def _import(self, random: Random, verb: str, _: list[str]) -> Writing:
        word = f"w{random.randrange(10**6)}"
        entries = {f"s{random.randrange(100)}": {"command": "true", "args": [word]} for _ in range(3)}
        self.source.write_text(json.dumps({"mcpServers": entries}))
        words = [verb, str(self.source), "--force"]
        return Writing(
            words,
            "config",
            frozenset(entries),
            lambda now: all(now.get(name, {}).get("args") == [word] for name in entries),
        )

    def _export(self, random: Random, verb: str, names: list[str]) -> Writing:
        chosen, host = random.sample(names, random.choice((1, 3))), random.choice(("cursor", "codex"))
        args = {name: self.known["config"][name].get("args") for name in chosen}
        words = [verb, *chosen, "--to", host, "--force"]
        return Writing(
            words,
            host,
            frozenset(chosen),
            lambda now: all(now.get(name, {}).get("args") == args[name] for name in chosen),
        )

    def _lock(self, _: Random, verb: str, __: list[str]) -> Writing:
        return Writing([verb, "real", "--update"], "lock", frozenset({"real"}), lambda now: "real" in now)
