"""`gaia mcp export`: give servers to another host."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.sources import host_names, server_names
from gaia_mcp.cli.options import CONFIG, JSON, Invocation
from gaia_mcp.cli.screen.output import Form, error_object, remark, report, say, say_json
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.cli.status import UsageError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.known import Host
    from gaia_mcp.hosts.places import Place
    from gaia_mcp.hosts.variables import Value

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The servers.", autocompletion=server_names)]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="{HOST | FILE}", help="Write into this host's file.", autocompletion=host_names,
        show_default=False,
    ),
]  # fmt: skip
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="HOST", help="Print what to paste into this host's file.", autocompletion=host_names,
        show_default=False,
    ),
]  # fmt: skip
ProjectOption = Annotated[bool, typer.Option("--project", help="The host's file of the project in the working folder.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be written, as a diff.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace servers of the same name that are different.")]
ExpandOption = Annotated[
    bool, typer.Option("--expand", help="Write the values of variables that the host does not look up.")
]
SecretsOption = Annotated[bool, typer.Option("--show-secrets", help="With --as: print secrets rather than ****.")]

COMMON = (CONFIG, JSON)


def export(
    invocation: Invocation,
    names: Names,
    to: ToOption = None,
    as_host: AsOption = None,
    project: ProjectOption = False,
    dry_run: DryRunOption = False,
    force: ForceOption = False,
    expand: ExpandOption = False,
    show_secrets: SecretsOption = False,
) -> None:
    """Give servers to another host, in its own format.

    Only these entries of the host's file are touched. A variable that the host does not look up is left out, and said,
    unless --expand is given.

    Example: gaia mcp export time --to cursor
    """
    from gaia_mcp.cli.transfer.places import host_or_file
    from gaia_mcp.cli.transfer.snippets import home_alone, known_host, print_entries, whatever_is_set
    from gaia_mcp.hosts.places import chosen_place

    if (to is None) is (as_host is None):
        raise UsageError("either --to or --as", hint="write --to HOST for its file, or --as HOST to see the entry")
    if as_host is not None and (dry_run or force):
        raise UsageError("--as writes nothing", hint="leave --dry-run and --force out, or write --to")
    if to is not None and show_secrets:
        raise UsageError("--show-secrets is for --as", hint="leave it out: what is written is written whole")
    store = invocation.open_store()
    entries = {name: store.entry(name).raw for name in dict.fromkeys(names)}
    variables = whatever_is_set if expand else home_alone
    if as_host is not None:
        print_entries(known_host(as_host), entries, variables, show_secrets=show_secrets)
        return
    place = chosen_place(host_or_file(to or "", project=project))
    _write(place, entries, variables, dry_run=dry_run, force=force)


def _write(place: Place, entries: dict[str, Any], variables: Value, *, dry_run: bool, force: bool) -> None:
    from gaia_mcp.hosts.files import change_servers, servers_of
    from gaia_mcp.hosts.places import is_there
    from gaia_mcp.paths import shown

    host = place.host
    steps: list[dict[str, Any]] = []
    errors: list[MCPError] = []

    def change(there: dict[str, Any]) -> dict[str, dict[str, Any]]:
        new: dict[str, dict[str, Any]] = {}
        for name, raw in entries.items():
            step, error = _step(name, raw, host, there, variables, force=force)
            steps.append(step)
            if error is not None:
                errors.append(error)
            elif step["outcome"] in ("new", "replaced"):
                new[name] = step["theirs"]
        return new

    is_new = not is_there(place.path)
    written = change({} if is_new else servers_of(place.path, place.layout, host.title)) if dry_run or is_new else None
    if not dry_run and written != {}:
        if not is_there(place.path.parent):
            remark(f"{host.title} has not left anything here yet; {shown(place.path.parent)} is made")
        steps.clear()
        errors.clear()
        # Once more, now that nobody else can write.
        change_servers(place.path, place.layout, host.title, change)
    _tell(place, steps, errors, dry_run=dry_run)
    statuses = [report(error) for error in errors]
    if statuses:
        raise typer.Exit(statuses[0])


def _step(
    name: str, raw: dict[str, Any], host: Host, there: dict[str, Any], variables: Value, *, force: bool
) -> tuple[dict[str, Any], MCPError | None]:
    """What becomes of one server, and the error that kept it from being written."""
    from gaia_mcp.cli.transfer.places import plain_secrets
    from gaia_mcp.cli.transfer.snippets import entry_for_host
    from gaia_mcp.errors import ConfigError, MCPError
    from gaia_mcp.hosts.dialects import NotCarriedError
    from gaia_mcp.hosts.merging import differences
    from gaia_mcp.hosts.reading import entry_from

    step: dict[str, Any] = {"name": name, "outcome": "new", "differs": [], "remarks": [], "old": there.get(name)}
    try:
        theirs, step["remarks"] = entry_for_host(name, raw, host, there.get(name), variables)
    except MCPError as error:
        return {**step, "outcome": "left"}, error
    step["theirs"] = theirs
    if plain := plain_secrets(theirs, host.dialect.notation.pattern):
        step["remarks"].append(f"is written with secrets in plain text: {', '.join(plain)}")
    if name not in there:
        return step, None
    try:
        # As they read back: what the host cannot hold is no difference.
        old, new = (entry_from(entry, host.dialect)[0] for entry in (there[name], theirs))
        step["differs"] = differences(old, new, shutil.which)
    except NotCarriedError:
        step["differs"] = ["everything"]
    if not step["differs"]:
        return {**step, "outcome": "same"}, None
    if force:
        return {**step, "outcome": "replaced"}, None
    problem = f"{host.title} has another {name!r} already: it differs in {', '.join(step['differs'])}"
    return {**step, "outcome": "conflict"}, ConfigError(problem, hint="replace it with --force")


def _tell(place: Place, steps: list[dict[str, Any]], errors: list[MCPError], *, dry_run: bool) -> None:
    from gaia_mcp.cli.transfer.places import difference, masked_entry, snippet
    from gaia_mcp.paths import shown

    pattern = place.host.dialect.notation.pattern
    written = [step for step in steps if step["outcome"] in ("new", "replaced")]
    if Form.as_json:
        servers = [
            {
                **{key: step[key] for key in ("name", "outcome", "differs", "remarks")},
                "entry": masked_entry(step["theirs"], pattern) if "theirs" in step else None,
            }
            for step in steps
        ]
        facts = {"host": place.host.key, "path": str(place.path), "dry_run": dry_run}
        say_json({**facts, "servers": servers, "errors": [error_object(error) for error in errors]})
        return
    for step in steps:
        for text in step["remarks"] if step in written else ():
            remark(f"{step['name']}: {text}")
    rows = [_row(step, dry_run=dry_run) for step in steps if dry_run or step not in written]
    for line in columns(rows, names=2):
        say(line)
    if dry_run:
        old = {step["name"]: step["old"] for step in written if isinstance(step["old"], dict)}
        new = {step["name"]: step["theirs"] for step in written}
        before, after = (
            snippet(place.host, {name: masked_entry(entry, pattern) for name, entry in entries.items()})
            for entries in (old, new)
        )
        # Where only secrets differ, both sides look the same, and the line above has said it.
        if text := difference(before, after, place.path):
            say(text)
    if written and not dry_run:
        listed = ", ".join(repr(step["name"]) for step in written)
        say(f"exported {listed} to {shown(place.path)}")


def _row(step: dict[str, Any], *, dry_run: bool) -> list[str]:
    from gaia_mcp.cli.transfer.places import outcome_word

    differs = one_line(f"differs in {', '.join(step['differs'])}") if step["differs"] else ""
    return [outcome_word(step["outcome"], dry_run=dry_run), one_line(step["name"], 64), differs]
