"""Portable runs: bundles, which hold a run in one file, and the inbox of published runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.portable.bundle import (
        Bundle as Bundle,
        create_bundle as create_bundle,
        read_bundle as read_bundle,
    )
    from tideate_core.portable.facts import (
        BundleFacts as BundleFacts,
        FactsHere as FactsHere,
        facts_here as facts_here,
    )
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
    from tideate_core.portable.opening import (
        finish_openings as finish_openings,
        lock_openings as lock_openings,
        openings as openings,
    )
    from tideate_core.portable.questions import Answer as Answer, Question as Question
    from tideate_core.portable.taking_up import (
        TakenUp as TakenUp,
        is_unchanged as is_unchanged,
        take_up as take_up,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
