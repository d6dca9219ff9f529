"""A task killed at random moments and rolled back restores its snapshot, by hash.

A failure names its seed:
`TIDEATE_SEED=… TIDEATE_KILLS=1 python -m pytest tests/builtin/task/runs/test_killed_anywhere.py`
draws the same moments again. `make crash` kills 300 times: as often as it says, and half of that again.
"""

from __future__ import annotations

import os
import random
import secrets
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builtin.task.runs.site import RUN, Site
from tests.builtin.task.runs.test_correcting import BODY
from tests.crash.kills import Kill, Totals
from tests.harness.model_server import ModelServer
from tests.harness.modes import new_mode
from tests.harness.tally import DONE, LINES, TASK, WORDS, node
from tests.harness.tasks import CODE, Model, edits, plan
from tideate_core.engine.ending import temporary_pin
from tideate_core.snapshots import SnapshotManager
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builtin.task.runs.nursery import Nursery
    from tests.crash.kills import How
    from tests.snapshots.trees import Node

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KILLS = int(os.environ.get("TIDEATE_KILLS") or 4)
SEED = int(os.environ.get("TIDEATE_SEED") or secrets.randbelow(1_000_000))
DRAWS = 8
"""Attempts to draw a moment before the end."""
AGAIN = 0.4
"""Probability that the continuing process is killed, too."""
MORE: Final = {f"notes/{name}.txt": f"about {name}\n" * 3 for name in ("old", "older", "moved")}
"""Files that the task deletes or moves."""
PATCH: Final = """\
*** Begin Patch
*** Delete File: notes/old.txt
*** Delete File: notes/older.txt
*** Update File: notes/moved.txt
*** Move to: archive/2026/moved.txt
@@
-about moved
+about what was moved
 about moved
 about moved
*** Update File: src/tally/words.py
@@
-\"\"\"Words of a text.\"\"\"
+\"\"\"The words of a text.\"\"\"
*** Update File: src/tally/__init__.py
@@
+from tally.lines import count_lines
 from tally.words import count_words
@@
-__all__ = ["count_words"]
+__all__ = ["count_lines", "count_words"]
*** Update File: tools/count.sh
@@
-# counts the words of a file
-wc -w "$1"
+# counts the words and lines of a file
+wc -wl "$1"
*** Add File: tests/test_lines.py
{test}
*** Add File: src/tally/lines.py
{code}
*** End Patch
"""
WRITTEN: Final[dict[str, Node | None]] = {
    **DONE,
    **dict.fromkeys(MORE),
    "archive": ("directory", new_mode(0o777), None),
    "archive/2026": ("directory", new_mode(0o777), None),
    "archive/2026/moved.txt": node("about what was moved\nabout moved\nabout moved\n", 0o640),
    "src/tally/words.py": node(WORDS.replace("Words of", "The words of")),
}


def added(text: str) -> str:
    return "\n".join(f"+{line}" for line in text.removesuffix("\n").split("\n"))


def laid_out(home: Path, server: ModelServer, *, well: bool, state: Path | None = None) -> Site:
    """Create a task project with every kind of write, which succeeds after a correction or is rolled back."""
    site = Site(home, server, state=state)
    for name, text in MORE.items():
        (site.root / name).parent.mkdir(exist_ok=True)
        (site.root / name).write_text(text)
        (site.root / name).chmod(0o640)
    site.before = site.files()
    site.trust()
    model = Model(server)
    files = [*CODE, *MORE, "archive/2026/moved.txt", "src/tally/words.py", "docs/usage.md"]
    model.says("planner", plan(files=files))
    wrong = added(LINES.replace(BODY, "return 0"))
    model.says("executor", PATCH.format(test=added(DONE["tests/test_lines.py"][2].decode()), code=wrong))
    model.says("corrector", edits({"src/tally/lines.py": LINES}) if well else "I cannot.")
    return site


@pytest.fixture(scope="module")
def totals(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Totals:
    """Event totals of a task that is not killed."""
    with ModelServer() as server:
        site = laid_out(tmp_path_factory.mktemp("unkilled"), server, well=True)
        ended = site.go(nursery)
    assert ended is not None
    assert ended["result"]["ok"], ended
    assert site.changed() == WRITTEN
    return Totals(ended["time"], ended["commit"], ended["statement"], ended["call"])


def draw(chance: random.Random, totals: Totals) -> Kill:
    """Choose a random moment, most often while files are written."""
    how: How = chance.choices(("call", "time", "commit", "statement"), (5, 2, 2, 1))[0]
    if how == "time":
        return Kill(how, chance.uniform(0, totals.time))
    delay = 0.002 * 10 ** -chance.uniform(0, 3) if how == "commit" else 0.0
    return Kill(how, chance.randint(1, getattr(totals, how)), delay)


@pytest.mark.parametrize("number", range(KILLS * 3 // 2))
async def test_a_killed_task_that_is_taken_back_leaves_nothing(
    tmp_path: Path,
    state_home: Path,
    server: ModelServer,
    number: int,
    totals: Totals,
    nursery: Nursery,
) -> None:
    seed = SEED + number
    print(f"repeat with TIDEATE_SEED={seed} TIDEATE_KILLS=1")
    chance = random.Random(seed)
    well = chance.random() < 0.5
    site = killed(tmp_path, state_home, server, nursery, chance, totals, well=well)
    ended: dict[str, Any] | None = None
    begun = site.durable().status
    if begun and chance.random() < 0.3:
        print("given up where it stands")
    else:
        while ended is None:
            again = draw(chance, totals) if chance.random() < AGAIN else None
            print(f"goes on, to be killed at {again}")
            ended = site.go(nursery, kill=again)
        assert ended["result"]["ok"] == well, ended
        assert site.changed() == (WRITTEN if well else {})
    if ended is None or well:
        await Workspace(site.root, private=site.private).rollback(RUN)
    await as_its_snapshot_says(site)


def killed(
    home: Path,
    state: Path,
    server: ModelServer,
    nursery: Nursery,
    chance: random.Random,
    totals: Totals,
    *,
    well: bool,
) -> Site:
    """Return a project with a task that was killed before its end."""
    for attempt in range(DRAWS):
        with_model = laid_out(home / f"site{attempt}", server, well=well, state=state)
        kill = draw(chance, totals)
        print(f"{TASK!r} is killed at {kill}")
        if with_model.go(nursery, kill=kill) is None:
            return with_model
    raise AssertionError(f"none of {DRAWS} moments came before the end")


async def as_its_snapshot_says(site: Site) -> None:
    assert site.changed() == {}
    snapshots = SnapshotManager(site.root)
    assert await snapshots.damaged() == []
    # one of a moment within is left by a run that has not come to its end
    for made in [one for one in await snapshots.list() if temporary_pin(RUN) not in one.pinned]:
        assert await snapshots.diff(made.id) == [], made.name
