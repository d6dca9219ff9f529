"""Facts about a bundle, as lines of text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.app.bundles import BundleHere

MANY: Final = 10
"""Maximum files of a list; the rest is counted."""


def bundle_lines(here: BundleHere) -> Iterator[str]:
    """Yield the facts about a bundle and a project, for a person who decides whether to open it."""
    facts = here.facts
    yield f"run       {facts.run} of {label(facts.workflow)}, {facts.state}"
    if facts.prompt:
        yield f"prompt    {' '.join(facts.prompt.split())}"
    if facts.question:
        yield f"asks      {' '.join(facts.question.split())}"
    steps = f" of {facts.total_steps}" if facts.total_steps else ""
    yield f"steps     {facts.completed_steps}{steps} completed"
    if facts.adapter:
        yield f"model     {label(facts.adapter)}"
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.made_at / 1000))
    yield f"created   {made} by tideate {facts.version}, in the project {label(facts.project)}"
    yield f"base      {_base(here)}"
    yield from _named("wrote", facts.written)
    yield from _named("read", facts.read)
    yield from _named("differ", here.differs, " here; a merge or the next step uses the content here")
    yield from _named("left out", facts.left)
    for words in here.executed:
        yield f"caution   {label(words)}"
    if facts.answers:
        yield f"answers   {facts.answers} accepted; the run acts on them after `tideate resume`"
    yield f"size      {facts.size / 1024:,.0f} KiB"


def _base(here: BundleHere) -> str:
    if here.facts.base is None:
        return "no commit"
    known = "in this repository" if here.has_base else "not in this repository"
    return f"commit {here.facts.base[:12]}, {known}"


def _named(head: str, names: tuple[str, ...], more: str = "") -> Iterator[str]:
    if not names:
        return
    rest = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    yield f"{head:9} {', '.join(map(label, names[:MANY]))}{rest}{more}"
