"""Tools, resources and prompt of the transitions server: valid moves through one workflow machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import AfterValidator, Field

from tideate_core.machines.language import BOUNDARY, Workflow, write_definition
from tideate_core.mcp.servers.schemas import without_control_characters
from tideate_core.mcp.servers.tool_server import READ_ONLY, ToolServer
from tideate_core.mcp.servers.transitions.answers import Answer, PathShape, StatesShape
from tideate_core.mcp.servers.transitions.guide import Guide, Sessions

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from tideate_core.machines.language import Obfuscator

__all__ = ["transitions_server"]

MAX_NAME = 4_096
MAX_NOTE = 8_192

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
Call: TypeAlias = Context[Any, Any]
Answered: TypeAlias = Annotated[CallToolResult, Answer]
Name: TypeAlias = Annotated[str, Field(max_length=MAX_NAME)]
Note: TypeAlias = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(without_control_characters)]
Offset: TypeAlias = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]

MOVING = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)

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
    """Return a server for one machine.

    :param obfuscator: made for the workflow's definition; then the server knows the tokens only, and
        takes a plain name for the unknown one that any other wrong word is.
    :param walk: a move from where the client's walk does not stand is refused; else `transition` answers for
        the state that it is given.
    :param shared_position: all clients walk together, guarded so, and none begins anew before the end.
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
        notes = {
            "planner_operation": planner_operation,
            "validation_result": validation_result,
            "task_status": task_status,
            "user_response": user_response,
            "project_data": project_data,
        }
        said = {name: text for name, text in notes.items() if text}
        return guide.move(context, current_state, next_state, said).result()

    async def current_guidance(
        context: Call,
        state: Annotated[
            Name, Field(description="A state, or `*` for the beginning; left out: where you stand.")
        ] = "",
    ) -> Answered:
        return guide.describe_state(context, state).result()

    async def list_states(
        offset: Annotated[Offset, Field(description="How many states to skip: a page has 200.")] = 0,
    ) -> StatesShape:
        return guide.states(offset)

    async def path(context: Call) -> PathShape:
        return guide.path(context)

    server.add_tool(
        transition,
        title="Make a transition",
        description="Move from one state of the workflow to another. A success tells what to do in the new "
        "state (guidance) and which transitions are valid from it, each with the condition under which to "
        "take it (when). An error changes nothing and tells what is valid instead; to name another state "
        "than the one where you stand is an error, save `*`, which begins anew. The optional arguments "
        "are kept with the path (see the tool `path`); they do not decide whether a move is valid.",
        annotations=MOVING,
    )
    server.add_tool(
        current_guidance,
        title="Show the guidance of a state",
        description="Tell again what to do in a state and which transitions are valid from it, without "
        "moving. Use it when you have lost the thread.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        list_states,
        title="List the states",
        description="List the workflow's states in the order of its file, each with the states that may "
        "follow it.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        path,
        title="Show the path taken",
        description="List the moves made so far, with the notes that came with them, and the position.",
        annotations=READ_ONLY,
    )


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
