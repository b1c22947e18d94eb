"""The entries that are made of packages and remotes."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.catalog import DocumentError, Input, read_document
from gaia_mcp.catalog.packages import InputError, asked_of, entry_of, filled, missing, reference, unusable, ways_of
from tests.registry_support import document, package

Given = dict[str, str]


def _entry(held: dict[str, Any], given: Given | None = None) -> dict[str, Any]:
    member = "packages" if "registryType" in held else "remotes"
    (way,) = ways_of(read_document(document("a.b/c", **{member: [held]})))
    return entry_of(way, given or {})


def _line(held: dict[str, Any], given: Given | None = None) -> str:
    entry = _entry(held, given)
    return " ".join([entry["command"], *entry["args"]])


def _positional(*values: str) -> list[dict[str, Any]]:
    return [{"type": "positional", "value": value} for value in values]


def _flags(*options: str) -> list[dict[str, Any]]:
    return [{"type": "named", "name": option, "description": "What it is for"} for option in options]


def error_of(held: dict[str, Any]) -> str | None:
    """Why an entry cannot be made of a package or a remote."""
    try:
        _entry(held)
    except DocumentError as error:
        return str(error)
    return None


def _asking(option: str, value: str) -> dict[str, Any]:
    """An option whose value has the variable `it`."""
    return {"type": "named", "name": option, "value": value, "isRequired": True, "variables": {"it": {}}}


def test_a_package_is_run_by_the_program_of_its_registry() -> None:
    """server.json: npx, uvx, dnx and docker."""
    cases = [
        (package("npm", "@a/b", "1.2.3"), "npx -y @a/b@1.2.3"),
        (package("npm", "b", runtimeHint="bunx"), "bunx -y b@1.0.0"),
        (package("pypi", "mcp-b[x]", "2.0"), "uvx mcp-b[x]==2.0"),
        (
            package(
                "pypi",
                "b",
                runtimeArguments=_positional("--from", "b[mcp]==1.0.0"),
                packageArguments=_positional("b-mcp"),
            ),
            "uvx --from b[mcp]==1.0.0 b-mcp",
        ),
        (package("nuget", "A.B", packageArguments=_positional("mcp", "start")), "dnx --yes A.B@1.0.0 -- mcp start"),
        (package("nuget", "A.B"), "dnx --yes A.B@1.0.0"),
        (package("oci", "docker.example/a/b", "1.0"), "docker run -i --rm docker.example/a/b:1.0"),
        (package("oci", "a/b:3", "1.0", runtimeHint="podman"), "podman run -i --rm a/b:3"),
        # Many write down the whole line that their users type.
        (
            package(
                "oci",
                "ghcr.io/a/b:0.7.0",
                "",
                runtimeArguments=[
                    *_positional("run"),
                    *_flags("-i", "--rm", "-e"),
                    *_positional("KEY"),
                    *_flags("-e"),
                    *_positional("MODE", "ghcr.io/a/b", "stdio"),
                ],
            ),
            "docker run -i --rm -e KEY -e MODE ghcr.io/a/b:0.7.0 stdio",
        ),
        (
            package(
                "npm",
                "@a/b",
                "1.2.3",
                runtimeArguments=[{"type": "named", "name": "-y", "value": "@a/b@latest", "isRequired": True}],
            ),
            "npx -y @a/b@1.2.3",
        ),
        # An option that is not for this program is optional, as all are that are not required.
        (package("npm", "b", runtimeArguments=_flags("--verbose")), "npx -y b@1.0.0"),
        (package("oci", "a/b", runtimeArguments=_flags("--network", "-i")), "docker run -i --rm a/b:1.0.0"),
    ]

    wrong = [(held, found) for held, line in cases if (found := _line(held)) != line]

    assert not wrong


def test_arguments_and_variables_are_filled_in() -> None:
    """Ours: an option and its value are two words; a container gets a variable only with the option `-e`."""
    arguments = [
        {"type": "named", "name": "--port", "isRequired": True, "default": "80"},
        {"type": "named", "name": "--verbose", "format": "boolean", "isRequired": True, "default": "true"},
        {"type": "named", "name": "--quiet", "format": "boolean", "isRequired": True, "default": "false"},
        {"type": "named", "name": "--log"},
        {"type": "positional", "valueHint": "folder", "isRequired": True},
    ]
    variables = [
        {"name": "KEY", "isRequired": True, "isSecret": True},
        {"name": "LEVEL"},
        {"name": "MODE", "value": "x"},
    ]
    held = package("oci", "a/b", packageArguments=arguments, environmentVariables=variables)

    entry = _entry(held, {"folder": "; rm -rf ~", "KEY": "${KEY}", "MODE": "y"})

    assert entry == {
        "command": "docker",
        "args": [
            "run",
            "-i",
            "--rm",
            "-e",
            "KEY",
            "-e",
            "MODE",
            "a/b:1.0.0",
            "--port",
            "80",
            "--verbose",
            "; rm -rf ~",
        ],
        "env": {"KEY": "${KEY}", "MODE": "y"},
    }
    assert _entry(held, {"folder": "x", "KEY": "y"})["env"] == {"KEY": "y", "MODE": "x"}
    with pytest.raises(InputError) as caught:
        _entry(held, {"folder": "x"})
    assert caught.value.name == "KEY"


def test_an_installed_program_is_preferred() -> None:
    """Ours: podman takes what is written for docker."""
    cases = [
        ("oci", "docker", {"podman"}, "podman"),
        ("oci", "docker", {"docker", "podman"}, "docker"),
        ("oci", "podman", {"docker", "podman"}, "podman"),
        ("oci", "", set(), "docker"),
        ("npm", "", {"bunx"}, "bunx"),
        ("npm", "node", {"npx", "bunx"}, "npx"),
        ("npm", "bunx", set(), "bunx"),
    ]

    wrong = []
    for kind, advised, installed, program in cases:
        options = _positional("--network=none") if kind == "oci" else []
        held = package(kind, "b", runtimeHint=advised, runtimeArguments=options)
        (way,) = ways_of(read_document(document("a.b/c", packages=[held])), installed.__contains__)
        entry = entry_of(way, {})
        if not entry["command"] == way.program == program or ("--network=none" in entry["args"]) is not (kind == "oci"):
            wrong.append((kind, advised, installed, entry))

    assert not wrong


def test_a_container_gets_the_variables_that_the_user_adds() -> None:
    """Ours: also those that the document does not name, each once."""
    held = package("oci", "a/b", runtimeArguments=_positional("-e", "A"), environmentVariables=[{"name": "B"}])
    (way,) = ways_of(read_document(document("a.b/c", packages=[held])))

    entry = entry_of(way, {"A": "1", "B": "2", "C": "3"}, ["A", "B", "C"])

    assert entry["args"] == ["run", "-i", "--rm", "-e", "A", "-e", "B", "-e", "C", "a/b:1.0.0"]
    assert entry["env"] == {"B": "2"}  # The command adds the others.


def test_a_container_gets_what_the_user_names_of_this_machine() -> None:
    """Ours: a document may ask for a folder, a volume, a network or a proxy, but not choose one."""
    cases = [
        (_asking("--mount", "type=bind,src={it},dst=/data"), "/home/ada", "--mount type=bind,src=/home/ada,dst=/data"),
        (_asking("-v", "{it}:/data:ro"), "notes", "-v notes:/data:ro"),
        (_asking("--network", "{it}"), "host", "--network host"),
        (_asking("-e", "HTTPS_PROXY={it}"), "http://proxy.example", "-e HTTPS_PROXY=http://proxy.example"),
    ]

    wrong = [
        (words, found)
        for argument, value, words in cases
        if words not in (found := _line(package("oci", "a/b", runtimeArguments=[argument]), {"it": value}))
    ]

    assert not wrong


def test_a_document_cannot_run_anything_else() -> None:
    """Ours: it was written by a stranger."""
    cases = [
        (package("npm", "--call=x"), "'--call=x' is not the name of a package of npm"),
        (
            package("npm", "b", runtimeArguments=_positional("-c", "x")),
            "it gives npx '-c', which could make it do anything",
        ),
        (
            package("oci", "a/b", runtimeArguments=[*_flags("-v"), *_positional("/:/host", "a/b")]),
            "it gives the container a folder or a volume of this machine: '/:/host'",
        ),
        (
            package("npm", "b", packageArguments=[{"type": "named", "name": "--k=${HOME}", "value": "x"}]),
            "the option '--k=${HOME}' refers to a variable of the environment",
        ),
        (
            {"type": "sse", "url": "file:///etc/passwd"},
            "the URL 'file:///etc/passwd' does not begin with https:// or http://",
        ),
        (
            {"type": "sse", "url": "https://x", "headers": [{"name": "X", "value": "a\r\nHost: b"}]},
            "the header 'X' cannot be sent",
        ),
        (
            {"type": "sse", "url": "https://x", "headers": [{"name": "X:", "value": "a"}]},
            "the header 'X:' cannot be sent",
        ),
        (
            {"type": "sse", "url": "https://x", "headers": [{"name": "Host", "value": "internal"}]},
            "the header 'Host' cannot be sent",
        ),
    ]

    wrong = [(held, found) for held, problem in cases if (found := error_of(held)) != problem]

    assert not wrong


def test_a_program_that_runs_its_arguments_gets_those_of_the_user() -> None:
    """Ours: the user decides what a proxy for another server starts."""
    command = {"type": "positional", "valueHint": "command", "isRequired": True}

    assert _line(package("pypi", "mcp-proxy", packageArguments=[command]), {"command": "x"}) == "uvx mcp-proxy==1.0.0 x"


def test_a_document_sets_no_variable_of_the_program() -> None:
    """Ours: it would be an option in another place. The user may set it."""
    cases = [
        ("npm", "PATH", "npx"),
        ("npm", "NPM_CONFIG_REGISTRY", "npx"),
        ("npm", "npm_config_registry", "npx"),
        ("pypi", "UV_INDEX_URL", "uvx"),
        ("pypi", "LD_PRELOAD", "uvx"),
        ("pypi", "PYTHONPATH", "uvx"),
        ("npm", "NODE_PATH", "npx"),
        ("npm", "HTTPS_PROXY", "npx"),
        ("npm", "HOME", "npx"),
        ("nuget", "XDG_CONFIG_HOME", "dnx"),
        ("oci", "SSH_AUTH_SOCK", "docker"),
        ("nuget", "NUGET_PACKAGES", "dnx"),
        ("oci", "DOCKER_HOST", "docker"),
    ]

    wrong = []
    for kind, name, program in cases:
        held = package(kind, "b", environmentVariables=[{"name": name, "value": "x"}])
        problem = f"it sets {name} to 'x', which could have {program} do anything else"
        if (found := error_of(held)) != problem or _entry(held, {name: "y"})["env"] != {name: "y"}:
            wrong.append((kind, name, found))

    assert not wrong


def test_a_remote_is_a_url_with_headers() -> None:
    """Ours: as our entries have them."""
    key = {"name": "X-Key", "isRequired": True}
    held = {"type": "streamable-http", "url": "https://{t}.example.com", "variables": {"t": {}}, "headers": [key]}

    assert _entry(held, {"t": "a", "X-Key": "1"}) == {"url": "https://a.example.com", "headers": {"X-Key": "1"}}
    assert _entry({"type": "sse", "url": "https://x/sse"}) == {"url": "https://x/sse", "type": "sse"}


def test_an_unsupported_package_is_named() -> None:
    """Ours: a package that listens on a port would have to be started beside its URL."""
    packages = [
        package("mcpb", "https://x/y.mcpb"),
        package("npm", "b", transport={"type": "streamable-http", "url": "http://localhost:1/mcp"}),
        package("pypi", "b"),
    ]
    read = read_document(document("a.b/c", packages=packages, remotes=[{"type": "sse", "url": "https://x"}]))

    assert [(way.name, way.program) for way in ways_of(read)] == [("pypi", "uvx"), ("sse", "")]
    assert [one.name for one in ways_of(read)[0].variables + ways_of(read)[1].variables] == []
    assert unusable(read) == ["mcpb", "npm (streamable-http)"]


TENANT = Input("tenant", is_required=True)

REGION = Input("region", default="eu", is_required=True, choices=("eu", "us"))

ADDRESS = Input("url", value="https://{tenant}.{region}.example.com/{other}", is_required=True,
                variables={"tenant": TENANT, "region": REGION, "unused": Input("unused")})  # fmt: skip


def test_each_variable_of_a_fixed_value_is_an_input_once() -> None:
    """Ours: a value that is fixed is the document's."""
    optional = Input("tenant")

    asked = asked_of([optional, ADDRESS, Input("fixed", value="x"), Input("")])

    assert asked == [TENANT, REGION]
    assert missing([ADDRESS], {}) == [TENANT]
    assert missing([ADDRESS], {"tenant": "a"}) == []


def test_braces_are_replaced_by_variables_and_others_stay() -> None:
    """server.json: an identifier that is no variable remains unchanged."""
    assert filled(ADDRESS, {"tenant": "acme"}) == "https://acme.eu.example.com/{other}"


def test_a_value_with_a_missing_variable_is_left_out() -> None:
    """Ours: `Bearer ` alone would be wrong."""
    header = Input("Authorization", value="Bearer {token}", variables={"token": Input("token")})

    assert filled(header, {}) is None
    assert filled(header, {"token": "${TOKEN}"}) == "Bearer ${TOKEN}"
    with pytest.raises(InputError) as caught:
        filled(header._replace(is_required=True), {})
    assert str(caught.value) == "'token' is missing"


def test_a_default_is_used_only_for_a_required_value_and_choices_are_enforced() -> None:
    """Ours: what is left out has the server's own default."""
    assert filled(Input("level", default="info"), {}) is None
    assert filled(REGION, {}) == "eu"
    for given, problem in (({"region": "mars"}, "'region' is 'mars', not one of: eu, us"), ({}, "'tenant' is missing")):
        with pytest.raises(InputError) as caught:
            filled(REGION if given else TENANT, given)
        assert str(caught.value) == problem


@pytest.mark.parametrize("one", [Input("X", value="${HOME}"), Input("X", default="a${B}", is_required=True)])
def test_a_document_cannot_refer_to_the_environment(one: Input) -> None:
    """Ours: it would send the server what the user did not mean for it."""
    with pytest.raises(InputError) as caught:
        filled(one, {})

    assert caught.value.name == "X"
    assert filled(Input("X"), {"X": "${HOME}"}) == "${HOME}"


def test_pieces_of_a_document_cannot_form_a_reference() -> None:
    """Ours: `$` and `{HOME}` are harmless one by one. What the user gives may be one."""
    pieces = {"dollar": Input("dollar", value="$"), "name": Input("name", value="{HOME}"), "key": Input("key")}
    made = Input("url", value="https://x?{dollar}{name}", variables=pieces)

    with pytest.raises(InputError, match="'url' refers to a variable of the environment"):
        filled(made, {})
    assert filled(made._replace(value="https://x?{key}&{key}"), {"key": "${K}"}) == "https://x?${K}&${K}"


def test_a_secret_is_a_reference_to_a_variable_of_its_name() -> None:
    """Ours: the entry refers to the secret by a name that a shell can export."""
    cases = [("API_KEY", "API_KEY"), ("X-API-Key", "X_API_KEY"), ("apiKey", "API_KEY"), ("1st", "_1ST"), ("-", "_")]

    wrong = [(name, variable) for name, variable in cases if reference(name) != f"${{{variable}}}"]

    assert not wrong
