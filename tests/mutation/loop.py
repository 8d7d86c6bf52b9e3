"""A pytest plugin: runs the collected tests once, then for each change those of them that reach it, the quickest first.

Every change is tried in a fork of one process that has collected the tests already. mutmut, whose changes these are,
starts pytest anew for each, which takes a hundred times as long as most tests here.
"""

from __future__ import annotations

import fnmatch
import gc
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

ANEW = "RAMET_MUTANTS"
"""Names of changes, with ``*`` for any text, that are tried although they were decided before."""
PROCESSES = "RAMET_MUTATION_PROCESSES"
NO_TEST = 33
"""mutmut's status of a change that no test reaches."""
DECIDED = (1, -24)
SAVE_EVERY = 50

SIMULATIONS = (
    "test_shares_are_equal_in_units_not_in_calls",
    "test_of_two_buckets_the_scarce_one_is_shared_and_nobody_waits_for_the_other",
    "test_what_a_lineage_does_not_come_for_goes_to_the_others",
    "test_a_lineage_with_one_caller_gets_as_much_as_one_with_a_hundred",
)
"""Tests that take seconds each. What they find, small ones have to find as well."""

# The same examples every time, and none made smaller: only whether a test fails is of interest.
settings.register_profile(
    "mutants",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")


class Results:
    """mutmut's files about the changes: one below ``src`` for each file of the package."""

    def __init__(self, folder: Path) -> None:
        self.files = {path: json.loads(path.read_text("utf-8")) for path in sorted(folder.rglob("*.py.meta"))}
        self.unsaved = 0

    def names(self) -> Iterator[tuple[Path, str]]:
        """Changes to try: those that are not decided, and those that are asked for."""
        asked = os.environ.get(ANEW, "").split()
        named, patterns = {name for name in asked if "*" not in name}, [name for name in asked if "*" in name]
        for path, told in self.files.items():
            for name, status in told["exit_code_by_key"].items():
                if (
                    name in named
                    or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
                    or (not asked and status not in DECIDED)
                ):
                    yield path, name

    def put(self, path: Path, name: str, status: int) -> None:
        """What came of one."""
        self.files[path]["exit_code_by_key"][name] = status
        self.unsaved += 1
        if self.unsaved >= SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """A run that is broken off goes on from here."""
        for path, told in self.files.items():
            path.write_text(json.dumps(told, indent=1), "utf-8")
        self.unsaved = 0


class Failures:
    """Notes whether the test that runs now fails."""

    def __init__(self) -> None:
        self.seen = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of the three phases of a test has ended."""
        self.seen = self.seen or report.failed

    def run(self, items: Sequence[pytest.Item]) -> bool:
        """Run them until one fails."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.seen:
                return True
        return False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long ones are left out."""
    left_out = [item for item in items if item.name.partition("[")[0] in SIMULATIONS]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _who_reaches_what(items: Sequence[pytest.Item], failures: Failures) -> dict[str, list[tuple[float, pytest.Item]]]:
    """Of each function the tests that call it, the quickest first. They have to pass."""
    reached: dict[str, list[tuple[float, pytest.Item]]] = defaultdict(list)
    set_mutant_under_test("stats")
    for item, following in zip(items, [*items[1:], None], strict=True):
        # Whatever an earlier test has left in a cache would hide that this one reaches it.
        _forget()
        began = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.seen:
            pytest.exit(f"{item.nodeid} fails without a change", 1)
        for function in state()._stats:
            reached[function].append((time.process_time() - began, item))
        state()._stats.clear()
    set_mutant_under_test("")
    for several in reached.values():
        several.sort(key=lambda each: each[0])
    return reached


def _forget() -> None:
    """Empty every cache of the package and of the tests: what is in them was worked out without the change."""
    count = len(sys.modules)
    if count not in _CACHES:  # To look through all modules takes longer than most tests.
        names = [name for name in sys.modules if name.startswith(("ramet.", "tests."))]
        values = [value for name in names for value in vars(sys.modules[name]).values()]
        _CACHES[count] = [clear for value in values if callable(clear := getattr(value, "cache_clear", None))]
    for clear in _CACHES[count]:
        clear()


_CACHES: dict[int, list[Callable[[], object]]] = {}
"""What empties the caches, by the number of modules that were imported."""


def _try(name: str, tests: Sequence[tuple[float, pytest.Item]], failures: Failures) -> int:
    """In a process of its own; its id. It ends with 1 when a test noticed the change, with 0 when none did."""
    process = os.fork()
    if process:
        return process
    try:
        # Processor time: an endless loop is noticed, however busy the machine is.
        seconds = ceil(10.0 + 5.0 * sum(took for took, _ in tests))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        set_mutant_under_test(name)
        _forget()
        os._exit(failures.run([item for _, item in tests]))
    except BaseException:
        os._exit(1)


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Instead of one run of the tests."""
    if session.testsfailed:
        return False
    plugins = session.config.pluginmanager
    reporter: Any = plugins.unregister(name="terminalreporter")
    failures = Failures()
    plugins.register(failures)
    results, reached = Results(Path("src")), _who_reaches_what(session.items, failures)
    gc.freeze()
    todo = []
    for path, name in results.names():
        tests = reached.get(name.rpartition("__mutmut_")[0], [])
        if tests:
            todo.append((sum(took for took, _ in tests), path, name, tests))
        else:
            results.put(path, name, NO_TEST)
    todo.sort(key=lambda each: each[0])
    running: dict[int, tuple[Path, str]] = {}
    for at, (_, path, name, tests) in enumerate(todo):
        if at % SAVE_EVERY == 0:
            reporter.write_line(f"{at} of {len(todo)} changes tried")
        running[_try(name, tests, failures)] = path, name
        if len(running) >= int(os.environ.get(PROCESSES, "2")):
            _wait(running, results)
    while running:
        _wait(running, results)
    results.save()
    plugins.register(reporter, "terminalreporter")
    return True


def _wait(running: dict[int, tuple[Path, str]], results: Results) -> None:
    process, status = os.wait()
    path, name = running.pop(process)
    results.put(path, name, os.waitstatus_to_exitcode(status))
