"""The spawn guard (DESIGN §5): each reason, its edges, and which one wins when several apply."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet.model.lineage.branches import Booking, Branch, Budget, book
from ramet.model.lineage.guard import (
    ORDINARY,
    REOFFERABLE,
    Allowed,
    Blocked,
    BlockReason,
    GlobalHolder,
    Holder,
    SpawnFacts,
    all_allowed,
    check_spawn,
    leaves_work_undone,
    tombstone_over,
)
from ramet.model.lineage.lineage import Lineage
from ramet.model.reasons import Fact
from ramet.model.task.task import After, NewTask, TaskState

NOW = 1_000.0
LINEAGE = Lineage(
    tracking_id="lineage",
    state="running",
    reason=None,
    created_at=0.0,
    deadline_at=2_000.0,
    ended_at=None,
    max_spawn_depth=10,
    max_tasks=100,
    max_fan_out=50,
    tasks=20,
    live=5,
    success=15,
    filtered=0,
    skipped=0,
    failed=0,
    cancelled=0,
    blocks=0,
    tombstones="",
    sweep=0,
)
FACTS = SpawnFacts(
    lineage=LINEAGE,
    tombstones={},
    parent_id="parent",
    ancestry_chain=("root", "middle"),
    parent_depth=2,
    parent_fan_out=3,
    claim_current=True,
    kind="company",
    cycle_on="key",
    holders=(),
    now=NOW,
)


def facts(lineage: dict[str, Any] | None = None, **changes: Any) -> SpawnFacts:
    """A spawn that nothing speaks against, changed."""
    return FACTS._replace(lineage=LINEAGE._replace(**(lineage or {})), **changes)


def blocked(asked: SpawnFacts) -> Blocked:
    """The refusal that must follow."""
    verdict = check_spawn(asked)
    assert isinstance(verdict, Blocked), "the guard allowed it"
    return verdict


def told(asked: SpawnFacts) -> tuple[str, str, str | None]:
    """Return the reason of the refusal that must follow, its words and who was there first."""
    verdict = blocked(asked)
    return verdict.reason, verdict.detail, verdict.winner


def test_a_spawn_that_nothing_speaks_against_is_allowed() -> None:
    assert check_spawn(facts()) == Allowed()


# --- the order

FULL = book([Branch("above", "lineage", None, 1, None, 0, None, None, tasks=1, live=1)], Booking(tasks=1, live=1))
"""A task too many for a branch."""
TROUBLE: list[tuple[BlockReason, dict[str, Any], dict[str, Any]]] = [
    (BlockReason.CANCELLED, {}, {"tombstones": {"middle": 1}}),
    (BlockReason.ENDED, {"state": "failed"}, {}),
    (BlockReason.STALE, {}, {"claim_current": False}),
    (BlockReason.DEPTH, {"max_spawn_depth": 2}, {}),
    (BlockReason.CYCLE, {}, {"holders": (Holder("root", "job", "success"),)}),
    (BlockReason.IN_FLIGHT, {}, {"holders": (Holder("other", "company", "pending"),)}),
    (BlockReason.DONE, {}, {"holders": (Holder("other", "company", "success"),)}),
    (BlockReason.ELSEWHERE, {}, {"elsewhere": GlobalHolder("far", "other", None, None)}),
    (BlockReason.BRANCH_BUDGET, {}, {"booked": FULL}),
    (BlockReason.BUDGET, {"tasks": 100}, {}),
    (BlockReason.FAN_OUT, {}, {"parent_fan_out": 50}),
    (BlockReason.DEADLINE, {"deadline_at": NOW}, {}),
    (BlockReason.COST, {"max_cost": 10, "spent": 10}, {}),
    (BlockReason.STOP_LIST, {}, {"stopped_by": "host example.com"}),
    (BlockReason.TRAP, {"max_shape": 7}, {"shape": "example.com/#", "shape_count": 7}),
    (BlockReason.WAIT_CYCLE, {}, {"waits_for_it": ("job", "above")}),
    (BlockReason.DEPENDENCY, {}, {"missing": "job 'x'"}),
]
"""One cause for each reason, in the order of DESIGN §5: (reason, changes of the lineage, changes of the facts)."""


def troubled(*causes: tuple[BlockReason, dict[str, Any], dict[str, Any]]) -> SpawnFacts:
    """Facts with all of these causes at once."""
    lineage: dict[str, Any] = {}
    changes: dict[str, Any] = {"holders": ()}
    for _, of_lineage, of_facts in causes:
        lineage |= of_lineage
        holders = changes["holders"] + of_facts.get("holders", ())
        changes |= {**of_facts, "holders": holders}
    return facts(lineage, **changes)


def test_the_reasons_are_those_of_the_design_in_its_order() -> None:
    # A refused reservation is stored as a block, and the guard of spawns never says it.
    assert [reason for reason, _, _ in TROUBLE] == [reason for reason in BlockReason if reason != BlockReason.RESERVE]
    assert [reason.value for reason in BlockReason] == (
        "cancelled ended stale depth cycle in_flight done elsewhere".split()
        + "branch_budget budget fan_out deadline cost stop_list trap wait_cycle dependency reserve".split()
    )


@pytest.mark.parametrize("cause", TROUBLE, ids=lambda cause: cause[0].value)
def test_each_cause_alone_gives_its_reason_and_a_detail(cause: Any) -> None:
    verdict = blocked(troubled(cause))
    assert verdict.reason is cause[0]
    assert verdict.detail


@pytest.mark.parametrize(("earlier", "later"), list(combinations(TROUBLE, 2)), ids=lambda cause: cause[0].value)
def test_of_two_causes_the_earlier_gives_the_reason(earlier: Any, later: Any) -> None:
    assert blocked(troubled(earlier, later)).reason is earlier[0]
    # One identity has one holder, so a duplicate is either live or ended; which one is asked first cannot matter.
    if {earlier[0], later[0]} != {BlockReason.IN_FLIGHT, BlockReason.DONE}:
        assert blocked(troubled(later, earlier)).reason is earlier[0]


@given(st.sets(st.sampled_from(range(len(TROUBLE))), min_size=1))
def test_of_any_causes_the_first_gives_the_reason(chosen: set[int]) -> None:
    causes = [TROUBLE[at] for at in sorted(chosen)]
    assert blocked(troubled(*causes)).reason is causes[0][0]


# --- over


@pytest.mark.parametrize(
    ("state", "refusal"),
    [
        ("running", None),
        ("paused", None),
        ("finished", Blocked(BlockReason.ENDED, {"lineage_state": "finished"})),
        ("failed", Blocked(BlockReason.ENDED, {"lineage_state": "failed"})),
        ("cancelled", Blocked(BlockReason.CANCELLED)),
    ],
)
def test_an_open_lineage_takes_spawns_and_an_ended_one_does_not(state: str, refusal: Blocked | None) -> None:
    assert check_spawn(facts({"state": state})) == (refusal or Allowed())


def test_a_claim_that_is_not_current_spawns_nothing() -> None:
    assert told(facts(claim_current=False)) == (
        BlockReason.STALE, "the claim of the spawning task is not current", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tombstones", "grave"),
    [
        ({}, None),
        ({"somebody": 1}, None),
        ({"parent": 1}, "parent"),
        ({"middle": 1}, "middle"),
        ({"root": 1}, "root"),
        ({"parent": 0}, None),
        ({"root": 1, "middle": 0}, None),
        ({"root": 0, "middle": 1}, "middle"),
        ({"root": 1, "middle": 0, "parent": 1}, "parent"),
        ({"root": 1, "parent": 0}, None),
        ({"root": 1, "middle": 1}, "middle"),
    ],
)
def test_the_nearest_mark_on_the_way_to_the_root_decides(tombstones: dict[str, int], grave: str | None) -> None:
    assert tombstone_over(tombstones, "parent", ("root", "middle")) == grave
    verdict = check_spawn(facts(tombstones=tombstones))
    if grave is None:
        assert verdict == Allowed()
    else:
        assert isinstance(verdict, Blocked)
        assert verdict.reason is BlockReason.CANCELLED
        assert verdict.detail == f"task {grave} and all below it were cancelled"


def test_a_mark_on_a_sibling_or_below_covers_nobody_else() -> None:
    assert tombstone_over({"child": 1}, "root", ()) is None
    assert tombstone_over({"sibling": 1}, "child", ("root",)) is None


# --- depth


@pytest.mark.parametrize(("parent_depth", "allowed"), [(0, True), (9, True), (10, False), (11, False)])
def test_a_task_may_be_at_max_spawn_depth_and_its_child_may_not(parent_depth: int, allowed: bool) -> None:
    verdict = check_spawn(facts(parent_depth=parent_depth))
    if allowed:
        assert verdict == Allowed()
    else:
        assert verdict == Blocked(BlockReason.DEPTH, {"value": parent_depth + 1, "limit": 10})


def test_max_spawn_depth_0_allows_roots_only() -> None:
    assert blocked(facts({"max_spawn_depth": 0}, parent_depth=0)).reason is BlockReason.DEPTH


# --- cycle


@pytest.mark.parametrize("ancestor", ["root", "middle", "parent"])
@pytest.mark.parametrize(
    ("kind", "cycle_on", "cycle"),
    [("company", "key", True), ("job", "key", True), ("company", "kind+key", True), ("job", "kind+key", False)],
)
def test_an_ancestor_of_the_same_key_closes_a_cycle_unless_only_its_own_kind_counts(
    ancestor: str, kind: str, cycle_on: str, cycle: bool
) -> None:
    asked = facts(holders=(Holder(ancestor, kind, "success"),), cycle_on=cycle_on)
    if cycle:
        assert told(asked) == (BlockReason.CYCLE, f"ancestor {ancestor} ({kind}) already works on this key", ancestor)
    else:
        assert check_spawn(asked) == Allowed()


def test_a_cycle_is_told_even_when_another_holder_of_the_key_comes_first() -> None:
    holders = (Holder("other", "job", "pending"), Holder("root", "listing", "success"))
    assert blocked(facts(holders=holders)).winner == "root"


def test_a_holder_of_another_kind_that_is_no_ancestor_is_no_obstacle() -> None:
    assert check_spawn(facts(holders=(Holder("other", "job", "pending"),))) == Allowed()


# --- duplicates


@pytest.mark.parametrize("state", list(TaskState))
def test_a_duplicate_is_in_flight_while_it_lives_and_done_in_any_terminal_state(state: TaskState) -> None:
    reason = BlockReason.DONE if state.terminal else BlockReason.IN_FLIGHT
    duplicate = told(facts(holders=(Holder("other", "company", state.value),)))
    assert duplicate == (reason, f"task other of this lineage is {state.value}", "other")


def test_the_duplicate_is_found_among_holders_of_other_kinds() -> None:
    holders = (Holder("first", "job", "pending"), Holder("second", "company", "failed"))
    assert blocked(facts(holders=holders)).winner == "second"


# --- size and time


@pytest.mark.parametrize(("tasks", "allowed"), [(0, True), (99, True), (100, False), (101, False)])
def test_a_lineage_creates_exactly_max_tasks(tasks: int, allowed: bool) -> None:
    verdict = check_spawn(facts({"tasks": tasks}))
    if allowed:
        assert verdict == Allowed()
    else:
        assert verdict == Blocked(BlockReason.BUDGET, {"value": tasks, "limit": 100})


@pytest.mark.parametrize(("fan_out", "allowed"), [(0, True), (49, True), (50, False), (51, False)])
def test_a_parent_creates_exactly_max_fan_out(fan_out: int, allowed: bool) -> None:
    verdict = check_spawn(facts(parent_fan_out=fan_out))
    if allowed:
        assert verdict == Allowed()
    else:
        assert verdict == Blocked(BlockReason.FAN_OUT, {"value": fan_out, "limit": 50})


@pytest.mark.parametrize(("deadline_at", "allowed"), [(NOW + 0.001, True), (NOW, False), (NOW - 1.0, False)])
def test_nothing_is_spawned_at_the_lineages_deadline(deadline_at: float, allowed: bool) -> None:
    verdict = check_spawn(facts({"deadline_at": deadline_at}))
    assert verdict == (Allowed() if allowed else Blocked(BlockReason.DEADLINE))


@pytest.mark.parametrize(
    ("spent", "max_cost", "soft_cost", "most"),
    [
        (0, None, None, None),
        (0, 0, None, None),  # nothing is spent: what costs nothing may go on under a ceiling of nothing
        (1, 1, None, "$0.000000001 of $0.000000001"),
        (9, 10, None, None),
        (10, 10, None, "$0.00000001 of $0.00000001"),
        (11, 10, None, "$0.000000011 of $0.00000001"),
        (5, 10, 6, None),
        (6, 10, 6, "$0.000000006 of $0.000000006"),
        (6, None, 6, "$0.000000006 of $0.000000006"),
    ],
)
def test_nothing_is_spawned_once_what_may_be_reserved_is_spent(
    spent: int, max_cost: int | None, soft_cost: int | None, most: str | None
) -> None:
    verdict = check_spawn(facts({"spent": spent, "max_cost": max_cost, "soft_cost": soft_cost}))
    if most is None:
        assert verdict == Allowed()
    else:
        assert isinstance(verdict, Blocked)
        assert (verdict.reason, verdict.detail) == (BlockReason.COST, f"the lineage has spent {most}")


def test_endless_attempts_need_a_ceiling_on_money() -> None:
    assert told(facts(max_attempts=None)) == (
        BlockReason.COST, "a task without max_attempts needs a lineage with max_cost", None,
    )  # fmt: skip
    assert check_spawn(facts({"max_cost": 10}, max_attempts=None)) == Allowed()


def test_the_entry_of_the_stop_list_is_named() -> None:
    stopped = told(facts(stopped_by="host example.com"))
    assert stopped == (BlockReason.STOP_LIST, "host example.com is on the stop list", None)


def test_a_duplicate_is_told_as_such_when_the_budget_is_gone_too() -> None:
    full = facts({"tasks": 100}, parent_fan_out=50, holders=(Holder("other", "company", "pending"),))
    assert blocked(full).reason is BlockReason.IN_FLIGHT


# --- over all lineages, stop list, shape


def test_a_key_held_elsewhere_names_its_holder_and_how_that_stands() -> None:
    where = "task far of lineage other"
    live = told(facts(elsewhere=GlobalHolder("far", "other", None, None)))
    assert live == (BlockReason.ELSEWHERE, f"{where} holds this unique key and is live", "far")
    ended = told(facts(elsewhere=GlobalHolder("far", "other", "success", NOW + 1.0)))
    assert ended == (BlockReason.ELSEWHERE, f"{where} ended as success and still holds this unique key", "far")


@pytest.mark.parametrize(("count", "allowed"), [(0, True), (999, True), (1_000, False), (1_001, False)])
def test_a_lineage_spawns_exactly_max_shape_keys_of_one_shape(count: int, allowed: bool) -> None:
    verdict = check_spawn(facts(shape="example.com/#", shape_count=count))
    many: dict[str, Fact] = {"value": count, "shape": "example.com/#"}
    assert verdict == (Allowed() if allowed else Blocked(BlockReason.TRAP, many))


def test_a_kind_without_a_shape_is_never_trapped() -> None:
    assert check_spawn(facts({"max_shape": 0}, shape_count=5)) == Allowed()


# --- what cannot be read


@pytest.mark.parametrize("name", ["max_spawn_depth", "tasks", "max_tasks", "max_fan_out", "max_shape", "deadline_at"])
@pytest.mark.parametrize("value", [None, "lots", b"\x01"])
def test_a_bound_that_cannot_be_read_counts_as_spent(name: str, value: Any) -> None:
    verdict = blocked(facts({name: value}, shape="s"))
    assert verdict.reason is BlockReason.BUDGET
    assert verdict.detail == f"{name} cannot be read, so the budget counts as spent"


def test_a_fan_out_that_cannot_be_read_counts_as_spent() -> None:
    damaged: Any = None
    verdict = blocked(facts(parent_fan_out=damaged))
    assert verdict == Blocked(BlockReason.BUDGET, {"unreadable": ("the parent's fan_out",)})
    assert verdict.detail == "the parent's fan_out cannot be read, so the budget counts as spent"


def test_all_bounds_that_cannot_be_read_are_named() -> None:
    damaged = blocked(facts({"max_tasks": None, "deadline_at": "late"}))
    assert damaged.detail == "max_tasks, deadline_at cannot be read, so the budget counts as spent"


def test_a_mistake_in_the_guard_itself_is_not_taken_for_a_damaged_row() -> None:
    with pytest.raises(TypeError):
        check_spawn(facts(ancestry_chain=None, holders=(Holder("other", "job", "pending"),)))


# --- what follows from a reason


def test_duplicates_are_ordinary_and_what_a_person_may_change_can_be_offered_again() -> None:
    assert {"in_flight", "done", "elsewhere"} == ORDINARY
    limits = {"depth", "branch_budget", "budget", "fan_out", "deadline", "cost"}
    assert limits | {"stop_list", "trap", "dependency"} == REOFFERABLE


# --- what a refusal leaves undone


@pytest.mark.parametrize(
    ("reason", "changes", "left"),
    [
        ("budget", {}, True),
        ("budget", {"holders": (Holder("h", "company", "pending"),)}, False),
        ("budget", {"holders": (Holder("h", "page", "pending"),)}, True),
        ("cycle", {"cycle_on": "key"}, False),
        ("cycle", {"cycle_on": "kind+key"}, True),
        ("in_flight", {}, False),
        ("done", {}, False),
        ("reserve", {}, False),
    ],
)
def test_a_refusal_leaves_work_undone_unless_a_task_is_about_it(reason: str, changes: Any, left: bool) -> None:
    assert leaves_work_undone(facts(**changes), Blocked(BlockReason(reason))) is left


@pytest.mark.parametrize(("kind", "left"), [("doc.parse", False), ("doctor", True), ("company", True)])
def test_a_staged_kind_is_done_by_a_task_at_any_of_its_stages(kind: str, left: bool) -> None:
    asked = staged(holders=(Holder("h", "company", "pending"), Holder("h", kind, "pending")))
    assert leaves_work_undone(asked, Blocked(BlockReason.BUDGET)) is left


def staged(**changes: Any) -> SpawnFacts:
    return facts(kind="doc.fetch", base="doc", places=3, **changes)


def test_a_first_stage_takes_the_places_of_all() -> None:
    assert check_spawn(staged(lineage={"tasks": 97})) == Allowed()
    assert told(staged(lineage={"tasks": 98})) == (
        BlockReason.BUDGET,
        "the lineage has created 98 of 100 tasks, and this takes 3: one for each stage",
        None,
    )


def test_an_ancestor_at_any_stage_closes_the_cycle_of_a_staged_kind() -> None:
    def under(kind: str, **changes: Any) -> SpawnFacts:
        return staged(holders=(Holder("root", kind, "success"),), cycle_on="kind+key", **changes)

    assert told(under("doc.parse"))[1:] == ("ancestor root (doc.parse) already works on this key", "root")
    assert check_spawn(under("doctor")) == Allowed()
    assert check_spawn(under("doc.parse")._replace(base=None, places=1)) == Allowed()


@pytest.mark.parametrize(
    ("states", "refusal"),
    [
        (["success", "pending"], ("in_flight", "its stage doc.b, task t1, is live", "t1")),
        (["success", "success", "success"], ("done", "its stage doc.c, task t2, is success", "t2")),
        (["success", "failed"], ("done", "its stage doc.b, task t1, is failed", "t1")),
        (["success", "skipped", "failed"], ("done", "its stage doc.c, task t2, is failed", "t2")),
        (["cancelled"], ("done", "its stage doc.a, task t0, is cancelled", "t0")),
    ],
)
def test_a_staged_kind_is_as_live_as_any_of_its_stages(states: list[str], refusal: tuple[str, str, str]) -> None:
    holders = tuple(
        Holder(f"t{n}", f"doc.{name}", state) for n, (name, state) in enumerate(zip("abc", states, strict=False))
    )
    assert told(staged(holders=(*holders, Holder("x", "doctor", "pending")))) == refusal
    assert check_spawn(staged(holders=(Holder("x", "doctor", "pending"),))) == Allowed()


def test_a_later_stage_is_bounded_by_nothing_but_time_and_a_cancel() -> None:
    tight = {"tasks": 100, "max_spawn_depth": 0, "max_fan_out": 0, "max_cost": 1, "spent": 1, "max_shape": 0}
    later = facts(tight, kind="doc.parse", base="doc", places=0, stopped_by="host x", shape="x", shape_count=9,
                  holders=(Holder("parent", "doc.fetch", "processing"), Holder("root", "doc.old", "done")))  # fmt: skip
    assert check_spawn(later) == Allowed()
    assert blocked(later._replace(lineage=later.lineage._replace(deadline_at=NOW))).reason == "deadline"
    assert blocked(later._replace(lineage=later.lineage._replace(state="cancelled"))).reason == "cancelled"
    assert blocked(later._replace(claim_current=False)).reason == "stale"
    assert blocked(later._replace(holders=(Holder("other", "doc.parse", "success"),))).reason == "done"


# --- many at once


def one_by_one(asked: SpawnFacts, news: list[NewTask]) -> list[bool]:
    """What the guard says of each, when those before it were granted."""
    verdicts = []
    for new in news:
        asked = asked._replace(
            kind=new.kind, cycle_on=new.cycle_on, holders=(), max_attempts=new.max_attempts, base=new.base,
            places=new.places,
        )  # fmt: skip
        verdicts.append(check_spawn(asked) == Allowed())
        if verdicts[-1]:
            lineage = asked.lineage._replace(tasks=asked.lineage.tasks + new.places, live=asked.lineage.live + 1)
            asked = asked._replace(lineage=lineage, parent_fan_out=asked.parent_fan_out + (new.places > 0))
    return verdicts


NUMBERS = st.integers(0, 6)
LINEAGES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["running", "running", "paused", "failed", "cancelled"]),
        "deadline_at": st.sampled_from([2_000.0, NOW, NOW - 1.0]),
        "max_spawn_depth": st.integers(1, 4),
        "max_tasks": NUMBERS,
        "tasks": NUMBERS,
        "max_fan_out": NUMBERS,
        "max_cost": st.none() | NUMBERS,
        "soft_cost": st.none() | NUMBERS,
        "spent": NUMBERS,
    }
)
PARENTS = st.fixed_dictionaries(
    {
        "tombstones": st.sampled_from([{}, {}, {"middle": 1}, {"root": 1, "parent": 0}, {"elsewhere": 1}]),
        "claim_current": st.sampled_from([True, True, False]),
        "parent_fan_out": NUMBERS,
        "parent_depth": st.integers(0, 3),
    }
)
WANTED = st.lists(
    st.tuples(
        st.sampled_from(["page", "doc"]), st.sampled_from([4, 1, None]), st.sampled_from(["key", "kind+key"])
    ).map(lambda said: NewTask("t", said[0], "key", "null", max_attempts=said[1], cycle_on=said[2])),
    min_size=1,
    max_size=7,
)


@given(LINEAGES, PARENTS, WANTED)
def test_all_of_a_batch_are_allowed_when_each_of_them_is(
    lineage: dict[str, Any], parent: dict[str, Any], news: list[NewTask]
) -> None:
    asked = facts(lineage, **parent)
    assert all_allowed(asked, news) == all(one_by_one(asked, news))


def test_of_a_batch_the_last_one_counts_for_the_fan_out_and_the_size() -> None:
    news = [NewTask("t", "page", f"k{number}", "null") for number in range(3)]
    assert all_allowed(facts({"max_fan_out": 5}, parent_fan_out=2), news)
    assert not all_allowed(facts({"max_fan_out": 5}, parent_fan_out=3), news)
    assert all_allowed(facts({"tasks": 7, "max_tasks": 10}), news)
    assert not all_allowed(facts({"tasks": 8, "max_tasks": 10}), news)


STAGED: list[dict[str, Any]] = [
    {"base": "doc"}, {"places": 0}, {"places": 3}, {"after": After((("t",),))}, {"budget": Budget(max_tasks=2)},
]  # fmt: skip


@given(LINEAGES, PARENTS, WANTED, st.data())
def test_a_batch_with_stages_is_asked_one_by_one(
    lineage: dict[str, Any], parent: dict[str, Any], news: list[NewTask], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(news) - 1))
    news[at] = news[at]._replace(**data.draw(st.sampled_from(STAGED)))
    assert not all_allowed(facts(lineage, **parent), news)


@pytest.mark.parametrize("name", ["tasks", "max_tasks", "max_fan_out", "max_spawn_depth", "deadline_at"])
def test_a_batch_of_a_lineage_whose_bounds_cannot_be_read_is_asked_one_by_one(name: str) -> None:
    new = NewTask("t", "page", "key", "null")
    assert not all_allowed(facts({name: "many"}), [new, new])
    assert not all_allowed(facts(parent_fan_out="many"), [new, new])
