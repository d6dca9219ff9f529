"""Resolve mentions into context items, with consent for probable secrets."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ContextResolutionError, TideateError
from tideate_core.mentions.extraction import BUILT_IN, extract, parse_reference
from tideate_core.mentions.items import ContextItem, Surroundings, fit_to_budget, format_items
from tideate_core.mentions.mapping import read_context_map
from tideate_core.mentions.secrets import secret_in, secret_name
from tideate_core.mentions.sources import Sources
from tideate_core.workspace import MAX_BYTES, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from pathlib import Path

    from tideate_core.mentions.items import ContextKind
    from tideate_core.mentions.mapping import Target

_NEEDS: Final = {"@buffer": "text", "@selection": "selection", "@diagnostics": "diagnostics"}
"""The attribute of `Surroundings` that a mention needs."""


@dataclass(frozen=True, slots=True)
class MentionDescription:
    """Description of an available mention and its target."""

    mention: str
    points_to: str
    """A path with an optional heading, the beginning of a text, or the description of a built-in mention."""
    type: ContextKind | None
    """None for built-in mentions, whose type varies."""
    exists: bool
    built_in: bool = False
    note: str = ""
    """Why it cannot be resolved or needs consent."""


class ContextResolver:
    """Resolver of mentions in one project; `context.json` is read once.

    :param root: the project's root; without one, only the editor's surroundings can be mentioned.
    :param workspace: the source of files; by default, the root's saved files.
    :param around: the editor's buffer, selection and diagnostics.
    :param budget: tokens of all items of a call, at four characters each; None for no limit.
    :param max_bytes: bytes read of a file; the rest is cut.
    """

    def __init__(
        self,
        root: Path | None,
        *,
        workspace: Workspace | None = None,
        around: Surroundings | None = None,
        budget: int | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._workspace = workspace or Workspace(root)
        self._around = around or Surroundings()
        self._budget = budget
        self._sources = Sources(self._workspace, self._around, max_bytes)

    @cached_property
    def _targets(self) -> dict[str, Target]:
        return read_context_map(self._workspace.root)

    def extract_mentions(self, text: str) -> list[str]:
        """Return the distinct mentions in a text, known or not, in order.

        :raises ConfigError: `context.json` is malformed.
        """
        # without a mention, errors in the configuration do not matter
        return extract(text, self._targets) if "@" in text else []

    def get_available_mentions(self) -> list[str]:
        """Return the names in `context.json`, in order.

        :raises ConfigError: `context.json` is malformed.
        """
        return list(self._targets)

    async def resolve(self, mention: str, *, consented: bool = False) -> ContextItem:
        """Resolve a mention into a context item.

        A probable secret has no content and `needs_consent` set until the person consents.

        :param consented: the person consented to this mention.
        :raises ContextResolutionError: the mention is unknown (with the nearest name), or has no content.
        :raises OutsideRoot: the path is outside the root.
        :raises NotText: the file is binary or not UTF-8.
        :raises WorkspaceError: the file cannot be read.
        :raises ConfigError: `context.json` is malformed.
        """
        return fit_to_budget([await self._read_with_consent(mention, consented)], self._budget)[0]

    async def resolve_all(
        self,
        mentions: Iterable[str],
        *,
        consented: Container[str] = (),
        on_error: Callable[[str, TideateError], None] | None = None,
    ) -> list[ContextItem]:
        """Resolve distinct mentions, in order, within a shared budget.

        :param consented: mentions that the person consented to.
        :param on_error: called for each mention that cannot be resolved; by default, the first one raises.
        """
        items = []
        for mention in dict.fromkeys(mentions):
            try:
                items.append(await self._read_with_consent(mention, mention in consented))
            except TideateError as error:
                if on_error is None:
                    raise
                on_error(mention, error)
        return fit_to_budget(items, self._budget)

    def format_for_prompt(self, contexts: Sequence[ContextItem]) -> str:
        """Format items for a prompt; see `items.format_items`."""
        return format_items(contexts)

    async def describe(self) -> list[MentionDescription]:
        """Describe all available mentions: configured, then built-in.

        :raises ConfigError: `context.json` is malformed.
        """
        configured = [await self._describe(name, target) for name, target in self._targets.items()]
        return [*configured, *(self._describe_built_in(name) for name in BUILT_IN)]

    async def _read_with_consent(self, mention: str, consented: bool) -> ContextItem:
        """Resolve a mention; without consent, omit the content of a probable secret."""
        item = await self._read(mention)
        why = await self._secret_reason(item, self._written_path(mention))
        if not why:
            return item
        content = item.content if consented else ""
        return replace(item, reason=why, needs_consent=not consented, content=content)

    def _written_path(self, mention: str) -> str:
        """Return the path as written, which differs from the resolved path of a link."""
        if reference := parse_reference(mention):
            return reference.path
        return "" if mention in BUILT_IN else self._targets[mention].path

    async def _read(self, mention: str) -> ContextItem:
        # built-in mentions work even if `context.json` is malformed
        item = await self._sources.read(mention)
        if item is not None:
            return item
        target = self._targets.get(mention)
        if target is None:
            raise ContextResolutionError(mention, known=[*self._targets, *BUILT_IN])
        if target.text is not None:
            return ContextItem(mention, "", target.text, "variable", "a text of .tideate/context.json")
        return await self._sources.files.read(mention, target.path)

    async def _secret_reason(self, item: ContextItem, written: str) -> str:
        """Return why an item is a probable secret; empty if it is not."""
        found = secret_name(item.path) or secret_name(written) or item.reason or secret_in(item.content)
        root = self._workspace.root
        if found or root is None or not item.path:
            return found
        return await asyncio.to_thread(self._sources.links.reason, root / item.path)

    async def _describe(self, name: str, target: Target) -> MentionDescription:
        if target.text is not None:
            return MentionDescription(name, " ".join(target.text.split())[:80], "variable", exists=True)
        kind: ContextKind = "section" if "#" in target.path else "file"
        try:
            item = await self._sources.files.read(name, target.path)
        except TideateError as error:
            return MentionDescription(
                name, target.path, kind, exists=False, note=str(error).removeprefix(f"{name}: ")
            )
        note = (
            f"asked about before it is used: {why}"
            if (why := await self._secret_reason(item, target.path))
            else ""
        )
        return MentionDescription(name, target.path, item.type, exists=True, note=note)

    def _describe_built_in(self, name: str) -> MentionDescription:
        needed, root = _NEEDS.get(name), self._workspace.root
        if needed is not None:
            exists = getattr(self._around, needed) is not None
        elif name == "@diff":
            exists = root is not None and any((place / ".git").exists() for place in (root, *root.parents))
        else:
            exists = root is not None
        return MentionDescription(name, BUILT_IN[name], None, exists, built_in=True)
