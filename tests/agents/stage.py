"""A step for the roles of a task: real files, real prompts, and a scripted model."""

from __future__ import annotations

from collections import Counter, deque
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, Self

from tideate_core.adapters import Prompt, Reply, Usage
from tideate_core.agents.roles import Roles
from tideate_core.agents.stage import TaskBrief
from tideate_core.engine.context.model import Outgoing
from tideate_core.errors import ConfigError
from tideate_core.workflows import MISSING, Decision, PromptLibrary, RunContext
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from tests.harness.buffers import Buffers
    from tideate_core.adapters import OfferedTool
    from tideate_core.agents.corrector import Corrected
    from tideate_core.agents.documenter import Documented
    from tideate_core.agents.executor import Executed
    from tideate_core.agents.roles import Role

__all__ = ["BRIEF", "StageStep", "block", "role", "texts"]

BRIEF = TaskBrief("add a function that doubles")


def role(name: str, root: Path | None = None) -> Role:
    return Roles(root).get(name)


def block(text: str, path: str = "", info: str = "python") -> str:
    """Return the text of a file as a model writes it."""
    return f"{path}\n```{info}\n{text}\n```\n"


def texts(done: Executed | Corrected | Documented) -> dict[str, str | None]:
    """Return the new texts by path."""
    return {change.path: change.after for change in done.changes}


class StepDouble:
    """The part of `StepContext` that needs no model: memory, notices, secrets."""

    def __init__(self, memory: dict[str, Any] | None = None) -> None:
        self.memory = {} if memory is None else memory
        self.notices: list[str] = []
        self.outgoing = Outgoing(())
        self._numbered = Counter[str]()

    def numbered(self, key: str) -> str:
        self._numbered[key] += 1
        return key if self._numbered[key] == 1 else f"{key}#{self._numbered[key]}"

    def recall(self, key: str) -> Any:
        return self.memory.get(key, MISSING)

    async def remember(self, key: str, value: Any) -> None:
        self.memory[key] = value

    def allow_secrets(self, text: str) -> None:
        self.outgoing.allow(text)

    def hide_secrets(self, value: Any) -> Any:
        return self.outgoing.hide_within(value)

    def notice(
        self, message: str, *, level: Literal["info", "warn"] = "info", unsaved: Sequence[str] = ()
    ) -> None:
        self.notices.append(message)


class StageStep(StepDouble):
    """The part of `StepContext` that roles use; `asked` records the prompts."""

    execution_id = "run-1"
    step = "stage"
    prompt = BRIEF.description
    definition = None
    editor: Any = None
    attempt = 1
    feedback = ""
    concurrency = 1
    revisions = 10
    mention_tokens = 1000
    rules_files: Sequence[str] | None = ()
    refuses_executed = False

    def __init__(
        self,
        root: Path,
        *answers: Any,
        attempts: int = 3,
        context_tokens: int | None = None,
        windows: Mapping[str, int | None] | None = None,
        demonstration: bool = False,
        inputs: Mapping[str, Any] | None = None,
        buffers: Buffers | None = None,
        usage: Usage | None = None,
        decisions: tuple[Decision, ...] = (),
    ) -> None:
        super().__init__()
        self._answers = deque(answers)
        self._usage = usage or Usage(10, 5)
        self._chosen: dict[str, Any] = {}
        self._decisions = deque(decisions)
        self.workspace = Workspace(root, buffers=buffers)
        self.attempts = attempts
        self.context_tokens = context_tokens
        self.memory_of: str | None = None
        self._windows = windows or {}
        self.demonstration = demonstration
        self.inputs: Mapping[str, Any] = inputs or {}
        self.options: Mapping[str, Any] = {}
        self.results: Mapping[str, Any] = {}
        self.context = RunContext()
        self.asked: list[Prompt] = []
        self.adapters: list[str | None] = []
        self.confirmed: list[tuple[str, str]] = []
        """Questions with their details."""

    @property
    def questions(self) -> list[str]:
        return [message for message, _ in self.confirmed]

    @property
    def unused(self) -> int:
        """Number of unused answers."""
        return len(self._answers)

    def writing_as(self, memo: str) -> Self:
        return self

    def measured_by(self, adapter: str | None) -> Self:
        view = copy(self)
        view.context_tokens = self._windows.get(adapter or "", self.context_tokens)
        return view

    def can_use_tools(self, adapter: str | None = None) -> bool:
        return False

    def agent(self, adapter: str | None = None) -> None:
        return None

    async def find_tools(self, names: Sequence[str], adapter: str | None = None) -> list[OfferedTool]:
        raise ConfigError(f"the adapter {adapter!r} cannot use tools ({', '.join(names)} are wanted)")

    async def ask(
        self,
        prompt: Prompt,
        *,
        schema: type[BaseModel] | None = None,
        quiet: bool = False,
        adapter: str | None = None,
    ) -> Reply:
        assert quiet or (schema is not None and schema.__name__ == "PlanAnswer")
        self.asked.append(prompt)
        self.adapters.append(adapter)
        assert self._answers, f"asked once too often: {prompt.user[-400:]}"
        answer = self._answers.popleft()
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        if schema is None:
            return Reply(answer, "model", usage=self._usage)
        parsed = schema.model_validate(answer)
        return Reply(parsed.model_dump_json(), "model", parsed, self._usage)

    def render(self, name: str, **values: Any) -> Prompt:
        return PromptLibrary().render(name, **values)

    async def confirm(self, kind: str, message: str, *, details: str = "", **_: Any) -> Decision:
        self.confirmed.append((message, details))
        return self._decisions.popleft()

    async def choose_for_run(self, key: str, digest: str, produce: Callable[[], Awaitable[Any]]) -> Any:
        if self._chosen.get(key, (None,))[0] != digest:
            self._chosen[key] = digest, await produce()
        return self._chosen[key][1]
