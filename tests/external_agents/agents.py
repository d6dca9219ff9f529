"""Real agents: how each is started, and the least configuration that points it at a scripted provider.

Without `make test-agents`, which installs them, there are none.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["AGENTS", "PROGRAMS", "READY", "Agent"]

PROGRAMS = os.environ.get("TIDEATE_AGENTS", "")
"""Folders of the installed programs, as in `$PATH`: `make test-agents` names them."""
SCRIPTED = "scripted"
ASK = json.dumps({"edit": "ask", "bash": "ask"})


def _no_variables(address: str) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. Commands begin with the name of an npm package's program."""

    name: str
    files: Callable[[str, Path], Mapping[str, str]]
    """Configuration below the home, by the provider's address and the project."""
    once: tuple[str, ...]
    """Command that works without questions; the prompt comes last."""
    screen: tuple[str, ...]
    """Command at a terminal, as people start it."""
    ready: str
    """Shown when a prompt can be typed."""
    careful: tuple[str, ...]
    """Command at a terminal that asks for permissions."""
    question: str
    """Shown when it asks; Return allows."""
    acp: tuple[str, ...]
    """Command that speaks the Agent Client Protocol on its standard streams."""
    variables: Callable[[str], dict[str, str]] = _no_variables
    """Of the environment, by the provider's address."""
    cancel: str = "\x1b"
    """Keys that cancel a turn at a terminal."""
    asking: Mapping[str, str] = field(default_factory=dict)
    """More of the environment, with which it asks for permissions."""
    free: Mapping[str, str] = field(default_factory=dict)
    """More of the environment, with which it does not ask; tideate's adapters do without."""
    own: tuple[str, ...] = ()
    """Paths below home that it has to write."""


def _opencode(address: str, project: Path) -> dict[str, str]:
    model = {"name": SCRIPTED, "limit": {"context": 100_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": SCRIPTED,
        "options": {"baseURL": f"{address}/v1", "apiKey": "key"},
        "models": {SCRIPTED: model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"{SCRIPTED}/{SCRIPTED}",
        "small_model": f"{SCRIPTED}/{SCRIPTED}",
        "enabled_providers": [SCRIPTED],
        "provider": {SCRIPTED: provider},
    }
    # it would ask the registry for its plugins, again and again, before it answers at a terminal
    return {".config/opencode/opencode.json": json.dumps(settings), ".npmrc": "offline=true\n"}


def _codex(address: str, project: Path) -> dict[str, str]:
    # of the models that it knows, the newest with its tools in the request; without the notices it offers
    # newer ones before the first prompt
    return {
        ".codex/config.toml": f"""\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[tui.model_availability_nux]
"gpt-6.1-sol" = 1
[projects."{project}"]
trust_level = "trusted"
[features]
daemon_auto_start = false
plugins = false
apps = false
[analytics]
enabled = false
[feedback]
enabled = false
"""
    }


def _claude(address: str, project: Path) -> dict[str, str]:
    known = {
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["key"], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    # without it, the adapter has a model judge every command
    asks = {"permissions": {"defaultMode": "default"}}
    return {".claude.json": json.dumps(known), ".claude/settings.json": json.dumps(asks)}


def _gemini(address: str, project: Path) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"name": "gemini-2.5-pro"},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _copilot(address: str, project: Path) -> dict[str, str]:
    return {".copilot/config.json": json.dumps({"trusted_folders": [str(project)], "banner": "never"})}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="opencode",
            files=_opencode,
            once=("opencode", "run"),
            screen=("opencode",),
            ready="Ask anything",
            careful=("opencode",),
            question="Permission required",
            acp=("opencode", "acp"),
            variables=lambda address: {
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
            cancel="\x1b\x1b",
            asking={"OPENCODE_PERMISSION": ASK},
            own=(
                ".cache/opencode",
                ".config/opencode",
                ".local/share/opencode",
                ".local/state/opencode",
            ),
        ),
        Agent(
            name="codex",
            files=_codex,
            once=("codex", "exec", "--dangerously-bypass-approvals-and-sandbox"),
            screen=("codex", "--dangerously-bypass-approvals-and-sandbox"),
            ready="Ask Codex to do anything",
            careful=("codex", "--ask-for-approval", "on-request"),
            question="Would you like to run",
            acp=("codex-acp",),
            variables=lambda address: {"OPENAI_API_KEY": "key"},
            asking={"INITIAL_AGENT_MODE": "read-only"},
            free={"INITIAL_AGENT_MODE": "agent-full-access"},
            own=(".codex",),
        ),
        Agent(
            name="claude",
            files=_claude,
            once=("claude", "-p", "--dangerously-skip-permissions"),
            screen=("claude", "--dangerously-skip-permissions"),
            ready="Welcome back",
            careful=("claude",),
            question="Do you want to proceed?",
            acp=("claude-agent-acp",),
            variables=lambda address: {
                "ANTHROPIC_BASE_URL": address,
                "ANTHROPIC_API_KEY": "key",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                # its suggestions of the next prompt offer tools, too, and would take turns
                "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
                "DISABLE_AUTOUPDATER": "1",
            },
            free={"IS_SANDBOX": "1"},
            own=(".claude", ".claude.json"),
        ),
        Agent(
            name="gemini",
            files=_gemini,
            once=("gemini", "--yolo", "-p"),
            screen=("gemini", "--yolo"),
            ready="Type your message",
            careful=("gemini",),
            question="Allow execution of",
            acp=("gemini", "--experimental-acp"),
            variables=lambda address: {
                "GOOGLE_GEMINI_BASE_URL": address,
                "GEMINI_API_KEY": "key",
            },
            own=(".gemini",),
        ),
        Agent(
            name="copilot",
            files=_copilot,
            once=("copilot", "--allow-all-tools", "-p"),
            screen=("copilot", "--allow-all-tools"),
            ready="? help",
            careful=("copilot",),
            question="Do you want to run this command?",
            acp=("copilot", "--acp", "--stdio"),
            variables=lambda address: {
                "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
                "COPILOT_PROVIDER_API_KEY": "key",
                "COPILOT_MODEL": "gpt-4.1",
                "COPILOT_OFFLINE": "true",
                "COPILOT_AUTO_UPDATE": "false",
            },
            cancel="\x1b\x1b",
            own=(".copilot", ".cache/copilot"),
        ),
    )
}
ORDER = ("claude", "opencode", "gemini", "copilot", "codex")
"""CI takes a sample: the first and the last."""
READY = [AGENTS[name] for name in ORDER] if PROGRAMS else []
