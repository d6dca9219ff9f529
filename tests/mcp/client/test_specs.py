"""Servers of a project by configuration file, and servers that wait for trust."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.state import trust_file
from tideate_core.config import OWN_SERVERS, McpConfig, load_config
from tideate_core.errors import ConfigError
from tideate_core.mcp.client import MCPClient, servers_of

if TYPE_CHECKING:
    from pathlib import Path

FILES = '[mcp.servers.files]\ncommand = ["npx", "files", "."]\nenvironment = { A = "1" }\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "tideate").mkdir(parents=True)
    (tmp_path / "project" / ".tideate").mkdir(parents=True)
    return tmp_path / "project"


def of_person(root: Path, text: str) -> None:
    (root.parent / "config" / "tideate" / "config.toml").write_text(text)


def of_project(root: Path, text: str) -> Path:
    path = root / ".tideate" / "config.toml"
    path.write_text(text)
    return path


def test_a_project_has_our_own_servers_without_any_configuration(root: Path) -> None:
    specs = servers_of(load_config(root).config.mcp, root)
    assert [spec.name for spec in specs] == list(OWN_SERVERS)
    assert all(spec.own and spec.command[-3:] == (spec.name, "--root", str(root)) for spec in specs)


def test_our_own_can_be_switched_off_and_given_time_but_not_replaced(root: Path) -> None:
    of_person(root, "[mcp.servers.git]\nenabled = false\n[mcp.servers.test]\ntimeout = 5\n")
    specs = {spec.name: spec for spec in servers_of(load_config(root).config.mcp, root)}
    assert "git" not in specs
    assert specs["test"].timeout == 5
    of_person(root, '[mcp.servers.git]\ncommand = ["evil"]\n')
    with pytest.raises(ConfigError, match="tideate's own server; choose another name"):
        load_config(root)


def test_a_server_of_the_project_waits_for_trust_and_then_is_there(root: Path) -> None:
    path = of_project(root, FILES)
    loaded = load_config(root)
    assert loaded.untrusted_servers == ("files",)
    assert "files" not in loaded.config.mcp.servers
    assert "ignored mcp" in loaded.notices[0]
    trust_file(path)
    loaded = load_config(root)
    assert (loaded.untrusted_servers, loaded.project_servers) == ((), ("files",))
    (spec,) = servers_of(loaded.config.mcp, root, own=False)
    assert (spec.command, spec.environment, spec.cwd) == (("npx", "files", "."), {"A": "1"}, root)
    path.write_text(FILES.replace("npx", "evil"))
    assert load_config(root).untrusted_servers == ("files",)


def test_a_persons_own_server_needs_no_trust(root: Path) -> None:
    of_person(root, FILES)
    assert "files" in load_config(root).config.mcp.servers


def test_a_token_never_goes_to_the_address_of_another_file(root: Path) -> None:
    of_person(root, '[mcp.servers.x]\nurl = "https://example.org/mcp"\ntoken_env = "MINE"\n')
    trust_file(of_project(root, '[mcp.servers.x]\nurl = "https://example.net/mcp"\n'))
    assert load_config(root).config.mcp.servers["x"].token_env is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("enabled = true", "give a command or a url"),
        ('command = ["x"]\nurl = "http://127.0.0.1/"', "give command or url, not both"),
        ('command = ["x"]\ntoken_env = "T"', "a token is for a url"),
        ('url = "http://127.0.0.1/"\ntoken_env = "T"\ntoken_command = ["t"]', "not both"),
        ('url = "http://example.org/"\ntoken_env = "T"', "unencrypted; use https:// or wss://"),
        ('url = "http://localhost.example.org/"\ntoken_env = "T"', "unencrypted"),
        ('url = "https://me:secret@example.org/"', "url"),
        ('url = "https://example.org/"\ninherit = ["A"]', "are for a command"),
        ('comand = ["x"]', "unknown key 'mcp.servers.x.comand'; did you mean 'command'?"),
        ("command = []", "command"),
    ],
)
def test_a_mistake_is_told_with_its_key(root: Path, text: str, words: str) -> None:
    of_person(root, f"[mcp.servers.x]\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(root)
    assert words in str(caught.value)


def test_what_is_named_like_nothing_else_is_refused(root: Path) -> None:
    of_person(root, '[mcp.servers."a b"]\ncommand = ["x"]\n')
    with pytest.raises(ConfigError, match="the name 'a b'"):
        load_config(root)


def test_the_clients_own_servers_are_those_of_its_project(root: Path) -> None:
    of_project(root, FILES)
    client = MCPClient.of_project(root, load_config(root))
    assert client.names == list(OWN_SERVERS)
    assert MCPClient.of_project(root, load_config(root), project=False).names == []


@pytest.mark.slow
def test_neither_the_client_nor_its_package_loads_the_sdk() -> None:
    code = (
        "import sys; import tideate_core.mcp; assert 'tideate_core.mcp.client' not in sys.modules; "
        "from tideate_core.mcp import MCPClient; assert not {'mcp', 'jsonschema', 'anyio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_capabilities_and_permissions_come_from_the_configuration(tmp_path: Path) -> None:
    mcp = McpConfig.model_validate(
        {
            "servers": {
                "git": {"permissions": ["git_log"]},
                "fs": {"command": ["x"], "capabilities": ["tools"], "permissions": []},
                "open": {"command": ["x"]},
            }
        }
    )
    specs = {spec.name: spec for spec in servers_of(mcp, tmp_path)}
    assert specs["git"].permissions == ("git_log",)
    assert (specs["fs"].capabilities, specs["fs"].permits("read")) == (("tools",), False)
    assert specs["open"].permits("read")
