"""Who holds a path, who waits and for whom: what the queries say is what a brute-force look at all rows says."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest

from ramet.model.paths import PathElements, PathImpact, PathRule, PathTask, conflict
from ramet.model.task import events as ev
from ramet.store.store import Store
from tests.support.world import World, failing

ELEMENTS = ("a", "b", ":", "%", "")


def on(*elements: str, **rule: object) -> PathRule:
    return PathRule(elements, **rule)  # type: ignore[arg-type]


class Place(NamedTuple):
    """A task in line, read without any of the queries."""

    ticket: int
    id: str
    path: PathElements
    queue: str
    tracking_id: str
    owner: str
    """The lineage, for a path with the scope lineage."""
    free: bool

    def conflicts(self, other: Place) -> bool:
        same = (self.queue, self.owner) == (other.queue, other.owner)
        return same and conflict(self.path, other.path)


async def line_of(store: Store) -> list[Place]:
    """Everybody in line, the first first."""
    rows = await store.read(
        "SELECT p.ticket, t.id, t.path, t.queue, t.tracking_id, t.path_scope, p.waits_on FROM ramet_paths p "
        "JOIN ramet_tasks t ON t.seq = p.seq WHERE p.ticket IS NOT NULL ORDER BY p.ticket"
    )
    return [
        Place(ticket, task_id, tuple(json.loads(path)), queue, line, line if scope == "lineage" else "", on is None)
        for ticket, task_id, path, queue, line, scope, on in rows
    ]


def ids(tasks: Sequence[PathTask]) -> list[str]:
    return [task.task_id for task in tasks]


async def fork(world: World) -> list[str]:
    """``doc`` is claimed; two children and ``doc`` again wait; another lineage waits for the second ``doc``."""
    found = await world.submit(
        world.task(path=on("doc")), world.task(path=on("doc", "a")), world.task(path=on("doc", "b")),
        world.task(path=on("doc")), tracking_id="first",
    )  # fmt: skip
    found += await world.submit(world.task(path=on("doc", "a")), world.task(path=on("other")), tracking_id="second")
    await world.claim_one()
    return found


async def test_a_line_is_shown_in_the_order_in_which_it_goes(world: World) -> None:
    root, a, b, again, last, other = await fork(world)
    page = await world.store.paths(["doc"])
    assert (ids(page.tasks), page.more) == ([root, a, b, again, last], False)
    assert [task.behind for task in page.tasks] == [4, 2, 1, 1, 0]
    assert [task.waits_for for task in page.tasks] == [None, root, root, b, again]
    assert [task.holds for task in page.tasks] == [True, False, False, False, False]
    assert [task.state for task in page.tasks] == ["processing"] + ["pending"] * 4
    assert [task.wait for task in page.tasks] == [None] + ["path"] * 4
    assert [left.ticket < right.ticket for left, right in pairwise(page.tasks) if left.ticket and right.ticket] == [
        True
    ] * 4
    assert {task.since for task in page.tasks} == {world.clock.now}
    assert page.tasks[4][:7] == (last, "second", "page", "key5", "pending", "path", ("doc", "a"))
    assert ids((await world.store.paths(["other"])).tasks) == [other]


async def test_only_what_conflicts_with_the_path_is_shown(world: World) -> None:
    root, a, b, again, last, _ = await fork(world)
    assert ids((await world.store.paths(["doc", "a"])).tasks) == [root, a, again, last]
    assert ids((await world.store.paths(["doc", "b"])).tasks) == [root, b, again]
    assert ids((await world.store.paths(["doc", "a", "deeper"])).tasks) == [root, a, again, last]
    assert ids((await world.store.paths(["do"])).tasks) == []
    assert ids((await world.store.paths(["doc"], queue="elsewhere")).tasks) == []


async def test_a_page_says_when_there_is_more(world: World) -> None:
    await fork(world)
    for limit in range(1, 7):
        page = await world.store.paths(["doc"], limit=limit)
        assert (len(page.tasks), page.more) == (min(limit, 5), limit < 5)


async def test_holders_are_shown_with_the_most_waited_for_first(world: World) -> None:
    await world.submit(world.task(path=on("quiet")), tracking_id="quiet")
    root, *_, other = await fork(world)
    [quiet] = [task.id for task in await world.store.roots("quiet")]
    page = await world.store.paths()
    assert (ids(page.tasks)[0], set(ids(page.tasks)), page.more) == (root, {root, other, quiet}, False)
    assert ids((await world.store.paths(tracking_id="second")).tasks) == [other]
    assert ids((await world.store.paths(queue="elsewhere")).tasks) == []
    assert (await world.store.paths(limit=1)).more


async def test_paths_of_one_lineage_are_apart_from_those_of_the_queue(world: World) -> None:
    await fork(world)
    one, two = await world.submit(
        world.task(path=on("doc", scope="lineage")), world.task(path=on("doc", "x", scope="lineage")), tracking_id="own"
    )
    page = await world.store.paths(["doc"], tracking_id="own")
    assert ids(page.tasks) == [one, two]
    assert {task.scope for task in page.tasks} == {"lineage"}
    assert one not in ids((await world.store.paths(["doc"])).tasks)


async def test_the_chain_leads_to_the_one_that_runs(world: World) -> None:
    root, _, b, again, last, other = await fork(world)
    chain = await world.store.blocked_by(last)
    assert chain is not None
    assert (chain.task.task_id, chain.before, chain.more) == (last, 3, 0)
    assert ids(chain.steps) == [again, b, root]
    assert [step.waits_for for step in chain.steps] == [b, root, None]
    assert chain.end is not None
    assert (chain.end.task_id, chain.end.state, chain.end.behind) == (root, "processing", 4)
    for task_id in (root, other):
        free = await world.store.blocked_by(task_id)
        assert free is not None
        assert (free.steps, free.end, free.before, free.task.holds) == ((), None, 0, True)
    assert await world.store.blocked_by("nobody") is None
    [without] = await world.submit(tracking_id="without")
    assert await world.store.blocked_by(without) is None


async def test_the_end_of_a_long_chain_is_told_all_the_same(world: World) -> None:
    first, *_, last = await world.submit(*(world.task(path=on("x", *"yz"[: n % 3])) for n in range(40)))
    whole = await world.store.blocked_by(last)
    assert whole is not None
    cut = await world.store.blocked_by(last, limit=3)
    assert cut is not None
    assert cut.end is not None
    assert (cut.steps, cut.end.task_id) == (whole.steps[:3], first)
    assert 0 < cut.more <= len(whole.steps) - 3


async def test_who_gave_a_ticket_up_is_shown_behind_with_those_that_come_after(world: World) -> None:
    parent, child, same = await world.submit(
        world.task(path=on("p")), world.task(path=on("p", "c")), world.task(path=on("p"))
    )
    await world.settle(await world.claim_one(), ev.Snooze(1, 5_000.0))
    assert ids((await world.store.paths(["p"])).tasks) == [same, parent, child]
    chain = await world.store.blocked_by(child)
    assert chain is not None
    assert (ids(chain.steps), chain.task.gave_up, chain.task.ticket) == ([parent], True, None)
    assert chain.end is not None
    assert (chain.end.task_id, chain.end.gave_up) == (parent, True)
    assert ids((await world.store.paths(["p", "d"])).tasks) == [same, parent]
    held = await world.store.held_back("line")
    assert held == PathImpact(0, False)


async def test_a_lineage_holds_back_those_that_wait_for_it_directly_or_in_turn(world: World) -> None:
    await fork(world)
    assert await world.store.held_back("first") == PathImpact(1, False)
    assert await world.store.held_back("second") == PathImpact(0, False)
    # The next waits for `doc/a` of the second lineage only, which waits for the first.
    await world.submit(world.task(path=on("doc", "a", "x")), tracking_id="third")
    assert await world.store.held_back("first") == PathImpact(2, False)
    assert await world.store.held_back("second") == PathImpact(1, False)
    assert await world.store.held_back("first", limit=1) == PathImpact(1, True)
    assert await world.store.held_back("nobody") == PathImpact(0, False)


def held_by_force(line: Sequence[Place], tracking_id: str) -> int:
    """How many of others wait for this lineage, by looking at every pair."""
    stuck: list[Place] = []
    for place in line:
        if place.tracking_id == tracking_id or any(place.conflicts(earlier) for earlier in stuck):
            stuck.append(place)
    return sum(place.tracking_id != tracking_id for place in stuck)


async def compare(world: World, rng: random.Random) -> None:
    line = await line_of(world.store)
    for _ in range(4):
        prefix = tuple(rng.choice(ELEMENTS) for _ in range(rng.randint(1, 3)))
        wanted = Place(0, "", prefix, "default", "", "", free=False)
        page = await world.store.paths(prefix, limit=1_000)
        expected = [place.id for place in line if place.conflicts(wanted)]
        assert [task.task_id for task in page.tasks if task.ticket is not None] == expected
    for place in rng.sample(line, min(4, len(line))):
        chain = await world.store.blocked_by(place.id)
        assert chain is not None
        before = [earlier for earlier in line if earlier.ticket < place.ticket and earlier.conflicts(place)]
        after = [later for later in line if later.ticket > place.ticket and later.conflicts(place)]
        assert (chain.before, chain.task.behind) == (len(before), len(after)), place
        assert ids(chain.steps[:1]) == [] if place.free else [before[-1].id]
        cut = await world.store.blocked_by(place.id, limit=1)
        assert cut is not None
        assert (cut.end is None) == place.free
        if cut.end is not None:
            [end] = [other for other in line if other.id == cut.end.task_id]
            assert end.free
    for tracking_id in {place.tracking_id for place in rng.sample(line, min(3, len(line)))}:
        assert (await world.store.held_back(tracking_id)).tasks == held_by_force(line, tracking_id)
    # Nobody is held who is not free, and whoever is free is there.
    assert set(ids((await world.store.paths(limit=1_000)).tasks)) == {place.id for place in line if place.free}


@pytest.mark.parametrize("seed", range(4))
async def test_random_lines_are_shown_as_they_are(world: World, seed: int) -> None:
    rng = random.Random(seed)
    for round_ in range(12):
        for number in range(rng.randint(1, 5)):
            path = tuple(rng.choice(ELEMENTS) for _ in range(rng.randint(1, 4)))
            scope = rng.choice(["queue", "queue", "queue", "lineage"])
            tasks = [
                world.task(path=PathRule((*path, *more), scope, rng.choice(["skip", "run"])))
                for more in rng.sample([(), ("a",), ("b", "a")], 2)
            ]
            await world.submit(*tasks, tracking_id=f"{round_}-{number}")
        for claimed in await world.claim(rng.randint(0, 4)):
            fence = claimed.standing.fence
            event = rng.choice([None, failing(claimed), ev.Snooze(fence, 5.0), ev.Filter(fence, "x")])
            await world.settle(claimed, event)
        await world.sweep()
        world.clock.advance(3.0)
        await compare(world, rng)


async def test_the_end_of_a_chain_of_those_without_tickets_is_told_too(world: World) -> None:
    parent, child, grandchild = await world.submit(*(world.task(path=on(*"pcd"[:depth])) for depth in (1, 2, 3)))
    await world.settle(await world.claim_one(), ev.Snooze(1, 5_000.0))
    behind = "UPDATE ramet_paths SET behind = (SELECT seq FROM ramet_tasks WHERE id = '{}') WHERE seq = {}"
    [(seq,)] = await world.store.read("SELECT seq FROM ramet_tasks WHERE id = ?", (grandchild,))
    await world.store.ensure_tables([behind.format(child, seq)])
    chain = await world.store.blocked_by(grandchild, limit=1)
    assert chain is not None
    assert chain.end is not None
    assert (ids(chain.steps), chain.end.task_id, chain.steps[0].waits_for) == ([child], parent, parent)
    await world.store.ensure_tables([behind.format(parent, seq)])
