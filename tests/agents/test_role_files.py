"""Files of agents are found in packages; errors of their front matter name the line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import write_files
from tideate_core.agents import Roles
from tideate_core.agents.role_files import agent_names, package_directories

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of installed packages: one has agents, another fails to load."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    site = tmp_path / "site"
    named = ("kitchen = kitchen_agents:DIRECTORY", "broken = kitchen_agents:nothing", "bakery = bakery")
    entries = "\n".join(("[tideate.agents]", *named, ""))
    write_files(
        site,
        {
            "kitchen_agents.py": "from pathlib import Path\nDIRECTORY = Path(__file__).parent / 'kitchen'\n",
            "bakery/__init__.py": "",
            "bakery/baker.md": "You bake.\n",
            "kitchen/cook.md": "---\ndescription: Cooks\n---\nYou cook.\n",
            "kitchen-1.0.dist-info/METADATA": "Name: kitchen\nVersion: 1.0\n",
            "kitchen-1.0.dist-info/entry_points.txt": entries,
        },
    )
    monkeypatch.syspath_prepend(str(site))
    package_directories.cache_clear()
    yield site
    package_directories.cache_clear()
    sys.modules.pop("kitchen_agents", None)


def test_packages_bring_agents_and_one_that_fails_is_left_out(
    packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert {"baker", "cook"} <= agent_names(None)
    assert "broken" in caplog.text
    assert Roles(None).get("cook").instructions == "You cook."


def test_the_person_changes_a_packages_agent_key_by_key(packages: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "config/tideate", {"agents/cook.md": "---\ntokens: 5\n---\n"})
    cook = Roles(None).get("cook")
    assert (cook.instructions, cook.description, cook.tokens) == ("You cook.", "Cooks", 5)
