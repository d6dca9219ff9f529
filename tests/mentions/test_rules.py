"""Rules files: selection for a file, and files that are not read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.buffers import Buffers
from tideate_core.mentions.rules import LARGEST, LONGEST_RULES, RulesFile, RulesFinder
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a1" * 20


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the person's configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "tideate"
    path.mkdir(parents=True)
    return path


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        put(root, name, text)


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


async def of_root(root: Path, *named: str) -> list[RulesFile]:
    return (await RulesFinder(Workspace(root), named).of_root()).files


async def problems(root: Path, *named: str) -> list[str]:
    return (await RulesFinder(Workspace(root), named).of_root()).problems


async def test_each_kind_is_found_in_the_root(root: Path, config: Path) -> None:
    put(config, "AGENTS.md", "mine")
    put(root, "AGENTS.md", "agents\n")
    put(root, "CLAUDE.md", "claude")
    put(root, ".cursorrules", "cursor")
    put(root, ".github/copilot-instructions.md", "copilot")
    put(root, ".cursor/rules/all.mdc", "---\nalwaysApply: true\nglobs: *.x\n---\nalways")
    put(root, ".cursor/rules/sub/ts.mdc", "---\ndescription: types\nglobs: *.ts,*.tsx\n---\nts")
    put(root, ".cursor/rules/db.mdc", "---\ndescription: Migrations\nalwaysApply: false\n---\ndb")
    put(root, ".cursor/rules/notes.md", "no rule")
    put(root, ".github/instructions/py.instructions.md", '---\napplyTo: "**/*.py,lib/**"\n---\npython')
    put(root, "CONTEXT.md", "words")
    found = await of_root(root, "CONTEXT.md")
    assert [(one.text, one.patterns, one.on_request) for one in found] == [
        ("mine", (), False),
        ("agents", (), False),
        ("claude", (), False),
        ("words", (), False),
        ("cursor", (), False),
        ("copilot", (), False),
        ("always", (), False),
        ("db", (), True),
        ("ts", ("*.ts", "*.tsx"), False),
        ("python", ("**/*.py", "lib/**"), False),
    ]
    assert [one.own for one in found] == [True] + [False] * 9
    assert found[7].about == "Migrations"


async def test_rules_with_patterns_are_for_the_paths_that_fit(root: Path) -> None:
    put(root, "AGENTS.md", "all")
    put(root, ".github/instructions/py.md", "---\napplyTo: '**/*.{py,pyi}, docs/**'\n---\npython")
    put(root, ".github/instructions/none.md", "for nobody")
    found = await of_root(root)

    def sent(*paths: str) -> list[str]:
        return [one.text for one in found if one.is_for(paths)]

    assert sent() == ["all"]
    assert sent("src/a.pyi") == ["all", "python"]
    assert sent("a.rs", "docs/x/y.md") == ["all", "python"]
    assert sent("a.rs") == ["all"]


async def test_each_directory_has_its_own(root: Path) -> None:
    put(root, "src/AGENTS.md", "of src")
    put(root, "src/CLAUDE.md", "claude of src")
    put(root, "src/CONTEXT.md", "words of src")
    put(root, "src/.cursorrules", "only of the root")
    found = await RulesFinder(Workspace(root), ["CONTEXT.md", "doc/*.md"]).of_directory("src")
    assert [(one.path, one.text) for one in found.files] == [
        ("src/AGENTS.md", "of src"),
        ("src/CLAUDE.md", "claude of src"),
        ("src/CONTEXT.md", "words of src"),
    ]


async def test_the_configuration_names_paths_and_patterns(root: Path) -> None:
    put(root, "doc/rules/b.md", "b")
    assert [one.path for one in await of_root(root, "doc/guide.md", "doc/**/b.*", "gone.md")] == [
        "doc/guide.md",
        "doc/rules/b.md",
    ]


async def test_what_is_unsaved_in_the_editor_counts(root: Path) -> None:
    path = put(root, "AGENTS.md", "saved")
    editor = Buffers()
    editor.load(path, "unsaved", modified=True)
    found = await RulesFinder(Workspace(root, buffers=editor)).of_root()
    assert [one.text for one in found.files] == ["unsaved"]


@pytest.mark.parametrize("name", ["AGENTS.md", ".cursor/rules/x.mdc", ".cursor", "src/x.md"])
async def test_a_link_out_of_the_project_is_not_read(root: Path, tmp_path: Path, name: str) -> None:
    outside = put(tmp_path, "outside/secret.md", "not yours")
    put(tmp_path, "outside/rules/x.mdc", "---\nalwaysApply: true\n---\nnot yours")
    link = root / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside.parent if name == ".cursor" else outside)
    found = await RulesFinder(Workspace(root), ["src/x.md"]).of_root()
    assert found.files == []
    (problem,) = found.problems
    assert problem.startswith(name)
    assert "it is a link, or there is a link on the way to it" in problem


async def test_a_link_to_rules_that_are_read_is_passed_over_in_silence(root: Path) -> None:
    put(root, "AGENTS.md", "the rules")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    (root / ".github").mkdir()
    (root / ".github/copilot-instructions.md").symlink_to("../AGENTS.md")
    (root / "src/AGENTS.md").symlink_to(root / "AGENTS.md")
    finder = RulesFinder(Workspace(root))
    above, below = await finder.of_root(), await finder.of_directory("src")
    assert [one.path for one in above.files] == ["AGENTS.md"]
    assert (above.problems, below.files, below.problems) == ([], [], [])


async def test_a_link_to_rules_above_the_project_is_told(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "AGENTS.md", "not yours")
    (root / "AGENTS.md").symlink_to("../AGENTS.md")
    assert "it is a link" in "".join(await problems(root))
    assert await of_root(root) == []


async def test_a_link_to_another_file_of_the_project_is_told(root: Path) -> None:
    (root / "AGENTS.md").symlink_to("doc/guide.md")
    assert "it is a link" in "".join(await problems(root))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"a\0b", "binary"),
        (b"x" * (LARGEST + 1), "larger than 256 KiB"),
    ],
)
async def test_what_is_no_text_or_too_large_is_left_out_with_words(
    root: Path, content: bytes, words: str
) -> None:
    (root / "AGENTS.md").write_bytes(content)
    assert words in "".join(await problems(root))
    assert await of_root(root) == []


async def test_a_pipe_or_a_directory_in_its_place_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "AGENTS.md")
    (root / "CLAUDE.md").mkdir()
    assert len(await problems(root)) == 2


async def test_a_long_file_is_cut_and_its_lines_are_known(root: Path) -> None:
    put(root, "AGENTS.md", "a line of rules\n" * 3000)
    (found,) = await of_root(root)
    assert (len(found.text) <= LONGEST_RULES, found.lines) == (True, 3000)
    assert found.text.endswith("rules\n")


async def test_what_nobody_sees_is_taken_out(root: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "rm")
    put(root, "AGENTS.md", f"\ufeffBe\u200b kind{hidden}\u202e.\r\nTwo")
    (found,) = await of_root(root)
    assert found.text == "Be kind.\nTwo"


async def test_the_text_of_a_secret_is_not_kept_and_can_be_read_again(root: Path) -> None:
    put(root, "AGENTS.md", f"use {TOKEN}\n")
    finder = RulesFinder(Workspace(root))
    (found,) = (await finder.of_root()).files
    assert (found.text, found.secret) == ("", "line 1 seems to hold a GitHub token")
    assert (await finder.reread(found)).text == f"use {TOKEN}"


async def test_a_named_file_that_usually_holds_secrets_is_one(root: Path) -> None:
    put(root, ".env", "A=b")
    (found,) = await of_root(root, ".env")
    assert (found.text, found.secret) == ("", ".env is a file that usually holds secrets")


async def test_a_name_that_is_no_text_is_left_out_with_words(root: Path) -> None:
    put(root, ".cursor/rules/good.mdc", "---\nalwaysApply: true\n---\ngood")
    put(root, ".cursor/rules/\udcff.mdc", "---\nalwaysApply: true\n---\nbad")
    put(root, ".cursor/rules/\u202egnihton.mdc", "---\nalwaysApply: true\n---\nbad")
    assert [one.text for one in await of_root(root)] == ["good"]
    assert [one.isascii() for one in await problems(root)] == [True, True]


async def test_files_of_git_and_of_tideate_are_none(root: Path) -> None:
    put(root, ".git/x.md", "no")
    assert await of_root(root, ".git/x.md") == []
    assert "never touches .git/" in "".join(await problems(root, ".git/x.md"))


async def test_without_a_project_there_is_the_persons_own(config: Path) -> None:
    put(config, "AGENTS.md", "mine")
    found = await RulesFinder(Workspace(None)).of_root()
    assert [(one.text, one.own) for one in found.files] == [("mine", True)]
