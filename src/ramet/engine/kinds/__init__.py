"""Kinds: which handler runs a task, and with which options."""
