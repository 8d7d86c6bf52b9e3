"""The checker finds what it is for: each kind of damage, done to what a sound run left."""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import Client, Limits
from tests.faults.checker import CHECKS, Asked, Found, wrong
from tests.faults.effects import EFFECTS, Effect, effects
from tests.faults.fault_app import BUDGET, MONEY, SIZE, app, submit_tree
from tests.support.waiting import worked_off

LIMITS = {"small": Limits(max_tasks=BUDGET), "poor": Limits(max_cost=MONEY)}


class Left(NamedTuple):
    """What a run left."""

    found: Found
    asked: Asked
    told: list[Effect]


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    (tmp_path / "effects").touch()
    monkeypatch.setenv(EFFECTS, str(tmp_path / "effects"))
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def test_every_damage_is_found(client: Client) -> None:
    roots = {name: await submit_tree(client, name, LIMITS.get(name)) for name in ("whole", *LIMITS)}
    await worked_off(app, client)
    told = effects(Path(os.environ[EFFECTS]))
    asked = Asked(roots, LIMITS)
    assert await wrong(client.store, asked, told) == []
    found = Found()
    await found.load(client.store)
    assert {effect.step for effect in told} == {"began", "kept", "spawned", "reserved", "booked"}
    assert len(found.tasks) == 2 * SIZE + BUDGET
    assert {len(found.attempts[name]) for name in found.tasks} == {1, 2}, "some tasks failed, or slept"
    assert [money for *_, most, money in found.lineages if most == MONEY] == [MONEY - 1]
    for check, damage in DAMAGES:
        left = Left(copy.deepcopy(found), Asked({**roots}, LIMITS), list(told))
        damage(left)
        lines = {each.__name__ for each in CHECKS if list(each(*left))}
        assert check in lines, f"{damage.__name__} was found by {lines}"


def a_task_is_gone(left: Left) -> None:
    del left.found.tasks[left.told[-1].task]


def a_root_is_another(left: Left) -> None:
    left.asked.roots["whole"] = "somebody"


def a_kept_effect_is_gone(left: Left) -> None:
    [first, *_] = left.found.kept
    del left.found.kept[first]


def a_child_is_gone(left: Left) -> None:
    del left.found.tasks[next(effect.what for effect in left.told if effect.step == "spawned")]


def a_reservation_is_gone(left: Left) -> None:
    del left.found.reservations[next(effect.what for effect in left.told if effect.step == "reserved")]


def money_was_not_booked(left: Left) -> None:
    name = next(effect.what for effect in left.told if effect.step == "booked")
    left.found.reservations[name] = (left.found.reservations[name][0], None)


def a_number_is_there_twice(left: Left) -> None:
    task = left.found.tasks[left.told[0].task]
    left.found.tasks["twin"] = task._replace(id="twin")


def a_lineage_is_there_unasked(left: Left) -> None:
    del left.asked.roots["whole"]


def a_task_never_ended(left: Left) -> None:
    task = left.found.tasks[left.told[0].task]
    left.found.tasks[task.id] = task._replace(state=None)


def a_task_ended_as_another(left: Left) -> None:
    task = left.found.tasks[left.told[0].task]
    left.found.tasks[task.id] = task._replace(state="failed")


def a_lineage_runs_on(left: Left) -> None:
    left.found.lineages[0] = (left.found.lineages[0][0], "running", *left.found.lineages[0][2:])


def a_task_too_many(left: Left) -> None:
    name, state, live, _, most, *money = left.found.lineages[0]
    left.found.lineages[0] = (name, state, live, most + 1, most, *money)


def a_coin_too_many(left: Left) -> None:
    left.found.lineages[0] = (*left.found.lineages[0][:5], 3, 4)


def a_claim_in_two_hands(left: Left) -> None:
    left.told.append(left.told[0])


def an_effect_kept_twice(left: Left) -> None:
    left.found.kept[next(iter(left.found.kept))] += 1


def an_end_under_another_fence(left: Left) -> None:
    task, step, fence = next(effect for effect in left.found.kept if effect[1] == "second")
    del left.found.kept[task, step, fence]
    left.found.kept[task, step, fence - 1] = 1


def two_accepted_ends(left: Left) -> None:
    outcomes = left.found.attempts[left.told[0].task]
    outcomes[max(outcomes) + 1] = "success"


def a_later_claim(left: Left) -> None:
    outcomes = left.found.attempts[left.told[0].task]
    outcomes[max(outcomes) + 1] = "lost"


def a_claim_without_an_attempt(left: Left) -> None:
    left.told.append(left.told[0]._replace(fence=left.told[0].fence + 100))


DAMAGES: list[tuple[str, Callable[[Left], None]]] = [
    ("nothing_is_lost", a_task_is_gone),
    ("nothing_is_lost", a_root_is_another),
    ("nothing_is_lost", a_kept_effect_is_gone),
    ("nothing_is_lost", a_child_is_gone),
    ("nothing_is_lost", a_reservation_is_gone),
    ("nothing_is_lost", money_was_not_booked),
    ("nothing_is_there_unasked", a_number_is_there_twice),
    ("nothing_is_there_unasked", a_lineage_is_there_unasked),
    ("everything_ended_as_it_must", a_task_never_ended),
    ("everything_ended_as_it_must", a_task_ended_as_another),
    ("everything_ended_as_it_must", a_lineage_runs_on),
    ("no_budget_is_passed", a_task_too_many),
    ("no_budget_is_passed", a_coin_too_many),
    ("no_effect_is_there_twice", a_claim_in_two_hands),
    ("no_effect_is_there_twice", an_effect_kept_twice),
    ("every_effect_has_its_claim", an_end_under_another_fence),
    ("every_effect_has_its_claim", two_accepted_ends),
    ("every_effect_has_its_claim", a_later_claim),
    ("every_effect_has_its_claim", a_claim_without_an_attempt),
]
