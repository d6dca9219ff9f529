"""Secrets are omitted until the person consents to them by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tideate_core.mentions import ContextResolver, Surroundings
from tideate_core.mentions.secrets import (
    _PARTS,
    _TEXTS,
    SIGNS_OF_SECRETS,
    hide_secrets,
    secret_in,
    secret_lines,
    secret_name,
)
from tideate_core.util.escaping import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# put together here, so that no scanner takes this file for a leak
TOKENS = {
    "a private key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "an AWS access key": "AKIA" + "Q3EGRIPVT5J2XAMP",
    "a GitHub token": "ghp_" + "a1B2" * 9,
    "a GitLab token": "glpat-" + "x" * 20,
    "a Slack token": "xoxb-" + "1234567890-abc",
    "a Google API key": "AIza" + "S" * 35,
    "a Stripe key": "sk_live_" + "4" * 24,
    "an API key of a model provider": "sk-proj-" + "aB3_" * 10,
    "an npm token": "npm_" + "a" * 36,
    "a PyPI token": "pypi-" + "A" * 60,
    "a Hugging Face token": "hf_" + "b" * 34,
    "a SendGrid key": "SG." + "a" * 22 + "." + "b" * 43,
    "a JSON web token": "eyJhbGciOiJIUzI1" + "." + "eyJzdWIiOiIxMjM0" + "." + "c2lnbmF0dXJl",
    "a password in an address": "postgres://app:" + "hunter2@db/x",
}


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "app/.env.local", "prod.env", ".ENV", ".envrc", "server.pem", "tls/private.KEY", "id_rsa"),
        *(
            "id_ed25519_work",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".aws/credentials",
            ".kube/config",
            "release.jks",
        ),
        *(".ssh", "home/.aws", ".ssh/known_hosts", ".AWS/sso/cache/x", "a/.gnupg/trustdb"),
        *("credentials.json", "client-secrets.yaml", "my_service_account.json", "secrets.toml", "x.tfstate"),
    ],
)
def test_these_files_are_taken_for_secrets(path: str) -> None:
    assert secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".env.example",
            "id_rsa.pub",
            "credentials.py",
            "test_secrets.py",
            "environment.md",
            "keys.lua",
            ".ssh/id.pub",
            "ssh/a",
            "aws.py",
        ),
        *("doc/secrets.md", "monkey.py", "config/config.json", "keyboard.key.md", "passwords.rs"),
    ],
)
def test_these_are_not(path: str) -> None:
    assert secret_name(path) == ""


@pytest.mark.parametrize("name", TOKENS)
def test_well_known_tokens_are_recognised_with_their_line(name: str) -> None:
    assert secret_in(f"one\n\nkey = '{TOKENS[name]}'\n") == f"line 3 seems to hold {name}"


@pytest.mark.parametrize(
    "text",
    [
        "an API key goes in SOME_KEY",
        "postgres://user:password@localhost/x and http://user:***@host",
        "sk-this-is-only-a-long-class-name-of-some-style-sheet",
        "-----BEGIN PUBLIC KEY-----",
        "ghp_short and AKIA and eyJ",
        "def f(): return 'https://host:8080/@x'",
    ],
)
def test_ordinary_texts_are_not(text: str) -> None:
    assert secret_in(text) == ""


@pytest.mark.parametrize("mention", ["@Env", "@file:.env", "@file:.env:1-1", "@file:alias", "@file:keys.txt"])
async def test_a_secret_comes_without_its_content_until_somebody_agreed(
    root: Path, configure: Callable[..., None], mention: str
) -> None:
    (root / ".env").write_text("TOKEN=1\n")
    (root / "alias").symlink_to(".env")
    (root / "keys.txt").write_text("TOKEN=1\n# " + TOKENS["an AWS access key"] + "\n")
    configure(Env=".env")
    resolver = ContextResolver(root)
    item = await resolver.resolve(mention)
    assert (item.needs_consent, item.content) == (True, "")
    assert item.reason
    assert "TOKEN" not in resolver.format_for_prompt([item])
    told = resolver.format_for_prompt([item]).partition("Left out: ")[2]
    assert told == ("it seems to hold secrets." if "line 2 " in item.reason else f"{item.reason}.")
    given = await resolver.resolve(mention, consented=True)
    assert (given.needs_consent, "TOKEN=1" in given.content, given.reason) == (False, True, item.reason)


async def test_a_link_called_as_a_secret_is_one_wherever_it_leads(root: Path) -> None:
    (root / "plain.txt").write_text("A=1")
    (root / ".env").symlink_to("plain.txt")
    assert (await ContextResolver(root).resolve("@file:.env")).needs_consent


async def test_consent_is_for_one_mention_only(root: Path) -> None:
    (root / ".env").write_text("A=1")
    (root / "b.pem").write_text("B")
    items = await ContextResolver(root).resolve_all(["@file:.env", "@file:b.pem"], consented={"@file:.env"})
    assert [(item.content, item.needs_consent) for item in items] == [("A=1", False), ("", True)]


async def test_the_lines_that_are_asked_for_decide(root: Path) -> None:
    (root / "a.py").write_text(f"x = 1\nkey = '{TOKENS['a GitHub token']}'\n")
    resolver = ContextResolver(root)
    assert not (await resolver.resolve("@file:a.py:1-1")).needs_consent
    assert (await resolver.resolve("@file:a.py:2-2")).reason == "line 2 seems to hold a GitHub token"


async def test_buffers_are_asked_about_too(root: Path) -> None:
    env = Surroundings("A=1", str(root / ".env"), selection=(1, 1))
    for mention in ("@buffer", "@selection"):
        assert (await ContextResolver(root, around=env).resolve(mention)).needs_consent


async def test_a_text_of_the_configuration_is_looked_at_too(
    root: Path, configure: Callable[..., None]
) -> None:
    configure(Key={"text": TOKENS["a Stripe key"]})
    assert (await ContextResolver(root).resolve("@Key")).needs_consent


async def test_an_outline_of_the_project_passes_over_files_that_hold_secrets(root: Path) -> None:
    (root / "secret.env").write_text("def leak(): pass")
    assert "leak" not in (await ContextResolver(root).resolve("@symbols")).content


FURTHER = {
    "a private key": ["PuTTY-User-Key-File-" + "2: x"],
    "a GitHub token": [f"{kind}_" + "a1B2" * 9 for kind in ("gho", "ghu", "ghs", "ghr", "github_pat")],
    "a Slack token": [
        "xapp-" + "1-ABCDEFGHIJK",
        "hooks.slack.com/" + "services/T12345678/B12345678/abcdefghijklmnop",
    ],
    "a Stripe key": ["rk_live_" + "4" * 24],
    "an API key of a model provider": [kind + "a1" * 20 for kind in ("sk-", "gsk_", "xai-", "pplx-", "r8_")],
    "an age key": ["AGE-SECRET-KEY-1" + "Q" * 58],
    "a DigitalOcean token": [f"do{kind}_v1_" + "a1" * 32 for kind in "opr"],
    "a Docker token": ["dckr_pat_" + "a" * 27, "dckr_oat_" + "a" * 27],
    "a Vault token": ["hvs." + "a" * 24],
    "an AWS access key": [name + "Q3EGRIPVT5J2XAMP" for name in ("ASIA", "ABIA", "ACCA")],
    "a key in an address": [
        f"https://host/x?{name}=abcd1234abcd1234abcd"
        for name in ("access_token", "secret", "password", "key", "sig", "signature")
    ],
    "a Telegram token": ["123456789:AA" + "a" * 33],
    "an Azure storage key": ["AccountKey=" + "a" * 86],
    "a password, as files of variables have it": [
        f"\n{name}=hunter22\n"
        for name in ("DB_PASSWORD", "PASSWORDS", "PASSWD", "A_SECRET", "SECRETS", "API_KEY", "TOKEN")
    ],
}


def test_every_shape_is_looked_for_where_a_part_of_it_is() -> None:
    samples = {name: [*FURTHER.get(name, ()), *([TOKENS[name]] if name in TOKENS else [])] for name in _PARTS}
    for name, texts in samples.items():
        assert texts, name
        for text in texts:
            assert re.search(_TEXTS[name], text), (name, text)
            assert re.search(SIGNS_OF_SECRETS, text), (name, text)
            assert secret_in(f"x = '{text}'"), (name, text)
    for name, parts in _PARTS.items():
        assert [part for part in parts if not any(part in text for text in samples[name])] == []


def test_lines_of_secrets_are_all_that_a_secret_is_in() -> None:
    key = "-----BEGIN " + "PRIVATE KEY-----\nabc\ndef\n-----END " + "PRIVATE KEY-----"
    assert secret_lines(f"one\n{key}\nsix\ntoken = '{TOKENS['a GitHub token']}'\n") == {2, 3, 4, 5, 7}
    assert secret_lines("one\ntwo\n") == frozenset()


GLUED = ("\\n{}", "%3D{}", "\\x1b{}", "\\u003d{}", "'{}'", "_{}", "?q={}&n=1", "[31m{}[0m", "x,{},y", "{}…")
"""Texts around a token: escapes, quotes, addresses, colours."""


@pytest.mark.parametrize("around", GLUED)
@pytest.mark.parametrize("name", [one for one in TOKENS if "key" not in one.split()[:3] or "API" in one])
def test_a_token_is_known_wherever_a_text_has_it(name: str, around: str) -> None:
    assert TOKENS[name][8:-1] not in hide_secrets(around.format(TOKENS[name]))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"https://api.telegram.org/bot123456789:AA{'a1' * 16}b/getMe", f"123456789:AA{'a1' * 16}b"),
        ('{"environment": ["DB_PASSWORD=hunter22"]}', "DB_PASSWORD=hunter22"),
        (r'"first line\nDB_PASSWORD=hunter22\nlast line"', "DB_PASSWORD=hunter22"),
        ("DB_PASSWORD=hunter22 # of the test server", "DB_PASSWORD=hunter22"),
        ("https://host/x?n=1&api_key=abcd1234abcd1234abcd&m=2", "abcd1234abcd1234abcd"),
        (r"\nAKIAQ3EGRIPVT5J2XAMP\n", "AKIAQ3EGRIPVT5J2XAMP"),
        ("keyAKIAQ3EGRIPVT5J2XAMPof", "AKIAQ3EGRIPVT5J2XAMP"),
    ],
)
def test_a_secret_within_a_line_is_hidden_and_no_more(text: str, secret: str) -> None:
    assert hide_secrets(text) == text.replace(secret, HIDDEN)


@pytest.mark.parametrize(
    "text",
    [
        "task-550e8400-e29b-41d4-a716-446655440000",
        "MAKIAVELLIANPROTEINSEQ",
        "?page_token=abcd1234abcd1234abcd",
        "http://localhost:8080… and on",
        "risk-free…, disk-usage-of-2026…",
        "-----END CERTIFICATE-----",
        "keys:\nabc\n",
    ],
)
def test_what_looks_like_a_token_is_left(text: str) -> None:
    assert hide_secrets(text) == text


def test_what_is_left_of_a_key_without_its_head_is_hidden() -> None:
    lines = ["a" * 64, "b" * 64, "cd=="]
    end = f"-----END RSA {'PRIVATE'} KEY-----"
    for sign in ("", "+", " ", "12\t"):
        text = "\n".join(["before it", *(f"{sign}{line}" for line in [*lines, end]), "after it"])
        assert hide_secrets(text) == f"before it\n{HIDDEN}\nafter it", sign
