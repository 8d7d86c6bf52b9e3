"""What an article costs a large expansion, at its beginning and at its end, and how much memory it takes.

    python -m benchmarks.wiki_scale                                     # 100,000 articles, 1,000,000 links
    python -m benchmarks.wiki_scale --articles 20000 --links 200000 --json
    python -m benchmarks.wiki_scale --world world.jsonl --seed "River river 0" --folder DIR

One `ramet wiki expand` of a generated wiki (:mod:`benchmarks.worlds`), looked at from outside: processor time and
memory of all its processes several times a second, and afterwards when each article was loaded, from the database. So
nothing is measured by the process that is measured.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks.worlds import World, title_of, write

PARTS = 10
LOOK_SECONDS = 0.25
SHARE_OF_LEVEL = 0.02
"""A level with fewer of the articles says nothing about what one costs."""
EXPAND = (sys.executable, "-m", "ramet.cli", "wiki", "expand")


class Sample(NamedTuple):
    """What all processes of the run had used at a moment."""

    at: float
    """Unix time."""
    cpu_seconds: float
    rss_bytes: int
    """Summed over the processes, what they share counted for each: an upper bound."""
    processes: int


class Part(NamedTuple):
    """A stretch of the run in which so many articles were loaded."""

    articles: int
    seconds: float
    cpu_seconds: float
    rss_bytes: int
    """The most of any moment."""

    def shown(self) -> dict[str, float]:
        """As a row of the report."""
        return {
            "articles": self.articles,
            "seconds": round(self.seconds, 1),
            "articles_per_s": round(self.articles / max(self.seconds, 1e-9), 1),
            "wall_ms_per_article": round(self.seconds / self.articles * 1e3, 3),
            "cpu_ms_per_article": round(self.cpu_seconds / self.articles * 1e3, 3),
            "peak_rss_mb": round(self.rss_bytes / 1e6, 1),
        }


class Meter:
    """Looks at a process and all that it started."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._spent: dict[tuple[int, float], float] = {}
        self.peaks: dict[str, int] = {}
        """The most bytes of each process by itself."""

    def look(self) -> Sample:
        """Now. What a process used that has ended since the last look is what it had used then."""
        memory = 0
        processes = self._processes()
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    self._spent[process.pid, process.create_time()] = times.user + times.system
                    own = process.memory_info().rss
                    name = f"{process.pid}: {' '.join(process.cmdline()[1:4])}"
            except psutil.NoSuchProcess:
                continue
            memory += own
            self.peaks[name] = max(own, self.peaks.get(name, 0))
        return Sample(time.time(), sum(self._spent.values()), memory, len(processes))

    def _processes(self) -> Sequence[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def run(command: Sequence[str], log: Path) -> tuple[int, list[Sample], dict[str, int]]:
    """Run a command to its end, looking at it all the time; its exit status, what was seen, and each process's peak."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    meter = Meter(process.pid)
    samples = [meter.look()]
    try:
        while process.poll() is None:
            try:
                process.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                samples.append(meter.look())
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    samples.append(samples[-1]._replace(at=time.time()))
    return process.returncode, samples, meter.peaks


def loaded_at(database: Path) -> list[tuple[float, int]]:
    """When each article was loaded and how many links it is from the seed, in that order."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(
            "SELECT loaded_at, expansion_depth FROM wiki_articles WHERE loaded_at IS NOT NULL ORDER BY 1, 2"
        ).fetchall()
    finally:
        connection.close()


def parts(loaded: Sequence[float], samples: Sequence[Sample], *, number: int = PARTS) -> list[Part]:
    """The run in parts of as many articles each; the first from the start of the command, the last to its end."""
    marks = [samples[0].at, *(loaded[len(loaded) * at // number - 1] for at in range(1, number)), samples[-1].at]
    counts = [len(loaded) * (at + 1) // number - len(loaded) * at // number for at in range(number)]
    return _between(marks, counts, samples)


def levels(loaded: Sequence[tuple[float, int]], samples: Sequence[Sample]) -> list[Part]:
    """The run level by level, each from its first article until the first of the next.

    The links of a level are offered when it has ended, and drawn while the next is loaded: that belongs to it, and is
    not spread evenly over the tenths of a run.
    """
    first: dict[int, float] = {}
    counts: dict[int, int] = defaultdict(int)
    for at, depth in loaded:
        first.setdefault(depth, at)
        counts[depth] += 1
    depths = sorted(counts)
    marks = [samples[0].at, *(first[depth] for depth in depths[1:]), samples[-1].at]
    return _between(marks, [counts[depth] for depth in depths], samples)


def _between(marks: Sequence[float], counts: Sequence[int], samples: Sequence[Sample]) -> list[Part]:
    spent = [_spent_until(samples, mark) for mark in marks]
    return [
        Part(
            count, end - begin, spent[at + 1] - spent[at],
            max((sample.rss_bytes for sample in samples if begin <= sample.at <= end), default=0),
        )
        for at, (count, (begin, end)) in enumerate(zip(counts, pairwise(marks), strict=True))
    ]  # fmt: skip


def _spent_until(samples: Sequence[Sample], moment: float) -> float:
    """Processor seconds up to a moment, in a straight line between the looks around it."""
    after = min(max(bisect_left(samples, moment, key=lambda sample: sample.at), 1), len(samples) - 1)
    a, b = samples[after - 1], samples[after]
    share = (moment - a.at) / (b.at - a.at) if b.at > a.at else 0.0
    return a.cpu_seconds + min(max(share, 0.0), 1.0) * (b.cpu_seconds - a.cpu_seconds)


def report(loaded: Sequence[tuple[float, int]], samples: Sequence[Sample], peaks: dict[str, int]) -> dict[str, Any]:
    """Everything that was measured."""
    tenths, by_level = parts([at for at, _ in loaded], samples), levels(loaded, samples)
    large = [level for level in by_level if level.articles >= len(loaded) * SHARE_OF_LEVEL]
    seconds = samples[-1].at - samples[0].at
    return {
        "articles": len(loaded),
        "seconds": round(seconds, 1),
        "articles_per_s": round(len(loaded) / seconds, 1),
        "cpu_seconds": round(samples[-1].cpu_seconds, 1),
        "cpu_ms_per_article": round(samples[-1].cpu_seconds / len(loaded) * 1e3, 3),
        "peak_rss_mb": round(max(sample.rss_bytes for sample in samples) / 1e6, 1),
        "peak_rss_mb_of_each": {name: round(most / 1e6, 1) for name, most in sorted(peaks.items())},
        "last_to_first_tenth_cpu": _ratio(tenths),
        "last_to_first_large_level_cpu": _ratio(large),
        "tenths": [row.shown() for row in tenths],
        "levels": [row.shown() for row in by_level],
    }


def _ratio(rows: Sequence[Part]) -> float | None:
    """Processor time an article, of the last to the first; None where there are no two."""
    if len(rows) < 2:
        return None
    first, last = rows[0], rows[-1]
    return round(last.cpu_seconds / last.articles / (first.cpu_seconds / first.articles), 2)


def table(found: dict[str, Any]) -> str:
    """The report for people."""
    lines: list[str] = []
    for name in ("tenths", "levels"):
        columns = list(found[name][0])
        lines += [f"{name:>6}  " + "  ".join(f"{column:>19}" for column in columns)]
        for at, row in enumerate(found[name]):
            lines.append(f"{at:>6}  " + "  ".join(f"{row[column]:>19,}" for column in columns))
    for name, value in found.items():
        if isinstance(value, dict):
            lines += [f"{name}, {key}: {each:,}" for key, each in value.items()]
        elif not isinstance(value, list) and value is not None:
            lines.append(f"{name}: {value:,}")
    return "\n".join(lines)


def measure(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Expand in this folder.

    Raises:
        SystemExit: the command did not end well; its output is shown.
    """
    world = asked.world
    if world is None:
        world = folder / "world.jsonl"
        write(World(asked.articles, asked.links, asked.markup, asked.width), world)
    database, log = folder / "wiki.db", folder / "log"
    command = [
        *EXPAND, asked.seed, "--source", str(world), "--db", str(database), "--graph", str(folder / asked.graph),
        "--max-articles", str(asked.articles), "--max-depth", "100", *shlex.split(asked.options),
    ]  # fmt: skip
    status, samples, peaks = run(command, log)
    (folder / "samples.json").write_text(json.dumps({"samples": samples, "peaks": peaks}), encoding="utf-8")
    if status:
        sys.exit(f"{shlex.join(command)} ended with {status}:\n{log.read_text(errors='replace')[-3_000:]}")
    return report(loaded_at(database), samples, peaks)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wiki_scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--articles", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--markup", choices=("wikitext", "plain"), default="wikitext")
    parser.add_argument("--width", type=int, default=2_500, help="articles in a level; 0: most in two levels")
    parser.add_argument("--world", type=Path, help="a file that is there already")
    parser.add_argument("--seed", default=title_of(0))
    parser.add_argument("--graph", default="wiki.lbug", help="name of the graph: its suffix says which kind")
    parser.add_argument("--options", default="--embed none", help="further words for `ramet wiki expand`")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; a temporary one by default")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.folder is not None:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(asked.folder) if asked.folder else tempfile.TemporaryDirectory() as folder:
        found = measure(asked, Path(folder).absolute())
    print(json.dumps(found) if asked.json else table(found))


if __name__ == "__main__":
    main()
