from __future__ import annotations

from pathlib import Path

import pytest

from gaia_mcp.client.transports.stdio.environment import child_environment, secrets_given
from gaia_mcp.config.command import Command
from gaia_mcp.server.http.app import TOKEN_VARIABLE
from gaia_mcp.server.http.sharing import STATE_KEYS_VARIABLE, STORE_VARIABLE

PASSED_ON = {
    # What every program needs.
    "HOME": "/h", "LANG": "C", "LOGNAME": "ada", "PATH": "/bin", "SHELL": "/bin/sh", "TERM": "xterm", "TMPDIR": "/t",
    "TZ": "UTC", "USER": "ada", "LC_ALL": "C", "LC_CTYPE": "C", "LC_TIME": "C",
    # Certificates.
    "SSL_CERT_FILE": "/c.pem", "SSL_CERT_DIR": "/c", "REQUESTS_CA_BUNDLE": "/c.pem", "CURL_CA_BUNDLE": "/c.pem",
    "NODE_EXTRA_CA_CERTS": "/c.pem", "AWS_CA_BUNDLE": "/c.pem", "GIT_SSL_CAINFO": "/c.pem",
    "NIX_SSL_CERT_FILE": "/c.pem", "NODE_USE_SYSTEM_CA": "1",
    # Proxies: without its password one is of no use, so that this is passed on.
    "HTTP_PROXY": "http://ada:hunter2@proxy:3128", "HTTPS_PROXY": "http://proxy:3128", "ALL_PROXY": "socks5://p:1",
    "NO_PROXY": "localhost,.corp", "http_proxy": "http://ada:hunter2@proxy:3128", "https_proxy": "http://proxy:3128",
    "all_proxy": "socks5://p:1", "no_proxy": "localhost", "NODE_USE_ENV_PROXY": "1",
    "PIP_PROXY": "http://ada:hunter2@proxy:3128", "NPM_CONFIG_HTTPS_PROXY": "http://ada:hunter2@proxy:3128",
    # Package managers.
    "UV_INDEX_URL": "https://index.corp/simple", "UV_DEFAULT_INDEX": "corp=https://index.corp/simple",
    "UV_NATIVE_TLS": "1", "UV_CACHE_DIR": "/c", "UV_KEYRING_PROVIDER": "subprocess", "PIP_CERT": "/c.pem",
    "PIP_INDEX_URL": "https://index.corp/simple", "PIP_EXTRA_INDEX_URL": "https://a/simple https://b/simple",
    "PIP_TRUSTED_HOST": "index.corp", "NPM_CONFIG_REGISTRY": "https://npm.corp/", "NPM_CONFIG_CAFILE": "/c.pem",
    "npm_config_registry": "https://npm.corp/", "npm_config_strict_ssl": "false", "NPM_CONFIG_PACKAGE_LOCK": "false",
    "NVM_DIR": "/n", "VOLTA_HOME": "/v", "PYENV_ROOT": "/p",
    # Windows and sockets.
    "XDG_RUNTIME_DIR": "/run/user/1", "XDG_CONFIG_HOME": "/c", "XDG_SESSION_TYPE": "wayland",
    "XDG_SESSION_DESKTOP": "gnome", "DISPLAY": ":0", "XAUTHORITY": "/x", "WAYLAND_DISPLAY": "wayland-0",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/bus", "SSH_AUTH_SOCK": "/run/ssh",
}  # fmt: skip
HELD_BACK = {
    # Secrets and everything else of a shell.
    "AWS_SECRET_ACCESS_KEY": "x", "GITHUB_TOKEN": "x", "OPENAI_API_KEY": "x", "DATABASE_URL": "postgres://h/db",
    "EDITOR": "vi", "PYTHONPATH": "/p", "NODE_OPTIONS": "--inspect", "VIRTUAL_ENV": "/v", "GAIA_HOME": "/g",
    # What looks like one, although its name begins so.
    "UV_PUBLISH_TOKEN": "pypi-x", "UV_PUBLISH_PASSWORD": "x", "UV_INDEX_CORP_PASSWORD": "x", "UV_GITHUB_TOKEN": "x",
    "UV_INDEX_URL": "https://ada:hunter2@index.corp/simple", "UV_DEFAULT_INDEX": "corp=https://glpat-abcdefgh1@i/simple",
    "PIP_INDEX_URL": "https://ada:hunter2@index.corp/simple",
    "PIP_EXTRA_INDEX_URL": "https://a/simple https://ada:hunter2@b/simple", "PIP_PASSWORD": "x",
    "NPM_CONFIG__AUTH": "YWRhOmh1bnRlcjI=", "NPM_CONFIG__AUTHTOKEN": "x", "npm_config__password": "x",
    "npm_config_//registry.example.org/:_authToken": "x", "NPM_CONFIG_KEY": "-----BEGIN PRIVATE KEY-----",
    "NPM_CONFIG_REGISTRY": "https://ada:hunter2@npm.corp/", "NVM_AUTH_HEADER": "Bearer x", "LC_TOKEN": "x",
    "XDG_ACTIVATION_TOKEN": "x",
    # Only looks like one that is listed.
    "MY_PATH": "/bin", "HTTP_PROXY_TOKEN": "x", "UV": "/bin/uv", "Http_Proxy": "http://proxy", "pip_cert": "/c.pem",
}  # fmt: skip


def test_a_server_inherits_the_variables_for_running_and_for_the_network() -> None:
    """Ours: behind a company's network nothing is fetched without certificates, proxies and package indexes."""
    assert child_environment({}, PASSED_ON, system="posix") == PASSED_ON


def test_a_server_inherits_no_other_variables_and_no_secrets() -> None:
    """Ours, as the specification's SDKs do: a token in the shell is not meant for every server."""
    assert child_environment({}, HELD_BACK, system="posix") == {}


def test_a_server_on_windows_inherits_the_variables_of_that_system() -> None:
    """Ours, as the specification's SDKs do."""
    needed = dict.fromkeys(
        (
            "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
            "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
            "SSL_CERT_FILE", "HTTPS_PROXY", "UV_CACHE_DIR",
        ), "x",
    )  # fmt: skip

    assert child_environment({}, {**needed, "GITHUB_TOKEN": "x", "SHELL": "x"}, system="nt") == needed


def test_the_variables_of_the_entry_take_precedence() -> None:
    """Ours: what the entry sets is meant for this server, whatever the shell has."""
    assert child_environment({"PATH": "/mine", "TOKEN": "t"}, {"PATH": "/bin"}) == {"PATH": "/mine", "TOKEN": "t"}


@pytest.mark.parametrize("inherits_all", [False, True])
def test_functions_exported_by_old_shells_are_not_inherited(inherits_all: bool) -> None:
    """Spec's SDKs: they are code, not values."""
    environ = {"HOME": "() { :; }; echo", "UV_X": "() { :; }", "USER": "ada"}

    assert child_environment({}, environ, inherits_all=inherits_all) == {"USER": "ada"}


def test_a_server_may_inherit_everything() -> None:
    """Ours, for `inherit`: what AMD's client does for every server."""
    everything = {**HELD_BACK, **PASSED_ON}

    assert child_environment({"HOME": "/mine"}, everything, inherits_all=True) == {**everything, "HOME": "/mine"}


def test_the_secrets_of_a_server_over_http_are_not_inherited() -> None:
    """Ours: with the token, the keys or the store's password it could act as any client. The entry may set them."""
    own = {"GAIA_MCP_TOKEN": "t", "GAIA_MCP_STATE_KEYS": "k", "GAIA_MCP_STORE": "redis://:p@h"}

    assert own.keys() == {TOKEN_VARIABLE, STATE_KEYS_VARIABLE, STORE_VARIABLE}
    assert child_environment({}, {**own, "USER": "ada"}, inherits_all=True) == {"USER": "ada"}
    assert child_environment({"GAIA_MCP_TOKEN": "mine"}, own, inherits_all=True) == {"GAIA_MCP_TOKEN": "mine"}


def test_a_secret_expanded_in_a_command_line_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is expanded when the server is started, and must not be repeated either."""
    monkeypatch.setenv("MINE", "hunter-2-hunter")

    assert "hunter-2-hunter" in secrets_given("server --token $MINE", [], {})
    target = Command("server --token ${MINE}").resolved("s", {"MINE": "hunter$2$hunter"})
    assert "hunter$2$hunter" in secrets_given(target.command, target.args, {})


def test_the_password_of_an_inherited_proxy_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is passed on, and shown in no error and no log."""
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:hun%2Fter2@proxy:3128")
    monkeypatch.setenv("ALL_PROXY", "bob:swordfish@proxy:3128")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_of_the_shell")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/ssh-agent")
    monkeypatch.setenv("OLDPWD", str(Path.cwd()))

    secrets = secrets_given("server", ["--token", "abcdef"], {"A_TOKEN": "configured"})

    assert {"configured", "abcdef", "ada:hun%2Fter2", "hun%2Fter2", "hun/ter2", "swordfish"} <= set(secrets)
    assert not {"ghp_of_the_shell", "/run/ssh-agent"} & set(secrets)
    everything = secrets_given("server --token abcdef", None, {}, inherits_all=True)
    assert {"abcdef", "ghp_of_the_shell", "swordfish"} <= set(everything)
    assert not {"/run/ssh-agent", str(Path.cwd())} & set(everything)
