"""Journal of what the stand-in accepted and what it cost: the truth that a test compares its books with."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One request that was accepted."""

    id: str
    """Id of the response, the completion, or the batch with the line's number."""
    kind: str
    """``chat``, ``background`` or ``batch``."""
    key: str | None
    """The ``custom_id`` of a batch's line, the ``ramet_key`` in the metadata of a response."""
    submit_key: str | None
    model: str
    state: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    """Tokens are what is billed: 0 for what failed, expired or was cancelled."""


class Journal:
    """Entries in the order of acceptance. Safe for threads.

    Work that will end by itself is billed as soon as it is accepted, whether anyone polls it or not; a cancel in time
    takes that back.
    """

    def __init__(self) -> None:
        """Nothing was accepted yet."""
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    def add(self, *entries: Entry) -> None:
        """Add what was accepted."""
        with self._lock:
            self._entries.update((entry.id, entry) for entry in entries)

    def cancelled(self, *ids: str) -> None:
        """Set the cost of what was accepted under these ids to nothing."""
        with self._lock:
            for id in ids:
                self._entries[id] = replace(
                    self._entries[id], state="cancelled", input_tokens=0, cached_tokens=0, output_tokens=0
                )

    def entries(self) -> list[Entry]:
        """All of them."""
        with self._lock:
            return list(self._entries.values())

    def as_json(self) -> dict[str, Any]:
        """``{"entries": [...], "totals": {"requests": n, "input_tokens": n, ...}}``."""
        entries = self.entries()
        names = ("input_tokens", "cached_tokens", "output_tokens")
        totals = {name: sum(getattr(entry, name) for entry in entries) for name in names}
        return {"entries": [asdict(entry) for entry in entries], "totals": {"requests": len(entries), **totals}}
