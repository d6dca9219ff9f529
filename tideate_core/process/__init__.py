"""Programs by argv: process groups, limits, live output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.process.conversing import (
        GRACE as GRACE,
        end_conversing as end_conversing,
        start_conversing as start_conversing,
    )
    from tideate_core.process.enclosure import (
        Enclosure as Enclosure,
        EnclosureSupport as EnclosureSupport,
        EscapeReport as EscapeReport,
        OutsideChange as OutsideChange,
        Ran as Ran,
        enclosure_support as enclosure_support,
    )
    from tideate_core.process.environment import (
        VIRTUAL_ENVIRONMENTS as VIRTUAL_ENVIRONMENTS,
        make_environment as make_environment,
        project_environment as project_environment,
    )
    from tideate_core.process.guard import (
        kill_descendants as kill_descendants,
        read_guard_report as read_guard_report,
    )
    from tideate_core.process.kept_files import KeptFiles as KeptFiles
    from tideate_core.process.known_agents import (
        KNOWN_AGENTS as KNOWN_AGENTS,
        KnownAgent as KnownAgent,
        agent_named as agent_named,
        agent_names as agent_names,
        enclosure_for as enclosure_for,
        environment_for as environment_for,
        find_agent as find_agent,
    )
    from tideate_core.process.mount_plan import (
        Bind as Bind,
        Dev as Dev,
        Hide as Hide,
        Mount as Mount,
        MountPlan as MountPlan,
        Overlay as Overlay,
        Proc as Proc,
        ReadOnly as ReadOnly,
        Rules as Rules,
        Shade as Shade,
        Tmpfs as Tmpfs,
    )
    from tideate_core.process.namespaces import (
        Namespaces as Namespaces,
        open_first_overlay as open_first_overlay,
    )
    from tideate_core.process.output import (
        OutputCapture as OutputCapture,
        OutputLine as OutputLine,
        strip_control_sequences as strip_control_sequences,
    )
    from tideate_core.process.parsing import parse_outside as parse_outside
    from tideate_core.process.programs import (
        GUARD_PROGRAM as GUARD_PROGRAM,
        check_argv as check_argv,
        entering as entering,
        find_program as find_program,
        start_error as start_error,
    )
    from tideate_core.process.running import (
        CommandResult as CommandResult,
        ProcessLimits as ProcessLimits,
        run_program as run_program,
    )
    from tideate_core.process.signatures import (
        fingerprint_of as fingerprint_of,
        fingerprint_of_file as fingerprint_of_file,
        sign_data as sign_data,
        signing_key as signing_key,
    )
    from tideate_core.process.started import (
        StartedProgram as StartedProgram,
        start_on_terminal as start_on_terminal,
    )
    from tideate_core.process.terminal import (
        relay_terminal as relay_terminal,
        run_on_terminal as run_on_terminal,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
