"""The stand-in's rate limits, and how an answer's headers tell them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Limiter:
    """Requests and tokens a minute, each refilled evenly. Safe for threads."""

    def __init__(self, requests: int | None, tokens: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Full; None: no limit."""
        self._limits = {"requests": requests, "tokens": tokens}
        self._left = {of: float(limit) for of, limit in self._limits.items() if limit is not None}
        self._clock = clock
        self._at = clock()
        self._lock = threading.Lock()

    def take(self, tokens: int) -> float:
        """Take one request of so many tokens; 0: taken. Else nothing is, and in so many seconds there may be room."""
        with self._lock:
            self._refill()
            wanted = {"requests": 1.0, "tokens": float(tokens)}
            waits = [
                (wanted[of] - left) * 60.0 / (self._limits[of] or 1)
                for of, left in self._left.items()
                if left < min(wanted[of], self._limits[of] or 0)
            ]
            if waits:
                return max(waits)
            for of in self._left:
                self._left[of] -= wanted[of]
            return 0.0

    def headers(self) -> dict[str, str]:
        """``x-ratelimit-...``, as OpenAI names them; none without a limit."""
        found = {}
        with self._lock:
            self._refill()
            for of, left in self._left.items():
                limit = self._limits[of] or 0
                found[f"x-ratelimit-limit-{of}"] = str(limit)
                found[f"x-ratelimit-remaining-{of}"] = str(max(0, int(left)))
                found[f"x-ratelimit-reset-{of}"] = period((limit - left) * 60.0 / max(limit, 1))
        return found

    def _refill(self) -> None:
        now = self._clock()
        for of in self._left:
            limit = self._limits[of] or 0
            self._left[of] = min(float(limit), self._left[of] + (now - self._at) * limit / 60.0)
        self._at = now


def period(seconds: float) -> str:
    """Seconds as OpenAI writes them: ``20ms``, ``1.5s``, ``6m0s``."""
    if seconds < 1.0:
        return f"{max(0, round(seconds * 1000))}ms"
    minutes, rest = divmod(seconds, 60.0)
    return f"{int(minutes)}m{rest:.3g}s" if minutes else f"{rest:.3g}s"
