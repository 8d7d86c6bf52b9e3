"""The commands of ``ramet wiki``."""
