"""Schema of the configuration: its sections, their keys and defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]


class _Section(BaseModel):
    # compiled at first use, once, as a part of `Config`
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class AdapterConfig(_Section):
    """`[adapters.NAME]`: an OpenAI-compatible server, a provider's model, or an agent."""

    base_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    """Address of a server; without it, `model` is `PROVIDER:MODEL`."""
    model: str = ""
    """Model of a server or a provider; the model of an agent is in `options`."""
    acp: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments of an agent that speaks ACP; no shell."""
    options: dict[str, str | bool] = Field(default_factory=dict)
    """Values of an agent's options by id or category, such as `model` and `mode`."""
    api_key_env: str | None = Field(default=None, min_length=1)
    """Environment variable that holds the key."""
    api_key_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments; the first line of its output is the key; no shell."""
    context_tokens: int | None = Field(default=None, ge=256)
    """Tokens shared by prompt and answer."""
    tools: bool = True
    """Whether the model can call tools; otherwise it is asked once and cannot inspect files."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds without data from the server after which a request fails."""
    temperature: float | None = Field(default=None, ge=0)
    """None: the provider's default."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Longest answer in tokens, including thoughts; None: the provider's default."""
    thinking: bool | Literal["minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """Whether the model thinks before it answers, or how much; None: the model's default."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Keys added to the body of every request."""
    cache: bool = True
    """Ask the provider to cache the common beginning of prompts, if necessary."""

    @model_validator(mode="after")
    def _check_key_source(self) -> Self:
        if self.api_key_env and self.api_key_command:
            raise ValueError("give api_key_env or api_key_command, not both")
        return self

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.acp is not None:
            if self.base_url or self.model:
                raise ValueError("acp names an agent's program: set its model in options.model")
            return self
        if self.options:
            raise ValueError("options are for an agent, which `acp` names")
        if not self.model:
            raise ValueError("give the model, or in acp the program of an agent")
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
                # without the value: it may be a key
                raise ValueError(f"the value of {name} has characters that no header can carry")
        return headers

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, base_url: str | None) -> str | None:
        if base_url is not None and re.search(r"[@?#]", base_url):
            # addresses appear in messages, logs and summaries
            raise ValueError(
                "give an address without `@`, `?` and `#`: messages would show a password or key in it; use "
                "api_key_env or api_key_command"
            )
        return base_url


class StateToolsConfig(_Section):
    """`[workflows.NAME.states.STATE]`."""

    tools: list[ToolName] | None = Field(default=None, max_length=100)
    """Replaces the machine's own list; an empty list allows none."""


class WorkflowConfig(_Section):
    """`[workflows.NAME]`."""

    adapter: str | None = Field(default=None, min_length=1)
    require_confirmation: bool | None = None
    confirm: list[str] | None = None
    """Of a machine: further states to confirm before they are entered."""
    tools: list[ToolName] | None = Field(default=None, max_length=100)
    """Of a machine: tools that its model may call in every state."""
    states: dict[str, StateToolsConfig] = Field(default_factory=dict)
    """Of a machine: settings of one state."""


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
    """Language servers, by Neovim's names, that check staged edits; `*`: all."""


class LimitsConfig(_Section):
    """`[limits]`."""

    max_file_kib: int = Field(default=2048, ge=1)
    """Largest file that is read or written, in KiB."""
    attempts: int = Field(default=3, ge=1, le=10)
    """Attempts for a usable answer; an edit ends after two equal answers."""
    revisions: int = Field(default=10, ge=0, le=100)
    """Revisions that a review may request from the model."""
    mention_tokens: int = Field(default=16_000, ge=100)
    """Tokens of material from a prompt's mentions (`@Name`), at four characters each."""
    concurrency: int = Field(default=16, ge=1, le=64)
    """Concurrent steps, or items of a `for_each`, of one run. By default, a workflow of handlers only has a
    limit of 64."""
    max_moves: int = Field(default=100, ge=1, le=10_000)
    """Moves of a machine, without the move to the exit."""
    max_visits: int = Field(default=10, ge=1, le=1000)
    """Visits of a machine to the same state."""
    turns: int = Field(default=60, ge=1, le=1000)
    """Turns of models with tools in all attempts of a step; then the work so far is offered."""
    tool_calls: int = Field(default=300, ge=1, le=10_000)
    """Tool calls in these turns."""
    tokens: int | None = Field(default=None, ge=1000)
    """Tokens, read and written, in these turns; None: no limit."""
    run_turns: int = Field(default=1000, ge=1, le=100_000)
    """Turns of all steps of a run, including nested runs."""
    run_tool_calls: int = Field(default=5000, ge=1, le=1_000_000)
    """Tool calls in these turns."""
    run_tokens: int | None = Field(default=None, ge=1000)
    """Tokens, read and written, in these turns; None: no limit."""
    max_replans: int = Field(default=2, ge=1, le=10)
    """Plans of a task that the audit may reject before the task fails."""
    cost_usd: float | None = Field(default=None, gt=0)
    """US dollars that one run may spend; a request that would exceed it is not sent. None: no limit."""


def _rules_path(value: Any) -> Any:
    parts = value.split("/") if isinstance(value, str) and value.isprintable() else []
    if not parts or len(value) > LONGEST_RULES_PATH or value[:1] in ("", "/", "~") or ".." in parts:
        raise ValueError('give a name, a path or a pattern within the project, as "CONTEXT.md"')
    return value


LONGEST_RULES_PATH: Final = 300
MOST_RULES_FILES: Final = 50
RulesPath: TypeAlias = Annotated[str, BeforeValidator(_rules_path)]


class HistoryConfig(_Section):
    """`[history]`: ended runs that `tideate history --prune` keeps."""

    keep_runs: int | None = Field(default=1000, ge=0)
    """Newest runs of every workflow."""
    max_age_days: float | None = Field(default=None, gt=0)
    """None: any age."""
    max_mib: int | None = Field(default=None, ge=0)
    """Files with large results, in MiB; None: any size."""


def _command(value: Any) -> Any:
    words = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if value is None or value == "off" or (words and value[0]):
        return value
    raise ValueError('give a list of program and arguments, as ["make", "test"], or "off"')


_SELECTIONS: Final = ("{files}", "{pattern}")
"""Arguments of `verify.tests` replaced by test files and by a name pattern."""


def _tests_command(value: Any) -> Any:
    command = _command(value)
    for number, word in enumerate(command if isinstance(command, list) else ()):
        inside = next((one for one in _SELECTIONS if one in word), None)
        if inside and (word != inside or number == 0):
            raise ValueError(f'{inside} must be a separate argument, as in ["./test.sh", "{inside}"]')
    return command


CheckCommand: TypeAlias = Annotated[list[str] | Literal["off"] | None, BeforeValidator(_command)]
"""Program and arguments, no shell; "off": no such check; None: the detected command."""


class VerifyConfig(_Section):
    """`[verify]`: commands of gate 5, run in the project's root."""

    type_check: CheckCommand = None
    lint: CheckCommand = None
    tests: Annotated[list[str] | Literal["off"] | None, BeforeValidator(_tests_command)] = None
    """`{files}` and `{pattern}`, each an argument of its own, are replaced by the selected tests."""
    build: CheckCommand = None
    documentation: CheckCommand = None
    timeout: float = Field(default=600.0, gt=0)
    """Seconds for each command."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables added to the minimal environment of every program."""
    inherit: list[str] = Field(default_factory=list)
    """Names of inherited variables."""
    _own: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def own(self) -> frozenset[str]:
        """Checks with a command from the person's `config.toml` or `setup()`."""
        return self._own

    def written_by_person(self, checks: Iterable[str]) -> None:
        """Mark checks as the person's own; called once, by the loader."""
        self._own = frozenset(checks)


class StateConfig(_Section):
    """`[state]`: only in the user's own configuration."""

    directory: str | None = Field(default=None, pattern=r"^[/~]")
    """Directory of all private state, instead of `$XDG_STATE_HOME/tideate`; `$TIDEATE_STATE` takes
    precedence."""


class SnapshotsConfig(_Section):
    """`[snapshots]`: size limits and number of snapshots."""

    keep: int = Field(default=10, ge=1)
    """Newest snapshots that are kept."""
    max_file_mib: int = Field(default=100, ge=1)
    """In MiB; larger files are left out with a notice."""
    max_total_mib: int = Field(default=4096, ge=1)
    """In MiB; files beyond it are left out with a notice."""
    ignored_directories: bool = False
    """Include directories that git ignores."""


class WatchConfig(_Section):
    """`[watch]`: snapshots whenever the project's files change."""

    enabled: bool = False
    """Also watch in Neovim."""
    settle: float = Field(default=2.0, gt=0)
    """Seconds without a change until a snapshot."""
    keep: int = Field(default=100, ge=2)
    """Number of snapshots to keep; the older they are, the farther apart they are kept."""
    max_mib: int = Field(default=1024, ge=1)
    """Maximum size on disk in MiB; a snapshot leaves out files over it."""
    leave_out: list[str] = [".tox", ".venv", "__pycache__", "node_modules", "venv"]
    """Names of ignored directories that are left out, besides caches."""


OWN_SERVERS: Final = ("build", "filesystem", "git", "test")
"""tideate's own MCP servers, available in every project."""

LOOPBACK: Final = re.compile(r"^(http|ws)://(127\.0\.0\.1|localhost|\[::1\])([:/]|$)")


class McpServerConfig(_Section):
    """`[mcp.servers.NAME]`: a program that speaks MCP on its standard streams, or an address."""

    command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments, no shell; it runs in the project's root."""
    url: str | None = Field(default=None, pattern=r"^(https?|wss?)://[^\s@]+$")
    """Address of a running server: streamable HTTP, or WebSocket."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables added to the minimal environment of every program."""
    inherit: list[str] = Field(default_factory=list)
    """Names of inherited variables."""
    token_env: str | None = Field(default=None, min_length=1)
    """Environment variable that holds the address's bearer token."""
    token_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments; the first line of its output is that token; no shell."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for a call, unless the step says otherwise."""
    enabled: bool = True
    capabilities: list[str] = Field(default_factory=list)
    """Required capabilities, such as `tools` or `resources`; a server without one is not used."""
    permissions: list[str] | None = None
    """Patterns of allowed tools, such as `read_*`, each confirmed; None: all tools."""

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
    """Validate all messages in both directions against the protocol's schema and name invalid fields."""
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
    """`[land]`: writing of accepted changes."""

    executed: Literal["ask", "refuse"] = "ask"
    """Files that other tools execute, such as `.envrc`. `ask`: written after a confirmation, left out with
    `--yes`; `refuse`: always left out."""


def _home_path(value: Any) -> Any:
    if (
        isinstance(value, str)
        and value[:1] in ("/", "~")
        and value.isprintable()
        and ".." not in value.split("/")
    ):
        return value
    raise ValueError('give a path from "/" or "~/"')


HomePath: TypeAlias = Annotated[str, BeforeValidator(_home_path)]


class AgentConfig(_Section):
    """`[agents.NAME]`: only in the user's own configuration."""

    command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments that start the agent, no shell; None: those of a known agent."""
    writable: list[HomePath] = Field(default_factory=list)
    """Directories and files outside of the project whose changes are kept, besides the agent's own."""
    hidden: list[HomePath] = Field(default_factory=list)
    """Paths that the agent cannot read, besides the usual places of secrets."""
    visible: list[HomePath] = Field(default_factory=list)
    """Paths that the agent can read even though they are hidden by default."""
    network: Literal["on", "loopback", "off"] = "on"
    """The machine's network, only addresses of the enclosure itself, or none."""
    max_mib: int = Field(default=10_240, ge=16)
    """Maximum size of the agent's changes on disk in MiB; an agent over it is ended, and its changes stay."""
    inherit: list[str] = Field(default_factory=list)
    """Names of variables to inherit even though they look like secrets."""
    permissions: Literal["allow", "ask"] = "allow"
    """Answer to an agent that asks over ACP before a call: always yes, or the person's answer."""


class CiConfig(_Section):
    """`[ci]`: runs without a terminal."""

    at_gate: Literal["ask", "leave"] = "ask"
    """At a question that needs a person: decline it, or publish the run for a reviewer elsewhere."""
    remote: str = Field(default="origin", min_length=1, max_length=1000)
    """Remote to which runs are published."""


SIGNER: Final = re.compile(r"SHA256:[A-Za-z0-9+/]{43}|0x(?:[0-9A-F]{40}|[0-9A-F]{64})|[^@\s<>,]+@[^@\s<>,]+")
"""Fingerprint of an SSH key, of an OpenPGP key, or an e-mail address."""


class InboxConfig(_Section):
    """`[inbox]`: only in the user's own configuration."""

    refs: Literal["auto", "refs", "branches"] = "auto"
    """Where runs are published: below `refs/tideate`, as branches, or as branches if the remote refuses
    other refs."""
    sign: bool = False
    """Sign with `user.signingKey` even if `commit.gpgSign` is off."""
    allow: list[str] = Field(default_factory=list, max_length=1000)
    """Keys and addresses whose signatures count; empty: no signature is needed."""
    max_fetch_mib: int = Field(default=512, ge=1)
    """Maximum size of what a fetch receives in MiB; nothing of a larger one is kept."""

    @field_validator("allow")
    @classmethod
    def _check_signers(cls, signers: list[str]) -> list[str]:
        for one in signers:
            if not SIGNER.fullmatch(one):
                raise ValueError(
                    f"{one!r} is no signer; give the fingerprint of an SSH key (`SHA256:…`), all digits of "
                    "an OpenPGP fingerprint (`0x…`, capital letters), or an e-mail address"
                )
        return signers


class LoginConfig(_Section):
    """`[login]`: only in the user's own configuration."""

    store: Literal["file", "keyring"] = "file"
    """Where `tideate login` keeps credentials: a file readable only by the user, or their keyring."""


class TelemetryConfig(_Section):
    """`[telemetry]`: runs as OpenTelemetry spans."""

    otlp: str | None = Field(default=None, pattern=r"^https?://[^\s@?#]+$")
    """Address of an OTLP receiver over HTTP; None: nothing is exported."""
    content: bool = False
    """Include prompts, answers, tool arguments and error messages in spans."""


class FleetConfig(_Section):
    """`[fleet]`: only in the user's own configuration."""

    database: str | None = Field(default=None, pattern=r"^postgres(ql)?://[^\s]+$")
    """Address of the PostgreSQL database, without a password."""
    password_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments; the first line of its output is the database's password; no shell."""
    secret_command: list[str] | None = Field(default=None, min_length=1)
    """Program and arguments; the first line of its output is the secret of the workers; no shell."""
    key: str | None = Field(default=None, min_length=1)
    """SSH key file that signs your submissions; None: git's `user.signingKey`."""
    allow: list[str] = Field(default_factory=list)
    """Keys whose submissions a worker runs: fingerprints (`SHA256:…`), or public keys."""
    bundle_every: int = Field(default=5, ge=1)
    """Number of model turns after which a worker stores a bundle of a running run."""
    rates: dict[str, str] = Field(default_factory=dict)
    """Rate limit of a provider or adapter for all workers together: starts of legs, as `NUMBER/SECONDS`."""

    @field_validator("database")
    @classmethod
    def _check_password(cls, database: str | None) -> str | None:
        if database is not None and re.search(r"://[^/@]*:[^/@]+@|[?&]password=", database):
            raise ValueError(
                "give the address without a password; use password_command, ~/.pgpass or "
                "TIDEATE_FLEET_DATABASE"
            )
        return database

    @field_validator("rates")
    @classmethod
    def _check_rates(cls, rates: dict[str, str]) -> dict[str, str]:
        for name, rate in rates.items():
            if not re.fullmatch(r"[1-9]\d{0,5}/[1-9]\d{0,5}", rate):
                raise ValueError(f"{name}: give NUMBER/SECONDS, such as 60/60, not {rate!r}")
        return rates


class Config(_Section):
    """Complete configuration; every key has a default."""

    adapter: str = Field(default="local", min_length=1)
    adapters: dict[str, AdapterConfig] = Field(default_factory=dict)
    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    rules: bool = True
    """Send the project's rules (`AGENTS.md`, `CLAUDE.md`, …) with prompts."""
    rules_files: list[RulesPath] = Field(default_factory=list, max_length=MOST_RULES_FILES)
    """Further rules files of the project: names, paths or patterns."""
    memory: bool = True
    """Send the project's `MEMORY.md` and its two most similar earlier runs to models."""
    workflow: EveryWorkflowConfig = EveryWorkflowConfig.model_construct()
    workflows: dict[str, WorkflowConfig] = Field(default_factory=dict)
    ui: UiConfig = UiConfig.model_construct()
    editor: EditorConfig = EditorConfig.model_construct()
    limits: LimitsConfig = LimitsConfig.model_construct()
    history: HistoryConfig = HistoryConfig.model_construct()
    mcp: McpConfig = McpConfig.model_construct()
    snapshots: SnapshotsConfig = SnapshotsConfig.model_construct()
    state: StateConfig = StateConfig.model_construct()
    ci: CiConfig = CiConfig.model_construct()
    inbox: InboxConfig = InboxConfig.model_construct()
    land: LandConfig = LandConfig.model_construct()
    login: LoginConfig = LoginConfig.model_construct()
    telemetry: TelemetryConfig = TelemetryConfig.model_construct()
    fleet: FleetConfig = FleetConfig.model_construct()
    verify: VerifyConfig = VerifyConfig.model_construct()
    watch: WatchConfig = WatchConfig.model_construct()

    @model_validator(mode="after")
    def _check_adapter_names(self) -> Self:
        for name in self.adapters:
            if name == "local":
                raise ValueError("adapters.local: 'local' is the bundled model; choose another name")
            if ":" in name:
                raise ValueError(f"adapters: the name {name!r} has a colon, which stands for PROVIDER:MODEL")
        return self

    def adapter_for(self, workflow: str) -> str:
        """Return the name of a workflow's adapter."""
        own = self.workflows.get(workflow)
        return (own.adapter if own else None) or self.adapter
