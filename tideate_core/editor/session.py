"""Dispatch of Lua's requests to their handlers: table of methods, tasks on the engine's thread."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.builtin import register_builtin
from tideate_core.editor import inputs, language
from tideate_core.editor.checkpoints import Checkpoints
from tideate_core.editor.commands_named import name_editor_commands, with_editor_commands
from tideate_core.editor.frontend import EditorBuffers, EditorFrontEnd, EditorQuestions, lua_handler
from tideate_core.editor.guard_requests import GuardRequests
from tideate_core.editor.inbox_requests import InboxRequests
from tideate_core.editor.model_requests import LoginRequests, ModelRequests
from tideate_core.editor.project_requests import MentionRequests, TrustRequests, describe_servers
from tideate_core.editor.projects import Projects
from tideate_core.editor.run_requests import InterruptedRunNotices, StoredRuns
from tideate_core.editor.run_views import RunViews
from tideate_core.editor.snapshots import Snapshots
from tideate_core.engine import RunRequest
from tideate_core.errors import InvalidDefinitionFile, InvalidInput, InvalidWorkflowFile, TideateError
from tideate_core.workflows import MachineWorkflow, WorkflowDefinition, WorkflowRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.workflows import Registration

    Method = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

log = logging.getLogger(__name__)

NO_PROMPT: Final = "…"
"""Placeholder for an empty prompt in a preview."""


class Session:
    """Table of the methods callable from Lua, with the tasks of open requests.

    A method returns its part of the answer; an error becomes the answer with `ok` false.

    :param start: the payload of `TideateStart`.
    :param post: queues a message for Lua.
    """

    def __init__(self, start: dict[str, Any], post: Callable[[dict[str, Any]], None]) -> None:
        self._post = post
        self._asker = EditorQuestions(post)
        self._registry = WorkflowRegistry()
        register_builtin(self._registry)
        self._registry.load_packages()
        front = EditorFrontEnd(
            self._asker,
            post,
            lambda run: self._projects.root_of(run),
            lambda run: self._projects.lanes_of(run),
            lambda run: self._projects.outermost_of(run),
        )
        self._projects = Projects(
            start.get("cwd") or ".",
            start.get("setup") or {},
            registry=self._registry,
            front=front,
            buffers=EditorBuffers(self._asker),
            notify=self._notify,
            opened=InterruptedRunNotices(post).look,
        )
        snapshots = Snapshots(self._projects)
        runs, views = StoredRuns(self._projects), RunViews(self._projects)
        checkpoints = Checkpoints(self._projects)
        mentions, models = MentionRequests(self._projects), ModelRequests(self._projects)
        logins, guard = LoginRequests(), GuardRequests(self._projects)
        inbox = InboxRequests(self._projects, front.recorded, self._notify)
        self._tasks: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._methods: dict[str, Method] = {
            "run": self._run,
            "compare": self._compare,
            "compare_resume": runs.resume_comparison,
            "preview": self._preview,
            "cancel": self._cancel,
            "leave_run": self._leave_run,
            "pause": self._pause,
            "resume": self._resume,
            "rollback": runs.rollback,
            "rollback_preview": runs.rollback_preview,
            "commit_plan": runs.commit_plan,
            "commit": runs.commit,
            "history": views.history,
            "show": views.show,
            "run_events": views.events,
            "run_said": views.said,
            "run_call": views.call,
            "chat": views.chat,
            "chats": views.chats,
            "to_resume": runs.to_resume,
            "review_again": runs.review_again,
            "to_review": runs.to_review,
            "check_review": front.check_review,
            "resume_run": runs.resume_run,
            "retry": runs.retry,
            "fork": runs.fork,
            "fork_plan": runs.fork_plan,
            "export": views.export,
            "diff": views.diff,
            "diff_texts": views.diff_texts,
            "cancel_stored": runs.cancel,
            "pause_stored": runs.pause,
            "say": runs.say,
            "run_path": runs.path,
            "guard_prepare": guard.prepare,
            "guard_resume": guard.resume,
            "guard_sessions": guard.list,
            "guard_show": guard.show,
            "guard_discard": guard.discard,
            "inbox": inbox.fetch,
            "inbox_remotes": inbox.remotes,
            "inbox_answering": inbox.answering,
            "inbox_show": inbox.show,
            "inbox_continue": inbox.continue_here,
            "checkpoint": checkpoints.create,
            "checkpoints": checkpoints.list,
            "checkpoint_state": checkpoints.show,
            "checkpoint_restore": checkpoints.restore,
            "inputs": self._inputs,
            "input_check": partial(inputs.check, self._projects),
            "list": self._list,
            "register": self._register,
            "ask": self._ask,
            "health": self._health,
            "trust": TrustRequests(self._projects).trust,
            "snapshots": snapshots.list,
            "snapshot_create": snapshots.create,
            "snapshot_diff": snapshots.diff,
            "snapshot_restore": snapshots.restore,
            "snapshot_delete": snapshots.delete,
            "tools": partial(describe_servers, self._projects),
            "models": models.list,
            "model_check": models.check,
            "load_model": models.load,
            "logins": logins.list,
            "login_start": logins.start,
            "login_finish": logins.finish,
            "login_key": logins.keep,
            "contexts": mentions.describe,
            "project_names": mentions.names,
            "review_names": self._review_names,
            "context_show": mentions.show,
            "machine_check": language.check,
            "machine_outline": language.outline,
            "machine_format": language.format_machine,
            "definition_check": partial(language.check_definition, self._projects),
            "graph": partial(language.graph, self._projects),
        }

    async def _review_names(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the branches, tags and snapshots of a folder's project."""
        # imported here: the host has to be ready before git and snapshots are loaded
        from tideate_core.app import review_names

        return {"names": await review_names(self._projects.workspace(params.get("folder")).root)}

    def announce(self) -> None:
        """Send Lua the configuration, or the error in it, and the notices about packages."""
        try:
            loaded = self._projects.load()
        except TideateError as error:
            words = name_editor_commands(str(error))
            self._post({"type": "broken", "error": words, "error_code": error.code})
            return
        config = {"ui": loaded.config.ui.model_dump(), "adapter": loaded.config.adapter}
        self._post({"type": "configured", "config": config})
        if self._registry.notices:
            self._notify(self._registry.notices)

    def _notify(self, notices: list[str]) -> None:
        self._post({"type": "notices", "notices": [name_editor_commands(notice) for notice in notices]})

    def take(self, message: dict[str, Any]) -> None:
        """Start the task of a request; return at once."""
        method, params, key = message["method"], message.get("params") or {}, str(message["id"])
        if method == "answer":
            self._asker.answer(params)
        elif method == "cancel_ask":
            if task := self._tasks.get(str(params["id"])):
                task.cancel()
        else:
            task = asyncio.create_task(self._call(method, params), name=f"{method} {key}")
            self._tasks[key] = task
            # a callback, as a task cancelled before its first step runs no `finally`
            task.add_done_callback(partial(self._reply, key))

    async def leave(self) -> None:
        """Cancel all requests and wait until the store has the ends of their runs.

        A run with an open question stays as it is and can be resumed.
        """
        for run in self._asker.waiting_runs:
            self._projects.runner_of(run).leave(run)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._projects.aclose()

    def _reply(self, key: str, task: asyncio.Task[dict[str, Any]]) -> None:
        del self._tasks[key]
        self._post({"type": "reply", "id": key, "result": with_editor_commands(_result(task))})

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method not in self._methods:
            raise InvalidInput(f"the host knows no request {method!r}; restart Neovim after an update")
        return {"ok": True, **await self._methods[method](params)}

    async def _run(self, params: dict[str, Any]) -> dict[str, Any]:
        return (await self._projects.run(_run_request(params))).as_json()

    async def _compare(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run one request with each of the models `adapters`."""
        adapters = [str(name) for name in params.pop("adapters", ())]
        return (await self._projects.compare(_run_request(params), adapters)).as_json()

    async def _preview(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the first prompt of a run, with a placeholder for an empty prompt."""
        request = _run_request({**params, "prompt": params.get("prompt") or NO_PROMPT})
        return {"preview": (await self._projects.preview(request)).as_json()}

    async def _cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        execution_id = params.get("execution_id")
        if execution_id:
            self._projects.runner_of(execution_id).cancel(execution_id)
            return {"cancelled": [execution_id]}
        return {"cancelled": [i for runner in self._projects.runners for i in runner.cancel()]}

    async def _leave_run(self, params: dict[str, Any]) -> dict[str, Any]:
        execution_id = str(params["execution_id"])
        runner = self._projects.runner_of(execution_id)
        left = runner.leave(execution_id)
        await runner.wait_until_over(left)
        return {"left": left}

    async def _pause(self, params: dict[str, Any]) -> dict[str, Any]:
        self._projects.runner_of(params["execution_id"]).pause(params["execution_id"])
        return {}

    async def _resume(self, params: dict[str, Any]) -> dict[str, Any]:
        self._projects.runner_of(params["execution_id"]).resume(params["execution_id"])
        return {}

    async def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        catalog = self._projects.catalog(params.get("folder"))
        return {"workflows": [_listed(known) for known in catalog.list()], "notices": catalog.notices}

    async def _inputs(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs of a planned run; record a refused run if the workflow's file is broken."""
        try:
            return await inputs.look(self._projects, params)
        except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
            request = RunRequest(name=str(params["name"]), prompt=str(params.get("words") or ""))
            runner = self._projects.runner(params.get("folder"))
            await runner.record_refused(request, error)
            raise

    async def _register(self, params: dict[str, Any]) -> dict[str, Any]:
        name = str(params["name"])
        rest: dict[str, Any] = {"description": params.get("description") or ""}
        if params.get("require_confirmation") is not None:
            rest["require_confirmation"] = params["require_confirmation"]
        definition = WorkflowDefinition.chain(name, list(params.get("steps") or []), **rest)
        handlers = {step: lua_handler(self._asker, name, step) for step in params.get("handlers") or []}
        self._registry.register(definition, handlers, source="editor")
        return {}

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any]:
        execution_id = params["execution_id"]
        reply = await self._projects.runner_of(execution_id).ask(
            execution_id, params["step"], params["prompt"], params.get("system") or ""
        )
        usage = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
        return {"text": reply.text, "model": reply.model, "usage": usage}

    async def _health(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"checks": await self._projects.health()}


def _run_request(params: dict[str, Any]) -> RunRequest:
    try:
        return RunRequest.model_validate({k: v for k, v in params.items() if v is not None})
    except ValidationError as error:
        words = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise InvalidInput(f"the run cannot start: {words}") from error


def _listed(known: Registration) -> dict[str, Any]:
    definition = known.definition
    shape: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "steps": list(definition.step_names),
        "source": known.source,
        "kind": known.kind,
        "inputs": inputs.described(definition),
    }
    if isinstance(definition, MachineWorkflow):
        shape |= {"steps": [], "states": list(definition.step_names)}
    return shape


def _result(task: asyncio.Task[dict[str, Any]]) -> dict[str, Any]:
    if task.cancelled():
        return {"ok": False, "cancelled": True}
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, TideateError):
        return {"ok": False, "error": str(error), "error_code": error.code}
    log.error("%s failed", task.get_name(), exc_info=error)
    return {"ok": False, "error": f"{type(error).__name__}: {error}", "error_code": type(error).__name__}
