"""Collect material for a prompt: resolved mentions, project rules and similar earlier runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from tideate_core.engine.context.memory import ASKED, MENTIONS, RUN
from tideate_core.engine.families import rolled_back_runs
from tideate_core.errors import ConfigError, ContextResolutionError, TideateError
from tideate_core.project import project_state
from tideate_core.store import Reader
from tideate_core.util.escaping import label
from tideate_core.util.json_digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tideate_core.adapters import Prompt
    from tideate_core.mentions import ContextItem, ContextResolver, Surroundings
    from tideate_core.workflows import ModelAccess, PersonAccess, RunContext, StepContext


BRIEF_TOKENS = 200
"""Tokens of an answer of the demonstration model."""
SHARE: Final = 4
"""Divisor of the model's window that gives the share of material."""
DEMONSTRATION: Final = 300
"""Tokens of material for the bundled model, which reads 250 a second."""
MOST_NEAR: Final = 20
"""Candidates for the most similar earlier runs."""
NEAREST: Final = 2
"""Earlier runs in a prompt."""
EARLIER_TOKENS: Final = 1500
"""Tokens of earlier runs in a prompt."""
SHORT: Final = 8
"""Digits of a run's id in a mention."""
DIVIDER: Final = "\n\n---\n\n"
_FILLED_IN: Final = re.compile(r'(?P<kind>@(?:diff|file|symbols|tree)):"?\{\{')


@dataclass(frozen=True, slots=True)
class _Written:
    """Mentions written by people; mentions in a model's answer are ignored."""

    mentions: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    """Kinds of mentions with a path from a template: `@file:{{ item }}`."""

    def has(self, mention: str) -> bool:
        return mention in self.mentions or mention.partition(":")[0] in self.kinds

    def __or__(self, other: _Written) -> _Written:
        return _Written(self.mentions | other.mentions, self.kinds | other.kinds)


# a nested run's prompt and inputs may come from a model: people's mentions are passed on explicitly
_passed_on: ContextVar[_Written | None] = ContextVar("mentions_passed_on", default=None)


def tell_truncated(step: StepContext) -> None:
    """Tell the user that an answer was cut off; the demonstration model's answer ends at a sentence."""
    end = "; it ends at its last whole sentence" if step.demonstration else ""
    step.notice(f"the answer was cut off at the model's length limit{end}", level="warn")


def brief(step: ModelAccess, prompt: Prompt) -> Prompt:
    """Limit the answer of the demonstration model, which would repeat itself."""
    return replace(prompt, max_tokens=BRIEF_TOKENS) if step.demonstration else prompt


async def with_material(
    step: StepContext,
    prompt: Prompt,
    text: str | None = None,
    *,
    paths: Sequence[str] | None = None,
    rules: bool = True,
) -> Prompt:
    """Return a prompt that starts with the project's rules and the material that a text mentions.

    :param text: the text with mentions; None: the run's prompt.
    :param paths: files whose rules apply; None: the run's buffer.
    :param rules: False: leave out the project's rules.
    """
    asked = step.prompt if text is None else text
    found = await rules_and_material(step, asked, paths) if rules else await material(step, asked)
    return before(prompt, found)


async def rules_and_material(step: StepContext, text: str, paths: Sequence[str] | None = None) -> str:
    """Return the project's rules and the material that a text mentions; see `with_material`."""
    from tideate_core.agents import project_rules

    if paths is None:
        buffer = step.context.buffer
        paths = [buffer.path] if buffer is not None and buffer.path else []
    return DIVIDER.join(filter(None, (await project_rules(step, paths), await material(step, text))))


def before(prompt: Prompt, found: str) -> Prompt:
    """Prepend material to a prompt; unchanged if there is none."""
    return replace(prompt, user=f"{found}{DIVIDER}{prompt.user}") if found else prompt


async def material(step: StepContext, text: str, given: ContextResolver | None = None) -> str:
    """Return the material that a text mentions; empty without mentions.

    Mentions of the run's prompt are resolved once for the run, others once for the step; a resumed run gets
    the same material. An unresolvable mention stays in the text, with a notice. The person is asked about
    secrets, which are never stored with the run but read again.

    :param given: the resolver; None: the run's.
    """
    if "@" not in text:
        return ""
    resolver = given or _resolver(step)
    written = _written(step, resolver)
    mentioned = [one for one in _mentions(resolver, text, written) if written.has(one)]
    of_run = [one for one in _extract(resolver, step.prompt) if written.has(one)]
    items: list[ContextItem] = []
    if any(one in of_run for one in mentioned):
        once = step.choose_for_run
        resolve = partial(_resolve, step, of_run, material_budget(step), given)
        kept = await once(MENTIONS, digest_of(of_run), resolve)
        items += [await _revived(step, resolver, one) for one in kept if one["mention"] in mentioned]
    rest = [one for one in mentioned if one not in of_run]
    if rest:
        left = material_budget(step) - sum(item.tokens for item in items)
        resolve = partial(_resolve, step, rest, left, given)
        kept = await step.choose_once(MENTIONS, digest_of(rest), resolve)
        items += [await _revived(step, resolver, one) for one in kept]
    return resolver.format_for_prompt(items)


async def earlier_runs(step: StepContext) -> str:
    """Return the most similar earlier runs of the project, chosen once for the run; empty without any.

    The person did not mention them: a run that may hold a secret is left out without a question.
    """
    if step.workspace.root is None or step.memory_of is None:
        return ""
    from tideate_core.mentions import ContextItem

    digest = digest_of(step.prompt, step.memory_of)
    kept = await step.choose_for_run(f"earlier_runs:{digest}", digest, partial(_nearest, step))
    items = [ContextItem(**one) for one in kept]
    return f"Earlier runs like this one.\n\n{_resolver(step).format_for_prompt(items)}" if items else ""


async def _nearest(step: StepContext) -> list[dict[str, Any]]:
    resolver = _resolver(step, min(EARLIER_TOKENS, material_budget(step)))

    def report(_mention: str, error: TideateError) -> None:
        step.notice(f"an earlier run was left out: {error}", level="warn")

    try:
        found = await asyncio.to_thread(_near_mentions, step)
    except TideateError as error:  # the run continues without its memory
        step.notice(f"earlier runs were left out: {error}", level="warn")
        return []
    read = await resolver.resolve_all(found, on_error=report)
    items = [item for item in read if not item.needs_consent]
    if items:
        listed = ", ".join(f"{one.mention} ({one.source}, ~{one.tokens} tokens)" for one in items)
        step.notice(f"memory: {listed}")
    return [asdict(item) for item in items]


def _near_mentions(step: StepContext) -> list[str]:
    """Return the nearest runs as mentions, without rolled back ones; blocking."""
    workspace = step.workspace
    private = workspace.private or project_state(workspace.root)
    reader = Reader(private)
    near: dict[str, str] = {}
    sources = {own.forked_from for own in reader.runs_named([step.execution_id])}
    for run in reader.near(step.prompt)[:MOST_NEAR]:
        family = {run: [run, *(one.id for one in reader.within(run))]}
        mention, prompt = f"@run:{run[:SHORT]}", reader.texts(run)[0]
        # text sent to one provider must not reach another
        others = set(reader.memos_of(run, RUN, ASKED)) != {step.memory_of}
        dropped = others or run in sources or mention in step.prompt
        if dropped or rolled_back_runs(workspace.root, private, family):
            continue
        near.setdefault(prompt, mention)  # one of several runs with the same prompt
        if len(near) == NEAREST:
            break
    return list(near.values())


def surroundings_of(context: RunContext) -> Surroundings:
    """Return the values of `@buffer`, `@selection` and `@diagnostics` in a run."""
    from tideate_core.mentions import Diagnostic, Surroundings

    buffer, selection, found = context.buffer, context.selection, context.diagnostics
    return Surroundings(
        text=buffer.text if buffer else None,
        path=buffer.path if buffer else "",
        filetype=buffer.filetype if buffer else "",
        selection=(selection.start, selection.end) if selection else None,
        diagnostics=None if found is None else tuple(Diagnostic(**one.model_dump()) for one in found),
    )


@contextmanager
def passing_on(step: StepContext) -> Iterator[None]:
    """Pass the mentions that people wrote on to a nested run."""
    token = _passed_on.set(_written(step, _resolver(step)))
    try:
        yield
    finally:
        _passed_on.reset(token)


def material_budget(step: ModelAccess) -> int:
    """Return the tokens of a prompt available for material."""
    limits = [step.mention_tokens, *([DEMONSTRATION] if step.demonstration else [])]
    return min(*limits, step.context_tokens // SHARE) if step.context_tokens else min(limits)


def _resolver(step: StepContext, budget: int | None = None) -> ContextResolver:
    # imported here: few prompts have mentions
    from tideate_core.mentions import ContextResolver

    workspace = step.workspace
    return ContextResolver(
        workspace.root,
        workspace=workspace,
        around=replace(surroundings_of(step.context), run=step.execution_id),
        budget=budget,
        max_bytes=workspace.max_bytes,
    )


def _extract(resolver: ContextResolver, text: str) -> list[str]:
    from tideate_core.mentions import extract

    try:
        return resolver.extract_mentions(text)
    except ConfigError:
        return extract(text)  # unreadable names are reported when a mention is resolved


def _mentions(resolver: ContextResolver, text: str, written: _Written) -> list[str]:
    """Return the mentions of a text, including people's mentions inside a model's code."""
    hidden = sorted((one for one in written.mentions if one in text), key=text.index)
    return list(dict.fromkeys([*_extract(resolver, text), *hidden]))


def _written(step: StepContext, resolver: ContextResolver) -> _Written:
    passed_on = _passed_on.get()
    own = [] if passed_on is not None else [step.prompt, *_texts(step.inputs)]
    texts = [text for text in (*own, *_texts(step.definition)) if "@" in text]
    mentions = frozenset(one for text in texts for one in _extract(resolver, text))
    kinds = frozenset(match["kind"] for text in texts for match in _FILLED_IN.finditer(text))
    return _Written(mentions, kinds) | (passed_on or _Written())


def _texts(value: Any) -> Iterable[str]:
    """Yield all texts of a JSON value or a definition."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


async def _resolve(
    step: StepContext, mentions: list[str], budget: int, given: ContextResolver | None
) -> list[dict[str, Any]]:
    """Resolve mentions, ask about secrets, and report the outcome of each."""
    resolver = given or _resolver(step, budget)
    reported: set[str] = set()

    def report(mention: str, error: TideateError) -> None:
        words = str(error)
        if words not in reported:
            reported.add(words)
            unknown = isinstance(error, ContextResolutionError)
            message = f"{words}; it stays a word of the prompt"
            step.notice(message, level="info" if unknown else "warn", unresolved=mention)

    items = await resolver.resolve_all(mentions, on_error=report)
    agreed = [item.mention for item in items if item.needs_consent and await _agreed(step, item)]
    if agreed:
        items = await resolver.resolve_all(mentions, consented=agreed, on_error=report)
    _announce(step, items)
    return [_kept(item) for item in items]


async def _agreed(step: PersonAccess, item: ContextItem) -> bool:
    """Ask whether a secret may go to the model; only a person can agree, never a policy."""
    decision = await step.confirm(
        "gate",
        f"Give {label(item.mention)} to the model? {item.reason[:1].upper()}{item.reason[1:]}.",
        details=f"{item.source}\n\nIf you decline, the run continues without it.",
        permission=True,
    )
    return decision.accepted and decision.by == "user"


def _announce(step: PersonAccess, items: list[ContextItem]) -> None:
    given = [item for item in items if not item.needs_consent]
    if given:
        listed = ", ".join(f"{one.mention} ({one.source or 'a text'}, ~{one.tokens} tokens)" for one in given)
        step.notice(f"given to the model: {listed}")
    for item in items:
        if item.needs_consent:
            words = f"{item.mention} was left out: {item.reason}, and no person agreed to send it"
            step.notice(words, level="warn")
        elif item.cut:
            step.notice(f"{item.mention}: {item.cut}", level="warn")


def _kept(item: ContextItem) -> dict[str, Any]:
    """Return an item as it is stored; a secret is stored without its text, with its length only."""
    secret = bool(item.reason)
    return {**asdict(item), "content": "" if secret else item.content, "length": len(item.content)}


async def _revived(step: ModelAccess, resolver: ContextResolver, kept: Mapping[str, Any]) -> ContextItem:
    from tideate_core.mentions import ContextItem

    item = ContextItem(**{key: value for key, value in kept.items() if key != "length"})
    if not item.reason or item.needs_consent:
        return item
    try:
        read = await resolver.resolve(item.mention, consented=True)
    except TideateError as error:
        return replace(item, needs_consent=True, unread=f"it cannot be read any more ({error})")
    step.allow_secrets(read.content)
    return replace(item, content=read.content[: kept["length"]])
