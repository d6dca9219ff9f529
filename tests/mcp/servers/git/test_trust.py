"""Hooks, signing and filters of a repository run only as a person trusted them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.state import trust_all, trust_repository
from tideate_core.app import revoke_trust

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.slow

WHO = {"agent": "a", "scope": "s", "description": "d"}
HOOK = "#!/bin/sh\necho ran >> ran.log\n"
SIGNER = """#!/bin/sh
cat > /dev/null
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'
"""


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def ran(repo: Repo) -> bool:
    return (repo.root / "ran.log").exists()


async def test_a_hook_is_not_run_before_it_is_trusted_and_that_is_said(repo: Repo, call: Caller) -> None:
    executable(repo.root / ".git/hooks/pre-commit", HOOK)
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["hooks"].startswith("not run: pre-commit (the project is not trusted")
    assert "tideate trust" in made["hooks"]
    assert not ran(repo)


async def test_a_trusted_hook_runs_and_a_changed_one_asks_again(repo: Repo, call: Caller) -> None:
    executable(repo.root / ".git/hooks/pre-commit", HOOK)
    assert trust_repository(repo.root) == ["git hook pre-commit"]
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["hooks"] == "run: pre-commit"
    assert ran(repo)
    (repo.root / "ran.log").unlink()
    executable(repo.root / ".git/hooks/pre-commit", HOOK + "# changed\n")
    repo.write("one.py", "changed again\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["hooks"].startswith("not run: pre-commit")
    assert not ran(repo)


async def test_what_a_hook_calls_beside_it_is_trusted_with_it(repo: Repo, call: Caller) -> None:
    executable(repo.root / ".husky/pre-commit", '#!/bin/sh\n. "$(dirname "$0")/lib/run.sh"\n')
    executable(repo.root / ".husky/lib/run.sh", "echo ran >> ran.log\n")
    repo.git("config", "core.hooksPath", ".husky")
    trust_repository(repo.root)
    (repo.root / ".husky/lib/run.sh").write_text("echo worse >> ran.log\n")
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["hooks"].startswith("not run: pre-commit")
    assert not ran(repo)


async def test_a_trusted_hook_that_refuses_is_heard_and_nothing_is_committed(
    repo: Repo, call: Caller
) -> None:
    executable(repo.root / ".git/hooks/pre-commit", "#!/bin/sh\necho 'line 3 is too long' >&2\nexit 1\n")
    trust_repository(repo.root)
    before = repo.head()
    repo.write("new.py", "new\n")
    assert "line 3 is too long" in await call.refused("git_commit", **WHO, files=["new.py"])
    assert repo.head() == before
    assert repo.short() == ["?? new.py"]


async def test_hooks_out_of_the_root_never_run_by_the_repositorys_own_word(
    repo: Repo, tmp_path: Path, call: Caller
) -> None:
    executable(tmp_path / "hooks/pre-commit", HOOK)
    repo.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    assert trust_repository(repo.root) == []
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert "leads out of the root" in made["hooks"]
    assert not ran(repo)


async def test_a_commit_is_signed_only_where_that_is_trusted(
    repo: Repo, tmp_path: Path, call: Caller
) -> None:
    executable(tmp_path / "signer", SIGNER)
    for key, value in (
        ("commit.gpgSign", "true"),
        ("gpg.program", str(tmp_path / "signer")),
        ("user.signingKey", "k"),
    ):
        repo.git("config", key, value)
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["signing"].startswith("not signed: the project is not trusted")
    assert "gpgsig" not in repo.git("cat-file", "commit", "HEAD")
    assert trust_repository(repo.root) == ["signing of commits"]
    repo.write("one.py", "again\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["signing"] == "signed"
    assert "gpgsig" in repo.git("cat-file", "commit", "HEAD")
    repo.git("config", "gpg.program", "/bin/false")
    repo.write("one.py", "and again\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["signing"].startswith("not signed")


def pointing(repo: Repo, scope: str) -> None:
    """Configure a filter that stores a file as its size, as LFS stores a pointer."""
    repo.git("config", scope, "filter.big.clean", "wc -c")
    repo.git("config", scope, "filter.big.smudge", "cat")
    repo.write(".gitattributes", "*.bin filter=big\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "--quiet", "-m", "attributes")
    repo.write("x.bin", "content\n")


async def test_a_filter_of_the_person_makes_the_file_that_is_kept(repo: Repo, call: Caller) -> None:
    pointing(repo, "--global")
    await call("git_commit", **WHO, files=["x.bin"])
    assert repo.git("show", "HEAD:x.bin") == "8\n"


async def test_a_filter_of_the_repository_is_refused_until_it_is_trusted(repo: Repo, call: Caller) -> None:
    pointing(repo, "--local")
    before = repo.head()
    for tool, arguments in (
        ("git_commit", {**WHO, "files": ["x.bin"]}),
        ("git_commit", {**WHO, "auto_stage": True}),
        ("git_add", {"files": ["x.bin"]}),
        ("git_add", {"files": ["."]}),
    ):
        assert "'big', a program that this repository brings" in await call.refused(tool, **arguments)
    assert repo.head() == before
    assert repo.short() == ["?? x.bin"]
    trust_repository(repo.root)
    await call("git_commit", **WHO, files=["x.bin"])
    assert repo.git("show", "HEAD:x.bin") == "8\n"


async def test_a_repository_that_repeats_a_filter_of_the_person_gets_the_persons(
    repo: Repo, call: Caller
) -> None:
    pointing(repo, "--global")
    repo.git("config", "filter.big.clean", "echo evil")
    await call("git_commit", **WHO, files=["x.bin"])
    assert repo.git("show", "HEAD:x.bin") == "8\n"


@pytest.mark.parametrize("key", ["lfs.extension.x.clean", "lfs.customtransfer.x.path"])
async def test_lfs_is_not_run_where_the_repository_gives_it_programs(
    repo: Repo, key: str, call: Caller
) -> None:
    repo.git("config", "--global", "filter.lfs.clean", "wc -c")
    repo.git("config", key, "evil")
    repo.write(".git/info/attributes", "*.bin filter=lfs\n")
    repo.write("x.bin", "content\n")
    assert "'lfs'" in await call.refused("git_add", files=["x.bin"])


async def test_a_filter_that_is_not_set_up_is_refused(repo: Repo, call: Caller) -> None:
    repo.write(".git/info/attributes", "*.bin filter=lfs\n")
    repo.write("x.bin", "content\n")
    repo.write("one.py", "changed\n")
    assert "git lfs install" in await call.refused("git_commit", **WHO, files=["x.bin"])
    await call("git_commit", **WHO, files=["one.py"])


async def test_a_branch_with_filtered_files_is_left_to_a_person(repo: Repo, call: Caller) -> None:
    repo.git("switch", "--quiet", "-c", "side")
    pointing(repo, "--global")
    repo.git("add", "x.bin")
    repo.git("commit", "--quiet", "-m", "big")
    repo.git("switch", "--quiet", "main")
    assert "'x.bin' differs in that branch" in await call.refused("git_checkout", branch_name="side")
    assert repo.git("branch", "--show-current") == "main\n"


async def test_the_command_trusts_the_hooks_with_all_else_and_takes_it_back(repo: Repo, call: Caller) -> None:
    executable(repo.root / ".git/hooks/pre-commit", HOOK)
    assert trust_all(repo.root) == ["git"]
    repo.write("one.py", "changed\n")
    assert (await call("git_commit", **WHO, files=["one.py"]))["hooks"] == "run: pre-commit"
    assert revoke_trust(repo.root)
    repo.write("one.py", "again\n")
    assert (await call("git_commit", **WHO, files=["one.py"]))["hooks"].startswith("not run")


async def test_what_a_hook_formats_is_staged_as_it_was_committed(repo: Repo, call: Caller) -> None:
    formatting = "#!/bin/sh\necho formatted > one.py\ngit add one.py\n"
    executable(repo.root / ".git/hooks/pre-commit", formatting)
    trust_repository(repo.root)
    repo.write("one.py", "changed\n")
    repo.write("two.py", "staged\n")
    repo.git("add", "two.py")
    await call("git_commit", **WHO, files=["one.py"])
    assert repo.git("show", "HEAD:one.py") == "formatted\n"
    assert repo.short() == ["M  two.py"]


async def test_a_filter_that_the_person_sets_up_meanwhile_is_known(repo: Repo, call: Caller) -> None:
    repo.write(".gitattributes", "*.py filter=mine\n")
    repo.write("one.py", "changed\n")
    assert "not set up" in await call.refused("git_commit", **WHO, files=["one.py"])
    with (repo.home / ".gitconfig").open("a") as file:
        file.write('[filter "mine"]\n\tclean = cat\n')
    await call("git_commit", **WHO, files=["one.py"])
