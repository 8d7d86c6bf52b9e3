"""Settings: what may be stored, what holds where code and an operator differ, and who acts on a change."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from ramet import PRESETS, App, Client, Context, Limits
from ramet.engine.settings.declared import DeclaredSettings, UnknownSetting
from ramet.engine.settings.live import LiveSettings, Tuning, in_force, preset_changes
from ramet.engine.settings.setting import LIMITS_PREFIX, SETTINGS
from ramet.model.lineage.limits import BALANCED
from tests.support.fakes import Held
from tests.support.waiting import HANG_SECONDS, until, working


def test_every_limit_is_a_setting_with_the_models_default() -> None:
    for item in fields(Limits):
        if item.name == "allow_shapes":
            continue  # Shapes are those of one site; a setting holds for all lineages.
        setting = SETTINGS[LIMITS_PREFIX + item.name]
        assert setting.default == getattr(BALANCED, item.name)
        assert setting.unit, setting.name
        assert setting.description != "a limit", f"{setting.name} has no description"


def test_every_default_is_a_value_that_may_be_stored() -> None:
    for setting in SETTINGS.values():
        assert setting.check(setting.default) == setting.default
        assert setting.description
        assert setting.reader


WRONG = [
    ("max_tasks", "many", "a whole number of tasks, 1 or more"),
    ("max_tasks", "1.5", "a whole number"),
    ("max_tasks", "0", "1 or more"),
    ("max_tasks", "-5", "1 or more"),
    ("max_tasks", "none", "cannot be none"),
    ("max_tasks", "9223372036854775808", "larger than any database holds: give a whole number of tasks, 1 or more"),
    ("max_tasks", "1" + "0" * 400, "larger than any database holds"),
    ("limits.lineage_seconds", "1e400", "larger than any database holds"),
    ("limits.lineage_seconds", "nan", "a number of seconds"),
    ("limits.lineage_seconds", "soon", "a number of seconds"),
    ("worker.lease_seconds", "1e9", "1 to 86,400"),
    ("worker.lease_seconds", "inf", "1 to 86,400"),
    ("maintenance.retention_days", "0", "0.01 to 36,500, or none"),
]


@pytest.mark.parametrize(("name", "text", "said"), WRONG)
def test_a_value_of_another_type_or_out_of_range_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DeclaredSettings().known(name).read(text)


@pytest.mark.parametrize("value", [True, "5", [5], {"a": 1}, float("nan")])
def test_a_stored_value_that_is_no_number_is_not_acted_on(value: Any) -> None:
    found = DeclaredSettings().sound({"limits.max_tasks": value, "limits.max_fan_out": 7, "limits.of_yore": 1})
    assert found == {"limits.max_fan_out": 7}


@pytest.mark.parametrize(("name", "near"), [("max_task", "limits.max_tasks"), ("lease", "worker.lease_seconds")])
def test_an_unknown_name_is_told_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UnknownSetting, match=f"no setting '{name}': did you mean .*{near}"):
        DeclaredSettings().known(name)


PRECEDENCE = [
    ("what code left open is the operator's, tighter", Limits(), 7, 7),
    ("or looser", Limits(), 10**9, 10**9),
    ("what code gave is tightened", Limits(max_tasks=50), 7, 7),
    ("and never loosened", Limits(max_tasks=50), 100, 50),
    ("a preset in code counts as given", PRESETS["conservative"], 10**9, 10_000),
]


@pytest.mark.parametrize(("what", "declared", "stored", "held"), PRECEDENCE, ids=[row[0] for row in PRECEDENCE])
def test_an_operator_can_always_tighten_and_loosens_only_what_code_left_open(
    what: str, declared: Limits, stored: int, held: int
) -> None:
    found = in_force(declared, {"max_tasks": stored})
    assert found.max_tasks == held
    assert found.max_fan_out == declared.max_fan_out


def test_no_limit_at_all_is_as_loose_as_can_be() -> None:
    assert in_force(Limits(), {"task_seconds": None}).task_seconds is None
    assert in_force(Limits(task_seconds=5.0), {"task_seconds": None}).task_seconds == 5.0
    assert in_force(Limits(task_seconds=None), {"task_seconds": 9.0}).task_seconds == 9.0


def test_two_settings_that_would_let_a_task_run_for_ever_do_not() -> None:
    found = in_force(Limits(), {"task_seconds": None, "max_attempts": None})
    assert (found.task_seconds, found.max_attempts) == (None, 4)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stored_is_that_preset_in_force(name: str) -> None:
    live = LiveSettings()
    live.update(preset_changes(name))
    assert live.limits(Limits()) == PRESETS[name]


def test_a_worker_heeds_what_its_maker_gave_and_else_the_settings() -> None:
    live = LiveSettings()
    tuning, given = Tuning(live), Tuning(live, lease_seconds=60.0, sweep_seconds=1.0)
    assert (tuning.lease_seconds(), tuning.heartbeat_seconds(), tuning.sweep_seconds()) == (300.0, 30.0, 5.0)
    live.update({"worker.lease_seconds": 30.0, "maintenance.sweep_seconds": 9.0, "maintenance.retention_days": None})
    assert (tuning.lease_seconds(), tuning.heartbeat_seconds(), tuning.sweep_seconds()) == (30.0, 10.0, 9.0)
    assert (given.lease_seconds(), given.heartbeat_seconds(), given.sweep_seconds()) == (60.0, 20.0, 1.0)
    assert tuning.retention_days() is None


async def test_a_lease_made_shorter_while_workers_run_loses_no_claim(app: App, client: Client) -> None:
    held = Held(app)
    async with working(app, client):  # Its next heartbeat is due after half a minute.
        await client.settings.set("worker.lease_seconds", 3.0)
        await client.settings.refresh(0.0)
        submitted = await client.submit("held", 1)
        await until(lambda: held.running, "it runs")
        claimed = await client.get(submitted.id)
        assert claimed is not None
        assert claimed.lease_until is not None
        first = claimed.lease_until

        async def later() -> bool:
            found = await client.get(submitted.id)
            return found is not None and (found.lease_until or 0.0) > first

        await until(later, "its lease was extended, or it was claimed again")
        held.go_on.set()
        assert await client.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
    ended = await client.get(submitted.id)
    assert ended is not None
    assert ended.fence == 1, "claimed once"


async def test_a_change_is_recorded_with_who_why_and_what_was(client: Client) -> None:
    assert await client.settings.set("max_tasks", "500", by="ada", reason="too dear") == 500
    assert await client.settings.set("limits.max_tasks", 400, by="ada") == 400
    assert await client.settings.set("limits.max_tasks", 400, by="bob") == 400
    assert await client.settings.unset("max_tasks", by="ada")
    assert not await client.settings.unset("max_tasks", by="ada")
    acts = [(act.act, act.subject, act.by, act.reason, act.detail) for act in reversed(await client.acts())]
    assert acts == [
        ("set_setting", "limits.max_tasks", "ada", "too dear", {"value": 500}),
        ("set_setting", "limits.max_tasks", "ada", None, {"value": 400, "was": 500}),
        ("unset_setting", "limits.max_tasks", "ada", None, {"was": 400}),
    ]


async def test_what_would_let_tasks_run_for_ever_is_refused(client: Client) -> None:
    await client.settings.set("task_seconds", "none")
    with pytest.raises(ValueError, match="nothing would end such a task"):
        await client.settings.set("max_attempts", "none")
    assert (await client.settings.get("max_attempts")).value == 4


async def test_a_preset_replaces_the_one_before_all_at_once(client: Client) -> None:
    await client.settings.preset("aggressive")
    await client.settings.set("worker.lease_seconds", 60)
    await client.settings.preset("conservative", by="ada")
    stored = {item.name: item.value for item in await client.settings.all() if item.stored}
    assert stored == preset_changes("conservative") | {"worker.lease_seconds": 60.0}
    await client.settings.preset("balanced")
    left = [item.name for item in await client.settings.all() if item.stored]
    assert left == ["limits.max_cost", "worker.lease_seconds"]


async def test_new_lineages_and_tasks_get_what_is_set_and_old_ones_keep_theirs(app: App, client: Client) -> None:
    @app.task("page", limits=Limits(max_attempts=3))
    async def page(ctx: Context) -> None:
        return None

    client.settings.monotonic = iter(range(0, 1_000, 100)).__next__
    old = await client.submit(page, key="old")
    await client.settings.set("max_tasks", 7)
    await client.settings.set("max_attempts", 2)
    new = await client.submit(page, key="new")
    tasks = {task.key: task.max_attempts async for task in client.all_tasks()}
    assert tasks == {"old": 3, "new": 2}
    bounds = [(await client.lineage(item.tracking_id)) for item in (old, new)]
    assert [row.max_tasks for row in bounds if row is not None] == [100_000, 7]


async def test_a_running_worker_acts_on_a_change(app: App, client: Client) -> None:
    @app.task("page")
    async def page(ctx: Context, number: int) -> None:
        if number < 3:
            await ctx.spawn_now("page", number + 1)

    async with working(app, client, sweep_seconds=0.02):
        await client.settings.set("max_attempts", 2)
        await until(lambda: app.registry.live.stored, "the change")
        submitted = await client.submit(page, 1)
        await client.wait(submitted.id)
        await until(lambda: _ended(client, submitted.tracking_id), "the end")
    assert {task.max_attempts async for task in client.all_tasks()} == {2}


async def test_a_change_of_the_lease_holds_from_the_next_claim_on(app: App, client: Client) -> None:
    @app.task("page")
    async def page(ctx: Context) -> Any:
        return ctx.snooze(1.0) if ctx.snoozes == 0 else None

    leases: list[float] = []
    claim = client.store.claim

    async def watched(request: Any) -> Any:
        leases.append(request.lease_seconds)
        return await claim(request)

    client.store.claim = watched  # type: ignore[method-assign]
    async with working(app, client, sweep_seconds=0.02):
        await until(lambda: leases, "the first claim")
        await client.settings.set("worker.lease_seconds", 60)
        await until(lambda: leases[-1] == 60.0, "the change")
    assert leases[0] == 300.0


async def _ended(client: Client, tracking_id: str) -> bool:
    lineage = await client.lineage(tracking_id)
    return lineage is not None and lineage.state == "finished"


async def test_a_schedules_runs_are_under_the_settings_of_their_time(app: App, client: Client) -> None:
    await client.schedules.add("page", every_seconds=3_600.0, limits=Limits(max_tasks=500))
    await client.settings.set("max_tasks", 7)
    await client.settings.set("max_attempts", 2)
    slot = await client.schedules.run("page")
    assert slot.tracking_id is not None
    lineage = await client.lineage(slot.tracking_id)
    [root] = await client.roots(slot.tracking_id)
    assert lineage is not None
    assert (lineage.max_tasks, root.max_attempts) == (7, 2)


async def test_a_ceiling_on_money_is_set_and_lifted_again(client: Client) -> None:
    for text, stored in (("0.05", 50_000_000), ("5", 5_000_000_000), ("$1.5", 1_500_000_000), ("7 nano-dollars", 7)):
        await client.settings.set("cost.day_max", text)
        assert (await client.store.settings())["cost.day_max"] == stored
    with pytest.raises(ValueError, match="give dollars, at most 1,000,000"):
        await client.settings.set("cost.day_max", "50000000")
    await client.settings.set("cost.day_max", "none")
    assert "cost.day_max" not in await client.store.settings()


@pytest.mark.parametrize(("soft", "hard"), [("limits.soft_cost", "limits.max_cost"), ("cost.day_soft", "cost.day_max"),
                                            ("cost.global_soft", "cost.global_max")])  # fmt: skip
async def test_a_soft_ceiling_is_not_set_above_its_hard_one_and_a_hard_one_may_be_tightened(
    client: Client, soft: str, hard: str
) -> None:
    await client.settings.set(soft, 900)
    await client.settings.set(hard, 1_000)
    with pytest.raises(ValueError, match=f"{soft} is 1001: give at most {hard}, which is 1000"):
        await client.settings.set(soft, 1_001)
    await client.settings.set(hard, 500)
    stored = await client.store.settings()
    assert (stored[soft], stored[hard]) == (900, 500)
    await client.settings.set(hard, "none")
    await client.settings.set(soft, 2_000)


async def test_of_the_soft_ceilings_of_code_and_settings_the_stricter_holds_and_none_is_above_the_hard_one(
    client: Client,
) -> None:
    await client.settings.set("max_cost", 50)
    assert await client.settings.limits(Limits(max_cost=100, soft_cost=80)) == Limits(max_cost=50, soft_cost=50)
    await client.settings.set("soft_cost", 30)
    await client.settings.refresh(age_seconds=0.0)
    assert await client.settings.limits(Limits(max_cost=100, soft_cost=80)) == Limits(max_cost=50, soft_cost=30)
    assert await client.settings.limits(Limits()) == Limits(max_cost=50, soft_cost=30)
    task = await client.submit("page", limits=Limits(max_cost=100, soft_cost=20))
    lineage = await client.lineage(task.tracking_id)
    assert lineage is not None
    assert (lineage.max_cost, lineage.soft_cost) == (50, 20)


@pytest.mark.parametrize(("hold_seconds", "next_"), [(None, None), ("60", None), ("5", "second")])
async def test_who_comes_back_late_holds_its_path_for_as_long_as_the_setting_says(
    client: Client, hold_seconds: str | None, next_: str | None
) -> None:
    if hold_seconds is not None:
        await client.settings.set("paths.hold_seconds_max", hold_seconds)
    for key in ("first", "second"):
        await client.submit("edit", key=key, path=["doc1"])
    [first] = await client.claim("edit")
    await first.snooze(30.0)
    assert [claim.key for claim in await client.claim("edit")] == ([] if next_ is None else [next_])
    history = await client.history(first.id)
    assert history is not None
    told = [(change.name, change.reason) for change in history.transitions if change.name == "path_given_up"]
    assert told == ([] if next_ is None else [("path_given_up", "back later than 5 s")])


def test_limits_of_many_submits_are_not_remembered_for_ever() -> None:
    live = LiveSettings()
    live.update({"limits.max_tasks": 5})
    given = [Limits(max_cost=n) for n in range(10_000)]
    assert {live.limits(limits).max_tasks for limits in given} == {5}
    assert len(live._in_force) <= 1_000
