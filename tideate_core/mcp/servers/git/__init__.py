"""The git server: looks at one repository and commits to it, and runs nothing that the repository brings."""

__all__: list[str] = []
