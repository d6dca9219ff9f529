"""Search by ripgrep and by the own program: same lines, staged texts, no secrets, bounded time."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.buffers import Buffers
from tests.harness.project import git, write_files
from tideate_core.agents.tools.search_child import LOOKS_FAR, compile_pattern, matching_lines
from tideate_core.errors import ToolError
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange

FILES = {
    "src/a.py": "def start():\n    return 1\n\n\ndef stop():\n    return start()\n",
    "src/b.ts": "const start = 1;\n",
    "doc/c.md": "# Start\n\nstart it\n",
}


@pytest.fixture(params=["ripgrep", "ours"])
def program(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Put ripgrep in PATH, or remove it."""
    folders = [folder for folder in os.get_exec_path() if not Path(folder, "rg").exists()]
    beside = tmp_path_factory.mktemp("bin")  # a removed folder may have git, too
    (beside / "git").symlink_to(shutil.which("git") or "git")
    folders.append(str(beside))
    with_it = Path(sys.executable).parent
    assert (with_it / "rg").exists(), "`make install` installs ripgrep beside the tests' Python"
    first = [str(with_it)] if request.param == "ripgrep" else []
    monkeypatch.setenv("PATH", os.pathsep.join([*first, *folders]))
    return str(request.param)


async def search(project: Project, pattern: str, **more: Any) -> str:
    return await project.call("search", pattern=pattern, **more)


LONG = {
    "long.js": f"{'a' * 400_000}needle{'b' * 400_000}\n" * 2,
    "many.txt": "needle\n" * 9_000,
}


async def test_lines_are_found_by_file(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, FILES)
    assert await search(project, r"\bstart\(") == ("src/a.py (2)\n1:def start():\n6:    return start()")
    assert await search(project, "start", glob="*.ts") == "src/b.ts\n1:const start = 1;"
    assert await search(project, "^# start$", ignore_case=True) == "doc/c.md\n1:# Start"
    assert await search(project, "start()", literal=True, glob="src") == (
        "src/a.py (2)\n1:def start():\n6:    return start()"
    )
    assert await search(project, "nowhere") == "no line of 3 files matches"


async def test_context_is_shown_once(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, FILES)
    assert await search(project, "return", context=1, glob="*.py") == (
        "src/a.py (2)\n1-def start():\n2:    return 1\n3-\n--\n5-def stop():\n6:    return start()"
    )
    assert await search(project, "start|return", context=2, glob="*.py") == (
        "src/a.py (3)\n1:def start():\n2:    return 1\n3-\n4-\n5-def stop():\n6:    return start()"
    )


async def test_lines_before_and_after_may_differ(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, FILES)
    shown = await search(project, "return", after=1, glob="*.py")
    assert shown == "src/a.py (2)\n2:    return 1\n3-\n--\n6:    return start()"
    assert await search(project, "stop", before=1) == "src/a.py\n4-\n5:def stop():"


async def test_source_comes_before_tests_and_files_may_be_left_out(tmp_path: Path, program: str) -> None:
    texts = {"a/test_x.py": "word\n" * 30, "b.py": "word\n" * 3, "c.py": "word\n"}
    project = Project(tmp_path, texts)
    shown = await search(project, "word", limit=9)
    numbers = "".join(f"\n{number}:word" for number in range(1, 6))
    assert shown.startswith(
        f"b.py (3)\n1:word\n2:word\n3:word\nc.py\n1:word\na/test_x.py (30){numbers}\n[9 of 34"
    )
    assert "a/test_x.py" not in await search(project, "word", exclude="test_*.py")
    assert "\nalso in c.py (1), a/test_x.py (30)\n" in await search(project, "word", limit=3)


async def test_whole_words_are_found(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, {"a.txt": "to_thread\nrun(to)\nonto\ntop\nto.\nTO\n"})
    assert await search(project, "to", word=True) == "a.txt (2)\n2:run(to)\n5:to."
    assert await search(project, "to|top", word=True) == "a.txt (3)\n2:run(to)\n4:top\n5:to."
    assert await search(project, "to.", word=True, literal=True) == "a.txt\n5:to."
    assert "6:TO" in await search(project, "to", word=True, ignore_case=True)
    if program == "ours":
        with pytest.raises(ToolError, match="is no regular expression"):
            await search(project, "a)(b", word=True)


async def test_staged_and_unsaved_texts_are_searched_in_place_of_the_disk(
    tmp_path: Path, program: str
) -> None:
    write_files(tmp_path, FILES)
    project = Project(tmp_path, buffers=Buffers.typed(tmp_path / "src/b.ts", "const begin = 1;"))
    await project.stage(
        FileChange(
            "src/a.py", "move", FILES["src/a.py"].rstrip("\n"), "def begin(): ...", move_to="src/n.py"
        ),
        FileChange("doc/c.md", "delete", FILES["doc/c.md"].rstrip("\n"), None),
        FileChange("new.py", "create", None, "begin()\n"),
    )
    assert await search(project, "begin") == (
        "new.py\n1:begin()\nsrc/b.ts\n1:const begin = 1;\nsrc/n.py\n1:def begin(): ..."
    )
    assert await search(project, "start") == "no line of 3 files matches"


async def test_a_limit_says_how_much_there_is(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, {f"{number}.txt": "word\n" * 10 for number in range(5)})
    found = await search(project, "word", limit=12)
    assert found.count(":word") == 12
    assert "[12 of 50 matching lines in 5 files are shown; use a narrower" in found


async def test_results_are_bounded(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, LONG)
    found = await search(project, "needle", limit=1000)
    assert len(found) < 35_000
    assert "aneedleb" in found.split("\n")[1]
    assert len(found.split("\n")[1]) < 320


@pytest.mark.attack
async def test_ignored_files_links_and_protected_ones_are_not_searched(tmp_path: Path, program: str) -> None:
    root = tmp_path / "project"
    write_files(tmp_path, {"elsewhere/out.txt": "needle"})
    project = Project(
        root, {"a.txt": "needle", ".gitignore": "*.log", "x.log": "needle", ".tideate/x": "needle"}
    )
    git(root, "init", "-q")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "out.txt").symlink_to(tmp_path / "elsewhere" / "out.txt")
    (root / "binary.bin").write_bytes(b"needle\0")
    assert await search(project, "needle") == "a.txt\n1:needle"


@pytest.mark.attack
async def test_a_settings_file_of_ripgrep_changes_nothing(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"home/rc": "--invert-match\n"})
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "home" / "rc"))
    project = Project(
        tmp_path / "project", {"a.txt": "needle\nhay", ".ignore": "a.txt\n", ".rgignore": "*\n"}
    )
    assert await search(project, "needle") == "a.txt\n1:needle"


@pytest.mark.parametrize("pattern", ["--output=x", "-x", "--", "--pre=touch"])
@pytest.mark.attack
async def test_a_pattern_is_no_option(tmp_path: Path, program: str, pattern: str) -> None:
    project = Project(tmp_path, {"-e.txt": f"say {pattern}", "--files": "hay"})
    assert await search(project, pattern) == f"-e.txt\n1:say {pattern}"
    assert await project.call("find_files", glob="**") == "--files\n-e.txt"


@pytest.mark.attack
async def test_secrets_are_not_shown(tmp_path: Path, program: str) -> None:
    key = "sk-" + "a1" * 20
    files = {".env": "needle=1", "a.py": f"needle = 1\nneedle = '{key}'\nneedle = 2\n"}
    project = Project(tmp_path, files, decisions=(Decision(True),))
    found = await search(project, "needle", context=1)
    assert found == (
        "a.py (2)\n1:needle = 1\n2-[a line that seems to hold a secret]\n3:needle = 2\n"
        "[not searched, they usually hold secrets: .env]"
    )
    await project.call("read_file", path=".env")
    assert ".env\n1:needle=1" in await search(project, "needle")


@pytest.mark.attack
async def test_a_hard_link_to_outside_is_not_shown(tmp_path: Path, program: str) -> None:
    write_files(tmp_path, {"private": "needle"})
    project = Project(tmp_path / "project", {"b.txt": "needle"})
    os.link(tmp_path / "private", tmp_path / "project" / "a.txt")
    found = await search(project, "needle")
    assert found == "b.txt\n1:needle\n[not searched, they usually hold secrets: a.txt]"


@pytest.mark.attack
@pytest.mark.parametrize(
    "pattern",
    [
        *("AKIA", "^KEY", "Q7ZP", "AKIA.{3}[A-M]", "MIIabc", "def", ".", "^$", "'$", "hunter"),
        *("(?<=1\\n)KEY", r"\Aone", r"one(?=[\s\S]*AKIAQ7)", r"one(?![\s\S]*AKIAQ7)"),
        *(r"(?>[\s\S]*7)B?|o", r"[\s\S]*+7|one", "(A|AK)*(I|IA)*$", "seems to hold|AKIAQ7", r"one\Z|AKIAQ7"),
        # takes years where it fits
        pytest.param(r"AKIAQ7(?=\w)((((\w+)+)+)+)+!", marks=pytest.mark.slow),
    ],
)
async def test_no_answer_depends_on_what_is_hidden(
    tmp_path: Path, program: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.agents.tools.search_programs.SECONDS", 3)
    texts = []
    secrets = [("Q7ZP3KD9WM2XV5TB", "hunter22"), ("MZX4A7B2C9D1E6F3", "s3same")]
    for number, (key, password) in enumerate(secrets):
        body = "MIIabcdef" if number else "MIIxyz123"
        private = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{body}\n-----END RSA {'PRIVATE'} KEY-----"
        files = {
            "a.py": f"one = 1\nKEY = 'AKIA{key}'\ndef two(): ...\n",
            "b.txt": f"one\nDB_PASSWORD={password}\ntwo\n",
            "c.txt": f"one\n{private}\ntwo\n",
            "d/.env": f"A={password}\n",
        }
        project = Project(tmp_path / str(number), files)
        (project.root / "e.txt").write_bytes(b"one \xff" + f" AKIA{key}\n".encode())
        try:
            texts.append(await search(project, pattern, context=1))
        except ToolError as error:
            texts.append(str(error))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("name", "text"), [("käse ü.txt", "naïve Straße 日本"), ("tab\tname", "x naïve"), ("a:12:3:b", "naïve")]
)
async def test_names_and_texts_may_have_any_characters(
    tmp_path: Path, program: str, name: str, text: str
) -> None:
    project = Project(tmp_path, {name: f"first\r\n{text}\r\n"})
    assert await search(project, "naïve") == f"{name}\n2:{text}"
    assert await search(project, "first$") == f"{name}\n1:first"


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[z-a]", "*a", "(?P<n"])
async def test_what_is_no_expression_is_refused_with_advice(
    tmp_path: Path, program: str, pattern: str
) -> None:
    project = Project(tmp_path, {"a": "b"})
    with pytest.raises(ToolError, match=r"no regular expression: .* literal=true"):
        await search(project, pattern)


@pytest.mark.parametrize("pattern", [r"a\nb", "a\nb"])
async def test_a_pattern_is_within_a_line(tmp_path: Path, program: str, pattern: str) -> None:
    with pytest.raises(ToolError, match="single lines"):
        await search(Project(tmp_path, {"a": "a\nb"}), pattern)


@pytest.mark.attack
async def test_a_pattern_that_no_text_can_have_is_refused(tmp_path: Path, program: str) -> None:
    for pattern, said in (("a\0", "NUL character"), ("\ud800", "half a character")):
        with pytest.raises(ToolError, match=said):
            await search(Project(tmp_path, {"a": "b"}), pattern)


async def test_look_around_is_understood_and_never_spans_lines(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, {"a": "one two\none\ntwo\n"})
    assert await search(project, r"one(?=\s+two)") == "a\n1:one two"
    assert await search(project, r"one\s+two") == "a\n1:one two"
    assert await search(project, r"one(?!\s+two)") == "a\n2:one"


@pytest.mark.slow
@pytest.mark.attack
async def test_an_expression_without_end_is_ended(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.agents.tools.search_programs.SECONDS", 1)
    project = Project(tmp_path, {"a.txt": "a" * 40 + "!", "z.txt": "ok"})
    with pytest.raises(ToolError, match=r"stopped after 1 s; 0 of 2 files searched"):
        await search(project, r"(?=x?)(a+)+$")  # ripgrep has no look-around: ours does it


@pytest.mark.slow
@pytest.mark.attack
async def test_a_worker_that_is_ended_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tideate_core.agents.tools.search_programs.SECONDS", 1)
    monkeypatch.setattr("tideate_core.agents.tools.search_programs.FORKS", 1)
    # of two files each worker has one: the second never comes to its end
    project = Project(tmp_path, {"a.txt": "aab", "b.txt": "a" * 40 + "!"})
    found = await search(project, r"(?=a)(a+)+b")
    assert found.startswith("a.txt\n1:aab\n[stopped after 1 s; ")


@pytest.mark.slow
@pytest.mark.attack
async def test_the_end_of_a_search_without_secrets_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.agents.tools.search_programs.SECONDS", 1)
    project = Project(tmp_path, {"a.py": "K = 'AKIAQ7ZP3KD9WM2XV5TB'\nok\n", "b.txt": "ok\n"})
    # only the words in place of a hidden line take the expression without end
    found = await search(project, r"^ok$|^(?=\[)(.+)+!$")
    assert found.startswith("b.txt\n1:ok\n[stopped after 1 s; 1 of 2 files searched")


async def test_files_are_searched_in_parts_until_the_time_is_up(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tideate_core.agents.tools.search.AT_ONCE", 2)
    secret = "K = 'AKIAQ7ZP3KD9WM2XV5TB'  # one\n"
    project = Project(
        tmp_path, {"a": secret, "b": "one\n", "c": "one\n", "d": f"{secret}one\n", "e": "one\n"}
    )
    assert await search(project, "one") == "b\n1:one\nc\n1:one\nd\n2:one\ne\n1:one"
    monkeypatch.setattr("tideate_core.agents.tools.search.PATIENCE", 0)
    found = await search(project, "one")
    assert found.startswith("b\n1:one\n[stopped after 0 s; 2 of 5 files searched")


@pytest.mark.parametrize(
    ("pattern", "far"),
    [
        *[(one, False) for one in ("(?i)a", "(?i:a)b", "(?ms)a", "(?P<n>a)(?P=n)", "(?:a)+b")],
        *[(one, True) for one in ("(?=a)", "(?<!a)b", "(?-m:^a)", "(?i-m:^a)", "(?>a)b", "a++", r"\Aa")],
    ],
)
def test_only_what_sees_other_lines_is_matched_line_by_line(pattern: str, far: bool) -> None:
    assert bool(LOOKS_FAR.search(pattern)) == far
    text = "b\nab\na\n\naab\n"
    compiled = compile_pattern(pattern, literal=False, any_case=False)
    by_line = list(matching_lines(compiled, text, most=9, whole=False))
    assert list(matching_lines(compiled, text, most=9, whole=not far)) == by_line


async def test_a_search_that_cannot_be_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path, {"a": "b"})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ToolError, match=r"the search cannot be run: .*nowhere"):
        await search(project, "b")


async def test_files_that_are_too_large_are_named(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, {"a.txt": "needle\n"})
    (tmp_path / "large.txt").write_bytes(b"needle\n" + b"x" * (2 << 20))
    told = await search(project, "needle")
    assert told == "a.txt\n1:needle\n[not searched, they have more than 2 MiB: large.txt]"


async def test_matches_beyond_those_of_a_file_are_told(tmp_path: Path, program: str) -> None:
    project = Project(tmp_path, {"a.txt": "needle\n" * 1_500})
    assert "of at least 1,000 matching lines" in await search(project, "needle", limit=5)
