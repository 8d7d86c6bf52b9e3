"""The app of the crash tests, in processes that may find themselves past every lease, as after a long stop.

How long a stop is must not depend on how fast a machine is: with short leases a slow one loses them before it is
stopped at all.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.crash.crash_app import app

LATE = "RAMET_TEST_LATE"
"""Names a file in the worker's environment; once it is there, so much time has passed."""
LEASE_SECONDS = 300.0
LATE_SECONDS = LEASE_SECONDS + 1.0


monotonic = time.monotonic


def late_monotonic() -> float:
    """For clocks and timers of this process."""
    return monotonic() + (LATE_SECONDS if Path(os.environ[LATE]).exists() else 0.0)


if LATE in os.environ:
    time.monotonic = late_monotonic

__all__ = ["app"]
