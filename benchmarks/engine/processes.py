"""Processor time of process trees, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """A process and all below it; those that end meanwhile are left out."""
    found = [pid]
    for parent in found:
        for task in _listed(Path(f"/proc/{parent}/task")):
            found += [int(child) for child in _read(task / "children").split()]
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def cpu_seconds(pid: int) -> float:
    """User and system time so far of a process, all below it, and what already ended below them."""
    return sum(_ticks(each) for each in tree(pid)) / TICKS


def _ticks(pid: int) -> int:
    # The name of the program stands in brackets and may hold anything, brackets too.
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15])


def postmaster(backend: int) -> int | None:
    """The server's first process, given the number of one that serves a connection; None where it runs elsewhere."""
    fields = _read(Path(f"/proc/{backend}/stat")).rpartition(")")[2].split()
    return int(fields[1]) if _read(Path(f"/proc/{backend}/comm")).strip() == "postgres" and fields else None
