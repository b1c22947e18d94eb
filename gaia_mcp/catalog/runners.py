"""The programs that run packages, and what a document may pass to them: arguments, executables of the package, and
mounts of a container.

Arguments for such a program could make it run other code, install packages from another source, or give a container
access to the machine; only options that cannot do this are accepted. Many documents repeat the package among these
arguments, as in the command line `docker run … IMAGE`: the arguments after it are for the package.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gaia_mcp.catalog import Argument, DocumentError, Input, Package

_ANY = re.compile(r".+", re.DOTALL)
_QUIET: Mapping[str, re.Pattern[str] | None] = {"-y": None, "--yes": None, "-q": None, "--quiet": None}
# A Python version, not the path of an interpreter.
_PYTHON = re.compile(r"[A-Za-z0-9.@+-]+")
_FLAGS = ("-i", "--interactive", "--rm", "--init", "--read-only")
MOUNTS = ("-v", "--volume", "--mount")
# The fields of `--mount` that name a directory or a volume.
_SOURCES = ("src", "source")
_VOLUME = re.compile(r"(?P<source>(?:[A-Za-z]:(?=[/\\]))?[^:]*)(?::[^:]*)?(?::(?P<options>.*))?", re.DOTALL)
_OF_PATHS = r"[/~\\.]"
_VALUED = (
    "-p", "--publish", "--platform", "--pull", "--name", "--tmpfs", "-m", "--memory", "--cpus", "-u", "--user", "-w",
    "--workdir", *MOUNTS,
)  # fmt: skip
# The options that pass an environment variable to a container. Podman reads `NAME*` as several.
_PASSING = ("-e", "--env")
_CONTAINER: Mapping[str, re.Pattern[str] | None] = {
    **dict.fromkeys(_FLAGS),
    **dict.fromkeys(_VALUED, _ANY),
    **dict.fromkeys(_PASSING, re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?:=.*)?", re.DOTALL)),
    # Any other network reaches the services of this machine, or those of another container.
    "--network": re.compile(r"none|bridge|default|private"),
}
# The variables that determine which code any program loads, where it sends requests, and as whom it does.
OF_THE_USER = re.compile(
    r"(?i:PATH|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|(?:ALL|FTP|HTTPS?|NO|SOCKS)_PROXY)|LD_.*|DYLD_.*|XDG_.*"
    r"|SSH_(?:AUTH_SOCK|ASKPASS|AGENT_PID)|GIT_(?:SSH.*|CONFIG.*|PROXY.*|EXEC_PATH|ASKPASS)|BASH_ENV|BROWSER"
    r"|PYTHON(?:PATH|HOME|STARTUP|INSPECT|USERBASE|BREAKPOINT|EXECUTABLE|PLATLIBDIR|PYCACHEPREFIX|WARNINGS)"
    r"|NODE_(?:PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED)|RUBY(?:OPT|LIB)|PERL5?(?:OPT|LIB)|CLASSPATH"
    r"|(?:JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL)_CA_BUNDLE|KUBECONFIG|DOCKER_HOST"
)
# The programs that run the packages of a registry, the usual one first.
RUNNERS_OF = {"npm": ("npx", "bunx"), "pypi": ("uvx",), "nuget": ("dnx",), "oci": ("docker", "podman")}
# The syntax of package names in each registry.
_IDENTIFIERS = {
    "npm": re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._,-]+\])?"),
    "nuget": re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*"),
    "oci": re.compile(r"[a-z0-9][A-Za-z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?"),
}
# A version names one release, not a range or the newest. To npm, `1.2` is a range and a word is a moving tag.
_VERSIONS = {
    "npm": re.compile(r"v?\d{1,16}\.\d{1,16}\.\d{1,16}(?:[-+][A-Za-z0-9.+-]{1,200})?"),
    "pypi": re.compile(r"v?\d[A-Za-z0-9._+!-]{0,254}"),
    "nuget": re.compile(r"\d[A-Za-z0-9._+-]{0,254}"),
    "oci": re.compile(r"(?!latest$)[A-Za-z0-9_][A-Za-z0-9._+!-]{0,254}"),
}
_SEPARATORS = {"npm": "@", "pypi": "==", "nuget": "@", "oci": ":"}
# Programs that accept the arguments of each other.
_ALIKE = {"docker": "podman", "podman": "docker", "npx": "bunx", "bunx": "npx"}
# Programs that run the code, the commands or the files in their arguments, by their names without a version.
_RUNNING = """
ash bash busybox cmd csh dash elvish fish ksh mksh nu powershell pwsh rbash sh tcsh toybox xonsh yash zsh
at awk batch bc chroot chrt command crontab doas ed emacs entr env eval ex exec expect find firejail flatpak flock
gawk gdb git go ionice java ld less lldb ltrace m4 make man mawk mc more nano nawk nice nohup nsenter nvim open
osascript parallel perf rpm rsync run run-parts runuser scp screen script sed setarch setsid sftp snap socat ssh
ssh-agent sshpass start stdbuf strace su sudo systemd-run tar taskset time timeout tmux unshare vi view vim vimdiff
watch wine wsl xargs xdg-open xterm yes zip
ansible ansible-playbook aws curl dc docker ftp gcloud kubectl mysql nc ncat nerdctl netcat nmap openssl podman psql
rclone redis-cli sqlite telnet terraform wget
bpython celery chainlit coverage daphne debugpy django-admin dotenv fab fabric flask gradio granian gunicorn hatch
honcho hypercorn idle invoke ipython jupyter kernprof marimo memray nox notebook papermill pdm pip pipenv pipx
poetry ptpython py py-spy pydoc pypy pytest python python-dotenv pythonw rye scalene streamlit supervisord tox uv
uvicorn uvx viztracer watchdog watchfiles watchmedo
babel-node bun bunx chokidar-cli coffee coffeescript concurrently corepack cross-env deno dotenv-cli electron
env-cmd esno forever jiti node nodejs nodemon npm npm-run-all npx onchange pm2 pnpm pnpx shelljs shx supergateway
swc-node ts-node tsx vite-node yarn zx
cargo clj clojure csharprepl csi dotnet dotnet-script elixir erl escript ghc groovy guile irb iex jbang jshell julia
kotlin lua luajit msbuild nuget ocaml octave perl php r racket rscript ruby runghc rust-script scala swift tclsh
fastmcp mcp mcp-cli mcp-proxy mcphost mcpm mcpo mcp-use
"""
# Words that say nothing about a package.
_COMMON = frozenset(
    ("agent", "ai", "api", "app", "cli", "client", "core", "io", "mcp", "py", "python", "server", "tool")
)
# A shorter beginning, such as `my`, is one of many names.
_TELLING_CHARS = 4


class Runner(NamedTuple):
    """A program that runs packages: the words before the package, the words between it and its arguments, the options
    that a document may use (each with the pattern of its value, or None for an option without a value), and the
    environment variables that configure the program.
    """

    words: tuple[str, ...]
    between: tuple[str, ...]
    options: Mapping[str, re.Pattern[str] | None]
    variables: re.Pattern[str]


def has_data_of_ours(option: str, value: str, named: Collection[str]) -> bool:
    """Whether a mount has a source that the user has not `named`: a host directory, or a volume, which may exist and
    hold the data of something else.
    """
    return any(source not in named for source in _sources(option, value))


def _sources(option: str, value: str) -> Iterator[str]:
    if option != "--mount":
        match = _VOLUME.fullmatch(value)
        source, options = match.groups() if match is not None else (value, None)
        yield source
        # An option can name a directory as well, as `upperdir` does.
        if options and re.search(_OF_PATHS, options):
            yield options
        return
    try:
        # As docker and podman parse it: values may be quoted, and field names may be in upper case.
        fields = next(csv.reader([value]), [])
    except csv.Error:
        fields = [f"src={value}"]
    for field in fields:
        name, _, rest = field.partition("=")
        held = rest.rpartition("=")[2]
        # The driver options of a volume can name a host directory.
        if name.strip().lower() in _SOURCES or (name.strip().lower() == "volume-opt" and re.search(_OF_PATHS, held)):
            yield held


RUNNERS = {
    "npx": Runner(("-y",), (), _QUIET, re.compile(r"(?i:npm_config_.*)|NODE_OPTIONS")),
    "bunx": Runner(("-y",), (), _QUIET, re.compile(r"(?i:npm_config_.*)|BUN_.*")),
    "uvx": Runner((), (), {"-q": None, "--quiet": None, "-p": _PYTHON, "--python": _PYTHON}, re.compile(r"UV_.*")),
    "dnx": Runner(
        ("--yes",), ("--",), {**_QUIET, "--prerelease": None}, re.compile(r"NUGET_.*|DOTNET_(ROOT.*|STARTUP_HOOKS)")
    ),
    "docker": Runner(("run", "-i", "--rm"), (), _CONTAINER, re.compile(r"DOCKER_.*")),
    "podman": Runner(("run", "-i", "--rm"), (), _CONTAINER, re.compile(r"CONTAINERS?_.*")),
}


class Started(NamedTuple):
    """How a package is started: the words for the program that runs it, the words that name the package, and arguments
    for the package that the document has among those of the program.
    """

    own: list[str]
    package: list[str]
    arguments: list[str]

    @property
    def passed(self) -> set[str]:
        """The environment variables that are already passed to a container."""
        pairs = zip(self.own, self.own[1:], strict=False)
        return {word.partition("=")[0] for option, word in pairs if option in _PASSING}


def runner_arguments(package: Package, program: str) -> tuple[Argument, ...]:
    """The document's arguments for `program`; empty if they are for another program, in which they may have another
    meaning. An option without a value, or with its value in the next argument, becomes a positional argument.
    """
    if package.runner not in ("", program, _ALIKE.get(program)):
        return ()
    found = []
    for number, one in enumerate(package.runner_arguments):
        following = package.runner_arguments[number + 1 : number + 2]
        is_word = one.option in RUNNERS[program].options and (
            RUNNERS[program].options[one.option] is None
            or any(not each.option and each.input.value is not None for each in following)
        )
        is_bare = one.option and one.input.value is None and not one.input.default and not one.input.is_boolean
        found.append(Argument(Input("", value=one.option), "") if is_bare and is_word else one)
    return tuple(found)


def started(package: Package, program: str, words: Sequence[str], given: Mapping[str, str]) -> Started:
    """How `program` starts the package with the document's `words` for it. `given` are the user's values, by name.

    Raises `DocumentError` for words that could make it do anything else.
    """
    rest = list(words)
    from_package = _taken_from(package, rest) if program == "uvx" else []
    own: list[str] = []
    remaining = iter(rest)
    for word in remaining:
        if word in RUNNERS[program].words:
            continue
        option, equals, value = word.partition("=")
        if option in RUNNERS[program].options:
            own += _passed_on(option, value if equals else None, remaining, program, given)
            continue
        same = _named_by(package, word)
        if same is None and (not from_package or word.startswith("-")):
            raise DocumentError(f"it gives {program} {word!r}, which could make it do anything")
        # After `--from`, the name of the package is that of its program.
        named = [word if same is None else package.identifier.partition("[")[0]] if from_package else []
        return Started(own, from_package or [package_word(same or package)], [*named, *remaining])
    return Started(own, from_package or [package_word(package)], [])


def checked_arguments(package: Package, found: Started, arguments: list[str], named: Collection[str]) -> list[str]:
    """The arguments for the package, of which the first is the program to run if uvx has `--from PACKAGE`. `named` are
    the values from the user.

    Raises `DocumentError` for a program that is not the package's own, and for arguments that are run as code.
    """
    own = package.identifier.partition("[")[0]
    if found.package[0] != "--from":
        if package.kind != "oci" and runs_anything(own) and not set(arguments) <= set(named):
            raise DocumentError(f"it gives arguments to {own!r}, which could make it do anything")
        return arguments
    program = arguments[0] if arguments else own
    if program.startswith("-"):
        raise DocumentError(f"it gives uvx {program!r}, which could make it do anything")
    # A subcommand of the program that is named after the package; as a program it is the SDK's, which runs any file.
    is_subcommand = program == "mcp" and own != "mcp"
    words = [own, *arguments] if is_subcommand or not arguments else arguments
    if not is_own_program(words[0], own):
        raise DocumentError(f"it has uvx run {words[0]!r}, which is not a program of {own!r}")
    return words


def _taken_from(package: Package, words: list[str]) -> list[str]:
    """Remove `--from PACKAGE` from the `words` for uvx, and return it with the document's version; empty if it is not
    there. With it, the first argument is a program of the package that has another name than the package.

    Raises `DocumentError` for another package or version.
    """
    if "--from" not in words:
        return []
    at = words.index("--from")
    own = package_word(package)
    named = words[at + 1] if at + 1 < len(words) else own
    del words[at : at + 2]
    name, _, version = named.partition("==")
    # The identifier may have extras, as in `package[extra]`.
    bare = package.identifier.partition("[")[0]
    if _IDENTIFIERS["pypi"].fullmatch(name) is None or name.partition("[")[0] != bare:
        raise DocumentError(f"it has uvx take its program from {named!r}, which is not the package")
    if version not in ("", package.version):
        raise DocumentError(f"it has uvx take its program from {named!r}, which is not the version {package.version!r}")
    return ["--from", f"{name}=={package.version}"]


def package_word(package: Package) -> str:
    """The package and its version in the syntax of its registry. Raises `DocumentError` if either is invalid."""
    if not _IDENTIFIERS[package.kind].fullmatch(package.identifier):
        raise DocumentError(f"{package.identifier!r} is not the name of a package of {package.kind}")
    name = package.identifier.rpartition("/")[2]
    is_tagged = package.kind == "oci" and (":" in name or "@" in name)
    if not package.version and not is_tagged:
        raise DocumentError(f"it names no version of {package.identifier!r}")
    if package.version and not _VERSIONS[package.kind].fullmatch(package.version):
        raise DocumentError(f"{package.version!r} is not one version of a package of {package.kind}")
    if is_tagged:
        return package.identifier
    return f"{package.identifier}{_SEPARATORS[package.kind]}{package.version}"


def _passed_on(
    option: str, value: str | None, following: Iterator[str], program: str, given: Mapping[str, str]
) -> list[str]:
    """The words of an option and its value. If `value` is None, it is the next of the `following` words.

    Raises `DocumentError` for a value that is not allowed, and for a host directory, a volume, a network or a variable
    of the user's that the user did not give.
    """
    pattern = RUNNERS[program].options[option]
    if pattern is None and value is None:
        return [option]
    words = [option, next(following, "")] if value is None else [f"{option}={value}"]
    value = words[1] if value is None else value
    named = given.values()
    if pattern is None or (pattern.fullmatch(value) is None and value not in named):
        raise DocumentError(f"it gives {program} {option!r} with the value {value!r}")
    if option in MOUNTS and has_data_of_ours(option, value, named):
        raise DocumentError(f"it gives the container a folder or a volume of this machine: {value!r}")
    name, _, text = value.partition("=")
    if option in _PASSING and OF_THE_USER.fullmatch(name) and name not in given and text not in named:
        raise DocumentError(f"it sets {name} for the container, which only the user may set")
    return words


def _named_by(package: Package, word: str) -> Package | None:
    """The package if `word` names it; the version in `word` is ignored in favour of the document's. A Python package
    gets the extras in `word`.
    """
    if package.kind == "oci":
        return package if _image(word) == _image(package.identifier) else None
    found = re.fullmatch(r"(@?[^@=\[\]]+)(\[[A-Za-z0-9._,-]+\])?(?:(?:@|==)[^@=]*)?", word)
    bare = package.identifier.partition("[")[0]
    if found is None or _folded(package.kind, found[1]) != _folded(package.kind, bare):
        return None
    if found[2] is None:
        return package
    return package._replace(identifier=bare + found[2]) if package.kind == "pypi" else None


def _folded(kind: str, name: str) -> str:
    """The name in the normalized form of its registry, for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower() if kind == "pypi" else name.lower() if kind == "nuget" else name


def _image(name: str) -> str:
    """The name of an image without tag and digest, and without the prefixes that Docker adds by default."""
    return re.sub(r":[^/]*$", "", name.partition("@")[0]).removeprefix("docker.io/").removeprefix("library/")


_OPEN = frozenset(_RUNNING.split())


def runs_anything(name: str) -> bool:
    """Whether the program, or the package that is named after its program, runs what its arguments say."""
    bare = re.sub(r"\.(?:exe|cmd|bat|com|ps1)$", "", name.lower())
    return bare in _OPEN or bare.rstrip("0123456789.").rstrip("-_") in _OPEN


def is_own_program(program: str, package: str) -> bool:
    """Whether `program` is plausibly one of `package`: it shares a word with the package's name, or is called after
    MCP, and it does not run what its arguments say.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", program) or runs_anything(program):
        return False
    if "mcp" in program.lower() or program.lower() == package.lower():
        return True
    return any(_are_alike(one, other) for one in _words(program) for other in _words(package))


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[-_.]+", name.lower()) if word and word.removesuffix("s") not in _COMMON}


def _are_alike(one: str, other: str) -> bool:
    """Whether two words are equal, or one is the beginning of the other, as `sema` is of `semahash`."""
    shorter, longer = sorted((one, other), key=len)
    return shorter == longer or (len(shorter) >= _TELLING_CHARS and longer.startswith(shorter))
