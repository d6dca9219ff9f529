"""List and read a project's skills (`.claude/skills/*/SKILL.md`, `.agents/skills/*/SKILL.md`).

A skill has instructions that a model opens when it needs them. They are the project's text: opening a skill
neither runs nor permits anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tideate_core.errors import NotText, OutsideRoot, UnusableFile, WorkspaceError, did_you_mean
from tideate_core.mentions.front_matter import read_front_matter
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name
from tideate_core.project import list_documents, read_document
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DIRECTORIES: Final = (".claude/skills", ".agents/skills")
FILE: Final = "SKILL.md"
MOST: Final = 200
"""Skills of one project."""
LARGEST: Final = 256 * 1024
"""Bytes of a skill's file."""
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1024


@dataclass(frozen=True, slots=True)
class Skill:
    """Name and description of a skill."""

    name: str
    description: str
    """One line; may be empty."""
    directory: str
    """Relative to the root."""


def find_skills(root: Path) -> list[Skill]:
    """Return the skills of a project, sorted by name; blocking.

    If two have the same name, the first one counts, and `.claude/` comes before `.agents/`. Unreadable skills
    are
    ignored.
    """
    skills: dict[str, Skill] = {}
    for directory in _directories(root):
        try:
            skill = _skill(directory, _text(root, f"{directory}/{FILE}"))
        except (FileNotFoundError, UnusableFile, NotText):
            continue
        skills.setdefault(skill.name, skill)
        if len(skills) == MOST:
            break
    return sorted(skills.values(), key=lambda skill: skill.name)


def read_skill(root: Path, name: str, file: str | None = None) -> str:
    """Read the instructions of a skill, or another file in its directory; blocking.

    :param file: relative to the skill's directory; None for `SKILL.md`.
    :raises OutsideRoot: the file is outside the skill's directory.
    :raises WorkspaceError: there is no such skill or file, or it is not text.
    :raises UnusableFile: the file is not regular, too large, a probable secret, or behind a link.
    """
    found = {skill.name: skill for skill in find_skills(root)}
    skill = found.get(name)
    if skill is None:
        raise WorkspaceError(f"there is no skill {name!r}{did_you_mean(name, list(found))}")
    path = f"{skill.directory}/{_below(file or FILE)}"
    try:
        text = _text(root, path)
    except FileNotFoundError as error:
        raise WorkspaceError(f"the skill {name!r} has no file {file!r}") from error
    if why := secret_name(path) or secret_in(text) or HardLinks(root).reason(root / path):
        raise UnusableFile(root / path, why)
    return read_front_matter(text)[1] if file in (None, FILE) else text


def describe_skills(skills: Sequence[Skill]) -> str:
    """Format names and descriptions for a prompt, one a line."""
    return "\n".join(f"- {skill.name}: {skill.description or 'no description'}" for skill in skills)


def _directories(root: Path) -> Iterator[str]:
    for above in DIRECTORIES:
        try:
            names = list_documents(root, above)
        except UnusableFile:
            continue  # a link, or no directory
        yield from (f"{above}/{name}" for name in names)


def _skill(directory: str, text: str) -> Skill:
    keys, _ = read_front_matter(text)
    name = _line(keys.get("name", []), LONGEST_NAME) or _line([directory.rpartition("/")[2]], LONGEST_NAME)
    return Skill(name, _line(keys.get("description", []), LONGEST_DESCRIPTION), directory)


def _line(texts: Sequence[str], longest: int) -> str:
    """Join texts into one line of visible characters."""
    whole = " ".join(" ".join(texts).split())
    return beginning("".join(one for one in whole if one.isprintable()).strip(), longest)


def _below(file: str) -> str:
    parts = PurePosixPath(file).parts
    if not parts or "\0" in file or file.startswith("/") or ".." in parts:
        raise OutsideRoot(f"{file!r} is not a path below the skill's directory")
    return "/".join(parts)


def _text(root: Path, path: str) -> str:
    content = read_document(root, path, LARGEST)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NotText(f"{path} is not UTF-8 at byte {error.start}") from error
