"""Which programs a document may have run."""

from __future__ import annotations

from typing import Any

from gaia_mcp.catalog import Argument, DocumentError, Input, Package
from gaia_mcp.catalog.runners import (
    RUNNERS_OF,
    checked_arguments,
    has_data_of_ours,
    is_own_program,
    package_word,
    runner_arguments,
    runs_anything,
    started,
)


def _package(kind: str, identifier: str = "b", version: str = "1.0.0", **members: Any) -> Package:
    return Package(kind, identifier, version, "", (), (), (), "stdio")._replace(**members)


def _line(package: Package, words: str = "", arguments: str = "") -> str:
    """The words of the usual program that runs the package, with those of a document for either."""
    found = started(package, RUNNERS_OF[package.kind][0], words.split(), {})
    checked = checked_arguments(package, found, [*found.arguments, *arguments.split()], ())
    return " ".join([*found.own, *found.package, *checked])


def _error_of(package: Package, words: str = "", arguments: str = "") -> str | None:
    """Why a document must not have the package run with these words."""
    try:
        _line(package, words, arguments)
    except DocumentError as error:
        return str(error)
    return None


def test_a_document_has_words_for_the_program_and_for_its_package() -> None:
    """server.json; ours: many documents repeat the package, and what follows it is for the package."""
    digest = "docker.io/a/b:2@sha256:" + "0" * 64
    cases = [
        (_package("npm", "b", "1.2.3-rc.1"), "", "", "b@1.2.3-rc.1"),
        (_package("npm"), "-y -q", "", "-q b@1.0.0"),
        (_package("npm", "b", "1.2.0"), "--yes b@1.1 --stdio", "", "--yes b@1.2.0 --stdio"),
        (_package("pypi"), "--python 3.12", "", "--python 3.12 b==1.0.0"),
        (_package("pypi", "a-b", "2"), "A_b[x]@1", "mcp", "a-b[x]==2 mcp"),
        (_package("pypi"), "--from b[mcp]==1.0.0", "b-mcp", "--from b[mcp]==1.0.0 b-mcp"),
        (_package("pypi"), "--from", "b-mcp", "--from b==1.0.0 b-mcp"),
        (_package("pypi"), "--from b b-mcp --log", "x", "--from b==1.0.0 b-mcp --log x"),
        (_package("pypi", "semahash"), "--from semahash[mcp] sema mcp", "", "--from semahash[mcp]==1.0.0 sema mcp"),
        (_package("pypi"), "--from b b --log", "", "--from b==1.0.0 b --log"),
        # A package without a program of that name has a subcommand of that name.
        (_package("pypi", "train"), "--from", "mcp", "--from train==1.0.0 train mcp"),
        (_package("pypi"), "--from b", "", "--from b==1.0.0 b"),
        (_package("nuget", "A.B"), "a.b@1 mcp", "", "A.B@1.0.0 mcp"),
        (_package("oci", "a/b"), "run -i --name run --network=none", "", "--name run --network=none a/b:1.0.0"),
        (_package("oci", "a/b"), "--mount type=volume,dst=/data -e MODE=x", "",
         "--mount type=volume,dst=/data -e MODE=x a/b:1.0.0"),
        (_package("oci", digest, ""), "a/b:2", "", digest),
    ]  # fmt: skip

    wrong = [
        (package, words, found)
        for package, words, arguments, line in cases
        if (found := _line(package, words, arguments)) != line
    ]

    assert not wrong


def test_the_variables_that_a_container_gets_already_are_known() -> None:
    """Ours: none is passed twice."""
    words = ["-e", "KEY", "--env", "MODE=x", "--name", "-e"]
    assert started(_package("oci", "a/b"), "docker", words, {}).passed == {"KEY", "MODE"}


def test_arguments_for_another_program_are_not_used() -> None:
    """Ours: they would mean something else to this one. Some programs take what is written for each other."""
    words = (Argument(Input("", value="-q"), ""),)
    cases = [
        ("npm", "", "npx", True),
        ("npm", "npx", "npx", True),
        ("npm", "npx", "bunx", True),
        ("npm", "node", "npx", False),
        ("oci", "docker", "podman", True),
        ("pypi", "docker", "uvx", False),
    ]

    wrong = []
    for kind, advised, program, is_used in cases:
        found = runner_arguments(_package(kind, runner=advised, runner_arguments=words), program)
        if found != (words if is_used else ()):
            wrong.append((kind, advised, program, found))

    assert not wrong


def test_an_option_without_a_value_is_a_word() -> None:
    """Ours: many documents have an option and its value as two arguments. Without a value the user is asked for it."""
    flag, option, value = Argument(Input(""), "-i"), Argument(Input(""), "-e"), Argument(Input("", value="KEY"), "")
    package = _package("oci", runner_arguments=(flag, option, value, option))

    found = runner_arguments(package, "docker")

    assert found == (Argument(Input("", value="-i"), ""), Argument(Input("", value="-e"), ""), value, option)


def test_a_document_cannot_have_a_program_run_anything_else() -> None:
    """Ours: it was written by a stranger."""
    time = _package("pypi", "mcp-server-time")
    cases = [
        (_package("npm", "-c", ""), "", "", "'-c' is not the name of a package of npm"),
        (_package("npm", "git+https://x/y"), "", "", "'git+https://x/y' is not the name of a package of npm"),
        (_package("pypi", "b @ file:///x"), "", "", "'b @ file:///x' is not the name of a package of pypi"),
        (_package("npm", "b", "1 --call x"), "", "", "'1 --call x' is not one version of a package of npm"),
        (_package("npm"), "-c x", "", "it gives npx '-c', which could make it do anything"),
        (_package("npm"), "other", "", "it gives npx 'other', which could make it do anything"),
        (_package("npm"), "b[x]", "", "it gives npx 'b[x]', which could make it do anything"),
        (_package("pypi"), "serve", "--mcp", "it gives uvx 'serve', which could make it do anything"),
        (_package("oci", "a/b"), "--privileged", "", "it gives docker '--privileged', which could make it do anything"),
        (_package("npm"), "-q=1", "", "it gives npx '-q' with the value '1'"),
        (_package("pypi"), "--python", "", "it gives uvx '--python' with the value ''"),
        (_package("pypi"), "-p /tmp/x", "", "it gives uvx '-p' with the value '/tmp/x'"),
        (_package("pypi"), "--from evil", "", "it has uvx take its program from 'evil', which is not the package"),
        (_package("pypi"), "--from b==0.1", "",
         "it has uvx take its program from 'b==0.1', which is not the version '1.0.0'"),
        (_package("pypi"), "--from b", "--index-url https://x b",
         "it gives uvx '--index-url', which could make it do anything"),
        # uvx runs any program on PATH that the package does not have itself.
        (time, "--from mcp-server-time sh", "-c it",
         "it has uvx run 'sh', which is not a program of 'mcp-server-time'"),
        (time, "--from mcp-server-time time sh", "",
         "it has uvx run 'time', which is not a program of 'mcp-server-time'"),
        (_package("pypi", "sh"), "", "-c it", "it gives arguments to 'sh', which could make it do anything"),
        (_package("npm", "node"), "", "-e 1", "it gives arguments to 'node', which could make it do anything"),
    ]  # fmt: skip

    wrong = [
        (package, words, found)
        for package, words, arguments, problem in cases
        if (found := _error_of(package, words, arguments)) != problem
    ]

    assert not wrong


def test_a_document_names_one_version_of_its_package() -> None:
    """Schema of 2025-12-11: neither none, nor the newest, nor a range. To npm, a word is a tag that moves."""
    cases = [("npm", version) for version in ("", "latest", "next", "1", "1.2", "1.x", "^1.2.3", "1.2.3 - 2")]
    cases += [("pypi", version) for version in ("", "latest", "1.*", ">=1")]
    cases += [("nuget", version) for version in ("", "latest", "[1,2)")] + [("oci", ""), ("oci", "latest")]

    wrong = [
        (kind, version) for kind, version in cases if "version" not in str(_error_of(_package(kind, "b", version)))
    ]

    assert not wrong
    assert _error_of(_package("npm", "b", "")) == "it names no version of 'b'"
    assert package_word(_package("oci", "a/b:3", "1.0")) == "a/b:3"


def test_a_container_gets_nothing_of_this_machine_that_the_document_chooses() -> None:
    """Ours: it would reach the services, the data or the identity of something else."""
    ssh = "type=bind,source=~/.ssh,dst=/s"
    cases = [
        ("--network=host", "it gives docker '--network' with the value 'host'"),
        ("--network=container:db", "it gives docker '--network' with the value 'container:db'"),
        ("--network=backend", "it gives docker '--network' with the value 'backend'"),
        ("-v /:/host", "it gives the container a folder or a volume of this machine: '/:/host'"),
        ("-v=data:/data", "it gives the container a folder or a volume of this machine: 'data:/data'"),
        (f"--mount={ssh}", f"it gives the container a folder or a volume of this machine: '{ssh}'"),
        ("--env=GITHUB_*", "it gives docker '--env' with the value 'GITHUB_*'"),
        *(
            (f"-e={name}{value}", f"it sets {name} for the container, which only the user may set")
            for name in ("HTTPS_PROXY", "https_proxy", "SSH_AUTH_SOCK", "HOME", "XDG_CONFIG_HOME", "PYTHONPATH",
                         "NODE_PATH")
            for value in ("", "=x")
        ),
    ]  # fmt: skip

    wrong = [
        (words, found) for words, problem in cases if (found := _error_of(_package("oci", "a/b"), words)) != problem
    ]

    assert not wrong


def test_a_program_of_a_package_is_recognized_by_its_name() -> None:
    """Ours: as published documents have them after `--from`."""
    cases = [
        ("mneme", "mneme-hq"),
        ("seam-mcp", "seam-suite"),
        ("sema", "semahash"),
        ("pursers-mcp", "pursers-client"),
        ("awslabs.aws-api-mcp-server", "awslabs.aws-api-mcp-server"),
        ("b-mcp", "b"),
        ("memoryeditor", "MemoryEditor"),
        ("knowledge-mcp", "graph-tools"),
    ]

    wrong = [(program, package) for program, package in cases if not is_own_program(program, package)]

    assert not wrong


def test_a_program_that_runs_its_arguments_is_never_the_package_s_own() -> None:
    """Ours: whatever the package is called, and with any version or suffix."""
    cases = [
        ("sh", "mcp-server-time"),
        ("time", "mcp-server-time"),
        ("git", "mcp-server-git"),
        ("sqlite3", "mcp-server-sqlite"),
        ("python3.12", "python-mcp"),
        ("PowerShell.exe", "powershell-mcp"),
        ("ssh-agent", "ssh-mcp"),
        ("fastmcp", "fastmcp"),
        ("mcp", "mcp"),
        ("dotenv", "mcp-server-time"),
        ("/bin/sh", "sh-mcp"),
        ("./mcp", "b"),
        ("-c", "c"),
        ("curl", "fetcher"),
        ("server", "mcp-server-time"),
        ("my", "mymcp"),
    ]

    wrong = [(program, package) for program, package in cases if is_own_program(program, package)]

    assert not wrong


def test_a_server_that_is_named_after_such_a_program_is_not_one() -> None:
    """Ours: the name of the program is the whole name."""
    wrong = [name for name in ("mcp-server-git", "jupyter-mcp-server", "node-red", "time7-zone") if runs_anything(name)]

    assert not wrong


def test_a_mount_of_a_folder_or_a_volume_is_recognized() -> None:
    """Docker reads `--mount` as CSV, with names in any case; the driver of a volume may make it a folder. A volume that
    has a name may exist, with the data of something else; one without a name is new.
    """
    cases = [
        ("-v", "data:/data", True),
        ("-v", "data:/data:ro", True),
        ("--volume", "./data:/data", True),
        ("-v", "C:\\Users:/data", True),
        ("-v", "data:/data:O,upperdir=/home", True),
        ("--mount", "type=volume,src=data,dst=/data", True),
        ("--mount", "type=volume,dst=/data,volume-driver=local,volume-opt=type=none", False),
        ("--mount", "type=bind,src=/,dst=/data", True),
        ("--mount", "type=bind,SOURCE=/,dst=/data", True),
        ("--mount", 'type=bind,"source=/",dst=/data', True),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/,volume-opt=o=bind", True),
        ("--mount", "dst=/data\nsrc=/", True),
    ]

    wrong = [
        (option, value, found)
        for option, value, expected in cases
        if (found := has_data_of_ours(option, value, ())) is not expected
    ]

    assert not wrong


def test_a_folder_or_a_volume_named_by_the_user_is_allowed() -> None:
    """Ours: the user has named it for this server, so no document chose it."""
    cases = [
        ("-v", "data:/data:ro"),
        ("--mount", "type=volume,src=data,dst=/data"),
        ("-v", "/home/ada:/data"),
        ("-v", "C:\\Users:/data"),
        ("--mount", "type=bind,src=/home/ada,dst=/data"),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/home/ada"),
    ]

    wrong = [
        (option, value)
        for option, value in cases
        if has_data_of_ours(option, value, ["/home/ada", "C:\\Users", "data"])
    ]

    assert not wrong
    assert has_data_of_ours("-v", "data:/data:O,upperdir=/home/eve", ["data"])
