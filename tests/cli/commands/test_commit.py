"""`tideate commit`: only the changes of a run, with the person's settings."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, refactored

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

HEAD = "def first():\n    return 1\n\n\n"
MIDDLE = "\nX = 1\n"
TAIL = "\n\ndef last():\n    return 9\n"


def git(shell: Shell, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=shell.project, env=shell.env, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def repository(shell: Shell, answering: ModelServer) -> Shell:
    """A repository with a committed `a.py`, and an editor that adds a line to messages."""
    (shell.home / ".gitconfig").write_text("[user]\n\tname = Me\n\temail = me@example.org\n")
    shell.env["GIT_CONFIG_NOSYSTEM"] = "1"
    git(shell, "init", "-q", "-b", "main")
    shell.write("a.py", LOOP)
    shell.write("b.py", "B = 1\n")
    git(shell, "add", ".")
    git(shell, "commit", "-qm", "begin")
    return shell


def test_a_runs_change_is_committed_and_other_changes_stay_as_they_are(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    run = refactored(shell, answering)
    answering.answers("hello", "hi")
    shell.ok("run", "ask", "hello")
    shell.fails(2, "changed no file", "commit", "LAST", "--yes")
    shell.write("a.py", HEAD + SHORT)  # the person goes on in the same file
    shell.write("b.py", "B = 2\n")
    shell.write("new.py", "N = 1\n")
    git(shell, "add", "b.py", "new.py")
    objects = git(shell, "count-objects")
    ahead = shell.ok("commit", run[:8], "--dry-run")
    assert ahead.stdout == "shorten\n\na.py\n"
    assert git(shell, "count-objects") == objects
    done = shell.json("commit", "--yes")
    assert (done["execution_id"], done["files"], done["commit"]) == (
        run,
        ["a.py"],
        git(shell, "rev-parse", "HEAD").strip(),
    )
    assert git(shell, "show", "HEAD:a.py") == SHORT
    assert git(shell, "log", "-1", "--format=%an %s", "--name-only").split() == ["Me", "shorten", "a.py"]
    assert git(shell, "status", "--short") == " M a.py\nM  b.py\nA  new.py\n"
    shell.fails(2, "the last commit already has the changes of run", "commit", run, "--yes")


def test_a_staged_change_of_the_same_file_stays_staged(repository: Shell, answering: ModelServer) -> None:
    shell = repository
    shell.write("a.py", LOOP + MIDDLE)
    git(shell, "commit", "-qam", "more")
    shell.write("a.py", LOOP + MIDDLE + TAIL)
    git(shell, "add", "a.py")
    answering.answers("what does the code do", "- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    shell.ok("run", "refactor", "shorten", "--file", "a.py:1-5", "--yes")
    shell.ok("commit", "-m", "Shorten\n\nIt is a sum.")
    assert git(shell, "show", "HEAD:a.py") == SHORT + MIDDLE
    assert git(shell, "show", ":a.py") == SHORT + MIDDLE + TAIL
    assert git(shell, "status", "--short") == "M  a.py\n"
    assert git(shell, "log", "-1", "--format=%B").strip() == "Shorten\n\nIt is a sum."


def test_inseparable_changes_are_not_committed(repository: Shell, answering: ModelServer) -> None:
    shell = repository
    shell.write("a.py", LOOP.replace("t = 0", "t = 1"))
    git(shell, "add", "a.py")
    answering.answers("what does the code do", "- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    shell.ok("run", "refactor", "shorten", "--file", "a.py", "--yes")
    before = git(shell, "rev-parse", "HEAD"), git(shell, "ls-files", "-s")
    shell.fails(2, "a.py: the run changed lines that differ from the last commit", "commit", "--yes")
    shell.write("a.py", SHORT.replace("range", "iter"))
    shell.fails(2, "a.py (changed where the run wrote)", "commit", "--yes")
    assert (git(shell, "rev-parse", "HEAD"), git(shell, "ls-files", "-s")) == before


def test_the_editor_of_the_person_opens_the_message_and_can_refuse(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    refactored(shell, answering)
    git(shell, "config", "core.editor", "touch foreign; false")
    shell.fails(3, "declined; nothing was committed", "commit")
    shell.env["EDITOR"] = "false"
    terminal = shell.open("commit")
    terminal.wait_for("nothing was committed")
    assert terminal.wait_exit() == 1
    shell.env["EDITOR"] = "sh -c 'echo It is shorter. >> \"$0\"'"
    terminal = shell.open("commit", "last")
    terminal.wait_for("1 file committed")
    assert terminal.wait_exit() == 0
    assert git(shell, "log", "-1", "--format=%B").split() == ["shorten", "It", "is", "shorter."]
    assert not (shell.project / "foreign").exists()


def test_lines_of_a_message_that_begin_with_a_hash_are_kept(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    refactored(shell, answering)
    shell.env["EDITOR"] = "true"
    shell.ok("commit", "-m", "#12 shorten\n\n# of lines: 2")
    assert git(shell, "log", "-1", "--format=%B").strip() == "#12 shorten\n\n# of lines: 2"
    git(shell, "reset", "-q", "HEAD~")
    answering.answers("what does the code do", "- it adds up")
    shell.write("a.py", LOOP)
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    shell.ok("run", "refactor", "#13 shorten", "--file", "a.py", "--yes")
    assert shell.open("commit").wait_exit() == 0
    assert git(shell, "log", "-1", "--format=%s").strip() == "#13 shorten"


def test_an_index_in_use_is_told_before_the_commit(repository: Shell, answering: ModelServer) -> None:
    shell = repository
    refactored(shell, answering)
    lock = shell.write(".git/index.lock", "")
    shell.fails(1, "another git command is under way", "commit", "--yes")
    lock.unlink()
    assert git(shell, "log", "--format=%s").split() == ["begin"]
    # git locks the index after the check: the commit is made, and the error says what is left to do
    hook = shell.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch .git/index.lock\n")
    hook.chmod(0o755)
    shell.ok("trust", "--yes")
    shell.fails(
        1, "is committed, but the index has the files as before; run `git reset -- a.py`", "commit", "--yes"
    )
    lock.unlink()
    git(shell, "reset", "-q", "--", "a.py")
    assert git(shell, "log", "--format=%s").split() == ["shorten", "begin"]
    assert git(shell, "status", "--short") == ""


def test_a_file_that_a_hook_formats_is_not_staged_afterwards(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    refactored(shell, answering)
    hook = shell.write(".git/hooks/pre-commit", "#!/bin/sh\necho '# end' >> a.py\ngit add a.py\n")
    hook.chmod(0o755)
    shell.ok("trust", "--yes")
    shell.ok("commit", "--yes")
    assert git(shell, "show", "HEAD:a.py") == f"{SHORT}# end\n"
    assert git(shell, "status", "--short") == ""


def test_own_settings_of_signing_and_own_hooks_are_not_called_the_repositorys(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    sign = shell.write("../sign.sh", "#!/bin/sh\necho no key >&2\nexit 1\n")
    sign.chmod(0o755)
    git(shell, "config", "--global", "commit.gpgSign", "true")
    git(shell, "config", "--global", "gpg.program", str(sign.resolve()))
    refactored(shell, answering)
    done = shell.fails(1, "failed to sign", "commit", "--yes")
    assert "will not run" not in done.stderr


PATCH = """diff --git a/old.txt b/new.txt
rename from old.txt
rename to new.txt
--- a/old.txt
+++ b/new.txt
@@ -8,3 +8,3 @@
 8
 9
-10
+ten
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/run.sh b/run.sh
new file mode 100755
--- /dev/null
+++ b/run.sh
@@ -0,0 +1 @@
+#!/bin/sh
diff --git a/x.log b/x.log
new file mode 100644
--- /dev/null
+++ b/x.log
@@ -0,0 +1 @@
+x
"""


def test_moves_deletions_and_new_files_are_committed_without_ignored_ones(repository: Shell) -> None:
    shell = repository
    lines = [f"{number}\n" for number in range(1, 11)]
    for name, text in {
        "old.txt": "".join(lines),
        "gone.txt": "gone\n",
        ".gitignore": "*.log\n*.patch\n",
    }.items():
        shell.write(name, text)
    git(shell, "add", ".")
    git(shell, "commit", "-qm", "more")
    shell.write("old.txt", "".join(["mine\n", *lines[1:]]))
    shell.write("x.patch", PATCH)
    shell.ok("review", "x.patch", "--yes")
    done = shell.ok("commit", "--yes")
    assert "x.log is left out: git ignores it" in done.stderr
    changed = git(shell, "show", "--format=", "--raw", "-M", "--abbrev=4", "HEAD")
    assert [line.split()[-2:] for line in changed.splitlines() if " R" in line] == [["old.txt", "new.txt"]]
    assert [line.split()[-2:] for line in changed.splitlines() if " R" not in line] == [
        ["D", "gone.txt"],
        ["A", "run.sh"],
    ]
    assert ":000000 100755" in changed
    assert git(shell, "show", "HEAD:new.txt").split()[::9] == ["1", "ten"]
    assert git(shell, "status", "--short") == " M new.txt\n"


KINDS = """diff --git a/link b/link
deleted file mode 120000
--- a/link
+++ /dev/null
@@ -1 +0,0 @@
-b.py
\\ No newline at end of file
diff --git a/link b/link
new file mode 100644
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+x
diff --git a/b.py b/b.py
old mode 100644
new mode 100755
--- a/b.py
+++ b/b.py
@@ -1 +1 @@
-B = 1
+B = 2
"""


def test_a_new_kind_and_a_new_mode_are_committed_with_the_text(repository: Shell) -> None:
    shell = repository
    (shell.project / "link").symlink_to("b.py")
    git(shell, "add", "link")
    git(shell, "commit", "-qm", "more")
    shell.write("../x.patch", KINDS)
    shell.ok("review", "../x.patch", "--yes")
    shell.ok("commit", "--yes")
    modes = [line.split()[0] for line in git(shell, "ls-tree", "HEAD", "b.py", "link").splitlines()]
    assert modes == ["100755", "100644"]
    assert git(shell, "status", "--short") == ""


def test_a_file_within_a_submodule_is_refused(repository: Shell) -> None:
    shell = repository
    git(shell, "init", "-q", "sub")
    git(shell, "-C", "sub", "commit", "-q", "--allow-empty", "-m", "begin")
    git(shell, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    git(shell, "commit", "-qm", "more")
    before = git(shell, "ls-tree", "HEAD")
    shell.write("../x.patch", "--- /dev/null\n+++ b/sub/new.py\n@@ -0,0 +1 @@\n+x\n")
    shell.ok("review", "../x.patch", "--yes")
    shell.fails(2, "sub/new.py: another repository within this one has it", "commit", "--yes")
    (shell.project / "sub" / ".git").rename(shell.home / "moved")
    shell.fails(2, "sub/new.py: another repository within this one has it", "commit", "--yes")
    assert git(shell, "ls-tree", "HEAD") == before


@pytest.mark.attack
def test_hooks_filters_and_programs_of_the_repository_run_only_with_trust(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    hook = shell.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    git(shell, "config", "commit.gpgSign", "true")
    sign = shell.write("sign.sh", "#!/bin/sh\ntouch signed\nexit 1\n")
    sign.chmod(0o755)
    git(shell, "config", "gpg.program", str(sign))
    refactored(shell, answering)
    done = shell.ok("commit", "--yes")
    assert "git hook pre-commit" in done.stderr
    assert "will not run" in done.stderr
    assert not (shell.project / "hooked").exists()
    assert not (shell.project / "signed").exists()
    git(shell, "config", "--unset", "commit.gpgSign")
    git(shell, "config", "filter.own.clean", "touch filtered; cat")
    shell.write(".gitattributes", "*.py filter=own\n")
    shell.write("a.py", LOOP)
    refactored(shell, answering)
    shell.fails(2, "a.py: a filter of the repository's own configuration", "commit", "--yes")
    assert not (shell.project / "filtered").exists()
    shell.write(".gitattributes", "")
    git(shell, "config", "--unset", "filter.own.clean")
    shell.ok("trust", "--yes")
    shell.write("a.py", LOOP)
    git(shell, "commit", "-qam", "back")
    (shell.project / "hooked").unlink()
    refactored(shell, answering)
    assert "will not run" not in shell.ok("commit", "--yes").stderr
    assert (shell.project / "hooked").exists()


@pytest.mark.attack
def test_a_filter_of_the_person_is_not_replaced_by_the_repositorys(
    repository: Shell, answering: ModelServer
) -> None:
    shell = repository
    shell.write(".gitattributes", "*.py filter=own\n")
    git(shell, "config", "--global", "filter.own.clean", "cat")
    refactored(shell, answering)
    git(shell, "config", "filter.own.clean", "touch filtered; cat")
    shell.write("a.py", HEAD + SHORT)  # other content than that of the run is stored, too
    shell.ok("commit", "--yes")
    assert git(shell, "show", "HEAD:a.py") == SHORT
    assert not (shell.project / "filtered").exists()


def test_an_unfinished_merge_is_not_committed(repository: Shell, answering: ModelServer) -> None:
    shell = repository
    refactored(shell, answering)
    git(shell, "stash", "-q")
    shell.write("a.py", LOOP + TAIL)
    git(shell, "commit", "-qam", "mine")
    git(shell, "checkout", "-qb", "other", "HEAD~")
    shell.write("a.py", LOOP + MIDDLE)
    git(shell, "commit", "-qam", "theirs")
    subprocess.run(["git", "merge", "-q", "main"], cwd=shell.project, env=shell.env, capture_output=True)
    before = git(shell, "rev-parse", "HEAD"), git(shell, "ls-files", "-s")
    shell.write("a.py", SHORT)
    shell.fails(1, "a merge, rebase or cherry-pick is under way", "commit", "--yes")
    (shell.project / ".git" / "MERGE_HEAD").unlink()
    shell.fails(1, "a.py has an unresolved conflict; resolve it first", "commit", "--yes")
    assert (git(shell, "rev-parse", "HEAD"), git(shell, "ls-files", "-s")) == before


def test_a_rolled_back_run_and_a_missing_repository_are_reported(
    shell: Shell, answering: ModelServer
) -> None:
    run = refactored(shell, answering)
    shell.fails(1, "git finds no repository", "commit", "--yes")
    git(shell, "init", "-q")
    shell.ok("rollback", run, "--yes")
    shell.fails(2, "unless the run was rolled back", "commit", "--yes")
