"""Words of providers in bodies of many shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.adapters.provider_words import words_of

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
