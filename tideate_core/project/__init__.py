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
    from tideate_core.project.open_directories import held, open_way
    from tideate_core.project.roots import DEFINITION_SUFFIXES, config_dir, expanded, find_root, inside, real
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
    "Documents",
    "KnownProject",
    "LARGEST_TRUSTED",
    "Trust",
    "config_dir",
    "expanded",
    "files_to_trust",
    "find_root",
    "has_no_work",
    "held",
    "inside",
    "known_project",
    "known_projects",
    "list_documents",
    "make_project_state",
    "move_project_state",
    "name_in_project",
    "note_identity",
    "open_way",
    "private_within",
    "project_state",
    "read_document",
    "real",
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
            "open_directories": (
                "held",
                "open_way",
            ),
            "roots": (
                "DEFINITION_SUFFIXES",
                "config_dir",
                "expanded",
                "find_root",
                "inside",
                "real",
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
            "trust": (
                "CONFIG_NAME",
                "LARGEST_TRUSTED",
                "Trust",
                "files_to_trust",
                "name_in_project",
            ),
        },
    )
