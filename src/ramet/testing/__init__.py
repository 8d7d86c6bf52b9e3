"""For the tests of programs that use ramet: time that the test sets, a fresh database, draining, crashes, one handler.

Everything runs in the test's own thread and loop and in the order of the calls. Nothing here is for production.
"""

from ramet.testing.crashes import SimulatedCrash, crash_at, crash_everywhere
from ramet.testing.drain_loop import Drained, drain
from ramet.testing.fixtures import FakeClock, fresh_client
from ramet.testing.single_task import NeedsDatabase, RefusedSpawn, Spawned, TaskRun, run_task

__all__ = [
    "Drained",
    "FakeClock",
    "NeedsDatabase",
    "RefusedSpawn",
    "SimulatedCrash",
    "Spawned",
    "TaskRun",
    "crash_at",
    "crash_everywhere",
    "drain",
    "fresh_client",
    "run_task",
]
