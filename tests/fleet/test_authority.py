"""A worker runs only what was signed, and believes only what workers sealed."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.fleet.test_submission import fingerprint, key, submission
from tideate_core.errors import ConfigError, SubmissionRefused
from tideate_core.fleet import Schedule, SignedSubmission, fleet_secret
from tideate_core.fleet.authority import Authority
from tideate_core.fleet.legs import Leg, LegResult, State
from tideate_core.fleet.seals import Seals

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.fleet.authority import VerifiedLeg

__all__ = ["key"]

SECRET = "0123456789abcdef" * 4
ANSWER: dict[str, Any] = {"accepted": True}
DAY = 86_400_000


def now() -> int:
    return time.time_ns() // 1_000_000


def authority(key: Path, secret: str = SECRET) -> Authority:
    return Authority([fingerprint(key)], "tideate", Seals.of(secret))


def leg(key: Path, **changes: Any) -> Leg:
    signed = SignedSubmission.make(submission(**{"at": now(), **changes}), key)
    return Leg(signed=signed, run=signed.submission.run)


def stored(leg: Leg) -> Any:
    return json.loads(json.dumps(leg.model_dump(mode="json")))


async def verified(key: Path, leg: Leg) -> VerifiedLeg:
    return await authority(key).verify(stored(leg))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"queue": "sandbox"}, "signed for the queue sandbox"),
        ({"at": now() + DAY}, "in the future"),
        ({"at": now() - 31 * DAY}, "has expired"),
        ({"expires": now() - 1}, "has expired"),
    ],
)
async def test_a_signed_leg_runs_only_where_and_when_it_was_signed_for(
    key: Path, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(SubmissionRefused, match=why):
        await authority(key).verify(stored(leg(key, **changes)), works=True)


async def test_a_leg_without_a_valid_signature_never_counts(key: Path) -> None:
    own = authority(key)
    shape = stored(leg(key))
    for _repeated in range(2):
        assert (await own.verify(shape, works=True)).run == shape["run"]
    for signature in ("none", ""):
        with pytest.raises(SubmissionRefused, match="does not match"):
            await own.verify({**shape, "signed": {**shape["signed"], "signature": signature}})
    with pytest.raises(SubmissionRefused, match="malformed"):
        await own.verify({**shape, "bundle": "0" * 64})


CRON = Schedule(name="nightly", cron="0 3 * * *", zone="Europe/Berlin")


def fired(key: Path, at: str, **changes: Any) -> Leg:
    begin = now() - 300 * DAY
    signed = SignedSubmission.make(submission(schedule=CRON, at=begin, **changes), key)
    return Leg(signed=signed, run=signed.submission.fired(at), scheduled=at)


def night(days_ago: int) -> str:
    from datetime import UTC, datetime, timedelta
    from zoneinfo import ZoneInfo

    day = datetime.now(ZoneInfo("Europe/Berlin")) - timedelta(days=days_ago)
    return day.replace(hour=3, minute=0, second=0, microsecond=0).astimezone(UTC).isoformat()


async def test_a_template_runs_only_at_the_times_of_its_schedule(key: Path) -> None:
    own = authority(key)
    assert (await own.verify(stored(fired(key, night(2))), works=True)).leg.scheduled == night(2)
    wrong = [
        "replay 1",
        night(2).replace(":00:00+", ":00:01+"),
        night(2).replace("+00:00", "Z"),
        night(-2),
        night(302),
    ]
    for at in wrong:
        with pytest.raises(SubmissionRefused, match="does not have this time"):
            await own.verify(stored(fired(key, at)), works=True)
    with pytest.raises(SubmissionRefused, match="has expired"):
        await own.verify(stored(fired(key, night(2), expires=now() - DAY)), works=True)


async def test_the_start_of_a_leg_counts_only_with_a_seal_and_the_signed_commit(key: Path) -> None:
    own, one = authority(key), leg(key, commit="1" * 40)
    found = await verified(key, one)
    start = own.seal_start(found, "1" * 40).model_dump(mode="json")
    assert own.read_start(found, start).commit == "1" * 40
    other = own.seal_start(found, "2" * 40).model_dump(mode="json")
    with pytest.raises(SubmissionRefused, match="another commit"):
        own.read_start(found, other)
    forged = [{**start, "commit": "2" * 40}, {"commit": "1" * 40, "at": 1}, {"commit": "1" * 40}, None]
    forged.append(authority(key, "other" * 10).seal_start(found, "1" * 40).model_dump(mode="json"))
    for shape in forged:
        with pytest.raises(SubmissionRefused, match=r"no worker|malformed"):
            own.read_start(found, shape)


async def test_a_result_counts_only_for_its_leg_and_only_unchanged(key: Path) -> None:
    own, one = authority(key), leg(key)
    found = await verified(key, one)
    later = await verified(key, one.model_copy(update={"number": 2}))
    result = LegResult(state=State.COMPLETED, files=("a.txt",), bundle="b" * 64)
    shape = own.seal_result(found, result)
    assert own.read_result(found, shape).files == ("a.txt",)
    for changed in ({**shape, "files": ["x"]}, {**shape, "bundle": "c" * 64}, {**shape, "seal": "é"}):
        with pytest.raises(SubmissionRefused, match="no worker"):
            own.read_result(found, changed)
    with pytest.raises(SubmissionRefused, match="no worker"):
        own.read_result(later, shape)


async def test_an_answer_counts_only_if_a_worker_read_it(key: Path) -> None:
    own, one = authority(key), leg(key)
    found = await verified(key, one)
    following = own.following(found, LegResult(state=State.WAITING, worked=7), ANSWER)
    assert (await own.verify(stored(following))).leg.answer == following.answer
    again = following.again(5, LegResult(state=State.FAILED))
    assert (await own.verify(stored(again))).leg.answer == following.answer
    shape = stored(following)
    for change in ({"answer": {"accepted": False}}, {"worked": 0}, {"n": 9}, {"seal": ""}):
        with pytest.raises(SubmissionRefused, match="no worker of this fleet read its answer"):
            await own.verify({**shape, "answer": {**shape["answer"], **change}})
    another = stored(leg(key))
    with pytest.raises(SubmissionRefused, match="read its answer"):
        await own.verify({**another, "answer": shape["answer"]})


async def test_a_worker_without_a_secret_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.fleet.test_parts import configured

    monkeypatch.delenv("TIDEATE_FLEET_SECRET", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="openssl rand -hex 32"):
        await fleet_secret(configured())
    with pytest.raises(ConfigError, match="too short"):
        await fleet_secret(configured(secret_command=["printf", "abc"]))
    with pytest.raises(ConfigError, match="gave no secret"):
        await fleet_secret(configured(secret_command=["false"]))
    assert await fleet_secret(configured(secret_command=["printf", f"{SECRET}\nmore"])) == SECRET
    own = await fleet_secret(configured(), dev=True)
    assert await fleet_secret(configured(), dev=True) == own
    assert (tmp_path / "tideate" / "fleet" / "secret").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("TIDEATE_FLEET_SECRET", SECRET)
    assert await fleet_secret(configured(), dev=True) == SECRET
    import os

    assert "TIDEATE_FLEET_SECRET" not in os.environ


def test_seals_do_not_show_the_secret() -> None:
    assert SECRET not in repr(Seals.of(SECRET))
    assert Seals.of(SECRET).make("a", "b") != Seals.of(SECRET).make("a b")
