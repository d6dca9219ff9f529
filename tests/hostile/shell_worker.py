"""Worker that tries shell commands with hostile trees; the runner starts it under strace.

Standard input has one job per line: a tree's number, the numbers of its commands or the names of bad ones,
and a time limit. Standard output has one outcome per line; the runner answers each with an empty line before
the next case. An empty line ends a job.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.hostile import bad_commands
from tests.hostile.cases import Outcome, Tree, trees
from tests.hostile.forked import Ended, adopt_orphans, import_noted, import_tideate, note_modules, run_forked
from tests.hostile.place import SECRET, Place
from tests.hostile.shell_commands import Command, commands
from tests.hostile.started import Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS: Final = 30.0
"""Time limit of a command, on a busy machine."""
PATIENCE: Final = 120.0
"""Time limit including the runs that create the state."""
MIB: Final = 500
"""Memory limit."""
STATUSES: Final = (0, 1, 2, 3)
"""Valid exit statuses."""
INTERRUPTED: Final = 130
"""Exit status after Ctrl-C."""


class ShellWorker:
    """Runs cases in its own directories."""

    def __init__(self, place: Place, programs: Programs) -> None:
        self._place = place
        self._programs = programs
        self._seconds = PATIENCE

    def prepare(self) -> None:
        """Create the directories and the state, with tideate in a valid project."""

        def tideate(project: Path, *words: str) -> dict[str, Any]:
            ended = self._run([*words, "--json"], project)
            assert ended.status == 0, f"{words}: {ended.out!r} {ended.err!r}"
            shape: dict[str, Any] = json.loads(ended.out)
            import_noted(self._place.directory / "modules")
            return shape

        self._place.prepare(tideate)

    def cases(self, tree: Tree, chosen: list[Command], first: int, seconds: float) -> Iterator[Outcome]:
        """Try some commands with one tree; the state alternates."""
        self._seconds = seconds
        self._place.make_hostile(list(tree.malices))
        for at, command in enumerate(chosen):
            if not self._place.is_as_planted():
                self._place.make_hostile(list(tree.malices))
            yield self._case(tree, command, used=(first + at) % 2 == 0)

    def _case(self, tree: Tree, command: Command, *, used: bool) -> Outcome:
        place = self._place
        place.give_state(used=used)
        self._programs.skip()
        ended = self._run(command.line(place), place.project, command.talk(), command.interrupt)
        problems = [
            *_problems(ended, self._seconds, interrupted=bool(command.interrupt)),
            *(f"started: {one}" for one in self._programs.foreign()),
            *place.changed(command.may_change),
        ]
        state = "used" if used else "new"
        return Outcome(tree.text, command.text, state, ended.seconds, ended.mib, tuple(problems))

    def _run(
        self, line: list[str], directory: Path, talk: list[bytes] | None = None, interrupt: float = 0
    ) -> Ended:
        place = self._place

        def work() -> None:
            if line[0] in bad_commands.BY_NAME:
                bad_commands.BY_NAME[line[0]](place)
                return
            from tideate_core.cli.__main__ import main

            sys.argv = ["tideate", *line]
            try:
                main()
            finally:
                if not place.is_prepared:
                    note_modules(place.directory / "modules")

        return run_forked(
            work,
            place.scratch if place.scratch.is_dir() else place.directory,
            place.environment(),
            directory,
            within=self._seconds,
            talk=talk,
            interrupt=interrupt,
        )


def _problems(ended: Ended, seconds: float, *, interrupted: bool) -> list[str]:
    told = []
    if ended.status is None:
        told.append(f"time: no answer within {seconds:g} s")
    elif ended.status not in (*STATUSES, *([INTERRUPTED] if interrupted else [])):
        told.append(f"status: {ended.status}: {_last_line(ended.err)}")
    if ended.mib >= MIB:
        told.append(f"memory: {ended.mib} MiB")
    if b"Traceback (most recent call last)" in ended.out + ended.err:
        told.append(f"traceback: {_last_line(ended.err)}")
    if SECRET.encode() in ended.out + ended.err:
        told.append("told: a secret of the home")
    if b"\x1b" in ended.err or b"\x1b" in ended.out:
        told.append("told: an escape sequence")
    return [*told, *(f"left: {one}" for one in ended.left)]


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def answer_jobs(outcomes: Callable[[Any], Iterator[Outcome]]) -> None:
    """Read jobs and write their outcomes; the runner checks its servers in between."""
    print("ready", flush=True)
    while line := sys.stdin.readline():
        for outcome in outcomes(json.loads(line)):
            print(json.dumps(outcome.as_json()), flush=True)
            sys.stdin.readline()
        print(flush=True)


def make_worker() -> tuple[Place, ShellWorker, Programs]:
    """Create a worker's objects from its arguments."""
    directory, log, model_url, evil_url = sys.argv[1:]
    adopt_orphans()
    import_tideate()
    place, programs = Place(Path(directory), model_url, evil_url), Programs(Path(log))
    worker = ShellWorker(place, programs)
    worker.prepare()
    return place, worker, programs


def main() -> None:
    """Run jobs until the runner stops."""
    place, worker, _ = make_worker()
    every, made = commands(), trees(place.forged)

    def outcomes(job: tuple[int, list[int | str], float]) -> Iterator[Outcome]:
        tree, chosen, seconds = job
        lines = [Command((one,)) if isinstance(one, str) else every[one] for one in chosen]
        return worker.cases(made[tree], lines, tree, seconds)

    try:
        answer_jobs(outcomes)
    finally:
        place.clean()


if __name__ == "__main__":
    main()
