"""Projects: root, files of `.tideate/`, private state outside of them, and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.project.documents import (
        Documents,
        list_documents,
        read_document,
        remove_document,
        write_document,
    )
    from tideate_core.project.open_directories import open_directory, open_directory_fd
    from tideate_core.project.roots import (
        DEFINITION_SUFFIXES,
        config_dir,
        expand_home,
        find_root,
        is_inside,
        real_path,
    )
    from tideate_core.project.state import (
        KnownProject,
        has_no_work,
        known_project,
        known_projects,
        make_project_state,
        move_project_state,
        note_identity,
        private_within,
        project_state,
        state_dir,
    )
    from tideate_core.project.trust import (
        CONFIG_NAME,
        LARGEST_TRUSTED,
        Trust,
        files_to_trust,
        name_in_project,
    )

__all__ = [
    "CONFIG_NAME",
    "DEFINITION_SUFFIXES",
    "LARGEST_TRUSTED",
    "Documents",
    "KnownProject",
    "Trust",
    "config_dir",
    "expand_home",
    "files_to_trust",
    "find_root",
    "has_no_work",
    "is_inside",
    "known_project",
    "known_projects",
    "list_documents",
    "make_project_state",
    "move_project_state",
    "name_in_project",
    "note_identity",
    "open_directory",
    "open_directory_fd",
    "private_within",
    "project_state",
    "read_document",
    "real_path",
    "remove_document",
    "state_dir",
    "write_document",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "documents": (
                "Documents",
                "list_documents",
                "read_document",
                "remove_document",
                "write_document",
            ),
            "open_directories": ("open_directory", "open_directory_fd"),
            "roots": (
                "DEFINITION_SUFFIXES",
                "config_dir",
                "expand_home",
                "find_root",
                "is_inside",
                "real_path",
            ),
            "state": (
                "KnownProject",
                "has_no_work",
                "known_project",
                "known_projects",
                "make_project_state",
                "move_project_state",
                "note_identity",
                "private_within",
                "project_state",
                "state_dir",
            ),
            "trust": ("CONFIG_NAME", "LARGEST_TRUSTED", "Trust", "files_to_trust", "name_in_project"),
        },
    )
