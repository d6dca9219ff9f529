"""Create the MCP transitions server: its tools, resources and prompt, with descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mcp_types import CallToolResult
from pydantic import AfterValidator, Field

from tideate_core.machines.language import BOUNDARY, Workflow, write_definition
from tideate_core.mcp.servers.schemas import without_control_characters
from tideate_core.mcp.servers.tool_server import ADDING, Call, ToolServer
from tideate_core.mcp.servers.transitions.answers import Answer, PathShape, StatesShape
from tideate_core.mcp.servers.transitions.guide import Guide, Sessions

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from tideate_core.machines.language import Obfuscator

MAX_NAME = 4_096
MAX_NOTE = 8_192

Answered: TypeAlias = Annotated[CallToolResult, Answer]
Name: TypeAlias = Annotated[str, Field(max_length=MAX_NAME)]
Note: TypeAlias = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(without_control_characters)]
Offset: TypeAlias = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]

INSTRUCTIONS = """\
This server holds the workflow {name!r}, a state machine that tells you what to do next.
Begin with `transition` from `*` to one of the first states (`current_guidance` with state `*` lists them).
Do what the answer's guidance says, then choose among its valid transitions by their `when`, and call
`transition` again. The walk is over when you move to `*`. A move that is not listed is refused."""

PROMPT = """\
Walk through the workflow {name!r} from its beginning to its end{task}

Call the tool `transition` with current_state "*" and next_state one of: {entry}.
After each move do what the answer's guidance says. Then choose the valid transition whose `when` fits what
happened, and call `transition` again. Stop when you have moved to "*"."""


def transitions_server(
    workflow: Workflow,
    *,
    obfuscator: Obfuscator | None = None,
    walk: bool = False,
    shared_position: bool = False,
) -> MCPServer[Any]:
    """Create the MCP server for one machine.

    :param obfuscator: replaces state names by tokens; the server then treats a plain name as unknown.
    :param walk: reject a move from a state other than the client's position; otherwise `transition` answers
        for the given state.
    :param shared_position: all clients share one position; implies `walk`, and nobody can restart early.
    """
    if obfuscator is not None:
        workflow = Workflow(obfuscator.definition())
    sessions, guarded = Sessions(shared=shared_position), walk or shared_position
    guide = Guide(workflow, sessions, quote=obfuscator is None, guarded=guarded)
    server = ToolServer(
        "tideate-transitions",
        title=f"tideate workflow: {workflow.name}",
        description="Walks a client through a state machine, one validated transition at a time.",
        instructions=INSTRUCTIONS.format(name=workflow.name),
    )
    _add_tools(server, guide)
    _add_resources(server, workflow)
    _add_prompt(server, workflow)
    return server


def _add_resources(server: ToolServer, workflow: Workflow) -> None:
    @server.resource(
        "tideate://workflow/diagram",
        title=f"{workflow.name} as a diagram",
        description="The whole machine as a Mermaid diagram.",
        mime_type="text/vnd.mermaid",
    )
    def diagram() -> str:
        from tideate_core.machines.language import draw

        return draw(workflow.definition, "mermaid")

    @server.resource(
        "tideate://workflow/definition",
        title=f"{workflow.name} as text",
        description="The whole machine in the `.workflow` language, with all guidance.",
        mime_type="text/plain",
    )
    def definition() -> str:
        return write_definition(workflow.definition)


def _add_tools(server: ToolServer, guide: Guide) -> None:
    @server.add("Make a transition", ADDING)
    async def transition(
        context: Call,
        current_state: Annotated[Name, Field(description="The state you are in; `*` to begin.")],
        next_state: Annotated[
            Name, Field(description="The state to go to: an `action` of the valid transitions; `*` to end.")
        ],
        planner_operation: Annotated[Note, Field(description="What you are doing, in a few words.")] = "",
        validation_result: Annotated[Note, Field(description="What a check of your work found.")] = "",
        task_status: Annotated[Note, Field(description="How the task at hand stands.")] = "",
        user_response: Annotated[Note, Field(description="What the user answered.")] = "",
        project_data: Annotated[
            Note, Field(description="Facts about the project, for example as JSON text.")
        ] = "",
    ) -> Answered:
        """Move from one state of the workflow to another.

        A success tells what to do in the new state (guidance) and which transitions are valid from it, each
        with the condition for taking it (when). An error changes nothing and lists the valid transitions.
        Naming another state than your position is an error, except `*`, which starts over. The optional
        arguments are kept with the path (see the tool `path`); they do not decide whether a move is valid.
        """
        notes = {
            "planner_operation": planner_operation,
            "validation_result": validation_result,
            "task_status": task_status,
            "user_response": user_response,
            "project_data": project_data,
        }
        said = {name: text for name, text in notes.items() if text}
        return guide.move(context, current_state, next_state, said).result()

    @server.add("Show the guidance of a state")
    async def current_guidance(
        context: Call,
        state: Annotated[
            Name, Field(description="A state, or `*` for the beginning; left out: where you stand.")
        ] = "",
    ) -> Answered:
        """Show the guidance of a state and its valid transitions, without moving.

        Use it to find out where you are.
        """
        return guide.describe_state(context, state).result()

    @server.add("List the states")
    async def list_states(
        offset: Annotated[Offset, Field(description="How many states to skip: a page has 200.")] = 0,
    ) -> StatesShape:
        """List the workflow's states in the order of its file, each with the states that may follow it."""
        return guide.states(offset)

    @server.add("Show the path taken")
    async def path(context: Call) -> PathShape:
        """List the completed moves with their notes, and the position."""
        return guide.path(context)


def _add_prompt(server: ToolServer, workflow: Workflow) -> None:
    async def walk(
        task: Annotated[Note, Field(description="What the walk is for.")] = "",
    ) -> str:
        entry = ", ".join(action.action for action in workflow.valid_actions(BOUNDARY))
        purpose = f", for this task:\n\n{task}" if task.strip() else "."
        return PROMPT.format(name=workflow.name, task=purpose, entry=entry)

    server.prompt(
        "walk", title="Walk the workflow", description="Have a model walk through the workflow to its end."
    )(walk)
