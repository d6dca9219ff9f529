"""A project with files, links and directories that replace each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.workspace import ABSENT, FileChange, FileImage

if TYPE_CHECKING:
    from pathlib import Path

OLD: Final = FileImage.of_file(b"old\n", 0o644)
TEXT: Final = FileImage.of_file(b"y\n", 0o644)
BINARY: Final = FileImage.of_file(b"\xe9\0\n", 0o644)
NONE: Final = FileImage(ABSENT)


def creating_image(path: str, image: FileImage) -> FileChange:
    return FileChange(path, "create", None, None, images=(NONE, image))


def deleting_image(path: str, image: FileImage) -> FileChange:
    return FileChange(path, "delete", None, None, images=(image, NONE))


KINDS: Final = (
    creating_image("l/deep/y", TEXT),  # a file becomes a directory that contains it
    FileChange("l", "move", None, None, move_to="l/x", images=(OLD, OLD)),
    creating_image("d", FileImage.of_file(b"file\n", 0o644)),  # a directory becomes a file
    deleting_image("d/sub/z", TEXT),
    deleting_image("d/x", OLD),
    creating_image("k", FileImage.of_link(b"src")),  # a directory becomes a link
    deleting_image("k/x", OLD),
    creating_image("m/x", FileImage.of_file(b"m\n", 0o644)),  # a link becomes a directory
    deleting_image("m", FileImage.of_link(b"src")),
    FileChange("t", "move", None, None, move_to="t/inner", images=(BINARY, BINARY)),
)


def lay_kinds(root: Path) -> None:
    """Write the initial files of the changes."""
    for directory in ("d/sub", "d/empty", "k"):
        (root / directory).mkdir(parents=True)
    (root / "d/empty").chmod(0o750)
    for path in ("l", "d/x", "k/x"):
        (root / path).write_bytes(OLD.data)
    (root / "d/x").chmod(0o600)
    (root / "d/sub/z").write_bytes(TEXT.data)
    (root / "m").symlink_to("src")
    (root / "t").write_bytes(BINARY.data)
