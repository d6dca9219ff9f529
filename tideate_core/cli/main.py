"""Command table of `tideate`; a command's module is imported when it runs."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from cyclopts import App, Group, Parameter

from tideate_core import __version__
from tideate_core.app import GUARD_COMMANDS, STDIN
from tideate_core.cli.arguments import RUN_HELP
from tideate_core.cli.process import with_streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cyclopts import CycloptsError

COMMANDS_AT: Final = "tideate_core.cli.commands"


class Command(NamedTuple):
    """Entry of the command table."""

    path: str
    """`MODULE:NAME` below `COMMANDS_AT`."""
    help: str
    usage: str | None = None


COMMANDS: Final[Mapping[str, Command]] = {
    "agents": Command("agents:app", "List agents, or copy a built-in one to change it."),
    "bundle": Command("bundle:app", "Put a run into a file, and open it on another machine."),
    "cancel": Command(
        "control:cancel",
        "Cancel a run.\n\nThe run's own process cancels it. If that process is dead, this command "
        "cancels the run. Changes of completed steps stay; changes of a task or an unfinished step are "
        "rolled back. "
        "Decisions of an open review stay, too: `tideate review RUN` reopens it.",
    ),
    "chat": Command(
        "chat:chat",
        "Talk to a model at the terminal, and review the edits that it proposes.\n\n"
        "Each message is a run that continues the previous one. Ctrl-D ends the chat, and Ctrl-C cancels a "
        "turn. Without a terminal, stdin is one message.",
        "tideate chat [OPTIONS] [RUN|last|new]",
    ),
    "check": Command(
        "check:check",
        "Check workflow files; list all mistakes with their positions.\n\n"
        "Exit status 2 for errors; warnings are only listed.",
        "tideate check [OPTIONS] [FILE...]",
    ),
    "checkpoint": Command(
        "checkpoint:app", "List, create and restore checkpoints of runs: one after each completed step."
    ),
    "commit": Command(
        "commit:commit",
        "Commit only the changes of a run, by default the last run with changes.\n\n"
        "Your editor opens the message. Your own changes stay uncommitted, or staged as they were. If "
        "tideate cannot separate the changes, it commits nothing. git uses your identity and signing; hooks "
        "of the repository run only if you trust them.",
        "tideate commit [OPTIONS] [RUN]",
    ),
    "compare": Command(
        "compare:compare",
        "Run several models at one prompt, and take one answer, or hunks of several.\n\n"
        "Each model has its own run. All runs wait at their review until you take one answer; nothing is "
        "written before. The other runs end as declined and stay in the history.",
        "tideate compare [OPTIONS] NAME [PROMPT...]",
    ),
    "completion": Command("completion:completion", "Print a completion script for a shell."),
    "context": Command("context:app", "List mentions, and show the text that they add to a prompt."),
    "diff": Command(
        "diff:diff",
        "Compare two runs: inputs, steps, answers, edits, checks, tokens, cost and time.\n\n"
        "Files are compared as each run left them. A reused result counts as the run's own.",
        "tideate diff [OPTIONS] RUN RUN",
    ),
    "doctor": Command("doctor:doctor", "Check the installation, the configuration and the model adapters."),
    "export": Command(
        "export:export",
        "Export runs as Markdown or JSON, with their conversations.\n\n"
        "Markdown exports show the text of models and tools in code blocks. Likely secrets are left out.",
        "tideate export [OPTIONS] RUN...",
    ),
    "fleet": Command(
        "fleet:app", "List, show, cancel, retry and prune runs of a fleet; release the runs of a dead worker."
    ),
    "fork": Command(
        "fork:fork",
        "Rerun an ended run from a step, with another prompt, other inputs or another model.\n\n"
        "As with `retry`, this starts a new run and reuses every result that does not depend on the step.",
        "tideate fork [OPTIONS] RUN[.STEP] [PROMPT...]",
    ),
    "gates": Command("history:gates", "Show statistics of the gates of tasks: decisions and durations."),
    "graph": Command(
        "workflows:graph",
        "Draw a workflow's steps or states: as text, for Mermaid, or as SVG.",
        "tideate graph [OPTIONS] NAME|FILE",
    ),
    "guard": Command(
        "guard:app",
        "Run a program, such as an AI agent, in a private copy; review its changes before they land.\n\n"
        "The program runs in this terminal and sees the copy at the project's own path. At its end, or with "
        "`tideate guard land` while it runs, you review its changes hunk by hunk; your own edits of the same "
        "files are merged. The exit status is the program's, or 3 if you decline its changes or some are "
        "left. Without a terminal, the changes wait unless --yes or --no. `tideate guard -- list` guards a "
        "program that has the name of a subcommand.",
    ),
    "history": Command(
        "history:history",
        "List the runs of the project, newest first, or search them.",
        "tideate history [OPTIONS] [TEXT...]",
    ),
    "list": Command("workflows:list_workflows", "List the workflows."),
    "login": Command(
        "login:login",
        "Log in to a model provider; without an argument, list logins and keys.\n\n"
        "Providers with accounts show an address to open; all others ask for an API key. Logins and keys are "
        "stored in a private file or your keyring, as set in `[login] store`, and never shown.",
        "tideate login [OPTIONS] [PROVIDER]",
    ),
    "logout": Command("login:logout", "Delete the login or the key of a provider."),
    "inbox": Command(
        "inbox:app",
        "List and answer questions of runs that wait in a git remote; publish and prune runs.",
    ),
    "machine": Command(
        "machine:app", "Check, draw, format and step through state machines (`.workflow` files)."
    ),
    "mcp": Command("mcp:app", "Serve tools over the Model Context Protocol, or call tools of other servers."),
    "models": Command(
        "models:models",
        "List available models with their context windows and prices.\n\n"
        "No request is sent unless you name a provider or an adapter.",
        "tideate models [OPTIONS] [PROVIDER]",
    ),
    "pause": Command("control:pause", "Pause a run before its next step or turn."),
    "say": Command("control:say", "Send a message to a run's model before its next turn."),
    "project": Command(
        "project:app", "List, move and forget projects' private state: runs, snapshots, trust."
    ),
    "resume": Command(
        "run:resume",
        "Resume a run that was interrupted or paused.\n\n"
        "Completed steps do not run again, and answered questions are not asked again. At a terminal, each "
        "line that you type is a message to the model before its next turn.",
    ),
    "retry": Command(
        "fork:retry",
        "Rerun an ended run from a step, by default from the first that failed.\n\n"
        "This starts a new run; the old run and its changes stay. Every result that does not depend on the "
        "step is reused, without new questions or changes. If the changes of a reused step were rolled back, "
        "the retry is refused.",
        "tideate retry [OPTIONS] RUN[.STEP]",
    ),
    "review": Command(
        "review:review",
        "Review changes of another tool hunk by hunk, and revert the hunks that you reject.\n\n"
        "Accepted hunks stay. Nothing is sent to a model. Changes of a patch file are applied when you "
        "accept them. `tideate rollback` restores the hunks that the review reverted.",
        "tideate review [OPTIONS] [COMMIT|SNAPSHOT|PATCH] [PATH]",
    ),
    "rollback": Command(
        "rollback:rollback",
        "Roll back the changes of a run; your other changes to the same files stay.\n\n"
        "If you changed the same lines, nothing is rolled back and the files are listed. In a terminal, the "
        "changes are shown and confirmed first.",
    ),
    "run": Command("run:run", RUN_HELP, "tideate run [OPTIONS] NAME|FILE [PROMPT...]"),
    "schedule": Command(
        "schedule:app", "Create, list, pause, resume and delete schedules of runs in a fleet."
    ),
    "schema": Command(
        "schema:schema",
        "Print the JSON Schema of workflows in YAML and JSON, or of a handoff file.",
        "tideate schema [OPTIONS] [NAME]",
    ),
    "show": Command("show:show", "Show a run: its steps, their results, and its owner."),
    "snapshot": Command("snapshot:app", "Create, compare and restore snapshots of the project's files."),
    "submit": Command(
        "submit:submit",
        "Submit a run to a fleet, or one for each line of a file.\n\n"
        "Your SSH key signs the submission, and workers accept only the keys in their `[fleet] allow`. The "
        "run begins with the current commit of REF. Its questions appear in the inbox of the repository, "
        "and accepted changes are pushed as the branch `tideate/RUN`.",
        "tideate submit [OPTIONS] WORKFLOW [PROMPT...] --repo URL",
    ),
    "trust": Command(
        "trust:trust",
        "Trust a project's configuration, prompts, agents, workflows and commands as they are now.\n\n"
        "Shows what they can run and what changed, then asks. A changed file must be trusted again. Without "
        "a terminal, nothing is trusted unless --yes.",
    ),
    "watch": Command(
        "watch:watch",
        "Create a snapshot whenever the project's files settle after a change, until Ctrl-C.\n\n"
        "`tideate snapshot restore` then restores files that another program changed or deleted, including "
        "untracked and ignored files. `[watch]` limits the number and the size of these snapshots.",
    ),
    "worker": Command(
        "worker:worker",
        "Execute the runs of a fleet, until Ctrl-C.\n\n"
        "All workers of a fleet share a PostgreSQL database: `[fleet] database` in your configuration. A "
        "worker that was killed continues its runs after you start it again under the same name. `tideate "
        "fleet release NAME` gives its runs to other workers.",
    ),
}


def _usage_error(error: CycloptsError) -> object:
    """Format a usage error; for an unknown command, suggest the nearest command or workflow."""
    # here, because most command lines are valid
    from cyclopts import CycloptsPanel, UnknownCommandError

    from tideate_core.app import build_catalog
    from tideate_core.errors import nearest

    if not isinstance(error, UnknownCommandError) or not error.unused_tokens or error.app is None:
        return CycloptsPanel(error)
    known = [name for name in error.app if not name.startswith("-") and error.app[name].show]
    workflows = build_catalog(None).names() if error.app is app else []
    near = nearest(error.unused_tokens[0], [*known, *workflows])  # of equally near names the first
    if near not in (None, *known):
        near = f"tideate run {near}"
    hint = f' Did you mean "{near}"?' if near else ""
    return CycloptsPanel(
        f'Unknown command "{error.unused_tokens[0]}".{hint} Available commands: {", ".join(known)}.'
    )


app = App(
    name="tideate",
    error_formatter=_usage_error,
    help="AI workflows that people can trust with their code.",
    help_format="plaintext",
    help_epilogue="Exit status: 0 done, 1 failed, 2 wrong usage or an invalid file, 3 declined or cancelled, "
    "4 left at a question, 130 interrupted.",
    default_parameter=Parameter(negative=(), show_default=False),
    version=f"tideate {__version__}",
)
WITH_VALUE: Final = frozenset(
    [
        "--adapter",
        "--agent",
        "--agents",
        "--arguments",
        "--at-gate",
        "--budget",
        "--client-id",
        "--concurrency",
        "--continue",
        "--current",
        "--days",
        "--definition",
        "--drain",
        "--each",
        "--format",
        "--from",
        "--input",
        "--keep",
        "--key",
        "--land",
        "--limit",
        "--message",
        "--models",
        "--name",
        "--offset",
        "--older-than",
        "--output",
        "--port",
        "--priority",
        "--prompt",
        "--queue",
        "--ref",
        "--repo",
        "--result",
        "--resume",
        "--root",
        "--say",
        "--search",
        "--since",
        "--state",
        "--status",
        "--step",
        "--take",
        "--takeover-after",
        "--timeout",
        "--token-env",
        "--transport",
        "--turn",
        "--wait",
        "--worktree",
        "--workflow",
        "--zone",
        "-i",
        "-m",
        "-o",
    ]
)
"""Options with a value: a `-` after one is not a FILE or PROMPT."""
OTHER = Group("Other", sort_key=9)
app["--help"].group = app["--version"].group = (OTHER,)
app.command(
    f"{COMMANDS_AT}.completion:install",
    name="--install-completion",
    group=OTHER,
    help="Install shell completion for this shell.",
)
for _name, _command in COMMANDS.items():
    _usage = {"usage": _command.usage} if _command.usage else {}
    app.command(f"{COMMANDS_AT}.{_command.path}", name=_name, help=_command.help, **_usage)


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        with_streams(lambda: app(_tokens(end_options(sys.argv[1:]))))
    finally:
        gc.freeze()


def end_options(words: list[str]) -> list[str]:
    """Insert `--` before the program of `tideate guard`, so that its options stay the program's.

    :param words: the arguments of `tideate`.
    """
    if words[:1] != ["guard"]:
        return words
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in ("--agent", "--root") else 1
    if words[at : at + 1] == ["resume"] and "--" in words:
        end = words.index("--")
        named = [
            word
            for before, word in zip(words[at:end], words[at + 1 : end], strict=False)
            if before != "--root" and not word.startswith("-")
        ]
        return words if named else [*words[:end], "", *words[end:]]
    if at >= len(words) or words[at] in ("--", *GUARD_COMMANDS):
        return words
    return [*words[:at], "--", *words[at:]]


def _tokens(argv: list[str]) -> list[str]:
    end = argv.index("--") if "--" in argv else len(argv)
    return [
        STDIN if word == "-" and at < end and before not in WITH_VALUE else word
        for at, (before, word) in enumerate(zip(["", *argv], argv, strict=False))
    ]


if __name__ == "__main__":
    main()
