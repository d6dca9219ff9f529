"""Wording of usage, gates, checks, corrections, rollbacks and tool calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.app import short_id
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.store import RunRow

__all__ = [
    "TASK",
    "VERIFICATION",
    "cached_words",
    "calls_words",
    "check_text",
    "correction_words",
    "count_words",
    "failure_words",
    "first_failures",
    "forked_words",
    "gate_issues",
    "gate_text",
    "not_run_words",
    "rolled_back_lines",
    "size_words",
    "tool_running",
    "tool_text",
    "usage_words",
]

TASK: Final = "task"
"""The workflow with gates; `builtin.task` holds its name, which a list of words need not load."""
VERIFICATION: Final = 5
"""The gate whose issues are the failures of its checks, which are shown as those end."""
MOST_FOREIGN: Final = 8
"""Paths of others' changes that are named after a rollback."""
MOST_FAILURES: Final = 5
"""Failures of a check that are shown as it ends; `tideate show` has them all."""
CORRECTIONS: Final = 3
"""As many as a task makes; `gates.correction` holds it, which a list of words need not load."""
CORRECTING: Final = "self_correcting"
WAITING: Final = frozenset(
    f"awaiting_{gate}_gate" for gate in ("plan", "audit", "execution", "documentation")
)
"""States of a task that wait for a gate; `machines` has its table, which a list of words need not load."""
_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "not_configured": ("!", "yellow"),
    "not_trusted": ("!", "yellow"),
    "cancelled": ("■", "yellow"),
    "skipped": ("·", "dim"),
}


def forked_words(run: RunRow) -> str:
    """Return where a run was forked from; empty of any other."""
    if run.forked_from is None or run.forked_step is None:
        return ""
    return f"from {short_id(run.forked_from)}.{run.forked_step}"


def lasted_words(duration_ms: float) -> str:
    """Return how long something took."""
    return f"{duration_ms:.0f} ms" if duration_ms < 1000 else f"{duration_ms / 1000:.1f} s"


def count_words(count: float) -> str:
    """Return a number of tokens in few characters."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return f"{count:.0f}"


def cached_words(cached: int, read: int) -> str:
    """Return the share of a prompt that was cached; empty if none."""
    return f"{100 * cached / read:.0f} %" if cached and read else ""


def usage_words(usage: Mapping[str, Any]) -> str:
    """Return what models were asked and answered with, in its JSON form; empty if none was asked."""
    read, written = usage["input_tokens"], usage["output_tokens"]
    if not (read or written):
        return ""
    share = cached_words(usage.get("cached_tokens", 0), read)
    cached = f" ({share} cached)" if share else ""
    words = f"{count_words(read)} tokens in{cached}, {count_words(written)} out"
    cost = usage.get("cost")
    return words if cost is None else f"{words}, ${cost:.{2 if cost >= 0.01 else 4}f}"


def gate_text(data: Mapping[str, Any], *, passed: bool) -> Text:
    """Return a gate's decision as one line; one of the five has a number."""
    mark, style = ("✓", "green") if passed else ("✗", "red")
    name = f"gate {data['number']}, {data['gate']}" if "number" in data else str(data["gate"])
    words = ["passed" if passed else "failed"]
    if data.get("auto_fixed"):
        words.append("after the audit's own fixes")
    if data.get("duration_ms") is not None:
        words.append(lasted_words(data["duration_ms"]))
    return Text.assemble((f"{mark} ", style), visible(name), (f"  {', '.join(words)}", "dim"))


def gate_issues(data: Mapping[str, Any]) -> list[str]:
    """Return what a gate has to say of its own."""
    return [] if data.get("number") == VERIFICATION else list(data["issues"])


def is_off(data: Mapping[str, Any]) -> bool:
    """Return whether the configuration says that there is no such check."""
    return data["status"] == "not_configured" and not data.get("required", True)


def check_text(data: Mapping[str, Any]) -> Text:
    """Return how a check ended as one line."""
    if is_off(data):
        return Text.assemble(("· ", "dim"), visible(str(data["check"])), ("  off", "dim"))
    mark, style = _STYLES.get(data["status"], ("?", "yellow"))
    words = [str(data["status"]).replace("_", " ")]
    if data["status"] not in ("not_configured", "not_trusted"):
        words.append(f"after {lasted_words(data['duration_ms'])}")
    if data["status"] == "failed" and data.get("exit_code"):
        words.append(f"with exit status {data['exit_code']}")
    failures = len(data.get("failures", ()))
    if failures:
        words.append(f"({failures} failure{'' if failures == 1 else 's'})")
    line = Text.assemble((f"{mark} ", style), visible(str(data["check"])), (f"  {' '.join(words)}", "dim"))
    # with failures they say it; where the command comes from is said by doctor
    if data["status"] != "passed" and not failures and data.get("reason"):
        line.append(f": {visible(data['reason'])}", "dim")
    return line


def not_run_words(data: Mapping[str, Any]) -> str:
    """Return the check that has no command, and why."""
    return f"{data['check']} ({'off' if is_off(data) else 'not configured'})"


def first_failures(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first failures of a check, a line each, and how many more there are."""
    lines = [failure_words(one) for one in failures[:MOST_FAILURES]]
    more = len(failures) - len(lines)
    return [*lines, f"… and {more} more"] if more else lines


def failure_words(entry: Mapping[str, Any]) -> str:
    """Return an entry of a quickfix list as `file:line: message`."""
    place = label(entry.get("filename") or "")
    if place and entry.get("lnum"):
        place += f":{entry['lnum']}"
    message = " ".join(str(entry.get("text", "")).split())
    return f"{place}: {message}" if place else message


def step_words(step: str) -> str:
    """Return what a step is called: a state of a task that waits for a gate by its gate."""
    state, visit_of, visit = step.partition("#")
    gate = state.removeprefix("awaiting_").removesuffix("_gate")
    return f"{gate} gate{visit_of}{visit}" if state in WAITING else step


def correction_words(step: str) -> str:
    """Return which correction a step is of how many; empty for a step that corrects nothing."""
    state, _, visit = step.partition("#")
    return f"correction {visit or 1} of {CORRECTIONS}" if state == CORRECTING else ""


def rolled_back_lines(data: Mapping[str, Any]) -> list[Text]:
    """Return the result of a task's rollback, line by line: what was rolled back, what stays and why."""
    foreign = data["foreign"]
    lines = [_rollback_head(data)]
    for words, names, more in (
        ("restored", data["restored"], 0),
        ("restored, your own edits kept", data["merged"], 0),
        ("stays, changed after the run wrote it", data["left"], 0),
        (
            "stays, changed by you or a check",
            foreign[:MOST_FOREIGN],
            len(foreign[MOST_FOREIGN:]) + data["more_foreign"],
        ),
    ):
        if names:
            listed = ", ".join(map(label, sorted(names))) + (f" and {more} more" if more else "")
            lines.append(Text(f"  {words}: {listed}", style="yellow"))
    snapshot = data["snapshot"]
    if snapshot and (data["left"] or foreign or data["error"]):
        shown = f"tideate snapshot diff {snapshot} --changes"
        lines.append(Text(f"  as it was before: snapshot {snapshot}; `{shown}` shows it", style="dim"))
    elif snapshot:
        lines.append(Text(f"  snapshot from before: {snapshot}", style="dim"))
    return lines


def _rollback_head(data: Mapping[str, Any]) -> Text:
    if data["error"]:
        return Text(f"not everything was rolled back: {visible(data['error'])}", style="bold red")
    if data["restored"] or data["merged"]:
        return Text("rolled back what the run wrote", style="yellow")
    if data["left"]:
        return Text("nothing was rolled back", style="yellow")
    return Text("nothing to roll back: the run had changed no file", style="yellow")


LONGEST_ERROR = 200
THOUSAND: Final = 1_000
"""Characters of an error on a line."""


def tool_running(data: Mapping[str, Any]) -> str:
    """Return what is called, and how far that is, if it said so."""
    of = f"/{data['total']:g}" if data.get("total") else ""
    far = f"{data['progress']:g}{of}" if "progress" in data else ""
    return " ".join(filter(None, (_name(data), far, data.get("message"))))


def tool_text(data: Mapping[str, Any]) -> Text:
    """Return how a call ended."""
    took = f"{data['duration_ms'] / 1000:.1f} s"
    if data["ok"]:
        took = f"{size_words(data['size'])}  {took}" if "size" in data else took
        return Text.assemble(("✓ ", "green"), visible(_name(data)), (f"  {took}", "dim"))
    why = " ".join(str(data.get("error") or "stopped").split())
    why = why if len(why) <= LONGEST_ERROR else f"{why[: LONGEST_ERROR - 1]}…"
    return Text.assemble(("✗ ", "red"), visible(_name(data)), (f"  {took}  ", "dim"), (visible(why), "red"))


def _name(data: Mapping[str, Any]) -> str:
    # a server chooses its names, a model its arguments
    return " ".join(str(data.get("summary") or f"{data['server']}/{data['tool']}").split())


def calls_words(calls: Sequence[Mapping[str, Any]]) -> str:
    """Return how many calls there were, and of which tools: `12 tool calls: 7 read_file, 5 search`."""
    names = (f"{data['server']}/{data['tool']}" if data["server"] else str(data["tool"]) for data in calls)
    counts = ", ".join(f"{count} {name}" for name, count in Counter(names).most_common())
    failed = sum(not data["ok"] for data in calls)
    words = f"{len(calls)} tool call{'' if len(calls) == 1 else 's'}: {counts}"
    return f"{words} ({failed} failed)" if failed else words


def size_words(characters: int) -> str:
    """Return the length of a text."""
    if characters < THOUSAND:
        return f"{characters} character{'' if characters == 1 else 's'}"
    return f"{characters / THOUSAND:.1f}k characters"
