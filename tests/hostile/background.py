"""Valid files around a hostile one: of the project, the home directory and a sibling project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.hostile.targets import TARGETS
from tests.support.machines import SMALL

if TYPE_CHECKING:
    from tests.hostile.forgeries import Forgeries

__all__ = ["SECRET", "VALID", "fill_home", "fill_project", "fill_sibling", "fill_tree", "write_whole_tree"]

SECRET: Final = "s3cr3t-of-the-home"
"""Secret in files of the home directory: it must never be shown or sent to a model."""

_REVIEW: Final = "name: review\ndescription: Review.\nsteps:\n  - id: first\n    task: 'Say: fine.'\n"
_PLAN: Final = {
    "planId": "plan-1",
    "objective": "Greet everybody.",
    "steps": [
        {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["src/greet.py"]},
        {"id": "t", "name": "test it", "type": "testing", "expectedOutputs": ["tests/test_greet.py"]},
    ],
}
VALID: Final = {
    "context.json": json.dumps({"version": "1.0.0", "mappings": {"@Doc": "README.md"}}).encode(),
    "workflows/review.yaml": _REVIEW.encode(),
    "workflows/loop.workflow": SMALL.replace("first to second", "first   to  second").encode(),
    "agents/planner.md": b"Plan small steps.\n",
    "planner/output/plan_v1.json": json.dumps(_PLAN).encode(),
}
"""Valid content of `.tideate/`."""

_PRECIOUS: Final = "keep this\n"
_SCRIPT: Final = "#!/bin/sh\ntouch started\n"
_CODE: Final = "def total(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n"


def fill_project(project: Path) -> None:
    """Write the sources of a project, with scripts that a forged configuration may name."""
    _write(project / "src" / "app.py", _CODE)
    _write(project / "README.md", "# A project\n")
    _write(project / "notes.txt", "notes\n")
    for script in ("helper.sh", "evil.sh", "check.sh", "run_command"):
        _write(project / script, _SCRIPT, 0o755)


def fill_tree(tree: Path) -> None:
    """Write the valid files of a `.tideate/`."""
    for name, content in VALID.items():
        _write(tree / name, content)


def write_whole_tree(tree: Path, forged: Forgeries) -> None:
    """Write a file at every possible path of `.tideate/`."""
    for target in TARGETS:
        if target.is_directory:
            (tree / target.name).mkdir(parents=True, exist_ok=True)
        elif not (tree / target.name).is_dir():
            usual = next(iter(forged[target.name].values()), b"{}")
            _write(tree / target.name, VALID.get(target.name, usual))
    for prompt in ("ask", "refactor", "summarize", "generate"):
        _write(tree / "prompts" / f"{prompt}.md", f"{SECRET}\n---\n{SECRET} {{{{ prompt }}}}\n")


def fill_home(home: Path, model_url: str, forged: Forgeries) -> None:
    """Write a home directory: a key, configuration, documents, state of an earlier version."""
    config = (
        f'adapter = "fake"\n[adapters.fake]\nbase_url = "{model_url}"\nmodel = "scripted"\ntools = false\n'
    )
    _write(home / ".config" / "tideate" / "config.toml", config)
    _write(home / ".ssh" / "id_ed25519", f"{SECRET}\n" * 3, 0o600)
    _write(home / ".bashrc", "alias ll='ls -l'\n")
    _write(home / ".gitconfig", "[user]\nname = A Person\nemail = person@example.org\n")
    _write(home / "Documents" / "precious.txt", _PRECIOUS)
    for name in {Path(target.name).name for target in TARGETS} - {""}:
        if not (home / "Documents" / name).exists():
            _write(home / "Documents" / name, _PRECIOUS)
    write_whole_tree(home / "Documents" / "mirror", forged)
    state = home / ".local" / "state" / "tideate"
    state.mkdir(parents=True, mode=0o700)
    _write(state / "stores" / ("0a" * 16), "")
    _write(state / "journal.key", "0123456789abcdef" * 2, 0o600)
    for made in (".cache", ".local/share", ".local/state/nvim", ".local/share/nvim", ".cache/nvim"):
        (home / made).mkdir(parents=True, exist_ok=True)


def fill_sibling(sibling: Path, forged: Forgeries) -> None:
    """Write a trusted project with a configuration of relative commands."""
    fill_project(sibling)
    write_whole_tree(sibling / ".tideate", forged)
    config = (
        '[mcp.servers.helper]\ncommand = ["./helper.sh"]\n'
        '[verify]\ntests = ["sh", "./check.sh"]\nbuild = ["./evil.sh"]\nlint = ["./evil.sh"]\n'
    )
    _write(sibling / ".tideate" / "config.toml", config)


def _write(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
