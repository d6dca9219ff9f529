"""Trusting a project trusts its files and the commands that verify it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.commands import Check, CommandTrust
from tideate_core.commands.detection import detect_clean
from tideate_core.config import Verify, load
from tideate_core.errors import ConfigError
from tideate_core.gates import CheckStatus, VerificationPipeline
from tideate_core.gates.trusting import revoke_commands, trust_all
from tideate_core.project import Trust

if TYPE_CHECKING:
    from pathlib import Path

OFF = "".join(f'{name} = "off"\n' for name in ("type_check", "build", "documentation"))


async def statuses(root: Path, config: Verify) -> dict[str, str]:
    report = await VerificationPipeline(root, config).run_all()
    return {str(r.check): str(r.status) for r in report.checks if r.required}


async def test_what_was_detected_and_what_is_configured_run_from_then_on(root: Path) -> None:
    (root / "Makefile").write_text("test:\n\t@echo fine\nlint:\n\t@echo no; exit 1\n")
    file = root / ".tideate/config.toml"
    file.parent.mkdir()
    file.write_text(f'[verify]\n{OFF}lint = ["sh", "-c", "echo clean"]\n')
    assert trust_all(root) == [str(file), "`sh -c 'echo clean'` (lint)", "`make test` (tests)"]
    assert Trust().is_trusted(file, file.read_bytes())
    config = load(root).config.verify
    assert await statuses(root, config) == {"lint": "passed", "tests": "passed"}
    assert revoke_commands(root)
    assert await statuses(root, config) == {"lint": "passed", "tests": "not_trusted"}


def test_what_removes_a_build_is_trusted_with_what_makes_it(root: Path) -> None:
    (root / "Makefile").write_text("build:\n\t@true\nclean:\n\t@true\n")
    clean = detect_clean(root)
    assert clean is not None
    assert not CommandTrust(root).is_trusted(clean)
    assert trust_all(root) == ["`make build` (build)", "`make clean` (build)"]
    assert CommandTrust(root).is_trusted(clean)


async def test_a_persons_own_command_runs_only_where_it_was_trusted(root: Path, home: Path) -> None:
    own = home / "config/tideate/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[verify]\n{OFF}lint = "off"\ntests = ["true"]\n')
    config = load(root).config.verify
    assert await statuses(root, config) == {"tests": "not_trusted"}
    assert trust_all(root) == ["`true` (tests)"]
    assert await statuses(root, config) == {"tests": "passed"}


def test_where_there_is_nothing_to_trust_that_is_said(root: Path) -> None:
    with pytest.raises(ConfigError, match="there is nothing to trust"):
        trust_all(root)
    assert not revoke_commands(root)


async def test_the_trust_of_one_project_is_not_that_of_a_copy(root: Path, tmp_path: Path) -> None:
    (root / "Makefile").write_text("test:\n\t@echo fine\n")
    trust_all(root)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "Makefile").write_bytes((root / "Makefile").read_bytes())
    report = await VerificationPipeline(copy, Verify()).run_all()
    assert report.of(Check.TESTS).status == CheckStatus.NOT_TRUSTED
