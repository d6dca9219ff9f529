"""The five checks run on real projects with real programs, if a person trusts them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.state import trust_file
from tideate_core.config import VerifyConfig, load_config
from tideate_core.gates import (
    CheckResult,
    CheckStatus,
    DocumentValidator,
    GateEnforcer,
    VerificationPipeline,
    VerificationReport,
)
from tideate_core.process import run_program
from tideate_core.toolchain import Check, Tool
from tideate_core.toolchain.selection import ProjectTrust, select_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.harness.processes import Brood
    from tideate_core.process import OutputLine

OFF = VerifyConfig(type_check="off", lint="off", tests="off", build="off", documentation="off")
PYPROJECT = """[build-system]
requires = ["none"]
build-backend = "own"
backend-path = ["."]

[project]
name = "small"
version = "1.0"

[tool.mypy]
files = ["small.py"]
strict = true
cache_dir = "/dev/null"

[tool.ruff.lint]
select = ["F"]

[tool.pytest.ini_options]
testpaths = ["."]
addopts = "-p no:cacheprovider"
"""
BACKEND = """import zipfile
from pathlib import Path


def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(directory) / name, "w") as wheel:
        wheel.write("small.py")
        wheel.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n")
        wheel.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\n")
        wheel.writestr("small-1.0.dist-info/RECORD", "")
    return name
"""


@pytest.fixture
def project(root: Path) -> Path:
    """A small valid project under git that uses the tools of this environment."""
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "own.py").write_text(BACKEND)
    (root / "small.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (root / "test_small.py").write_text(
        "from small import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    )
    (root / ".gitignore").write_text(".venv\n__pycache__\n.ruff_cache\n")
    (root / ".venv").symlink_to(Path(sys.prefix))
    git = shutil.which("git")
    assert git
    subprocess.run([git, "init", "-q"], cwd=root, check=True)
    return root


def verify(**more: object) -> VerifyConfig:
    """Return a configuration without documentation, and with a build that needs no isolated environment."""
    options = "--wheel --no-isolation --skip-dependency-check --outdir"
    build = [".venv/bin/python", "-m", "build", *options.split()]
    return VerifyConfig.model_validate({"documentation": "off", "build": [*build, ".tideate/dist"], **more})


def off(**more: object) -> VerifyConfig:
    return OFF.model_copy(update=more)


def trusting(root: Path, config: VerifyConfig) -> ProjectTrust:
    trust = ProjectTrust(root)
    trust.trust(chain.from_iterable(select_tools(root, config).values()))
    return trust


def script(root: Path, text: str) -> list[str]:
    (root / "script.py").write_text(text)
    return [sys.executable, "script.py"]


def pipeline(root: Path, config: VerifyConfig, **more: object) -> VerificationPipeline:
    return VerificationPipeline(root, config, trust=trusting(root, config), **more)  # type: ignore[arg-type]


@pytest.mark.slow
async def test_a_real_project_in_order_passes_all_checks_and_stays_as_it_is(project: Path) -> None:
    results: list[CheckResult] = []
    report = await pipeline(project, verify(), on_result=results.append).run_all()
    assert [(str(r.check), str(r.status)) for r in report.checks] == [
        ("type_check", "passed"),
        ("lint", "passed"),
        ("tests", "passed"),
        ("build", "passed"),
        ("documentation", "not_configured"),
    ], [r.output for r in report.checks]
    assert report.passed
    assert results == report.checks
    assert "1 passed" in report.of(Check.TESTS).output
    assert report.of(Check.TESTS).reason == "pyproject.toml has [tool.pytest]; from .venv"
    assert list((project / ".tideate/dist").glob("*.whl"))
    status = await run_program(["git", "status", "--short"], cwd=project)
    files = (".gitignore", ".tideate/", "own.py", "pyproject.toml", "small.py", "test_small.py")
    assert set(status.stdout.text.splitlines()) == {f"?? {file}" for file in files}


@pytest.mark.slow
async def test_real_failures_are_told_with_their_places(project: Path) -> None:
    (project / "small.py").write_text("import os\n\n\ndef add(a: int, b: int) -> str:\n    return a - b\n")
    report = await pipeline(project, verify(build="off")).run_all()
    assert not report.passed
    assert report.correctable
    found = {
        str(r.check): [(f.file, f.line, f.code) for f in r.failures] for r in report.checks if not r.passed
    }
    assert found == {
        "type_check": [("small.py", 5, "return-value")],
        "lint": [("small.py", 1, "F401")],
        "tests": [("test_small.py", 5, "")],
    }
    assert [entry["filename"] for entry in report.quickfix()] == ["small.py", "small.py", "test_small.py"]
    assert report.of(Check.LINT).exit_code == 1
    assert report.of(Check.LINT).reason.endswith("ended with status 1")


async def test_checks_run_in_their_order_in_the_root_and_are_told_as_they_run(root: Path) -> None:
    told: list[tuple[str, ...]] = []

    def lines(check: Check, lines: Sequence[OutputLine]) -> None:
        told.extend((str(check), line.stream, line.text) for line in lines)

    command = script(root, "import os, sys\nprint(os.getcwd(), flush=True)\nprint('e', file=sys.stderr)\n")
    config = VerifyConfig(type_check=command, lint=command, tests="off", build="off", documentation="off")
    await pipeline(
        root,
        config,
        on_check=lambda check, tool: told.append((str(check), "starts", tool.argv[1])),
        on_lines=lines,
        on_result=lambda result: told.append((str(result.check), str(result.status))),
    ).run_all()
    by_check = {name: [entry[1:] for entry in told if entry[0] == name] for name in ("type_check", "lint")}
    wanted = [("starts", "script.py"), ("stdout", str(root)), ("stderr", "e"), ("passed",)]
    assert by_check["type_check"][0] == by_check["lint"][0] == wanted[0]
    assert sorted(by_check["type_check"]) == sorted(wanted)
    assert by_check["lint"][-1] == ("passed",)
    assert told.index(("type_check", "passed")) < told.index(("lint", "starts", "script.py"))
    assert [entry[1:] for entry in told[-3:]] == [("not_configured",)] * 3


async def test_a_check_without_a_command_does_not_pass_silently(root: Path) -> None:
    config = off(tests=None)
    report = await pipeline(root, config).run_all()
    tests = report.of(Check.TESTS)
    assert tests.status == CheckStatus.NOT_CONFIGURED
    assert not (tests.passed or report.passed or report.correctable)
    assert 'set verify.tests in .tideate/config.toml to a command, or to "off"' in tests.reason
    gate = await GateEnforcer(DocumentValidator(), pipeline(root, config)).enforce_gate5()
    assert [issue.where for issue in gate.issues] == ["tests"]


def test_a_report_in_which_a_check_is_missing_has_not_passed() -> None:
    passed = [CheckResult(check=check, status=CheckStatus.PASSED, exit_code=0) for check in Check]
    assert VerificationReport(checks=passed).passed
    assert not VerificationReport(checks=passed[1:]).passed
    assert not VerificationReport().passed


async def test_a_check_that_is_turned_off_is_shown_and_passes(root: Path) -> None:
    report = await pipeline(root, OFF).run_all()
    assert report.passed
    assert [(r.status, r.required) for r in report.checks] == [(CheckStatus.NOT_CONFIGURED, False)] * 5
    assert report.checks[0].reason == 'verify.type_check is "off"'
    pipeline(root, OFF).cancel()  # nothing runs


async def test_no_command_of_an_untrusted_project_runs(project: Path) -> None:
    ran = project / "ran"
    (project / "conftest.py").write_text(f"open({str(ran)!r}, 'w')\n")
    config = verify(lint=script(project, f"open({str(ran)!r}, 'w')"))
    report = await VerificationPipeline(project, config).run_all()
    assert [str(r.status) for r in report.checks[:4]] == ["not_trusted"] * 4
    assert "`.venv/bin/python -m pytest" in report.of(Check.TESTS).reason
    assert "`tideate trust`" in report.of(Check.TESTS).reason
    assert not report.passed
    assert not ran.exists()


async def test_a_command_that_changed_since_it_was_trusted_does_not_run(root: Path) -> None:
    (root / "Makefile").write_text("test:\n\t@echo fine\n")
    config = off(tests=None)
    trust = trusting(root, config)
    assert (await VerificationPipeline(root, config, trust=trust).run_all()).passed
    (root / "Makefile").write_text("test:\n\t@touch ran\n")
    report = await VerificationPipeline(root, config, trust=trust).run_all()
    assert report.of(Check.TESTS).status == CheckStatus.NOT_TRUSTED
    assert not (root / "ran").exists()


async def test_a_command_of_the_projects_configuration_runs_while_that_is_trusted(root: Path) -> None:
    file = root / ".tideate/config.toml"
    file.parent.mkdir()
    off = "".join(f'{name} = "off"\n' for name in ("type_check", "lint", "build", "documentation"))
    file.write_text(f'[verify]\n{off}tests = ["sh", "-c", "echo ran"]\n')
    untrusted = load_config(root)
    assert untrusted.config.verify == VerifyConfig()
    assert "ignored verify" in untrusted.notices[0]
    trust_file(file)
    config = load_config(root).config.verify
    report = await VerificationPipeline(root, config).run_all()
    assert report.passed
    assert report.of(Check.TESTS).output == "ran\n"
    file.write_text(file.read_text() + "# changed\n")
    again = await VerificationPipeline(root, config).run_all()
    assert again.of(Check.TESTS).status == CheckStatus.NOT_TRUSTED


async def test_a_trusted_configuration_permits_only_the_command_that_it_names(root: Path) -> None:
    file = root / ".tideate/config.toml"
    file.parent.mkdir()
    file.write_text('[verify]\ntests = ["true"]\n')
    trust_file(file)
    trust = ProjectTrust(root)
    assert trust.allows(Tool(Check.TESTS, "true", ("true",), ""))
    assert not trust.allows(Tool(Check.LINT, "true", ("true",), ""))
    assert not trust.allows(Tool(Check.TESTS, "sh", ("sh", "-c", "x"), ""))


@pytest.mark.slow
async def test_a_check_that_takes_too_long_is_ended_with_all_it_started(root: Path, brood: Brood) -> None:
    command = script(
        root,
        "import signal, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print('a.py:3: E1 late', flush=True)\nsignal.pause()",
    )
    config = off(tests=command, lint=["true"], timeout=1.0, environment=brood.environment())
    report = await pipeline(root, config).run_all()
    tests = report.of(Check.TESTS)
    assert (tests.status, tests.correctable) == (CheckStatus.TIMED_OUT, True)
    assert "did not end within its time" in tests.reason
    assert "late" in tests.output
    assert report.of(Check.LINT).status == CheckStatus.PASSED
    assert brood.gone(60), brood.commands()


def waiting(root: Path, brood: Brood, heard: asyncio.Event) -> VerificationPipeline:
    command = script(
        root,
        "import signal, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], start_new_session=True)\n"
        "print('ready', flush=True)\nsignal.pause()",
    )
    config = VerifyConfig(
        type_check="off", lint=["true"], tests=command, build=["true"], environment=brood.environment()
    )
    return pipeline(root, config, on_lines=lambda *_: heard.set())


async def test_cancelling_ends_the_check_that_runs_and_begins_no_other(root: Path, brood: Brood) -> None:
    heard = asyncio.Event()
    verification = waiting(root, brood, heard)
    running = asyncio.create_task(verification.run_all())
    async with asyncio.timeout(60):
        await heard.wait()
        verification.cancel()
        report = await running
    assert [str(r.status) for r in report.checks] == ["not_configured", "passed", *["cancelled"] * 3]
    assert not report.passed
    assert not report.correctable
    assert brood.gone(60), brood.commands()


async def test_a_cancelled_task_goes_only_when_its_programs_have_gone(root: Path, brood: Brood) -> None:
    heard = asyncio.Event()
    running = asyncio.create_task(waiting(root, brood, heard).run_all())
    async with asyncio.timeout(60):
        await heard.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert brood.gone(60), brood.commands()


async def test_a_program_that_is_missing_fails_and_says_what_to_do(root: Path) -> None:
    report = await pipeline(root, off(lint=["no-such-linter", "."])).run_all()
    lint = report.of(Check.LINT)
    assert (lint.status, lint.exit_code, lint.correctable) == (CheckStatus.FAILED, None, False)
    assert "no-such-linter is not installed" in lint.reason
    assert "set verify.lint in .tideate/config.toml" in lint.reason


async def test_a_check_gets_the_configured_environment_and_no_key_of_ours(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s")
    monkeypatch.setenv("WANTED", "w")
    names = ["SECRET_KEY", "WANTED", "MINE", "CI"]
    command = script(root, f"import os\nprint([os.environ.get(name) for name in {names}])")
    config = off(tests=command, environment={"MINE": "m"}, inherit=["WANTED"])
    report = await pipeline(root, config).run_all()
    assert report.of(Check.TESTS).output == "[None, 'w', 'm', None]\n", "CI is for runners that watch"


@pytest.mark.slow
async def test_much_output_is_cut_in_its_middle_and_failures_are_bounded(root: Path) -> None:
    command = script(
        root, "import sys\nfor n in range(200_000): print(f'a.py:{n + 1}:1: error: e{n}')\nsys.exit(1)"
    )
    report = await pipeline(root, off(tests=command)).run_all()
    tests = report.of(Check.TESTS)
    assert (len(tests.failures), tests.more_failures) == (200, True)
    assert tests.output.endswith("a.py:200000:1: error: e199999\n")
    assert len(tests.output) == 8000
    assert "in the middle of its output were left out" in tests.reason


async def test_a_listener_that_raises_ends_the_verification_and_what_it_runs(root: Path) -> None:
    def broken(_: CheckResult) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await pipeline(root, OFF, on_result=broken).run_all()
