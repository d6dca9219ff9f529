"""Words of others lose users of addresses and secrets before they are stored."""

from __future__ import annotations

from tideate_core.fleet.legs import LegResult, OpenQuestion, State
from tideate_core.git import words_of

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
SAID = f"fatal: could not read Password for 'http://{TOKEN}@127.0.0.1/r'; the server said {TOKEN}"


def test_results_and_questions_hold_no_token() -> None:
    result = LegResult(state=State.FAILED, message=SAID)
    question = OpenQuestion(n=1, kind="k", workflow="w", step="s", message=SAID, digest="d")
    for message in (result.message, question.message):
        assert TOKEN not in message
        assert "'http://…@127.0.0.1/r'" in message
    assert LegResult.model_validate(result.model_dump()) == result


def test_errors_of_git_hold_no_user_of_an_address() -> None:
    assert "http://…@127.0.0.1/r" in words_of(SAID)
