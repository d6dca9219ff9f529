"""A model that plays the five roles of a task, as the test says.

::

    model = Model(server)          # what it answers when nothing is said: all goes well
    model.says("auditor", rejected("too much at once"), approved())
    model.says("executor", edits({**CODE, "src/tally/lines.py": BROKEN}))
    model.asked("planner")         # how often it was
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.harness.model_rules import text_of
from tests.harness.tally import AFTER, ENTRY
from tideate_core.agents.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.harness.model_rules import Body
    from tests.harness.model_server import Gate, ModelServer

__all__ = [
    "CODE",
    "DOCUMENTS",
    "PLAN",
    "ROLES",
    "Answer",
    "Model",
    "Scripted",
    "approved",
    "conditional",
    "documenting",
    "edits",
    "plan",
    "rejected",
]

Answer = str | dict[str, Any]
Scripted = Answer | Callable[["Body"], Answer]

ROLES: Final = ("planner", "auditor", "executor", "documenter", "corrector")
DOCUMENTS: Final = {name: AFTER[name] for name in ("CHANGELOG.md", "CHECKLIST.md", "docs/usage.md")}
"""What the documenter writes."""
CODE: Final = {name: text for name, text in AFTER.items() if name not in DOCUMENTS}
"""What the executor writes."""


def plan(objective: str = "count the lines of a text", **changed: Any) -> dict[str, Any]:
    """Return a plan of the whole change."""
    steps = [
        {"type": "create", "description": "write count_lines", "files": ["src/tally/lines.py"]},
        {"type": "edit", "description": "let the package export it", "files": ["src/tally/__init__.py"]},
        {"type": "test", "description": "test count_lines", "files": ["tests/test_lines.py"]},
        {"type": "edit", "description": "let the script count lines, too", "files": ["tools/count.sh"]},
    ]
    whole = {"objective": objective, "steps": steps, "files": [*CODE, "docs/usage.md"]}
    return {**whole, "rollback_strategy": "delete the new files, put the others back", **changed}


PLAN: Final = plan()


def approved() -> dict[str, Any]:
    return {"approval": "approved", "issues": [], "auto_fixable": False, "fixes": []}


def rejected(what: str) -> dict[str, Any]:
    issue = {"severity": "error", "description": what, "step": 1, "fix": ""}
    return {"approval": "rejected", "issues": [issue], "auto_fixable": False, "fixes": []}


def conditional(*fixes: dict[str, Any], auto_fixable: bool = True) -> dict[str, Any]:
    """Return an audit that approves if these changes are made; each has step, type, description, files."""
    issue = {"severity": "warning", "description": "one thing first", "step": None, "fix": "see below"}
    return {
        "approval": "conditional",
        "issues": [issue],
        "auto_fixable": auto_fixable,
        "fixes": list(fixes),
    }


def edits(files: Mapping[str, str]) -> str:
    """Return an answer with the whole text of files, line ends as models write them."""
    texts = {name: text.replace("\r\n", "\n") for name, text in files.items()}
    return "\n".join(f"{name}\n````\n{text}````\n" for name, text in texts.items())


def documenting(answer: Mapping[str, Any] | None = None, page: str = AFTER["docs/usage.md"]) -> Scripted:
    """Return the entry and items as text, followed by the page.

    :param answer: what is other than in an answer that is right.
    """
    first = {"section": "Added", "entry": ENTRY, "items": [1], "documents": ["docs/usage.md"]}
    whole = {**first, **(answer or {})}
    return lambda body: whole if "response_format" in body else f"````markdown\n{page}````\n"


class Model:
    """Answers by role over a model server; the last answer of a role is given again and again."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._answers: dict[str, list[Scripted]] = {}
        self._asked: dict[str, list[str]] = {role: [] for role in ROLES}
        self._gates: dict[str, Gate] = {}
        for role in ROLES:
            server.answers(_words(role), self._answering(role), pieces=1)
        self.says("planner", PLAN)
        self.says("auditor", approved())
        self.says("executor", edits(CODE))
        self.says("documenter", documenting())

    def says(self, role: str, *answers: Scripted) -> None:
        """Let a role answer with these from now on, one after the other."""
        with self._lock:
            self._answers[role] = list(answers)

    def asked(self, role: str) -> int:
        """Return how often a role was asked."""
        return len(self._asked[role])

    def prompts(self, role: str) -> list[str]:
        """Return all that it was told, each time."""
        return list(self._asked[role])

    def leaves(self, role: str) -> None:
        """Stop answering as a role: the test gives the server's answers."""
        self.server.forgets(_words(role))

    def holds(self, role: str) -> Gate:
        """Let a role begin to answer and wait."""
        return self.server.holds(_words(role) + "\n", text=self._answering(role), before_first=True)

    def _answering(self, role: str) -> Callable[[Body], Answer]:
        given: dict[int, Answer] = {}

        def answer(body: Body) -> Answer:
            # the server asks for one request's answer several times
            if id(body) not in given:
                with self._lock:
                    self._asked[role].append(text_of(body))
                    left = self._answers[role]
                    chosen = left.pop(0) if len(left) > 1 else left[0]
                given[id(body)] = chosen(body) if callable(chosen) else chosen
            return given[id(body)]

        return answer


def _words(role: str) -> str:
    """Return the beginning of a role's instructions, which identifies it."""
    return Roles(None).get(role).instructions.strip().splitlines()[0]
