"""The outbox of alerts: what is told, how often, through which channels, and that a crash loses nothing of it."""

from __future__ import annotations

import asyncio
import json

import pytest

from ramet.model.alerts.notifications import (
    CHANNEL_SECONDS,
    CLAIM_SECONDS,
    MESSAGE_BYTES_MAX,
    WAIT_SECONDS_MAX,
    AlertNotice,
    Message,
    NoticeRules,
    backoff_seconds,
)
from ramet.model.alerts.rules import MonitorLimits
from tests.support.world import World

RULES = NoticeRules()
DEEP = MonitorLimits(depth_max=0)
BOTH = ("log", "webhook")


async def look(world: World, limits: MonitorLimits = DEEP, rules: NoticeRules = RULES) -> None:
    while (await world.store.look(limits, force=True, rules=rules)).more:
        pass


async def deepen(world: World, tracking_id: str = "line") -> None:
    """A lineage with a task that is deeper than the monitor tolerates."""
    [root] = await world.submit(tracking_id=tracking_id)
    await world.spawn(await world.claim_task(root), world.task())


async def events(world: World, channel: str = "log") -> list[str]:
    """What was told through a channel, in order."""
    return [one.event for one in reversed(await world.store.alert_notices()) if one.channel == channel]


async def take(world: World, *names: str, rules: NoticeRules = RULES, limit: int = 100) -> list[AlertNotice]:
    return await world.store.take_notices(names or BOTH, rules, limit=limit)


async def lost(world: World) -> None:
    """A task whose lease ran out, and nobody takes it back; one alert of no lineage."""
    await world.submit(tracking_id="stale")
    await world.claim_one()
    world.clock.advance(1_000.0)


# --- when people are told


async def test_what_fires_is_written_for_every_channel_in_the_transaction_that_fires(world: World) -> None:
    await world.store.see_alert_channels({"webhook": "https://hooks.example.org/..."})
    await deepen(world)
    await look(world)
    told = await world.store.alert_notices()
    assert sorted((one.channel, one.event, one.state) for one in told) == [
        ("log", "fired", "waiting"), ("webhook", "fired", "waiting"),
    ]  # fmt: skip
    assert len({one.delivery_id for one in told}) == 2
    [alert] = await world.store.alerts()
    for one in told:
        assert (one.alert_id, one.tracking_id) == (alert.id, "line")
        assert (one.body["id"], one.body["event"]) == (one.delivery_id, "fired")
        assert one.body["text"] == f"warning deep_spawn in lineage line: {alert.subject}"
        assert one.body["alert"]["evidence"] == alert.evidence
        json.dumps(one.body)
    assert (alert.notified_at, alert.notified_state) == (world.clock.now, "firing")


async def test_an_alert_that_fires_on_is_told_once_until_it_is_time_to_repeat_it(world: World) -> None:
    await lost(world)
    await look(world)
    for _ in range(3):
        world.clock.advance(300.0)
        await look(world)
    assert await events(world) == ["fired"]
    world.clock.advance(14_400.0)
    await look(world)
    assert await events(world) == ["fired", "repeated"]
    await look(world)
    assert await events(world) == ["fired", "repeated"]
    world.clock.advance(100_000.0)
    await look(world, rules=NoticeRules(repeat_seconds=None))
    assert await events(world) == ["fired", "repeated"]


async def test_the_end_of_an_alert_is_told_too(world: World) -> None:
    await lost(world)
    await look(world)
    await world.sweep()
    await look(world)
    assert await events(world) == ["fired", "resolved"]
    [alert] = await world.store.alerts(firing=False)
    assert (alert.state, alert.notified_state) == ("resolved", "resolved")


async def test_one_that_comes_back_within_the_cool_down_is_the_same_and_told_only_once_it_stays(world: World) -> None:
    await lost(world)
    await look(world)
    first = (await world.store.alerts())[0]
    await world.sweep()
    await look(world)
    await world.claim_one()
    world.clock.advance(1_000.0)
    await look(world)
    [again] = await world.store.alerts()
    assert (again.id, again.count, again.resolved_at, again.first_at) == (first.id, 2, None, first.first_at)
    assert await events(world) == ["fired", "resolved"]
    world.clock.advance(1_000.0)
    await look(world)
    assert await events(world) == ["fired", "resolved", "fired"]


async def test_one_that_flaps_within_the_cool_down_is_not_told_again_when_it_ends(world: World) -> None:
    await lost(world)
    await look(world)
    for _ in range(2):
        await world.sweep()
        await look(world)
        await world.claim_one()
        world.clock.advance(400.0)
        await look(world)
    await world.sweep()
    await look(world)
    assert await events(world) == ["fired", "resolved"]


async def test_who_took_notice_is_recorded_and_hears_only_of_the_end(world: World) -> None:
    await lost(world)
    await look(world)
    [alert] = await world.store.alerts()
    assert await world.store.acknowledge_alert(alert.id, by="ada", reason="I look into it")
    assert not await world.store.acknowledge_alert(alert.id, by="bob")
    assert not await world.store.acknowledge_alert(alert.id + 1, by="bob")
    [alert] = await world.store.alerts()
    assert (alert.acknowledged_by, alert.acknowledged_at) == ("ada", world.clock.now)
    [act] = await world.store.acts()
    assert (act.by, act.act, act.subject, act.reason) == ("ada", "acknowledge_alert", f"alert {alert.id}",
                                                          "I look into it")  # fmt: skip
    world.clock.advance(20_000.0)
    await look(world)
    assert await events(world) == ["fired"]
    await world.sweep()
    await look(world)
    assert await events(world) == ["fired", "resolved"]
    assert not await world.store.acknowledge_alert(alert.id, by="bob")


async def test_many_that_fire_at_once_are_summed_up(world: World) -> None:
    for number in range(5):
        await deepen(world, f"line {number}")
    await look(world, rules=NoticeRules(each_look_max=2))
    assert sorted(await events(world)) == ["fired", "fired", "summary"]
    [summary] = [one for one in await world.store.alert_notices() if one.event == "summary"]
    assert (summary.body["counts"], summary.alert_id) == ({"deep_spawn": 3}, None)
    assert {alert.notified_state for alert in await world.store.alerts()} == {"firing"}


async def test_a_link_leads_to_the_dashboard_where_somebody_said_where_it_is(world: World) -> None:
    await deepen(world)
    await look(world)
    [alert] = await world.store.alerts()
    assert alert.link is None
    await world.store.put_setting("dashboard.url", "https://ramet.example.org/", "string", "")
    assert (await world.store.alerts())[0].link == f"https://ramet.example.org/alerts/{alert.id}"
    await world.store.put_setting("dashboard.url", "javascript:alert(1)", "string", "")
    assert (await world.store.alerts())[0].link is None


# --- sending


async def test_what_one_worker_took_no_other_sends_until_its_time_is_over(world: World) -> None:
    await deepen(world)
    await look(world)
    assert await world.store.notices_due(BOTH)
    [first] = await take(world)
    assert (first.attempts, await take(world), await world.store.notices_due(BOTH)) == (1, [], False)
    world.clock.advance(CLAIM_SECONDS)
    [again] = await take(world)
    assert (again.delivery_id, again.body, again.attempts) == (first.delivery_id, first.body, 2)
    await world.store.settle_notice(again, RULES)
    await world.store.settle_notice(first, RULES, error="the late word of the first")
    [told] = await world.store.alert_notices()
    assert (told.state, told.delivered_at, told.error, told.next_at) == ("delivered", world.clock.now, None, None)


async def test_a_late_word_that_it_was_delivered_counts(world: World) -> None:
    await deepen(world)
    await look(world)
    [first] = await take(world)
    world.clock.advance(CLAIM_SECONDS)
    [second] = await take(world)
    await world.store.settle_notice(first, RULES)
    await world.store.settle_notice(second, RULES, error="500")
    [told] = await world.store.alert_notices()
    assert (told.state, told.error) == ("delivered", None)


async def test_what_failed_is_tried_again_later_and_later_and_given_up_with_its_reason(world: World) -> None:
    await deepen(world)
    await look(world)
    rules = NoticeRules(attempts_max=3)
    for attempt in (1, 2, 3):
        [notice] = await take(world, rules=rules)
        assert notice.attempts == attempt
        await world.store.settle_notice(notice, rules, error="it answered 500")
        assert await take(world, rules=rules) == []
        world.clock.advance(backoff_seconds(attempt))
    [told] = await world.store.alert_notices()
    assert (told.state, told.attempts, told.error) == ("given_up", 3, "it answered 500")
    assert await take(world, rules=rules) == []


async def test_what_cannot_succeed_is_not_tried_again(world: World) -> None:
    await deepen(world)
    await look(world)
    [notice] = await take(world)
    await world.store.settle_notice(notice, RULES, error="it answered 410", again=False)
    assert [one.state for one in await world.store.alert_notices()] == ["given_up"]


async def test_a_worker_that_crashes_at_the_last_attempt_leaves_nothing_waiting(world: World) -> None:
    await deepen(world)
    await look(world)
    rules = NoticeRules(attempts_max=1)
    assert len(await take(world, rules=rules)) == 1
    world.clock.advance(CLAIM_SECONDS)
    assert await world.store.notices_due(BOTH)
    assert await take(world, rules=rules) == []
    [told] = await world.store.alert_notices()
    assert (told.state, told.error) == ("given_up", "the worker that sent it ended")


async def test_nobody_hears_that_it_is_over_before_he_heard_that_it_began(world: World) -> None:
    await world.store.see_alert_channels({"webhook": "x"})
    await lost(world)
    await look(world)
    await world.sweep()
    await look(world)
    taken = await take(world)
    assert [one.event for one in taken] == ["fired", "fired"]
    for notice in taken:
        await world.store.settle_notice(notice, RULES, error="500" if notice.channel == "webhook" else None)
    assert [(one.channel, one.event) for one in await take(world)] == [("log", "resolved")]


async def test_notices_for_a_channel_that_no_worker_has_are_given_up_and_no_more_are_written(world: World) -> None:
    await world.store.see_alert_channels({"webhook": "x"})
    await deepen(world)
    await look(world)
    [told] = await take(world, "log")
    await world.store.settle_notice(told, RULES)
    world.clock.advance(max(CHANNEL_SECONDS, WAIT_SECONDS_MAX))
    await deepen(world, "other")
    await look(world)
    assert {one.channel for one in await take(world, "log")} == {"log"}
    assert [(one.state, one.error) for one in await world.store.alert_notices() if one.channel == "webhook"] == [
        ("given_up", "it was not sent within a day: no worker has this channel")
    ]


async def test_a_message_is_told_once_through_every_channel_whoever_tells_it(world: World) -> None:
    await world.store.see_alert_channels({"webhook": "https://hooks.example.org/..."})
    message = Message("2 new matches", ("one", "two\x00"), {"count": 2}).checked()
    told = await asyncio.gather(*(world.store.notify(message, key="monday") for _ in range(4)))
    assert sorted(told) == [False, False, False, True]
    await world.store.see_alert_channels({"later": "https://later.example.org/..."})
    assert not await world.store.notify(message._replace(text="other words"), key="monday")
    notices = await take(world)
    assert sorted(notice.channel for notice in notices) == ["log", "webhook"]
    for notice in notices:
        expected = {"event": "message", "text": "2 new matches", "lines": ["one", "two?"], "data": {"count": 2}}
        assert notice.body.items() >= expected.items()
        assert (notice.event, notice.alert_id, notice.body["id"]) == ("message", None, notice.delivery_id)
    assert await world.store.notify(message, key="tuesday")


@pytest.mark.parametrize("message", [Message(" "), Message("x", ("y" * MESSAGE_BYTES_MAX,))])
def test_a_message_without_text_or_too_long_is_refused(message: Message) -> None:
    with pytest.raises(ValueError, match="the message has"):
        message.checked()


async def test_notices_are_pruned_when_they_are_old_and_those_of_a_lineage_with_it(world: World) -> None:
    await deepen(world)
    await look(world)
    for notice in await take(world):
        await world.store.settle_notice(notice, RULES)
    await world.store.try_channel("log", by="ada")
    world.clock.advance(1.0)
    await world.store.prune(world.clock.now)
    assert [one.event for one in await world.store.alert_notices()] == ["test"]


@pytest.mark.parametrize("attempts", range(1, 60))
def test_the_pause_between_attempts_grows_up_to_an_hour(attempts: int) -> None:
    assert backoff_seconds(attempts) == min(3_600.0, 15.0 * 2 ** (attempts - 1))
