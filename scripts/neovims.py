"""Run the editor tests on the oldest and the newest Neovim as well as on the environment's own.

The others come from two Debian suites: neovim and every library it needs are unpacked, not
installed, into ``.cache/neovim/SUITE`` and started with the C library of that suite.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "neovim"
SUITES = {"trixie": "0.10", "sid": "0.12"}
"""Debian's suite → the Neovim it is asked for."""

SAMPLE = (
    *("command", "context", "edit", "fitting_in", "host", "language_servers", "notify", "review_changes"),
    *("review_files", "review_left", "ui_dialogs", "ui_menu", "ui_output", "ui_prompt", "ui_review"),
)
"""Test modules of what differs between Neovims: windows, messages, prompts, diffs, language servers."""

WRAPPER = """\
#!/bin/sh
export VIMRUNTIME='{tree}/usr/share/nvim/runtime'
exec '{loader}' --library-path '{libraries}' '{tree}/usr/bin/nvim' --cmd 'set rtp+={parsers}' "$@"
"""


class UnavailableError(Exception):
    """No other Neovim is available on this machine; the message has the reason and an alternative."""


@dataclass(frozen=True, slots=True)
class Editor:
    """A Neovim to test on."""

    version: str
    program: Path


def _mirror() -> str:
    """Return the address of the Debian mirror that this machine's own apt uses."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise UnavailableError(
            "the other Neovims are taken from Debian's packages and this machine has no apt; "
            "run one you have: TIDEATE_NVIM=/path/to/nvim .venv/bin/python -m pytest tests/editor"
        )
    listed = _output(["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"])
    entries = [line.split(maxsplit=1) for line in listed.splitlines() if line.strip()]
    for address, *label in entries:
        if label == ["Debian"] or (not label and address.rstrip("/").endswith("/debian")):
            return address
    raise UnavailableError("this machine's apt knows no Debian mirror to take other Neovims from")


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()[-600:]
        raise UnavailableError(f"{' '.join(command[:2])} failed: {words}")
    return done.stdout


def _apt(work: Path) -> list[str]:
    """Return apt's options for a private package database in which nothing is installed."""
    settings = {
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State": work / "state",
        "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    return [argument for name, value in settings.items() for argument in ("-o", f"{name}={value}")]


def _unpack(suite: str, tree: Path) -> None:
    work = tree.with_name(f"{suite}.work")
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources.list").write_text(f"deb {_mirror()} {suite} main\n")
    _output(["apt-get", *_apt(work), "-q", "update"])
    _output(["apt-get", *_apt(work), "-q", "-y", "--download-only", "install", "neovim"])
    shutil.rmtree(tree, ignore_errors=True)
    for package in sorted((work / "cache" / "archives").glob("*.deb")):
        _output(["dpkg", "-x", str(package), str(tree)])
    shutil.rmtree(work)


def _wrapper(tree: Path) -> Path:
    loader = next(iter(sorted(tree.glob("usr/lib*/**/ld-linux*.so.*"))), None)
    if loader is None:
        raise UnavailableError(f"no dynamic loader in {tree}; remove that folder and try again")
    program = tree.with_name(f"nvim-{tree.name}")
    libraries = ":".join(str(folder) for folder in sorted(tree.glob("usr/lib/*-linux-*")))
    program.write_text(
        WRAPPER.format(tree=tree, loader=loader, libraries=libraries, parsers=tree / "usr/lib/nvim")
    )
    program.chmod(0o755)
    return program


def _version(program: Path) -> str:
    return _output([str(program), "--version"]).splitlines()[0].removeprefix("NVIM v")


def _number(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2]]


def provide(suite: str, wanted: str) -> Editor:
    """Return a Neovim from a Debian suite, unpacked on first use.

    :raises UnavailableError: the machine cannot have it, or the suite has an older version than wanted.
    """
    tree = CACHE / suite
    if not (tree / "usr/bin/nvim").exists():
        print(f"  fetching Neovim {wanted} from Debian {suite} …", flush=True)
        _unpack(suite, tree)
    program = _wrapper(tree)
    version = _version(program)
    if _number(version) < _number(wanted):
        raise UnavailableError(
            f"Debian {suite} has Neovim {version}, older than {wanted}: see SUITES in {__file__}"
        )
    return Editor(version, program)


def _test(editor: Editor, arguments: list[str]) -> bool:
    print(f"\n── editor tests on Neovim {editor.version} ──", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-n", "auto", *arguments]
    environment = {**os.environ, "TIDEATE_NVIM": str(editor.program)}
    passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0
    print(f"   {'passed' if passed else 'FAILED'} in {time.monotonic() - started:.0f} s", flush=True)
    return passed


def _chosen(only: str | None, *, own: bool) -> list[Editor]:
    editors = [provide(suite, wanted) for suite, wanted in SUITES.items() if only in (None, wanted)]
    if only is None and own:
        program = Path(sys.executable).with_name("nvim")
        editors.insert(1, Editor(_version(program), program))
    return editors


def main(arguments: list[str]) -> int:
    """Test on each Neovim, or on `--only 0.10`; other arguments go to pytest. Exits 0 only if all passed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.neovims", description=__doc__)
    parser.add_argument("--only", choices=SUITES.values(), help="the one Neovim to test on")
    parser.add_argument("--sample", action="store_true", help="only SAMPLE, without slow tests")
    options, arguments = parser.parse_known_args(arguments)
    sample = [f"tests/editor/test_{name}.py" for name in SAMPLE]
    arguments += ["-m", "not slow", *sample] if options.sample else ["tests/editor"]
    try:
        editors = _chosen(options.only, own=not options.sample)
    except UnavailableError as error:
        print(f"make test-editors: {error}", file=sys.stderr)
        return 1
    failed = [editor.version for editor in editors if not _test(editor, arguments)]
    print(f"\nNeovim {', '.join(editor.version for editor in editors)}: ", end="")
    print(f"failed on {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
