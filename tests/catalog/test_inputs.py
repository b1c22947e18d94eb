"""The inputs of a document that the user gives, and how they are filled in."""

from __future__ import annotations

import pytest

from gaia_mcp.catalog.documents import Input
from gaia_mcp.catalog.inputs import InputError, asked_of, filled, missing, reference

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
