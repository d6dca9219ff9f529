"""Tool results: camelCase schemas, a text beside the structured content, pages with cursors."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NEXT", "ResultModel", "page", "tool_result", "with_cursor"]

T = TypeVar("T")

NEXT: Final[Any] = Field(
    default=None, description="Pass it as `cursor` for what follows; null if this was all."
)
"""The field of a cursor."""
_CURSOR: Final = re.compile(r"(\d{1,12})-([0-9a-f]{16})\Z")


class ResultModel(BaseModel):
    """Written in camelCase, read in either."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


def tool_result(content: BaseModel | dict[str, Any], text: str) -> CallToolResult:
    """Return structured content with a text beside it. The SDK checks it against its schema."""
    if isinstance(content, BaseModel):
        content = content.model_dump(by_alias=True, mode="json")
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)


def with_cursor(text: str, cursor: str | None) -> str:
    return f"{text}\n[there is more: cursor {cursor}]" if cursor else text


@overload
def page(content: str, cursor: str, limit: int) -> tuple[str, str | None]: ...
@overload
def page(content: Sequence[T], cursor: str, limit: int) -> tuple[Sequence[T], str | None]: ...
def page(content: str | Sequence[Any], cursor: str, limit: int) -> tuple[Any, str | None]:
    """Return one page of a text or a list, and the cursor of the next or None.

    A page of a text ends with a line, where a line is not longer than a page.

    :param cursor: empty: the first page.
    :param limit: characters or items.
    :raises ToolError: the cursor is none, or what it was given for has changed since.
    """
    if not cursor and len(content) <= limit:
        return content, None
    digest = _digest(content)
    start = _start(cursor, digest, len(content)) if cursor else 0
    end = start + limit
    if end >= len(content):
        return content[start:], None
    if isinstance(content, str):
        end = content.rfind("\n", start, end) + 1 or end
    return content[start:end], f"{end}-{digest}"


def _start(cursor: str, digest: str, length: int) -> int:
    found = _CURSOR.match(cursor)
    if found is None or (int(found[1]) > length and found[2] == digest):
        raise ToolError(
            "this is not a cursor that an answer gave: pass the last one as it is, or none to begin"
        )
    if found[2] != digest:
        raise ToolError("what this cursor continues has changed since: begin again without a cursor")
    return int(found[1])


def _digest(content: str | Sequence[Any]) -> str:
    text = content if isinstance(content, str) else "\0".join(map(repr, content))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
