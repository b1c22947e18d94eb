"""What is shown of a configuration."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text import MASK
from gaia_mcp.text.redaction import (
    MAX_NAME_CHARS,
    looks_secret,
    looks_vague,
    masked,
    masked_arguments,
    masked_members,
    masked_url,
    masked_value,
)
from tests.protocol_support import check_each, steady


def test_a_variable_reference_is_not_masked() -> None:
    """Ours: it shows which variable is missing."""
    cases = ["${TOKEN}", "${TOKEN:-}", "Bearer ${TOKEN}", "basic ${_A1}", "ApiKey ${KEY}", "token=${T}", "${A}:${B}"]

    wrong = [(value, found) for value in cases if (found := masked(value)) != value]

    assert not wrong


def test_a_value_with_more_than_references_is_masked() -> None:
    """Ours: also the default of a reference, which may be the secret itself."""
    cases = ["x", "", "${TOKEN:-hunter2}", "${TOKEN}hunter2", "${TOKEN}\nhunter2", "hunter2 ${TOKEN}", "${}", "$TOKEN"]

    wrong = [(value, found) for value in cases if (found := masked(value)) != MASK]

    assert not wrong


def test_credentials_in_a_url_are_masked() -> None:
    """Ours: `list` hides secrets in a URL."""
    cases = [
        ("https://host/path", "https://host/path"),
        ("https://u:hunter2@host/", "https://****@host/"),
        ("https://hunter2@host/", "https://****@host/"),
        ("redis://:hunter2@host", "redis://****@host"),
        ("postgres://u:hun@ter2@host/db", "postgres://****@host/db"),
        ("postgres://u:hun/ter2@host/db", "postgres://****@host/db"),
        ("postgres://u:hun#ter?2@host/db", "postgres://****@host/db"),
        ("https://host/?key=hunter2", "https://host/?key=****"),
        ("https://host/?a=hunter2&b=hunter2#top", "https://host/?a=****&b=****#top"),
        ("https://host/?flag", "https://host/?flag"),
        ("https://host/?page=2", "https://host/?page=2"),
        ("https://host/?next=https://other/", "https://host/?next=https://other/"),
        ("https://host/?key=${KEY}", "https://host/?key=${KEY}"),
        ("https://host/ghp_hunter2hunter2/sse", "https://host/****/sse"),
        ("https://host:8080/@scope/package", "https://host:8080/@scope/package"),
        ("https://host:8080", "https://host:8080"),
    ]

    wrong = [(url, shown, found) for url, shown in cases if (found := masked_url(url)) != shown]

    assert not wrong


class TestArguments:
    """What `list` shows of a command."""

    def test_a_secret_is_not_shown(self) -> None:
        """Ours: never a secret in `list`."""
        cases = [
            ["--api-key", "hunter2"],
            ["--token=hunter2"],
            ["--token", "-hunter2"],
            ["-token", "hunter2"],
            ["--auth.token", "hunter2"],
            ["--db-pass", "hunter2"],
            ["--passphrase", "hunter2"],
            ["--cookie", "sid=hunter2"],
            ["--password", "12345"],
            ["--password=12345"],
            ["--api-key", "${KEY:-hunter2}"],
            ["--token=a=hunter2"],
            ["API_KEY=hunter2"],
            ["-e", "API_KEY=hunter2"],
            ["-eAPI_KEY=hunter2"],
            ["--env=API_KEY=hunter2"],
            ["--set=server.authToken=hunter2"],
            ["-Dapi.key=hunter2"],
            ["PASSWORD=correct hunter2 battery"],
            ["--header", "Authorization: Bearer hunter2"],
            ["--header", "Authorization:Bearer hunter2"],
            ["--header=X-Api-Key: hunter2"],
            ["-H", "Cookie: a=hunter2; b=hunter2"],
            ["--header", "Bearer hunter2"],
            ['"Authorization:', "Bearer", 'hunter2"'],
            ["Authorization:", "Bearer", "hunter2"],
            ["--password", '"correct', "hunter2", 'hunter2"'],
            ["--password='correct", "hunter2", "hunter2'"],
            ["'Authorization:", "Bearer", "hunter2", "hunter2'"],
            ["-H", '"X-Api-Key:', "hunter2", 'hunter2"'],
            ["Server=db;Password=hunter2 hunter2;Port=5"],
            ["host=db password=hunter2"],
            ['{"apiKey": "hunter2"}'],
            ['--config={"a": {"client_secret": "x\\"hunter2"}}'],
            ['{"tokens": ["a", "hunter2"]}'],
            ['{"auth": {"user": "jane", "pw": "hunter2"}}'],
            ["{'password': 'hunter2'}"],
            ["sk-proj-hunter2hunter2"],
            ["--config=sk-hunter2hunter2"],
            ["ghp_hunter2hunter2"],
            ["github_pat_hunter2hunter2"],
            ["glpat-hunter2hunter2"],
            ["xoxb-hunter2hunter2"],
            ["hf_hunter2hunter2"],
            ["AKIAHUNTER2HUNTER2"],
            ["eyJhbGciOi.hunter2.hunter2"],
            # The shortest of them.
            ["SG.Xhunter2"],
            ["eyJ1hunter2"],
            ["hunter2Hunter2X9"],
            ["postgres://u:hunter2@host/db"],
            ["--url=https://host/?key=hunter2"],
            ["https://host/#access_token=hunter2"],
            ["git+https://hunter2@host/x.git"],
        ]

        def check(arguments: list[str]) -> None:
            shown = masked_arguments(arguments)
            assert len(shown) == len(arguments)
            assert "hunter2" not in " ".join(shown).casefold()
            assert "12345" not in " ".join(shown)
            assert MASK in " ".join(shown)

        check_each(check, cases)

    def test_ordinary_arguments_are_unchanged(self) -> None:
        """Ours: the user wants to see what a command does."""
        cases = [
            [],
            ["-y", "@modelcontextprotocol/server-filesystem", "/home/jane", "."],
            ["--keyboard", "us", "--author", "jane", "--author=jane"],
            ["--max-tokens", "5", "--max_tokens=4096", "--token-ratio", "0.5"],
            ["--auth", "true", "--session=false"],
            ["--key-file", "/etc/key.pem", "--token-path=/x"],
            ["--no-auth", "server.py"],
            ["--token", "--verbose", "-x"],
            ["--token"],
            ["--api-key=", "API_KEY=''"],
            ["--api-key", "${KEY}", "--token=${TOKEN}", "API_KEY=${KEY}"],
            ["--header", "Authorization: Bearer ${TOKEN}"],
            ["-v", "/keys:/keys", "C:\\keys:\\keys"],
            ["npm-run-all2", "sketchybar-helper-mcp", "hf-mcp-server", "pkg-config-server", "pypi-mcp-server"],
            ["mcp/auth:latest", "ghcr.io/x/token-server:1.2"],
            ["ghcr.io/x/server@sha256:" + "0a" * 32],
            ["auth", "login", "token", "list", "basic", "bearer", "basic training"],
            ["https://host:8080/a?flag", "http://localhost"],
            ['{"max_tokens": 5, "path": "/x"}'],
            ["a=b", "=", "", "--", ":", "--x=y"],
        ]

        wrong = [(arguments, found) for arguments in cases if (found := masked_arguments(arguments)) != arguments]

        assert not wrong

    def test_only_the_secret_is_masked(self) -> None:
        """Ours: what stands around it helps to find it."""
        assert masked_arguments(["--token", "x", "path", "--token=x", "A_KEY='x y'"]) == [
            "--token",
            MASK,
            "path",
            f"--token={MASK}",
            f"A_KEY='{MASK}'",
        ]
        assert masked_arguments(["--header=Authorization: Bearer x", "Server=db;Password=x;Port=5"]) == [
            f"--header=Authorization: {MASK}",
            f"Server=db;Password={MASK};Port=5",
        ]

    def test_arguments_after_a_quoted_secret_are_shown(self) -> None:
        """Ours: a command line that was split at its spaces, quotes and all."""
        line = """srv --password "a b c" --path 'd e' "f" --token "g" h"""
        assert " ".join(masked_arguments(line.split(" "))) == (
            """srv --password **** **** **** --path 'd e' "f" --token "****" h"""
        )

    def test_masked_json_stays_valid(self) -> None:
        """Ours: a masked configuration can still be read."""
        given = {"apiKey": "x", "retries": 3, "nested": {"secret": "a b", "path": "/x"}, "max_tokens": 5}
        (shown,) = masked_arguments([json.dumps(given)])
        assert json.loads(shown) == {**given, "apiKey": MASK, "nested": {"secret": MASK, "path": "/x"}}

    @steady
    @given(st.lists(st.text(max_size=30), max_size=5))
    def test_any_arguments_can_be_masked(self, arguments: list[str]) -> None:
        """Ours: one argument stays one argument, and masking twice changes nothing more."""
        shown = masked_arguments(arguments)
        assert len(shown) == len(arguments)

    @steady
    @given(st.sampled_from(["--token", "--api-key", "--db.password"]), st.text("abcXYZ./+=-_", min_size=1))
    def test_the_value_of_a_secret_option_is_always_masked(self, flag: str, tail: str) -> None:
        """Ours: as its own argument or after `=`."""
        secret = f"hunter2{tail}"
        assert "hunter2" not in " ".join(masked_arguments([flag, secret, f"{flag}={secret}"]))


def test_a_value_is_masked_unless_it_is_ordinary() -> None:
    """Ours: by its name, its look and its length. A path, a word, a number and a plain URL help to find a mistake."""
    cases = [
        ("ROOT", "/dir", "/dir"),
        ("GRAFANA_URL", "http://host:3000", "http://host:3000"),
        ("GRAFANA_URL", "http://u:x@host:3000", "http://****@host:3000"),
        ("REGION", "eu-west-1", "eu-west-1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/jane/key.json", "/home/jane/key.json"),
        ("MAX_TOKENS", "4096", "4096"),
        ("DESKTOP_SESSION", "ubuntu", "ubuntu"),
        ("SESSION", "q7Lm2xPw", "****"),
        ("DB_PASSWORD", "4096", "****"),
        ("DB_PASSWORD", "word", "****"),
        ("ANYTHING", "q7Lm2xPw", "****"),
        ("ANYTHING", "Bearer q7Lm2xPw", "Bearer ****"),
        ("ANYTHING", "Basic amFuZTpodW50ZXIy", "Basic ****"),
        ("SETTINGS", '{"theme": "dark", "token": "q7Lm2xPw"}', '{"theme": "dark", "token": "****"}'),
        ("ANYTHING", "a q7Lm2xPw -----BEGIN PRIVATE KEY-----\nabc", "****"),
        ("ANYTHING", "see -----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----", "see ****"),
        ("EMPTY_TOKEN", " ", " "),
        ("API_TOKEN", "${TOKEN}", "${TOKEN}"),
    ]

    wrong = [
        (name, value, shown, found) for name, value, shown in cases if (found := masked_value(name, value)) != shown
    ]

    assert not wrong


def test_the_secrets_of_an_object_are_masked() -> None:
    """Ours: a member with the name of a secret completely, whatever is in it; the rest helps to find a mistake."""
    given = {
        "env": {"API_TOKEN": {"$keyring": "token"}, "REGION": "eu-west-1", "PORT": 3000},
        "credentials": {"user": "jane", "pins": [1234567890, True, None], "password": "x"},
        "headers": ["Bearer q7Lm2xPw", "plain"],
    }

    assert masked_members(given) == {
        "env": given["env"],
        "credentials": {"user": MASK, "pins": [MASK, True, None], "password": MASK},
        "headers": [f"Bearer {MASK}", "plain"],
    }


SECRET_NAMES = [
    "api_key",
    "API-KEY",
    "apiKey",
    "APIKEY",
    "OPENAI_API_KEY",
    "token",
    "GITHUB_TOKEN",
    "--access-token",
    "secret",
    "clientSecret",
    "password",
    "PGPASSWORD",
    "passwd",
    "pwd",
    "passphrase",
    "DB_PASS",
    "pass",
    "--pass",
    "GITHUB_PAT",
    "Authorization",
    "Proxy-Authorization",
    "authorisation",
    "auth.token",
    "credentials",
    "aws_creds",
    "Cookie",
    "session_id",
    "bearer",
    "jwt",
    "X-Api-Key",
    "private_key",
    "PIN",
    "keyboard_token",
    "author_token",
]

ORDINARY_NAMES = [
    "path",
    "UV_KEYRING_PROVIDER",
    "keyboard",
    "KEYBOARD_LAYOUT",
    "keyword",
    "--keywords",
    "author",
    "--authors",
    "GIT_AUTHOR_NAME",
    "authority",
    "monkey",
    "donkey",
    "tokenizer",
    "--tokenizer-path",
    "pass-through",
    "bypass",
    "compass",
    "passive",
    "patch",
    "dispatch",
    "compat",
    "--key-file",
    "token_path",
    "SECRET_DIR",
    "--auth-type",
    "TOKEN_URL",
    "--api-key-env",
    "--no-auth",
    "keymap",
    "keyspace",
    "PINNED",
    "limit",
    "user",
]


def test_the_name_of_a_secret_is_recognised() -> None:
    """Ours: no secret in `list`."""
    wrong = [name for name in SECRET_NAMES if not looks_secret(name)]

    assert not wrong


def test_an_ordinary_name_is_not_taken_for_a_secret() -> None:
    """Ours: a mask that is not needed hides what the user wants to see."""
    wrong = [name for name in ORDINARY_NAMES if looks_secret(name)]

    assert not wrong


def test_the_name_of_a_session_is_vague() -> None:
    """Ours: such as `DESKTOP_SESSION`, which is the name of a desktop."""
    assert [name for name in SECRET_NAMES if looks_vague(name)] == ["session_id"]


def test_a_name_that_is_too_long_is_not_a_secret() -> None:
    """Ours: the time for one argument is bounded."""
    assert not looks_secret("x" * MAX_NAME_CHARS + "token")
