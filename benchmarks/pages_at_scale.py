"""Every page, every part of a page, every event stream and every GET of the API on a database of a million tasks.

    python -m benchmarks.pages_at_scale --folder /tmp/large                  # SQLite, built once and kept there
    python -m benchmarks.pages_at_scale --postgres postgresql://.../large    # or 'new': a server of its own
    python -m benchmarks.pages_at_scale --folder /tmp/large --only tasks

The dashboard is served as ``ramet dashboard`` serves it and asked over HTTP. The addresses come from its router, so a
new page is measured or named as missing. Ends with 1 when an answer is not 200, or takes over 200 ms at the median
(300 of a timeline).
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import re
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import quote, urlencode

from starlette.routing import Route

from benchmarks.dashboard import dashboard
from benchmarks.engine.processes import cpu_seconds
from benchmarks.large_world import add_options, address_of, made, store_at
from ramet.web.access import Access
from ramet.web.actions import ACTIONS
from ramet.web.application import make_application

MOST_MS = 200.0
TIMELINE_MOST_MS = 300.0
"""Of the timeline of a lineage of 100,000 tasks."""
TIMES = 15
WORST = 20
Query = dict[str, str]


class Known(NamedTuple):
    """What is asked about: the large and the peculiar, by the names that addresses have for it."""

    tracking_id: tuple[str, ...]
    task_id: tuple[str, ...]
    number: tuple[str, ...]
    """Of alerts."""


QUERIES: dict[str, tuple[Query, ...]] = {
    "/": ({}, {"window": "24h"}, {"window": "7d"}),
    "/overview": ({}, {"window": "24h"}, {"window": "7d"}),
    "/settings": ({}, {"find": "retries"}),
    "/bulk": (
        {"act": "retry", "kind": "page"},
        {"act": "retry", "kind": "page", "since": "2h"},
        {"act": "retry", "error": "HTTP 404", "tracking_id": "large"},
        {"act": "retry", "error": "nothing has this error"},
        {"act": "cancel", "kind": "held"},
        {"act": "exclude", "state": "failed", "tracking_id": "large"},
        {"act": "cancel", "task": "large/3/7"},
    ),
    "/lineages": ({}, {"state": "running"}, {"limit": "200"}),
    "/lineages/{tracking_id:path}": ({}, {"only": "failed"}, {"only": "slow"}),
    "/lineages/{tracking_id:path}/timeline": ({}, {"only": "failed"}, {"only": "slow"}),
    "/blocks": ({"tracking_id": "large"}, {"tracking_id": "large", "reason": "cycle", "kind": "root"}),
    "/spend": ({"tracking_id": "dear"}, {"tracking_id": "large"}),
    "/tasks": (
        {},
        {"limit": "200"},
        {"state": "failed"},
        {"state": "pending"},
        {"state": "success"},
        {"state": "filtered"},
        {"state": "cancelled"},
        {"kind": "held"},
        {"kind": "listing"},
        {"kind": "nothing"},
        {"key": "large/3/7"},
        {"kind": "page", "state": "failed"},
        {"kind": "held", "state": "success"},
        {"min_depth": "2"},
        {"min_depth": "3"},
        {"min_depth": "2", "state": "failed"},
        {"tracking_id": "large"},
        {"tracking_id": "large", "state": "failed"},
        {"tracking_id": "large", "state": "pending"},
        {"tracking_id": "large", "state": "success"},
        {"tracking_id": "large", "kind": "held"},
        {"tracking_id": "large", "kind": "root", "state": "failed"},
        {"tracking_id": "large", "min_depth": "2", "state": "success"},
        {"after": "500000"},
    ),
    "/branches": ({"tracking_id": "large"}, {"parent_id": "large"}, {"parent_id": "large/3"}, {"tracking_id": "dear"}),
    "/twigs": (
        {"parent_id": "large", "kind": "listing", "state": "success"},
        {"parent_id": "large", "kind": "listing", "state": "success", "limit": "200"},
        {"parent_id": "large/3", "kind": "page", "state": "failed"},
        {"tracking_id": "dear", "kind": "dear", "state": "success"},
        {"tracking_id": "dear", "kind": "nothing", "state": "failed"},
    ),
    "/explain": ({"kind": "page", "key": "large/3/7"}, {"kind": "root", "key": "large"}),
    "/paths": ({}, {"path": "doc"}, {"path": "doc/3"}, {"tracking_id": "large"}, {"limit": "200"}),
    "/schedule": ({"name": "schedule-7"},),
    "/slots": ({"name": "schedule-7"},),
    "/acts": ({}, {"tracking_id": "dear"}, {"limit": "200"}),
    "/alerts": ({}, {"state": "firing"}, {"tracking_id": "large"}),
    "/costs": ({}, {"tracking_id": "dear"}),
    "/task": ({"task_id": "large"}, {"task_id": "large/3/7"}),
    "/timeline": ({"tracking_id": "large"}, {"tracking_id": "large", "only": "slow"}),
    "/lineage": ({"tracking_id": "large"},),
    "/calls": ({"task_id": "large/3/7"}, {"task_id": "dear/1"}),
    "/joined": ({"task_id": "large"}, {"task_id": "large/3"}),
    "/result": ({"task_id": "large/3/7"},),
    "/results": ({"tracking_id": "large"}, {"tracking_id": "large", "limit": "200"}),
    "/search": (
        {"q": "large/3/7"},
        {"q": "large"},
        {"q": "line"},
        {"q": "nothing"},
        {"q": "404"},
        {"q": "page"},
        {"q": "title", "payloads": "1"},
        {"q": "nothing", "payloads": "1"},
    ),
    "/act/{name}": (
        {"tracking_id": "large"},
        {"task_id": "large"},
        {"name": "schedule-7"},
        {"name": "https://slow.example"},
        {},
    ),
}
"""What is asked of the addresses that take parameters, or need some; pages and the API name them alike."""
NAMED: dict[str, tuple[str, ...]] = {
    "/schedules/{name}": ("schedule-7",),
    "/act/{name}": tuple(ACTIONS),
}
"""What the word in a path stands for where it is not one of :class:`Known`."""
PREFIXES = ("/api/v1", "/live", "/parts")
ABSENT = ("/products", "/live/products", "/jobs/", "/api/v1/events", "/api/v1/claims/joined")
"""Not asked: pages of products of which this database has no rows, a stream that ends with its task, and the answer to
a worker that holds a claim."""
NEXT = re.compile(r'href="([^"]*[?;](?:after|before)=[^"]*)"')


def paths() -> list[str]:
    """Every address that is asked with GET, as the router writes it."""
    application = make_application(None, Access())  # type: ignore[arg-type]  # only its routes are looked at
    found = [route.path for route in application.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    document = application.state.api.openapi()["paths"]
    found += [f"/api{path}" for path, methods in document.items() if "get" in methods]
    found = [path for path in found if not path.startswith(ABSENT)]
    return [*found, "/api/openapi.json", "/static/live.js", "/static/app.css"]


def addresses(path: str, known: Known) -> Iterator[str]:
    """The path with its parameters filled in, in every way that is worth a look."""
    names = re.findall(r"{(\w+)", path)
    bare = path
    for prefix in PREFIXES:
        bare = bare.removeprefix(prefix)
    values = NAMED.get(bare) or (getattr(known, names[0], None) if names else ("",))
    if values is None:
        raise SystemExit(f"{path}: say in {__file__} what {names[0]} stands for")
    for value in values:
        filled = re.sub(r"{\w+(:path)?}", quote(value, safe=""), path)
        for query in QUERIES.get(bare, ({},)):
            if bare != "/act/{name}" or taken_by(value, query):
                yield f"{filled}?{urlencode(query)}" if query else filled


def taken_by(action: str, query: Query) -> bool:
    """Whether the query names what the action acts on."""
    fields = ACTIONS[action].fields.model_fields
    needed = {name for name, field in fields.items() if field.is_required()}
    return set(query) <= set(fields) and (bool(query) or not needed & {"tracking_id", "task_id"})


class Answer(NamedTuple):
    """What came back, and how long it took to come, in milliseconds."""

    status: int
    took_ms: float
    body: str


def ask(connection: HTTPConnection, address: str) -> Answer:
    """The whole answer; of an event stream the first event. Status 0 where that did not come."""
    begun = time.perf_counter()
    connection.request("GET", address, headers={"Accept": "*/*"})
    answer = connection.getresponse()
    if address.startswith("/live"):
        body = next((line for line in answer if line.startswith(b"data: ")), b"")
        took = time.perf_counter() - begun
        connection.close()  # It has no end; the next request begins anew.
        if answer.status == 200 and not body:
            return Answer(0, 1_000 * took, "the stream ended")
    else:
        body = answer.read()
        took = time.perf_counter() - begun
    return Answer(answer.status, 1_000 * took, body.decode("utf-8", "replace"))


class Measured(NamedTuple):
    """One address."""

    address: str
    status: int
    median_ms: float
    p95_ms: float
    cpu_ms: float
    """Processor time of the dashboard for one answer: steady on a busy machine. A server of a database is not in it."""
    characters: int

    @property
    def good(self) -> bool:
        """Whether it answers, and soon enough. A search may lead on; the page of an action may have nothing to do."""
        led_on = self.address.startswith("/search") and self.status == 303
        answers = led_on or self.status == 200 or (self.address.startswith("/act/") and 400 <= self.status < 500)
        return answers and self.median_ms <= self.most_ms

    @property
    def most_ms(self) -> float:
        """Most milliseconds that it may take."""
        return TIMELINE_MOST_MS if "timeline" in self.address else MOST_MS


def measured(connection: HTTPConnection, address: str, times: int, pid: int) -> tuple[Measured, str]:
    """Ask several times, after a first time that does not count; also what came back."""
    first = ask(connection, address)
    times, used = times if first.status == 200 else 1, cpu_seconds(pid)
    took = sorted(ask(connection, address).took_ms for _ in range(times))
    cpu = 1_000 * (cpu_seconds(pid) - used) / times
    found = Measured(address, first.status, statistics.median(took), took[int(0.95 * times)], cpu, len(first.body))
    return found, first.body


def next_page(address: str, body: str) -> str | None:
    """Where a page, or an answer of the API, says that it goes on; of no next page itself."""
    if "after=" in address or "before=" in address:
        return None
    if not address.startswith("/api/v1/"):
        found = NEXT.search(body)
        return None if found is None else html.unescape(found[1])
    answer = json.loads(body)
    for name in ("after", "before"):
        if isinstance(answer, dict) and answer.get(f"next_{name}") is not None:
            return f"{address}{'&' if '?' in address else '?'}{urlencode({name: answer[f'next_{name}']})}"
    return None


def asked(wanted: Iterable[str], connection: HTTPConnection, times: int, pid: int) -> Iterator[Measured]:
    """Every address, and after each the page behind it."""
    for address in wanted:
        found, body = measured(connection, address, times, pid)
        yield found
        following = next_page(address, body) if found.status == 200 and not address.startswith("/live") else None
        if following is not None:
            yield measured(connection, following, times, pid)[0]


async def known_of(address: str, tasks: int) -> Known:
    """Build what is not there yet; then representative ids: the large lineage and its root, a listing, tasks of every
    fate, who is first and last on a long path."""
    store = store_at(address)
    try:
        await made(store, address, tasks)
        [failed] = await store.read("SELECT id FROM ramet_tasks WHERE state = 'failed' LIMIT 1")
        of_wait = "SELECT t.id FROM ramet_live l JOIN ramet_tasks t ON t.seq = l.seq WHERE l.wait = ? ORDER BY l.seq"
        [behind] = await store.read(f"{of_wait} DESC LIMIT 1", ["path"])
        # None after `dashboard_cost`: its worker skips what waits for a resource that is off.
        held = [str(row[0]) for row in await store.read(f"{of_wait} LIMIT 1", ["resource"])]
        first = (await store.paths(limit=1)).tasks[0].task_id
        alerts = await store.alerts(firing=False, limit=1)
    finally:
        await store.close()
    return Known(
        tracking_id=("large", "line0", "dear", "paused"),
        task_id=("large", "large/3", "large/3/7", failed[0], behind[0], *held, first, "dear/1"),
        number=tuple(str(one.id) for one in alerts),
    )


def shown(one: Measured) -> Measured:
    """Print a row of the table."""
    print(
        f"| {one.address:70} | {one.status} | {one.median_ms:9.1f} | {one.p95_ms:6.1f} | {one.cpu_ms:6.1f} "
        f"| {one.characters:10,} |",
        flush=True,
    )
    return one


def main() -> None:
    """Read the command line, ask, print a table, and the slowest again; 1 when any is too slow or is no answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--only", default="", help="addresses that contain this")
    parser.add_argument("--times", type=int, default=TIMES)
    options = parser.parse_args()
    with address_of(options) as address:
        known = asyncio.run(known_of(address, options.tasks))
        wanted = [one for path in paths() for one in addresses(path, known) if options.only in one]
        print(f"| {'address':70} | status | median ms | p95 ms | CPU ms | characters |")
        print(f"| --- {'| ---: ' * 5}|")
        with dashboard(address) as served, served.visit() as connection:
            found = [shown(one) for one in asked(wanted, connection, options.times, served.pid)]
    bad = [one for one in found if not one.good]
    bounds = f"{MOST_MS:g} ms ({TIMELINE_MOST_MS:g} of a timeline)"
    print(f"{len(found)} addresses, {len(bad)} of them over {bounds} at the median, or no answer:")
    for one in sorted(bad or found, key=lambda one: -one.median_ms)[:WORST]:
        shown(one)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
