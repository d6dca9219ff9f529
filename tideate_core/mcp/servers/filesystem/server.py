"""Create the MCP filesystem server: its tools and resource, with descriptions and parameters."""

from __future__ import annotations

import asyncio
import base64
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
)
from pydantic import Field

from tideate_core.mcp.servers.filesystem import listing, reading, search
from tideate_core.mcp.servers.filesystem.schemas import (
    ChangeShape,
    Content,
    Cursor,
    DirectoriesShape,
    Edit,
    Exclude,
    FilesShape,
    InfoShape,
    Lines,
    ListShape,
    MatchesShape,
    MediaShape,
    Order,
    Path,
    Pattern,
    SizesShape,
    TextShape,
    TreeShape,
    Words,
    WordsShape,
)
from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
from tideate_core.mcp.servers.filesystem.walk import in_cancellable_thread
from tideate_core.mcp.servers.schemas import with_cursor
from tideate_core.mcp.servers.tool_server import (
    ADDING,
    EDITING,
    ENSURING,
    REPLACING,
    ToolAnswer,
    ToolServer,
)

if TYPE_CHECKING:
    import pathlib

    from mcp.server.mcpserver import MCPServer

    from tideate_core.mcp.servers.filesystem.changes import Changes

INSTRUCTIONS = """\
This server reads, searches and changes the files below one root. Paths are relative to the root. A long
answer comes in pages: pass its `nextCursor` as `cursor`. `.git` and `.tideate` are neither shown, read nor
changed. Files that usually hold secrets are not read; lines that seem to hold one are hidden. Links are
followed only where they stay inside the root. Each change is written down before it is made, and its answer
names the id with which `tideate rollback ID` rolls it back."""


def filesystem_server(root: pathlib.Path) -> MCPServer[Any]:
    """Create the MCP server for the files below a root.

    :param root: an existing absolute directory, without links.
    """
    served = ServedRoot(root)
    server = ToolServer(
        "tideate-filesystem",
        title="tideate: files",
        description="Reads, searches and changes the files below one root; each change can be rolled back.",
        instructions=INSTRUCTIONS,
    )
    _add_reading(server, served)
    _add_listing(server, served)
    _add_searching(server, served)
    _add_writing(server, served)
    return server


def _add_reading(server: ToolServer, served: ServedRoot) -> None:
    @server.add("Read a text")
    async def read_text_file(
        path: Path,
        head: Annotated[Lines, Field(description="Only so many lines from the beginning.")] = None,
        tail: Annotated[Lines, Field(description="Only so many lines at the end.")] = None,
        cursor: Cursor = "",
    ) -> ToolAnswer[TextShape]:
        """Read a file as UTF-8 text: all of it, its first lines (`head`) or its last (`tail`)."""
        if head is not None and tail is not None:
            raise ToolError("head and tail: give one of them")
        found = await asyncio.to_thread(reading.read_text, served, path, head=head, tail=tail, cursor=cursor)
        return found, with_cursor(found["content"], found["nextCursor"])

    @server.add("Read several texts")
    async def read_multiple_files(
        paths: Annotated[list[Path], Field(min_length=1, max_length=100)],
    ) -> ToolAnswer[FilesShape]:
        """Read several files at once.

        An unreadable file has an error in place of its content; a long one is cut to its beginning."""
        files = await asyncio.to_thread(reading.read_several, served, paths)
        texts = [f"{file['path']}:\n{_of_one(file)}" for file in files]
        return {"files": files}, "\n---\n".join(texts)

    @server.add("Read an image, a sound or other bytes")
    async def read_media_file(path: Path) -> Annotated[CallToolResult, MediaShape]:
        """Read a file as it is, up to 4 MiB: in base64, with its MIME type."""
        return _media(*await asyncio.to_thread(reading.read_media, served, path))


def _of_one(file: dict[str, Any]) -> str:
    if "error" in file:
        return f"error: {file['error']}"
    more = file["nextCursor"]
    return f"{file['content']}\n[there is more: read_text_file, cursor {more}]" if more else file["content"]


def _media(path: str, mime_type: str, read: bytes) -> CallToolResult:
    about = {"path": path, "mimeType": mime_type, "size": len(read)}
    text = TextContent(text=f"{path}: {mime_type}, {len(read)} bytes")
    data = base64.b64encode(read).decode()
    content: ImageContent | AudioContent | EmbeddedResource
    if mime_type.startswith("image/"):
        content = ImageContent(data=data, mime_type=mime_type)
    elif mime_type.startswith("audio/"):
        content = AudioContent(data=data, mime_type=mime_type)
    else:
        uri = f"file:///{quote(path)}"
        content = EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=mime_type, blob=data))
    return CallToolResult(content=[content, text], structured_content=about)


def _add_listing(server: ToolServer, served: ServedRoot) -> None:
    @server.add("List a directory")
    async def list_directory(path: Path = ".", cursor: Cursor = "") -> ToolAnswer[ListShape]:
        """List the entries of a directory, by name."""
        return await asyncio.to_thread(listing.list_directory, served, path, cursor)

    @server.add("List a directory with sizes")
    async def list_directory_with_sizes(
        path: Path = ".", sort_by: Order = "name", cursor: Cursor = ""
    ) -> ToolAnswer[SizesShape]:
        """List the entries of a directory with sizes, and the total."""
        return await asyncio.to_thread(listing.list_sizes, served, path, sort_by, cursor)

    @server.add("Tell about a file")
    async def get_file_info(path: Path) -> ToolAnswer[InfoShape]:
        """Show the type, size, times and permissions of a path."""
        found = listing.file_info(served, path)
        return found, "\n".join(f"{name}: {value}" for name, value in found.items())

    @server.add("Tell the root")
    async def list_allowed_directories() -> ToolAnswer[DirectoriesShape]:
        """Show the directory that is served."""
        return {"directories": [str(served.root)]}, str(served.root)


def _add_searching(server: ToolServer, served: ServedRoot) -> None:
    @server.add("Search for files by their paths")
    async def search_files(
        pattern: Pattern,
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006 the SDK copies it
        cursor: Cursor = "",
    ) -> ToolAnswer[MatchesShape]:
        """Search below a directory for files and directories with paths that match a glob.

        Links are found, not followed.
        """
        return await in_cancellable_thread(
            partial(search.search_paths, served, path, pattern, exclude_patterns, cursor)
        )

    @server.add("Show a tree")
    async def directory_tree(
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> ToolAnswer[TreeShape]:
        """Show all files and directories below a directory as a tree. Links are shown, not followed."""
        return await in_cancellable_thread(partial(search.tree, served, path, exclude_patterns, cursor))

    @server.add("Search in files")
    async def search_text(
        text: Words,
        path: Path = ".",
        pattern: Pattern = "**",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> ToolAnswer[WordsShape]:
        """Search below a directory for lines that hold a text, word for word.

        Only files with paths that match a glob are searched. Probable secrets, such as `.env`, and binary
        files are left out.
        """
        return await in_cancellable_thread(
            partial(search.search_text, served, text, path, pattern, exclude_patterns, cursor)
        )


def _add_writing(server: ToolServer, served: ServedRoot) -> None:
    @cache
    def changes() -> Changes:
        # reading tools do without its imports
        from tideate_core.mcp.servers.filesystem.changes import Changes

        return Changes(served)

    @server.add("Write a file", REPLACING)
    async def write_file(path: Path, content: Content) -> ToolAnswer[ChangeShape]:
        """Create a file with this content, or replace the whole content of an existing one.

        Missing directories are created. The content is written exactly as given.
        """
        return _change_answer(await changes().write(path, content))

    @server.add("Edit a text", EDITING)
    async def edit_file(
        path: Path,
        edits: Annotated[list[Edit], Field(min_length=1, max_length=500, description="Made in this order.")],
        dry_run: Annotated[bool, Field(strict=True, description="Only show the diff.")] = False,
    ) -> ToolAnswer[ChangeShape]:
        """Replace places of a text, all or none.

        Each place is found by what stands there, word for word, or else by whole lines that differ in blanks
        only; it has to be the only one. Answers with a diff; with `dry_run` nothing is written. Line ends
        stay as the file has them.
        """
        return _change_answer(await changes().edit(path, edits, dry_run=dry_run))

    @server.add("Make a directory", ENSURING)
    async def create_directory(path: Path) -> ToolAnswer[ChangeShape]:
        """Create a directory and its parents; an existing one stays unchanged."""
        return _change_answer(await changes().make_directory(path))

    @server.add("Move or rename", ADDING)
    async def move_file(source: Path, destination: Path) -> ToolAnswer[ChangeShape]:
        """Move a file, or a directory with all in it.

        Nothing is overwritten: the destination is the new path, and must not exist.
        """
        return _change_answer(await changes().move(source, destination))


def _change_answer(change: dict[str, Any]) -> ToolAnswer[ChangeShape]:
    lines = [f"{change['action']}: {change['path']}", *change.get("notes", ())]
    if change.get("diff"):
        lines.append(change["diff"])
    if change["rollback"]:
        lines.append(f"`tideate rollback {change['rollback']}` rolls it back")
    elif change["action"] != "unchanged":
        lines.append("nothing was written")
    return change, "\n".join(lines)
