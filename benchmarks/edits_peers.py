"""Edits by the code of other programs: aider's blocks, codex's `apply_patch`, opencode's `edit`.

They are kept in ``.cache/edit-peers`` (`scripts/edit_peers.sh`); one that is not there is not measured.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from benchmarks import edits_opencode

if TYPE_CHECKING:
    from benchmarks.edits_corpus import Case

PLACE: Final = Path(__file__).parent.parent / ".cache" / "edit-peers"
AIDER: Final = PLACE / "aider" / "aider" / "coders" / "editblock_coder.py"
STAND_INS: Final = {
    "": "utils",
    ".dump": "dump",
    ".coders.base_coder": "Coder",
    ".coders.editblock_prompts": "EditBlockPrompts",
}
"""Modules that would load libraries of models, and the name that the matching imports of each."""
LIMIT: Final = 30
"""Seconds for a program."""


class PeerRefused(Exception):
    """A program made no edit of an answer."""


def aider(case: Case) -> dict[str, bytes] | None:
    """Parse the answer and replace the blocks one after the other, as its `apply_edits` does."""
    if case.form != "search/replace":
        return None
    module, answer = _aider(), case.answer
    if not any(path in answer for path in case.files):  # its prompt asks for the name
        opening = "```\n<<<<<<<" if "```\n<<<<<<<" in answer else "<<<<<<<"
        answer = answer.replace(opening, f"{next(iter(case.files))}\n{opening}", 1)
    result = dict(case.files)
    try:
        edits = list(module.find_original_update_blocks(answer, module.DEFAULT_FENCE, list(case.files)))
        for path, before, after in edits:
            # it reads and writes files with line ends of one kind
            text = result[path].decode("utf-8-sig").replace("\r\n", "\n")
            new = module.do_replace(path, text, before, after, module.DEFAULT_FENCE)
            if not new:
                raise PeerRefused("a block is not found")
            crlf = b"\r\n" in result[path]
            mark = b"\xef\xbb\xbf" if result[path].startswith(b"\xef\xbb\xbf") else b""
            result[path] = mark + (new.replace("\n", "\r\n") if crlf else new).encode()
    except (ValueError, KeyError) as error:
        raise PeerRefused(str(error)) from error
    if not edits:
        raise PeerRefused("no block")
    return result


@cache
def _aider() -> Any:
    """Load its matching alone."""
    for name in ("aider", "aider.coders", *(f"aider{name}" for name in STAND_INS if name)):
        module = ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    for name, wanted in STAND_INS.items():
        setattr(sys.modules[f"aider{name}"], wanted, object)
    spec = importlib.util.spec_from_file_location("aider.coders.editblock_coder", AIDER)
    if spec is None or spec.loader is None:
        raise ImportError(f"{AIDER} cannot be loaded")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def codex(case: Case) -> dict[str, bytes] | None:
    """Give the patch to the program; the time of its start is in the figure."""
    if case.form != "patch":
        return None
    patch = case.answer[case.answer.find("*** Begin Patch") :].strip()
    with tempfile.TemporaryDirectory() as folder:
        for path, data in case.files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        done = subprocess.run(
            [_codex(), "--codex-run-as-apply-patch", patch],
            cwd=folder,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode:
            raise PeerRefused(done.stderr.decode(errors="replace"))
        return {path: Path(folder, path).read_bytes() for path in case.files}


@cache
def _codex() -> Path:
    found = sorted(PLACE.glob("node_modules/@openai/codex-*/vendor/*/bin/codex"))
    return found[0] if found else PLACE / "codex"


def opencode(case: Case) -> dict[str, bytes] | None:
    """Have its `edit` tool called for each block."""
    if case.form != "search/replace" or crc32(case.name.encode()) % 3 or not edits_opencode.blocks_of(case):
        return None
    result, error = edits_opencode.run_calls(case)
    if error:
        raise PeerRefused(error)
    return result


PEERS: Final = {
    name: method
    for name, method, there in (
        ("aider", aider, AIDER.exists()),
        ("codex apply_patch", codex, _codex().exists()),
        ("opencode edit, one of three", opencode, edits_opencode.is_there()),
    )
    if there
}
"""Those that are installed."""
