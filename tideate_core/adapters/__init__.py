"""What answers a prompt: providers' models, OpenAI-compatible servers, the bundled model, recordings.

Importing this package imports no model library; each is imported when its adapter is first asked.
"""

from tideate_core.adapters.base import Adapter, Prompt, Reply, Turn, Usage
from tideate_core.adapters.pool import AdapterPool

__all__ = ["Adapter", "AdapterPool", "Prompt", "Reply", "Turn", "Usage"]
