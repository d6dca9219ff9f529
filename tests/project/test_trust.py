"""Trust in one content of one file in one project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import ConfigError, UnusableFile
from tideate_core.project import Trust, files_to_trust, name_in_project, project_state

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = ".tideate/config.toml"


def test_nothing_is_trusted_at_first(root: Path) -> None:
    assert not Trust(root).is_trusted(CONFIG, b"one")
    assert not project_state(root).exists()


def test_trust_is_for_one_content_of_one_name_in_one_project_until_it_is_revoked(
    home: Path, root: Path
) -> None:
    Trust(root).trust(CONFIG, b"one")
    assert Trust(root).is_trusted(CONFIG, b"one")
    assert Trust(root).names() == [CONFIG]
    assert not Trust(root).is_trusted(CONFIG, b"two")
    assert not Trust(root).is_trusted(".tideate/other.toml", b"one")
    (home / "clone").mkdir()
    assert not Trust(home / "clone").is_trusted(CONFIG, b"one")
    assert Trust(root).revoke(CONFIG)
    assert not Trust(root).is_trusted(CONFIG, b"one")
    assert not Trust(root).revoke(CONFIG)


def test_the_content_that_was_trusted_last_is_known(root: Path) -> None:
    assert Trust(root).last_trusted(CONFIG) is None
    Trust(root).trust(CONFIG, b"one")
    Trust(root).trust(CONFIG, b"two")
    assert Trust(root).last_trusted(CONFIG) == b"two"
    (content,) = [path for path in (project_state(root) / "trusted").iterdir() if path.read_bytes() == b"two"]
    content.write_bytes(b"changed")
    assert Trust(root).last_trusted(CONFIG) is None


def test_what_can_run_is_allowed_as_it_is_in_one_project(home: Path, root: Path) -> None:
    Trust(root).allow("pytest -q", "the tests")
    assert Trust(root).allows("pytest -q")
    assert not Trust(root).allows("pytest -q -x")
    assert not Trust(home).allows("pytest -q")
    assert Trust(root).allowed() == ["the tests"]
    assert Trust(root).revoke_allowed() == ["the tests"]
    assert not Trust(root).allows("pytest -q")
    assert Trust(root).revoke_allowed() == []


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"files": {"a": 1}, "allowed": {}}'])
def test_a_damaged_store_trusts_nothing_and_says_so(root: Path, content: str) -> None:
    Trust(root).trust(CONFIG, b"one")
    (project_state(root) / "trust.json").write_text(content)
    with pytest.raises(ConfigError, match=r"trust\.json"):
        Trust(root).is_trusted(CONFIG, b"one")


# which files


def write(root: Path, name: str, text: str = "") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_files_that_count_for_more_once_they_are_trusted(root: Path) -> None:
    write(root, CONFIG, "adapter = 'x'")
    write(root, ".tideate/prompts/ask.md", "words")
    write(root, ".tideate/agents/planner.md", "---\nadapter: x\n---\nwords")
    write(root, ".tideate/agents/auditor.md", "words only")
    write(root, ".tideate/workflows/a.yaml", "id: a")
    write(root, ".tideate/workflows/b.workflow", "* to a")
    assert list(files_to_trust(root)) == [
        CONFIG,
        ".tideate/prompts/ask.md",
        ".tideate/agents/auditor.md",
        ".tideate/agents/planner.md",
        ".tideate/workflows/a.yaml",
    ]


@pytest.mark.parametrize("link", [".tideate", ".tideate/prompts", ".tideate/prompts/ask.md"])
def test_a_link_on_the_way_is_no_file_to_trust(home: Path, root: Path, link: str) -> None:
    write(home, "elsewhere/prompts/ask.md", "words")
    leads = {".tideate": "elsewhere", ".tideate/prompts": "elsewhere/prompts"}
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(home / leads.get(link, "elsewhere/prompts/ask.md"))
    with pytest.raises(UnusableFile, match="is a link, or there is a link on the way"):
        files_to_trust(root)


def test_a_file_is_named_relative_to_its_project(home: Path, root: Path) -> None:
    (home / "link").symlink_to(root)
    assert name_in_project(root, root / CONFIG) == CONFIG
    assert name_in_project(root, home / "link" / CONFIG) == CONFIG
    with pytest.raises(ConfigError, match="is not in the project"):
        name_in_project(root, home / "elsewhere")
