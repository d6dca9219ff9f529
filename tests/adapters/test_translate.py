"""Every error of the model libraries has an entry in tideate's error tree."""

from __future__ import annotations

import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import httpx2
import openai
import pydantic_ai.exceptions
import pytest
from pydantic import BaseModel, ValidationError

from tideate_core.adapters.translate import LONGEST_WORDS, TABLE, Origin, translate, words_of
from tideate_core.errors import AdapterError, AdapterUnavailable, AuthenticationFailed, RateLimited

ORIGIN = Origin("fake", "http://127.0.0.1/v1", "$FAKE_KEY", "sk-secret")

NEVER_RAISED = frozenset(
    {
        # control flow inside pydantic-ai's tools and hooks, of which none are used
        "ApprovalRequired",
        "CallDeferred",
        "ModelRetry",
        "RetryModelRequest",
        "RunCancelled",
        "SkipModelRequest",
        "SkipToolExecution",
        "SkipToolValidation",
        "ToolFailed",
        "UndrainedPendingMessagesError",
        # OpenAI's realtime and webhook interfaces
        "InvalidWebhookSignatureError",
        "WebSocketConnectionClosedError",
        "WebSocketQueueFullError",
    }
)
"""Exception classes that no request of tideate can raise."""


def exported_errors(module: object, names: list[str]) -> set[str]:
    found = {name: getattr(module, name) for name in names}
    return {
        name
        for name, kind in found.items()
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
    }


@pytest.mark.parametrize("module", [pydantic_ai.exceptions, openai], ids=lambda module: str(module.__name__))
def test_no_error_of_a_library_is_forgotten(module: object) -> None:
    errors = exported_errors(module, list(getattr(module, "__all__")))  # noqa: B009
    assert errors - TABLE.keys() - NEVER_RAISED == set()


def test_the_table_names_only_errors_that_exist() -> None:
    known = exported_errors(pydantic_ai.exceptions, list(pydantic_ai.exceptions.__all__))
    known |= exported_errors(openai, list(openai.__all__)) | {"HTTPError", "TimeoutException"}
    assert TABLE.keys() | NEVER_RAISED == known


def test_a_new_subclass_is_found_by_its_base() -> None:
    class Newer(pydantic_ai.exceptions.ModelRateLimitError):
        pass

    assert isinstance(translate(Newer("scripted", "slow down"), ORIGIN), RateLimited)


def test_an_error_of_our_own_code_is_left_alone() -> None:
    assert translate(OSError("disk full"), ORIGIN) is None
    assert translate(KeyError("x"), ORIGIN) is None


def test_a_transport_error_that_a_library_lets_through_is_translated() -> None:
    translated = translate(httpx2.ReadTimeout("too slow"), ORIGIN)
    assert isinstance(translated, AdapterUnavailable)
    assert "did not answer in time" in str(translated)


def test_a_key_never_gets_into_a_message() -> None:
    error = pydantic_ai.exceptions.ModelAuthenticationError("scripted", "bad key sk-secret")
    translated = translate(error, ORIGIN)
    assert isinstance(translated, AuthenticationFailed)
    assert "sk-secret" not in str(translated)
    assert "$FAKE_KEY" in str(translated)


@pytest.mark.parametrize("secret", ["sk-secret\nsecond", "sk-\\secret", "sk-sécret"])
def test_a_key_that_a_library_quotes_never_gets_into_a_message(secret: str) -> None:
    refused = httpx2.LocalProtocolError(f"Illegal header value {f'Bearer {secret}'.encode()!r}, {secret!r}")
    translated = translate(refused, Origin("fake", secret=secret))
    assert secret not in str(translated)
    assert repr(secret)[1:-1] not in str(translated)


KEY = 'sk-a/d+e"f\\g h\u00e9-42'
TWICE = json.dumps({"error": json.dumps({"message": KEY})})


@pytest.mark.parametrize(
    "written",
    [
        f"upstream said: {TWICE}",
        json.dumps(KEY).replace("\\u00e9", "\\u00E9"),
        quote(KEY, safe="").lower(),
        quote_plus(KEY),
        html.escape(KEY),
        f"{KEY[:6]}\n{KEY[6:]}",
        f"<html><p>{KEY[:6]}<b>{KEY[6:]}</b></p></html>",
    ],
    ids=["quoted twice", "capital digits", "address", "form", "page", "two lines", "markup"],
)
def test_a_key_is_cut_out_in_any_form(written: str) -> None:
    refused = pydantic_ai.exceptions.ModelHTTPError(400, "scripted", {"error": {"message": f"no {written}"}})
    if written.startswith("<"):
        refused = pydantic_ai.exceptions.ModelHTTPError(400, "scripted", written)
    told = str(translate(refused, Origin("fake", secret=KEY)))
    assert "[key]" in told
    assert "sk-a" not in told
    assert "42" not in told


def test_a_key_where_words_are_cut_off_is_no_part_of_a_message() -> None:
    words = "x" * (LONGEST_WORDS - 5) + ORIGIN.secret
    translated = translate(pydantic_ai.exceptions.ModelAPIError("scripted", words), ORIGIN)
    assert "sk-" not in str(translated)


class Plan(BaseModel):
    steps: list[int]
    why: str


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            {"steps": ["x"]},
            "steps.0: Input should be a valid integer, unable to parse string as an integer; "
            "why: Field required",
        ),
        ([], "Input should be a valid dictionary or instance of Plan"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_without_the_librarys_head(value: object, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Plan.model_validate(value)
    error = pydantic_ai.exceptions.UnexpectedModelBehavior("Exceeded maximum output retries (2)")
    error.__cause__ = caught.value
    where = "adapter 'fake' (http://127.0.0.1/v1) gave no usable answer"
    assert str(translate(error, ORIGIN)) == f"{where}: {words}"


def test_a_whole_page_of_words_is_shortened() -> None:
    translated = translate(pydantic_ai.exceptions.ModelAPIError("scripted", "x " * 5000), ORIGIN)
    assert isinstance(translated, AdapterError)
    assert len(str(translated)) < LONGEST_WORDS + 200


SAID = "tools are not allowed"


@pytest.mark.parametrize(
    "body",
    [
        SAID,
        f" {SAID}\n",
        {"error": {"message": SAID}},
        {"error": SAID},
        {"message": SAID},
        {"detail": SAID},
        {"errors": [{"message": SAID}]},
        {"code": 1, "msg": SAID},
        [{"error": {"code": 400, "message": SAID}}],
        {"error": {"error": {"detail": SAID}}},
        {"error": {"message": '{"error": {"message": "' + SAID + '"}}'}},
        {"error_description": SAID},
        f"<!DOCTYPE html><html><head><style>p {{}}</style></head><p>{SAID}</p></html>",
        '{"trace": "' + "x" * 10_000 + f'", "message": "{SAID}"}}',
        {"error": None, "message": "", "detail": {"reason": SAID}},
    ],
)
def test_words_are_found(body: Any) -> None:
    assert words_of(body) == SAID


def test_words_have_their_place_and_those_of_the_provider_behind() -> None:
    assert words_of({"detail": [{"loc": ["body", "n"], "msg": SAID}]}) == f"body.n: {SAID}"
    assert words_of({"message": "failed", "metadata": {"raw": SAID}}) == f"failed: {SAID}"


@pytest.mark.parametrize("body", [None, 3, {}, [], {"code": 3}, {"error": {"error": {}}}])
def test_a_body_without_words_has_none(body: Any) -> None:
    assert words_of(body) == ""


def test_a_body_without_end_is_no_trouble() -> None:
    body: dict[str, Any] = {}
    body["error"] = body
    assert words_of(body) == ""
    assert len(words_of("x" * 1_000_000)) < 10_000
