"""Phrases and lines for usage, gates, checks, corrections, rollbacks and tool calls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.app import short_id
from tideate_core.util.cutting import beginning
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.store import RunRow

TASK: Final = "task"
"""Name of the gated workflow, here without an import of `builtin.task`."""
VERIFICATION: Final = 5
"""Number of the gate whose issues repeat the failures of its checks."""
MOST_FOREIGN: Final = 8
"""Paths with foreign changes that a rollback report names."""
MOST_FAILURES: Final = 5
"""Failures shown at the end of a check; `tideate show` lists all."""
CORRECTIONS: Final = 3
"""Maximum corrections of a task, here without an import of `gates.correction`."""
CORRECTING: Final = "self_correcting"
WAITING: Final = frozenset(
    f"awaiting_{gate}_gate" for gate in ("plan", "audit", "execution", "documentation")
)
"""States of a task that wait for a gate, here without an import of `machines`."""
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
    """Return the phrase for a fork's source run and step; empty if the run is no fork."""
    if run.forked_from is None or run.forked_step is None:
        return ""
    return f"from {short_id(run.forked_from)}.{run.forked_step}"


def lasted(duration_ms: float | None) -> str:
    """Format a duration; empty for None."""
    if duration_ms is None:
        return ""
    if duration_ms < 1000:
        return f"{duration_ms:.0f} ms"
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.1f} s"
    minutes, seconds = divmod(round(duration_ms / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def count_words(count: float) -> str:
    """Return a token count in short form."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return f"{count:.0f}"


def cached_words(cached: int, read: int) -> str:
    """Return the cached share of the input tokens; empty if none."""
    return f"{100 * cached / read:.0f} %" if cached and read else ""


def usage_words(usage: Mapping[str, Any]) -> str:
    """Return the phrase for token usage and cost; empty if no model was called.

    :param usage: its JSON form.
    """
    read, written = usage["input_tokens"], usage["output_tokens"]
    if not (read or written):
        return ""
    share = cached_words(usage.get("cached_tokens", 0), read)
    cached = f" ({share} cached)" if share else ""
    words = f"{count_words(read)} tokens in{cached}, {count_words(written)} out"
    cost = usage.get("cost")
    return words if cost is None else f"{words}, ${cost:.{2 if cost >= 0.01 else 4}f}"


def gate_text(data: Mapping[str, Any], *, passed: bool) -> Text:
    """Return a gate's decision as one line, with the number of one of the five gates."""
    mark, style = ("✓", "green") if passed else ("✗", "red")
    name = f"gate {data['number']}, {data['gate']}" if "number" in data else str(data["gate"])
    words = ["passed" if passed else "failed"]
    if data.get("auto_fixed"):
        words.append("after the audit's own fixes")
    if data.get("duration_ms") is not None:
        words.append(lasted(data["duration_ms"]))
    return Text.assemble((f"{mark} ", style), visible(name), (f"  {', '.join(words)}", "dim"))


def gate_issues(data: Mapping[str, Any]) -> list[str]:
    """Return a gate's issues, except the verification gate's, which repeat its checks' failures."""
    return [] if data.get("number") == VERIFICATION else list(data["issues"])


def is_off(data: Mapping[str, Any]) -> bool:
    """Return whether the configuration turns a check off."""
    return data["status"] == "not_configured" and not data.get("required", True)


def check_text(data: Mapping[str, Any]) -> Text:
    """Return the end of a check as one line."""
    if is_off(data):
        return Text.assemble(("· ", "dim"), visible(str(data["check"])), ("  off", "dim"))
    mark, style = _STYLES.get(data["status"], ("?", "yellow"))
    words = [str(data["status"]).replace("_", " ")]
    if data["status"] not in ("not_configured", "not_trusted"):
        words.append(f"after {lasted(data['duration_ms'])}")
    if data["status"] == "failed" and data.get("exit_code"):
        words.append(f"with exit status {data['exit_code']}")
    failures = len(data.get("failures", ()))
    if failures:
        words.append(f"({failures} failure{'' if failures == 1 else 's'})")
    line = Text.assemble((f"{mark} ", style), visible(str(data["check"])), (f"  {' '.join(words)}", "dim"))
    # failures are listed on their own lines; doctor shows the origin of the command
    if data["status"] != "passed" and not failures and data.get("reason"):
        line.append(f": {visible(data['reason'])}", "dim")
    return line


def not_run_words(data: Mapping[str, Any]) -> str:
    """Return the phrase for a check that did not run."""
    return f"{data['check']} ({'off' if is_off(data) else 'not configured'})"


def first_failures(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines for the first failures of a check, and a count of the others."""
    lines = [failure_words(one) for one in failures[:MOST_FAILURES]]
    more = len(failures) - len(lines)
    return [*lines, f"… and {more} more"] if more else lines


def failure_words(entry: Mapping[str, Any]) -> str:
    """Return a quickfix entry as `file:line: message`."""
    place = label(entry.get("filename") or "")
    if place and entry.get("lnum"):
        place += f":{entry['lnum']}"
    message = " ".join(str(entry.get("text", "")).split())
    return f"{place}: {message}" if place else message


def step_words(step: str) -> str:
    """Return a step's display name; a waiting state of a task is named by its gate."""
    state, visit_of, visit = step.partition("#")
    gate = state.removeprefix("awaiting_").removesuffix("_gate")
    return f"{gate} gate{visit_of}{visit}" if state in WAITING else step


def correction_words(step: str) -> str:
    """Return the number of a correction step; empty for any other step."""
    state, _, visit = step.partition("#")
    return f"correction {visit or 1} of {CORRECTIONS}" if state == CORRECTING else ""


def rolled_back_lines(data: Mapping[str, Any]) -> list[Text]:
    """Return lines about a task's rollback: restored files, remaining files with reasons, the snapshot."""
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
"""Maximum characters of an error in a line."""


def tool_running(data: Mapping[str, Any]) -> str:
    """Return the phrase for a running tool call, with its reported progress."""
    of = f"/{data['total']:g}" if data.get("total") else ""
    far = f"{data['progress']:g}{of}" if "progress" in data else ""
    return " ".join(filter(None, (_name(data), far, data.get("message"))))


def tool_text(data: Mapping[str, Any]) -> Text:
    """Return the end of a tool call as one line."""
    took = f"{data['duration_ms'] / 1000:.1f} s"
    if data["ok"]:
        took = f"{size_words(data['size'])}  {took}" if "size" in data else took
        return Text.assemble(("✓ ", "green"), visible(_name(data)), (f"  {took}", "dim"))
    why = beginning(" ".join(str(data.get("error") or "stopped").split()), LONGEST_ERROR)
    return Text.assemble(("✗ ", "red"), visible(_name(data)), (f"  {took}  ", "dim"), (visible(why), "red"))


def _name(data: Mapping[str, Any]) -> str:
    # names come from a server, arguments from a model
    return " ".join(str(data.get("summary") or f"{data['server']}/{data['tool']}").split())


def calls_words(calls: Sequence[Mapping[str, Any]]) -> str:
    """Return counts of tool calls, such as `12 tool calls: 7 read_file, 5 search`."""
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
