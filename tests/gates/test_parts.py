"""In a project of several parts, the affected parts are checked and must pass."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest

from tideate_core.config import VerifyConfig
from tideate_core.gates import CheckStatus, VerificationPipeline, VerificationReport, readiness
from tideate_core.toolchain import Check, ProjectTrust, select_tools
from tideate_core.toolchain.detection import parts

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "api/pyproject.toml": '[project]\nname = "api"\n[tool.pytest.ini_options]\n[tool.ruff]\n',
    "web/package.json": '{"name": "web", "scripts": {"test": "node t", "build": "node b", "lint": "node l"}}',
    "svc/go.mod": "module example.com/svc\n",
}
PROGRAM = """#!/bin/sh
echo "${PWD##*/}: ${0##*/} $*" >> "${0%/*}/log"
test ! -e fails || { echo a.txt:3: wrong; exit 1; }
for word; do
  case "$before$word" in
    --junitxml=*) report=${word#*=};;
    --output-junit*) report=$word;;
    -json) echo '{"Action":"pass","Package":"a","Test":"TestA"}'; echo '{"Action":"pass","Package":"a"}';;
  esac
  case "$word" in --output-junit) before=$word;; esac
done
test ! "$report" || echo '<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>' > "$report"
"""


@pytest.fixture
def monorepo(root: Path) -> Path:
    """Python, Node and Go, each in a folder, with programs that log their calls and can fail."""
    for name, text in FILES.items():
        (root / name).parent.mkdir()
        (root / name).write_text(text)
    return root


def config_of(root: Path, *programs: str, **more: object) -> VerifyConfig:
    folder = root.parent / "programs"
    folder.mkdir(exist_ok=True)
    for name in programs:
        (folder / name).write_text(PROGRAM)
        (folder / name).chmod(0o755)
    # nothing else, so that what is installed here does not count
    path = {"PATH": str(folder)}
    return VerifyConfig.model_validate({"documentation": "off", "environment": path, **more})


def monorepo_config(root: Path) -> VerifyConfig:
    return config_of(root, "pytest", "npm", "go", "ruff")


def calls(root: Path) -> list[str]:
    log = root.parent / "programs" / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [" ".join(line.split(" ")[:3]) for line in lines]


async def verified(root: Path, config: VerifyConfig, changed: list[str] | None) -> VerificationReport:
    trust = ProjectTrust(root)
    environment = {"PATH": config.environment["PATH"]}
    trust.trust(chain.from_iterable(select_tools(root, config, environment).values()))
    return await VerificationPipeline(root, config, trust=trust, changed=changed).run_all()


async def test_each_part_s_checks_run_where_a_change_touches_it_and_only_there(monorepo: Path) -> None:
    config = monorepo_config(monorepo)
    ran = {
        "api": ["api: ruff check", "api: pytest -q"],
        "svc": ["svc: go vet", "svc: go test", "svc: go build"],
        "web": ["web: npm run", "web: npm run", "web: npm run"],
    }
    for part, expected in ran.items():
        report = await verified(monorepo, config, [f"{part}/x", "CHANGELOG.md"])
        assert calls(monorepo) == expected
        assert report.passed
        tests = {one.folder: one.status for one in report.of(Check.TESTS).parts}
        assert tests == {one: CheckStatus.PASSED if one == part else CheckStatus.SKIPPED for one in ran}
        assert f"{part} `" in report.of(Check.TESTS).reason
        assert report.of(Check.TESTS).reason.count("the change affects neither") == 2
    report = await verified(monorepo, config, None)
    assert sorted(calls(monorepo)) == sorted(chain.from_iterable(ran.values()))


async def test_a_check_that_no_touched_part_has_is_skipped_and_said(monorepo: Path) -> None:
    report = await verified(monorepo, monorepo_config(monorepo), ["svc/main.go"])
    lint = report.of(Check.LINT)
    assert lint.status == CheckStatus.SKIPPED
    assert "api `ruff" in lint.reason
    assert "web `npm run lint`" in lint.reason


async def test_what_lies_beyond_the_parts_that_were_searched_is_said_with_a_pass(
    monorepo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_MOST_PARTS", 2)
    report = await verified(monorepo, monorepo_config(monorepo), ["api/a.py"])
    assert report.of(Check.TESTS).status == CheckStatus.PASSED
    assert "in its first 2 parts only, so those in web or after it" in report.of(Check.TESTS).reason


async def test_one_part_that_fails_fails_the_check_with_its_place(monorepo: Path) -> None:
    (monorepo / "web" / "fails").touch()
    report = await verified(monorepo, monorepo_config(monorepo), ["api/a.py", "web/a.ts"])
    tests = report.of(Check.TESTS)
    assert not report.passed
    assert (tests.status, tests.exit_code, tests.correctable) == (CheckStatus.FAILED, 1, True)
    assert [str(failure) for failure in tests.failures] == ["web/a.txt:3: wrong"]
    assert "web `npm run test` failed" in tests.reason
    assert [part.output for part in tests.parts] == ["", "", ""]
    assert VerificationReport.model_validate_json(report.model_dump_json()) == report


async def test_a_part_that_should_have_run_and_did_not_is_no_pass(monorepo: Path) -> None:
    config = monorepo_config(monorepo)
    (monorepo.parent / "programs" / "go").unlink()
    report = await verified(monorepo, config, ["svc/main.go"])
    assert report.of(Check.TESTS).status == CheckStatus.FAILED
    assert "go is not installed" in report.of(Check.TESTS).reason
    trust = ProjectTrust(monorepo / "web")  # nothing is trusted there
    untrusted = await VerificationPipeline(monorepo, config, trust=trust, changed=["web/a.ts"]).run_all()
    assert untrusted.of(Check.TESTS).status == CheckStatus.NOT_TRUSTED
    assert not untrusted.passed


async def test_the_same_command_in_another_folder_needs_trust_of_its_own(root: Path) -> None:
    config = config_of(root, "go", lint="off")
    (root / "go.mod").write_text("module a\n")
    assert (await verified(root, config, None)).passed
    (root / "b").mkdir()
    (root / "b" / "go.mod").write_text("module b\n")
    report = await VerificationPipeline(root, config).run_all()
    assert [part.status for part in report.of(Check.TESTS).parts] == ["passed", "not_trusted"]
    assert not report.passed


async def test_a_polyglot_root_runs_both_sides(root: Path) -> None:
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / "package.json").write_text('{"scripts": {"test": "node t"}}')
    config = config_of(root, "pytest", "npm", type_check="off", lint="off", build="off")
    report = await verified(root, config, ["a.py"])
    assert [part.command[0] for part in report.of(Check.TESTS).parts] == ["pytest", "npm"]
    assert report.passed


@pytest.mark.parametrize(
    ("build", "fails", "ran"),
    [
        (None, False, ["cmake", "ctest"]),
        (None, True, ["cmake"]),
        ("off", False, []),
        (["/bin/true"], False, ["ctest"]),
        (["/bin/false"], False, []),
    ],
)
async def test_what_tests_run_is_built_before_them(
    root: Path, build: object, fails: bool, ran: list[str]
) -> None:
    for name in ("CMakeLists.txt", "build/CMakeCache.txt", "build/CTestTestfile.cmake"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    if fails:
        (root / "fails").touch()
    config = config_of(root, "ctest", "cmake", type_check="off", lint="off", build=build)
    tests = (await verified(root, config, ["a.c"])).of(Check.TESTS)
    assert [line.split(" ")[1] for line in calls(root)] == ran
    assert (tests.passed, tests.exit_code) == ((True, 0) if "ctest" in ran else (False, None))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"package.json": '{"scripts": {"lint": "x"}}', "pnpm-lock.yaml": ""},
            "pnpm is not installed; run `npm install -g pnpm`",
        ),
        ({"go.mod": "", ".golangci.yml": ""}, "golangci-lint is not installed; install it"),
        ({"setup.cfg": "[flake8]\n"}, "flake8 is not installed; run `pip install flake8`"),
        ({"package.json": '{"scripts": {"lint": "eslint ."}}'}, "eslint is not installed; run `npm install`"),
        ({"biome.json": ""}, "biome is not installed; run `npm install`"),
    ],
)
def test_a_program_that_is_not_there_is_told_before_anything_runs(
    root: Path, files: dict[str, str], words: str
) -> None:
    for name, text in files.items():
        (root / name).write_text(text)
    config = config_of(root, "npm", "npx")
    config = config.model_copy(update={"environment": {"PATH": str(root.parent / "programs")}})
    (lint,) = [one for one in readiness(root, config) if one.check == Check.LINT]
    assert (lint.state, lint.advice, lint.ready) == ("not_installed", words, False)
