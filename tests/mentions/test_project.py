"""What is told of a project: `@tree`, `@symbols`, `@diff`."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tideate_core.errors import WorkspaceError
from tideate_core.mentions import Surroundings, git
from tideate_core.mentions.symbols import _KINDS, outline
from tideate_core.mentions.tree import draw_tree
from tideate_core.workspace import ContextResolver

if TYPE_CHECKING:
    from pathlib import Path

# -- @tree ------------------------------------------------------------------------------------------

PATHS = ["README.md", "src/a.py", "src/b.py", "src/deep/c.py", "src/deep/d.py", "src/deep/e.py"]


def test_a_small_project_is_drawn_whole() -> None:
    drawn, hidden = draw_tree(PATHS, 100)
    assert drawn == "src/\n  deep/\n    c.py\n    d.py\n    e.py\n  a.py\n  b.py\nREADME.md"
    assert hidden == 0


def test_folders_that_do_not_fit_tell_how_many_files_they_have() -> None:
    assert draw_tree(PATHS, 5) == ("src/\n  deep/ (3 files)\n  a.py\n  b.py\nREADME.md", 3)
    assert draw_tree(PATHS, 2) == ("src/ (5 files)\nREADME.md", 5)
    assert draw_tree([f"{n}.py" for n in range(9)], 3) == ("0.py\n1.py\n2.py", 6)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=30), st.integers(0, 40))
def test_a_tree_is_bounded_and_counts_every_file(paths: list[list[str]], entries: int) -> None:
    names = {"/".join([*path, "file"]) for path in paths}
    drawn, hidden = draw_tree(names, entries)
    lines = drawn.splitlines()
    assert len(lines) <= entries
    assert sum(line.strip() == "file" for line in lines) + hidden == len(names)


def test_a_name_with_a_line_end_stays_on_its_line() -> None:
    assert draw_tree(["a\nb"], 9)[0] == "'a\\nb'"


async def test_a_tree_of_a_folder(root: Path) -> None:
    assert (await ContextResolver(root).resolve("@tree")).content == "doc/\n  guide.md\nsrc/\n  one.py"
    item = await ContextResolver(root).resolve("@tree:src/")
    assert (item.path, item.content, item.type) == ("src", "one.py", "variable")


# -- @symbols ---------------------------------------------------------------------------------------

SOURCES = {
    "a.py": ("class A:\n    async def f(self):\n        pass\n\n\n@d\ndef g(): ...\n", "class A: f g"),
    "a.ts": ("export interface I { x: 1 }\nabstract class A { m(): void {} }\nfunction f() {}\n", "I A m f"),
    "a.js": ("class A { m() {} }\nexport default function f() {}\n", "A m f"),
    "a.go": ("package a\ntype T struct{}\nfunc (t T) M() {}\nfunc F() {}\n", "T M F"),
    "a.rs": ("struct S;\nimpl S { fn m() {} }\ntrait T {}\nfn f() {}\n", "struct impl m T f"),
    "A.java": ("class A {\n  A() {}\n  void m() {}\n}\n", "A void"),
    "a.c": ("struct s { int a; };\nint f(struct s x) { return 1; }\n", "struct f"),
    "a.cpp": ("namespace n {\nclass A { void m() {} };\n}\n", "namespace A"),
    "a.lua": ("local function f() end\nfunction M.g() end\n", "f M.g"),
    "a.rb": ("module M\n  class A\n    def m; end\n  end\nend\n", "M A m"),
    "a.php": ("<?php\nclass A { function m() {} }\nfunction f() {}\n", "A f"),
    "a.cs": ("namespace N {\n  class A { void M() {} }\n}\n", "N A"),
    "a.kt": ("class A {\n  fun m() {}\n}\nobject O {}\n", "A m O"),
    "a.swift": ("struct S {\n  func m() {}\n}\n", "S m"),
    "a.scala": ("object O {\n  def m = 1\n}\n", "O m"),
    "a.sh": ("f() { :; }\nfunction g { :; }\n", "f g"),
    "a.sol": ("contract A {\n  function m() public {}\n}\n", "A m"),
    "a.md": ("# A\n\n## B\n", "A B"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_language_has_its_outline(name: str) -> None:
    text, words = SOURCES[name]
    told = "\n".join(outline(text, name))
    assert [word for word in words.split() if word not in told] == []


@pytest.mark.parametrize("language", _KINDS)
def test_every_kind_is_one_that_the_grammar_has(language: str) -> None:
    # a kind that it lacks raises
    assert outline("", "", language) == []


def test_an_outline_is_indented_and_numbered() -> None:
    text = "class A:\n    def f(self):\n        def inner(): ...\n\n    def g(self): ...\n"
    assert outline(text, "a.py") == [
        "1: class A:",
        "2:   def f(self):",
        "3:     def inner(): ...",
        "5:   def g(self): ...",
    ]


def test_an_outline_knows_lines_behind_characters_of_any_width() -> None:
    assert outline("x = '😀é'\ndef f(): ...\n", "a.py") == ["2: def f(): ..."]


def test_a_type_that_is_only_named_defines_nothing() -> None:
    assert outline("struct s *x;\n", "a.c") == []


async def test_symbols_are_those_of_the_buffer_else_of_the_project(root: Path) -> None:
    buffer = Surroundings("def typed(): ...", str(root / "src" / "one.py"), "python")
    assert (await ContextResolver(root, around=buffer).resolve("@symbols")).content == "1: def typed(): ..."
    whole = await ContextResolver(root).resolve("@symbols")
    assert whole.content == "src/one.py\n  1: def one():\n  5: def two():"
    assert (await ContextResolver(root).resolve("@symbols:src")).content == whole.content
    one = await ContextResolver(root).resolve("@symbols:src/one.py")
    assert (one.path, one.content) == ("src/one.py", "1: def one():\n5: def two():")


# -- @diff ------------------------------------------------------------------------------------------


def run(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(root: Path) -> Path:
    (root / ".tideate").rmdir()
    run(root, "init", "-q")
    run(root, "add", ".")
    run(root, "commit", "-qm", "first")
    return root


async def test_a_diff_has_what_changed_since_the_last_commit(repository: Path) -> None:
    assert (await ContextResolver(repository).resolve("@diff")).content == "nothing has changed\n"
    (repository / "src" / "one.py").write_text("def one():\n    return 3\n\n\ndef two():\n    return 2\n")
    run(repository, "add", "src")
    (repository / "doc" / "guide.md").write_text("# Changed\n")
    (repository / "new.txt").write_text("new")
    item = await ContextResolver(repository).resolve("@diff")
    assert "-    return 1\n+    return 3\n" in item.content
    assert "+# Changed\n" in item.content
    assert "new file that git does not know yet: new.txt" in item.content
    assert (item.type, item.language, item.cut) == ("variable", "diff", "")
    part = await ContextResolver(repository).resolve("@diff:doc")
    assert "# Changed" in part.content
    assert "one.py" not in part.content


async def test_a_diff_does_not_write_the_index(repository: Path) -> None:
    index = repository / ".git" / "index"
    for name in ("src/one.py", "doc/guide.md"):
        os.utime(repository / name, (1, 1))  # git cannot tell by the time that they are as they were
    before = (index.stat().st_ino, index.read_bytes())
    assert (await ContextResolver(repository).resolve("@diff")).content == "nothing has changed\n"
    assert (index.stat().st_ino, index.read_bytes()) == before


async def test_a_diff_names_a_new_file_in_one_line_without_escapes(repository: Path) -> None:
    (repository / "a\n+evil\x1b[2J\u202e").write_text("x")
    content = (await ContextResolver(repository).resolve("@diff")).content
    assert "new file that git does not know yet: a\\n+evil\\x1b[2J\\u202e\n" in content
    assert "\x1b" not in content


async def test_a_diff_names_so_many_new_files_and_says_that_there_are_more(repository: Path) -> None:
    for number in range(1010):
        (repository / f"new{number:04}").touch()
    item = await ContextResolver(repository).resolve("@diff")
    assert item.content.count("new file that git does not know yet") == 1000
    assert "10 more new files are not listed" in item.cut


async def test_a_diff_before_the_first_commit_has_all_that_is_staged(root: Path) -> None:
    run(root, "init", "-q")
    run(root, "add", "src")
    assert "+def one():" in (await ContextResolver(root).resolve("@diff")).content


async def test_a_project_within_a_repository_sees_only_itself(repository: Path) -> None:
    (repository / "src" / "one.py").write_text("inside\n")
    (repository / "doc" / "guide.md").write_text("outside\n")
    content = (await ContextResolver(repository / "src").resolve("@diff")).content
    assert "+inside" in content
    assert "a/one.py" in content
    assert "outside" not in content


async def test_without_a_repository_that_is_told(root: Path) -> None:
    with pytest.raises(WorkspaceError, match="no repository"):
        await ContextResolver(root).resolve("@diff")


async def test_without_git_that_is_told(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(WorkspaceError, match="git cannot be run"):
        await ContextResolver(repository).resolve("@diff")


async def test_changes_of_secrets_are_left_out_and_that_is_said(repository: Path) -> None:
    for name in (".env", "src/key.py"):
        (repository / name).write_text("nothing yet\n")
    run(repository, "add", ".")
    run(repository, "commit", "-qm", "second")
    (repository / ".env").write_text("PASSWORD=hunter2\n")
    (repository / "src" / "key.py").write_text("key = 'AKIA" + "Q3EGRIPVT5J2XAMP'\n")
    (repository / "src" / "one.py").write_text("changed\n")
    item = await ContextResolver(repository).resolve("@diff")
    assert "+changed" in item.content
    assert "hunter2" not in item.content
    assert "AKIA" not in item.content
    assert ".env (by its name) was left out" in item.cut
    assert "key.py (by what is in it) was left out" in item.cut


async def test_nothing_that_a_repository_configures_is_run(repository: Path, tmp_path: Path) -> None:
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\ncat\n')
    trap.chmod(0o755)
    settings = {
        "core.fsmonitor": f"{trap} fsmonitor",
        "core.hooksPath": str(tmp_path),
        "diff.external": f"{trap} external",
        "diff.evil.textconv": f"{trap} textconv",
        "diff.evil.command": f"{trap} command",
        "filter.evil.clean": f"{trap} clean",
        "filter.evil.smudge": f"{trap} smudge",
        "filter.evil.process": f"{trap} process",
        "filter.evil.required": "true",
        "core.pager": f"{trap} pager",
        "pager.diff": f"{trap} pager",
    }
    (repository / ".gitattributes").write_text("*.py diff=evil filter=evil\n*.md diff=evil\n")
    run(repository, "add", ".gitattributes")
    run(repository, "commit", "-qm", "attributes")
    for key, value in settings.items():
        run(repository, "config", key, value)
    (repository / "src" / "one.py").write_text("changed\n")
    (repository / "doc" / "guide.md").write_text("changed\n")
    item = await ContextResolver(repository).resolve("@diff")
    assert item.content.count("+changed") == 2
    assert not sprung.exists(), sprung.read_text()


async def test_a_repository_whose_files_are_elsewhere_is_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run(repository, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(WorkspaceError):
        await ContextResolver(repository).resolve("@diff")


async def test_a_diff_that_is_far_too_long_is_cut_and_that_is_said(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "LARGEST", 1000)
    (repository / "src" / "one.py").write_text("changed\n" * 50_000)
    item = await ContextResolver(repository).resolve("@diff")
    assert item.cut == "the diff is longer than what is read of it"
    assert "+changed" in item.content


async def test_a_name_that_looks_like_an_option_is_a_name(repository: Path) -> None:
    (repository / "--output=x").write_text("a\n")
    run(repository, "add", "--", "--output=x")
    item = await ContextResolver(repository).resolve('@diff:"--output=x"')
    assert "+a" in item.content
    assert not (repository / "x").exists()
