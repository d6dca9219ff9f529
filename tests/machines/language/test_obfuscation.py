"""Obfuscation: no readable names, the same machine, lookup only with the key."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.errors import MachineError, UnknownToken
from tideate_core.machines.diagrams import FORMATS
from tideate_core.machines.language import (
    BOUNDARY,
    MachineDefinition,
    Obfuscator,
    Position,
    State,
    Transition,
    draw,
    write_definition,
)

if TYPE_CHECKING:
    from random import Random

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
TOKEN = re.compile(r"obf_[0-9a-f]{12}")


def machine(*names: str, name: str = "PLANNER") -> MachineDefinition:
    """A chain through the names, from the entry to the exit."""
    stops = [BOUNDARY, *names, BOUNDARY]
    transitions = tuple(Transition(source, target) for source, target in pairwise(stops))
    return MachineDefinition(name, {each: State(each) for each in names}, transitions)


def obfuscator(*names: str, key: bytes = KEY, workflow: str = "PLANNER") -> Obfuscator:
    return Obfuscator(key, machine(*names, name=workflow))


identifiers = st.builds(str.__add__, st.sampled_from("aZ_q"), st.text("abcXYZ_019", max_size=11))
# what a token could show by chance
hexadecimal = st.builds(str.__add__, st.sampled_from("af_"), st.text("abcdef019_", max_size=5))
name_lists = st.lists(identifiers | hexadecimal, min_size=1, max_size=8, unique=True)


INVISIBLE = "\u200b\u2060\u00ad\ufeff"
GAPS = [r"\_", ".", "\u2010", "\u2011", "\u2013", "/", "\u00a0", " ", "-", "__", "\u200b_", ""]


def spellings(name: str) -> list[str]:
    """Ways to write a name that a reader knows it by."""
    core = name.strip("_")
    before, _, after = name.partition(core) if core else ("", "", name)
    gapped = [before + core.replace("_", gap) + after for gap in GAPS]
    seen = [each for each in gapped if len(name) >= 4 or "_" not in core or len(each) >= len(name)]
    unseen = [mark.join(name) for mark in INVISIBLE]
    return [*seen, *unseen, name.upper(), name.replace("_", r"\_"), name + "s", name + "'s", name + "2"]


@st.composite
def machines(draw: st.DrawFn) -> MachineDefinition:
    names = draw(name_lists)
    spelled = [form for name in names for form in (*spellings(name), "re" + name)]
    between = [" ", "-", "_", "\n", ". ", "/", "\u200b", "\\", "obf_", "obf_0123456789ab"]
    texts = st.lists(st.sampled_from([*spelled, *between]) | st.text(max_size=5), max_size=8).map("".join)
    ends = st.sampled_from([*names, BOUNDARY])
    transitions = draw(st.lists(st.builds(Transition, ends, ends, texts, texts), max_size=12))
    states = {name: State(name, draw(texts), Position(3, 7)) for name in names}
    return MachineDefinition("W", states, tuple(transitions))


def words_of(definition: MachineDefinition) -> list[str]:
    words = [word for state in definition.states.values() for word in (state.name, state.guidance)]
    for each in definition.transitions:
        words += [each.source, each.target, each.when, each.guidance]
    return [*words, *definition.states]


def shows(text: str, name: str) -> bool:
    """Tell whether a reader sees a name; tokens are no part of one."""
    text = re.sub(rf"(?<!\w){TOKEN.pattern}(?!\w)", "\0", re.sub(f"[{INVISIBLE}]", "", text)).replace(
        r"\_", "_"
    )
    core = name.strip("_")
    before, _, after = name.partition(core) if core else ("", "", name)
    gap = r"(?:[\s_\-\u2010\u2011\u2013]+|[_./\-\u2010\u2011\u2013]+)" + ("?" if len(name) >= 4 else "")
    spelled = before + re.sub("_+", lambda _: gap, core) + after
    if len(name) < 4:
        spelled = rf"(?<!\w){spelled}(?:\d*'?s?)(?!\w)"
    return re.search(spelled, text, re.IGNORECASE) is not None


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(machines(), st.binary(min_size=16, max_size=40))
def test_no_name_is_left_in_an_obfuscated_definition(definition: MachineDefinition, key: bytes) -> None:
    hidden = Obfuscator(key, definition).definition()
    for text in words_of(hidden):
        assert [name for name in definition.states if shows(text, name)] == []


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(machines())
def test_the_obfuscated_machine_has_the_same_shape(definition: MachineDefinition) -> None:
    hider = Obfuscator(KEY, definition)
    hidden = hider.definition()
    assert hidden.name == definition.name
    assert [hider.reveal(token) for token in hidden.states] == list(definition.states)
    assert [(hider.reveal(t.source), hider.reveal(t.target)) for t in hidden.transitions] == [
        (t.source, t.target) for t in definition.transitions
    ]
    assert [bool(t.when) for t in hidden.transitions] == [bool(t.when) for t in definition.transitions]
    assert {hider.reveal(s): len(row) for s, row in hidden.outgoing.items()} == {
        s: len(row) for s, row in definition.outgoing.items()
    }


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(machines(), st.text(max_size=60))
def test_hiding_twice_changes_nothing_more(definition: MachineDefinition, text: str) -> None:
    hider = Obfuscator(KEY, definition)
    sample = f"{text} {next(iter(definition.states))} {text}"
    assert hider.hide(hider.hide(sample)) == hider.hide(sample)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(name_lists, st.randoms())
def test_the_order_of_the_states_decides_nothing(names: list[str], random: Random) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)
    assert obfuscator(*names).tokens == obfuscator(*shuffled).tokens


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(hexadecimal, min_size=1, max_size=30, unique=True))
def test_a_token_shows_no_piece_of_its_name(names: list[str]) -> None:
    tokens = obfuscator(*names).tokens
    assert len(set(tokens.values())) == len(names)
    for name, token in tokens.items():
        assert TOKEN.fullmatch(token)
        pieces = {name[at : at + 3] for at in range(len(name) - 2)}
        assert not [piece for piece in pieces if piece in token[4:] and re.search("[a-z]", piece)]


def test_tokens_depend_on_the_key_and_on_the_workflow_alone() -> None:
    token = obfuscator("execution").token("execution")
    assert token == obfuscator("execution").token("execution")
    assert token == obfuscator("planning", "execution").token("execution")
    assert token != obfuscator("execution", key=OTHER_KEY).token("execution")
    assert token != obfuscator("execution", workflow="OTHER").token("execution")


def test_a_collision_gives_the_second_name_another_token(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {("one", 0): "0" * 12, ("two", 0): "0" * 12, ("two", 1): "1" * 12}
    digest = "tideate_core.machines.language.obfuscation._digest"
    monkeypatch.setattr(digest, lambda _key, _workflow, name, count: digests[name, count])
    expected = {"one": "obf_" + "0" * 12, "two": "obf_" + "1" * 12}
    assert obfuscator("two", "one").tokens == expected
    assert obfuscator("one", "two").tokens == expected


def test_names_that_every_token_would_show_are_refused() -> None:
    # `obf_0123…`: each token starts with one of these
    names = [f"f_{number:02x}" for number in range(256)]
    with pytest.raises(MachineError, match="rename the state"):
        obfuscator(*names)


def test_the_boundary_stays_as_it_is() -> None:
    hider = obfuscator("execution")
    assert hider.token("*") == "*"
    assert hider.reveal("*") == "*"
    assert hider.hide("from * to *") == "from * to *"


def test_the_tokens_are_in_the_files_order_and_cannot_be_changed() -> None:
    tokens = obfuscator("zeta", "alpha", "mid").tokens
    assert list(tokens) == ["zeta", "alpha", "mid"]
    with pytest.raises(TypeError):
        tokens["zeta"] = "obf_000000000000"  # type: ignore[index]


def test_reveal_needs_the_same_key() -> None:
    token = obfuscator("execution").token("execution")
    assert obfuscator("execution").reveal(token) == "execution"
    with pytest.raises(UnknownToken) as caught:
        obfuscator("execution", key=OTHER_KEY).reveal(token)
    assert "execution" not in str(caught.value)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(MachineError, match="did you mean 'execution'"):
        obfuscator("execution").token("exection")


@pytest.mark.parametrize("length", [0, 1, 15])
def test_a_short_key_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        Obfuscator(b"k" * length, machine("execution"))


def test_the_key_is_neither_shown_nor_kept() -> None:
    key = b"not-for-anyone's-eyes"
    hider = Obfuscator(key, machine("execution"))
    assert repr(hider) == "Obfuscator(workflow='PLANNER', states=1)"
    assert key not in vars(hider).values()


def test_positions_do_not_tell_how_long_the_names_are() -> None:
    states = {"execution": State("execution", "", Position(1, 6))}
    transitions = (Transition("execution", "*", "", "", 2, 14),)
    hidden = Obfuscator(KEY, MachineDefinition("W", states, transitions)).definition()
    assert next(iter(hidden.states.values())).position == Position(0, 0)
    assert hidden.transitions[0][4:] == (0, 0)


PLANNER = ("refine_project", "refine_tasks", "execution", "refine", "all", "a_b", "create_project")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Go to execution.", "Go to {execution}."),
        ("EXECUTION, Execution", "{execution}, {execution}"),
        ("two executions; preexecution", "two {execution}; {execution}"),
        ("pre_execution_hook()", "{execution}()"),
        ("refine_project or refine-project", "{refine_project} or {refine_project}"),
        ("Refine  Project, then REFINE TASKS", "{refine_project}, then {refine_tasks}"),
        ("refine\n  project", "{refine_project}"),
        ("class RefineProject:", "class {refine_project}:"),
        ("refined projects", "{refine} projects"),
        ("all tall a-b a b ab", "{all} tall {a_b} {a_b} ab"),
        ("`create_project`/refine_tasks", "`{create_project}`/{refine_tasks}"),
        ("nothing of it: projects, tasks", "nothing of it: projects, tasks"),
        ("éxecution executionné", "éxecution {execution}"),
        (r"refine\_project, **create\_project**", "{refine_project}, **{create_project}**"),
        (
            "create.project create/project create::project",
            "{create_project} {create_project} {create_project}",
        ),
        ("create\u2011project create\u2010project", "{create_project} {create_project}"),
        ("create\u00a0project create__project", "{create_project} {create_project}"),
        ("exe\u200bcution a\u00ad_b. \u200bNext\u200b", "{execution} {a_b}. \u200bNext\u200b"),
        ("t\u200ball", "t\u200b{all}"),
        ("Create. Project", "Create. Project"),
        ("ALLs all's all\u2019s all2 all_2 allo", "{all} {all} {all} {all} {all} allo"),
    ],
)
def test_a_name_is_hidden_in_every_spelling(text: str, expected: str) -> None:
    hider = obfuscator(*PLANNER)
    assert hider.hide(text) == expected.format_map(hider.tokens)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("__init end_ ___", r"\_\_init end\_ \_\_\_"),
        ("a_bc a__bcd abcde a_b a_", "a_bc a__bcd abcde a_b a_"),
        ("Plan plan", "Plan plan"),
    ],
)
def test_names_that_differ_in_gaps_or_case_keep_their_own_tokens(names: str, text: str) -> None:
    hider = obfuscator(*names.split())
    assert hider.hide(text).split() == [hider.token(name) for name in names.split()]


def test_a_workflow_that_is_called_like_its_state_hides_its_name() -> None:
    definition = machine("secret_plan", "execution", name="My Secret-Plan")
    hider = Obfuscator(KEY, definition)
    hidden = hider.definition()
    assert hidden.name == f"My {hider.token('secret_plan')}"
    assert hider.tokens == Obfuscator(KEY, definition).tokens
    assert hider.token("execution") != obfuscator("secret_plan", "execution", workflow=hidden.name).token(
        "execution"
    )
    said = [repr(hider), write_definition(hidden), *(draw(hidden, form) for form in FORMATS)]
    with pytest.raises(UnknownToken) as caught:
        hider.reveal("obf_000000000000")
    for text in (*said, str(caught.value)):
        assert not re.search("secret.plan", text, re.IGNORECASE)


def test_a_state_that_looks_like_a_token_is_hidden() -> None:
    name = "obf_0123456789ab"
    hider = obfuscator(name)
    assert hider.hide(f"see {name}, obf_ffffffffffff") == f"see {hider.token(name)}, obf_ffffffffffff"


def test_a_name_beside_a_token_leaves_the_token() -> None:
    hider = obfuscator("plan_obf", "execution")
    token = hider.token("execution")
    assert hider.hide(f"plan {token} plan") == f"plan {token} plan"


def test_a_name_in_a_word_that_ends_like_a_token_is_hidden() -> None:
    hider = obfuscator("plan_obf")
    assert hider.hide("plan_obf_0123456789ab") == hider.token("plan_obf")


def test_a_token_that_ends_as_a_name_begins_is_left() -> None:
    token = obfuscator("execution").token("execution")
    ending = re.findall("[a-f][0-9a-f]{1,6}$", token)[0]
    hider = obfuscator("execution", f"{ending}_zulu")
    assert hider.hide(f"{token} zulu") == f"{token} zulu"


def test_a_machine_without_states_hides_nothing() -> None:
    assert Obfuscator(KEY, MachineDefinition("W", {})).hide("some text") == "some text"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a" * length for length in range(4, 400)], "a" * 400_000),
        (["ab" * 30 + "c"], "ab" * 400_000),
        (["a_b_c_d_e_f_g"], "a" + " " * 1_000_000 + "b"),
        (["______x", "a____b"], "_" * 600_000),
        ([f"state_{number:05}" for number in range(3000)], "state_0000 state " * 4000),
        (["a" + "_a" * 40 + "_c"], "a-" * 300_000),
        (["a" + "_a" * 40 + "_c"], ("a" + "._" * 20) * 20_000),
        (["secret_plan"], "s\u200be\u200b" * 300_000),
    ],
    ids=["prefixes", "periodic", "blanks", "underscores", "many", "dashes", "marks", "unseen"],
)
@pytest.mark.timeout(100)
def test_hiding_comes_to_an_end_on_texts_made_to_hold_it_up(names: list[str], text: str) -> None:
    """Anything worse than linear needs hours for these."""
    hidden = obfuscator(*names).hide(text)
    assert not any(re.search(rf"\b{name}\b", hidden) for name in names[:10])
