"""Table of known agents: programs, directories, keys; the enclosure and environment of each agent."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.process.agent_commands import started_programs
from tideate_core.process.enclosure import Enclosure
from tideate_core.process.mount_plan import Rules
from tideate_core.project import expand_home, state_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from tideate_core.config import AgentConfig

    class Configured(Protocol):
        """Configuration, or its part about agents."""

        @property
        def agents(self) -> Mapping[str, AgentConfig]: ...


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """Agent with paths below the home directory."""

    name: str
    programs: tuple[str, ...]
    """Names of programs that start it."""
    directories: tuple[str, ...]
    """Directories of its own: settings, logins, sessions, caches."""
    keys: tuple[str, ...] = ()
    """Variables of its own, besides those with a prefix."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of its variables."""
    files: tuple[str, ...] = ()
    """Files of its own, which it replaces."""
    acp: tuple[str, ...] = ()
    """Command that speaks the Agent Client Protocol."""
    moved_by: tuple[str, ...] = ()
    """Variables that name another directory of its own."""
    packages: tuple[str, ...] = ()
    """Packages of npm that start it."""
    outward: tuple[str, ...] = ()
    """Directories in those of its own that lead to processes outside of an enclosure."""
    mode: str = ""
    """Value of its mode over ACP with which it neither asks nor encloses its commands again."""
    for_root: Mapping[str, str] = field(default_factory=dict)
    """Variables without which it refuses this mode to the superuser."""


MODEL_KEYS: Final = (
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
)
KNOWN_AGENTS: Final = (
    KnownAgent(
        "claude",
        ("claude", "claude-agent-acp"),
        (".claude", ".cache/claude-cli-nodejs"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        ("ANTHROPIC_", "CLAUDE_"),
        (".claude.json",),
        ("claude-agent-acp",),
        ("CLAUDE_CONFIG_DIR",),
        ("@anthropic-ai/claude-code", "@agentclientprotocol/claude-agent-acp"),
        (".claude/ide",),
        "bypassPermissions",
        {"IS_SANDBOX": "1"},
    ),
    KnownAgent(
        "codex",
        ("codex", "codex-acp"),
        (".codex",),
        ("OPENAI_API_KEY",),
        ("CODEX_", "OPENAI_"),
        acp=("codex-acp",),
        moved_by=("CODEX_HOME",),
        packages=("@openai/codex", "@agentclientprotocol/codex-acp"),
        outward=(".codex/app-server-control", ".codex/app-server-daemon"),
        mode="agent-full-access",
    ),
    KnownAgent(
        "opencode",
        ("opencode",),
        (".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
        MODEL_KEYS,
        ("OPENCODE_",),
        acp=("opencode", "acp"),
        moved_by=("OPENCODE_CONFIG_DIR",),
        packages=("opencode-ai",),
    ),
    KnownAgent(
        "gemini",
        ("gemini",),
        (".gemini",),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GEMINI_", "GOOGLE_"),
        acp=("gemini", "--experimental-acp"),
        packages=("@google/gemini-cli",),
    ),
    KnownAgent(
        "copilot",
        ("copilot",),
        (".copilot", ".cache/copilot"),
        ("GH_TOKEN", "GITHUB_TOKEN"),
        ("COPILOT_",),
        acp=("copilot", "--acp"),
        packages=("@github/copilot",),
    ),
)
SECRETS: Final = (
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/github-copilot",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/microsoft-edge",
    ".config/op",
    ".config/rclone",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/fish/fish_history",
    ".local/share/keyrings",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
    ".zsh_history",
)
"""Paths of secrets below the home directory."""
XDG: Final = {
    ".cache": "XDG_CACHE_HOME",
    ".config": "XDG_CONFIG_HOME",
    ".local/share": "XDG_DATA_HOME",
    ".local/state": "XDG_STATE_HOME",
}
"""Variables that move these directories below the home directory."""
_SECRET: Final = re.compile(
    r"(^|_)(API_?KEY|ACCESS_KEY|SECRET|TOKEN|CREDENTIALS?|PRIVATE_KEY|DSN|DATABASE_URL)(_|$)"
    # words of PostgreSQL and MySQL stand without `_`, such as PGPASSWORD; PWD itself is the directory
    r"|PASSWORD|PASSWD|PASSPHRASE|^PGPASSFILE$|^PGSERVICEFILE$|_PWD$"
)
"""Names of variables that hold secrets."""
_REACHES_OUT: Final = re.compile(
    r"^(NVIM|TIDEATE|DBUS_|GPG_|SSH_A|VSCODE_)|_(SOCK|SOCKET|LISTEN_ON)$"
    r"|^(DISPLAY|NVIM|TMUX|WAYLAND_DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR)$"
)
"""Names of variables with addresses of other programs of the user."""


def agent_named(name: str) -> KnownAgent | None:
    """Return a known agent by its name."""
    return next((one for one in KNOWN_AGENTS if one.name == name), None)


def agent_names(config: Configured) -> list[str]:
    """Return the names of configured and known agents."""
    return sorted({*config.agents, *(one.name for one in KNOWN_AGENTS)})


def find_agent(command: Sequence[str], config: Configured) -> str:
    """Return the name of the agent that a command starts; empty if it is none, or not plain from the words.

    :param command: program and arguments.
    """
    found = {_agent_of(name, config) for name in started_programs(command)} - {""}
    return found.pop() if len(found) == 1 else ""


def _agent_of(program: str, config: Configured) -> str:
    for name, own in config.agents.items():
        if program == name or (own.command and program in started_programs(own.command)):
            return name
    return next((one.name for one in KNOWN_AGENTS if program in (*one.programs, *one.packages)), "")


def enclosure_for(agent: str, config: Configured) -> Enclosure:
    """Return the enclosure of a program; blocking: missing directories of an agent are created.

    :param agent: see `find_agent`.
    :raises ConfigError: the directory of private state is unknown.
    """
    home, own = Path.home(), config.agents.get(agent)
    known = agent_named(agent)
    if known is not None:
        _create(home, known)
    return Enclosure(
        home=home,
        writable=(*_directories(home, known), *_expanded(own.writable if own else ())),
        kept=_files(home, known),
        emptied=tuple(_outward(home, known)) if known else (),
        hidden=(*_hidden(home, agent), *_expanded(own.hidden if own else ()), state_dir()),
        visible=_expanded(own.visible if own else ()),
        rules=Rules(network=own.network, disk=own.max_mib << 20) if own else Rules(),
    )


def environment_for(agent: str, config: Configured) -> dict[str, str]:
    """Return our environment for a program, without others' secrets and ways to other programs.

    :param agent: see `find_agent`.
    """
    known, own = agent_named(agent), config.agents.get(agent)
    kept = {name: value for name, value in os.environ.items() if _may_have(name, known, own)}
    return {**kept, "TMPDIR": "/tmp"}  # noqa: S108 it is private in the enclosure


def _may_have(name: str, known: KnownAgent | None, own: AgentConfig | None) -> bool:
    if own is not None and name in own.inherit:
        return True
    if known is not None and (name in known.keys or name.startswith(known.prefixes)):
        return True
    of_others = any(name.startswith(one.prefixes) for one in KNOWN_AGENTS if one is not known)
    return not (of_others or _SECRET.search(name.upper()) or _REACHES_OUT.search(name))


def _hidden(home: Path, agent: str) -> Iterable[Path]:
    for path in SECRETS:
        yield from dict.fromkeys((home / path, _place(home, path)))
    for one in KNOWN_AGENTS:
        if one.name != agent:
            yield from (*_directories(home, one), *_files(home, one))


def _directories(home: Path, known: KnownAgent | None) -> Sequence[Path]:
    return [] if known is None else [*(_place(home, path) for path in known.directories), *_moved(known)]


def _moved(known: KnownAgent) -> list[Path]:
    return [Path(os.environ[name]) for name in known.moved_by if os.environ.get(name, "").startswith("/")]


def _files(home: Path, known: KnownAgent | None) -> tuple[Path, ...]:
    return () if known is None else tuple(home / name for name in known.files)


def _outward(home: Path, known: KnownAgent) -> Iterable[Path]:
    for path in known.outward:
        yield from (home / path, *(moved / Path(path).name for moved in _moved(known)))


def _place(home: Path, path: str) -> Path:
    """Return the location of a path below the home directory, which variables can move."""
    for prefix, variable in XDG.items():
        base = os.environ.get(variable, "")
        if base.startswith("/") and path.startswith(f"{prefix}/"):
            return Path(base, path.removeprefix(f"{prefix}/"))
    return home / path


def _create(home: Path, known: KnownAgent) -> None:
    """Create an agent's own directories, which it could not create or which could not be emptied there."""
    for path in known.directories:
        with suppress(OSError):  # without it, the agent's changes there are discarded
            _place(home, path).mkdir(mode=0o700, parents=True, exist_ok=True)
    for place in _outward(home, known):
        with suppress(OSError):
            place.mkdir(mode=0o700, exist_ok=True)


def _expanded(paths: Iterable[str]) -> tuple[Path, ...]:
    return tuple(expand_home(path) for path in paths)
