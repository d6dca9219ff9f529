"""Admission to a server at an address."""

from __future__ import annotations

import socket

import pytest

from tideate_core.errors import ConfigError
from tideate_core.mcp.transport.admission import (
    TOKEN_VARIABLE,
    AdmissionPolicy,
    Token,
    listen_on_loopback,
    token_from_environment,
)

SECRET = "open-sesame-0123"
GOOD = f"Bearer {SECRET}"
POLICY = AdmissionPolicy(Token(SECRET), 8000)


@pytest.mark.parametrize(
    ("host", "origin", "authorization", "status"),
    [
        (["127.0.0.1:8000"], [], [GOOD], None),
        (["LocalHost:8000"], ["http://LOCALHOST:8000"], [GOOD], None),
        (["127.0.0.1:8000"], [], [f"bearer {SECRET}"], None),
        ([], [], [GOOD], 421),
        (["127.0.0.1"], [], [GOOD], 421),
        (["evil.example:8000"], [], [GOOD], 421),
        (["127.0.0.1:8000", "evil.example"], [], [GOOD], 421),
        (["127.0.0.1:8000"], ["http://evil.example"], [GOOD], 403),
        (["127.0.0.1:8000"], ["https://127.0.0.1:8000"], [GOOD], 403),
        (["127.0.0.1:8000"], ["http://127.0.0.1:8000", "http://evil.example"], [GOOD], 403),
        (["127.0.0.1:8000"], ["null"], [GOOD], 403),
        (["127.0.0.1:8000"], [""], [GOOD], 403),
        (["127.0.0.1:8000"], [], [], 401),
        (["127.0.0.1:8000"], [], [SECRET], 401),
        (["127.0.0.1:8000"], [], [f"Basic {SECRET}"], 401),
        (["127.0.0.1:8000"], [], ["Bearer "], 401),
        (["127.0.0.1:8000"], [], ["Bearer é"], 401),
        (["127.0.0.1:8000"], [], [GOOD, GOOD], 401),
        (["evil.example"], ["http://evil.example"], [], 421),
        (["127.0.0.1:8000"], ["http://evil.example"], [], 403),
    ],
)
def test_the_name_the_site_and_the_token_have_to_be_right(
    host: list[str], origin: list[str], authorization: list[str], status: int | None
) -> None:
    refused = POLICY.refusal(host, origin, authorization)
    assert (refused and refused[0]) == status


@pytest.mark.parametrize(("port", "named"), [(80, True), (8000, False)])
def test_a_server_on_port_80_is_named_without_the_port(port: int, named: bool) -> None:
    assert ("127.0.0.1" in AdmissionPolicy(Token(SECRET), port).hosts) is named


def test_a_token_is_taken_out_of_the_environment() -> None:
    environment = {TOKEN_VARIABLE: SECRET, "PATH": "/bin"}
    token = token_from_environment(environment)
    assert (token.secret, token.generated) == (SECRET, False)
    assert environment == {"PATH": "/bin"}, "what the server starts does not see it"


@pytest.mark.parametrize("environment", [{}, {TOKEN_VARIABLE: ""}])
def test_without_one_a_new_one_is_made_each_time(environment: dict[str, str]) -> None:
    tokens = [token_from_environment(environment) for _ in range(3)]
    assert all(token.generated and len(token.secret) >= 32 for token in tokens)
    assert len({token.secret for token in tokens}) == 3


@pytest.mark.parametrize(
    "given", ["short", "x" * 15, "with a space in it", "tab\tabcdefghijklm", "ümlaut-0123456789"]
)
def test_a_token_that_no_header_can_carry_or_that_is_short_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=TOKEN_VARIABLE) as refused:
        token_from_environment({TOKEN_VARIABLE: given})
    assert given not in str(refused.value)


def test_a_token_is_not_shown_where_its_holder_is() -> None:
    assert SECRET not in repr(POLICY)


def test_an_answer_does_not_wait_for_the_client_to_acknowledge_its_head() -> None:
    with listen_on_loopback(0) as listening, socket.create_connection(listening.getsockname()) as client:
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert client.getpeername()[0] == "127.0.0.1"
