"""A tree of files has a bounded size and counts every file."""

from __future__ import annotations

from hypothesis import given, strategies as st

from tideate_core.mentions.tree import draw_tree

PATHS = ["README.md", "src/a.py", "src/b.py", "src/deep/c.py", "src/deep/d.py", "src/deep/e.py"]


def test_a_small_project_is_drawn_whole() -> None:
    drawn, hidden = draw_tree(PATHS, 100)
    assert drawn == "src/\n  deep/\n    c.py\n    d.py\n    e.py\n  a.py\n  b.py\nREADME.md"
    assert hidden == 0


def test_folders_that_do_not_fit_tell_how_many_files_they_have() -> None:
    assert draw_tree(PATHS, 5) == ("src/\n  deep/ (3 files)\n  a.py\n  b.py\nREADME.md", 3)
    assert draw_tree(PATHS, 2) == ("src/ (5 files)\nREADME.md", 5)
    assert draw_tree([f"{n}.py" for n in range(9)], 3) == ("0.py\n1.py\n2.py", 6)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=30), st.integers(0, 40))
def test_a_tree_is_bounded_and_counts_every_file(paths: list[list[str]], entries: int) -> None:
    names = {"/".join([*path, "file"]) for path in paths}
    drawn, hidden = draw_tree(names, entries)
    lines = drawn.splitlines()
    assert len(lines) <= entries
    assert sum(line.strip() == "file" for line in lines) + hidden == len(names)


def test_a_name_with_a_line_end_stays_on_its_line() -> None:
    assert draw_tree(["a\nb"], 9)[0] == "'a\\nb'"
