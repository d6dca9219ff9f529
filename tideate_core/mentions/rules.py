"""Find and read the rules files of a project (`AGENTS.md`, `CLAUDE.md`, `.cursor/rules/`, …).

They are untrusted instructions for a model: any author of the project may have written them. Only regular
files
without links in their paths are read, up to a limit, including unsaved changes in the editor.
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

LARGEST: Final = 256 * 1024
"""Bytes of a rules file; a larger one is left out."""
LONGEST_RULES: Final = 24_000
"""Characters kept of one file."""
MOST_FILES: Final = 100
"""Files of one rules directory, or of the configured patterns."""
DEEPEST: Final = 3
"""Levels of subdirectories of a rules directory."""
IN_DIRECTORIES: Final = ("AGENTS.md", "CLAUDE.md")
"""Names searched in each directory from the root down to a file."""
IN_ROOT: Final = (".cursorrules", ".github/copilot-instructions.md")
CURSOR: Final = (".cursor/rules", ".mdc")
COPILOT: Final = (".github/instructions", ".md")


@dataclass(frozen=True, slots=True)
class RulesFile:
    """A rules file as read."""

    path: str
    """Relative to the root; the person's own file starts with `~`."""
    text: str
    """Without front matter and invisible characters; empty until the person consents to a secret."""
    lines: int = 0
    """Lines of the whole text."""
    patterns: tuple[str, ...] = ()
    """Patterns of the paths that it applies to; empty for all paths."""
    on_request: bool = False
    """It is never sent by default; a model may open it by its description."""
    about: str = ""
    """Its own description."""
    secret: str = ""
    """Why it is a probable secret."""
    own: bool = False
    """Whether it is the person's own file, not the project's."""

    def is_for(self, paths: Sequence[str]) -> bool:
        """Tell whether the rules are sent for work on these paths."""
        if self.on_request:
            return False
        return not self.patterns or any(fits_any(self.patterns, path) for path in paths)


@dataclass(slots=True)
class FoundRules:
    """Rules files of one place, and notes on files that were left out."""

    files: list[RulesFile] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class RulesFinder:
    """Finder of a project's rules files.

    :param named: further files from the configuration: a name is searched in each directory, a path or
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
        """Return the person's own rules and the root's rules, for any path."""
        found = FoundRules()
        found.files += await asyncio.to_thread(_own_file, found.problems)
        names = await asyncio.to_thread(self._names_in_root, found.problems)
        names += await self._fitting(found.problems)
        await self._read_into(found, names)
        return found

    async def of_directory(self, directory: str) -> FoundRules:
        """Return the rules of one directory below the root.

        :param directory: relative to the root, with ``/``.
        """
        found = FoundRules()
        await self._read_into(found, [f"{directory}/{name}" for name in self._in_directories])
        return found

    async def reread(self, rules: RulesFile) -> RulesFile:
        """Return a secret rules file with its text, which is not kept in memory.

        :raises TideateError: the file cannot be read.
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

        :raises FileNotFoundError: the file does not exist.
        :raises TideateError: the file cannot be used.
        """
        root = self._workspace.root
        if root is None:
            raise FileNotFoundError(name)
        content = await asyncio.to_thread(read_document, root, name, LARGEST)
        unsaved = await self._workspace.unsaved(self._workspace.resolve(name))
        return _decoded(name, content) if unsaved is None else unsaved.text

    def _leads_to_rules(self, name: str) -> bool:
        """Tell whether a link leads to a rules file that is read anyway, here or in a parent directory."""
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
        """Return the project's files that match configured patterns."""
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
        if not name.isprintable():  # the name may not even be valid UTF-8
            problems.append(f"{path!a} was left out: its name has characters that are not shown")
        elif name.endswith(ending):
            yield path
        elif depth < DEEPEST and (root / path).is_dir() and not (root / path).is_symlink():
            yield from _below(root, path, ending, problems, depth + 1)


def _parsed(path: str, text: str) -> RulesFile:
    """Parse a rules file; only Cursor's and Copilot's files have front matter."""
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
    """Remove invisible characters, which could hide instructions."""
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
    """Return the person's own rules, if any; links are allowed there."""
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
