"""A pytest plugin for the runs of mutmut, which tries the same few tests thousands of times."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

DURATIONS = Path("mutmut-stats.json")
"""What mutmut wrote about the run without a change, beside the changed copy of the project."""

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


def _durations() -> dict[str, float]:
    """Seconds of each test in the run without a change; nothing before that run."""
    if not DURATIONS.exists():
        return {}
    recorded: dict[str, float] = json.loads(DURATIONS.read_text())["duration_by_test"]
    return recorded


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quickest first: most changes are noticed by many tests."""
    durations = _durations()
    left_out = [item for item in items if item.name.partition("[")[0] in SIMULATIONS]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = sorted((item for item in items if item not in left_out), key=lambda item: durations.get(item.nodeid, 0))


def pytest_runtestloop() -> None:
    """mutmut forks from a process that ran all tests: what that has kept was worked out without the change."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("ramet.", "tests.")):
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if clear is not None:
                    clear()
