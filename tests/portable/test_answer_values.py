"""Values of published answers against each kind of question: used as they are, or refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.portable.inbox_bench import FILE, RUN, asking
from tideate_core.errors import RefusedRef
from tideate_core.portable import Answer, Question
from tideate_core.workflows import Decision

COMMIT = "0" * 40
PLAN = {"path": "a.py", "action": "modify", "why": "it is long"}
PAYLOADS: dict[str, Any] = {
    "review": {"files": [FILE, {**FILE, "path": "b.py"}], "revisable": True},
    "plan": {"files": [PLAN], "revisable": True},
    "document": {"text": "one\ntwo", "revisable": True},
    "tool": {"server": "fs", "tool": "write_file", "arguments": {"path": "a.py"}},
    "gate": None,
    "override": {"back": True, "fixable": True},
}
QUESTIONS = {
    kind: Question.of_request(
        asking(kind=kind, payload=payload), RUN, 1, project="p", asked_at=1, version="1"
    )
    for kind, payload in PAYLOADS.items()
}
VERDICTS = [{"path": path, "accepted": [0], "rejected": []} for path in ("a.py", "b.py")]
VALID: list[tuple[str, bool, Any]] = [
    *((kind, accepted, None) for kind in PAYLOADS for accepted in (True, False)),
    ("review", True, {"files": VERDICTS}),
    ("review", True, {"files": [{"accepted": []}, {"accepted": [], "edited": []}]}),
    ("review", False, {"files": VERDICTS, "comments": [{"text": "why?", "path": "a.py", "hunk": 0}]}),
    ("plan", True, {"files": [PLAN]}),
    ("plan", False, {"comments": [{"text": "and c.py", "path": "a.py"}]}),
    ("document", True, {"text": "three"}),
    ("document", False, {"text": "a\nb\nc", "comments": [{"text": "no", "line": 3}]}),
    ("tool", True, "run"),
    ("tool", True, "project"),
    ("override", False, "back"),
    ("override", False, "fix"),
]
EDITED = {"hunk": 7, "old": [], "new": []}
INVALID: list[tuple[str, bool, Any]] = [
    ("review", True, {"files": VERDICTS[:1]}),
    ("review", True, {"files": [VERDICTS[0], {**VERDICTS[1], "path": "c.py"}]}),
    ("review", True, {"files": [VERDICTS[0], {"accepted": [1]}]}),
    ("review", True, {"files": [VERDICTS[0], {"accepted": [True]}]}),
    ("review", True, {"files": [VERDICTS[0], {"accepted": [0], "rejected": [0]}]}),
    (
        "review",
        True,
        {"files": [VERDICTS[0], {"accepted": [], "edited": [{"hunk": 7, "old": [], "new": []}]}]},
    ),
    ("review", False, {"files": VERDICTS, "comments": [{"text": "x", "path": "z.py"}]}),
    ("plan", True, {"files": [{"path": 5, "action": "modify"}]}),
    ("plan", False, {"comments": [{"text": " "}]}),
    ("document", True, {"text": ["a"]}),
    ("document", False, {"comments": [{"text": "x", "line": 9}]}),
    ("document", False, {"comments": "all"}),
    ("tool", False, "run"),
    ("tool", True, "always"),
    ("gate", True, "another result of the step"),
    ("gate", False, "back"),
    ("override", True, "fix"),
    ("override", False, {"back": True}),
]


def checked(kind: str, value: Any, *, accepted: bool, by: str = "user") -> None:
    """Check an answer as it comes from a remote.

    :raises RefusedRef: it does not count.
    """
    question = QUESTIONS[kind]
    made = Answer.of_decision(question, COMMIT, Decision(accepted, value, by=by), "Eve <eve@x>", 1)
    Answer.read(made.model_dump_json().encode()).check(question, {COMMIT})


@pytest.mark.parametrize(("kind", "accepted", "value"), VALID)
def test_what_front_ends_give_is_used(kind: str, value: Any, *, accepted: bool) -> None:
    checked(kind, value, accepted=accepted)


@pytest.mark.parametrize(("kind", "accepted", "value"), INVALID)
def test_a_value_that_no_front_end_gives_is_refused(kind: str, value: Any, *, accepted: bool) -> None:
    with pytest.raises(RefusedRef, match="the published answer is invalid: "):
        checked(kind, value, accepted=accepted)


def test_a_policy_gives_no_value_and_nobody_comments_where_no_model_answers() -> None:
    with pytest.raises(RefusedRef, match="a policy gives no values"):
        checked("document", {"text": "x"}, accepted=True, by="policy:yes")
    fixed = asking(kind="document", payload={"text": "one"})
    question = Question.of_request(fixed, RUN, 1, project="p", asked_at=1, version="1")
    said = Decision(False, {"comments": [{"text": "no"}]})
    with pytest.raises(RefusedRef, match="no model can answer them"):
        Answer.of_decision(question, COMMIT, said, "Eve <eve@x>", 1).check(question, {COMMIT})


NAMES = st.sampled_from(
    [
        "files",
        "comments",
        "text",
        "path",
        "accepted",
        "rejected",
        "added",
        "edited",
        "hunk",
        "line",
        "old",
        "x",
    ]
)
ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["a.py", "b.py", "run", "back", "fix", "", "\x00", "../x"])
)
JSON = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bool, Any]:
    """A valid answer with another value at one place, or with another kind of question."""
    kind, accepted, value = draw(st.sampled_from(VALID))
    kind = draw(st.sampled_from([kind, kind, *PAYLOADS]))
    return kind, draw(st.sampled_from([accepted, accepted, not accepted])), _changed(draw, value)


def _changed(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: _changed(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], _changed(draw, value[at]), *value[at + 1 :]]
    return draw(JSON)


@given(mutated() | st.tuples(st.sampled_from(sorted(PAYLOADS)), st.booleans(), JSON))
def test_any_value_is_used_or_refused_with_a_reason(case: tuple[str, bool, Any]) -> None:
    kind, accepted, value = case
    try:
        checked(kind, value, accepted=accepted)
    except RefusedRef as error:
        assert len(str(error)) < 1_000
        return
    if kind == "review" and value is not None:  # what the engine reads without a check of its own
        assert [len(one["accepted"]) <= 1 for one in value["files"]]
        assert len(value["files"]) == 2
    if kind in ("gate", "override", "tool"):
        assert value is None or value in ("back", "fix", "run", "project")
    if kind == "document" and value is not None:
        assert isinstance(value.get("text"), str | None)
