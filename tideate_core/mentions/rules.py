"""Rules files of a project (`AGENTS.md`, `CLAUDE.md`, `.cursor/rules/`, …): which there are, and their texts.

They are words for a model, written by anyone who could write to the project. They are read as regular files
without a link on their way, bounded, with what is unsaved in the editor.
"""

from __future__ import annotations

import asyncio
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.errors import NotText, OutsideRoot, TideateError, UnusableFile
from tideate_core.mentions.front_matter import read_front_matter
from tideate_core.mentions.items import head
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name
from tideate_core.project import config_dir, list_documents, read_document
from tideate_core.util.globs import fits_any, is_pattern, split_patterns
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tideate_core.workspace import Workspace

__all__ = ["LONGEST_RULES", "FoundRules", "RulesFile", "RulesFinder"]

LARGEST: Final = 256 * 1024
"""Bytes of a rules file; a larger one is left out."""
LONGEST_RULES: Final = 24_000
"""Characters of one file that are kept; the rest is cut off."""
MOST_FILES: Final = 100
"""Files of one directory of rules, or of one pattern of the configuration."""
DEEPEST: Final = 3
"""Directories below a directory of rules that are entered."""
IN_DIRECTORIES: Final = ("AGENTS.md", "CLAUDE.md")
"""Looked for in each directory from the root down to a file."""
IN_ROOT: Final = (".cursorrules", ".github/copilot-instructions.md")
CURSOR: Final = (".cursor/rules", ".mdc")
COPILOT: Final = (".github/instructions", ".md")


@dataclass(frozen=True, slots=True)
class RulesFile:
    """One rules file, as it was read."""

    path: str
    """Relative to the root; of the person's own file with `~`."""
    text: str
    """Without front matter and characters that are not seen; empty while `secret` was not agreed to."""
    lines: int = 0
    """Of the whole text."""
    patterns: tuple[str, ...] = ()
    """Of the paths that it is for; none: for all of them."""
    on_request: bool = False
    """It is sent with no file; who works on what it is about may open it."""
    about: str = ""
    """What it is about, in its own words."""
    secret: str = ""
    """In words why it seems to hold a secret."""
    own: bool = False
    """The person's, not the project's."""

    def is_for(self, paths: Sequence[str]) -> bool:
        """Tell whether it is sent with work on these paths of the project."""
        if self.on_request:
            return False
        return not self.patterns or any(fits_any(self.patterns, path) for path in paths)


@dataclass(slots=True)
class FoundRules:
    """Rules files of one place, and in words what was left out there."""

    files: list[RulesFile] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class RulesFinder:
    """Find the rules files of a project.

    :param named: more of them, from the configuration: a name is looked for in each directory, a path or a
        pattern in the root.
    """

    def __init__(self, workspace: Workspace, named: Iterable[str] = ()) -> None:
        self._workspace = workspace
        self._named = tuple(named)
        self._in_directories = (
            *IN_DIRECTORIES,
            *(one for one in self._named if "/" not in one and not is_pattern(one)),
        )

    async def of_root(self) -> FoundRules:
        """Return the person's own file and those of the root, for whatever path they are."""
        found = FoundRules()
        found.files += await asyncio.to_thread(_own_file, found.problems)
        names = await asyncio.to_thread(self._names_in_root, found.problems)
        names += await self._fitting(found.problems)
        await self._read_into(found, names)
        return found

    async def of_directory(self, directory: str) -> FoundRules:
        """Return those of one directory below the root.

        :param directory: relative to the root, with ``/``.
        """
        found = FoundRules()
        await self._read_into(found, [f"{directory}/{name}" for name in self._in_directories])
        return found

    async def reread(self, rules: RulesFile) -> RulesFile:
        """Return one that holds a secret with its text, which nobody keeps.

        :raises TideateError: it cannot be read any more.
        """
        if rules.own:
            text = await asyncio.to_thread(_read_own)
        else:
            text = await self._read(rules.path)
        return replace(_parsed(rules.path, text), secret=rules.secret, own=rules.own)

    async def _read_into(self, found: FoundRules, names: Iterable[str]) -> None:
        links = HardLinks(self._workspace.root)
        for name in dict.fromkeys(names):
            try:
                rules = _parsed(name, await self._read(name))
                why = await asyncio.to_thread(_why_secret, rules, links, self._workspace.resolve(name))
            except FileNotFoundError:
                continue
            except UnusableFile as error:
                if not await asyncio.to_thread(self._leads_to_rules, name):
                    found.problems.append(f"{name} was left out: {error.reason}")
            except (NotText, OutsideRoot) as error:
                found.problems.append(f"{name} was left out: {error}")
            else:
                found.files.append(replace(rules, text="", secret=why) if why else rules)

    async def _read(self, name: str) -> str:
        """Return a file's text, unsaved changes included.

        :raises FileNotFoundError: there is none.
        :raises TideateError: it cannot be used; says why.
        """
        root = self._workspace.root
        if root is None:
            raise FileNotFoundError(name)
        content = await asyncio.to_thread(read_document, root, name, LARGEST)
        unsaved = await self._workspace.unsaved(self._workspace.resolve(name))
        return _decoded(name, content) if unsaved is None else unsaved.text

    def _leads_to_rules(self, name: str) -> bool:
        """Tell whether a link leads to a rules file that is read by its own name, here or above."""
        root = self._workspace.root
        if root is None:
            return False
        link, target = root / name, Path(root / name).resolve()
        return (
            target != link
            and target.name in self._in_directories
            and target.is_file()
            and target.is_relative_to(root)
            and link.parent.is_relative_to(target.parent)
        )

    def _names_in_root(self, problems: list[str]) -> list[str]:
        named = [one for one in self._named if "/" in one and not is_pattern(one)]
        root = self._workspace.root
        if root is None:
            return []
        names = [*self._in_directories, *IN_ROOT]
        for directory, ending in (CURSOR, COPILOT):
            try:
                below = sorted(_below(root, directory, ending, problems))
            except UnusableFile as error:
                problems.append(f"{directory}/ was left out: {error.reason}")
                continue
            if len(below) > MOST_FILES:
                problems.append(f"{directory}/ has {len(below)} rules; the first {MOST_FILES} were read")
            names += below[:MOST_FILES]
        return [*names, *named]

    async def _fitting(self, problems: list[str]) -> list[str]:
        """Return the project's files that the configuration names by a pattern."""
        patterns = [one for one in self._named if is_pattern(one)]
        if not patterns:
            return []
        fitting = [path for path in await self._workspace.list() if fits_any(patterns, path)]
        shown = [path for path in fitting if path.isprintable()]
        if len(shown) > MOST_FILES:
            many = f"{len(shown):,} files fit the patterns of rules"
            problems.append(f"{many}; the first {MOST_FILES} were read")
        return shown[:MOST_FILES]


def _below(root: Path, directory: str, ending: str, problems: list[str], depth: int = 0) -> Iterator[str]:
    for name in list_documents(root, directory):
        path = f"{directory}/{name}"
        if not name.isprintable():  # it may not even be text
            problems.append(f"{path!a} was left out: its name has characters that are not shown")
        elif name.endswith(ending):
            yield path
        elif depth < DEEPEST and (root / path).is_dir() and not (root / path).is_symlink():
            yield from _below(root, path, ending, problems, depth + 1)


def _parsed(path: str, text: str) -> RulesFile:
    """Return a file's rules; the front matter counts where the tool whose file it is reads one."""
    patterns: tuple[str, ...] = ()
    on_request, about = False, ""
    if PurePosixPath(path).is_relative_to(CURSOR[0]) or PurePosixPath(path).is_relative_to(COPILOT[0]):
        keys, text = read_front_matter(text)
        given = [*keys.get("globs", ()), *keys.get("applyTo", ())]
        if keys.get("alwaysApply") != ["true"]:
            patterns = tuple(pattern for one in given for pattern in split_patterns(one))
            on_request, about = not patterns, " ".join(keys.get("description", []))
    text = _seen(text).strip()
    lines = text.count("\n") + 1
    return RulesFile(path, head(text, LONGEST_RULES), lines, patterns, on_request, _seen(about))


def _seen(text: str) -> str:
    """Return a text without what a person who reads it does not see: words could be hidden in that."""
    if text.isascii():
        return text
    return "".join(one for one in text if unicodedata.category(one) not in ("Cf", "Co", "Cn"))


def _decoded(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotText(f"it is not UTF-8 at byte {error.start}") from error
    if "\0" in text:
        raise NotText(f"{name} is binary")
    return text.replace("\r\n", "\n")


def _why_secret(rules: RulesFile, links: HardLinks, path: Path) -> str:
    return secret_name(rules.path) or secret_in(rules.text) or links.reason(path)


def _own_path() -> Path:
    return config_dir() / "AGENTS.md"


def _own_file(problems: list[str]) -> list[RulesFile]:
    """Return the person's own rules, if there are any; how they are linked is their own matter."""
    path = _own_path()
    shown = f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
    try:
        rules = replace(_parsed(shown, _read_own()), own=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, TideateError) as error:
        problems.append(f"{shown} was left out: {error}")
        return []
    why = secret_in(rules.text)
    return [replace(rules, text="", secret=why) if why else rules]


def _read_own() -> str:
    path = _own_path()
    content = read_regular(path, LARGEST + 1)
    if len(content) > LARGEST:
        raise UnusableFile(path, f"it is larger than {LARGEST // 1024} KiB")
    return _decoded(str(path), content)
