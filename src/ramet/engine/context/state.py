"""What a task's stages gathered, as its handler sees it, and the engine's own note that is kept beside it."""

from __future__ import annotations

import json
from typing import Any

from ramet.engine.base.work import Work, state_json

NOTE = "$claims"
"""Where pipeline_state holds [chain depth, claims]: what the task's invocations may have claimed in this link of its
chain. Handlers do not see it, and cannot lose it."""


class Gathered:
    """The part of a context that holds its pipeline_state."""

    _work: Work
    _gathered: dict[str, Any] | None = None
    _note: tuple[int, int] | None = None
    _credit = 0

    @property
    def state(self) -> dict[str, Any]:
        """The pipeline_state of the last checkpoint; empty before the first."""
        return self._read()[0]

    def _read(self) -> tuple[dict[str, Any], tuple[int, int] | None]:
        """The state, and the note."""
        if self._gathered is None:
            text = self._work.pipeline_state
            gathered: dict[str, Any] = json.loads(text) if text else {}
            note = gathered.pop(NOTE, None)
            self._note = None if note is None else (note[0], note[1])
            self._gathered = gathered
        return self._gathered, self._note

    # --- for the engine

    def state_text(self, state: dict[str, Any], bytes_max: int) -> str:
        """The text to be stored for a handler's new state.

        Raises:
            ValueError: it is over the limit, or uses the engine's own name.
        """
        text = state_json(state, bytes_max)
        if NOTE in state:
            raise ValueError(f"{NOTE!r} in a pipeline_state is the engine's own: give it another name")
        _, note = self._read()
        return text if note is None else json.dumps({**json.loads(text), NOTE: note}, ensure_ascii=False)

    def state_stored(self, text: str) -> None:
        """This is the task's state now."""
        self._gathered = {name: value for name, value in json.loads(text).items() if name != NOTE}

    def claims_noted(self) -> int:
        """How many tasks this link of the chain may have claimed, by what is stored."""
        _, note = self._read()
        return note[1] if note is not None and note[0] == self._work.chain_depth else 0

    def note_text(self, claims: int) -> str:
        """The text to be stored before that many are claimed, all of them together."""
        return json.dumps({**self.state, NOTE: (self._work.chain_depth, claims)}, ensure_ascii=False)

    def note_stored(self, claims: int) -> None:
        """So many are noted now."""
        self._credit += claims - self.claims_noted()
        self._note = (self._work.chain_depth, claims)

    def claims_left_over(self) -> int:
        """How many of those noted by this very call of the handler were not claimed so far."""
        return self._credit

    def claims_taken(self, claims: int) -> None:
        """So many of them may have been claimed; a negative number was not."""
        self._credit -= claims
        assert self._credit >= 0, "more was claimed than noted"
