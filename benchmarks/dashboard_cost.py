"""What a dashboard that somebody looks at costs, on a database of a million tasks: its own processor, and a worker's.

    python -m benchmarks.dashboard_cost --folder /tmp/large                  # SQLite, built once and kept there
    python -m benchmarks.dashboard_cost --postgres postgresql://.../large    # or 'new': a server of its own
    python -m benchmarks.dashboard_cost --tasks 50000 --turns 2 --drained 5000

In every turn a worker does as many tasks that do nothing twice: alone, and while `ramet dashboard` serves one visitor,
who follows a page by its event stream as a browser does. Which comes first alternates, and so does the page. Told are
the worker's processor time per task with a visitor over that without, and the dashboard's share of one core meanwhile.
Ends with 1 when the median of the ratios is off by more than a twentieth, or a page takes more than one of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from benchmarks.arithmetic import Spread
from benchmarks.dashboard import Served, dashboard
from benchmarks.engine.processes import cpu_seconds
from benchmarks.large_world import add_options, address_of, made, store_at
from benchmarks.observers_cost import drained, loaded

PAGES = ("/", "/lineages/large", "/tasks?tracking_id=large", "/lineages", "/tasks/large", "/workers")
MOST = 0.05
Address = str


class Drained(NamedTuple):
    """What doing the tasks took."""

    worker_us: float
    """Processor time of the worker, and all processes below it, for a task."""
    dashboard_share: float
    """Of one core."""
    looks: int
    """How often the page changed before the visitor's eyes."""


class Visitor:
    """Follows a page until the stream is cut."""

    def __init__(self, served: Served, page: str) -> None:
        self.looks = 0
        self._connection = HTTPConnection(served.host, served.port, timeout=60.0)
        self._connection.request("GET", f"/live{page}", headers={"Accept": "text/event-stream"})
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise SystemExit(f"/live{page} answered {self._answer.status}")
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        # It ends when the dashboard does.
        with suppress(HTTPException, OSError):
            for line in self._answer:
                self.looks += line.startswith(b"data: ")

    def leave(self) -> None:
        """After the dashboard has ended."""
        self._thread.join()
        self._connection.close()


@contextmanager
def nobody(address: Address, page: str) -> Iterator[None]:
    """No dashboard."""
    yield


@contextmanager
def somebody(address: Address, page: str) -> Iterator[tuple[int, Visitor]]:
    """A dashboard with a visitor: its process, and who looks."""
    with dashboard(address) as served:
        visitor = Visitor(served, page)
        yield served.pid, visitor
    visitor.leave()


async def drain(address: Address, tasks: int, seen: tuple[int, Visitor] | None) -> Drained:
    """Let a worker do so many tasks."""
    async with loaded(address, tasks, {}) as (client, worker):
        pids = [worker, *([seen[0]] if seen else [])]
        before, began = [cpu_seconds(pid) for pid in pids], time.monotonic()
        await drained(client)
        took = time.monotonic() - began
        used = [cpu_seconds(pid) - least for pid, least in zip(pids, before, strict=True)]
        share, looks = (used[1] / took, seen[1].looks) if seen else (0.0, 0)
        return Drained(used[0] / tasks * 1e6, share, looks)


def turn(address: Address, number: int, tasks: int) -> tuple[Drained, Drained]:
    """Without and with a visitor, who comes first in every other turn."""
    page, told = PAGES[number % len(PAGES)], {}
    for scene in (nobody, somebody) if number % 2 else (somebody, nobody):
        with scene(address, page) as seen:
            told[scene] = asyncio.run(drain(address, tasks, seen))
    return told[nobody], told[somebody]


def report(turns: Sequence[tuple[Drained, Drained]]) -> tuple[str, bool]:
    """A line for the worker and one for each page; and whether all is within bounds."""
    ratios = Spread.of([seen.worker_us / alone.worker_us for alone, seen in turns])
    median = statistics.median(alone.worker_us for alone, _ in turns)
    lines = [
        f"a worker's processor time: {median:.1f} us a task; with a visitor {ratios.median:.3f} of that "
        f"({ratios.least:.2f} to {ratios.most:.2f}, {len(turns)} turns)",
        "| page | the dashboard's share of a core | changes seen |",
        "| --- | ---: | ---: |",
    ]
    shares = []
    for at, page in enumerate(PAGES[: len(turns)]):
        of_page = [seen for _, seen in turns[at :: len(PAGES)]]
        shares.append(statistics.median(seen.dashboard_share for seen in of_page))
        lines.append(f"| {page} | {100 * shares[-1]:.1f} % | {sum(seen.looks for seen in of_page)} |")
    return "\n".join(lines), abs(ratios.median - 1) <= MOST and max(shares) <= MOST


def main() -> None:
    """Read the command line, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--drained", type=int, default=30_000, help="tasks that the worker does each time")
    options = parser.parse_args()
    turns: list[tuple[Drained, Drained]] = []
    with address_of(options) as address:
        asyncio.run(_made(address, options.tasks))
        for number in range(options.turns):
            turns.append(turn(address, number, options.drained))
            alone, seen = turns[-1]
            print(
                f"turn {number + 1} of {options.turns}: {alone.worker_us:.0f} us alone, {seen.worker_us:.0f} us seen, "
                f"dashboard {100 * seen.dashboard_share:.1f} %, load {os.getloadavg()[0]:.1f}",
                file=sys.stderr, flush=True,
            )  # fmt: skip
    told, good = report(turns)
    print(told)
    sys.exit(0 if good else 1)


async def _made(address: Address, tasks: int) -> None:
    store = store_at(address)
    try:
        await made(store, address, tasks)
    finally:
        await store.close()


if __name__ == "__main__":
    main()
