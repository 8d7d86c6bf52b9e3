"""What must hold of a finished run, read from its database alone."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ramet.model.reasons import facts_of, outer, restored
from ramet.store.rows.paths import REPAIRS_COUNTER
from tests.invariants import check
from tests.simulation.database import SimulatedStore
from tests.simulation.workload import PLACES
from tests.simulation.workload_parts import LEAF

ACCEPTED = ("success", "filtered", "skipped", "snooze", "continue")
"""Outcomes whose settlement committed what the handler had buffered. A declared failure did so too."""


async def violations(store: SimulatedStore, pruned: Set[str] = frozenset()) -> list[str]:
    """Every broken promise, as readable lines.

    Args:
        pruned: ids of tasks that are gone, as they may be.
    """
    found = await check.violations(store, place_kinds=PLACES, clock_set_back=True)
    return [*found, *_effects(store, pruned), *_everything_ended(store), *_repairs(store)]


def _effects(store: SimulatedStore, pruned: Set[str]) -> Iterator[str]:
    """Exactly one end effect per accepted settlement, none for any other (promise I2)."""
    ids = dict(store.rows("SELECT seq, id FROM ramet_tasks"))
    leaves = {seq for (seq,) in store.rows("SELECT seq FROM ramet_tasks WHERE kind = ?", LEAF)}
    accepted = set()
    there = set(ids.values())
    for seq, fence, outcome, reason, facts, error_class, worker in store.rows(
        "SELECT seq, fence, outcome, COALESCE(reason, ''), reason_facts, error_class, worker FROM ramet_attempts"
    ):
        if seq in leaves or worker in there or worker in pruned:
            continue  # It was settled by the task that it was bound to: no handler ran.
        token = f"{ids[seq]}:{fence}"
        # RetryAfter and CostRefused are raised: they end as a snooze and drop what was buffered, like any exception.
        why = restored(reason, facts)
        if str(outer(facts_of(why).get("own", why))).startswith(("retry after", "cost")):
            continue
        if outcome in ACCEPTED or (outcome == "error" and error_class is None):
            accepted.add(token)
    # What is pruned leaves the effects of its handlers, and nothing that could tell whether they were accepted.
    found = [token for token, of in store.rows("SELECT token, task_id FROM effects WHERE name = 'end'") if of in there]
    if len(found) != len(set(found)):
        yield f"{len(found) - len(set(found))} end effects happened twice"
    yield from (f"claim {token} was accepted and its effect is missing" for token in sorted(accepted - set(found)))
    yield from (f"claim {token} left an effect and was not accepted" for token in sorted(set(found) - accepted))
    doubled = store.rows("SELECT token, name FROM effects WHERE name <> 'end' GROUP BY token, name HAVING COUNT(*) > 1")
    yield from (f"checkpoint effect {name} of claim {token} happened twice" for token, name in doubled)


def _everything_ended(store: SimulatedStore) -> Iterator[str]:
    live = store.rows("SELECT seq, state, wait FROM ramet_live")
    yield from (f"task {row} is still live" for row in live)
    running = store.rows("SELECT tracking_id, state FROM ramet_lineages WHERE state IN ('running', 'paused')")
    yield from (f"lineage {row} is still open" for row in running)


def _repairs(store: SimulatedStore) -> Iterator[str]:
    """Wake-ups that were lost are found again, and are a fault all the same."""
    rows = store.rows("SELECT value FROM ramet_counters WHERE name = ?", REPAIRS_COUNTER)
    yield from (f"{repairs} tasks waited for a ticket that was gone" for (repairs,) in rows)


def rows_of(store: SimulatedStore, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Everything in these tables, but for the number of the schema."""
    counters = "WHERE name NOT IN ('schema', 'compatible_from')"
    return {
        name: sorted(
            map(repr, store.rows(f"SELECT {', '.join(of)} FROM {name} {counters if name == 'ramet_counters' else ''}"))
        )
        for name, of in columns.items()
    }
