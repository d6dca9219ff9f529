"""The commands of the guide, in order, on a fleet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.harness.documents import arguments_of, blocks

if TYPE_CHECKING:
    from tests.fleet.site import Site
    from tests.harness.model_server import ModelServer

GUIDE = "guides/fleet.md"


def commands() -> list[str]:
    """Return the lines of the guide's shell blocks."""
    lines = [line for one in blocks("sh") if str(one.path).endswith(GUIDE) for line in one.text.splitlines()]
    return [line.strip() for line in lines if line.strip().startswith("tideate ")]


@pytest.mark.slow
def test_every_command_of_the_guide_works(site: Site, server: ModelServer) -> None:
    server.answers("", "The shop.")
    site.use(server)
    address = site.remote("shop", {"a.txt": "one\n", "b.txt": "one\n"})
    (site.place / "files.txt").write_text("a.txt\nb.txt\n")
    site.worker("first").wait_ready()
    lines = commands()
    assert len(lines) > 8
    for line in lines:
        words = [re.sub("file:///srv/shop.git", address, word) for word in arguments_of(line)]
        done = site.run(*words)
        assert done.returncode == 0, (line, done.stderr)
    runs = site.json("fleet", "list")["runs"]
    answered = next(run for run in runs if run["workflow"] == "ask")
    site.wait_for(answered["run"], "completed")
    for run in runs:
        if run["workflow"] == "apply":
            site.wait_for(run["run"], "waiting")
