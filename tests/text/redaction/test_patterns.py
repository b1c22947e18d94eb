"""What names tell."""

from __future__ import annotations

from gaia_mcp.text.redaction.patterns import MAX_NAME_CHARS, looks_secret, looks_vague

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
