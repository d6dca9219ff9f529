"""Plugin with each file as a link, the layout of some package managers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.editor import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import EditorFactory

PARTS = ("lua", "plugin", "rplugin", "tideate_core")


def link_files(tree: Path) -> None:
    for part in PARTS:
        for file in (REPOSITORY / part).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                link = tree / file.relative_to(REPOSITORY)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)


@pytest.mark.slow
def test_the_host_answers_in_a_tree_of_links(start_editor: EditorFactory, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    link_files(tree)
    editor = start_editor(args=("--cmd", f"set runtimepath-={REPOSITORY} runtimepath^={tree}"))
    editor.lua("require('tideate.client').request('list', {}, function(result) _G.result = result end)")
    assert editor.wait("_G.result", 60)["ok"] is True
    assert editor.lua("return require('tideate.paths').root()") == str(tree.resolve())
