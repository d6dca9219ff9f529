"""The official conformance suite: on each of our servers, on one made for it, and on our client."""

from __future__ import annotations

import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scripts.conformance.programs import FailedError, tail
from scripts.conformance.running import OWN, project, without_header

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from rich.console import Console

    from scripts.conformance.programs import Programs

SCENARIOS: Final = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
"""What the suite asks of any server."""
NEXT_SCENARIOS: Final = (
    "server-session-lifecycle",
    "http-header-validation",
    "tools-list",
    "resources-list",
    "prompts-list",
)
"""What its next version does beyond that, the lists in the newest protocol."""
VERSIONS: Final = ("2025-11-25", "2026-07-28")
NOT_APPLICABLE: Final = {
    "they call tools that only the suite's own server has": re.compile(
        r"tools-call-.*|json-schema-2020-12|elicitation-.*|server-sse-.*"
    ),
    "they read resources that only the suite's own server has": re.compile(r"resources-(read|templates)-.*"),
    "they get prompts that only the suite's own server has": re.compile(r"prompts-get-.*"),
    "features that these servers do not declare": re.compile(
        r"logging-set-level|completion-complete|resources-(un)?subscribe"
    ),
}
COUNTS: Final = re.compile(r"(\d+)(?: passed|/\d+), (\d+) failed")
CLIENT: Final = ("initialize", "tools_call", "sse-retry")
NEXT_CLIENT: Final = (
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-2020-12-preservation",
    "json-schema-ref-no-deref",
)
CLIENT_NOT_APPLICABLE: Final = {
    "our client gives a token, and has no OAuth": re.compile(r"auth/.*"),
    "our client does not offer elicitation": re.compile(r"elicitation-.*"),
}


def server_scenarios(programs: Programs, console: Console) -> None:
    """Run the scenarios for servers on all five; list skipped scenarios with the reason."""
    known = _known(programs, "--server")
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(max_workers=2) as pool:
        root = project(Path(directory))
        for name, checks in pool.map(
            lambda name: (name, _all_on(programs, name, root)), (*OWN, "transitions")
        ):
            console.print(f"  [green]✓[/] {name} [dim]{checks} checks")
    console.print(f"  [dim]{', '.join(SCENARIOS)}; of the next version {', '.join(NEXT_SCENARIOS)}")
    _tell_left(console, known, SCENARIOS, NOT_APPLICABLE)


def _all_on(programs: Programs, name: str, root: Path) -> int:
    """Run the scenarios for any server on one; returns how many checks passed."""
    passed = 0
    with without_header(name, root) as url:
        for scenario in SCENARIOS:
            done = programs.suite("server", "--url", url, "--scenario", scenario)
            passed += _passed(done, f"{name}, scenario {scenario}")
        for scenario in NEXT_SCENARIOS:
            newest = ("--spec-version", VERSIONS[-1]) if scenario.endswith("-list") else ()
            done = programs.next_suite("server", "--url", url, "--scenario", scenario, *newest)
            passed += _passed(done, f"{name}, scenario {scenario} of the next version")
    return passed


def active_suite(programs: Programs, console: Console) -> None:
    """Run the active suite over our transport, on a server with all features."""
    with without_header("everything", Path()) as url:
        done = programs.suite("server", "--url", url, "--suite", "active")
        console.print(f"  [green]✓[/] all of it [dim]{_passed(done, 'active suite')} checks")
        for version in VERSIONS:
            done = programs.next_suite("server", "--url", url, "--suite", "active", "--spec-version", version)
            passed = _passed(done, f"active suite, {version}")
            console.print(f"  [green]✓[/] all of its next version, MCP {version} [dim]{passed} checks")


def _passed(done: CompletedProcess[str], what: str) -> int:
    """Return how many checks passed.

    :raises FailedError: one failed, or there were none.
    """
    if done.returncode:
        raise FailedError(f"{what}: {tail(done)}")
    counts = [(int(passed), int(failed)) for passed, failed in COUNTS.findall(done.stdout + done.stderr)]
    if not counts or any(failed for _, failed in counts) or not counts[-1][0]:
        raise FailedError(f"{what}: it ended well, and said otherwise: {tail(done)}")
    return counts[-1][0]


def client_scenarios(programs: Programs, console: Console) -> None:
    """Run the scenarios that apply to our client."""
    command = f"{sys.executable} -m scripts.conformance.client"
    runs = [(programs.suite, scenario) for scenario in CLIENT]
    runs += [(programs.next_suite, scenario) for scenario in NEXT_CLIENT]
    with ThreadPoolExecutor(max_workers=2) as pool:
        done = pool.map(lambda run: run[0]("client", "--command", command, "--scenario", run[1]), runs)
        for (_, scenario), each in zip(runs, done, strict=True):
            passed = _passed(each, f"scenario {scenario}")
            console.print(f"  [green]✓[/] {scenario} [dim]{passed} check{'s' * (passed != 1)}")
    _tell_left(console, _known(programs, "--client"), CLIENT, CLIENT_NOT_APPLICABLE)


def _known(programs: Programs, side: str) -> list[str]:
    listed = programs.suite("list", side).stdout
    section = listed.split("Client scenarios")[0 if side == "--server" else -1]
    return re.findall(r"^\s+- (\S+)", section, re.MULTILINE)


def _tell_left(
    console: Console, known: list[str], run: tuple[str, ...], reasons: dict[str, re.Pattern[str]]
) -> None:
    """Report skipped scenarios.

    :raises FailedError: a scenario was skipped without a reason.
    """
    if not set(run) <= set(known):
        raise FailedError(f"the suite has no scenario {', '.join(set(run) - set(known))}")
    left = [name for name in known if name not in run]
    for reason, pattern in reasons.items():
        names = [name for name in left if pattern.fullmatch(name)]
        left = [name for name in left if name not in names]
        console.print(f"  [dim]· not applicable, {reason}: {', '.join(names)}")
    if left:
        raise FailedError(f"scenarios that are neither run nor known as not applicable: {', '.join(left)}")
