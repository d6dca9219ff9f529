"""Export of runs as Markdown or JSON, with prompts, answers and tool calls; likely secrets are left out."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.app.history import rollback_states
from tideate_core.app.run_details import details_json, read_details
from tideate_core.app.threads import read_step_thread
from tideate_core.util.escaping import label, visible, visible_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.store import Reader

ExportFormat = Literal["markdown", "json"]

HEADS: Final[Mapping[str, str]] = {
    "system": "Instructions",
    "user": "Prompt",
    "model": "Answer",
    "tool": "Result",
}
_BACKTICKS: Final = re.compile("`+")


def export_runs(reader: Reader, wanted: Sequence[str], form: ExportFormat, root: Path | None) -> str:
    """Return an export of runs with their conversations; blocking.

    In Markdown every text of a person, a model or a tool is a code block, so that viewers do not interpret
    it. JSON is one object with `runs` as of `tideate show --json --events`, with `inputs`, `rolled_back` and,
    in steps, `said`.

    :param wanted: run ids or prefixes of ids.
    :param root: None outside of a project.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    # here, because the help needs none of it
    from tideate_core.mentions import value_without_secrets

    runs = [value_without_secrets(_run(reader, one, root)) for one in wanted]
    if form == "json":
        return f"{visible_json({'runs': runs})}\n"
    return "\n---\n\n".join("\n".join(_markdown(run)) for run in runs)


def _run(reader: Reader, wanted: str, root: Path | None) -> dict[str, Any]:
    details = read_details(reader, wanted)
    shape = details_json(details, events=True)
    request = reader.request(details.run.id)
    # process and host names are private to this machine
    shape = {key: value for key, value in shape.items() if key not in ("lease", "owner")}
    shape["prompt"] = request.get("prompt") or shape["prompt"]
    shape["inputs"] = request.get("inputs") or {}
    shape["adapter"] = request.get("adapter")
    shape["rolled_back"] = details.run.ended and bool(rollback_states(root, reader, [details.run])[1])
    for step in shape["steps"]:
        step["said"] = read_step_thread(reader, details.run.id, step["step"])
    return shape


def _markdown(run: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {_code(run['workflow'])} {run['execution_id']}"
    yield ""
    yield from (f"- {name}: {said}" for name, said in _facts(run) if said)
    yield ""
    yield from _section("## Prompt", run["prompt"])
    if run["inputs"]:
        yield from _section("## Inputs", _text(run["inputs"]), "json")
    for step in run["steps"]:
        yield from _step(step)
    if run["error"]:
        yield from _section("## Error", run["error"])
    if run["files"]:
        yield from ("## Changed files", "", *(f"- {_code(path)}" for path in run["files"]), "")
    if run["response"] not in (None, ""):
        yield from _section("## Response", _text(run["response"]))


def _facts(run: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    started = datetime.fromtimestamp(run["started_at"] / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    forked = run["forked_from"]
    state = "declined" if run["reason"] == "declined" else run["state"]
    return (
        ("state", f"{state}, rolled back" if run["rolled_back"] else state),
        ("started", started),
        ("took", _seconds(run["duration_ms"])),
        ("tokens", _usage(run["usage"])),
        ("model", _code(run["adapter"]) if run["adapter"] else ""),
        ("forked from", f"{forked['execution_id']} at {_code(forked['step'])}" if forked else ""),
    )


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    took, usage = _seconds(step["duration_ms"]), _usage(step["usage"])
    words = [step["status"], took, usage, f"attempt {step['attempts']}" if step["attempts"] > 1 else ""]
    yield f"## Step {_code(step['step'])}: {', '.join(filter(None, words))}"
    yield ""
    for one in step["said"]:
        name = one.get("tool") or one.get("model") or ""
        yield from _said(f"### {HEADS[one['role']]}" + (f" of {_code(name)}" if name else ""), one)
    if not step["said"] and step["result"] is not None:
        yield from _section("### Result", _text(step["result"]))
    if step["error"]:
        yield from _section("### Error", step["error"])


def _said(head: str, one: Mapping[str, Any]) -> Iterator[str]:
    if one.get("reasoning"):
        yield from _section(f"{head}: reasoning", one["reasoning"])
    if one["text"] or not one.get("calls"):
        yield from _section(head, one["text"])
    for call in one.get("calls") or ():
        yield from _section(f"### Call of {_code(call['tool'])}", _text(call["arguments"]), "json")


def _section(head: str, text: str, kind: str = "") -> Iterator[str]:
    """Yield a heading and a code block with a fence longer than any in the text."""
    fence = "`" * max(3, 1 + _most_backticks(text))
    yield from (head, "", f"{fence}{kind}", visible(text).rstrip("\n"), fence, "")


def _code(name: str) -> str:
    """Return a name as a code span with a delimiter longer than any in the name."""
    said = label(name)
    ticks = "`" * (1 + _most_backticks(said))
    return f"{ticks} {said} {ticks}" if len(ticks) > 1 else f"`{said}`"


def _most_backticks(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _seconds(duration_ms: float | None) -> str:
    return "" if duration_ms is None else f"{duration_ms / 1000:.1f} s"


def _usage(usage: Mapping[str, Any]) -> str:
    if not (usage["input_tokens"] or usage["output_tokens"]):
        return ""
    cost = f", ${usage['cost']:.4f}" if "cost" in usage else ""
    return f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out{cost}"
