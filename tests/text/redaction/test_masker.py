"""Secrets that are known, in text that is not."""

from __future__ import annotations

import base64
import html
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from hypothesis import example, given
from hypothesis import strategies as st

from gaia_mcp.text import MASK
from gaia_mcp.text.redaction.masker import (
    LINE_BYTES,
    MAX_CHARS,
    MAX_DEPTH,
    MIN_CHARS,
    MaskedLines,
    Masker,
    credentials_in,
    forms_of,
    longest,
    secrets_in,
)
from tests.protocol_support import check_each, steady

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "hunter22-hunter22"


def test_a_secret_is_masked_anywhere_in_a_value() -> None:
    """Ours: never a secret in an error or a log."""
    value = {"why": [f"no such token: {TOKEN}", 1, None, True], TOKEN: {"deep": TOKEN}, "other": 1.5}

    assert Masker([TOKEN]).value(value) == {
        "why": ["no such token: ****", 1, None, True], "****": {"deep": "****"}, "other": 1.5,
    }  # fmt: skip
    assert Masker([TOKEN]).value(TOKEN) == "****"


def test_a_value_without_secrets_is_unchanged() -> None:
    """Ours: most servers have no secrets, and their results are not copied."""
    value = {"a": [TOKEN]}

    assert Masker().value(value) is value


def test_a_value_nested_too_deeply_is_masked_as_a_whole() -> None:
    """Ours: a server's data must not end in an error of ours."""
    value: Any = TOKEN
    for _ in range(50_000):
        value = [value]

    masked = Masker([TOKEN]).value(value)

    for _ in range(MAX_DEPTH):
        (masked,) = masked
    assert masked == "****"


def test_a_truncated_secret_is_masked() -> None:
    """Ours: of a long line only the beginning is kept, and a secret may lie across its end."""
    cases = [
        (f"token {TOKEN} refused", "token **** refused"),
        ("token hunter22-hun", "token ****"),
        ("token hunt", "token ****"),
        # Too little to tell anything.
        ("token hun", "token hun"),
        ("hunt for a token", "hunt for a token"),
        ("", ""),
    ]

    wrong = [
        (excerpt, masked, found)
        for excerpt, masked in cases
        if (found := Masker(["unrelated", TOKEN]).excerpt(excerpt)) != masked
    ]

    assert not wrong


def test_the_secret_with_the_longer_truncated_part_is_masked() -> None:
    """Ours: otherwise the rest of the longer part would stay readable."""
    assert Masker(["1234-5678", "abcd1234-5678"]).excerpt("is abcd1234") == "is ****"
    assert Masker().excerpt("nothing given") == "nothing given"


class TestText:
    """Secrets that are known, in text that is not."""

    def test_known_secrets_are_masked_anywhere_in_a_text(self) -> None:
        """Ours: a server that prints its own token."""
        assert Masker(["hunter2"]).text("a hunter2 b hunter2c") == f"a {MASK} b {MASK}c"

    def test_the_longest_secret_is_masked_first(self) -> None:
        """Ours: half a secret must not be left over."""
        assert Masker(["hunter2", "hunter2hunter2"]).text("hunter2hunter2") == MASK

    def test_very_short_values_are_not_masked(self) -> None:
        """Ours: `1` is the value of many variables."""
        assert Masker(["12345", "1", ""]).text("12345 1") == "12345 1"
        assert Masker(["123456"]).text("123456") == MASK


class TestLines:
    """Bytes that come in pieces, without secrets."""

    def test_a_secret_across_chunks_is_masked(self) -> None:
        """Ours: a server may write letter by letter; and a key of several lines is logged line by line."""

        def check(size: int) -> None:
            data = "key hunter2222!\ngrüß\nof two: first-line\nof two: second-line\nlast hunter2222".encode() + b"\xff"
            lines = MaskedLines(lambda: Masker(["hunter2222", "first-line\nsecond-line\nx"]))

            found = [lines.feed(data[at : at + size]) for at in range(0, len(data), size)]

            assert all(one.endswith(b"\n") for one in found if one)
            assert b"".join(found).decode() == "key ****!\ngrüß\nof two: ****\nof two: ****\n"
            assert lines.rest() == b"last ****\xff"
            assert lines.rest() == b""

        check_each(check, [1, 2, 7, 1000])

    def test_an_endless_line_is_returned_in_chunks_that_cut_neither_characters_nor_secrets(self) -> None:
        """Ours: neither kept in memory for ever, nor spoilt."""

        def check(shift: int, secrets: list[str]) -> None:
            text = "x" * shift + "grüß🙂" * LINE_BYTES + "hunter2222" * 10 + "y" * LINE_BYTES
            data = text.encode()
            lines = MaskedLines(lambda: Masker(secrets))

            found = [lines.feed(data[at : at + 999]) for at in range(0, len(data), 999)]
            found.append(lines.rest())

            assert "".join(one.decode() for one in found) == (text.replace("hunter2222", MASK) if secrets else text)
            assert max(map(len, found)) < 2 * LINE_BYTES

        check_each(check, range(5), [[], ["hunter2222"]])

    def test_bytes_that_are_not_text_are_returned_unchanged(self) -> None:
        """Ours: there is no beginning of a letter to be found in it."""
        lines = MaskedLines(Masker)
        data = b"\x80" * (LINE_BYTES + 1)

        assert lines.feed(data) + lines.rest() == data


def test_the_name_of_the_server_is_not_masked() -> None:
    """Ours: an error names it."""
    assert Masker(["grafana", TOKEN], spared="Grafana").text(f"grafana has {TOKEN}") == f"grafana has {MASK}"


def test_overlapping_secrets_are_masked_together() -> None:
    """Ours: nor is anything left of one whose end another begins with."""
    assert Masker(["abcdef1", "def1ghi"]).text("xabcdef1ghiy") == f"x{MASK}y"


def test_a_number_may_be_a_secret() -> None:
    """Ours: a PIN stands in JSON without quotation marks."""
    assert Masker(["271828"]).value({"pin": 271828, "n": 27182, "is": True}) == {"pin": MASK, "n": 27182, "is": True}


def test_the_names_in_a_definition_are_not_masked() -> None:
    """Ours: a tool can be called, whatever secret its name is."""
    tool = {
        "name": TOKEN,
        "description": f"uses {TOKEN}",
        "inputSchema": {"properties": {"name": {"enum": [TOKEN], "default": TOKEN}, TOKEN: {}}},
    }

    assert Masker([TOKEN]).definition(tool) == {
        "name": TOKEN,
        "description": f"uses {MASK}",
        "inputSchema": {"properties": {"name": {"enum": [TOKEN], "default": MASK}, TOKEN: {}}},
    }
    other = {"name": "x"}
    assert Masker([TOKEN]).definition(other) is other


def test_more_than_half_of_a_secret_is_masked() -> None:
    """Ours: many a logger cuts its lines."""
    cases = [
        ("begins with q7Lm2xPw9R…", f"begins with {MASK}…"),
        ("begins with q7Lm2xPw9R", f"begins with {MASK}"),
        # As one shortens a key to tell which it is; and the beginning of another word.
        ("is q7Lm2...", "is q7Lm2..."),
        ("is q7Lm2xPw9Rother", "is q7Lm2xPw9Rother"),
    ]

    wrong = [(text, shown, found) for text, shown in cases if (found := Masker(["q7Lm2xPw9Rt4Zk"]).text(text)) != shown]

    assert not wrong


def test_ordinary_lines_of_a_document_are_not_masked() -> None:
    """Ours: its secret parts are secrets by themselves."""
    document = '{\n  "type": "service_account",\n  "private_key": "q7Lm2xPw9Rt4"\n}'

    assert Masker([document]).text('"type": "service_account",') == '"type": "service_account",'
    assert Masker([document]).text(f"is {document}") == f"is {MASK}"


# Text as passwords and keys have it; the spaces at its ends are not a part of a secret.
SECRETS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=MIN_CHARS, max_size=40).filter(
    lambda text: len(text.strip()) >= MIN_CHARS and text == text.strip() and MASK not in text
)

ESCAPED: list[Callable[[str], str]] = [
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text))[3:-3],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(json.dumps(text, ensure_ascii=False))[3:-3],
    lambda text: repr(text)[1:-1],
    lambda text: ascii(text)[1:-1],
    lambda text: repr(text.encode())[2:-1],
    lambda text: json.dumps(repr(text)[1:-1])[1:-1],
    html.escape,
    lambda text: html.escape(json.dumps(text))[6:-6],
    lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    lambda text: quote(text, safe=""),
    lambda text: quote(text),
    quote_plus,
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: quote(text, safe="").lower() if text.islower() else quote(text),
]


@steady
@given(SECRETS)
@example("hunter\t22")
def test_a_secret_is_found_however_it_is_escaped(secret: str) -> None:
    """Ours: a server may write it in any of these ways."""
    masker = Masker([secret])
    texts = [f"a {escaped(secret)} b" for escaped in ESCAPED]

    assert {text: masker.text(text) for text in texts} == dict.fromkeys(texts, f"a {MASK} b")


@steady
@given(SECRETS, st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([b"+/", b"-_"]))
def test_a_secret_is_found_in_base64_among_any_bytes(secret: str, before: bytes, after: bytes, signs: bytes) -> None:
    """RFC 4648, both alphabets: what stands before it shifts it."""
    data = secret.encode()
    text = base64.b64encode(before + data + after, signs).decode()

    shown = Masker([secret]).text(text)

    # Of the secret's own characters none is left, and of the others at most one at each edge is gone too.
    assert MASK in shown
    assert len(shown) - len(MASK) <= (len(before) + len(after)) * 8 / 6 + 6


def test_the_lines_of_a_secret_are_found_joined_in_any_way() -> None:
    """Ours: a private key in a log is often one line."""
    key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIH\npQ7zL1vXc9Tn5Yr3Hs8Wd2\nQ==\n-----END PRIVATE KEY-----"

    for joint in ("\n", "\r\n", "\n  ", "", " ", "\\n", "\\\\n", "\\r\\n", "%0A", "&#10;"):
        assert Masker([key]).text(f"a {key.replace(chr(10), joint)} b") == f"a {MASK} b", joint


def test_a_long_secret_is_searched_unencoded() -> None:
    """Ours: an expression for all of its forms would take seconds to compile."""
    secret = "q7Lm2xPw" * MAX_CHARS

    assert Masker([secret]).text(f"a {secret} b") == f"a {MASK} b"
    assert len(list(forms_of(secret))) == 1


@steady
@given(SECRETS)
def test_no_form_exceeds_the_reported_length(secret: str) -> None:
    """Ours: what may be the beginning of one waits for its rest."""
    assert all(len(escaped(secret).encode()) <= longest(secret) for escaped in ESCAPED)


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
    assert "swordfish" in secrets_in({"API_KEY": "see https://ada:swordfish@host/"}, [])
    # Not endlessly.
    assert secrets_in({"API_KEY": "hunter2%25252525252F2"}, [])[-1] == "hunter2%252F2"


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
