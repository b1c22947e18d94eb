"""The format of a registry's documents."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.catalog import DocumentError, Input, read_document
from tests.registry_support import OFFICIAL, document, package

REMOTE = {"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "variables": {"tenant": {}}}


def test_a_document_has_packages_and_remotes() -> None:
    """Schema of 2025-12-11."""
    argument = {"type": "named", "name": "--port", "description": "Port", "default": "80", "choices": ["80", "81"]}
    positional = {"type": "positional", "valueHint": "folder", "isRequired": True, "placeholder": "/data"}
    key = {"name": "API_KEY", "isRequired": True, "isSecret": True}
    read = read_document(
        document(
            "io.github.a/b",
            title="B",
            packages=[package("npm", "b", packageArguments=[argument, positional], environmentVariables=[key])],
            remotes=[{**REMOTE, "headers": [{"name": "X-Key", "value": "{key}", "variables": {"key": {}}}]}],
        )
    )

    assert (read.name, read.version, read.title, read.status) == ("io.github.a/b", "1.0.0", "B", "active")
    (one,) = read.packages
    assert (one.kind, one.identifier, one.version, one.transport) == ("npm", "b", "1.0.0", "stdio")
    assert [(each.option, each.input.name) for each in one.arguments] == [("--port", "port"), ("", "folder")]
    assert one.arguments[0].input.choices == ("80", "81")
    assert one.variables[0].is_secret
    (remote,) = read.remotes
    assert (remote.transport, remote.url.value, list(remote.url.variables)) == ("http", REMOTE["url"], ["tenant"])
    assert remote.headers[0].variables["key"].name == "key"


def test_the_status_of_a_version_is_read_from_the_registry_metadata() -> None:
    """Ours: a deprecated server is one that its author advises against."""
    meta = {OFFICIAL: {"status": "deprecated", "statusMessage": "use c"}}

    read = read_document(document("a.b/c", remotes=[{"type": "sse", "url": "https://x"}]), meta)

    assert (read.status, read.status_message, read.remotes[0].transport) == ("deprecated", "use c", "sse")
    assert read_document(document("a.b/c", status="deleted"), {OFFICIAL: 7}).status == "deleted"


def test_braces_in_a_value_are_a_variable_even_if_undeclared() -> None:
    """Ours: as hundreds publish it. A header without its part is of no use, an argument is left out."""
    choices = {"default": "INFO", "choices": ["INFO", "DEBUG"]}
    held = package(
        "npm",
        "b",
        packageArguments=[
            {"type": "named", "name": "--level", "value": "{log_level}", **choices},
            {"type": "positional", "value": '{"a": {1}} ${HOME}'},
        ],
    )
    header = {"name": "Authorization", "value": "Bearer {api_key} {b}", "description": "Key", "variables": {"b": {}}}
    remote = {"type": "sse", "url": "https://{host}/mcp", "headers": [header]}
    read = read_document(document("a.b/c", packages=[held], remotes=[remote]))

    level, fixed = (one.input.variables for one in read.packages[0].arguments)
    assert level == {"log_level": Input("log_level", default="INFO", choices=("INFO", "DEBUG"))}
    assert fixed == {}
    (authorization,) = read.remotes[0].headers
    key = Input("api_key", description="Key", is_required=True, is_secret=True)
    assert authorization.variables == {"api_key": key, "b": Input("b")}
    assert read.remotes[0].url.variables == {"host": Input("host", is_required=True)}


def test_a_variable_with_an_empty_name_is_ignored() -> None:
    """Ours: some publish one for an empty list."""
    read = read_document(document("a.b/c", packages=[package("npm", "b", environmentVariables=[{"name": ""}])]))

    assert read.packages[0].variables == ()


@pytest.mark.parametrize(
    ("held", "option", "name"),
    [
        ({"value": "mcp"}, "", ""),
        ({"type": "", "name": "-x"}, "-x", "x"),
        ({"type": "positional", "name": "dir"}, "", "dir"),
    ],
)
def test_almost_valid_arguments_are_read(held: Any, option: str, name: str) -> None:
    """Ours: as they are published."""
    read = read_document(document("a.b/c", packages=[package("npm", "b", packageArguments=[held])]))

    (argument,) = read.packages[0].arguments
    assert (argument.option, argument.input.name) == (option, name)


def test_an_invalid_document_is_an_error_with_its_place() -> None:
    """Ours: its author can correct it."""
    cases = [
        ([], "the document is not an object"),
        ({"version": "1"}, "name is missing"),
        (document("a name with spaces"), "name is 'a name with spaces', not one such as 'io.github.owner/server'"),
        (document("a/b/c"), "name is 'a/b/c', not one such as 'io.github.owner/server'"),
        (document("a.b/" + "c" * 197), f"name is 'a.b/{'c' * 196}', not one such as 'io.github.owner/server'"),
        (document("a.b/c", version=7), "version is not a string, or empty"),
        (document("a.b/c", version="latest"), "version is 'latest', not one version such as '1.0.2'"),
        (document("a.b/c", version="^1.2"), "version is '^1.2', not one version such as '1.0.2'"),
        (document("a.b/c", version_detail={}), "the document has a schema before 2025-09-29"),
        (document("a.b/c", packages={}), "packages is not a list"),
        (document("a.b/c", packages=[{}]), "packages[0].registryType is missing"),
        (document("a.b/c", packages=[package("npm", "")]), "packages[0].identifier is not a string, or empty"),
        (document("a.b/c", packages=[package("npm", "b", transport=7)]), "packages[0].transport is not an object"),
        (
            document("a.b/c", packages=[package("npm", "b", packageArguments=[{"type": "odd"}])]),
            "packages[0].packageArguments[0].type is 'odd', not positional or named",
        ),
        (
            document("a.b/c", packages=[package("npm", "b", packageArguments=[{"type": "positional"}])]),
            "packages[0].packageArguments[0] has neither value nor valueHint",
        ),
        (
            document("a.b/c", packages=[package("npm", "b", environmentVariables=[{"name": "A", "choices": [1]}])]),
            "packages[0].environmentVariables[0].choices[0] is not a string",
        ),
        (
            document("a.b/c", remotes=[{"type": "ws", "url": "x"}]),
            "remotes[0].type is 'ws', not streamable-http or sse",
        ),
        (document("a.b/c", remotes=[{**REMOTE, "variables": {"a": 1}}]), "remotes[0].variables.a is not an object"),
    ]

    def error_of(held: Any) -> str | None:
        try:
            read_document(held)
        except DocumentError as error:
            return str(error)
        return None

    wrong = [(held, found) for held, problem in cases if (found := error_of(held)) != problem]

    assert not wrong
