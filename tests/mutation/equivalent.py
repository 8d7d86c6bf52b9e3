"""Changes that no test can notice, because what the code does stays the same."""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""(Function, line as it is, line as changed) -> why nobody can tell them apart. An entry that fits no change fails."""
