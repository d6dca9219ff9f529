"""Projects: their roots, their private state outside of them, and what a person trusts in them."""

from tideate_core.project.documents import (
    Documents,
    list_documents,
    read_document,
    remove_document,
    write_document,
)
from tideate_core.project.roots import (
    DEFINITION_SUFFIXES,
    config_dir,
    expanded,
    find_root,
    inside,
    real,
)
from tideate_core.project.state import make_project_state, private_within, project_state, state_dir
from tideate_core.project.trust import CONFIG_NAME, Trust, files_to_trust, name_in_project

__all__ = [
    "CONFIG_NAME",
    "DEFINITION_SUFFIXES",
    "Documents",
    "Trust",
    "config_dir",
    "expanded",
    "files_to_trust",
    "find_root",
    "inside",
    "list_documents",
    "make_project_state",
    "name_in_project",
    "private_within",
    "project_state",
    "read_document",
    "real",
    "remove_document",
    "state_dir",
    "write_document",
]
