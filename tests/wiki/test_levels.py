"""What a level asks for: exactly what there is room for, and every link is offered, drawn from afar, or too deep."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ramet.wiki.tasks.level import KnownTitles, Link, Planner, links_past_last_level, offered, within

KEYS = st.sampled_from("abcdefghij")
LINKS = st.lists(st.builds(Link, st.integers(0, 2), KEYS, st.integers(0, 5), KEYS, st.just("title")), max_size=30)
SEEN = st.builds(
    lambda here, elsewhere, unwanted: KnownTitles(here, elsewhere - here, unwanted - here - elsewhere),
    st.frozensets(KEYS, max_size=4),
    st.frozensets(KEYS, max_size=4),
    st.frozensets(KEYS, max_size=3),
)


@given(LINKS, SEEN, st.integers(-1, 6))
def test_a_guard_with_the_planned_budget_grants_exactly_what_was_planned(
    links: list[Link], seen: KnownTitles, room: int
) -> None:
    planner = Planner(seen, room)
    planner.add(sorted(links))
    plan = planner.plan
    budget = plan.grants if plan.binds else len(links)
    there = set(seen.here)
    for link in offered(sorted(links), seen):
        if link.target_key not in there and len(there) - len(seen.here) < budget:
            there.add(link.target_key)
    assert len(there) - len(seen.here) == plan.grants <= max(0, room)


@given(LINKS, SEEN, st.integers(0, 6))
def test_the_plan_does_not_depend_on_how_many_links_come_at_once(
    links: list[Link], seen: KnownTitles, room: int
) -> None:
    whole, parts = Planner(seen, room), Planner(seen, room)
    whole.add(links)
    for link in links:
        if parts.add([link]):
            break
    assert parts.plan == whole.plan


@given(LINKS, SEEN)
def test_every_link_but_those_to_titles_from_elsewhere_and_unwanted_ones_is_offered_once(
    links: list[Link], seen: KnownTitles
) -> None:
    left_out = {*seen.elsewhere, *seen.unwanted}
    wanted = sorted(link for link in links if link.target_key not in left_out)
    assert sorted(offered(links, seen)) == wanted
    assert sorted(within(links, seen) + links_past_last_level(links, seen)) == wanted


def test_on_the_last_level_what_is_here_is_a_duplicate_and_what_nobody_has_is_too_deep() -> None:
    links = [Link(1, "a", place, key, key) for place, key in enumerate(["new", "here", "elsewhere"])]
    seen = KnownTitles({"here"}, {"elsewhere"})
    assert [link.target_key for link in within(links, seen)] == ["here"]
    assert [link.target_key for link in links_past_last_level(links, seen)] == ["new"]


def test_planning_stops_as_soon_as_the_room_is_known_to_be_too_small() -> None:
    planner = Planner(KnownTitles(set(), set()), 2)
    assert not planner.add([Link(0, "a", 0, "b", "B"), Link(0, "a", 1, "b", "B"), Link(0, "a", 2, "c", "C")])
    assert planner.add([Link(0, "a", 3, "d", "D")])
    assert planner.plan == (2, True, Link(0, "a", 2, "c", "C"))


@given(LINKS, SEEN, st.integers(0, 6))
def test_what_a_round_offers_adds_as_many_titles_as_there_is_room_for(
    links: list[Link], seen: KnownTitles, room: int
) -> None:
    planner = Planner(seen, room)
    planner.add(sorted(links))
    last = planner.plan.last
    if last is None:
        assert not planner.plan.binds or room == 0
        return
    part = offered([link for link in sorted(links) if link <= last], seen)
    assert len({link.target_key for link in part} - set(seen.here)) == planner.plan.grants == room
