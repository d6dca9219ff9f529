"""The filesystem server: its tools that read."""

# ruff: noqa: TC001 - the SDK reads the annotations of a tool's function

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
    ToolAnnotations,
)
from pydantic import Field

from tideate_core import __version__
from tideate_core.mcp.careful import CarefulServer
from tideate_core.mcp.servers.filesystem import listing, reading, searching
from tideate_core.mcp.servers.filesystem.arguments import Cursor, Exclude, Lines, Order, Path, Pattern, Words
from tideate_core.mcp.servers.filesystem.changing_tools import add_changing_tools
from tideate_core.mcp.servers.filesystem.ground import Ground
from tideate_core.mcp.servers.filesystem.shapes import (
    DirectoriesShape,
    FilesShape,
    InfoShape,
    ListShape,
    MatchesShape,
    MediaShape,
    SizesShape,
    TextShape,
    TreeShape,
    WordsShape,
    answer,
    with_cursor,
)
from tideate_core.mcp.servers.filesystem.walking import in_thread

if TYPE_CHECKING:
    import pathlib

    from mcp.server.mcpserver import MCPServer

__all__ = ["filesystem_server"]

LOOKING = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

LARGE = 1 << 17
"""Bytes of a directory's own; a smaller one is listed quicker than a thread is asked to."""

INSTRUCTIONS = """\
This server reads, searches and changes the files below one root. Paths are relative to the root. A long
answer comes in pages: pass its `nextCursor` as `cursor`. `.git` and `.tideate` are neither shown, read nor
changed; links are followed only where they stay inside the root. Each change is written down before it is
made, and its answer names the id with which `tideate rollback ID` takes it back."""

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
    ground = Ground(root)
    server = CarefulServer(
        "tideate-filesystem",
        title="tideate: files",
        description="Reads, searches and changes the files below one root; each change can be taken back.",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
    )
    _add_reading(server, ground)
    _add_media(server, ground)
    _add_listing(server, ground)
    _add_telling(server, ground)
    _add_searching(server, ground)
    _add_text_search(server, ground)
    add_changing_tools(server, ground)
    _add_resources(server, ground)
    return server


def _add_reading(server: CarefulServer, ground: Ground) -> None:
    async def read_text_file(
        path: Path,
        head: Annotated[Lines, Field(description="Only so many lines from the beginning.")] = None,
        tail: Annotated[Lines, Field(description="Only so many lines at the end.")] = None,
        cursor: Cursor = "",
    ) -> TextAnswer:
        if head is not None and tail is not None:
            raise ToolError("head and tail: give one of them")
        # a page is read quicker than a thread is asked to; the end of a file may take a search
        work = partial(reading.read_text, ground, path, head=head, tail=tail, cursor=cursor)
        found = work() if tail is None else await asyncio.to_thread(work)
        return answer(found, with_cursor(found["content"], found["nextCursor"]))

    async def read_multiple_files(
        paths: Annotated[list[Path], Field(min_length=1, max_length=100)],
    ) -> FilesAnswer:
        files = await asyncio.to_thread(reading.read_several, ground, paths)
        texts = [f"{file['path']}:\n{_of_one(file)}" for file in files]
        return answer({"files": files}, "\n---\n".join(texts))

    server.add_tool(
        read_text_file,
        title="Read a text",
        description="Read a file as UTF-8 text: all of it, its first lines (`head`) or its last (`tail`).",
        annotations=LOOKING,
    )
    server.add_tool(
        read_multiple_files,
        title="Read several texts",
        description="Read several files at once. One that cannot be read has an error in place of its "
        "content; of long ones the beginnings come.",
        annotations=LOOKING,
    )


def _add_media(server: CarefulServer, ground: Ground) -> None:
    async def read_media_file(path: Path) -> MediaAnswer:
        return _media(await asyncio.to_thread(reading.read_media, ground, path))

    server.add_tool(
        read_media_file,
        title="Read an image, a sound or other bytes",
        description="Read a file as it is, up to 4 MiB: in base64, with its MIME type.",
        annotations=LOOKING,
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


def _add_listing(server: CarefulServer, ground: Ground) -> None:
    async def list_directory(path: Path = ".", cursor: Cursor = "") -> ListAnswer:
        descriptor, _ = ground.open_directory(path)
        work = partial(listing.list_directory, descriptor, path, cursor)
        found, text = work() if os.fstat(descriptor).st_size < LARGE else await asyncio.to_thread(work)
        return answer(found, with_cursor(text, found["nextCursor"]))

    async def list_directory_with_sizes(
        path: Path = ".", sort_by: Order = "name", cursor: Cursor = ""
    ) -> SizesAnswer:
        found, text = await asyncio.to_thread(listing.list_sizes, ground, path, sort_by, cursor)
        return answer(found, with_cursor(text, found["nextCursor"]))

    server.add_tool(
        list_directory,
        title="List a directory",
        description="List what stands in a directory, by name.",
        annotations=LOOKING,
    )
    server.add_tool(
        list_directory_with_sizes,
        title="List a directory with sizes",
        description="List what stands in a directory, with sizes and their sum.",
        annotations=LOOKING,
    )


def _add_telling(server: CarefulServer, ground: Ground) -> None:
    async def get_file_info(path: Path) -> InfoAnswer:
        found = listing.info(ground, path)
        return answer(found, "\n".join(f"{name}: {value}" for name, value in found.items()))

    async def list_allowed_directories() -> DirectoriesAnswer:
        return answer({"directories": [str(ground.root)]}, str(ground.root))

    server.add_tool(
        get_file_info,
        title="Tell about a file",
        description="Tell what a path is, its size, times and permissions.",
        annotations=LOOKING,
    )
    server.add_tool(
        list_allowed_directories,
        title="Tell the root",
        description="Tell which directory is served.",
        annotations=LOOKING,
    )


def _add_searching(server: CarefulServer, ground: Ground) -> None:
    async def search_files(
        pattern: Pattern,
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006 the SDK copies it
        cursor: Cursor = "",
    ) -> MatchesAnswer:
        return answer(
            *await in_thread(partial(searching.search, ground, path, pattern, exclude_patterns, cursor))
        )

    async def directory_tree(
        path: Path = ".",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> TreeAnswer:
        return answer(*await in_thread(partial(searching.tree, ground, path, exclude_patterns, cursor)))

    server.add_tool(
        search_files,
        title="Search for files by their paths",
        description="Search below a directory for files and directories whose paths fit a glob. Links are "
        "found, not followed.",
        annotations=LOOKING,
    )
    server.add_tool(
        directory_tree,
        title="Show a tree",
        description="Show all files and directories below a directory as a tree. Links are shown, not "
        "followed.",
        annotations=LOOKING,
    )


def _add_text_search(server: CarefulServer, ground: Ground) -> None:
    async def search_text(
        text: Words,
        path: Path = ".",
        pattern: Pattern = "**",
        exclude_patterns: Exclude = [],  # noqa: B006
        cursor: Cursor = "",
    ) -> WordsAnswer:
        from tideate_core.mcp.servers.filesystem.words import Question, search_words

        question = Question(text, path, pattern, tuple(exclude_patterns))
        return answer(*await in_thread(partial(search_words, ground, question, cursor)))

    server.add_tool(
        search_text,
        title="Search in files",
        description="Search below a directory for lines that hold a text, word for word, in files whose "
        "paths fit a glob. Files that usually hold secrets, as `.env`, are left out, and so are binary ones.",
        annotations=LOOKING,
    )


def _add_resources(server: CarefulServer, ground: Ground) -> None:
    @server.resource(
        "file:///{+path}",
        title="A file",
        description="A text below the root, by its path relative to it; the first 40,000 bytes.",
        mime_type="text/plain",
    )
    async def file(path: Path) -> str:
        try:
            return str(reading.read_text(ground, path)["content"])
        except ToolError as error:
            raise ResourceNotFoundError(str(error)) from error
