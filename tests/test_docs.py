"""The help text is what the Lua tables say, and Neovim can use it."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from scripts import help as help_text
from tests.support.editor import REPOSITORY, find_nvim
from tideate_core.adapters.known_providers import known_providers
from tideate_core.machines.language import format_text, parse
from tideate_core.workflows.prompts import BUILTIN_PROMPTS

if TYPE_CHECKING:
    from pathlib import Path


def test_the_help_is_current() -> None:
    assert help_text.HELP.read_text(encoding="utf-8") == help_text.render(), "run `make docs`"


def test_neovim_takes_the_help_and_no_link_leads_nowhere(tmp_path: Path) -> None:
    shutil.copy(help_text.HELP, tmp_path)
    command = [find_nvim(), "--clean", "--headless", "-c", f"helptags {tmp_path}", "-c", "qall!"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30, check=True)
    assert done.stderr.strip() == b""
    tags = {line.split("\t")[0] for line in (tmp_path / "tags").read_text(encoding="utf-8").splitlines()}
    links = set(re.findall(r"\|([^|\s]+)\|", help_text.HELP.read_text(encoding="utf-8")))
    assert links - tags == set()


def test_every_prompt_is_named_in_the_help() -> None:
    text = help_text.HELP.read_text(encoding="utf-8")
    missing = [path.stem for path in BUILTIN_PROMPTS.glob("*.md") if f"`{path.stem}`" not in text]
    assert missing == []


def test_links_between_the_documents_lead_to_files() -> None:
    for document in REPOSITORY.glob("*.md"):
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
        missing = [target for target in targets if not (REPOSITORY / target).exists()]
        assert missing == [], document.name


def test_the_readme_names_the_providers_that_there_are() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^Providers: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"`([\w-]+)`", listed)
    assert len(names) > 20
    assert set(names) <= known_providers().keys()


def test_the_readmes_machine_has_no_mistake() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (machine,) = [block for language, block in blocks if not language and "\n* to " in block]
    parsed = parse(machine)
    assert [d.message for d in parsed.diagnostics] == []
    assert format_text(machine) == machine


def test_nothing_asks_a_package_index_for_tideate() -> None:
    sources = [path for name in ("tideate_core", "lua", "doc") for path in (REPOSITORY / name).rglob("*.*")]
    texts = [path for path in sources if path.suffix in {".py", ".lua", ".txt"}] + [REPOSITORY / "README.md"]
    named = [path.name for path in texts if re.search(r"tideate\[|pip install tideate", path.read_text())]
    assert named == []
