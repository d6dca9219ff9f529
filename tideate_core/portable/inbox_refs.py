"""Names of the refs of published runs, answers and marks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Namespace(StrEnum):
    """Prefix of the refs on a remote."""

    REFS = "refs/tideate"
    BRANCHES = "refs/heads/tideate"


PATTERNS: Final = tuple(f"{space}/{kind}/*" for space in Namespace for kind in ("runs", "answers", "taken"))
"""Patterns of all refs of the inbox."""
_REF: Final = re.compile(
    r"(?P<space>refs/(?:heads/)?tideate)/(?:runs/(?P<run>[0-9a-f]{32})"
    r"|(?P<kind>answers|taken)/(?P<of>[0-9a-f]{32})/(?P<n>[1-9][0-9]{0,4}))"
)


@dataclass(frozen=True, slots=True)
class RunRefs:
    """The refs of one published run."""

    run: str
    space: Namespace
    commit: str
    """The commit of its current question."""
    answers: Mapping[int, str]
    """Commits by the number of the question."""
    taken: Mapping[int, str]
    """Commits of the marks that the run was continued, by the number of the question."""

    def of_question(self, n: int) -> list[str]:
        """Return the commits of the answer and the mark to a question."""
        return [found[n] for found in (self.answers, self.taken) if n in found]

    def notices(self, n: int) -> list[str]:
        """Return a notice about answers and marks to questions that the run has not asked.

        :param n: number of its last question.
        """
        count = sum(at > n for found in (self.answers, self.taken) for at in found)
        words = f"run {self.run[:8]}: {count:,} refs answer questions that it has not asked, and do not count"
        return [f"{words}; `tideate inbox prune` removes them after its end"] if count else []

    def names(self) -> dict[str, str]:
        """Return the commits of all its refs by name, by the number of the question."""
        found = {run_ref(self.space, self.run): self.commit}
        for n in sorted({*self.answers, *self.taken}):
            for ref, commits in ((answer_ref, self.answers), (taken_ref, self.taken)):
                if n in commits:
                    found[ref(self.space, self.run, n)] = commits[n]
        return found


@dataclass(frozen=True, slots=True)
class RemoteInbox:
    """All refs of the inbox of a remote."""

    runs: Mapping[str, RunRefs]
    orphaned: Mapping[str, str]
    """Answers and marks without a run, with their commits."""


def run_ref(space: Namespace, run: str) -> str:
    """Return the name of the ref of a published run."""
    return f"{space}/runs/{run}"


def answer_ref(space: Namespace, run: str, n: int) -> str:
    """Return the name of the ref of the answer to a question of a run."""
    return f"{space}/answers/{run}/{n}"


def taken_ref(space: Namespace, run: str, n: int) -> str:
    """Return the name of the ref of the mark that a run was continued after a question."""
    return f"{space}/taken/{run}/{n}"


def sort_refs(found: Mapping[str, str]) -> RemoteInbox:
    """Group the refs of a remote by run; a run below `refs/tideate` takes precedence over a branch."""
    runs: dict[str, RunRefs] = {}
    beside: dict[str, dict[tuple[str, str], dict[int, str]]] = {space: {} for space in Namespace}
    for ref, commit in sorted(found.items(), reverse=True):
        match = _REF.fullmatch(ref)
        if match is None:
            continue
        if match["run"]:
            there = beside[match["space"]]
            answers = there.setdefault(("answers", match["run"]), {})
            taken = there.setdefault(("taken", match["run"]), {})
            refs = RunRefs(match["run"], Namespace(match["space"]), commit, answers, taken)
            runs.setdefault(match["run"], refs)
        else:
            beside[match["space"]].setdefault((match["kind"], match["of"]), {})[int(match["n"])] = commit
    kept = {name for one in runs.values() for name in one.names()}
    orphaned = {ref: commit for ref, commit in found.items() if _REF.fullmatch(ref) and ref not in kept}
    return RemoteInbox(runs, orphaned)
