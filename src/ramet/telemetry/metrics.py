"""Metrics: readings of the database, their text for Prometheus or OpenMetrics, and a server without a dashboard."""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from socketserver import ThreadingMixIn
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import ramet
from ramet import Alert, ClaimUsage, Client, Costs, Lineage, StoreError
from ramet.commands.errors import UserError
from ramet.engine.base.logs import own_logger
from ramet.model.flow.resources import COMMIT_BUCKETS_SECONDS, CommitTimes
from ramet.model.lineage.lineage import OPEN
from ramet.model.money import NANO_DOLLARS, Ceiling
from ramet.model.tallies import BUCKETS_SECONDS, Histogram, Tallies, Tally
from ramet.model.views import CLAIMABLE, LiveCounts
from ramet.telemetry.families import DEEPER, FAMILIES, KINDS_MAX, OTHER, REASONS_MAX

log = own_logger("ramet.metrics")

FRESH_SECONDS = 5.0
"""The database is read no oftener, however many ask."""
READ_SECONDS_MAX = 10.0
"""Prometheus gives a scrape ten seconds by default."""
LINEAGES_MAX = 100
ALERTS_MAX = 1_000


class Snapshot(NamedTuple):
    """One reading of the database."""

    tallies: Tallies
    present: LiveCounts
    usage: ClaimUsage
    costs: Costs
    lineages: Sequence[Lineage]
    """The newest that are open."""
    alerts: Sequence[Alert]
    commit_times: Sequence[CommitTimes]
    seconds: float = 0.0
    """Duration of the reading."""


async def read_snapshot(client: Client) -> Snapshot:
    """Read everything once.

    Raises:
        StoreError: the database cannot be used.
    """
    began = time.monotonic()
    read = Snapshot(
        await client.tallies(),
        await client.present(),
        await client.usage(),
        await client.costs(limit=1),
        await client.lineages(states=[state.value for state in OPEN], limit=LINEAGES_MAX),
        await client.alerts(limit=ALERTS_MAX),
        await client.commit_times(),
    )
    return read._replace(seconds=time.monotonic() - began)


class Snapshots:
    """Readings of one database, each shared for five seconds. For one event loop."""

    def __init__(
        self, client: Client, *, seconds_max: float = READ_SECONDS_MAX, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Nothing is read before :meth:`get`."""
        self._client = client
        self._seconds_max = seconds_max
        self._monotonic = monotonic
        self._reading = asyncio.Lock()
        self._read_at: float | None = None
        self._latest: Snapshot | None = None

    async def get(self) -> Snapshot | None:
        """Return the latest reading, at most five seconds old; None when the database did not answer in time."""
        async with self._reading:
            if self._read_at is None or self._monotonic() - self._read_at >= FRESH_SECONDS:
                self._latest = await self._read()
                self._read_at = self._monotonic()
            return self._latest

    async def _read(self) -> Snapshot | None:
        try:
            async with asyncio.timeout(self._seconds_max):
                return await read_snapshot(self._client)
        except (StoreError, TimeoutError) as error:
            log.warning("the database cannot be read for metrics: %s", str(error) or "no answer in time")
            return None


WORKER = "worker"
"""Label of tasks that wait for a worker only."""
REASONS = {"ramet_failures_total": "failed", "ramet_retries_total": "retry", "ramet_blocks_total": "blocked"}
"""Family -> what its reasons are reasons of."""

Numbers = dict[tuple[str, ...], float]
"""Labels -> value."""
Spread = tuple[Sequence[float], Sequence[int], float]
"""A histogram: bounds, counts (one more than bounds, not cumulative), sum."""


class LabelNames:
    """Values of a label that have a name of their own: a bounded number, and those that had one keep it.

    Otherwise a counter would move from one series to another, and Prometheus would see changes that never happened.
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
        self._kinds, self._queues = LabelNames(KINDS_MAX), LabelNames(KINDS_MAX)
        self._reasons = {name: LabelNames(REASONS_MAX) for name in REASONS}

    def text(self, snapshot: Snapshot | None, accept: str = "") -> tuple[bytes, str]:
        """Return the exposition and its content type, for what an Accept header says."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(self.families(snapshot)))
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type

    def families(self, snapshot: Snapshot | None) -> list[Metric]:
        """All of it as the official client's values; only that the database is away when nothing could be read."""
        numbers: dict[str, Numbers] = {"ramet_up": {(): float(snapshot is not None)}}
        spreads: dict[str, dict[tuple[str, ...], Spread]] = {}
        if snapshot is not None:
            numbers |= self._numbers(snapshot)
            spreads = self._spreads(snapshot)
        numbers["ramet_build_info"] = {(ramet.__version__,): 1.0}
        made = []
        for family in FAMILIES:
            if family.type == "histogram" and family.name in spreads:
                made.append(_histogram(family.name, family.help, family.labels, spreads[family.name]))
            elif family.name in numbers:
                made.append(_MAKERS[family.type](family.name, family.help, family.labels, numbers[family.name]))
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
        # A parent that waits for its children is in no queue.
        away = _sums(
            ((kind(name),), count) for names in (usage.kinds, snapshot.present.joined) for name, count in names.items()
        )
        return {
            "ramet_scrape_seconds": {(): snapshot.seconds},
            "ramet_tasks_created_total": _sums(((kind(row.kind),), row.created) for row in tallies),
            "ramet_tasks_revived_total": _sums(((kind(row.kind),), row.revived) for row in tallies),
            "ramet_tasks_ended_total": _sums(
                ((kind(row.kind), state), count) for row in tallies for state, count in row.ended.items()
            ),
            "ramet_tasks_live": live,
            # Read one after the other: a claim that was settled in between must not make it negative.
            "ramet_queue_size": {labels: max(0.0, count - away.get(labels, 0.0)) for labels, count in live.items()},
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
        numbers = {}
        for family, what in REASONS.items():
            reasons = [reason for reason in snapshot.tallies.reasons if reason.what == what]
            names = self._reasons[family]
            names.admit({name: count for (name,), count in _sums(((r.reason,), r.count) for r in reasons).items()})
            numbers[family] = _sums(((self._kinds.of(r.kind), names.of(r.reason)), r.count) for r in reasons)
        return numbers

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
    """Return the part of a ceiling that is spent or reserved; 0 where there is none."""
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


REQUEST_SECONDS_MAX = 15.0
"""A visitor who says nothing for so long is hung up on."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Body = tuple[bytes, str]
"""The text and its content type."""
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``.

    Raises:
        UserError: it is not of that form.
    """
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise UserError(f"{text!r} is not a valid address: give HOST:PORT, such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)


def check_address(host: str, token: str | None) -> None:
    """Refuse to tell the whole network without a token.

    Raises:
        UserError: the host is not this machine alone and there is no token.
    """
    if host not in LOOPBACK and not token:
        raise UserError(
            f"everyone who reaches {host} could read the metrics: give --token-file, or listen on 127.0.0.1"
        )


def application(tell: Callable[[str], Body], token: str | None, host: str) -> Application:
    """``GET /metrics`` and nothing else.

    Args:
        tell: the exposition for an Accept header.
        token: what a visitor presents as ``Authorization: Bearer``; None answers everybody.
        host: where it listens; without a token another name in the Host header is refused, so that no web page can
            read it through a name that it made point here.
    """

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, headers, body = _answered(environ, tell, token, host)
        start(status, [*headers, ("Content-Length", str(len(body))), ("Cache-Control", "no-store")])
        return [body]

    return answer


def _answered(
    environ: dict[str, Any], tell: Callable[[str], Body], token: str | None, host: str
) -> tuple[str, list[tuple[str, str]], bytes]:
    plain = [("Content-Type", "text/plain; charset=utf-8")]
    if token is None:
        named = str(environ.get("HTTP_HOST", "")).rpartition(":")[0].strip("[]") or str(environ.get("HTTP_HOST", ""))
        if named not in LOOPBACK | {host}:
            return "403 Forbidden", plain, b"this Host is not served\n"
    else:
        given = str(environ.get("HTTP_AUTHORIZATION", "")).encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            return "401 Unauthorized", [*plain, ("WWW-Authenticate", "Bearer")], b"a token is needed\n"
    if environ.get("PATH_INFO") != "/metrics":
        return "404 Not Found", plain, b"metrics are at /metrics\n"
    if environ.get("REQUEST_METHOD") != "GET":
        return "405 Method Not Allowed", [*plain, ("Allow", "GET")], b"only GET\n"
    body, content_type = tell(str(environ.get("HTTP_ACCEPT", "")))
    return "200 OK", [("Content-Type", content_type)], body


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_SECONDS_MAX

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes come every few seconds: none of them is news."""


@contextmanager
def served(made: Application, host: str, port: int) -> Iterator[int]:
    """Serve it in threads while this lasts; gives the port, which the system chooses for port 0.

    Raises:
        UserError: the address cannot be listened on.
    """
    try:
        server = make_server(host, port, made, server_class=_server_of(host), handler_class=_Handler)
    except OSError as error:
        raise UserError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    thread = threading.Thread(target=server.serve_forever, name="ramet metrics", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server_of(host: str) -> type[WSGIServer]:
    import socket

    return type("_Server6", (_Server,), {"address_family": socket.AF_INET6}) if ":" in host else _Server


def from_loop(loop: asyncio.AbstractEventLoop, tell: Callable[[str], Any]) -> Callable[[str], Body]:
    """Return a coroutine function of the loop, for the server's threads."""

    def answer(accept: str) -> Body:
        found: Body = asyncio.run_coroutine_threadsafe(tell(accept), loop).result()
        return found

    return answer
