"""Parameter types, result models and paging shared by the tools of all MCP servers."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, overload

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tideate_core.mentions import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SHOWN: Final = 60
"""Characters of the client's input that an error message repeats."""
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 4 << 20
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that break lines, change direction or are invisible."""
T = TypeVar("T")
NEXT: Final[Any] = Field(
    default=None, description="Pass it as `cursor` for what follows; null if this was all."
)
"""Field of a result that holds the cursor of the next page."""
_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s'\":,;]{0,4096}")
_CURSOR: Final = re.compile(r"(\d{1,12})-([0-9a-f]{16})\Z")


def short_repr(word: str) -> str:
    """Quote client input for a message: short, on one line, without control characters."""
    return repr(word if len(word) <= SHOWN else word[:SHOWN] + "…")


def hide_outside_paths(text: str, root: Path) -> str:
    """Replace the absolute paths outside a root in a message."""

    def shown(found: re.Match[str]) -> str:
        return found[0] if f"{found[0]}/".startswith(f"{root}/") else "(a path outside)"

    return _ABSOLUTE.sub(shown, text)


def without_control_characters(text: str) -> str:
    """Validate that a text has no control characters other than tabs and line ends.

    :raises ValueError: it has one.
    """
    for character in text:
        if (character < " " and character not in "\t\n\r") or "\x7f" <= character <= "\x9f":
            raise ValueError(f"the control character U+{ord(character):04X} is not allowed")
    return text


def _line(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in _UNSEEN:
            raise ValueError(
                f"the character U+{ord(character):04X} is not allowed: give one line of plain text"
            )
    return text


def _relative(path: str) -> str:
    _line(path)
    if not path:
        raise ValueError("a path is missing")
    if path.startswith(("/", "~")):
        raise ValueError("give a path relative to the root")
    if ".." in path.split("/"):
        raise ValueError("`..` is not allowed: give a path below the root")
    return path


Line: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), AfterValidator(_line)]
"""One line without invisible characters."""
RelativePath: TypeAlias = Annotated[str, Field(max_length=MAX_LINE), AfterValidator(_relative)]
"""A path below the root by its spelling; `Root` checks links."""
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(without_control_characters)]
"""Text without control characters other than tabs and line ends."""


class ResultModel(BaseModel):
    """Base of results: written in camelCase, read in camelCase or snake_case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


def tool_result(content: BaseModel | dict[str, Any], text: str) -> CallToolResult:
    """Build a tool result of structured content and a text; the SDK validates it against the schema."""
    if isinstance(content, BaseModel):
        content = content.model_dump(by_alias=True, mode="json")
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)


def with_cursor(text: str, cursor: str | None) -> str:
    """Append the cursor of the next page to a text; unchanged without one."""
    return f"{text}\n[there is more: cursor {cursor}]" if cursor else text


@overload
def page(content: str, cursor: str, limit: int) -> tuple[str, str | None]: ...
@overload
def page(content: Sequence[T], cursor: str, limit: int) -> tuple[Sequence[T], str | None]: ...
def page(content: str | Sequence[Any], cursor: str, limit: int) -> tuple[Any, str | None]:
    """Return one page of a text or list, and the cursor of the next page or None.

    A page of text ends at a line end, unless a line is longer than a page. Secrets are hidden before the text
    is cut, as part of a secret would not be recognized.

    :param cursor: empty for the first page.
    :param limit: characters or items.
    :raises ToolError: the cursor is invalid, or the content has changed since it was issued.
    """
    if isinstance(content, str):
        content = hide_secrets(content)
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
        raise ToolError("this is not a cursor of this tool: pass `nextCursor` unchanged, or none to start")
    if found[2] != digest:
        raise ToolError("the content has changed since this cursor was issued: start again without a cursor")
    return int(found[1])


def _digest(content: str | Sequence[Any]) -> str:
    text = content if isinstance(content, str) else "\0".join(map(repr, content))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
