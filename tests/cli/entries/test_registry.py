"""Servers of a registry: `add io.github.owner/server`, `search --registry` and `list --outdated`."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN
from tests.registry_support import ServedRegistry, document, package, served_registry

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia
    from tests.cli.terminals import Person

TIME = package(
    "pypi",
    "mcp-server-time",
    "1.2.3",
    runtimeHint="uvx",
    packageArguments=[{"type": "named", "name": "--local-timezone", "description": "Your zone", "isRequired": True}],
    environmentVariables=[{"name": "TIME_KEY", "isSecret": True, "isRequired": True}],
)
REMOTE = {
    "type": "streamable-http",
    "url": "https://{tenant}.example.com/mcp",
    "variables": {"tenant": {"isRequired": True, "description": "Your tenant", "choices": ["acme", "other"]}},
    "headers": [{"name": "X-Key", "isSecret": True, "isRequired": True}],
}
# As uvx runs a program of a package, of a version that is installed here.
UVX = f'#!/bin/sh\necho "$TIME_KEY" >&2\nshift\nexec "{BIN}/mcp-server-time" "$@"\n'


@pytest.fixture
def registry(gaia: Gaia) -> Iterator[ServedRegistry]:
    programs = gaia.home / "programs"
    programs.mkdir()
    (programs / "uvx").write_text(UVX)
    (programs / "uvx").chmod(0o755)
    with served_registry() as served:
        gaia.environ |= {
            "GAIA_MCP_REGISTRY": served.url,
            "PATH": f"{programs}{os.pathsep}{gaia.environ['PATH']}",
            "TIME_KEY": "s3cret-of-time",
        }
        served.documents = [
            document("io.github.acme/time-server", packages=[TIME], description="Tells the time."),
            document("com.example/remote", remotes=[REMOTE]),
            document(
                "com.example/both", packages=[package("oci", "a/b")], remotes=[{"type": "sse", "url": "https://x"}]
            ),
        ]
        yield served


def saved(gaia: Gaia) -> Any:
    return json.loads(gaia.config.read_text())["mcpServers"]


def test_a_server_of_a_registry_is_shown_run_and_saved(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: the command is printed before it runs; the entry records its origin, and a secret is saved as a
    reference.
    """
    words = ("io.github.acme/time-server", "--setting", "local-timezone=UTC", "--setting", "TIME_KEY")

    ran = gaia("add", *words)

    line = "TIME_KEY='${TIME_KEY}' uvx mcp-server-time==1.2.3 --local-timezone UTC"
    assert ran.stderr.splitlines()[0] == f"note: io.github.acme/time-server 1.0.0 is {line}"
    assert ran.stdout.startswith("added 'time' to ~/.gaia/mcp_servers.json: mcp-time ")
    assert saved(gaia)["time"] == {
        "command": "uvx",
        "args": ["mcp-server-time==1.2.3", "--local-timezone", "UTC"],
        "env": {"TIME_KEY": "${TIME_KEY}"},
        "registry": {
            "name": "io.github.acme/time-server",
            "version": "1.0.0",
            "url": registry.url,
            "settings": {"local-timezone": "UTC"},
        },
    }
    assert "s3cret-of-time" not in gaia.config.read_text() + ran.stdout + ran.stderr


def test_missing_settings_are_named_with_their_options(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: a script cannot be prompted."""
    name, options = "io.github.acme/time-server", "--setting local-timezone=VALUE --setting TIME_KEY"
    ran = gaia("add", "zone", f"{name}@1.0.0", "--no-check")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        f"error: {name} needs local-timezone (Your zone), TIME_KEY; a secret is read from a variable",
        f"hint: give that with: gaia mcp add zone {name}@1.0.0 --no-check {options}",
    ]
    assert (
        gaia("add", "x", "com.example/remote", "--setting", "nothing=1")
        .errors[-1]
        .startswith("hint: its settings: tenant")
    )
    wrong = gaia("add", "x", "com.example/remote", "--setting", "tenant=mars", "--setting", "X-Key")
    assert wrong.errors == [
        "error: com.example/remote: 'tenant' is 'mars', not one of: acme, other",
        "hint: write --setting tenant=acme",
    ]


def test_a_repeated_setting_is_refused(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: one of the two values would be lost."""
    ran = gaia("add", "com.example/remote", "--setting", "tenant=acme", "--setting", "tenant=other")

    assert ran.errors == ["error: --setting 'tenant' is given twice", "hint: leave one of them out"]


def test_missing_settings_are_prompted_for_on_a_terminal(
    gaia: Gaia, registry: ServedRegistry, terminal: tuple[Person, int]
) -> None:
    """Ours: for a secret, only for the name of its variable."""
    person, end = terminal
    process = gaia.popen("add", "com.example/remote", "--no-check", stdin=end, stdout=end, stderr=end)

    answers = (
        ("Your tenant", b"mars\n"),
        ("not", b"acme\n"),
        ("holds this secret", b"ghp_abc\n"),
        ("export it in a variable first", b"\n"),
    )
    for text, keys in answers:
        person.waits_for(text)
        person.types(keys)
    process.wait()

    assert saved(gaia)["remote"]["url"] == "https://acme.example.com/mcp"
    assert saved(gaia)["remote"]["headers"] == {"X-Key": "${X_KEY}"}


def test_ctrl_d_at_a_prompt_saves_nothing(gaia: Gaia, registry: ServedRegistry, terminal: tuple[Person, int]) -> None:
    """Ours: a server without all of its settings would not start."""
    person, end = terminal
    process = gaia.popen("add", "com.example/remote", "--no-check", stdin=end, stdout=end, stderr=end)

    person.waits_for("Your tenant")
    person.types(b"\x04")

    assert process.wait() == 130
    assert not gaia.config.exists()


def test_one_of_several_packages_and_remotes_is_chosen(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: one whose program is installed here, otherwise one that needs no program; `--via` overrides it."""
    gaia.environ["PATH"] = str(BIN)
    chosen = gaia("add", "com.example/both", "--no-check")
    other = gaia("add", "com.example/both", "--no-check", "--via", "oci", "--force")

    assert "note: com.example/both is used by sse; alternatives: --via oci" in chosen.stderr
    assert saved(gaia)["both"]["args"] == ["run", "-i", "--rm", "a/b:1.0.0"]
    assert other.code == 0
    assert gaia("add", "com.example/both", "--via", "npm").errors == [
        "error: com.example/both cannot be reached by 'npm'",
        "hint: use one of: oci, sse",
    ]


def test_an_unusable_registry_document_is_an_error(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: the hint names what can be done instead."""
    evil = package("npm", "b", runtimeArguments=[{"type": "named", "name": "--call", "value": "id"}])
    leaking = package("npm", "b", environmentVariables=[{"name": "K", "value": "${HOME}"}])
    registry.documents += [
        document("a.b/nothing"),
        document("a.b/evil", packages=[evil]),
        document("a.b/leaking", packages=[leaking]),
        document("a.b/old", remotes=[{"type": "sse", "url": "https://x"}]),
    ]
    registry.notes["a.b/old"] = {"status": "deprecated", "statusMessage": "use\x1b[1m a.b/new"}

    for name, code, problem in (
        ("a.b/nothing", 3, "'a.b/nothing': cannot be started here: it has only no package and no URL"),
        ("a.b/evil", 3, "'a.b/evil': it gives npx '--call', which could make it do anything"),
        ("a.b/leaking", 2, "a.b/leaking: 'K' refers to a variable of the environment, which a document may not"),
        ("a.b/unknown", 3, f"the registry {registry.url} has no server 'a.b/unknown'"),
        ("a.b/old@9", 3, f"the registry {registry.url} has no version '9' of 'a.b/old'"),
    ):
        ran = gaia("add", name)
        assert (ran.code, ran.errors[0]) == (code, f"error: {problem}")
        assert ran.errors[1].startswith("hint: ")
    assert ran.errors[1] == "hint: leave the version out for the newest: gaia mcp add a.b/old"
    assert gaia("add", "a.b/leaking", "--env", "K=1", "--no-check").code == 0
    assert "note: a.b/old 1.0.0 is deprecated: use\\x1b[1m a.b/new" in gaia("add", "a.b/old", "--no-check").stderr
    assert gaia("add", "a.b/c", "--registry", "http://127.0.0.1:9").code == 4
    assert not saved(gaia).keys() & {"nothing", "evil"}


def test_a_document_that_would_run_a_shell_runs_nothing(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: it is refused before anything starts, from a registry and from a file."""
    words = [{"type": "positional", "value": word} for word in ("--from", "mcp-server-time", "sh", "-c", "touch it")]
    held = document("a.b/time", packages=[package("pypi", "mcp-server-time", runtimeArguments=words)])
    registry.documents.append(held)
    (gaia.cwd / "server.json").write_text(json.dumps(held))
    (gaia.cwd / "invalid.json").write_text(json.dumps({**held, "name": "a name with spaces"}))

    refused = [gaia("add", "a.b/time"), gaia("add", "time", "./server.json"), gaia("add", "time", "./invalid.json")]

    shell = "error: 'a.b/time': it has uvx run 'sh', which is not a program of 'mcp-server-time'"
    hint = "hint: add it as its documentation says: gaia mcp add NAME -- COMMAND"
    assert [ran.code for ran in refused] == [3, 3, 3]
    assert refused[0].errors == refused[1].errors == [shell, hint]
    assert refused[2].errors[0].startswith("error: 'a name with spaces': name is 'a name with spaces', not one such as")
    assert not (gaia.cwd / "it").exists()
    assert not gaia.config.exists()


@pytest.mark.parametrize(
    ("held", "hint"),
    [
        (
            package("mcpb", "https://x/y.mcpb", fileSha256="0" * 64),
            "unpack https://x/y.mcpb, and add the command in its manifest.json: gaia mcp add NAME -- COMMAND",
        ),
        (
            package("npm", "b", transport={"type": "sse", "url": "http://localhost:1/sse"}),
            "start it as its documentation says, and add its URL: gaia mcp add NAME http://localhost:1/sse",
        ),
        (
            package("npm", "b", transport={"type": "streamable-http", "url": "http://localhost:{port}/mcp"}),
            "start it as its documentation says, and add its URL: gaia mcp add NAME URL",
        ),
        (package("cargo", "b"), "add it as its documentation says: gaia mcp add NAME -- COMMAND"),
    ],
)
def test_an_unsupported_package_is_reported_with_the_steps_to_add_it(
    gaia: Gaia, held: dict[str, Any], hint: str
) -> None:
    """Ours: nothing is unpacked, built or kept running for a name that was typed."""
    (gaia.cwd / "server.json").write_text(json.dumps(document("a.b/c", packages=[held])))

    ran = gaia("add", "./server.json")

    assert (ran.code, ran.errors[1]) == (3, f"hint: {hint}")


def test_the_bundle_for_this_system_is_named_in_the_hint(gaia: Gaia) -> None:
    """Ours: a bundle for another system would not run."""
    names = [f"https://x/y-{system}.mcpb" for system in ("windows", "linux", "darwin")]
    held = document("a.b/c", packages=[package("mcpb", name) for name in names])
    (gaia.cwd / "server.json").write_text(json.dumps(held))

    ran = gaia("add", "./server.json")

    assert ran.errors[0] == "error: 'a.b/c': cannot be started here: it has only mcpb"
    assert ran.errors[1].startswith(f"hint: unpack https://x/y-{platform.system().lower()}.mcpb, ")


def test_a_server_called_mcp_is_named_after_its_owner(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: the last part of the name would be the same for many servers. A whole header has a scheme, which the hint
    shows.
    """
    header = {"name": "Authorization", "isSecret": True, "isRequired": True}
    remote = {"type": "sse", "url": "https://x.example", "headers": [header]}
    registry.documents.append(document("io.github.Snow-Labs/mcp", remotes=[remote]))

    asked = gaia("add", "io.github.Snow-Labs/mcp", "--no-check")
    ran = gaia("add", "io.github.Snow-Labs/mcp", "--setting", "Authorization", "--no-check")

    problem = "needs Authorization; a secret is read from a variable, as in Bearer TOKEN"
    assert asked.errors[0] == f"error: io.github.Snow-Labs/mcp {problem}"
    assert ran.stdout.startswith("added 'snow-labs' to ")


def test_a_container_gets_every_given_variable(gaia: Gaia) -> None:
    """Ours: a document need not name all variables that an image reads."""
    held = package("oci", "a/b", environmentVariables=[{"name": "KEY", "isSecret": True, "isRequired": True}])
    (gaia.cwd / "server.json").write_text(json.dumps(document("a.b/c", packages=[held])))

    ran = gaia("add", "./server.json", "--env", "KEY", "--env", "MORE=1", "--no-check")

    assert "docker run -i --rm -e KEY -e MORE a/b:1.0.0\n" in ran.stderr
    assert saved(gaia)["c"]["args"] == ["run", "-i", "--rm", "-e", "KEY", "-e", "MORE", "a/b:1.0.0"]
    assert saved(gaia)["c"]["env"] == {"KEY": "${KEY}", "MORE": "1"}


def test_a_server_json_file_is_read_like_a_registry_document(gaia: Gaia) -> None:
    """Ours: an author can try the file before publishing it."""
    (gaia.cwd / "server.json").write_text(json.dumps(document("com.example/remote", remotes=[REMOTE])))
    options = ("--setting", "tenant=acme", "--setting", "X-Key=${OTHER}", "--no-check")

    assert gaia("add", "./server.json", *options).code == 0
    assert saved(gaia)["remote"]["headers"] == {"X-Key": "${OTHER}"}
    assert saved(gaia)["remote"]["registry"] == {
        "name": "com.example/remote",
        "version": "1.0.0",
        "settings": {"tenant": "acme", "X-Key": "${OTHER}"},
    }
    (gaia.cwd / "bad.json").write_text('{"packages": 7, "name": "a.b/c", "version": "1"}')
    assert gaia("add", "./bad.json").errors[0] == "error: 'a.b/c': packages is not a list"


def test_registry_options_are_refused_for_other_servers(gaia: Gaia) -> None:
    """Ours: an option without effect would mislead."""
    for option in (("--via", "npm"), ("--registry", "https://x")):
        ran = gaia("add", "demo", *option, "--", "gaia", "mcp", "serve", "demo")
        assert (ran.code, ran.errors[0]) == (2, f"error: {option[0]} is for a server of a registry")


def test_an_existing_path_is_added_as_a_command(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: `tools.d/run` has the form of a registry name, too."""
    (gaia.cwd / "tools.d").mkdir()
    (gaia.cwd / "tools.d" / "run").write_text("#!/bin/sh\nexec gaia mcp serve demo\n")
    (gaia.cwd / "tools.d" / "run").chmod(0o755)

    assert gaia("add", "mine", "tools.d/run").code == 0
    assert saved(gaia)["mine"]["command"] == str(Path(gaia.cwd / "tools.d" / "run"))


def test_the_registry_is_searched(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: the note is the command that adds the first match."""
    ran = gaia("search", "--registry", "time")
    as_json = gaia(
        "search", "--registry", registry.url, "remote", "--json", GAIA_MCP_REGISTRY="http://127.0.0.1:9"
    ).json

    assert ran.stdout == "io.github.acme/time-server 1.0.0  Tells the time.\n"
    assert ran.stderr == "note: add one with: gaia mcp add io.github.acme/time-server\n"
    assert as_json == {
        "servers": [
            {
                "name": "com.example/remote",
                "version": "1.0.0",
                "title": "",
                "description": "A server.",
                "status": "active",
                "via": ["http"],
            }
        ],
        "complete": True,
    }
    # First what is called so, then what only speaks of it.
    registry.documents.append(document("z.z/remote-desktop"))
    registry.documents.append(document("a.remote.example/desk"))
    found = gaia("search", "--registry", "remote").stdout.splitlines()
    assert [line.split()[0] for line in found] == ["com.example/remote", "z.z/remote-desktop", "a.remote.example/desk"]
    assert gaia("search", "--registry", "nothing-like-it").code == 7
    assert gaia("search", "--registry", registry.url).code == 2


def test_outdated_servers_are_listed(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: servers that were not added from a registry are not looked up."""
    gaia.use("offers")
    assert gaia("list", "--outdated").stderr == "note: no server was added from a registry\n"
    registry.documents.append(document("a.b/old", remotes=[{"type": "sse", "url": "https://x"}]))
    for name in ("com.example/both", "a.b/old"):
        assert gaia("add", name, "--no-check", "--via", "sse").code == 0
    assert gaia("list", "--outdated").stderr == "note: all servers from a registry have their newest versions\n"

    registry.documents.append({**registry.documents[-1], "version": "2.0.0"})
    registry.notes["com.example/both"] = {"status": "deleted"}
    ran = gaia("list", "--outdated")

    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["both", "1.0.0", "1.0.0", "deleted"],
        ["old", "1.0.0", "2.0.0"],
    ]
    assert ran.stderr == "note: add the new version with: gaia mcp add both com.example/both --force\n"
    registry.documents = [one for one in registry.documents if one["name"] != "a.b/old"]
    failed = gaia("list", "--outdated", "--json")
    assert failed.code == 3
    assert [row["name"] for row in failed.json["servers"] if "error" in row] == ["old"]


def test_credentials_are_sent_only_to_the_registry_of_the_environment(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: they are neither printed nor saved."""
    host = registry.url.removeprefix("http://")
    add = ("add", "com.example/both", "--no-check", "--via", "oci", "--force")
    gaia.environ |= {"GAIA_MCP_REGISTRY": f"http://ada:s3cret@{host}/"}

    first = gaia(*add)
    gaia.environ |= {"GAIA_MCP_REGISTRY": registry.url, "GAIA_MCP_REGISTRY_TOKEN": "t0ken"}
    second, again, outdated = gaia(*add), gaia(*add, "--registry", registry.url), gaia("list", "--outdated")
    gaia.environ["GAIA_MCP_REGISTRY"] = "http://127.0.0.1:9"
    other = gaia(*add, "--registry", registry.url)

    assert [ran.code for ran in (first, second, again, outdated, other)] == [0, 0, 0, 0, 0]
    assert "s3cret" not in first.stderr + gaia.config.read_text()
    assert saved(gaia)["both"]["registry"]["url"] == registry.url
    assert registry.authorization == ["Basic YWRhOnMzY3JldA==", *["Bearer t0ken"] * 3, None]


@pytest.mark.parametrize(
    ("status", "body", "hint"),
    [
        (401, b"", "set GAIA_MCP_REGISTRY to its URL, and GAIA_MCP_REGISTRY_TOKEN to your token for it"),
        (503, b"<html>", "try again later"),
        (301, b"http://x.example/v0.1/servers", "use that: export GAIA_MCP_REGISTRY=http://x.example"),
        (301, b"//x.example/v0.1/servers?a=1", "use that: export GAIA_MCP_REGISTRY=http://x.example"),
        (404, b"<html>", "check the network, and which registry --registry or GAIA_MCP_REGISTRY names"),
        (200, b"<html>", "check the network, and which registry --registry or GAIA_MCP_REGISTRY names"),
    ],
)
def test_an_unusable_registry_response_is_reported_with_a_hint(
    gaia: Gaia, registry: ServedRegistry, status: int, body: bytes, hint: str
) -> None:
    """Ours: two lines, whatever server is at the URL."""
    registry.answers["/v0.1/servers"] = (status, body)

    ran = gaia("search", "--registry", "time")

    assert (ran.code, ran.errors[1]) == (4, f"hint: {hint}")
    assert len(ran.stderr.splitlines()) == 2


def test_the_command_in_the_hint_about_a_moved_registry_works(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: a hint that fails leaves the person without a next step."""
    registry.answers["/old/v0.1/servers/com.example%2Fboth/versions/latest"] = (
        301,
        f"{registry.url}/v0.1/servers/com.example%2Fboth/versions/latest".encode(),
    )

    ran = gaia("add", "com.example/both", "--no-check", "--via", "oci", "--registry", f"{registry.url}/old")

    assert ran.errors[1].startswith("hint: use that with: gaia mcp add com.example/both ")
    assert gaia(*ran.errors[1].partition("gaia ")[2].split()[1:]).code == 0


def test_a_newer_version_inherits_the_saved_settings(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: also the chosen package; a secret only as a reference. Options given now override them."""
    name = "io.github.acme/notes"
    options = [
        {"type": "named", "name": "--folder", "isRequired": True},
        {"type": "named", "name": "--key", "isRequired": True, "isSecret": True},
        {"type": "named", "name": "--pin", "isRequired": True, "isSecret": True},
    ]
    held = package("npm", "n", packageArguments=options, environmentVariables=[{"name": "MODE", "isRequired": True}])
    both = [package("pypi", "n"), held]
    registry.documents.append(document(name, packages=both))
    settings = ["--setting", "folder=/a", "--setting", "key", "--setting", "pin=1234"]
    assert gaia("add", name, "--via", "npm", *settings, "--env", "MODE=x", "--no-check").code == 0
    registry.documents.append(document(name, version="1.1.0", packages=both))

    again = gaia("add", name, "--no-check")
    lacking = gaia("add", name, "--no-check", "--force")
    newer = gaia("add", name, "--no-check", "--force", "--setting", "pin=99", "--setting", "folder=/b")

    assert again.errors[0].startswith("error: MCP server 'notes' already exists")
    assert lacking.errors[0].startswith("error: io.github.acme/notes needs pin;")
    assert newer.code == 0
    entry = saved(gaia)["notes"]
    assert entry["args"] == ["-y", "n@1.0.0", "--folder", "/b", "--key", "${KEY}", "--pin", "99"]
    assert entry["env"] == {"MODE": "x"}
    assert entry["registry"] == {
        "name": name,
        "version": "1.1.0",
        "url": registry.url,
        "via": "npm",
        "settings": {"folder": "/b", "key": "${KEY}"},
    }
    other = document("io.github.other/notes", packages=both)
    (gaia.cwd / "server.json").write_text(json.dumps(other))
    assert gaia("add", "./server.json", "--no-check", "--force", "--via", "npm").errors[0].count("needs folder, key")


def test_a_url_without_a_scheme_is_not_looked_up(gaia: Gaia, registry: ServedRegistry) -> None:
    """Ours: a domain that is not reversed is the host of a URL."""
    ran = gaia("add", "docs", "mcp.deepwiki.com/mcp")

    assert ran.errors[1] == "hint: if it is a URL: gaia mcp add docs https://mcp.deepwiki.com/mcp"
    assert registry.asked == []
