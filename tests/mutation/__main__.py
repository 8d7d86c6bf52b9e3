"""Changes ``model/`` in thousands of small ways, one at a time: some test of ``tests/model`` must notice each.

    python -m tests.mutation                          # all that was not noticed yet; results stay in mutants/
    python -m tests.mutation --processes 4
    python -m tests.mutation 'ramet.model.lineage.guard.*'    # these anew
    python -m tests.mutation --sample 400             # so many of all, drawn by --seed; the share with its bounds
    python -m tests.mutation --report                 # what was found before

mutmut changes functions and methods, not constants, and none that has a decorator. Ends with status 1 when fewer than
19 of 20 are noticed; after a sample, when the share of all changes is below that for certain: the whole 95 % interval.
(A share of 96 % would fail one sample of 100 in five, were it held to the bar itself.) A change that no test can notice
is listed with its reason in ``tests/mutation/equivalent.py``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutation.equivalent import EQUIVALENT, same_meaning

FOLDER = "mutants"
"""A copy of the project in which every function is there in all its forms, and what came of each."""
COPY = {"CI": ""}
"""The environment of tests in the copy: those that need data beside the project may skip there, in CI too."""
NO_TEST = 33
"""No test reaches it."""

PROJECT = Path(__file__).parents[2]
SHARE_MIN = 0.95
VERDICTS = {0: "survived", 1: "killed", NO_TEST: "survived", -24: "timeout", None: "undecided"}
"""How the process ended that tried a change. -24: by SIGXCPU, at the end of its processor time."""


class Mutant(NamedTuple):
    """One change and what came of it."""

    name: str
    """``ramet.model.lineage.guard.x_check_spawn__mutmut_7``."""
    verdict: str

    @property
    def function(self) -> str:
        """The function, as people write it: ``guard.check_spawn``, ``rates.Rate.gained``."""
        whole = self.name.rpartition("__mutmut_")[0].removeprefix("ramet.model.")
        module, _, mangled = whole.rpartition(".")
        name = mangled.removeprefix("x_") if mangled.startswith("x_") else mangled[1:].strip("ǁ").replace("ǁ", ".")
        return f"{module.rpartition('.')[2]}.{name}"


def mutants(folder: Path) -> Iterator[Mutant]:
    """All of the last run."""
    for path in sorted(folder.glob("src/ramet/model/**/*.py.meta")):
        for name, status in json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"].items():
            yield Mutant(name, VERDICTS.get(status, "undecided"))


def lines_of(diff: str) -> tuple[str, str]:
    """What a change took away and what it put there, each on one line."""
    lines = [line for line in diff.splitlines() if line[:3] not in ("---", "+++")]
    old, new = ([line[1:].strip() for line in lines if line[:1] == sign] for sign in "-+")
    return " ".join(old), " ".join(new)


def changed_lines(mutant: Mutant) -> tuple[str, str]:
    """The lines of the function before and after."""
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("mutmut")), "show", mutant.name],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return lines_of(shown.stdout)


class Outcome(NamedTuple):
    """The sum of a run."""

    counts: Mapping[str, int]
    survivors: tuple[str, ...]
    unused: tuple[tuple[str, str, str], ...]
    """Entries of the list of equivalent changes that fit no survivor."""

    @property
    def share(self) -> float:
        """Noticed, of those that could be."""
        noticed = self.counts["killed"] + self.counts["timeout"]
        return noticed / max(1, noticed + self.counts["survived"])

    def bounds(self) -> tuple[float, float]:
        """Of the share among all changes, when these are a sample of them: Wilson's, 95 %."""
        z, tried = 1.96, max(1, self.counts["killed"] + self.counts["timeout"] + self.counts["survived"])
        middle = (self.share + z * z / (2 * tried)) / (1 + z * z / tried)
        half = z * math.sqrt(self.share * (1 - self.share) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
        return middle - half, middle + half

    def enough(self, *, sample: bool) -> bool:
        """Return whether the share of all changes reaches the bar; of a sample, whether it may."""
        return (self.bounds()[1] if sample else self.share) >= SHARE_MIN


def outcome(found: Iterable[tuple[Mutant, tuple[str, str]]], equivalent: Iterable[tuple[str, str, str]]) -> Outcome:
    """Of each change its verdict, and its lines where it survived."""
    unused, counts, survivors = {*equivalent}, Counter[str](), []
    known = frozenset(unused)
    for mutant, lines in found:
        change = (mutant.function, *lines)
        verdict = mutant.verdict
        if verdict == "survived" and change in known:
            unused.discard(change)
            verdict = "equivalent"
        elif verdict == "survived" and any(lines) and same_meaning(*lines):
            verdict = "equivalent"
        elif verdict == "survived":
            survivors.append(f"{mutant.name}\n    - {lines[0]}\n    + {lines[1]}")
        counts[verdict] += 1
    return Outcome(counts, tuple(survivors), tuple(sorted(unused)))


def say(told: Outcome) -> None:
    """The figures, and what is left to do."""
    order = ("killed", "timeout", "survived", "equivalent", "undecided")
    lines = [*told.survivors, *(f"equivalent, but not found: {entry}" for entry in told.unused)]
    lines.append(
        f"{sum(told.counts.values())} changes: " + ", ".join(f"{told.counts[verdict]} {verdict}" for verdict in order)
    )
    lines.append(f"{told.share:.2%} of those that could be noticed were, {SHARE_MIN:.0%} are wanted")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def make(folder: Path) -> None:
    """Write every change into the copy; what is decided about functions that stayed as they were is kept."""
    shutil.rmtree(folder / "tests", ignore_errors=True)
    folder.mkdir(exist_ok=True)
    code = (
        "from mutmut.__main__ import create_mutants; from mutmut.utils import file_utils as files;"
        "files.copy_src_dir(); files.copy_also_copy_files(); create_mutants(1)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder.parent, check=True, stdout=subprocess.DEVNULL)


def try_all(folder: Path, names: Sequence[str], processes: int) -> None:
    """Run the tests against each change."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-p",
        "tests.mutation.loop",
        "-p",
        "no:cacheprovider",
        "tests/model",
    ]
    paths = os.pathsep.join([str(folder / "src"), str(folder)])
    own = {"PYTHONPATH": paths, "RAMET_MUTANTS": " ".join(names), "RAMET_MUTATION_PROCESSES": str(processes)}
    subprocess.run(command, cwd=folder, env={**os.environ, **COPY, "MUTANT_UNDER_TEST": "", **own}, check=True)


def main() -> int:
    """0 when enough changes were noticed, none is undecided, and the list of equivalent ones is true."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sample", type=int, metavar="N", help="of all changes, N at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("names", nargs="*", help="of changes, with * for any text")
    options = parser.parse_args()
    if not options.report:
        make(PROJECT / FOLDER)
    names = options.names
    if options.sample:
        names = sampled([each.name for each in mutants(PROJECT / FOLDER)], options.sample, options.seed)
    if not options.report:
        try_all(PROJECT / FOLDER, names, options.processes)
    wanted = frozenset(names) if options.sample else None
    looked_at = [each for each in mutants(PROJECT / FOLDER) if wanted is None or each.name in wanted]
    found = ((each, changed_lines(each) if each.verdict == "survived" else ("", "")) for each in looked_at)
    told = outcome(found, EQUIVALENT)
    if options.sample:  # Entries of the list may be about changes that were not drawn.
        told = told._replace(unused=())
    say(told)
    if options.sample:
        low, high = told.bounds()
        sys.stdout.write(
            f"a sample: {low:.1%} to {high:.1%} of all changes (95 %); it fails below the bar for certain\n"
        )
    enough = told.enough(sample=bool(options.sample))
    return int(not enough or told.counts["undecided"] > 0 or bool(told.unused))


def sampled(names: Sequence[str], count: int, seed: int) -> list[str]:
    """So many of these, the same for the same seed."""
    return random.Random(seed).sample(sorted(names), min(count, len(names)))


if __name__ == "__main__":
    sys.exit(main())
