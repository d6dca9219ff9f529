"""tideate: AI workflows in Neovim that people can trust with their code."""

__version__ = "0.1.0"
