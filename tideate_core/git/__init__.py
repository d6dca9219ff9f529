"""Git: the one package that starts it, and the check of a repository before git may look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.git.layout import find_repository as find_repository
    from tideate_core.git.objects import (
        Tree as Tree,
        TreeEntry as TreeEntry,
        ask_objects as ask_objects,
        empty_repository as empty_repository,
        file_id as file_id,
        object_id as object_id,
        objects_only as objects_only,
        read_objects as read_objects,
        read_tree as read_tree,
    )
    from tideate_core.git.program import (
        EXCLUDE_PRIVATE as EXCLUDE_PRIVATE,
        SAFE_OPTIONS as SAFE_OPTIONS,
        GitOutput as GitOutput,
        find_git as find_git,
        finish as finish,
        git_environment as git_environment,
        query as query,
        refuse_pipes as refuse_pipes,
        run_git as run_git,
        start_git as start_git,
    )
    from tideate_core.git.repository import (
        Repository as Repository,
        without_repository as without_repository,
    )
else:
    __getattr__, __dir__, __all__ = exports(
        __name__,
        {
            "layout": "find_repository",
            "repository": "Repository without_repository",
            "objects": (
                "Tree TreeEntry ask_objects empty_repository file_id object_id objects_only read_objects "
                "read_tree"
            ),
            "program": (
                "EXCLUDE_PRIVATE SAFE_OPTIONS GitOutput find_git finish git_environment query refuse_pipes "
                "run_git start_git"
            ),
        },
    )
