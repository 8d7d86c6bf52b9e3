"""A lane writes what the usual way would write, column for column, whatever the rows look like."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ramet.model.lineage.branches import Booking, Branch
from ramet.model.task import events as ev
from ramet.model.task.binding import ItemSettlement
from ramet.model.task.lifecycle import decide
from ramet.model.task.task import NewTask, Standing, Wait
from ramet.model.task.transitions import Change
from ramet.store.postgres import bulk
from ramet.store.requests import ClaimRequest, NewLineage, Settlement
from ramet.store.rows import tallies
from ramet.store.rows.branches import add_members
from ramet.store.rows.lineages import read_lineages, tombstones_of
from ramet.store.rows.tasks import load_standings
from ramet.store.schema.columns import LIVE_LIST
from ramet.store.session import EndedGroup
from ramet.store.state import lanes
from ramet.store.state.apply import apply
from ramet.store.verbs import claim as claiming
from ramet.store.verbs import settle as settling
from ramet.store.verbs.bound import Items, bind_items
from tests.conformance.random_histories.test_reference_model import now
from tests.simulation.database import SIMULATED, ServerStore, SimulatedStore
from tests.support.world import SettableClock

TABLES = (
    "lineages", "tasks", "live", "attempts", "transitions", "unsuccessful", "uniques", "holds", "resources", "tallies",
    "tally_reasons", "turns", "blocks", "stages", "checkpoints", "reservations", "branches", "branch_tasks",
)  # fmt: skip
LINES = 3
Rows = dict[str, list[tuple[Any, ...]]]

times = st.sampled_from((-5_000.0, -1.0, 0.0, 0.5, 5_000.0))
"""Relative to now."""
FIELDS = {
    "state": st.sampled_from(("processing", "processing", "processing", "pending")),
    "fence": st.integers(1, 2),
    "lease": st.sampled_from((-1.0, 0.0, 0.5, 300.0, 300.0, 300.0)),
    "available": times,
    "claimed": st.sampled_from((-5_000.0, -30.0, -1.0)),
    "started": st.none() | st.sampled_from((-5_000.0, -30.0)),
    "deadline": st.none() | times,
    "task_seconds": st.none() | st.sampled_from((10.0, 7_200.0)),
    "attempts": st.integers(0, 3),
    "losses": st.integers(0, 2),
    "snoozes": st.integers(0, 2),
    "chain_depth": st.integers(0, 2),
    "progressed": st.integers(0, 1),
    "fan_out": st.integers(0, 2),
    "stage": st.none() | st.just("half"),
    "on_end": st.integers(0, 1),
    "ending": st.sampled_from((None, None, None, "failed", "cancelled")),
    "resource": st.sampled_from((None, None, "host:a", "host:b", "gate:c")),
    "unique_seconds": st.sampled_from((None, None, None, 60.0)),
    "wait": st.sampled_from((None, None, None, "due")),
    "line": st.integers(0, LINES - 1),
    "kind": st.sampled_from(("page", "image")),
}
hot = st.fixed_dictionaries(FIELDS)
line = st.fixed_dictionaries(
    {
        "state": st.sampled_from(("running", "running", "running", "paused", "failed", "cancelled")),
        "reserved": st.sampled_from((0, 0, 0, 5)),
        "branched": st.sampled_from((False, False, True)),
        "buried": st.booleans(),
        "marked": st.sampled_from((False, False, True)),
        "deadline": st.sampled_from((-10.0, 20.0, 50_000.0, 50_000.0)),
    }
)
asked = st.fixed_dictionaries(
    {
        "fence": st.sampled_from((0, 0, 1)),
        "result": st.sampled_from((None, "null", '{"a": "é\\"\\\\,{}"}', "1")),
        "what": st.sampled_from(("success", "success", "success", "success", "told", "filter", "error", "progress")),
    }
)
worlds = st.tuples(st.lists(hot, min_size=1, max_size=7), st.tuples(*[line] * LINES))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[SimulatedStore]:
    """An empty store whose verbs run in the calling thread."""
    made = SIMULATED[request.param](tmp_path, SettableClock())
    yield made
    made.close_now()


class Scene:
    """Random standings in a transaction that is undone at the end."""

    def __init__(self, store: SimulatedStore, tasks: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]]) -> None:
        writer: Any = store._writer
        self.session = writer._session if hasattr(writer, "_session") else writer._link._connected()
        self.numbers = itertools.count(1)
        self.submit(store, tasks)
        self.begin()
        try:
            self.paint(tasks, lines)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        """Undo the transaction, and what was submitted."""
        self.session.rollback()
        self.begin()
        for name in (*TABLES, "identities", "policies"):
            self.session.run(f"DELETE FROM ramet_{name}")
        self.session.noted = []
        self.session.commit()

    def submit(self, store: SimulatedStore, tasks: Sequence[dict[str, Any]]) -> None:
        """Create them, as anybody does."""
        for number in range(LINES):
            roots = [
                NewTask(f"t{at}", task["kind"], f"k{at}", "{}")
                for at, task in enumerate(tasks)
                if task["line"] == number
            ]
            if roots:
                now(store.submit([NewLineage(f"line{number}", roots)]))

    def begin(self) -> None:
        """Open the transaction."""
        if self.session.for_update:
            self.session.begin("beside")
        else:
            self.session.begin(write=True)
            self.session.start_verb()

    def paint(self, tasks: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]]) -> None:
        """Make the rows what they are to be."""
        run, at = self.session.run, self.session.now
        resources = "INSERT INTO ramet_resources (name, failures, opened_at, ready_at) VALUES (?, 1, ?, ?)"
        for name, opened_at, ready_at in (("host:a", None, None), ("host:b", at, at - 5), ("gate:c", at, None)):
            run(resources, (name, opened_at, ready_at))
        run("INSERT INTO ramet_policies (pattern, burst, breaker_failures) VALUES ('gate:*', 1.0, 2)")
        for number, each in enumerate(lines):
            marks = {f"t{n}": int(each["buried"]) for n, t in enumerate(tasks) if t["line"] == number}
            mark = str(dict([*marks.items()][:1])).replace("'", '"') if each["marked"] and marks else ""
            run(
                "UPDATE ramet_lineages SET state = ?, paused_at = ?, reserved = ?, tombstones = ?, deadline_at = ? "
                "WHERE tracking_id = ?",
                (
                    each["state"], at - 5.0 if each["state"] == "paused" else None, each["reserved"], mark,
                    at + each["deadline"], f"line{number}",
                ),
            )  # fmt: skip
        self.seqs = {task_id: seq for seq, task_id in self.session.rows("SELECT seq, id FROM ramet_tasks")}
        for number, each in enumerate(lines):
            inside = [f"t{n}" for n, t in enumerate(tasks) if t["line"] == number]
            if each["branched"] and inside:
                self.paint_branch(f"line{number}", inside)
        for number, task in enumerate(tasks):
            held, name = task["state"] == "processing", f"t{number}"
            if task["unique_seconds"] is not None:
                key = (f"k{number}", task["kind"], name, self.seqs[name], f"line{task['line']}")
                run("INSERT INTO ramet_uniques (key, kind, holder, seq, tracking_id) VALUES (?, ?, ?, ?, ?)", key)
            if lines[task["line"]]["reserved"]:
                kept = (name, f"line{task['line']}", self.seqs[name], task["fence"], 1, 1, at)
                run(
                    "INSERT INTO ramet_reservations (id, tracking_id, seq, fence, day, amount, reserved_at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    kept,
                )
            run(
                "UPDATE ramet_live SET state = ?, fence = ?, lease_until = ?, available_at = ?, claimed_at = ?, "
                "started_at = ?, deadline_at = ?, task_seconds = ?, attempts = ?, losses = ?, snoozes = ?, "
                "chain_depth = ?, progressed = ?, fan_out = ?, stage = ?, on_end = ?, ending = ?, resource = ?, "
                "unique_seconds = ?, wait = ?, worker = ?, bound_to = ? WHERE seq = ?",
                (
                    task["state"], task["fence"], at + task["lease"] if held else 0.0, at + task["available"],
                    at + task["claimed"], None if task["started"] is None else at + task["started"],
                    None if task["deadline"] is None else at + task["deadline"], task["task_seconds"],
                    task["attempts"], task["losses"], task["snoozes"], task["chain_depth"], task["progressed"],
                    task["fan_out"], task["stage"], task["on_end"], task["ending"], task["resource"],
                    task["unique_seconds"], None if held else "bound" if task.get("bound") else task["wait"],
                    "w" if held else None, None if held else task.get("bound"), self.seqs[name],
                ),
            )  # fmt: skip

    def paint_branch(self, tracking_id: str, inside: Sequence[str]) -> None:
        """Put these tasks into a branch of their own."""
        sums = Booking(tasks=len(inside), live=len(inside))
        branch = Branch(f"b-{tracking_id}", tracking_id, None, None, None, 0, None, None)._replace(**sums._asdict())
        self.session.insert("ramet_branches", Branch._fields, [branch])
        add_members(self.session, [(self.seqs[name], tracking_id, branch.id, 0) for name in inside])
        self.session.run("UPDATE ramet_lineages SET branches = 1 WHERE tracking_id = ?", (tracking_id,))

    def outcome(self, verb: Callable[[Any], Any]) -> tuple[Any, Rows, bool]:
        """The answer of a verb, all rows after it and whether it wakes workers; then everything is as before."""
        session = self.session
        session.run("SAVEPOINT scene")
        session.woken, session.noted = False, []
        answer = verb(session)
        ended = sorted(tallies.ends_of(session.noted))
        tallies.write(session)
        rows = {name: sorted(session.rows(f"SELECT * FROM ramet_{name}"), key=repr) for name in TABLES}
        woken = session.woken
        session.run("ROLLBACK TO scene")
        session.run("RELEASE scene")
        return (answer, ended), rows, woken


PLAIN: dict[str, Any] = {
    **dict.fromkeys("fence attempts losses snoozes chain_depth progressed fan_out on_end".split(), 0),
    **dict.fromkeys("started deadline task_seconds stage ending resource unique_seconds wait".split()),
    "lease": 300.0, "available": 0.0, "claimed": -1.0,
}  # fmt: skip
LINE: dict[str, Any] = {
    "state": "running", "reserved": 0, "branched": False, "buried": False, "marked": False, "deadline": 50_000.0,
}  # fmt: skip


def event_of(what: str, fence: int) -> ev.Event:
    match what:
        case "told":
            return ev.Complete(fence, "found nothing")
        case "filter":
            return ev.Filter(fence, "no")
        case "error":
            return ev.Error(fence, "x", "transient", "f", jitter=0.5)
        case "progress":
            return ev.Progress(fence, 300.0)
        case _:
            return ev.Complete(fence)


QUICK = settings(
    max_examples=40, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@QUICK
@given(world=worlds, asks=st.lists(asked, min_size=7, max_size=7))
def test_settling_by_lane_and_row_by_row_write_the_same(
    store: SimulatedStore, world: Any, asks: list[dict[str, Any]]
) -> None:
    settles_alike(store, world, asks)


def settles_alike(store: SimulatedStore, world: Any, asks: list[dict[str, Any]]) -> None:
    """Settle the same batch both ways and compare all rows."""
    tasks, lines = world
    with Scene(store, tasks, lines) as scene:
        batch = [
            Settlement(
                scene.seqs[f"t{at}"], task["fence"] + ask["fence"],
                event_of(ask["what"], task["fence"] + ask["fence"]), ask["result"],
            )
            for at, (task, ask) in enumerate(zip(tasks, asks, strict=False))
        ]  # fmt: skip
        by_lane = scene.outcome(lambda session: settling.settle(session, batch))
        by_row = scene.outcome(lambda session: settling.settle(session, batch, lanes=False))
    assert by_lane == by_row


def row_by_row(session: Any, request: ClaimRequest, candidates: Sequence[Standing]) -> tuple[Any, ...]:
    """Claims as DESIGN §4 says them, a task at a time."""
    lineages = read_lineages(session, {s.tracking_id for s in candidates})
    busy = claiming._end_overdue(session, lineages)
    changes, held_back = [], set()
    for standing in candidates:
        lineage = lineages[standing.tracking_id]
        if standing.tracking_id in busy:
            continue
        marks = tombstones_of(lineage)
        over = lineage.state != "running" or (marks and claiming._under_tombstone(session, standing, marks))
        if standing.ending is None and over:
            held_back.add((standing, Wait.LINEAGE))
            continue
        event = ev.Claim(request.worker, request.lease_seconds, lineage.deadline_at)
        change = decide(standing, event, session.now)
        if isinstance(change, Change):
            changes.append(change)
        else:
            held_back.add((standing, Wait.DUE))
    assert not apply(session, changes).lost
    return {change.after for change in changes}, held_back


def set_by_set(session: Any, request: ClaimRequest, candidates: Sequence[Standing]) -> tuple[Any, ...]:
    changes, held_back = claiming._decide(session, request, candidates, {})
    return {*lanes.move_alike(session, changes).values()}, {*held_back}


SETTLER: dict[str, Any] = {
    **dict.fromkeys("losses snoozes chain_depth progressed fan_out on_end".split(), 0),
    **dict.fromkeys("started deadline task_seconds stage ending resource unique_seconds wait".split()),
    "fence": 1, "attempts": 1, "lease": 300.0, "available": 0.0, "claimed": -1.0,
    "kind": "page", "line": 0, "state": "processing",
}  # fmt: skip
"""Number ``t0``, whose claim is current."""
settled = st.fixed_dictionaries(
    {
        "bound": st.sampled_from(("t0", "t0", "t0", "t0", "t1", None)),
        "binding": st.sampled_from((0, 0, 0, 1)),
        "result": st.sampled_from((None, "null", '{"a": "é\\"\\\\,{}"}')),
        "state": st.sampled_from(("success", "success", "success", "failed", "pending")),
        "said": st.sampled_from((False, False, False, False, True)),
        "again": st.sampled_from((False, False, False, True)),
        "writes": st.sampled_from((0, 0, 0, 0, 0, 0, 1, 2)),
    }
)
OWN = (
    "UPDATE ramet_workers SET host = 'x' WHERE name = 'none'",
    "INSERT INTO nowhere VALUES (1)",
)
"""Statements of a settled task, a good one and one that fails."""


def items_of(tasks: Sequence[dict[str, Any]], asks: Sequence[dict[str, Any]]) -> list[ItemSettlement]:
    """What a settler makes of the tasks from ``t1`` on; of some twice."""
    made = []
    for at, (task, ask) in enumerate(zip(tasks, asks, strict=False), 1):
        reason = "why" if ask["said"] or ask["state"] == "failed" else None
        result = ask["result"] if ask["state"] == "success" else None
        writes = ((OWN[ask["writes"] - 1], ()),) if ask["writes"] else ()
        item = ItemSettlement(
            f"t{at}", task["fence"] + ask["binding"], ask["state"], result, reason, 0.0, True, writes
        )  # fmt: skip
        made += [item, item] if ask["again"] else [item]
    return [*made, ItemSettlement("unknown", 1, "success")]


def settles_bound_alike(store: SimulatedStore, world: Any, asks: list[dict[str, Any]]) -> None:
    """Settle the same bound tasks both ways and compare all rows."""
    tasks, lines = world
    inside = [task | {"bound": ask["bound"]} for task, ask in zip(tasks, asks, strict=False)]
    with Scene(store, [SETTLER, *inside], [LINE, *lines[1:]]) as scene:
        event = ev.Progress(1, 300.0)
        batch = [Settlement(scene.seqs["t0"], 1, event, items=items_of(tasks, asks))]
        by_lane = scene.outcome(lambda session: settling.settle(session, batch))
        by_row = scene.outcome(lambda session: settling.settle(session, batch, lanes=False))
    assert by_lane == by_row


OFTEN_PLAIN = {
    "state": st.just("pending"),
    "ending": st.sampled_from((None, None, None, None, None, "failed", "cancelled")),
    "unique_seconds": st.sampled_from((None, None, None, None, 60.0)),
}
items = st.fixed_dictionaries(FIELDS | OFTEN_PLAIN)
bound_worlds = st.tuples(st.lists(items, min_size=1, max_size=7), st.tuples(*[line] * LINES))
asked_of_items = st.lists(settled, min_size=7, max_size=7)


@QUICK
@given(world=bound_worlds, asks=asked_of_items)
def test_settling_bound_tasks_by_lane_and_row_by_row_write_the_same(
    store: SimulatedStore, world: Any, asks: list[dict[str, Any]]
) -> None:
    settles_bound_alike(store, world, asks)


SUCCEEDED: dict[str, Any] = {
    "bound": "t0", "binding": 0, "result": '{"a": 1}', "state": "success", "said": False, "again": False, "writes": 0,
}  # fmt: skip


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("reserved", [0, 5])
def test_plain_tasks_end_by_lane_with_their_reservations_and_once(
    store: SimulatedStore, again: bool, reserved: int
) -> None:
    item = SETTLER | {"state": "pending", "line": 1}
    lines = [LINE, LINE | {"reserved": reserved}, LINE]
    settles_bound_alike(store, ([item, item], lines), [SUCCEEDED | {"again": again}, SUCCEEDED])
    claimed = SETTLER | {"line": 1}
    settles_alike(store, ([claimed], lines), [{"fence": 0, "result": "1", "what": "success"}])


@QUICK
@given(world=bound_worlds, twice=st.booleans())
def test_binding_by_lane_and_row_by_row_write_the_same(store: SimulatedStore, world: Any, twice: bool) -> None:
    tasks, lines = world
    free = [task | ({"wait": "resource"} if task["resource"] and task["wait"] is None else {}) for task in tasks]
    with Scene(store, free, lines) as scene:
        ids = [*scene.seqs, *([*scene.seqs][:2] if twice else ()), "unknown"]

        def bind(session: Any, *, by_lane: bool) -> Any:
            standings = load_standings(session, scene.seqs.values())
            lineages = read_lineages(session, {standing.tracking_id for standing in standings.values()})
            found = Items(session, scene.seqs, standings, lineages)
            return bind_items(session, found, "settler", ids, lanes=by_lane)

        by_lane = scene.outcome(lambda session: bind(session, by_lane=True))
        by_row = scene.outcome(lambda session: bind(session, by_lane=False))
    assert by_lane == by_row


COVERED = ("l.state", "l.holds_path")
"""Conditions that no row here misses: only a claim in hand has a lease, and paths have tests of their own."""
CONDITIONS = [
    (name, at)
    for name in ("PLAIN_ROW", "PLAIN_LINEAGE", "BOUND_ROW")
    for at, condition in enumerate(getattr(lanes, name))
    if not condition.startswith(COVERED)
]


@pytest.mark.parametrize(("name", "at"), CONDITIONS)
def test_without_any_one_condition_the_lane_writes_something_else(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conditions = list(getattr(lanes, name))
    del conditions[at]
    monkeypatch.setattr(lanes, name, conditions)
    monkeypatch.setattr(lanes, "is_plain_lineage", lambda row: True)
    store = SIMULATED["sqlite"](tmp_path, SettableClock())
    bound = name.startswith("BOUND")
    world, asks = (bound_worlds, asked_of_items) if bound else (worlds, st.lists(asked, min_size=7, max_size=7))

    @settings(QUICK, max_examples=1_000, phases=[Phase.generate])
    @given(world=world, asks=asks)
    def same(world: Any, asks: list[dict[str, Any]]) -> None:
        (settles_bound_alike if bound else settles_alike)(store, world, asks)

    try:
        with pytest.raises((AssertionError, BaseExceptionGroup)):
            same()
    finally:
        store.close_now()


@QUICK
@given(world=worlds)
def test_claiming_by_lane_and_row_by_row_write_the_same(store: SimulatedStore, world: Any) -> None:
    tasks, lines = world
    with Scene(store, [task | {"state": "pending"} for task in tasks], lines) as scene:
        found = scene.session.rows(f"SELECT {LIVE_LIST} FROM ramet_live ORDER BY seq")
        candidates = [Standing._make(row) for row in found]
        request = ClaimRequest("w", ("default",), ("page", "image"), 10, 300.0)
        by_lane = scene.outcome(lambda session: set_by_set(session, request, candidates))
        by_row = scene.outcome(lambda session: row_by_row(session, request, candidates))
    assert by_lane == by_row


def test_a_claim_that_another_row_took_is_left_alone(store: SimulatedStore) -> None:
    tasks = [{**PLAIN, "kind": "page", "line": 0, "state": "pending"}] * 2
    with Scene(store, tasks, [LINE] * LINES) as scene:
        rows = scene.session.rows(f"SELECT {LIVE_LIST} FROM ramet_live ORDER BY seq")
        first, second = map(Standing._make, rows)
        change = decide(first, ev.Claim("w", 300.0, 2e9), scene.session.now)
        assert isinstance(change, Change)
        scene.session.run("UPDATE ramet_live SET fence = 7 WHERE seq = ?", (second.seq,))
        assert lanes.move_alike(scene.session, [(change, [first, second])]) == {first.seq: change.after}


def test_a_lineage_that_ended_meanwhile_sends_the_batch_the_usual_way(
    store: SimulatedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server, where the statement sees a lineage's row as it was when it began."""
    now(store.submit([NewLineage("line", [NewTask("t", "page", "k", "{}")])]))
    [claimed] = now(store.claim(ClaimRequest("w", ("default",), ("page",), 1, 300.0)))
    monkeypatch.setattr(lanes, "PLAIN_LINEAGE", ("1 = 1",))
    now(store.cancel_lineage("line", by="ann"))
    seq, fence = claimed.standing.seq, claimed.standing.fence
    [answer] = now(store.settle([Settlement(seq, fence, ev.Complete(fence))]))
    assert (answer.state, answer.refused) == (None, "cancelled")
    assert store.rows("SELECT state FROM ramet_tasks") == [("cancelled",)]


def test_groups_tell_what_tallies_count() -> None:
    session: Any = type("Noting", (), {"noted": [], "now": 10.0})()
    tallies.succeeded(session, [EndedGroup("line", "page", 1.0, 2.0, 3, 4, None, [5])])
    [note] = session.noted
    assert note.changed == {(("page", "processing", 1.0, 2.0, 3, 4), "success", "success"): 1}
    assert tallies.ends_of(session.noted) == [5]


def test_what_a_lane_leaves_is_held_in_order_from_the_next_batch_on(store: SimulatedStore) -> None:
    """A task with a unique key goes the usual way: the batch is undone once, and later ones hold their rows first."""
    roots = [NewTask(f"t{n}", "page", f"k{n}", "{}", unique_seconds=60.0 if n % 2 else None) for n in range(4)]
    now(store.submit([NewLineage("line", roots)]))
    told: list[str] = []
    for _ in range(2):
        claimed = now(store.claim(ClaimRequest("w", ("default",), ("page",), 2, 300.0)))
        store.hook(lambda when, sql: told.append(sql) if when == "before" else None)
        batch = [Settlement(one.standing.seq, one.standing.fence, ev.Complete(one.standing.fence)) for one in claimed]
        answers = now(store.settle(batch))
        store.hook(None)
        assert [answer.state for answer in answers] == ["success", "success"]
    undone = [sql for sql in told if sql.startswith("WITH i AS")]
    held = [sql for sql in told if sql.startswith("SELECT DISTINCT tracking_id")]
    assert (len(undone), len(held)) == ((2, 1) if isinstance(store, ServerStore) else (0, 0))


@pytest.mark.server
def test_long_results_are_ended_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ServerStore(tmp_path, SettableClock())
    now(store.submit([NewLineage("line", [NewTask(f"t{n}", "page", f"k{n}", "{}") for n in range(5)])]))
    claimed = now(store.claim(ClaimRequest("w", ("default",), ("page",), 5, 300.0)))
    told: list[str] = []
    store.hook(lambda when, sql: told.append(sql) if when == "before" else None)
    monkeypatch.setattr(bulk, "CHARACTERS_MAX", 50)
    batch = [Settlement(c.standing.seq, c.standing.fence, ev.Complete(c.standing.fence), '"long"' * 3) for c in claimed]
    answers = now(store.settle(batch))
    store.hook(None)
    assert [answer.state for answer in answers] == ["success"] * 5
    assert len([sql for sql in told if sql.startswith("WITH i AS")]) > 1
    assert store.rows("SELECT success, live FROM ramet_lineages") == [(5, 0)]
    store.close_now()
