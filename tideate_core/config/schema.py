"""Schema of the configuration: its sections, their keys and defaults."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

__all__ = [
    "OWN_SERVERS",
    "AdapterConfig",
    "CheckCommand",
    "Config",
    "EditorConfig",
    "EveryWorkflowConfig",
    "HistoryConfig",
    "LandConfig",
    "LimitsConfig",
    "LoginConfig",
    "McpConfig",
    "McpServerConfig",
    "SnapshotsConfig",
    "StateToolsConfig",
    "StateConfig",
    "TelemetryConfig",
    "UiConfig",
    "VerifyConfig",
    "WorkflowConfig",
]


HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]


class _Section(BaseModel):
    # compiled when it is first used: as a part of `Config`, and then once
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class AdapterConfig(_Section):
    """`[adapters.NAME]`: a server that speaks OpenAI's chat completions, or a provider's model."""

    base_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    """Of a server; without it `model` is `PROVIDER:MODEL`."""
    model: str = Field(min_length=1)
    api_key_env: str | None = Field(default=None, min_length=1)
    """Environment variable that holds the key."""
    api_key_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments whose first line of output is the key; no shell."""
    context_tokens: int | None = Field(default=None, ge=256)
    """Tokens that prompt and answer share."""
    tools: bool = True
    """Its model can call tools; false: it is asked in one go, without looking at files by itself."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds without a byte from the server after which a request fails."""
    temperature: float | None = Field(default=None, ge=0)
    """None: the provider's."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Longest answer in tokens, thoughts included; None: the provider's."""
    thinking: bool | Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """Whether the model thinks before it answers, or how much; None: as it does by itself."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Keys that are added to the body of every request."""
    cache: bool = True
    """Have what prompts begin with cached, where the provider wants to be told."""

    @model_validator(mode="after")
    def _check_key_source(self) -> Self:
        if self.api_key_env and self.api_key_command:
            raise ValueError("give api_key_env or api_key_command, not both")
        return self

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        provider, colon, model = self.model.partition(":")
        if self.base_url is None and not (provider and colon and model):
            raise ValueError(
                f"give the base_url of a server, or a provider's model as PROVIDER:MODEL; {self.model!r} is "
                "neither"
            )
        return self

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not HEADER.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a header")
            if not (value.isascii() and value.isprintable()):
                # not the value: it may be a key
                raise ValueError(f"the value of {name} has characters that no header can carry")
        return headers

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, base_url: str | None) -> str | None:
        if base_url is not None and re.search(r"[@?#]", base_url):
            # addresses stand in messages, logs and summaries
            raise ValueError(
                "an address without `@`, `?` and `#` is wanted: a password or key in it would be shown in "
                "messages; use api_key_env or api_key_command"
            )
        return base_url


class StateToolsConfig(_Section):
    """`[workflows.NAME.states.STATE]`."""

    tools: list[ToolName] | None = Field(default=None, max_length=100)
    """In place of those of the whole machine; an empty list: none."""


class WorkflowConfig(_Section):
    """`[workflows.NAME]`."""

    adapter: str | None = Field(default=None, min_length=1)
    require_confirmation: bool | None = None
    confirm: list[str] | None = None
    """Of a machine: states that are entered only after a question, beside those it names itself."""
    tools: list[ToolName] | None = Field(default=None, max_length=100)
    """Of a machine: tools that its model may call in every state."""
    states: dict[str, StateToolsConfig] = Field(default_factory=dict)
    """Of a machine: what holds for one state."""


class EveryWorkflowConfig(_Section):
    """`[workflow]`: settings of all workflows."""

    checkpoints: Literal["files"] | None = None
    """`files`: export the checkpoint after each step, as `tideate checkpoint export` does."""


class UiConfig(_Section):
    """`[ui]`."""

    output: Literal["float", "split", "vsplit", "tab"] = "float"
    panel: Literal["auto", "below", "right"] = "auto"
    border: str | None = None
    notify: bool = True


class EditorConfig(_Section):
    """`[editor]`: of Neovim."""

    staged_diagnostics: list[str] | Literal["off"] = ["basedpyright", "pyright", "ty"]
    """Language servers, by their names in Neovim, that say what staged edits break; `*`: all."""


class LimitsConfig(_Section):
    """`[limits]`."""

    max_file_kib: int = Field(default=2048, ge=1)
    """Largest file that is read or written, in KiB."""
    attempts: int = Field(default=3, ge=1, le=10)
    """Tries of a model until its answer is usable; tries of an edit end after two equal answers."""
    revisions: int = Field(default=10, ge=0, le=100)
    """Times that a model may be asked, in one review, to revise its edit as the person's comments say."""
    mention_tokens: int = Field(default=16_000, ge=100)
    """Tokens of the material that the mentions of a prompt bring (`@Name`), at four characters each."""
    concurrency: int = Field(default=16, ge=1, le=64)
    """Steps, or items of a `for_each`, that one run works on at the same time. By default a workflow whose
    steps only run handlers has a limit of 64."""
    max_moves: int = Field(default=100, ge=1, le=10_000)
    """Moves that a machine may make; the move to the exit is free."""
    max_visits: int = Field(default=10, ge=1, le=1000)
    """Times that a machine may come to the same state."""
    turns: int = Field(default=60, ge=1, le=1000)
    """Turns of models that work with tools, of all a step's attempts; then what they did is offered."""
    tool_calls: int = Field(default=300, ge=1, le=10_000)
    """Tool calls of these turns."""
    tokens: int | None = Field(default=None, ge=1000)
    """Tokens, read and written, of these turns; None: no limit."""
    run_turns: int = Field(default=1000, ge=1, le=100_000)
    """Turns of all steps of a run, and of the runs within it."""
    run_tool_calls: int = Field(default=5000, ge=1, le=1_000_000)
    """Tool calls of these turns."""
    run_tokens: int | None = Field(default=None, ge=1000)
    """Tokens, read and written, of these turns; None: no limit."""
    max_replans: int = Field(default=2, ge=1, le=10)
    """Plans of a task that the audit may reject before the task fails."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars that one run may spend; the request that would pass it is not sent. None: no limit."""


def _rules_path(value: Any) -> Any:
    parts = value.split("/") if isinstance(value, str) and value.isprintable() else []
    if not parts or len(value) > LONGEST_RULES_PATH or value[:1] in ("", "/", "~") or ".." in parts:
        raise ValueError('give a name, a path or a pattern within the project, as "CONTEXT.md"')
    return value


LONGEST_RULES_PATH: Final = 300
MOST_RULES_FILES: Final = 50
RulesPath: TypeAlias = Annotated[str, BeforeValidator(_rules_path)]


class HistoryConfig(_Section):
    """`[history]`: the ended runs that `tideate history --prune` keeps."""

    keep_runs: int | None = Field(default=1000, ge=0)
    """The newest of every workflow."""
    max_age_days: float | None = Field(default=None, gt=0)
    """None: however old they are."""
    max_mib: int | None = Field(default=None, ge=0)
    """Of the files with large results, in MiB; None: however many there are."""


def _command(value: Any) -> Any:
    words = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if value is None or value == "off" or (words and value[0]):
        return value
    raise ValueError('give a list of program and arguments, as ["make", "test"], or "off"')


_SELECTIONS: Final = ("{files}", "{pattern}")
"""Elements of `verify.tests` that the files of tests and the pattern of names take the place of."""


def _tests_command(value: Any) -> Any:
    command = _command(value)
    for number, word in enumerate(command if isinstance(command, list) else ()):
        inside = next((one for one in _SELECTIONS if one in word), None)
        if inside and (word != inside or number == 0):
            raise ValueError(f'{inside} has to be an argument of its own, as ["./test.sh", "{inside}"]')
    return command


CheckCommand: TypeAlias = Annotated[list[str] | Literal["off"] | None, BeforeValidator(_command)]
"""Program and arguments, no shell; "off": the project has no such check; None: what is detected."""


class VerifyConfig(_Section):
    """`[verify]`: the commands of gate 5, which run from the project's root."""

    type_check: CheckCommand = None
    lint: CheckCommand = None
    tests: Annotated[list[str] | Literal["off"] | None, BeforeValidator(_tests_command)] = None
    """In it `{files}` and `{pattern}`, each an argument of its own, stand for the tests that are wanted."""
    build: CheckCommand = None
    documentation: CheckCommand = None
    timeout: float = Field(default=600.0, gt=0)
    """Seconds for each of them."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables that they get beside the few that every program gets."""
    inherit: list[str] = Field(default_factory=list)
    """Names of variables of ours that they get too."""


class StateConfig(_Section):
    """`[state]`: of the person's own configuration only."""

    directory: str | None = Field(default=None, pattern=r"^[/~]")
    """Everything private, in place of `$XDG_STATE_HOME/tideate`; `$TIDEATE_STATE` comes before it."""


class SnapshotsConfig(_Section):
    """`[snapshots]`: limits of what they take in, and how many are kept."""

    keep: int = Field(default=10, ge=1)
    """The newest."""
    max_file_mib: int = Field(default=100, ge=1)
    """In MiB; larger files are left out, with a notice."""
    max_total_mib: int = Field(default=4096, ge=1)
    """In MiB; files that do not fit are left out, with a notice."""
    ignored_directories: bool = False
    """Take in also what is in directories that git ignores."""


OWN_SERVERS: Final = ("build", "filesystem", "git", "test")
"""The MCP servers that every project has: tideate's own."""

LOOPBACK: Final = re.compile(r"^(http|ws)://(127\.0\.0\.1|localhost|\[::1\])([:/]|$)")


class McpServerConfig(_Section):
    """`[mcp.servers.NAME]`: a program that speaks MCP on its standard streams, or an address."""

    command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments, no shell; it runs in the project's root."""
    url: str | None = Field(default=None, pattern=r"^(https?|wss?)://[^\s@]+$")
    """Of a server that runs already: streamable HTTP, or WebSocket."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables that the program gets beside the few that every program gets."""
    inherit: list[str] = Field(default_factory=list)
    """Names of variables of ours that it gets too."""
    token_env: str | None = Field(default=None, min_length=1)
    """Environment variable that holds the address's bearer token."""
    token_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments whose first line of output is that token; no shell."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that a call may take where the step does not say."""
    enabled: bool = True
    capabilities: list[str] = Field(default_factory=list)
    """What the server has to offer, as `tools` or `resources`; one that lacks any of it is not used."""
    permissions: list[str] | None = None
    """Patterns of tools, as `read_*`, that may be used, each with its question; None: all of them."""

    @model_validator(mode="after")
    def _check_connection(self) -> Self:
        if self.command and self.url:
            raise ValueError("give command or url, not both")
        if self.token_env and self.token_command:
            raise ValueError("give token_env or token_command, not both")
        token = self.token_env or self.token_command
        if token and not self.url:
            raise ValueError("a token is for a url; what a command needs goes in its environment")
        if self.url and (self.environment or self.inherit):
            raise ValueError("environment and inherit are for a command, and this server has a url")
        if token and self.url and self.url.startswith(("http:", "ws:")) and not LOOPBACK.match(self.url):
            raise ValueError("a token would go over the network unencrypted; use https:// or wss://")
        return self


class McpConfig(_Section):
    """`[mcp]`."""

    strict: bool = False
    """Hold every message, in both directions, against the protocol's schema; name the field that is wrong."""
    servers: dict[str, McpServerConfig] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_servers(self) -> Self:
        for name, server in self.servers.items():
            own, given = name in OWN_SERVERS, server.command or server.url
            if own and given:
                raise ValueError(f"servers.{name}: {name!r} is tideate's own server; choose another name")
            if not own and not given:
                raise ValueError(f"servers.{name}: give a command or a url")
            if not re.fullmatch(r"[A-Za-z_][\w-]*", name) or len(name) > 100:
                raise ValueError(
                    f"servers: the name {name!r} has other characters than letters, digits, _, -"
                )
        return self


class LandConfig(_Section):
    """`[land]`: writing what was accepted."""

    executed: Literal["ask", "refuse"] = "ask"
    """Files that other tools execute, such as `.envrc`. `ask`: written after a person's yes, left out with
    `--yes`; `refuse`: always left out."""


class LoginConfig(_Section):
    """`[login]`: of the person's own configuration only."""

    store: Literal["file", "keyring"] = "file"
    """Where `tideate login` keeps credentials: a file that only the person can read, or their keyring."""


class TelemetryConfig(_Section):
    """`[telemetry]`: runs as OpenTelemetry spans."""

    otlp: str | None = Field(default=None, pattern=r"^https?://[^\s@?#]+$")
    """Address of a receiver of OTLP over HTTP; None: nothing is exported."""
    content: bool = False
    """Spans have the prompts of runs, answers, arguments of tools and the words of errors, too."""


class Config(_Section):
    """All of it; every key has a default."""

    adapter: str = Field(default="local", min_length=1)
    adapters: dict[str, AdapterConfig] = Field(default_factory=dict)
    rules: bool = True
    """What the project says (`AGENTS.md`, `CLAUDE.md`, …) is sent with what a model is asked."""
    rules_files: list[RulesPath] = Field(default_factory=list, max_length=MOST_RULES_FILES)
    """More files of the project that are sent so: names, paths or patterns."""
    memory: bool = True
    """Send the project's `MEMORY.md` and its nearest earlier runs to models."""
    workflow: EveryWorkflowConfig = EveryWorkflowConfig.model_construct()
    workflows: dict[str, WorkflowConfig] = Field(default_factory=dict)
    ui: UiConfig = UiConfig.model_construct()
    editor: EditorConfig = EditorConfig.model_construct()
    limits: LimitsConfig = LimitsConfig.model_construct()
    history: HistoryConfig = HistoryConfig.model_construct()
    mcp: McpConfig = McpConfig.model_construct()
    snapshots: SnapshotsConfig = SnapshotsConfig.model_construct()
    state: StateConfig = StateConfig.model_construct()
    land: LandConfig = LandConfig.model_construct()
    login: LoginConfig = LoginConfig.model_construct()
    telemetry: TelemetryConfig = TelemetryConfig.model_construct()
    verify: VerifyConfig = VerifyConfig.model_construct()

    @model_validator(mode="after")
    def _check_adapter_names(self) -> Self:
        for name in self.adapters:
            if name == "local":
                raise ValueError("adapters.local: 'local' is the bundled model; choose another name")
            if ":" in name:
                raise ValueError(f"adapters: the name {name!r} has a colon, which stands for PROVIDER:MODEL")
        return self

    def adapter_for(self, workflow: str) -> str:
        """Return the name of the adapter that a workflow uses."""
        own = self.workflows.get(workflow)
        return (own.adapter if own else None) or self.adapter
