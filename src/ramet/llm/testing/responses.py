"""Background responses at the stand-in: queued, in progress, ended, forgotten."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ramet.llm.testing import answers
from ramet.llm.testing.answers import Ask, Outcome, answer, response_ask
from ramet.llm.testing.journal import Entry, Journal
from ramet.llm.testing.script import Script


@dataclass(slots=True)
class _StoredResponse:
    """One response."""

    id: str
    request: Mapping[str, Any]
    ask: Ask
    outcome: Outcome
    created: float
    polls: int = 0
    polls_after: int = 0
    cancelled: bool = False
    ended: str | None = None


class Responses:
    """All of them. Safe for threads."""

    def __init__(self, script: Script, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        """None yet; `clock` tells seconds since 1970."""
        self._script = script
        self._journal = journal
        self._clock = clock
        self._kept: dict[str, _StoredResponse] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Accept one; it is queued, or ended at once where it is not a background call.

        Raises:
            ValueError: the request is none.
        """
        ask = response_ask(request)
        with self._lock:
            kept = _StoredResponse(f"resp_{next(self._numbers):08d}", request, ask, answer(ask), self._clock())
            self._kept[kept.id] = kept
            self._journal.add(self._entry(kept))
            if not request.get("background") or self._script.ignores_background:
                kept.ended = kept.outcome.state
            return self._shown(kept, kept.ended or "queued")

    def marks(self, id: str) -> Mapping[str, str]:
        """Return the marks of a response's prompt; none of one that is not known."""
        with self._lock:
            kept = self._kept.get(id)
            return {} if kept is None else kept.ask.marks

    def request_of(self, id: str) -> Mapping[str, Any]:
        """Return the body that a response was asked for with.

        Raises:
            KeyError: it is not known.
        """
        with self._lock:
            return self._kept[id].request

    def poll(self, id: str) -> dict[str, Any] | None:
        """Return its state one poll later; None if it is not known, or no longer."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is None or self._forgotten(kept):
                return None
            kept.polls += 1
            if kept.ended is None:
                kept.ended = self._end(kept)
            else:
                kept.polls_after += 1
            queued = kept.polls <= self._script.queued_polls
            return self._shown(kept, kept.ended or ("queued" if queued else "in_progress"))

    def cancel(self, id: str) -> dict[str, Any] | str | None:
        """Cancel it; None: it is not known; a text: why it cannot be."""
        with self._lock:
            kept = self._kept.get(id)
            if kept is None:
                return None
            if kept.ended is not None and kept.ended != "cancelled":
                return "Cannot cancel a completed response."
            if kept.ended is None and not kept.cancelled:
                kept.cancelled = True
                if "late" not in kept.ask.marks:
                    kept.ended = "cancelled"
                    self._journal.cancelled(kept.id)
            return self._shown(kept, "cancelled")

    def _forgotten(self, kept: _StoredResponse) -> bool:
        script = self._script
        if "lost" in kept.ask.marks and kept.polls >= 1:
            return True
        if script.forget_seconds is not None and self._clock() - kept.created >= script.forget_seconds:
            return True
        return (
            script.forget_polls is not None and kept.ended is not None and kept.polls_after >= script.forget_polls - 1
        )

    def _end(self, kept: _StoredResponse) -> str | None:
        """How it ended, if it did."""
        script = self._script
        live = int(kept.ask.marks.get("polls") or script.queued_polls + script.running_polls)
        if "never" in kept.ask.marks or kept.polls <= live or self._clock() - kept.created < script.seconds:
            return None
        return kept.outcome.state

    def _shown(self, kept: _StoredResponse, status: str) -> dict[str, Any]:
        body = answers.response(kept.id, kept.created, kept.request, status, kept.outcome)
        if not self._script.keeps_metadata:
            body["metadata"] = {}
        return body

    def _entry(self, kept: _StoredResponse) -> Entry:
        metadata = kept.request.get("metadata") or {}
        never = "never" in kept.ask.marks
        outcome = kept.outcome
        return Entry(
            id=kept.id, kind="background", key=metadata.get("ramet_key"), submit_key=metadata.get("ramet_submit"),
            model=kept.ask.model, state="never" if never else outcome.state,
            input_tokens=0 if never else outcome.input_tokens,
            cached_tokens=0 if never else outcome.cached_tokens,
            output_tokens=0 if never else outcome.output_tokens,
        )  # fmt: skip
