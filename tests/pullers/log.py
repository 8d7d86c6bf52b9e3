"""What handlers did to the world, in the order in which they did it: begins and ends in one file that only grows.

A line is written in one piece and stays when its process is killed. So the order of the lines is the order in time, as
somebody outside sees it who knows nothing of any database.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

Path_ = tuple[str, ...]


class Run(NamedTuple):
    """One claim of a task, from its first effect to its last."""

    seq: int
    fence: int
    ticket: int
    path: Path_
    begin: int
    end: int


class Log:
    """The file; any number of processes may have it open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def begin(self, name: str, seq: int, fence: int, ticket: int, path: Path_) -> None:
        """A handler begins."""
        self._write("begin", name, seq, fence, ticket, path)

    def end(self, name: str, seq: int, fence: int) -> None:
        """It has done all that it does; only after that it says so to the store."""
        self._write("end", name, seq, fence)

    def dead(self, prefix: str) -> None:
        """A process is gone, and all whose names begin so with it."""
        self._write("dead", prefix)

    def _write(self, *line: object) -> None:
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def lines(self) -> int:
        """How much happened so far."""
        return self._path.read_bytes().count(b"\n")

    def runs(self) -> list[Run]:
        """Every run with its end.

        Raises:
            AssertionError: a run never ended.
        """
        open_: dict[tuple[str, int, int], Run] = {}
        done: list[Run] = []
        for place, text in enumerate(self._path.read_text().splitlines()):
            what, name, *rest = json.loads(text)
            if what == "begin":
                seq, fence, ticket, path = rest
                open_[name, seq, fence] = Run(seq, fence, ticket, tuple(path), place, -1)
            elif what == "end":
                done.append(open_.pop((name, *rest))._replace(end=place))
            else:
                done += [open_.pop(key)._replace(end=place) for key in [*open_] if key[0].startswith(name)]
        assert not open_, f"these never ended: {open_}"
        return sorted(done, key=lambda run: run.begin)


def conflict(a: Path_, b: Path_) -> bool:
    """Told again, for whoever checks may not ask the one who is checked."""
    return all(one == other for one, other in zip(a, b, strict=False))


def wrong(runs: list[Run]) -> Iterator[str]:
    """Promise I7: no two on conflicting paths at once, nobody before an earlier ticket."""
    together: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        together[run.path[0]].append(run)
    for several in together.values():
        for first, second in combinations(several, 2):
            if not conflict(first.path, second.path):
                continue
            if second.begin < first.end:
                yield f"{second} began while {first} ran"
            if first.ticket > second.ticket or (first.ticket == second.ticket) != (first.seq == second.seq):
                yield f"{second} came after {first}"


def met(runs: list[Run]) -> int:
    """How many had one before them that conflicts: without any nothing is shown."""
    latest: dict[Path_, int] = defaultdict(int)
    for run in runs:
        for size in range(1, len(run.path) + 1):
            latest[run.path[:size]] += 1
    return sum(latest[run.path] > 1 for run in runs)
