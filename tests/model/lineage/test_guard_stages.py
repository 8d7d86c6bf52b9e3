"""The spawn guard and kinds of several stages, each a task of its own (DESIGN §5)."""

from typing import Any

import pytest

from ramet.model.lineage.guard import Allowed, BlockReason, Facts, Holder, check_spawn
from tests.model.lineage.test_guard import NOW, blocked, facts


def staged(**changes: Any) -> Facts:
    return facts(kind="doc.fetch", base="doc", places=3, **changes)


def test_a_first_stage_takes_the_places_of_all() -> None:
    assert check_spawn(staged(lineage={"tasks": 97})) == Allowed()
    assert blocked(staged(lineage={"tasks": 98})) == (
        BlockReason.BUDGET,
        "the lineage has created 98 of 100 tasks, and this takes 3: one for each stage",
        None,
    )


def test_an_ancestor_at_any_stage_closes_the_cycle_of_a_staged_kind() -> None:
    def under(kind: str, **changes: Any) -> Facts:
        return staged(holders=(Holder("root", kind, "success"),), cycle_on="kind+key", **changes)

    assert blocked(under("doc.parse"))[1:] == ("ancestor root (doc.parse) already works on this key", "root")
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
    assert blocked(staged(holders=(*holders, Holder("x", "doctor", "pending")))) == refusal
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
