"""A submission runs only exactly as it was signed."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from tideate_core.errors import ConfigError, InvalidInput, SubmissionRefused
from tideate_core.fleet import SignedSubmission, Submission
from tideate_core.fleet.legs import Leg
from tideate_core.fleet.submission import allowed_fingerprints
from tideate_core.process import signing_key

if TYPE_CHECKING:
    from pathlib import Path

ANA = "Ana <ana@example.org>"
CHANGES: dict[str, Any] = {
    "run": "0" * 32,
    "workflow": "task",
    "prompt": "another",
    "inputs": {"a": "b"},
    "repo": "file:///elsewhere",
    "ref": "main",
    "commit": "1" * 40,
    "adapter": "dear",
    "accept": True,
    "land": False,
    "queue": "other",
    "priority": 1,
    "timeout": 5,
    "by": "Eve <eve@example.org>",
    "at": 1,
    "with_secrets": True,
    "schedule": {"name": "n", "cron": "0 3 * * *"},
    "expires": 1 << 42,
}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def fingerprint(key: Path) -> str:
    listed = subprocess.run(["ssh-keygen", "-lf", key], check=True, capture_output=True, text=True)
    return listed.stdout.split()[1]


def submission(**changes: Any) -> Submission:
    return Submission.model_validate({"workflow": "ask", "repo": "file:///r", "by": ANA, "at": 0, **changes})


def test_an_allowed_key_is_named_by_fingerprint_or_public_key(key: Path) -> None:
    signed = SignedSubmission.make(submission(), key)
    public = key.with_suffix(".pub").read_text().strip()
    for entry in (fingerprint(key), public, f"ana@example.org {public}"):
        assert signed.check([entry]) == fingerprint(key)
    with pytest.raises(SubmissionRefused, match="is not in"):
        signed.check([])


@pytest.mark.parametrize("field", [name for name in Submission.model_fields if name != "version"])
def test_a_change_of_any_field_breaks_the_signature(key: Path, field: str) -> None:
    signed = SignedSubmission.make(submission(), key)
    shape = {**signed.submission.model_dump(mode="json"), field: CHANGES[field]}
    changed = Submission.model_validate(shape)
    assert changed != signed.submission
    with pytest.raises(SubmissionRefused, match="does not match"):
        SignedSubmission(submission=changed, signature=signed.signature).check([fingerprint(key)])


def test_a_signature_for_another_purpose_is_rejected(key: Path) -> None:
    data = submission().canonical()
    made = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", "git"],
        input=data,
        check=True,
        capture_output=True,
    )
    assert signing_key(data, made.stdout.decode(), "git") == fingerprint(key)
    assert signing_key(data, made.stdout.decode(), "tideate-submission") is None


@pytest.mark.parametrize(
    "change",
    [
        {"repo": "https://ana:secret@example.org/r"},
        {"repo": "https://token@example.org/r"},
        {"repo": "https://a@b:secret@example.org/r"},
        {"repo": "HTTP://token@example.org/r"},
        {"repo": "ssh://git:secret@example.org/r"},
        {"repo": "git:secret@example.org:r"},
        {"repo": "https://example.org/r?access_token=secret"},
        {"repo": "https://example.org/r#secret"},
        {"repo": "https://[::1/r"},
        {"repo": "file:///r\x1b]0;x\x07"},
        {"repo": "."},
        {"repo": "../r"},
        {"repo": "ext::sh -c evil"},
        {"repo": "--upload-pack=evil"},
        {"ref": "--exec"},
        {"ref": "a..b"},
        {"by": "Ana <a@b>\nX: y <z>"},
        {"queue": "../x"},
        {"surprise": 1},
        {"repo": "../r"},
        {"repo": "r"},
        {"repo": "/r\x1b[31m"},
        {"ref": "a\x07"},
        {"by": "Ana\x1b <a@b>"},
        {"workflow": "/tmp/x.yaml"},
        {"workflow": "x.yaml"},
        {"workflow": "~x"},
        {"workflow": "a\nb"},
        {"schedule": {"name": "n\n", "cron": "* * * * *"}},
    ],
)
def test_invalid_fields_are_rejected(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        submission(**change)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "a\0b"},
        {"inputs": {"x": [{"y": "\x1b[2J"}]}},
        {"inputs": {"\x07": 1}},
        {"ref": "main\x7f"},
        {"workflow": "as\x08k"},
        {"by": "An\x0ba <a@b>"},
    ],
)
def test_control_characters_are_rejected_before_a_submission_is_signed(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"remove the control character U\+00"):
        submission(**change)
    assert submission(prompt="one\r\n\ttwo \u2028 \U0001f600").prompt.startswith("one")


def test_lines_of_a_file_have_no_byte_order_mark_and_no_control_characters(tmp_path: Path) -> None:
    from tideate_core.cli.fleet_options import each_line

    file = tmp_path / "lines"
    file.write_bytes("\ufeffone\r\n\n \ufefftwo\u2028still two\n".encode())
    assert each_line(str(file)) == ["one", "two\u2028still two"]
    file.write_bytes(b"one\ntw\0o\n")
    with pytest.raises(InvalidInput, match=r"line 2: remove the control character U\+0000"):
        each_line(str(file))


@pytest.mark.parametrize(
    "repo",
    [
        "https://example.org/r",
        "ssh://git@example.org:22/r",
        "git@example.org:a/r.git",
        "example.org:r@v2",
        "file:///a?b#c@d:e",
        "/a:b@c",
    ],
)
def test_addresses_without_secrets_are_accepted(repo: str) -> None:
    assert submission(repo=repo).repo == repo


def test_a_leg_runs_only_the_signed_run(key: Path) -> None:
    signed = SignedSubmission.make(submission(), key)
    template = SignedSubmission.make(submission(schedule={"name": "n", "cron": "0 3 * * *"}), key)
    shape = Leg(signed=signed, run=signed.submission.run).model_dump(mode="json")
    assert Leg.read(json.loads(json.dumps(shape))).submission == signed.submission
    for wrong in (
        {**shape, "run": "0" * 32},
        {
            **shape,
            "scheduled": "2026-11-30T00:00:00Z",
            "run": signed.submission.fired("2026-11-30T00:00:00Z"),
        },
        {**shape, "signed": template.model_dump(mode="json"), "run": template.submission.run},
    ):
        with pytest.raises(SubmissionRefused, match="is refused"):
            Leg.read(wrong)
    fired = template.submission.fired("noon")
    assert Leg(signed=template, run=fired, scheduled="noon").submission.run == fired
    assert Leg.read(Leg(signed=template, run=fired, scheduled="noon").model_dump(mode="json")).run == fired


def test_an_invalid_entry_of_an_allow_list_is_reported() -> None:
    for entry in ("ana@example.org", "SHA256:short", "cert-authority ssh-ed25519 !!", ""):
        with pytest.raises(ConfigError, match="ssh-keygen -lf"):
            allowed_fingerprints([entry])
