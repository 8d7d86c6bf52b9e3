"""Metrics of a reading, as Prometheus takes them: the text format or OpenMetrics, whichever is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import ramet
from ramet.model.flow.queues import COMMIT_BUCKETS_SECONDS
from ramet.model.money import NANO_DOLLARS, Ceiling
from ramet.model.tallies import BUCKETS_SECONDS, Histogram, Tally
from ramet.model.views import CLAIMABLE
from ramet.telemetry.families import DEEPER, FAMILIES, KINDS_MAX, OTHER, REASONS_MAX
from ramet.telemetry.snapshot import Snapshot

WORKER = "worker"
"""What a task waits for that waits for nothing else."""
REASONS = {"ramet_failures_total": "failed", "ramet_retries_total": "retry", "ramet_blocks_total": "blocked"}
"""Family -> what its reasons are reasons of."""

Numbers = dict[tuple[str, ...], float]
"""Labels -> value."""
Spread = tuple[Sequence[float], Sequence[int], float]
"""A histogram: bounds, counts (one more than bounds, not cumulative), sum."""


class Names:
    """Which values of a label have a name of their own: so many, and those that had one keep it.

    Otherwise a counter would move from one series to another, and Prometheus would see what nobody did.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._named: set[str] = set()

    def admit(self, weights: Mapping[str, float]) -> None:
        """Give names to these, the weightiest first, while there are any left."""
        for name in sorted(weights.keys() - self._named, key=lambda name: (-weights[name], name)):
            if len(self._named) >= self._most:
                return
            self._named.add(name)

    def of(self, name: str) -> str:
        """Itself, or ``other``."""
        return name if name in self._named else OTHER


class Exposition:
    """Turns readings into text. One for as long as a process tells metrics: it remembers which labels have names."""

    def __init__(self) -> None:
        self._kinds, self._queues = Names(KINDS_MAX), Names(KINDS_MAX)
        self._reasons = {name: Names(REASONS_MAX) for name in REASONS}

    def text(self, snapshot: Snapshot | None, accept: str = "") -> tuple[bytes, str]:
        """The exposition and its content type, for what an Accept header says."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(self.families(snapshot)))
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type

    def families(self, snapshot: Snapshot | None) -> list[Metric]:
        """All of it as the official client's values; only that the database is away when nothing could be read."""
        told: dict[str, Numbers] = {"ramet_up": {(): float(snapshot is not None)}}
        spreads: dict[str, dict[tuple[str, ...], Spread]] = {}
        if snapshot is not None:
            told |= self._numbers(snapshot)
            spreads = self._spreads(snapshot)
        told["ramet_build_info"] = {(ramet.__version__,): 1.0}
        made = []
        for family in FAMILIES:
            if family.type == "histogram" and family.name in spreads:
                made.append(_histogram(family.name, family.help, family.labels, spreads[family.name]))
            elif family.name in told:
                made.append(_MAKERS[family.type](family.name, family.help, family.labels, told[family.name]))
        return made

    def _numbers(self, snapshot: Snapshot) -> dict[str, Numbers]:
        tallies, usage = snapshot.tallies.rows, snapshot.usage
        self._kinds.admit({row.kind: row.created for row in tallies})
        self._kinds.admit(usage.kinds)
        self._kinds.admit({reason.kind: 0 for reason in snapshot.tallies.reasons})  # Wanted, and always refused.
        self._queues.admit(usage.queues)
        kind = self._kinds.of
        live = _sums(((kind(row.kind),), row.live) for row in tallies)
        claims = _sums(((kind(name),), count) for name, count in usage.kinds.items())
        return {
            "ramet_scrape_seconds": {(): snapshot.seconds},
            "ramet_tasks_created_total": _sums(((kind(row.kind),), row.created) for row in tallies),
            "ramet_tasks_revived_total": _sums(((kind(row.kind),), row.revived) for row in tallies),
            "ramet_tasks_ended_total": _sums(
                ((kind(row.kind), state), count) for row in tallies for state, count in row.ended.items()
            ),
            "ramet_tasks_live": live,
            # Read one after the other: a claim that was settled in between must not make it negative.
            "ramet_queue_size": {labels: max(0.0, count - claims.get(labels, 0.0)) for labels, count in live.items()},
            "ramet_claims_active": claims,
            "ramet_queue_claims_active": _sums(((self._queues.of(name),), n) for name, n in usage.queues.items()),
            "ramet_attempts_total": _sums(
                ((kind(row.kind), outcome), count) for row in tallies for outcome, count in row.attempts.items()
            ),
            "ramet_attempts_by_retry_total": _sums(
                ((outcome, str(retry)), count)
                for row in tallies
                for outcome, counts in row.retried.items()
                for retry, count in enumerate(counts)
            ),
            "ramet_chain_depth_total": _sums(
                ((_depth(depth, row.chains),), count) for row in tallies for depth, count in enumerate(row.chains)
            ),
            **self._of_reasons(snapshot),
            **_present(snapshot),
            **_money(snapshot),
        }

    def _of_reasons(self, snapshot: Snapshot) -> dict[str, Numbers]:
        told = {}
        for family, what in REASONS.items():
            reasons = [reason for reason in snapshot.tallies.reasons if reason.what == what]
            names = self._reasons[family]
            names.admit({name: count for (name,), count in _sums(((r.reason,), r.count) for r in reasons).items()})
            told[family] = _sums(((self._kinds.of(r.kind), names.of(r.reason)), r.count) for r in reasons)
        return told

    def _spreads(self, snapshot: Snapshot) -> dict[str, dict[tuple[str, ...], Spread]]:
        rows = snapshot.tallies.rows
        depths = [sum(column) for column in zip(*(row.depths for row in rows), strict=True)]
        spreads: dict[str, dict[tuple[str, ...], Spread]] = {
            "ramet_attempt_seconds": self._times(rows, lambda row: row.ran),
            "ramet_wait_seconds": self._times(rows, lambda row: row.waited),
            "ramet_store_seconds": {
                (times.verb,): (COMMIT_BUCKETS_SECONDS, times.counts, times.seconds) for times in snapshot.commit_times
            },
        }
        if depths:
            total = sum(depth * count for depth, count in enumerate(depths))
            spreads["ramet_spawn_depth"] = {(): (range(len(depths) - 1), depths, total)}
        return spreads

    def _times(self, rows: Iterable[Tally], of: Callable[[Tally], Histogram]) -> dict[tuple[str, ...], Spread]:
        found: dict[tuple[str, ...], Spread] = {}
        for row in rows:
            labels, more = (self._kinds.of(row.kind),), of(row)
            _, counts, seconds = found.get(labels, ((), (0,) * len(more.counts), 0.0))
            both = [a + b for a, b in zip(counts, more.counts, strict=True)]
            found[labels] = (BUCKETS_SECONDS, both, seconds + more.seconds)
        return found


def _present(snapshot: Snapshot) -> dict[str, Numbers]:
    present, at = snapshot.present, snapshot.present.at
    ages = {
        "ramet_oldest_lease_seconds": present.oldest_claimed_at,
        "ramet_lease_overdue_seconds": present.oldest_lease_until,
        "ramet_oldest_waiting_seconds": present.oldest_waiting_at,
    }
    return {
        **{name: {(): 0.0 if since is None else max(0.0, at - since)} for name, since in ages.items()},
        "ramet_tasks_waiting": {
            (WORKER if wait == CLAIMABLE else str(wait),): count.number for wait, count in present.waits.items()
        },
        "ramet_lineages": {(str(state),): count.number for state, count in present.lineages.items()},
        "ramet_tasks_stuck": {(): present.stale},
        "ramet_workers": {(): present.workers_alive},
        "ramet_breakers_open": {(): present.breakers_open},
        "ramet_alerts_firing": _sums(((str(a.pattern), str(a.severity)), 1) for a in snapshot.alerts),
    }


def _money(snapshot: Snapshot) -> dict[str, Numbers]:
    day, total, now = snapshot.costs.day, snapshot.costs.total, snapshot.present.at
    used: dict[str, list[float]] = {name: [0.0] for name in ("tasks", "time", "cost")}
    used |= {"day": [_used(day)], "global": [_used(total)]}
    for lineage in snapshot.lineages:
        used["tasks"].append(lineage.tasks / max(1, lineage.max_tasks))
        length = lineage.deadline_at - lineage.created_at
        used["time"].append(max(0.0, now - lineage.created_at) / length if length > 0 else 1.0)
        used["cost"].append(_used(lineage.cost_ceiling))
    return {
        "ramet_budget_used_ratio": {(name,): max(ratios) for name, ratios in used.items()},
        "ramet_cost_spent_dollars_total": {(): total.spent / NANO_DOLLARS},
        "ramet_cost_reserved_dollars": {(): total.reserved / NANO_DOLLARS},
        "ramet_cost_day_spent_dollars": {(): day.spent / NANO_DOLLARS},
    }


def _used(ceiling: Ceiling) -> float:
    """The part of a ceiling that is spent or reserved; 0 where there is none."""
    most = ceiling.reservable
    if most is None:
        return 0.0
    return (ceiling.spent + ceiling.reserved) / most if most > 0 else 1.0


def _depth(depth: int, depths: Sequence[int]) -> str:
    return str(depth) if depth < len(depths) - 1 else DEEPER


def _sums(items: Iterable[tuple[tuple[str, ...], float]]) -> Numbers:
    found: Numbers = {}
    for labels, value in items:
        found[labels] = found.get(labels, 0.0) + value
    return found


# --- values of the official client


class _Collected(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def _counter(name: str, text: str, labels: Sequence[str], numbers: Numbers) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=labels), numbers)


def _gauge(name: str, text: str, labels: Sequence[str], numbers: Numbers) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), numbers)


def _filled(made: Any, numbers: Numbers) -> Metric:
    for values, number in sorted(numbers.items()):
        made.add_metric(values, number)
    metric: Metric = made
    return metric


def _info(name: str, text: str, labels: Sequence[str], numbers: Numbers) -> Metric:
    made = InfoMetricFamily(name.removesuffix("_info"), text)
    for values in numbers:
        made.add_metric([], dict(zip(labels, values, strict=True)))
    return made


def _histogram(name: str, text: str, labels: Sequence[str], spreads: Mapping[tuple[str, ...], Spread]) -> Metric:
    made = HistogramMetricFamily(name, text, labels=labels)
    for values, (bounds, counts, total) in sorted(spreads.items()):
        least = [*(str(float(bound)) for bound in bounds), "+Inf"]
        made.add_metric(values, [*zip(least, map(float, accumulate(counts)), strict=True)], total)
    return made


_MAKERS = {"counter": _counter, "gauge": _gauge, "info": _info}
