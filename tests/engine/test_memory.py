from __future__ import annotations

from typing import Any, cast

from tests.engine.logbook import Logbook
from tideate_core.adapters import Usage
from tideate_core.engine.context.memory import Memory, spent_on
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import MISSING


def memory(log: Logbook, memos: dict[str, dict[str, Any]] | None = None) -> Memory:
    return Memory(cast("Any", log), memos)


def reply(took: int, *, late: bool = False) -> dict[str, Any]:
    usage = {"input_tokens": took, "output_tokens": 1, "cost": None}
    return {"text": "", "usage": usage, "late": late}


async def test_what_is_remembered_is_durable_and_what_is_noted_rides_along() -> None:
    log = Logbook()
    kept = memory(log)
    kept.note("a", "x", 1)
    assert log.durable == 0
    await kept.remember("a", "y", None)
    assert log.durable == 2
    assert log.memos == {"a": {"x": 1, "y": None}}
    assert (kept.recall("a", "x"), kept.recall("a", "y")) == (1, None)


def test_another_process_recalls_by_step() -> None:
    kept = memory(Logbook(), {"a": {"x": 1}})
    assert kept.recall("a", "x") == 1
    assert kept.recall("b", "x") is MISSING


def test_what_need_not_be_kept_is_only_written_down() -> None:
    log = Logbook()
    kept = memory(log)
    kept.note("a", "x", 1, keep=False)
    assert kept.recall("a", "x") is MISSING
    assert log.memos == {"a": {"x": 1}}


def test_a_released_step_is_not_recalled_any_more_but_what_it_took_is_known() -> None:
    kept = memory(Logbook(), {"a": {"1.ask:d": reply(5)}})
    kept.release("a")
    assert kept.recall("a", "1.ask:d") is MISSING
    assert kept.spent("a") == Usage(5, 1)


def test_one_question_asked_again_is_another_one_and_a_new_process_counts_anew() -> None:
    first, second = memory(Logbook()), memory(Logbook())
    assert [first.numbered("a", "q"), first.numbered("a", "q"), first.numbered("b", "q")] == ["q", "q#2", "q"]
    assert second.numbered("a", "q") == "q"


def test_what_a_step_took_counts_over_attempts_and_processes() -> None:
    kept = memory(Logbook(), {"a": {"1.ask:d": reply(5), "2.ask:d": reply(7), "own:x": 1}})
    kept.spend("a", Usage(10, 2, 0.5))
    assert kept.spent("a") == Usage(22, 4, 0.5)
    assert kept.spent("b") == Usage()


def test_what_came_after_the_end_of_a_step_can_be_told_apart() -> None:
    memos = {"1.ask:d": reply(5), "1.ask:e": reply(7, late=True)}
    assert spent_on(memos).input_tokens == 12
    assert spent_on(memos, late=True).input_tokens == 7


def test_the_next_attempt_is_told_why_the_last_one_failed_also_after_a_crash() -> None:
    log = Logbook()
    kept = memory(log)
    assert kept.feedback("a") == ""
    kept.failed("a", 1, "no list")
    assert kept.feedback("a") == memory(Logbook(), log.memos).feedback("a") == "no list"


def test_a_digest_depends_on_the_content_and_not_on_the_order_of_keys() -> None:
    assert digest_of("a", {"x": 1, "y": [2]}) == digest_of("a", {"y": [2], "x": 1})
    assert len({digest_of("a", "b"), digest_of("ab"), digest_of("a", None), digest_of("a", "b\ud800")}) == 4
