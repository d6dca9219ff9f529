"""Tools of the filesystem server that read: files, media, listings, searches."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
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
    Cursor,
    DirectoriesShape,
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
from tideate_core.mcp.servers.filesystem.write_tools import add_write_tools
from tideate_core.mcp.servers.schemas import tool_result, with_cursor
from tideate_core.mcp.servers.tool_server import READ_ONLY, ToolServer

if TYPE_CHECKING:
    import pathlib

    from mcp.server.mcpserver import MCPServer

__all__ = ["filesystem_server"]

LARGE = 1 << 17
"""Bytes of a directory's own; a smaller one is listed quicker than a thread is asked to."""

INSTRUCTIONS = """\
This server reads, searches and changes the files below one root. Paths are relative to the root. A long
answer comes in pages: pass its `nextCursor` as `cursor`. `.git` and `.tideate` are neither shown, read nor
changed. Files that usually hold secrets are not read; lines that seem to hold one are hidden. Links are
followed only where they stay inside the root. Each change is written down before it is made, and its answer
names the id with which `tideate rollback ID` rolls it back."""

# The SDK evaluates the annotations of a tool's function, so what they name has to exist at run time.
TextAnswer: TypeAlias = Annotated[CallToolResult, TextShape]
MediaAnswer: TypeAlias = Annotated[CallToolResult, MediaShape]
FilesAnswer: TypeAlias = Annotated[CallToolResult, FilesShape]
ListAnswer: TypeAlias = Annotated[CallToolResult, ListShape]
SizesAnswer: TypeAlias = Annotated[CallToolResult, SizesShape]
TreeAnswer: TypeAlias = Annotated[CallToolResult, TreeShape]
WordsAnswer: TypeAlias = Annotated[CallToolResult, WordsShape]
MatchesAnswer: TypeAlias = Annotated[CallToolResult, MatchesShape]
InfoAnswer: TypeAlias = Annotated[CallToolResult, InfoShape]
DirectoriesAnswer: TypeAlias = Annotated[CallToolResult, DirectoriesShape]


def filesystem_server(root: pathlib.Path) -> MCPServer[Any]:
    """Return a server for the files below a root.

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
    _add_media(server, served)
    _add_listing(server, served)
    _add_information(server, served)
    _add_searching(server, served)
    _add_text_search(server, served)
    add_write_tools(server, served)
    _add_resources(server, served)
    return server


def _add_reading(server: ToolServer, served: ServedRoot) -> None:
    async def read_text_file(
        path: Path,
        head: Annotated[Lines, Field(description="Only so many lines from the beginning.")] = None,
        tail: Annotated[Lines, Field(description="Only so many lines at the end.")] = None,
        cursor: Cursor = "",
    ) -> TextAnswer:
        if head is not None and tail is not None:
            raise ToolError("head and tail: give one of them")
        # a page is read quicker than a thread is asked to; the end of a file may take a search
        work = partial(reading.read_text, served, path, head=head, tail=tail, cursor=cursor)
        found = (
            work()
            if tail is None and served.status(path)[0].st_size <= LARGE
            else await asyncio.to_thread(work)
        )
        return tool_result(found, with_cursor(found["content"], found["nextCursor"]))

    async def read_multiple_files(
        paths: Annotated[list[Path], Field(min_length=1, max_length=100)],
    ) -> FilesAnswer:
        files = await asyncio.to_thread(reading.read_several, served, paths)
        texts = [f"{file['path']}:\n{_of_one(file)}" for file in files]
        return tool_result({"files": files}, "\n---\n".join(texts))

    server.add_tool(
        read_text_file,
        title="Read a text",
        description="Read a file as UTF-8 text: all of it, its first lines (`head`) or its last (`tail`).",
        annotations=READ_ONLY,
    )
    server.add_tool(
        read_multiple_files,
        title="Read several texts",
        description="Read several files at once. One that cannot be read has an error in place of its "
        "content; of long ones the beginnings come.",
        annotations=READ_ONLY,
    )


def _add_media(server: ToolServer, served: ServedRoot) -> None:
    async def read_media_file(path: Path) -> MediaAnswer:
        return _media(await asyncio.to_thread(reading.read_media, served, path))

    server.add_tool(
        read_media_file,
        title="Read an image, a sound or other bytes",
        description="Read a file as it is, up to 4 MiB: in base64, with its MIME type.",
        annotations=READ_ONLY,
    )


def _of_one(file: dict[str, Any]) -> str:
    if "error" in file:
        return f"error: {file['error']}"
    more = file["nextCursor"]
    return f"{file['content']}\n[there is more: read_text_file, cursor {more}]" if more else file["content"]


def _media(media: reading.Media) -> CallToolResult:
    about = {"path": media.path, "mimeType": media.mime_type, "size": media.size}
    text = TextContent(text=f"{media.path}: {media.mime_type}, {media.size} bytes")
    content: ImageContent | AudioContent | EmbeddedResource
    if media.mime_type.startswith("image/"):
        content = ImageContent(data=media.data, mime_type=media.mime_type)
    elif media.mime_type.startswith("audio/"):
        content = AudioContent(data=media.data, mime_type=media.mime_type)
    else:
        content = EmbeddedResource(
            resource=BlobResourceContents(
                uri=f"file:///{quote(media.path)}", mime_type=media.mime_type, blob=media.data
            )
        )
    return CallToolResult(content=[content, text], structured_content=about)


def _add_listing(server: ToolServer, served: ServedRoot) -> None:
    async def list_directory(path: Path = ".", cursor: Cursor = "") -> ListAnswer:
        descriptor, _ = served.open_directory(path)
        work = partial(listing.list_directory, descriptor, path, cursor)
        found, text = work() if os.fstat(descriptor).st_size < LARGE else await asyncio.to_thread(work)
        return tool_result(found, with_cursor(text, found["nextCursor"]))

    async def list_directory_with_sizes(
        path: Path = ".", sort_by: Order = "name", cursor: Cursor = ""
    ) -> SizesAnswer:
        found, text = await asyncio.to_thread(listing.list_sizes, served, path, sort_by, cursor)
        return tool_result(found, with_cursor(text, found["nextCursor"]))

    server.add_tool(
        list_directory,
        title="List a directory",
        description="List what stands in a directory, by name.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        list_directory_with_sizes,
        title="List a directory with sizes",
        description="List what stands in a directory, with sizes and their sum.",
        annotations=READ_ONLY,
    )


def _add_information(server: ToolServer, served: ServedRoot) -> None:
    async def get_file_info(path: Path) -> InfoAnswer:
        found = listing.file_info(served, path)
        return tool_result(found, "\n".join(f"{name}: {value}" for name, value in found.items()))

    async def list_allowed_directories() -> DirectoriesAnswer:
        return tool_result({"directories": [str(served.root)]}, str(served.root))

    server.add_tool(
        get_file_info,
        title="Tell about a file",
        description="Tell what a path is, its size, times and permissions.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        list_allowed_directories,
        title="Tell the root",
        description="Tell which directory is served.",
        annotations=READ_ONLY,
    )


def _add_searching(server: ToolServer, served: ServedRoot) -> None:
    async def search_files(
        pattern: Pattern,
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006 the SDK copies it
        cursor: Cursor = "",
    ) -> MatchesAnswer:
        return tool_result(
            *await in_cancellable_thread(
                partial(search.search_paths, served, path, pattern, exclude_patterns, cursor)
            )
        )

    async def directory_tree(
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> TreeAnswer:
        return tool_result(
            *await in_cancellable_thread(partial(search.tree, served, path, exclude_patterns, cursor))
        )

    server.add_tool(
        search_files,
        title="Search for files by their paths",
        description="Search below a directory for files and directories whose paths fit a glob. Links are "
        "found, not followed.",
        annotations=READ_ONLY,
    )
    server.add_tool(
        directory_tree,
        title="Show a tree",
        description="Show all files and directories below a directory as a tree. Links are shown, not "
        "followed.",
        annotations=READ_ONLY,
    )


def _add_text_search(server: ToolServer, served: ServedRoot) -> None:
    async def search_text(
        text: Words,
        path: Path = ".",
        pattern: Pattern = "**",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> WordsAnswer:
        query = search.TextQuery(text, path, pattern, tuple(exclude_patterns))
        return tool_result(*await in_cancellable_thread(partial(search.search_text, served, query, cursor)))

    server.add_tool(
        search_text,
        title="Search in files",
        description="Search below a directory for lines that hold a text, word for word, in files whose "
        "paths fit a glob. Files that usually hold secrets, as `.env`, are left out, and so are binary ones.",
        annotations=READ_ONLY,
    )


def _add_resources(server: ToolServer, served: ServedRoot) -> None:
    @server.resource(
        "file:///{+path}",
        title="A file",
        description="A text below the root, by its path relative to it; the first 40,000 bytes.",
        mime_type="text/plain",
    )
    async def file(path: Path) -> str:
        try:
            return str(reading.read_text(served, path)["content"])
        except ToolError as error:
            raise ResourceNotFoundError(str(error)) from error
