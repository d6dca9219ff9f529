"""Providers by name, and where their keys are."""

from __future__ import annotations

__all__ = ["ALSO_KEYS", "PROVIDERS"]

PROVIDERS: dict[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "bedrock": "",
    "cerebras": "CEREBRAS_API_KEY",
    "cohere": "CO_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "github": "GITHUB_API_KEY",
    "google": "GOOGLE_API_KEY",
    "google-cloud": "",
    "groq": "GROQ_API_KEY",
    "huggingface": "HF_TOKEN",
    "mistral": "MISTRAL_API_KEY",
    "moonshotai": "MOONSHOTAI_API_KEY",
    "ollama": "",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "vercel": "VERCEL_AI_GATEWAY_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Providers that may stand before the colon, and the variable with their key (empty: none, or several)."""

ALSO_KEYS: dict[str, str] = {
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "google": "GEMINI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
    "vercel": "VERCEL_OIDC_TOKEN",
}
"""The variable that a provider's key is taken from where the first is empty."""
