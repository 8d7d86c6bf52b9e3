"""Every fault that a seed found has that seed here, with the parts that it had, and what it was.

Half of them were faults of the judge: what it takes for broken is as much a claim as what the engine promises.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.simulation.simulate import Plan, simulate
from tests.simulation.workload_parts import PARTS


class Found(NamedTuple):
    """A seed that once reported something."""

    seed: int
    parts: frozenset[str]
    what: str
    often: bool = False
    """True for those of the ordinary run; the others are kept for the nightly one."""


def row(seed: int, parts: str, what: str, *, often: bool = False) -> Found:
    return Found(seed, frozenset(parts.split(", ")), what, often)


_PROBE = "engine: who gave its ticket up for an open breaker never tried the resource after the cool-down"
_PAUSES = "judge: a queue's pause was forgotten, and a lineage's that lay in it was taken for the only one"
_BELL = "judge: an earlier run that a person opened again was taken for the last run of its schedule"
_OFFERED = "judge: an earlier run that had a spawn offered again was taken for the last run of its schedule"
_FORGOTTEN = "judge: a slot that was forgotten and came again was taken to run beside itself"
_ENDED = "judge: a lineage that ended while it was paused was taken to be paused until somebody resumed it"
_SETTLER = "judge: items whose settler was pruned were taken for tasks whose handlers left no effect"
FOUND = (
    row(426, "at once, paths, upgrade", _PROBE),
    row(369, "at once, lineage end, paths, source", _PROBE, often=True),
    row(145, "at once, lineage end, paths, restore, schedules", _PROBE),
    row(229, "at once, lineage end, paths, restore, source, stages, upgrade", _PROBE),
    row(280, "at once, lineage end, paths, restore, schedules, upgrade", _PROBE),
    row(300, "at once, lineage end, paths, schedules, stages", _PROBE),
    row(315, "binding, lineage end, paths, prune, schedules, stages", _PROBE),
    row(341, "at once, binding, lineage end, paths, source", _PROBE),
    row(384, "lineage end, paths, prune, restore, schedules, upgrade", _PROBE),
    row(111, "at once, paths, prune, schedules, source, upgrade", f"{_PAUSES}; {_BELL}; {_PROBE}"),
    row(137, "at once, binding, lineage end, restore, schedules, source", _BELL, often=True),
    row(136, "binding, lineage end, prune, schedules", _SETTLER),
    row(
        123,
        "binding, lineage end, paths, prune, restore, schedules, source, stages, upgrade",
        f"{_SETTLER}; {_PROBE}",
    ),
    row(60300, "at once, binding, chains, lineage end, money, paths, prune, restore, source, upgrade", _ENDED),
    row(60477, "at once, binding, money, paths, schedules, source, stages, trees", _ENDED),
    row(60504, "at once, binding, lineage end, prune, restore, schedules, source, stages, trees", _FORGOTTEN),
    row(60710, "money, prune, schedules, source, stages, trees, upgrade", _OFFERED),
)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(found, id=f"{found.seed}: {found.what}", marks=[] if found.often else pytest.mark.nightly)
        for found in FOUND
    ],
)
def test_what_a_seed_found_is_mended(found: Found, tmp_path: Path) -> None:
    assert found.parts <= set(PARTS)
    assert simulate(Plan(found.seed, parts=found.parts), tmp_path).violations == []
