"""The filesystem server: reads, searches and changes the files below one root, and can take changes back."""

__all__: list[str] = []
