"""Skills of a project: listing, files, and paths out of their directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import NotText, OutsideRoot, UnusableFile, WorkspaceError
from tideate_core.mentions.skills import Skill, describe_skills, find_skills, read_skill

if TYPE_CHECKING:
    from pathlib import Path

PDF = "---\nname: pdf\ndescription: >-\n  Fill in\n  forms.\n---\n\n# PDF\n\nSee forms.md.\n"


def put(root: Path, name: str, text: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_skills_are_listed_with_names_and_descriptions(root: Path) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    put(root, ".agents/skills/deploy/SKILL.md", "Without front matter.")
    put(root, ".agents/skills/pdf2/SKILL.md", "---\nname: pdf\ndescription: second\n---\n")
    put(root, ".agents/skills/readme.md", "no skill")
    put(root, ".agents/skills/empty/notes.md", "no skill")
    found = find_skills(root)
    assert found == [
        Skill("deploy", "", ".agents/skills/deploy"),
        Skill("pdf", "Fill in forms.", ".claude/skills/pdf"),
    ]
    assert describe_skills(found) == "- deploy: no description\n- pdf: Fill in forms."


def test_a_skill_and_the_files_below_it_can_be_read(root: Path) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    put(root, ".claude/skills/pdf/ref/forms.md", "---\na: b\n---\nfields")
    assert read_skill(root, "pdf") == "# PDF\n\nSee forms.md.\n"
    assert read_skill(root, "pdf", "SKILL.md") == "# PDF\n\nSee forms.md.\n"
    assert read_skill(root, "pdf", "./ref/forms.md") == "---\na: b\n---\nfields"


@pytest.mark.parametrize("file", ["../other.md", "/etc/passwd", "ref/../../x", "a\0b", "."])
def test_no_path_leaves_a_skills_directory(root: Path, file: str) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    put(root, ".claude/skills/other.md", "not below")
    with pytest.raises(OutsideRoot):
        read_skill(root, "pdf", file)


def test_links_are_followed_neither_to_a_skill_nor_to_its_files(root: Path, tmp_path: Path) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    outside = put(tmp_path, "outside/SKILL.md", "---\nname: outside\n---\n").parent
    (root / ".claude/skills/out").symlink_to(outside)
    (root / ".claude/skills/pdf/x.md").symlink_to(outside / "SKILL.md")
    (root / ".agents").symlink_to(outside)
    assert [skill.name for skill in find_skills(root)] == ["pdf"]
    with pytest.raises(UnusableFile, match="it is a link"):
        read_skill(root, "pdf", "x.md")


def test_an_unknown_skill_or_file_is_named(root: Path) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    with pytest.raises(WorkspaceError, match="no skill 'pdff'; did you mean 'pdf'"):
        read_skill(root, "pdff")
    with pytest.raises(WorkspaceError, match=r"the skill 'pdf' has no file 'x\.md'"):
        read_skill(root, "pdf", "x.md")


def test_secrets_and_what_is_no_text_are_refused(root: Path) -> None:
    put(root, ".claude/skills/pdf/SKILL.md", PDF)
    put(root, ".claude/skills/pdf/.env", "A=b")
    put(root, ".claude/skills/pdf/k.md", "ghp_" + "a1" * 20)
    put(root, ".claude/skills/pdf/bin", b"\xff")
    for file, words in ((".env", "usually holds secrets"), ("k.md", "GitHub token")):
        with pytest.raises(UnusableFile, match=words):
            read_skill(root, "pdf", file)
    with pytest.raises(NotText, match="not UTF-8"):
        read_skill(root, "pdf", "bin")


def test_what_a_skill_says_of_itself_is_one_bounded_line(root: Path) -> None:
    put(
        root,
        ".claude/skills/x/SKILL.md",
        "---\nname: |\n  a\u202eb\n  c\ndescription: " + "d" * 5000 + "\n---\n",
    )
    (skill,) = find_skills(root)
    assert (skill.name, len(skill.description)) == ("ab c", 1024)
