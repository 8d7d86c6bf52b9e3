"""Run seeds from a shell: one with its whole trace, or many with a line for each that fails.

``python -m tests.simulation [DATABASE] SEED`` and ``python -m tests.simulation [DATABASE] FIRST STOP STEP``, on
``sqlite`` (the default) or ``postgres``.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path

from tests.simulation.database import SIMULATED
from tests.simulation.simulate import Plan, simulate


def say(*lines: str) -> None:
    """A report is what this module is for."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def replay(on: str, seed: int, folder: Path) -> int:
    """Print everything that happens; 1 when a promise is broken."""
    run = simulate(Plan(seed, on, trace=True), folder)
    say(*run.trace)
    say(f"seed {seed}: {run.outcomes}, {run.deaths} deaths, {run.seconds:.0f} virtual seconds")
    say(*[f"BROKEN: {line}" for line in run.violations] or ["every promise holds"])
    return 1 if run.violations else 0


def survey(on: str, seeds: Iterable[int], folder: Path) -> int:
    """Print what fails and how to repeat it; then how many passed."""
    passed, failed = 0, 0
    for seed in seeds:
        try:
            found = simulate(Plan(seed, on), folder).violations
        except Exception:
            found = [traceback.format_exc()]
        passed, failed = passed + (not found), failed + bool(found)
        if found:
            say(f"make sim SEED='{on} {seed}'", *(f"  {line}" for line in found))
    say(f"passed {passed}")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    on = arguments.pop(0) if arguments[0] in SIMULATED else "sqlite"
    numbers = [int(argument) for argument in arguments]
    with tempfile.TemporaryDirectory() as folder:
        if len(numbers) == 1:
            return replay(on, numbers[0], Path(folder))
        return survey(on, range(*numbers), Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
