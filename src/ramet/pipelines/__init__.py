"""Products built on the engine's public API: one package each, installed by an extra of the same name.

A pipeline keeps its own domain tables and vocabulary and adds its commands through the entry-point group
`ramet.commands`. The engine knows none of them, and none imports another.
"""
