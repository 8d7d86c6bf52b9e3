"""How a kind's handler is called: in company or in a process of its own, one task at a time or many."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BATCH_MAX = 1_000
BATCH_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Execution:
    """Options of ``@app.task`` that say how a handler is called."""

    process: bool = False
    """In a process that runs nothing else meanwhile and can be killed alone."""
    memory_bytes_max: int | None = None
    """Address space that one call may take beyond what its process has."""
    batch: int = 1
    """So many tasks in one call, at most."""
    batch_seconds: float = BATCH_SECONDS
    """How long the first of them waits for others."""
    probation: bool = True
    """False: after a loss it runs among the others all the same."""
    pulled: bool = False
    """No worker claims it; invocations and programs that pull do."""

    def checked(self, kind: str) -> Execution:
        """Itself.

        Raises:
            ValueError: an option is not one of its values; the message says what to give.
        """
        if self.pulled and (self.process or self.batch > 1):
            raise ValueError(f"kind {kind!r}: pulled=True runs one task at a time beside its invocation: leave out "
                             "process, memory_bytes_max and batch")  # fmt: skip
        if not 1 <= self.batch <= BATCH_MAX:
            raise ValueError(f"kind {kind!r}: batch is {self.batch}, give 1 to {BATCH_MAX}")
        if not 0 <= self.batch_seconds <= 3_600:
            raise ValueError(f"kind {kind!r}: batch_seconds is {self.batch_seconds}, give 0 to 3600")
        if self.memory_bytes_max is not None and not self.process:
            raise ValueError(f"kind {kind!r}: memory_bytes_max needs process=True, others share their process")
        if self.memory_bytes_max is not None and self.memory_bytes_max < 1:
            raise ValueError(f"kind {kind!r}: memory_bytes_max is {self.memory_bytes_max}, give at least 1")
        return self


IN_COMPANY = Execution()


@contextlib.contextmanager
def memory_limit(more_bytes: int | None) -> Iterator[None]:
    """While this lasts, the process gets so much address space more and not beyond; asking for it is a MemoryError."""
    if more_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """What this process has already, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()
