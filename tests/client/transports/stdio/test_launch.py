from __future__ import annotations

from pathlib import Path

import pytest

from gaia_mcp.client.transports.stdio.launch import (
    child_environment,
    command_for_system,
    command_words,
    find_program,
    references,
    secrets_given,
    split_command_line,
)
from gaia_mcp.config.command import Command
from gaia_mcp.core.errors import EntryError, SpawnError
from gaia_mcp.server.http.app import TOKEN_VARIABLE
from gaia_mcp.server.http.sharing import STATE_KEYS_VARIABLE, STORE_VARIABLE


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


SPLIT = {
    "npx -y @scope/server /tmp": ["npx", "-y", "@scope/server", "/tmp"],
    "  python   -m  server ": ["python", "-m", "server"],
    'python "my server.py" \'a b\' c\\ d ""': ["python", "my server.py", "a b", "c d", ""],
    "server --url=http://h/?a=1&b=2 --expr=x;y": ["server", "--url=http://h/?a=1&b=2", "--expr=x;y"],
    "server --filter=a|b 'x > y'": ["server", "--filter=a|b", "x > y"],
}


def test_a_command_line_is_split_as_a_shell_would() -> None:
    """Ours, for GAIA's from_command: words and quotes, nothing more."""
    assert {line: split_command_line("s", line, {}) for line in SPLIT} == SPLIT


SHELL_SYNTAX = [
    "server | tee log", "server || true", "server & other", "server && other", "server ; other", "server; other",
    "server > log", "server >> log", "server < in", "server << end", "server 2> log", "server 2>&1",
    "server 2>/dev/null", "server $(date)", "server --at=$(date)", "server `date`",
]  # fmt: skip


def refusal_of(line: str) -> tuple[str, str] | Exception | None:
    """The server and the case of the error that a command line raises."""
    try:
        split_command_line("s", line, {})
    except EntryError as error:
        return error.server, error.case
    except Exception as error:
        return error
    return None


def test_shell_syntax_is_refused() -> None:
    """Ours: without a shell it would be passed on as arguments and not do what it seems to."""
    found = {line: refusal_of(line) for line in SHELL_SYNTAX}

    assert found == dict.fromkeys(SHELL_SYNTAX, ("s", "shell-syntax"))


def test_an_empty_or_unterminated_command_line_is_refused() -> None:
    """Ours: the entry has to be corrected, so that its server and what is wrong are named."""
    lines = ["", "   ", "server 'open", 'server "open', "server \\"]

    assert {line: refusal_of(line) for line in lines} == dict.fromkeys(lines, ("s", ""))


EXPANDED = {
    "python ~/s.py": ["python", "/home/jane/s.py"],
    "~/run --in $HOME/in": ["/home/jane/run", "--in", "/home/jane/in"],
    'run "$DIR/a b" ${DIR}/c': ["run", "/d d/a b", "/d d/c"],
    "run '$DIR' \\$DIR \"\\$DIR\" '~' \\~": ["run", "$DIR", "$DIR", "$DIR", "~", "~"],
    'run "it\'s $DIR"': ["run", "it's /d d"],
    "run $NONE ${NONE} ${NONE:-x} $1 $ a~b": ["run", "$NONE", "${NONE}", "${NONE:-x}", "$1", "$", "a~b"],
    "run ~no-such-user/x": ["run", "~no-such-user/x"],
}


def test_the_home_folder_and_variables_are_expanded_in_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA, from 0.18 on: the home and variables are expanded as by a shell. The value of a variable is not split, and
    what is quoted against a shell stays.
    """
    monkeypatch.setenv("HOME", "/home/jane")
    environ = {"HOME": "/home/jane", "DIR": "/d d"}

    assert {line: split_command_line("s", line, environ) for line in EXPANDED} == EXPANDED


EXPANDED_ONCE = {
    "run ${VALUE}": ["run", "a$HOME", "${HOME}"],
    "run '${VALUE}' \"${VALUE}\"": ["run", "a$HOME ${HOME}", "a$HOME ${HOME}"],
    "run ${NONE:-$HOME}": ["run", "/home/jane"],
    "${DIR}/my program": ["/d$HOME/my", "program"],
}


def test_the_value_of_a_variable_is_not_expanded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a password with a $ in it reaches the server as it is, whether the entry has args or not."""
    monkeypatch.setenv("HOME", "/home/jane")
    environ = {"VALUE": "a$HOME ${HOME}", "DIR": "/d$HOME"}

    def words_of(line: str) -> list[str]:
        target = Command(line).resolved("s", environ)
        command, args = command_words("s", target.command, target.args)
        return [command, *args]

    assert {line: words_of(line) for line in EXPANDED_ONCE} == EXPANDED_ONCE


def test_a_program_with_a_dollar_in_its_path_is_found(tmp_path: Path) -> None:
    """Ours: also where the path comes from a variable."""
    path = program(tmp_path / "$HOME" / "my program")
    target = Command("${PLACE}/my program", []).resolved("s", {"PLACE": str(path.parent)})

    assert command_words("s", target.command, target.args) == (str(path), [])


def test_a_command_line_may_be_saved_with_references_in_place_of_values() -> None:
    """Ours: a secret of the environment must not get into a file."""
    environ = references({"TOKEN": "secret"})

    assert split_command_line("s", "run $TOKEN ${TOKEN} $NONE", environ) == ["run", "${TOKEN}", "${TOKEN}", "$NONE"]


def test_an_empty_list_of_arguments_means_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA: `{"command": "python s.py", "args": []}` is a command line."""
    monkeypatch.setenv("DIR", "/d")

    assert command_words("s", "python $DIR/s.py", []) == ("python", ["/d/s.py"])
    assert command_words("s", "python $DIR/s.py", [], {}) == ("python", ["$DIR/s.py"])
    assert command_words("s", "my program", ["$DIR", "~"]) == ("my program", ["$DIR", "~"])


def test_a_bare_command_is_looked_up_on_the_servers_own_path(tmp_path: Path) -> None:
    """Ours: an entry may bring its own PATH."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "server", {"PATH": f"/nowhere:{tmp_path}/bin"}, None) == str(there)


def test_programs_on_windows_are_found_by_the_standard_library(tmp_path: Path) -> None:
    """Ours: there the standard library decides, which knows `PATHEXT` and the folders of the registry."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "server", {"PATH": str(there.parent)}, None, "nt") == str(there)
    assert find_program("s", "./bin/server", {}, str(tmp_path), "nt") == str(there)
    with pytest.raises(SpawnError):
        find_program("s", "server", {"PATH": "/nowhere"}, None, "nt")


def test_a_command_with_a_folder_is_found_from_the_working_folder(tmp_path: Path) -> None:
    """Ours: relative to the entry's cwd, where the server will run."""
    there = program(tmp_path / "bin" / "server")

    assert find_program("s", "./bin/server", {}, str(tmp_path)) == str(there)
    assert find_program("s", str(there), {}, "/") == str(there)


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no shell does it for us."""
    monkeypatch.setenv("HOME", str(tmp_path))
    there = program(tmp_path / "server")

    assert find_program("s", "~/server", {}, None) == str(there)


def test_symbolic_links_are_not_resolved(tmp_path: Path) -> None:
    """Ours: the interpreter of a virtual environment is a link, and knows its environment by where the link lies."""
    real = program(tmp_path / "real" / "python3")
    link = tmp_path / "venv" / "python"
    link.parent.mkdir()
    link.symlink_to(real)

    assert find_program("s", str(link), {}, None) == str(link)


def test_a_command_that_is_not_on_the_path_is_reported() -> None:
    """Ours: the commonest failure of all."""
    with pytest.raises(SpawnError) as caught:
        find_program("s", "npx", {"PATH": "/nowhere"}, None)

    assert (caught.value.server, caught.value.command, caught.value.reason) == ("s", "npx", "was not found on PATH")
    assert caught.value.case == "not-on-path"


NOT_RUN = {
    "./absent": "does not exist",
    "./folder/": "is a folder",
    "./plain": "is not executable",
    "~nobody-of-this-name/server": "does not exist",
}  # fmt: skip


def test_a_path_that_cannot_be_run_is_reported_with_the_reason(tmp_path: Path) -> None:
    """Ours: each reason has another remedy, and the message of the system does not name it."""
    (tmp_path / "folder").mkdir()
    program(tmp_path / "plain", 0o644)

    def reason_of(command: str) -> str | Exception:
        try:
            return find_program("s", command, {}, str(tmp_path))
        except SpawnError as error:
            return error.reason
        except Exception as error:
            return error

    assert {command: reason_of(command) for command in NOT_RUN} == NOT_RUN


@pytest.mark.parametrize("cwd", [None, "."])
def test_a_relative_path_is_not_looked_up_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    """Ours: "./git" is not the git on PATH."""
    program(tmp_path / "here" / "git")
    program(tmp_path / "bin" / "git")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert find_program("s", "./git", {}, cwd) == str(tmp_path / "here" / "git")


def test_arguments_are_passed_unchanged() -> None:
    """Ours: no shell between us and a server."""
    arguments = ["a b", '"', "%PATH%", "$HOME", ""]

    assert command_for_system("/bin/server", arguments, "posix") == ["/bin/server", *arguments]
    assert command_for_system("C:\\x\\server.exe", arguments, "nt") == ["C:\\x\\server.exe", *arguments]
    assert command_for_system("/bin/server.cmd", arguments, "posix") == ["/bin/server.cmd", *arguments]


QUOTED = {
    "plain": '^"plain^"',
    "a b": '^"a b^"',
    "": '^"^"',
    "%PATH%": '^"^%PATH^%^"',
    "a&b|c<d>e^f": '^"a^&b^|c^<d^>e^^f^"',
    "(x)!": '^"^(x^)^!^"',
    'say "hi"': '^"say \\^"hi\\^"^"',
    'a\\"b': '^"a\\\\\\^"b^"',
    "C:\\dir\\": '^"C:\\dir\\\\^"',
}


def test_arguments_of_a_batch_file_are_escaped() -> None:
    """Ours: cmd.exe reads its own syntax inside arguments, so each special character is escaped for it."""
    lines = {argument: command_for_system("C:\\n\\npx.CMD", [argument], "nt") for argument in QUOTED}

    assert lines == {argument: f'cmd.exe /d /s /c "^"C:\\n\\npx.CMD^" {quoted}"' for argument, quoted in QUOTED.items()}


def test_a_path_with_a_space_is_a_program(tmp_path: Path) -> None:
    """Ours: not a command line."""
    program = tmp_path / "my server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert command_words("s", str(program), None) == (str(program), [])
    assert command_words("s", str(program), ["a b"]) == (str(program), ["a b"])
    assert command_words("s", "prog 'a b' c", None) == ("prog", ["a b", "c"])


@pytest.mark.parametrize("line", ["uvx 'srv --token sk-AAAABBBB1111", "uvx --token sk-AAAABBBB1111;"])
def test_secrets_in_an_invalid_command_line_are_masked(line: str) -> None:
    """Ours: errors end in the logs of builds."""
    with pytest.raises(EntryError) as caught:
        split_command_line("s", line, {})

    assert "****" in caught.value.message
    assert "AAAABBBB" not in str(caught.value)


def test_an_expanded_value_in_an_invalid_command_line_is_shown_unchanged() -> None:
    """Ours: nothing of how it is kept from being expanded again is in an error."""
    target = Command("run ${VALUE}").resolved("s", {"VALUE": "a$b;"})

    with pytest.raises(EntryError) as caught:
        command_words("s", target.command, target.args)
    assert "('a$b;')" in caught.value.message


def test_the_value_of_a_variable_assignment_is_masked(tmp_path: Path) -> None:
    """Ours: shells take it so, and nothing else does."""
    with pytest.raises(SpawnError) as caught:
        find_program("s", "TOKEN=sk-AAAABBBB1111", {"PATH": str(tmp_path)}, None)

    assert "'TOKEN=****' was not found on PATH" in caught.value.message


@pytest.mark.parametrize("line", ["no\0de x", "no\ud800de"])
def test_a_command_line_with_null_or_surrogates_is_refused(line: str) -> None:
    """Ours: a program may make one, although no person can type it."""
    with pytest.raises(EntryError, match="cannot be run"):
        command_words("s", line, None)


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
