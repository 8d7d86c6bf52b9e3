"""Slots: real days on which clocks change, gaps in which nobody looked, and clocks that jump."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.schedule import (
    MISSED_MAX,
    Schedule,
    SchedulePlan,
    Timing,
    check_name,
    plan,
    schedule_slot,
    slot_name,
    slot_tracking_id,
)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def slots(cron: str, zone: str, start: str, count: int) -> list[str]:
    """Wall clocks of the slots after a moment."""
    found = islice(Timing(cron, timezone=zone).after(at(start)), count)
    return [datetime.fromtimestamp(moment, ZoneInfo(zone)).isoformat() for moment in found]


BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


TRANSITIONS = [
    # 2026-03-29 in Berlin: 02:00 is 03:00. A job inside the gap runs once, at its end.
    ("30 2 * * *", BERLIN, "2026-03-28T12:00+01:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
    ("0,30 2 * * *", BERLIN, "2026-03-28T12:00+01:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"]),
    ("*/30 * * * *", BERLIN, "2026-03-29T01:15+01:00", ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"]),
    # 2026-10-25 in Berlin: 02:00 to 03:00 comes twice. A job inside runs once, one that goes by the hour twice.
    ("30 2 * * *", BERLIN, "2026-10-24T12:00+02:00", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
    ("30 2 * * *", BERLIN, "2026-10-25T02:30+02:00", ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"]),
    ("30 2 * * *", BERLIN, "2026-10-25T02:10+01:00", ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"]),
    ("30 * * * *", BERLIN, "2026-10-25T01:45+02:00", ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
    ("30 * * * *", BERLIN, "2026-10-25T02:30+02:00", ["2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"]),
    # 2026-03-08 and 2026-11-01 in New York.
    ("15 2 * * *", NEW_YORK, "2026-03-07T12:00-05:00", ["2026-03-08T03:00:00-04:00", "2026-03-09T02:15:00-04:00"]),
    ("15 1 * * *", NEW_YORK, "2026-10-31T12:00-04:00", ["2026-11-01T01:15:00-04:00", "2026-11-02T01:15:00-05:00"]),
    # Lord Howe moves by half an hour.
    ("15 2 * * *", LORD_HOWE, "2026-10-03T12:00+10:30", ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-04T12:00+11:00", ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]),
]


@pytest.mark.parametrize(("cron", "zone", "start", "expected"), TRANSITIONS)
def test_on_days_when_clocks_change_a_fixed_time_runs_once(
    cron: str, zone: str, start: str, expected: list[str]
) -> None:
    assert slots(cron, zone, start, len(expected)) == expected


@pytest.mark.parametrize("cron", ["30 2 * * *", "*/30 * * * *", "30 * * * *", "0 */2 * * *", "15 1,2,3 * * *"])
@pytest.mark.parametrize("day", ["2026-03-28T20:00+00:00", "2026-10-24T20:00+00:00"])
def test_from_wherever_one_looks_the_slots_are_the_same_and_later(cron: str, day: str) -> None:
    timing, start = Timing(cron, timezone=BERLIN), at(day)
    whole = [moment for moment in islice(timing.after(start), 200) if moment <= start + 86_400]
    for minute in range(0, 86_400, 420):
        following = timing.next_after(start + minute)
        assert following == next(moment for moment in [*whole, timing.next_after(whole[-1])] if moment > start + minute)


BAD_TIMES = [
    ({"cron": "* * * *"}, "Wrong number of fields"),
    ({"cron": "* * * * * *"}, "Wrong number of fields"),
    ({"cron": "61 * * * *"}, "Bad minute"),
    ({"cron": "0 0 30 2 *"}, "Bad day-of-month"),
    ({"cron": ""}, "give minute, hour, day, month and weekday"),
    ({"cron": "@often"}, "Wrong number of fields"),
    ({"cron": "* * * * *", "timezone": "Europe/Atlantis"}, "unknown time zone 'Europe/Atlantis'"),
    ({"cron": "* * * * *", "timezone": "../../etc/passwd"}, "unknown time zone"),
    ({"cron": "* * * * *", "timezone": ""}, "unknown time zone"),
    ({"every_seconds": 0.5}, "give a number of seconds from 1 to"),
    ({"every_seconds": float("nan")}, "give a number of seconds from 1 to"),
    ({"every_seconds": float("inf")}, "give a number of seconds from 1 to"),
    ({"cron": "0 0 LW * */8"}, "the cron expression '0 0 LW . ./8' never comes: no such day exists"),
    ({}, "give one of them"),
    ({"cron": "* * * * *", "every_seconds": 5.0}, "give one of them"),
]


@pytest.mark.parametrize(("times", "match"), BAD_TIMES, ids=[str(times) for times, _ in BAD_TIMES])
def test_times_that_cannot_be_read_are_refused_in_one_line(times: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        Timing(**times)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_name_for_an_expression_is_that_expression() -> None:
    assert list(islice(Timing("@daily").after(0.0), 2)) == [86_400.0, 172_800.0]
    assert Timing("@Hourly").next_after(10.0) == 3_600.0


@given(st.floats(1.0, 1e6), st.floats(0.0, 4e9))
def test_intervals_are_multiples_and_each_follows_the_one_before(every: float, moment: float) -> None:
    first, second = islice(Timing(every_seconds=every).after(moment), 2)
    assert moment < first < second
    assert first - moment <= every * 1.000001
    assert Timing(every_seconds=every).next_after(first) == second


def scheduled(cron: str | None = None, every: float | None = 300.0, **fields: Any) -> Schedule:
    made = Schedule(
        "poll", cron, None if cron else every, "UTC", "poll", "{}", None, "skip", 1, "active", "app", None,
        0.0, 0.0, 1_000.0, 1_200.0, None, None, 0, 0, 0,
    )  # fmt: skip
    return made._replace(**fields)


def test_nothing_is_due_before_the_slot_and_one_slot_is_at_it() -> None:
    assert plan(scheduled(), 1_199.9) is None
    assert plan(scheduled(), 1_200.0) == SchedulePlan((1_200.0,), 0, None, 1_500.0)
    assert plan(scheduled(), 1_499.9) == SchedulePlan((1_200.0,), 0, None, 1_500.0)


@pytest.mark.parametrize(
    ("catch_up", "run", "missed"),
    [(0, (), 4), (1, (2_100.0,), 3), (3, (1_500.0, 1_800.0, 2_100.0), 1), (9, (1_200.0, 1_500.0, 1_800.0, 2_100.0), 0)],
)
def test_of_slots_that_nobody_ran_only_the_newest_few_are_run_late(
    catch_up: int, run: tuple[float, ...], missed: int
) -> None:
    found = plan(scheduled(catch_up=catch_up), 2_399.0)
    assert found == SchedulePlan(run, missed, 1_200.0 if missed else None, 2_400.0)


def test_without_catching_up_a_slot_is_in_time_for_a_minute() -> None:
    assert plan(scheduled(catch_up=0), 1_260.0) == SchedulePlan((1_200.0,), 0, None, 1_500.0)
    assert plan(scheduled(catch_up=0), 1_261.0) == SchedulePlan((), 1, 1_200.0, 1_500.0)


@pytest.mark.parametrize("cron", ["* * * * *", "* * 1 1 *", "0 0 29 2 *", "30 2 * * 1#1"])
def test_a_clock_set_far_forward_brings_one_slot_and_no_storm(cron: str) -> None:
    start = at("2026-01-01T00:00:30+00:00")
    first = Timing(cron).next_after(start)
    now = at("2036-06-15T12:00:30+00:00")
    found = plan(scheduled(cron, next_at=first, planned_at=start), now)
    assert found is not None
    assert len(found.run) == 1
    assert found.run[0] <= now < found.next_at
    assert found.missed <= MISSED_MAX
    assert Timing(cron).next_after(found.run[0]) == found.next_at


def test_a_clock_set_back_finds_its_next_slot_anew() -> None:
    ahead = scheduled(planned_at=1e9, next_at=1e9 + 200)
    assert plan(ahead, 1_000.0) == SchedulePlan((), 0, None, 1_200.0)
    assert plan(ahead, 1e9 - 60) is None
    assert plan(ahead, 1e9 - 61) is not None


def test_what_is_no_slot_of_a_schedule_names_none_and_the_last_at_sign_counts() -> None:
    assert schedule_slot("@2026-10-25T00:30:00Z") is None
    assert schedule_slot("poll@") is None
    assert schedule_slot("2026-10-25T00:30:00Z") is None
    found = schedule_slot("a@b@2026-10-25T02:30:00+02:00")
    assert found == ("a@b", datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    assert found[1].tzinfo is UTC
    assert slot_name(1.0) == "1970-01-01T00:00:01Z"


def test_intervals_count_from_1970_in_both_directions() -> None:
    assert list(islice(Timing(every_seconds=300.0).after(1_200.0), 2)) == [1_500.0, 1_800.0]
    assert list(islice(Timing(every_seconds=300.0).after(1_199.0), 2)) == [1_200.0, 1_500.0]
    assert list(islice(Timing(every_seconds=300.0).after(-301.0), 3)) == [-300.0, 0.0, 300.0]


def test_a_time_zone_that_nobody_knows_is_refused_with_what_to_give() -> None:
    with pytest.raises(ValueError, match="unknown") as caught:
        Timing("* * * * *", timezone="Europe/Atlantis")
    assert str(caught.value) == (
        "unknown time zone 'Europe/Atlantis': give a name such as Europe/Berlin (where this machine has no time zone "
        "database, install the package tzdata)"
    )


def test_a_slot_has_one_name_and_the_name_tells_the_slot() -> None:
    moment = at("2026-10-25T02:30:00+02:00")
    assert slot_tracking_id("poll", moment) == "poll@2026-10-25T00:30:00Z"
    assert slot_tracking_id("poll", moment + 3_600) == "poll@2026-10-25T01:30:00Z"
    assert slot_name(1.5) == "1970-01-01T00:00:01.500000Z"
    assert schedule_slot("poll@2026-10-25T00:30:00Z") == ("poll", datetime(2026, 10, 25, 0, 30, tzinfo=UTC))
    assert schedule_slot("019aa000-0000-7000-8000-000000000000") is None
    assert schedule_slot("somebody@example.org") is None


def test_the_latest_slots_are_from_the_first_on_however_many_are_asked_for() -> None:
    assert Timing(every_seconds=1.0).latest(10.0, 12.0, 99) == [10.0, 11.0, 12.0]
    assert Timing(every_seconds=1_800.0).latest(3_600.0, 7_200.0, 99) == [3_600.0, 5_400.0, 7_200.0]
    assert Timing(every_seconds=1_800.0).latest(0.0, 7_200.0, 2) == [5_400.0, 7_200.0]
    assert Timing(every_seconds=7_200.0).latest(0.0, 86_400.0, 3) == [72_000.0, 79_200.0, 86_400.0]


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "a@b", "x" * 201])
def test_a_name_that_no_tracking_id_can_carry_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a schedule cannot be called"):
        check_name(name)


@pytest.mark.parametrize("name", ["a", "x" * 200, "Poll.1:/+_-"])
def test_a_name_that_a_tracking_id_can_carry_is_taken(name: str) -> None:
    assert check_name(name) == name


def test_times_are_described_for_people() -> None:
    assert Timing("*/5 * * * *", None, "Europe/Berlin").describe() == "*/5 * * * * (Europe/Berlin)"
    assert Timing(None, 300.0).describe() == "every 300 s"


def test_slots_are_counted_only_a_little_beyond_the_largest_number_that_is_told() -> None:
    assert Timing(every_seconds=1.0).count(0.0, 9.0) == 10
    assert Timing(every_seconds=1.0).count(0.0, 10_000_000.0) == MISSED_MAX + 100


@pytest.mark.parametrize("given", [{}, {"cron": "* * * * *", "every_seconds": 60.0}])
def test_a_schedule_without_one_rhythm_is_refused_in_words_that_say_what_to_give(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^a schedule needs either a cron .* every_seconds: give one of them$"):
        Timing(**given)
