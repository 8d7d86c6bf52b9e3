"""A dictionary of texts that keeps 128 bits of each: of a million texts it takes some 40 megabytes."""

from __future__ import annotations

import hashlib
from array import array

_BYTES = 16
_PLACES = 1 << 14
_FULL = 0.6
"""Share of the places; then there are more."""
_MANY = 1 << 18
"""Places that are doubled then; fewer become four times as many, since every move of them takes time."""


class Fingerprints:
    """Remembers whole numbers by text. Two texts are one to it with a chance of about one in 10^27 for a million."""

    def __init__(self) -> None:
        self._count = 0
        self._begin(_PLACES)

    def __len__(self) -> int:
        return self._count

    def setdefault(self, text: str, value: int) -> int:
        """Return the number of a text that is known, else the given one, which is the text's from now on.

        Args:
            value: 0 or more.
        """
        high, low = _halves(text)
        found = self._put(high, low, value + 1)
        if found:
            return found - 1
        self._count += 1
        if self._count > _FULL * len(self._values):
            self._grow()
        return value

    def get(self, text: str) -> int | None:
        """Return the number of a text; None for one that is not known."""
        high, low = _halves(text)
        values, last = self._values, len(self._values) - 1
        at = low & last
        while values[at]:
            if self._high[at] == high and self._low[at] == low:
                return values[at] - 1
            at = (at + 1) & last
        return None

    def _begin(self, places: int) -> None:
        self._high, self._low = array("Q", bytes(8 * places)), array("Q", bytes(8 * places))
        self._values = array("q", bytes(8 * places))
        """One more than what was given; 0 in a place that is free."""

    def _put(self, high: int, low: int, value: int) -> int:
        """Put a value into the first free place behind its own; return what was there already, else 0."""
        values, last = self._values, len(self._values) - 1
        at = low & last
        while values[at]:
            if self._high[at] == high and self._low[at] == low:
                return values[at]
            at = (at + 1) & last
        self._high[at], self._low[at], values[at] = high, low, value
        return 0

    def _grow(self) -> None:
        high, low, values = self._high, self._low, self._values
        self._begin(len(values) * (4 if len(values) < _MANY else 2))
        for at, value in enumerate(values):
            if value:
                self._put(high[at], low[at], value)


def _halves(text: str) -> tuple[int, int]:
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
