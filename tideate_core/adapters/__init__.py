"""Model adapters: providers' models, OpenAI-compatible servers, the bundled model, recordings.

Importing this package imports no model library; each library is imported on an adapter's first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.adapters.acp.agent import AcpAgent as AcpAgent, written_prompt as written_prompt
    from tideate_core.adapters.acp.session import AgentSession as AgentSession, allow as allow
    from tideate_core.adapters.acp.turn import TurnEnd as TurnEnd
    from tideate_core.adapters.acp.updates import (
        AgentUpdate as AgentUpdate,
        CallUpdate as CallUpdate,
        CostUpdate as CostUpdate,
        PlanEntry as PlanEntry,
        PlanUpdate as PlanUpdate,
        SaidText as SaidText,
    )
    from tideate_core.adapters.base import (
        NO_MODEL as NO_MODEL,
        Adapter as Adapter,
        NewPart as NewPart,
        OfferedTool as OfferedTool,
        Origin as Origin,
        Prompt as Prompt,
        Reply as Reply,
        Turn as Turn,
        Usage as Usage,
        tool_name as tool_name,
    )
    from tideate_core.adapters.conversation import (
        Conversation as Conversation,
        Message as Message,
        ModelTurn as ModelTurn,
        RequestedCall as RequestedCall,
        ToolResult as ToolResult,
        TurnAdapter as TurnAdapter,
        UserMessage as UserMessage,
    )
    from tideate_core.adapters.libraries import (
        IN_NEOVIM as IN_NEOVIM,
        INSTALL_MODEL as INSTALL_MODEL,
        MODULES as MODULES,
        PIP as PIP,
        is_loading as is_loading,
        load_ahead as load_ahead,
        preload as preload,
    )
    from tideate_core.adapters.login_flows import (
        Challenge as Challenge,
        LoginFlow as LoginFlow,
        LoginState as LoginState,
        keep_key as keep_key,
        login_flow as login_flow,
        login_kind as login_kind,
        login_states as login_states,
    )
    from tideate_core.adapters.login_store import LoginStore as LoginStore
    from tideate_core.adapters.model_list import (
        ListedModel as ListedModel,
        ModelList as ModelList,
        list_models as list_models,
    )
    from tideate_core.adapters.pool import AdapterPool as AdapterPool
    from tideate_core.adapters.prices import PricedAdapter as PricedAdapter
    from tideate_core.adapters.retry import report_retries as report_retries
else:
    __getattr__, __dir__, __all__ = exports(__name__)
