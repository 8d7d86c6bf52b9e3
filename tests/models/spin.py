"""Runs spin on a model of ``models/`` and reads what its search reports.

``spin -a`` writes the search for one model as a C program, gcc compiles it, and that program visits every state that
the model can reach. All of it happens in a folder of the caller's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

MODELS = Path(__file__).parents[2] / "models"
PROGRAMS = ("spin", "gcc")
MEMORY_MAX_MB = 1_900
DEPTH_MAX = 1_000_000
SECONDS_MAX = 1_800


ASSERTION, END_STATE, FOR_EVER = "assertion violated", "invalid end state", "acceptance cycle"
"""What a search can find: a state that must not be; a stop before all is done; a run that never ends."""

_BLIND_TO = {None: [], ASSERTION: ["-E"], END_STATE: ["-A"], FOR_EVER: ["-A"]}
"""A variant may fail in other ways as well: only what is expected of it counts."""


class Broken(NamedTuple):
    """A variant of a model that must fail."""

    name: str
    failure: str


class Run(NamedTuple):
    """One search of one model."""

    model: str
    """Name of its file, without the ending."""
    parameters: tuple[str, ...] = ()
    """``NAME=number``: sizes that differ from the file's own."""
    broken: Broken | None = None
    live: bool = False
    """Look for runs that never end, under weak fairness, and not for states that must not be."""
    sampled: bool = False
    """Too large to visit whole: two minutes of it in random order, remembering states by a few bits each."""


class Report(NamedTuple):
    """What the search said."""

    text: str
    errors: int
    states: int
    complete: bool
    failure: str | None
    """What went wrong first, without its details: ``assertion violated``, say."""
    unreached: tuple[str, ...]
    """Statements of the model that no state led to, as ``line: statement``; of a search for states only."""


def missing_programs() -> str | None:
    """Why no model can be checked here; None where it can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(missing)} (Debian: apt-get install {' '.join(missing)})" if missing else None


def check(run: Run, folder: Path) -> Report:
    """Search a model, in an empty folder.

    Raises:
        subprocess.CalledProcessError: the model is no Promela, or does not compile.
    """
    source = MODELS / f"{run.model}.pml"
    shutil.copy(source, folder)
    defines = [*run.parameters, *([run.broken.name] if run.broken else [])]
    _call(["spin", *(f"-D{name}" for name in defines), "-a", source.name], folder)
    # Most searches are over in seconds: what -O2 saves them is less than what it takes the compiler.
    options = ["-O0" if run.broken else "-O2" if run.sampled else "-O1", "-w", f"-DMEMLIM={MEMORY_MAX_MB}"]
    options += ["-DNFAIR=4"] if run.live else ["-DSAFETY", "-DNOCLAIM"]
    options += ["-DBITSTATE", "-DP_RAND", "-DT_RAND"] if run.sampled else []
    _call(["gcc", *options, "-o", "pan", "pan.c"], folder)
    search = [*(["-a", "-f"] if run.live else []), *_BLIND_TO[run.broken.failure if run.broken else None]]
    size = ["-w32", "-Q2"] if run.sampled else ["-w22"]
    return read_report(_call(["./pan", *search, f"-m{DEPTH_MAX}", *size], folder))


def _call(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL
    )
    told = done.stdout + done.stderr
    if done.returncode and command[0] != "./pan":
        raise subprocess.CalledProcessError(done.returncode, command, told)
    return told


_INCOMPLETE = ("Search not completed", "max search depth too small", "out of memory", "error: max", "reached -DMEMLIM")


def read_report(text: str) -> Report:
    """What a search printed, as facts. One that printed no totals has as many errors as one can fear: one."""
    errors = re.search(r"errors: (\d+)", text)
    states = re.search(r"([\d.e+]+) states, stored", text)
    failure = re.search(r"^pan:1: (assertion violated|invalid end state|acceptance cycle|[^(\n]*)", text, re.MULTILINE)
    unreached = re.findall(r"^\s+\S+\.pml:(\d+), state \d+, \"(.*)\"$", text, re.MULTILINE)
    return Report(
        text,
        int(errors[1]) if errors else 1,
        int(float(states[1])) if states else 0,
        errors is not None and not any(sign in text for sign in _INCOMPLETE),
        failure[1].strip() if failure else None,
        tuple(f"{line}: {statement}" for line, statement in unreached if statement != "-end-"),
    )


def described_variants(text: str) -> set[str]:
    """The broken variants that a model's opening comment describes."""
    return set(re.findall(r"^ \*   -D(\w+) +\w", text, re.MULTILINE))


def coded_variants(text: str) -> set[str]:
    """The names on which a model's text depends, its sizes apart."""
    conditions = "\n".join(re.findall(r"^#\s*(?:ifdef|ifndef|if|elif)\b.*$", text, re.MULTILINE))
    names = set(re.findall(r"\b[A-Z][A-Z_]+\b", conditions))
    return names - set(re.findall(r"^#ifndef (\w+)\n#define \1\b", text, re.MULTILINE))
