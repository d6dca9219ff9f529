"""Runs that move between machines: the inbox of published questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.portable.inbox import (
        FetchedAnswer as FetchedAnswer,
        FetchedQuestion as FetchedQuestion,
        Inbox as Inbox,
        Published as Published,
        inbox_git as inbox_git,
        open_inbox as open_inbox,
        waiting_questions as waiting_questions,
    )
    from tideate_core.portable.inbox_refs import (
        Namespace as Namespace,
        RemoteInbox as RemoteInbox,
        RunRefs as RunRefs,
    )
    from tideate_core.portable.questions import Answer as Answer, Question as Question
else:
    __getattr__, __dir__, __all__ = exports(__name__)
