"""Validation of the environment's proxies and certificate authorities before a client uses them."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Final

from tideate_core.errors import AdapterUnavailable
from tideate_core.util.addresses import without_user
from tideate_core.util.regular_files import check_regular

_FILE, _DIRECTORY = "SSL_CERT_FILE", "SSL_CERT_DIR"
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_HIGHEST_PORT: Final = 65_535


def check_network_settings(who: str, *, proxies: bool = True) -> None:
    """Reject environment settings that prevent a client.

    :param who: user of the client, for the message.
    :param proxies: whether the client uses proxies.
    :raises AdapterUnavailable: a setting is invalid; the message names the variable and the remedy.
    """
    for name, wrong in (*_wrong_authorities(), *(_wrong_proxies() if proxies else ())):
        raise AdapterUnavailable(f"{who}: ${name} {wrong}; correct it, or unset it")


def _wrong_authorities() -> list[tuple[str, str]]:
    """Return the invalid certificate variable and the reason; empty if valid."""
    file, directory = os.environ.get(_FILE), os.environ.get(_DIRECTORY)
    if file:
        try:
            check_regular(Path(file))  # a pipe would block
            ssl.create_default_context(cafile=file)
        except ssl.SSLError:
            return [(_FILE, f"names {file!r}, which holds no certificates in PEM form")]
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return [(_FILE, f"names {file!r}, which cannot be read: {reason}")]
    elif directory and not any(Path(one).is_dir() for one in directory.split(os.pathsep)):
        return [(_DIRECTORY, f"names {directory!r}, which is no directory")]
    return []


def _wrong_proxies() -> list[tuple[str, str]]:
    # the lower-case spelling wins, as everywhere
    names = [lower if lower in os.environ else lower.upper() for lower in _PROXIES]
    return [(name, reason) for name in names if (reason := _wrong_proxy(os.environ.get(name, "")))]


def _wrong_proxy(value: str) -> str:
    """Return the reason that a proxy is unusable; empty if it is usable."""
    import httpx2

    if not value:
        return ""
    shown = without_user(value)
    try:
        address = httpx2.URL(value if "://" in value else f"http://{value}")
        httpx2.AsyncHTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), proxy=httpx2.Proxy(address))
    except ImportError:
        return (
            f"names the SOCKS proxy {shown!r}, which needs a package that is not installed: "
            "python -m pip install socksio"
        )
    except (ValueError, httpx2.InvalidURL):
        address = httpx2.URL()
    if not address.host or (address.port or 0) > _HIGHEST_PORT:
        return f"names the proxy {shown!r}, which is not a proxy's address (http://HOST:PORT)"
    return ""
