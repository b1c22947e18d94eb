"""What a server was given, and must not be seen to repeat."""

from __future__ import annotations

import json

from gaia_mcp.redaction.given import credentials_in, secrets_in


def test_values_of_variables_are_secrets_unless_ordinary() -> None:
    """Ours: a variable of an unknown name may hold a secret; a word, a path and a number are none."""
    assert secrets_in({"A": "q7Lm2x", "B_TOKEN": "word"}, []) == ["q7Lm2x", "word"]
    ordinary = {
        "A": "one",
        "ROOT": "/dir/sub",
        "N": "20241231",
        "URL": "http://host:3000/a",
        "M": "gpt-4o",
        "E": "",
    }
    assert secrets_in(ordinary, []) == []


def test_the_credentials_after_an_authentication_scheme_are_a_secret() -> None:
    """Ours: the server may print it without the word before."""
    assert secrets_in({"HDR": "Bearer hunter22"}, []) == ["hunter22"]


def test_secrets_in_arguments_are_found() -> None:
    """Ours: one rule for what a secret looks like."""
    arguments = ["run", "--api-key", "hunter22", "--token=swordfish", "https://ada:pass@host/", "--port", "80"]

    assert secrets_in({}, arguments) == ["hunter22", "swordfish", "ada:pass", "pass"]


def test_the_credentials_of_a_url_are_found_in_every_form() -> None:
    """Ours: together, the password alone, and as it was before it was put into a URL."""
    urls = "https://ada:hun%2Fter2@proxy:3128 http://sesame@index http://plain/a@b"

    assert credentials_in(urls) == ["ada:hun%2Fter2", "sesame", "hun%2Fter2", "hun/ter2"]
    assert credentials_in("http://ada:swordfish@proxy") == ["ada:swordfish", "swordfish"]


def test_every_secret_in_one_argument_is_found() -> None:
    """Ours: none hides another."""
    found = secrets_in(
        {}, ["Server=db;Password=PWaaaa1111;ApiKey=KEYbbbb2222", "https://u:PASS1234@h/x?token=TOKEN9876"]
    )

    assert found == ["PWaaaa1111", "KEYbbbb2222", "u:PASS1234", "TOKEN9876", "PASS1234"]
    assert "PW1234" in secrets_in({}, ["Password=PW1234;ApiKey=KEY5678"])


def test_a_secret_within_a_secret_is_found() -> None:
    """Ours: the password of Basic authentication, a member of a document, a value without its escapes."""
    basic = "amFuZTpCc2M0NDE3bW5idg=="
    assert {f"Basic {basic}", basic, "Bsc4417mnbv"} <= {*secrets_in({"AUTHORIZATION": f"Basic {basic}"}, [])}
    document = json.dumps({"user": "jane", "password": 'pa"ss word1', "retries": 3})
    assert secrets_in({"CONFIG": document}, []) == ['pa\\"ss word1', 'pa"ss word1']
    assert "hunter22" in secrets_in({"COOKIE": "theme=dark; sid=hunter22"}, [])
    assert "deep1234" in secrets_in({"CREDENTIALS": '{"a": [{"b": "deep1234"}]}'}, [])
    assert secrets_in({"TOKENS": "[" * 5000}, []) == ["[" * 5000]
    assert "hunter2/2" in secrets_in({"API_KEY": "hunter2%2F2"}, [])


def test_text_beside_a_secret_is_not_a_secret() -> None:
    """Ours: the user and the host of a URL help to find what is wrong."""
    found = secrets_in({"DATABASE": "postgres://app:Pw%40rd77@db.example:5432/main"}, ["--auth", "Bearer ${TOKEN}"])

    assert found == ["app:Pw%40rd77", "app:Pw@rd77", "Pw%40rd77", "Pw@rd77"]
    assert secrets_in({"LOGIN": "machine h.example login jane password Ntr77tt88"}, []) == ["Ntr77tt88"]


def test_members_of_a_json_variable_are_secrets_by_their_names() -> None:
    """Ours: what a handler is given, and what others pass so; not what is ordinary in it."""
    document = {"name": "cost", "settings": {"key": "word", "x": "q7Lm2x!z", "pin": 123456, "auth": {"user": "ada"}}}

    found = secrets_in({"A": json.dumps(document)}, [])
    assert {"word", "q7Lm2x!z", "123456", "ada"} <= set(found)
    assert "cost" not in found
    assert secrets_in({"A": '{"name": "cost", "n": [5, true, "two words"]}'}, []) == []
    assert secrets_in({"A": '{"a": ' * 100_000}, []) == []
