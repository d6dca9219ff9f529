"""The table of commands; each is imported when it runs."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from cyclopts import App, Group, Parameter

from tideate_core import __version__
from tideate_core.app import STDIN
from tideate_core.cli.arguments import RUN_HELP
from tideate_core.cli.process import with_streams
from tideate_core.util.garbage import collect_garbage_rarely

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cyclopts import CycloptsError

__all__ = ["WITH_VALUE", "app", "main"]

COMMANDS_AT: Final = "tideate_core.cli.commands"


class Command(NamedTuple):
    """A command, as `tideate --help` lists it."""

    path: str
    """Module and name below `COMMANDS_AT`."""
    help: str
    usage: str | None = None


COMMANDS: Final[Mapping[str, Command]] = {
    "agents": Command("agents:app", "List agents, or copy a built-in one to change it."),
    "cancel": Command(
        "control:cancel",
        "Cancel a run.\n\nThe process that has it ends it; a run that no process has is ended here. "
        "Writes of completed steps stay; a task and the writes of an unfinished step are rolled back. "
        "Decisions of an open review stay, too: `tideate review RUN` opens it again.",
    ),
    "check": Command(
        "check:check",
        "Check workflow files; list all mistakes with their positions.\n\n"
        "Exit status 2 if one is an error; warnings are listed only.",
        "tideate check [OPTIONS] [FILE...]",
    ),
    "checkpoint": Command(
        "checkpoint:app", "List, create and restore checkpoints of runs: one after each completed step."
    ),
    "compare": Command(
        "compare:compare",
        "Run several models at one prompt, and take one answer, or hunks of several.\n\n"
        "Each model has a run of its own, which waits at its review until one is taken; nothing is written "
        "before. The others end as declined and stay in the history.",
        "tideate compare [OPTIONS] NAME [PROMPT...]",
    ),
    "context": Command("context:app", "List and show what @mentions add to a prompt."),
    "diff": Command(
        "diff:diff",
        "Compare two runs: inputs, steps, answers, edits, checks, tokens, cost and time.\n\n"
        "Of files that either wrote, what they held after it is compared; what a run reuses of another "
        "counts as its own.",
        "tideate diff [OPTIONS] RUN RUN",
    ),
    "doctor": Command("doctor:doctor", "Check the installation, the configuration and the model adapters."),
    "export": Command(
        "export:export",
        "Export runs as Markdown or JSON, with all that was said in them.\n\n"
        "Texts of models and tools are code blocks in Markdown. Lines that seem to hold secrets are left "
        "out.",
        "tideate export [OPTIONS] RUN...",
    ),
    "fork": Command(
        "fork:fork",
        "Run an ended run anew from a step on, with another prompt, other inputs or another model.\n\n"
        "As `retry`: a new run, and every result that does not depend on the step is reused.",
        "tideate fork [OPTIONS] RUN[.STEP] [PROMPT...]",
    ),
    "gates": Command("history:gates", "Show statistics of the gates of tasks: decisions and durations."),
    "graph": Command(
        "workflows:graph",
        "Draw a workflow's steps or states: as text, for Mermaid or Graphviz, or as SVG.",
        "tideate graph [OPTIONS] NAME|FILE",
    ),
    "history": Command(
        "history:history",
        "List the runs of the project, newest first: all, or those with some words.",
        "tideate history [OPTIONS] [TEXT...]",
    ),
    "list": Command("workflows:list_workflows", "List the workflows."),
    "login": Command(
        "login:login",
        "Log in to a provider of models; without one, list logins and keys.\n\n"
        "Providers with accounts show an address to open, all others ask for an API key. What is stored is "
        "readable by you only, in a file or in your keyring as `[login] store` says, and never shown.",
        "tideate login [OPTIONS] [PROVIDER]",
    ),
    "logout": Command("login:logout", "Delete the login or the key of a provider."),
    "machine": Command(
        "machine:app", "Check, draw, format and step through state machines (`.workflow` files)."
    ),
    "mcp": Command("mcp:app", "Serve tools over the Model Context Protocol, or call those of other servers."),
    "models": Command(
        "models:models",
        "List models that can be asked, with their windows and prices.\n\n"
        "Nobody is asked for them unless you name a provider or an adapter.",
        "tideate models [OPTIONS] [PROVIDER]",
    ),
    "pause": Command("control:pause", "Pause a run before its next step or turn."),
    "say": Command("control:say", "Tell a run's model something before its next turn."),
    "project": Command(
        "project:app", "List, move and forget projects' private state: runs, snapshots, trust."
    ),
    "resume": Command(
        "run:resume",
        "Resume a run that was interrupted or paused.\n\n"
        "Completed steps are not run again; answers already given are not asked for again. At a terminal, a "
        "line that you type is a message to the model, before its next turn.",
    ),
    "retry": Command(
        "fork:retry",
        "Run an ended run anew from a step on: by default from the first that failed.\n\n"
        "A new run; the old one stays as it is, and so does what it wrote. Every result that does not "
        "depend on the step is reused: nothing is asked or written again for it. If what a reused step "
        "wrote was rolled back, the retry is refused.",
        "tideate retry [OPTIONS] RUN[.STEP]",
    ),
    "review": Command(
        "review:review",
        "Review what something else wrote, hunk by hunk, and revert what you reject.\n\n"
        "What is accepted stays. Nothing is sent to a model. The changes of a patch file are made where you "
        "accept them. `tideate rollback` of the review brings back what it reverted.",
        "tideate review [OPTIONS] [COMMIT|SNAPSHOT|PATCH] [PATH]",
    ),
    "rollback": Command(
        "rollback:rollback",
        "Roll back what a run wrote; your other changes to the same files are kept.\n\n"
        "If you changed the same lines, nothing is rolled back and the files are listed. In a terminal, the "
        "changes are shown and confirmed first.",
    ),
    "run": Command("run:run", RUN_HELP, "tideate run [OPTIONS] NAME|FILE [PROMPT...]"),
    "schema": Command(
        "schema:schema",
        "Print the JSON Schema of workflows in YAML and JSON, or of a handoff file.",
        "tideate schema [OPTIONS] [NAME]",
    ),
    "show": Command("show:show", "Show a run: its steps, their results, and its owner."),
    "snapshot": Command("snapshot:app", "Create, compare and restore snapshots of the project's files."),
    "trust": Command(
        "trust:trust",
        "Trust a project's configuration, prompts, agents, workflows and commands as they are now.\n\n"
        "Shows what they would be able to run and what changed, and asks. A file that changes has to be "
        "trusted again. Without a terminal nothing is trusted unless --yes.",
    ),
}


def _usage_error(error: CycloptsError) -> object:
    """Return what is printed of wrong usage: for an unknown command, the nearest one."""
    # here: most commands are right
    from cyclopts import CycloptsPanel, UnknownCommandError

    from tideate_core.errors import nearest

    if not isinstance(error, UnknownCommandError) or not error.unused_tokens or error.app is None:
        return CycloptsPanel(error)
    known = [name for name in error.app if not name.startswith("-") and error.app[name].show]
    near = nearest(error.unused_tokens[0], known)
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
    "130 interrupted.",
    default_parameter=Parameter(negative=(), show_default=False),
    version=f"tideate {__version__}",
)
WITH_VALUE: Final = frozenset(
    [
        "--adapter",
        "--arguments",
        "--budget",
        "--client-id",
        "--continue",
        "--current",
        "--days",
        "--definition",
        "--file",
        "--format",
        "--input",
        "--keep",
        "--limit",
        "--models",
        "--name",
        "--output",
        "--port",
        "--prompt",
        "--resume",
        "--result",
        "--root",
        "--say",
        "--search",
        "--since",
        "--status",
        "--step",
        "--take",
        "--takeover-after",
        "--timeout",
        "--token-env",
        "--transport",
        "--turn",
        "--wait",
        "--workflow",
        "-i",
        "-o",
    ]
)
"""Options that take the next word, so that a `-` there is no FILE and no PROMPT."""
OTHER = Group("Other", sort_key=9)
app["--help"].group = app["--version"].group = (OTHER,)
app.register_install_completion_command(group=OTHER, help="Install shell completion for this shell.")
for _name, _command in COMMANDS.items():
    _usage = {"usage": _command.usage} if _command.usage else {}
    app.command(f"{COMMANDS_AT}.{_command.path}", name=_name, help=_command.help, **_usage)


@app.command
def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> int:
    """Print a completion script for a shell."""
    sys.stdout.write(app.generate_completion(shell=shell))
    return 0


def main() -> None:
    """Run the command line and exit with its status."""
    collect_garbage_rarely()
    try:
        with_streams(lambda: app(_tokens(sys.argv[1:])))
    finally:
        gc.freeze()


def _tokens(argv: list[str]) -> list[str]:
    end = argv.index("--") if "--" in argv else len(argv)
    return [
        STDIN if word == "-" and at < end and before not in WITH_VALUE else word
        for at, (before, word) in enumerate(zip(["", *argv], argv, strict=False))
    ]


if __name__ == "__main__":
    main()
