"""Explain: why a task is where it is, from stored rows only (promise I8)."""
