"""What every peer can be asked, each time in a new process: ``python -m benchmarks.peers.NAME ROLE ADDRESS ...``.

    about ADDRESS                versions, settings, durability, how to see that it is done
    prepare ADDRESS              make its tables
    submit ADDRESS N TASK        enqueue the numbers 0..N-1 in bulk, tell how long that took
    tree ADDRESS LEVELS          enqueue the root of a tree, with so many generations below it
    pick-up ADDRESS SAMPLES      one task at a time to a waiting worker, tell how soon each began
    work ADDRESS                 run a worker until SIGTERM or worse

The last line on standard output is the answer, as JSON. A task is "noop" (nothing), "effect" (2 ms, then a line in the
log of effects; a pick-up is one without the 2 ms) or "tree" (its handler enqueues ten children, in the way that the
queue's documentation calls fast, until there are enough generations).
"""

from __future__ import annotations

import abc
import asyncio
import importlib.metadata
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from benchmarks.peers.record import EFFECTS, Record, end_when_told, folder

BULK = 1_000
EFFECT_SECONDS = 0.002
TEXT = "x" * 150
"""Makes a payload of about 200 bytes."""
FAN_OUT = 10
"""Children of a task of the tree."""
PAUSE_SECONDS_MAX = 0.05
PICK_UP_SECONDS_MAX = 60.0
SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
"""What the numbers of SQLite's PRAGMA synchronous mean."""


class Job(NamedTuple):
    """One task to submit."""

    number: int
    task: str
    """noop, effect or tree."""
    seconds: float = 0.0
    """How long an effect takes before it is one."""
    levels: int = 0
    """Generations below this task of a tree."""

    def payload(self) -> dict[str, Any]:
        """As every peer stores it."""
        if self.task == "tree":
            return {"number": self.number, "levels": self.levels, "text": TEXT}
        return {"number": self.number, "seconds": self.seconds, "text": TEXT}


def children(number: int, levels: int) -> list[Job]:
    """What a task of the tree enqueues; every task of a tree has a number of its own."""
    numbers = range(number * FAN_OUT + 1, (number + 1) * FAN_OUT + 1) if levels else ()
    return [Job(each, "tree", levels=levels - 1) for each in numbers]


class Peer(abc.ABC):
    """A queue as its users would set it up."""

    packages: ClassVar[tuple[str, ...]]
    """Whose versions matter."""
    settings: ClassVar[str]
    unfinished: ClassVar[str]
    """A query for one truth value: is anything left to run, or running? Empty where none is cheap: then bodies count,
    not completions, and the worker tells how many there were."""
    after_kill: ClassVar[str]
    """How a task comes back whose worker was killed, and with which settings."""

    def __init__(self, address: str) -> None:
        self.address = address

    @abc.abstractmethod
    async def prepare(self) -> None:
        """Make its tables."""

    @abc.abstractmethod
    async def open(self) -> None:
        """Get ready to submit."""

    @abc.abstractmethod
    async def submit(self, jobs: Sequence[Job]) -> None:
        """Enqueue these, the fastest documented way for so many; return when they are stored."""

    async def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what :meth:`open` opened."""

    def serve(self) -> None:
        """Be a worker process, until SIGTERM or worse."""
        record = Record(folder())
        end_when_told(record)
        self.work(record)

    @abc.abstractmethod
    def work(self, record: Record) -> None:
        """Run a worker in this process; does not return."""

    async def durability(self) -> str:
        """What a commit means here, asked from its own connection where that can be; empty: the server says it."""
        return ""


def run(peer: type[Peer]) -> None:
    """Do what the command line asks."""
    role, address, *rest = sys.argv[1:]
    if role == "work":
        peer(address).serve()
        return
    answer = asyncio.run(_answer(peer(address), role, rest))
    print(json.dumps(answer), flush=True)
    # Some leave threads behind that never end.
    os._exit(0)


async def _answer(peer: Peer, role: str, rest: Sequence[str]) -> dict[str, Any]:
    if role == "about":
        return await _about(peer)
    if role == "prepare":
        await peer.prepare()
        return {}
    await peer.open()
    if role == "submit":
        answer = await _submit(peer, int(rest[0]), rest[1])
    elif role == "tree":
        answer = await _plant(peer, int(rest[0]))
    else:
        answer = await _pick_up(peer, folder() / EFFECTS, int(rest[0]))
    await peer.close()
    return answer


async def _about(peer: Peer) -> dict[str, Any]:
    return {
        "versions": {name: importlib.metadata.version(name) for name in peer.packages},
        "settings": peer.settings,
        "unfinished": peer.unfinished,
        "after_kill": peer.after_kill,
        "durability": await peer.durability(),
    }


async def _submit(peer: Peer, tasks: int, task: str) -> dict[str, Any]:
    seconds = EFFECT_SECONDS if task == "effect" else 0.0
    began = time.perf_counter()
    for first in range(0, tasks, BULK):
        await peer.submit([Job(number, task, seconds) for number in range(first, min(first + BULK, tasks))])
    return {"seconds": time.perf_counter() - began}


async def _plant(peer: Peer, levels: int) -> dict[str, Any]:
    began = time.perf_counter()
    await peer.submit([Job(0, "tree", levels=levels)])
    return {"seconds": time.perf_counter() - began}


async def _pick_up(peer: Peer, effects: Path, samples: int) -> dict[str, Any]:
    """The first waits for the worker to be there and does not count; pauses differ, so that no poll is in step."""
    chance = random.Random(1)
    submits, latencies = [], []
    for number in range(samples + 1):
        await asyncio.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
        asked_at = time.time()
        await peer.submit([Job(number, "effect")])
        submits.append((time.time() - asked_at) * 1_000)
        latencies.append((await _began_at(effects, number) - asked_at) * 1_000)
    return {"latencies_ms": latencies[1:], "submits_ms": submits[1:]}


async def _began_at(effects: Path, number: int) -> float:
    give_up_at = time.monotonic() + PICK_UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        written = _end_of(effects)
        last = written.splitlines()[-1].split() if written.endswith(b"\n") else []
        if last and int(last[0]) == number:
            return float(last[1])
        await asyncio.sleep(0.001)
    raise TimeoutError(f"task {number} was not picked up within {PICK_UP_SECONDS_MAX:.0f} s")


def _end_of(effects: Path) -> bytes:
    return effects.read_bytes()[-100:] if effects.exists() else b""


async def handle_async(record: Record, number: int, seconds: float) -> None:
    """The body of an effect where handlers are coroutines."""
    record.ran(number)
    if seconds:
        await asyncio.sleep(seconds)
    record.effect(number)


def handle(record: Record, number: int, seconds: float) -> None:
    """The same where they are functions."""
    record.ran(number)
    if seconds:
        time.sleep(seconds)
    record.effect(number)
