"""Ends the process that it is loaded into, by kill -9, at one exact point. The tests' app loads it, the product never.

Points are all that the engine does to the world: every statement to the database, commits included, and every frame
between supervisor and handler process; before it and after it.
"""

from __future__ import annotations

import os
import signal
import sys
from asyncio import StreamWriter
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ramet.store.sqlite.session import SqliteSession

POINT, FOLDER = "RAMET_TEST_KILL_POINT", "RAMET_TEST_KILL_FOLDER"
HEAD, TAIL = 36, 28
"""Characters of a statement's name: enough to tell what it does to which table, and on which condition."""
FRAME_HEAD = 4


class Point(NamedTuple):
    """Where a process dies."""

    role: str
    """``worker`` (the supervisor with its maintenance), ``child`` (where handlers run) or ``client``."""
    name: str
    when: str
    """``before`` or ``after``."""


def role() -> str:
    """What this process is."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = "" if spec is None else spec.name
    return {"ramet.engine.worker.child": "child", "tests.crash.submitting": "client"}.get(module, "worker")


class Points:
    """Notes every point that this process comes to, and dies at the one that it was told."""

    def __init__(self, folder: Path, wanted: str) -> None:
        self._folder, self._wanted, self._role = folder, wanted, role()
        self._counts: Counter[Point] = Counter()

    def reach(self, name: str, when: str) -> None:
        point = Point(self._role, name, when)
        self._counts[point] += 1
        if self._counts[point] == 1:
            with (self._folder / f"seen-{os.getpid()}").open("a") as seen:
                seen.write("|".join(point) + "\n")
        if self._wanted == "|".join((*point, str(self._counts[point]))):
            self._die()

    def _die(self) -> None:
        """Once for all processes of a run: who comes after the dead one lives."""
        try:
            os.close(os.open(self._folder / "died", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any], name_of: Callable[[Any], str]) -> Callable[..., Any]:
        """``call(self, what, ...)`` with a point before and after it."""

        def reached(owner: Any, what: Any, *more: Any) -> Any:
            name = name_of(what)
            self.reach(name, "before")
            answer = call(owner, what, *more)
            self.reach(name, "after")
            return answer

        return reached


def _statement(sql: str) -> str:
    """Its name, whatever values its text holds."""
    text = " ".join(sql.replace("NULL", "?").split()).replace("|", "/")
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]} .. {text[-TAIL:]}"


def _frame(data: bytes) -> str:
    return "frame " + bytes(data[FRAME_HEAD : FRAME_HEAD + 20]).decode(errors="replace").split('"')[1]


def install() -> None:
    """Where a folder for it is named in the environment."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    points = Points(Path(folder), os.environ.get(POINT, ""))
    for verb in ("rows", "run", "_many"):
        setattr(SqliteSession, verb, points.around(getattr(SqliteSession, verb), _statement))
    StreamWriter.write = points.around(StreamWriter.write, _frame)  # type: ignore[method-assign]


def seen(folder: Path) -> list[Point]:
    """Every point that was reached by any process, in the order of each."""
    lines = [line for path in sorted(folder.glob("seen-*")) for line in path.read_text().splitlines()]
    return [Point(*line.split("|")) for line in dict.fromkeys(lines) if line.count("|") == 2]
