"""The checker of chaos sees every broken promise: each way to break one is done by hand to what a sound run left."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from ramet import Limits
from ramet.store.sqlite.store import SqliteStore
from tests.chaos.apps.trees import Spot, app
from tests.chaos.checker import BROKEN, Verdict, promised, verdict
from tests.chaos.rows import Rows
from tests.chaos.workers import could_not_begin
from tests.faults.effects import EFFECTS, Effect, effects
from tests.faults.fault_app import Number, kind_of
from tests.support.waiting import worked_off

SIZE = 12
BUDGET = 7
Told = list[Effect]


class Left(NamedTuple):
    """What a sound run left."""

    database: Path
    told: Told


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Two trees, one of which has too small a budget, and a line of three."""
    return asyncio.run(sound_run(tmp_path_factory.mktemp("left")))


async def sound_run(folder: Path) -> Left:
    log = folder / "effects"
    log.write_text("")
    with patch.dict(os.environ, {EFFECTS: str(log)}):
        async with app.client(folder / "ramet.db") as client:
            for name, limits in (("whole", Limits(max_cost=9)), ("small", Limits(max_tasks=BUDGET))):
                await client.submit(kind_of(1), Number(n=1, size=SIZE), tracking_id=name, limits=limits)
            await client.submit("line", Spot(name="line", path=["p"], deeper=1, seconds=0.0), tracking_id="line")
            await worked_off(app, client)
            roots = [task for name in ("whole", "small", "line") for task in await client.roots(name)]
    submitted = [Effect(task.id, 0, "submitted", task.tracking_id) for task in roots]
    return Left(folder / "ramet.db", [*submitted, Effect("whole", 0, "lineage"), *effects(log)])


async def looked_at(
    left: Left, folder: Path, sql: str = "", change: Callable[[Told], Told] = list, *, whole: bool = True
) -> Verdict:
    """What the checker says of a copy to which this was done; unless ``whole``, of the promises by number only."""
    copy = folder / "ramet.db"
    shutil.copy(left.database, copy)
    with closing(sqlite3.connect(copy)) as database:
        database.executescript(f"PRAGMA ignore_check_constraints = ON; {sql}")
    store = SqliteStore(copy)
    try:
        told = change(list(left.told))
        if whole:
            return await verdict(store, told)
        findings = promised(await Rows.load(store), told)
        return Verdict(Counter(finding.what for finding in findings), tuple(findings), {})
    finally:
        await store.close()


async def test_a_sound_run_has_only_zeros_and_figures(left: Left, tmp_path: Path) -> None:
    found = await looked_at(left, tmp_path)
    assert found.findings == ()
    assert set(found.zeros.values()) == {0}
    assert found.figures["tasks"] >= SIZE + BUDGET
    assert found.figures["blocked by budget"] > 0


def more(effect: Effect) -> Callable[[Told], Told]:
    return lambda told: [*told, effect]


def again(step: str) -> Callable[[Told], Told]:
    """The first line of this step once more."""
    return lambda told: [*told, next(effect for effect in told if effect.step == step)]


def not_waiting(told: Told) -> Told:
    """The line's first child enters before the root has left."""
    child = next(effect for effect in told if effect.step == "entered" and effect.what != '["p"]')
    rest = [effect for effect in told if effect is not child]
    at = next(at for at, effect in enumerate(rest) if effect.step == "entered")
    return [*rest[: at + 1], child, *rest[at + 1 :]]


OF_WHOLE = "tracking_id = 'whole'"
ROOT = f"(SELECT {{}} FROM ramet_tasks WHERE {OF_WHOLE} AND parent_id IS NULL)"
ATTEMPT = (
    "INSERT INTO ramet_attempts SELECT seq, fence + 1, tracking_id, worker, claimed_at, ended_at, '{}', "
    "NULL, NULL, NULL,"
)
NUMBERS = (
    "seq", "rank", "spawn_depth", "available_at", "fence", "lease_until", "claimed_at", "attempts", "losses",
    "losses_alone", "snoozes", "chain_depth", "max_chain_depth", "progressed", "fan_out", "on_end", "turn",
)  # fmt: skip
"""What a hot row must have, its texts aside."""
ANSWERS = "CREATE TABLE llm_answers (task_id TEXT, late INTEGER, state TEXT);"

BY_SQL = {
    "a task is gone": ("lost", f"DELETE FROM ramet_tasks WHERE {OF_WHOLE} AND parent_id IS NULL", "is not there"),
    "a task has no end": ("lost", f"UPDATE ramet_tasks SET state = NULL WHERE {OF_WHOLE}", "has not one end"),
    "an end and a hot row": (
        "lost",
        f"INSERT INTO ramet_live ({', '.join(NUMBERS)}, tracking_id, kind, queue, state) SELECT seq, "
        f"{', '.join('0' * (len(NUMBERS) - 1))}, tracking_id, kind, queue, 'pending' FROM ramet_tasks",
        "has not one end",
    ),
    "a lineage is gone": ("lost", f"DELETE FROM ramet_lineages WHERE {OF_WHOLE}", "lineage whole was acknowledged"),
    "a kept effect is gone": ("lost", "DELETE FROM fault_effects WHERE step = 'first'", "told is kept"),
    "money is not booked": ("lost", "UPDATE ramet_reservations SET actual = 1", "acknowledged as booked"),
    "two accepted ends": (
        "double effects",
        f"{ATTEMPT.format('success')} NULL, NULL, NULL FROM ramet_attempts WHERE outcome = 'success'",
        "was accepted under the fences",
    ),
    "an effect twice": ("double effects", "INSERT INTO fault_effects SELECT * FROM fault_effects", "first 2 times"),
    "an effect of a refused claim": ("double effects", "UPDATE fault_effects SET fence = 99", "accepted were"),
    "an end without its effect": ("double effects", "DELETE FROM fault_effects WHERE step = 'second'", "accepted were"),
    "too many tasks": ("over budget", "UPDATE ramet_lineages SET tasks = 1, max_tasks = 1", "tasks (1 counted) of 1"),
    "too deep": ("over budget", "UPDATE ramet_lineages SET max_spawn_depth = 0", "is at depth 1 of 0"),
    "too wide": ("over budget", "UPDATE ramet_lineages SET max_fan_out = 1", "children of 1"),
    "too dear": ("over budget", "UPDATE ramet_lineages SET max_cost = 1", "has spent and reserved"),
    "a cycle": (
        "cycles",
        f"UPDATE ramet_tasks SET key = {ROOT.format('key')} WHERE parent_id = {ROOT.format('id')}",
        "as its ancestor",
    ),
    "twins": ("duplicates", f"UPDATE ramet_tasks SET kind = 'async', key = '2' WHERE {OF_WHOLE}", "tasks are"),
    "a task without a reason": (
        "unexplained", "UPDATE ramet_tasks SET reason = NULL WHERE state = 'filtered'", "as filtered without a reason",
    ),
    "a lineage without a reason": (
        "unexplained", "UPDATE ramet_lineages SET state = 'failed', reason = NULL", "is failed without a reason",
    ),
    "a block without facts": ("unexplained", "UPDATE ramet_blocks SET facts = ''", "has no reason"),
    "an attempt without a reason": (
        "unexplained",
        "UPDATE ramet_attempts SET reason = NULL, error = NULL WHERE outcome = 'error'",
        "nobody said why",
    ),
    "an errand that nothing held": (
        "unexplained", "UPDATE ramet_tasks SET kind = 'agent' WHERE tracking_id = 'line'", "was refused nothing",
    ),
    "a lineage goes on": ("not ended", f"UPDATE ramet_lineages SET ended_at = NULL WHERE {OF_WHOLE}", "live tasks"),
    "another row is wrong": ("broken", "DELETE FROM ramet_identities", "has no identity row"),
    "a prompt without its answer": (
        "broken",
        f"{ANSWERS} UPDATE ramet_tasks SET kind = 'llm.item' WHERE parent_id IS NULL",
        "with 0 good answers",
    ),
}  # fmt: skip
"""What was done -> the zero that it is no longer, the statements, and what the checker says."""
BY_LOG = {
    "an acknowledged task": ("lost", more(Effect("nobody", 0, "submitted")), "task nobody was acknowledged"),
    "an acknowledged child": (
        "lost",
        more(Effect("x", 1, "spawned", "child")),
        "task child was acknowledged as spawned",
    ),
    "an acknowledged lineage": ("lost", more(Effect("gone", 0, "lineage")), "lineage gone was acknowledged"),
    "two handlers under a fence": ("double effects", again("began"), "began 2 times under fence"),
    "a handler without a claim": ("double effects", more(Effect("x", 7, "began")), "of which there is no attempt"),
    "two in one place": ("overlapping", not_waiting, "entered ['p', '0'] while task"),
}


@pytest.mark.parametrize("name", BY_SQL)
async def test_what_is_wrong_in_the_database_is_named(name: str, left: Left, tmp_path: Path) -> None:
    zero, sql, line = BY_SQL[name]
    found = await looked_at(left, tmp_path, sql, whole=zero == BROKEN)
    assert found.zeros[zero] > 0
    assert any(line in finding.line for finding in found.findings if finding.what == zero), found.findings


@pytest.mark.parametrize("name", BY_LOG)
async def test_what_the_log_knows_and_the_database_does_not_is_named(name: str, left: Left, tmp_path: Path) -> None:
    zero, change, line = BY_LOG[name]
    found = await looked_at(left, tmp_path, change=change, whole=False)
    assert found.zeros[zero] == 1
    assert [line in finding.line for finding in found.findings] == [True]


async def test_a_refused_claim_in_a_place_is_no_overlap(left: Left, tmp_path: Path) -> None:
    """What a stopped worker does after its lease has lapsed cannot be undone."""
    lost = "UPDATE ramet_attempts SET outcome = 'lost' WHERE tracking_id = 'line'"
    assert (await looked_at(left, tmp_path, lost, not_waiting, whole=False)).zeros["overlapping"] == 0


SERVES = "info    ramet.cli: worker w (pid 1) serves line from ramet.db, 6 at once\n"
FULL = "ramet: the disk with ramet.db is full: free some space; nothing of this step was written\n"


def test_only_a_worker_that_did_nothing_yet_may_end_by_itself() -> None:
    assert could_not_begin(SERVES + FULL)
    assert not could_not_begin(SERVES)
    assert not could_not_begin(f"{SERVES}info    ramet.maintenance: reclaimed 1 stale claims\n{FULL}")
    assert not could_not_begin(f"{SERVES}Traceback (most recent call last):\nValueError: too many values\n")
