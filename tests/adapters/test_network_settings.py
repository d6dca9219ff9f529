"""The environment's proxies and authorities are used, or rejected by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.certificates import file_name_of, private_authority
from tests.harness.model_server import ModelServer
from tideate_core.adapters import Prompt
from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.network_settings import check_network_settings
from tideate_core.adapters.sources import ServerSource
from tideate_core.config import AdapterConfig
from tideate_core.errors import AdapterUnavailable

if TYPE_CHECKING:
    from pathlib import Path

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def ask(base_url: str) -> str:
    config = AdapterConfig.model_validate({"base_url": base_url, "model": "scripted"})
    adapter = ModelAdapter("fake", ServerSource("fake", config))
    try:
        return (await adapter.ask(Prompt("look"))).text
    finally:
        await adapter.aclose()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_an_authority_of_ones_own_is_trusted_on_this_machine_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    authority, tls = private_authority(tmp_path)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # it could not reach this machine's own ports
    with ModelServer(tls=tls) as server:
        server.answers("look", "fine")
        address = server.base_url.replace("127.0.0.1", host)
        with pytest.raises(AdapterUnavailable, match=r"CERTIFICATE_VERIFY_FAILED.*SSL_CERT_FILE"):
            await ask(address)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        assert await ask(address) == "fine"


async def test_a_directory_of_authorities_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, tls = private_authority(tmp_path)
    directory = tmp_path / "authorities"
    directory.mkdir()
    authority.rename(directory / file_name_of(authority))
    monkeypatch.setenv("SSL_CERT_DIR", str(directory))
    with ModelServer(tls=tls) as server:
        server.answers("look", "fine")
        assert await ask(server.base_url) == "fine"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SSL_CERT_FILE", "{}/missing.pem", "missing.pem', which cannot be read: no such file"),
        ("SSL_CERT_FILE", "{}/empty.pem", "empty.pem', which holds no certificates"),
        ("SSL_CERT_FILE", "{}", "cannot be read"),
        ("SSL_CERT_FILE", "{}/pipe", "cannot be read: it is a named pipe, not a regular file"),
        ("SSL_CERT_DIR", "{}/missing", "missing', which is no directory"),
        ("ALL_PROXY", "socks5h://127.0.0.1:9", "SOCKS proxy 'socks5h://127.0.0.1:9', which needs a package"),
        ("https_proxy", "socks5://me:secret@host", "SOCKS proxy 'socks5://…@host'"),
        ("http_proxy", "::::", "'::::', which is not a proxy"),
        ("HTTPS_PROXY", "ftp://host", "'ftp://host', which is not a proxy"),
        ("HTTPS_PROXY", "http://host:99999999", "is not a proxy"),
        ("all_proxy", "http://", "is not a proxy"),
    ],
)
async def test_a_setting_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    (tmp_path / "empty.pem").touch()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv(name, value.format(tmp_path))
    with pytest.raises(AdapterUnavailable) as refused:
        await ask("http://model.test/v1")
    assert f"adapter 'fake': ${name} " in str(refused.value)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
async def test_a_server_of_this_machine_needs_no_proxy(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "::::")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    server.answers("look", "fine")
    assert await ask(server.base_url) == "fine"


def test_settings_that_can_be_used_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", "localhost,.test,10.0.0.0/8,::1")
    check_network_settings("adapter 'fake'")
