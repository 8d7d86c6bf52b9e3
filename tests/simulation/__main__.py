"""Run seeds from a shell: one with its whole trace, or many with a line for each that fails.

``python -m tests.simulation [DATABASE] SEED``, ``... [DATABASE] FIRST STOP STEP`` and
``... [DATABASE] --from FIRST --seeds COUNT``, on ``sqlite`` (the default) or ``postgres``.
"""

from __future__ import annotations

import argparse
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
    """Returns the exit code: 1 when any seed found something."""
    on = arguments.pop(0) if arguments and arguments[0] in SIMULATED else "sqlite"
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Run seeds of the simulation.")
    parser.add_argument(
        "numbers", nargs="*", type=int, metavar="SEED", help="one seed; or the first, the stop and a step"
    )
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="FIRST", help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=None, metavar="COUNT", help="how many seeds to run")
    asked = parser.parse_args(arguments)
    numbers: list[int] = asked.numbers
    if (asked.seeds is None) == (not numbers) or len(numbers) > 3:
        parser.error("give one seed; or FIRST STOP STEP; or --seeds COUNT, with or without --from FIRST")
    if asked.seeds is not None:
        numbers = [asked.first, asked.first + asked.seeds]
    with tempfile.TemporaryDirectory() as folder:
        if len(numbers) == 1:
            return replay(on, numbers[0], Path(folder))
        return survey(on, range(*numbers), Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
