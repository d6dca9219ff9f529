"""Recordings reproduce upstream changes of real projects, and the upstream tests pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.live.replayed import replay
from tests.live.tasks import LIVE, LiveTask, project_python

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.shell import Shell

pytestmark = [pytest.mark.bulk, pytest.mark.slow, pytest.mark.timeout(1800)]


RECORDINGS = sorted(LIVE.glob("[0-9][0-9]-*/*.jsonl"))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_upstream_tests_pass_after_a_recorded_run(shell: Shell, recording: Path) -> None:
    replay(shell, replace(LiveTask(recording.parent), python=project_python()), recording)
