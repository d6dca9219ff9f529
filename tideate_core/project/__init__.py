"""Projects: root, files in `.tideate/`, private state outside of the project, and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.project.documents import (
        Documents as Documents,
        list_documents as list_documents,
        read_document as read_document,
        remove_document as remove_document,
        write_document as write_document,
    )
    from tideate_core.project.open_directories import (
        open_directory as open_directory,
        open_directory_below as open_directory_below,
        open_directory_fd as open_directory_fd,
    )
    from tideate_core.project.roots import (
        DEFINITION_SUFFIXES as DEFINITION_SUFFIXES,
        config_dir as config_dir,
        expand_home as expand_home,
        find_root as find_root,
        is_inside as is_inside,
        real_path as real_path,
    )
    from tideate_core.project.state import (
        KnownProject as KnownProject,
        has_no_work as has_no_work,
        known_project as known_project,
        known_projects as known_projects,
        make_project_state as make_project_state,
        move_project_state as move_project_state,
        note_identity as note_identity,
        private_within as private_within,
        project_state as project_state,
        state_dir as state_dir,
    )
    from tideate_core.project.trust import (
        CONFIG_NAME as CONFIG_NAME,
        LARGEST_TRUSTED as LARGEST_TRUSTED,
        Trust as Trust,
        files_to_trust as files_to_trust,
        name_in_project as name_in_project,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
