"""Processor time and memory of process trees, as Linux tells them."""

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


def resident_mb(pid: int) -> float:
    """Largest resident memory so far, of a process and all below it, in millions of bytes."""
    total = 0
    for each in tree(pid):
        for line in _read(Path(f"/proc/{each}/status")).splitlines():
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1_024
    return total / 1e6
