"""The monitor: what it tells, how often, when it takes it back, and that honest work is no alarm."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.model.alerts.rules import WORST_MAX, Alert, MonitorLimits
from ramet.model.money import ReserveRequest
from ramet.store.answers import ClaimedTask
from ramet.store.store import Store
from tests.support.backends import Backend
from tests.support.world import SettableClock, World, busy, failing, settlement

LIMITS = MonitorLimits()


async def look(world: World, limits: MonitorLimits = LIMITS, store: Store | None = None) -> tuple[list[str], list[str]]:
    """A whole look, now; the patterns that began to fire, and those that were resolved."""
    fired, resolved, more = [], [], True
    while more:
        looked = await (store or world.store).look(limits, force=True)
        fired += [alert.pattern for alert in looked.fired]
        resolved += [alert.pattern for alert in looked.resolved]
        more = looked.more
    return fired, resolved


async def ask(world: World, claimed: ClaimedTask, *keys: str, times: int = 1, kind: str = "page") -> None:
    """Settlements of one claim that each ask for these keys, a second apart."""
    for _ in range(times):
        world.clock.advance(1.0)
        await world.spawn(claimed, *(world.task(key, kind) for key in keys))


async def firing(world: World, pattern: str = "possible_loop") -> Alert:
    [alert] = [alert for alert in await world.store.alerts() if alert.pattern == pattern]
    return alert


async def rooted(world: World, *keys: str, **limits: Any) -> list[ClaimedTask]:
    """A lineage with roots of these keys, all claimed."""
    await world.submit(*map(world.task, keys), **limits)
    return sorted(await world.claim(len(keys)), key=lambda claimed: keys.index(claimed.key))


# --- what counts as a demand


async def test_more_than_three_demands_for_a_kind_and_key_are_told_and_three_are_not(world: World) -> None:
    limits = LIMITS._replace(key_demands_max=99)
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=2)
    assert await look(world, limits) == ([], [])
    await ask(world, root, "root")
    assert await look(world, limits) == (["possible_loop"], [])
    alert = await firing(world)
    [worst] = alert.evidence["worst"]
    assert (worst["kind"], worst["key"], worst["weight"]) == ("page", "root", 4)
    assert (worst["spawned"], worst["blocked"], worst["revived"]) == (1, {"cycle": 3}, 0)
    assert (alert.tracking_id, alert.severity, alert.count) == ("line", "warning", 1)
    assert alert.subject == "page root was wanted 4 times (tolerated: 3)"


async def test_more_than_two_demands_for_a_key_whatever_the_kind_are_told(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root")
    await ask(world, root, "root", kind="image")
    assert await look(world) == ([], [])
    await ask(world, root, "root", kind="image")
    assert await look(world) == (["possible_cycle"], [])
    [worst] = (await firing(world, "possible_cycle")).evidence["worst"]
    assert (worst["kind"], worst["key"], worst["weight"], worst["limit"]) == ("image, page", "root", 3, 2)


async def test_a_key_with_three_kinds_of_task_is_told_without_any_refusal(world: World) -> None:
    [root] = await rooted(world, "root")
    await world.spawn(root, *(world.task("x", kind) for kind in ("page", "image", "loose")))
    assert await look(world) == (["possible_cycle"], [])


async def test_a_task_that_its_parent_handed_on_is_no_further_demand(world: World) -> None:
    [root] = await rooted(world, "root")
    await world.spawn(root, world.task("x", "page"), world.task("x", "image"))
    await world.spawn(await world.claim_one(), world.task("x", "loose"))
    assert await look(world) == ([], [])


async def test_a_revive_is_a_demand(world: World) -> None:
    [root] = await rooted(world, "root")
    for revive in range(3):
        assert (await look(world))[0] == ([] if revive < 2 else ["possible_cycle"])
        await world.settle(root, failing(root))
        world.clock.advance(1.0)
        assert await world.store.revive([root.id], by="test")
        root = await world.claim_task(root.id)
    assert await look(world) == (["possible_loop"], [])
    assert (await firing(world)).evidence["worst"][0]["revived"] == 3


async def test_a_revive_of_what_a_limit_or_a_person_ended_is_no_demand(world: World) -> None:
    [task_id] = await world.submit(world.task("root", task_seconds=10.0))
    for revive in range(8):
        if revive % 2:
            claimed = await world.claim_one()
            await world.settle(claimed, busy(claimed.standing.fence, 60.0))
            world.clock.advance(11.0)
            await world.sweep()
            assert await world.state(task_id) == "failed"
        else:
            await world.store.cancel(task_id, by="test")
        assert await world.store.revive([task_id], by="test", extend_seconds=3_600.0)
        assert [name for name in (await look(world))[0] if name.startswith("possible")] == []


async def test_what_one_settlement_asks_for_many_times_is_one_wish(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, *["root"] * 50)
    await ask(world, root, *["x"] * 50, *["x"] * 50)
    assert await look(world) == ([], [])


# --- links


async def test_a_task_that_asks_for_money_again_and_again_wishes_for_no_task(world: World) -> None:
    [root] = await rooted(world, "root", max_cost=10)
    standing = root.standing
    for number in range(20):
        world.clock.advance(1.0)
        [answer] = await world.store.reserve([ReserveRequest(f"r{number}", standing.seq, standing.fence, 11)])
        assert answer.refused is not None
    assert (await world.store.block_totals("line"))[("page", "reserve")] == 20
    assert [name for name in (await look(world))[0] if name.startswith("possible")] == []
    lineage = await world.store.lineage("line")
    assert lineage is not None
    assert lineage.outcome.clean, "its handler decides what becomes of it"


async def test_a_thousand_pages_that_link_to_one_are_no_alarm(world: World) -> None:
    [root] = await rooted(world, "root")
    await world.grow(root, *(world.task(f"page {n}") for n in range(1_000)))
    pages = await world.claim(1_000)
    links = [world.task(key, kind) for key in ("imprint", "imprint", "contact") for kind in ("page", "image")]
    links += [world.task(key, kind) for key in ("page 1", "page 2", "root", "root") for kind in ("page", "image")]
    for start in range(0, 1_000, 100):
        world.clock.advance(1.0)
        told = await world.store.settle(
            [settlement(page, spawns=[link for link in links if link.key != page.key])
             for page in pages[start : start + 100]]
        )  # fmt: skip
        assert len(told) == 100
    await world.run_all()
    blocks = await world.store.blocks("line")
    assert sum(block.count for block in blocks) > 5_000
    assert await look(world) == ([], [])
    assert await world.store.read("SELECT COUNT(*) FROM ramet_blocks WHERE demands > 0") == [(0,)]


async def test_a_parent_that_asks_again_for_what_is_there_is_found(world: World) -> None:
    [first, second] = await rooted(world, "first", "second")
    await ask(world, first, "x")
    await ask(world, second, "x", times=3)
    assert await look(world) == (["possible_cycle"], [])
    await ask(world, second, "x")
    assert await look(world) == (["possible_loop"], [])
    assert (await firing(world)).evidence["worst"][0]["blocked"] == {"in_flight": 3}


async def test_the_parent_that_was_granted_a_task_and_asks_again_is_found(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "x", times=4)
    assert "possible_loop" in (await look(world))[0]
    assert (await firing(world)).evidence["worst"][0]["weight"] == 4


@pytest.mark.parametrize("parents", [2, 3, 5, 8])
async def test_parents_that_ask_in_turns_are_found_however_many_came_before(world: World, parents: int) -> None:
    claims = await rooted(world, *(f"root {n}" for n in range(parents + 6)))
    honest, circle = claims[:6], claims[6:]
    for claimed in honest:
        await ask(world, claimed, "x")
    assert await look(world) == ([], [])
    for _ in range(8):
        for claimed in circle:
            await ask(world, claimed, "x")
    assert "possible_loop" in (await look(world))[0]
    [worst] = (await firing(world)).evidence["worst"]
    assert worst["weight"] <= 1 + 7 * parents, "more repetitions than there were"


# --- thresholds


async def test_a_kind_is_judged_by_its_own_threshold(world: World) -> None:
    await world.store.put_alert_thresholds({"page": 10})
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=9)
    assert await look(world) == ([], [])
    await ask(world, root, "root")
    assert await look(world) == (["possible_cycle", "possible_loop"], [])


async def test_a_kind_may_be_left_out_of_it(world: World) -> None:
    await world.store.put_alert_thresholds({"page": None})
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=30)
    assert await look(world) == ([], [])
    await world.store.put_alert_thresholds({"page": 3})
    await ask(world, root, "root")
    assert "possible_loop" in (await look(world))[0]


async def test_ten_times_the_tolerated_is_critical(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=30)
    await look(world)
    assert (await firing(world)).severity == "critical"


# --- depth, storms, leases


async def test_a_task_deeper_than_eight_is_told_and_one_at_eight_is_not(world: World) -> None:
    [claimed] = await rooted(world, "root")
    for depth in range(1, 10):
        assert await look(world, LIMITS._replace(budget_share=1.0)) == ([], [])
        await world.grow(claimed, world.task(f"depth {depth}"))
        claimed = await world.claim_one()
    assert await look(world, LIMITS._replace(budget_share=1.0)) == (["deep_spawn"], [])
    [worst] = (await firing(world, "deep_spawn")).evidence["worst"]
    assert (worst["name"], worst["weight"]) == (claimed.id, 9)


@pytest.mark.parametrize("tolerated", [None, 3])
async def test_retries_that_were_put_off_are_a_storm(world: World, tolerated: int | None) -> None:
    claims = await rooted(world, *map(str, range(8)), retries_per_minute=5)
    await look(world)
    await world.store.settle([settlement(item, failing(item, "busy", "transient")) for item in claims])
    world.clock.advance(1.0)
    if tolerated is not None:
        assert await look(world, LIMITS._replace(storm_max=tolerated)) == ([], [])
        return
    assert await look(world) == (["retry_storm"], [])
    assert (await firing(world, "retry_storm")).evidence["worst"][0]["weight"] == 3
    world.clock.advance(1.0)
    assert await look(world) == ([], [])
    assert (await firing(world, "retry_storm")).count == 1, "the same retries were told twice"


async def test_processing_without_a_live_lease_is_told_until_somebody_reclaims_it(world: World) -> None:
    [root] = await rooted(world, "root")
    world.clock.advance(330.0)
    assert await look(world) == ([], [])
    world.clock.advance(40.0)
    assert await look(world, LIMITS._replace(grace_seconds=71.0)) == ([], [])
    assert await look(world) == (["lost_lease"], [])
    alert = await firing(world, "lost_lease")
    assert (alert.tracking_id, alert.severity) == (None, "critical")
    assert (alert.evidence["worst"][0]["name"], alert.evidence["worst"][0]["worker"]) == (root.id, "w")
    await world.sweep()
    assert await look(world) == ([], ["lost_lease"])


# --- one alert, and its end


async def test_one_alert_per_lineage_and_pattern_names_its_twenty_worst_keys(world: World) -> None:
    keys = [f"root {n}" for n in range(30)]
    claims = await rooted(world, *keys)
    for n, claimed in enumerate(claims):
        await ask(world, claimed, claimed.key, times=3 + n)
    await look(world)
    worst = (await firing(world)).evidence["worst"]
    assert [entry["key"] for entry in worst] == keys[:-21:-1]
    assert len(worst) == WORST_MAX
    await ask(world, claims[0], keys[0], times=40)
    assert await look(world) == ([], [])
    alert = await firing(world)
    assert [entry["key"] for entry in alert.evidence["worst"][:2]] == [keys[0], keys[29]]
    assert alert.count == 2


async def test_an_alert_is_resolved_when_nothing_new_happens_for_an_hour(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=3)
    await look(world)
    await world.store.heartbeat([(root.standing.seq, 1)], 4_000.0)
    world.clock.advance(3_500.0)
    await ask(world, root, "root")
    assert (await look(world))[1] == []
    world.clock.advance(3_599.0)
    assert (await look(world))[1] == []
    world.clock.advance(1.0)
    assert sorted((await look(world))[1]) == ["possible_cycle", "possible_loop"]
    assert await world.store.alerts(tracking_id="line") == []
    told = await world.store.alerts(tracking_id="line", firing=False)
    assert [alert.resolved_at for alert in told] == [world.clock.now] * 2


async def test_an_alert_of_a_lineage_that_is_over_is_resolved_a_look_later(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=3)
    await world.settle(root)
    assert sorted((await look(world))[0]) == ["possible_cycle", "possible_loop"]
    world.clock.advance(LIMITS.seconds - 1.0)
    assert await look(world) == ([], [])
    world.clock.advance(1.0)
    assert sorted((await look(world))[1]) == ["possible_cycle", "possible_loop"]


@pytest.mark.parametrize(("seconds", "states"), [(100.0, ["firing"]), (1_801.0, ["firing", "resolved"])])
async def test_what_comes_back_after_it_was_resolved_is_a_new_alert(
    world: World, seconds: float, states: list[str]
) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=3)
    await look(world)
    world.clock.advance(200.0)
    await world.store.heartbeat([(root.standing.seq, 1)], 9_000.0)
    world.clock.advance(3_600.0)
    await look(world)
    world.clock.advance(seconds)
    await ask(world, root, "root")
    assert "possible_loop" in (await look(world))[0]
    assert [a.state for a in await world.store.alerts(firing=False) if a.pattern == "possible_loop"] == states


async def test_alerts_are_pruned_with_their_lineage_and_others_with_retention(world: World) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=3)
    await world.settle(root)
    await rooted(world, "other", tracking_id="stays")
    world.clock.advance(1_000.0)
    await look(world)
    assert {alert.tracking_id for alert in await world.store.alerts()} == {"line", None}
    await world.sweep()
    world.clock.advance(1.0)
    await look(world)
    world.clock.advance(1.0)
    await world.store.prune(world.clock.now)
    assert await world.store.alerts(firing=False) == []


# --- when it looks


async def test_a_look_is_due_after_five_minutes_over_all_workers(world: World) -> None:
    assert (await world.store.look(LIMITS)).ran
    world.clock.advance(299.0)
    assert not (await world.store.look(LIMITS)).ran
    world.clock.advance(1.0)
    assert (await world.store.look(LIMITS)).ran
    world.clock.advance(-7_200.0)
    assert (await world.store.look(LIMITS)).ran, "a clock that was set back silences the monitor"


async def test_of_two_that_look_at_once_one_tells(world: World, backend: Backend, clock: SettableClock) -> None:
    [root] = await rooted(world, "root")
    await ask(world, root, "root", times=3)
    other = backend.open(clock=clock, inline=True)
    fired = (await look(world))[0] + (await look(world, store=other))[0]
    await other.close()
    assert sorted(fired) == ["possible_cycle", "possible_loop"]
    assert [alert.count for alert in await world.store.alerts()] == [1, 1]


async def test_a_look_reads_every_new_task_in_windows_and_none_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ramet.store.maintenance.monitor.WINDOW", 7)
    monkeypatch.setattr("ramet.store.maintenance.monitor.SUSPECTS_MAX", 2)
    claims = await rooted(world, *(f"root {n}" for n in range(20)))
    for claimed in claims:
        await ask(world, claimed, claimed.key, times=3)
        await world.spawn(claimed, *(world.task(f"of {claimed.key}", kind) for kind in ("page", "image", "loose")))
    await look(world)
    [cycle] = [alert for alert in await world.store.alerts() if alert.pattern == "possible_cycle"]
    [loop] = [alert for alert in await world.store.alerts() if alert.pattern == "possible_loop"]
    assert {entry["key"] for entry in loop.evidence["worst"]} == {claimed.key for claimed in claims}
    found = len(cycle.evidence["worst"]), cycle.count
    await look(world)
    assert (len((await firing(world, "possible_cycle")).evidence["worst"]), cycle.count) == found
