"""The commands of ``ramet llm``."""
