"""Ends of runs that are not completed: nothing of them stays in the inbox."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fleet.site import eventually

if TYPE_CHECKING:
    from tests.fleet.site import Site

APPLY = ("apply", "-i", "path=a.txt", "-i", "how=replace", "-i", "text=two")
WAIT = "#!/bin/sh\ntouch started\ncat gate\n"
LOG = '#!/bin/sh\nwhile read old new ref; do echo "$ref $new" >>pushed; done\n'


def hook(repository: Path, name: str, text: str) -> Path:
    path = repository / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_question_that_is_pushed_during_a_cancel_is_removed(site: Site) -> None:
    address = site.remote("one", {"a.txt": "one\n"})
    repository = Path(address.removeprefix("file://"))
    os.mkfifo(repository / "gate")
    waiting, pushed = hook(repository, "pre-receive", WAIT), repository / "pushed"
    hook(repository, "post-receive", LOG)
    site.worker("first").wait_ready()
    run = site.submit(*APPLY, "--repo", address)
    eventually((repository / "started").exists)
    waiting.unlink()
    assert site.json("fleet", "cancel", run)["state"] == "cancelled"
    (repository / "gate").write_text("go")
    eventually(lambda: pushed.exists() and f"{run} {'0' * 40}" in pushed.read_text(), about=site.logs)
    assert not any(run in ref for ref in site.refs(address))
    assert site.wait_for(run, "cancelled")["branch"] is None
    assert "has ended" in site.run("fleet", "cancel", run).stderr
