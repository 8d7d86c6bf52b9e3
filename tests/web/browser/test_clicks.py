"""Every action that there is, done in a real browser by clicking, from the first page on: no address is typed.

What an action is done to, how one finds it, and what the database says before and after stand in :data:`CLICKS`; an
action that is not in it fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from ramet import Client
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.actions import ACTIONS
from ramet.web.application import make_application
from tests.web.browser import actions_world as world
from tests.web.browser.chromium import IN_CHROMIUM, Visit, served, visit

pytestmark = IN_CHROMIUM


class Click(NamedTuple):
    """How somebody comes from the first page to an action, and what it does."""

    way: tuple[str, ...]
    """What is clicked, one after the other; the last is the way to the action."""
    found: Callable[[Client], Awaitable[Any]]
    """What the database says about it."""
    before: Any
    after: Any
    typed: Mapping[str, str] = {}
    """Label -> what is filled in."""


def page(name: str) -> str:
    """The way to a page at the left of every page."""
    return f"nav[aria-label=Pages] a:text-is('{name}')"


def button(label: str) -> str:
    return f"main a.act:text-is('{label}')"


def row(name: str, label: str) -> str:
    return f"main tr:has(th:text-is('{name}')) a.act:text-is('{label}')"


def of_lineage(name: str, label: str) -> tuple[str, ...]:
    return page("Lineages"), f"main td a:text-is('{name}')", button(label)


def of_task(lineage: str, label: str) -> tuple[str, ...]:
    return page("Lineages"), f"main td a:text-is('{lineage}')", "#tree a:has-text('page')", button(label)


def of_schedule(name: str, label: str) -> tuple[str, ...]:
    return page("Schedules"), f"main tr:has(th a:text-is('{name}')) a.act:text-is('{label}')"


def states(lineage: str) -> Callable[[Client], Awaitable[Any]]:
    return lambda client: world.states(client, lineage)


def part(
    look: Callable[[Client, str], Awaitable[Any]], name: str, *attributes: str
) -> Callable[[Client], Awaitable[Any]]:
    """What one thing says of itself."""

    async def found(client: Client) -> Any:
        one = await look(client, name)
        told = [getattr(one, attribute) for attribute in attributes]
        return one if not told else told[0]

    return found


async def value_of(client: Client, name: str) -> Any:
    return (await client.settings.get(name)).value


async def is_paused(client: Client, name: str) -> bool:
    return (await world.queue(client, name)).paused_at is not None


async def path_pauses(client: Client) -> list[str]:
    return sorted(one.path[0] for one in await client.path_pauses())


async def is_blocked(client: Client, name: str) -> bool:
    return (await world.queue(client, name)).blocked_at is not None


async def kind_limit(client: Client, name: str) -> int | None:
    return next(one.concurrency for one in await client.kind_limits() if one.name == name)


async def runs(client: Client, name: str) -> int:
    return sum(one.tracking_id.startswith(name) for one in await client.lineages())


async def is_there(client: Client, name: str) -> bool:
    return await world.schedule(client, name) is not None


LOOP = world.LOOP.replace("_", " ")
AT_ONCE = "Claims at once over all workers"
CLICKS: dict[str, Click] = {
    "retry": Click(of_task("retry", "Retry"), states("retry"), ["failed"], ["pending"]),
    "cancel": Click(of_task("cancel", "Cancel"), states("cancel"), ["pending"], ["cancelled"]),
    "cancel-tree": Click(
        of_task("cancel-tree", "Cancel with all below"), part(world.swept, "cancel-tree"),
        ["pending", "pending", "success"], ["cancelled", "cancelled", "success"],
    ),
    "reprioritise": Click(
        of_task("reprioritise", "Priority"), part(world.task, "reprioritise", "priority"), 0, 7, {"Priority": "7"}
    ),
    "reschedule": Click(
        of_task("reschedule", "Reschedule"), part(world.task, "reschedule", "wait"), "due", None,
        {"Seconds from now": "0"},
    ),
    "exclude": Click(of_task("exclude", "Exclude"), states("exclude"), ["pending"], ["skipped"]),
    "retry-failed": Click(
        of_lineage("retry-failed", "Retry all failed"), states("retry-failed"), ["failed"] * 2, ["pending"] * 2
    ),
    "cancel-lineage": Click(
        of_lineage("cancel-lineage", "Cancel"), part(world.lineage, "cancel-lineage", "state"), "running", "cancelled"
    ),
    "pause-lineage": Click(
        of_lineage("pause-lineage", "Pause"), part(world.lineage, "pause-lineage", "state"), "running", "paused"
    ),
    "resume-lineage": Click(
        of_lineage("resume-lineage", "Resume"), part(world.lineage, "resume-lineage", "state"), "paused", "running"
    ),
    "raise-limits": Click(
        of_lineage("raise-limits", "Raise limits"), part(world.lineage, "raise-limits", "max_fan_out"), 5_000, 6_000,
        {"Children of one task": "6000"},
    ),
    "reoffer": Click(
        of_lineage("reoffer", "Offer them again"), states("reoffer"), ["success"], ["pending", "pending", "success"]
    ),
    "block-queue": Click(
        (page("Queues"), row("limit-queue", "Block")), part(is_blocked, "limit-queue"), False, True
    ),
    "unblock-queue": Click(
        (page("Queues"), row("unblock-queue", "Unblock")), part(is_blocked, "unblock-queue"), True, False
    ),
    "pause-path": Click(
        (page("Paths"), button("Pause a path")), path_pauses, ["shut"], ["pause-path", "shut"],
        {"Path": "pause-path", "Queue": "default"},
    ),
    "resume-path": Click(
        (page("Paths"), "main li:has(a:text-is('shut')) a.act:text-is('Resume')"), path_pauses, ["shut"], []
    ),
    "pause-queue": Click(
        (page("Queues"), row("pause-queue", "Pause")), part(is_paused, "pause-queue"), False, True
    ),
    "resume-queue": Click(
        (page("Queues"), row("resume-queue", "Resume")), part(is_paused, "resume-queue"), True, False
    ),
    "limit-queue": Click(
        (page("Queues"), row("limit-queue", "Limit")), part(world.queue, "limit-queue", "concurrency"), 3, 5,
        {AT_ONCE: "5"},
    ),
    "limit-kind": Click(
        (page("Queues"), row("limit-kind", "Limit")), part(kind_limit, "limit-kind"), 3, 5, {AT_ONCE: "5"}
    ),
    "limit-resource": Click(
        (page("Resources"), row("limit-resource", "Limit")), part(world.policy, "limit-resource"), None, 5,
        {AT_ONCE: "5"},
    ),
    "open-breaker": Click(
        (page("Resources"), row("open-breaker", "Open breaker")), part(world.breaker, "open-breaker"), False, True
    ),
    "close-breaker": Click(
        (page("Resources"), row("close-breaker", "Close breaker")), part(world.breaker, "close-breaker"), True, False
    ),
    "set-setting": Click(
        (page("Settings"), row("limits.max_tasks", "Change")), part(value_of, "limits.max_tasks"), 100_000, 12_345,
        {"Value": "12345"},
    ),
    "unset-setting": Click(
        (page("Settings"), row("limits.max_fan_out", "Default")), part(value_of, "limits.max_fan_out"), 77, 5_000
    ),
    "stop": Click(
        (page("Deny list"), button("Add to the deny list")), part(world.stopped, "stop.org"), False, True,
        {"Value": "stop.org"},
    ),
    "unstop": Click(
        (page("Deny list"), row("unstop.org", "Remove")), part(world.stopped, "unstop.org"), True, False
    ),
    "pause-schedule": Click(
        of_schedule("pause-schedule", "Pause"), part(world.schedule, "pause-schedule", "state"), "active", "paused"
    ),
    "resume-schedule": Click(
        of_schedule("resume-schedule", "Resume"), part(world.schedule, "resume-schedule", "state"), "paused", "active"
    ),
    "run-schedule": Click(of_schedule("run-schedule", "Run now"), part(runs, "run-schedule"), 0, 1),
    "remove-schedule": Click(
        of_schedule("remove-schedule", "Remove"), part(is_there, "remove-schedule"), True, False
    ),
    "acknowledge": Click(
        (page("Alerts"), f"main td a:text-is('{LOOP}')", button("Acknowledge")), world.noticed, None, "ada"
    ),
}  # fmt: skip


class Seen(NamedTuple):
    """A visitor of the world."""

    client: Client
    visit: Visit


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def seen(chromium: Browser) -> AsyncIterator[Seen]:
    """One world, one server and one visitor for all clicks of a process."""
    async with (
        fresh_client(world.app) as client,
        served(make_application(client, Access(person="ada"))) as origin,
        visit(chromium, origin) as visitor,
    ):
        await world.furnish(client)
        yield Seen(client, visitor)


async def test_a_click_is_known_for_every_action() -> None:
    assert CLICKS.keys() == ACTIONS.keys()


# The ordinary run clicks on every third; tests/web/test_actions.py does them all by forms.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.nightly] if number % 3 else []) for number, name in enumerate(ACTIONS)],
)
async def test_an_action_is_done_by_clicking_and_recorded_with_who_when_and_why(seen: Seen, name: str) -> None:
    client, (browser, origin, faults) = seen
    click, reason = CLICKS[name], f"as agreed about {name}"
    faults.clear()
    await browser.goto(origin)
    came_from = browser.url
    for step in click.way:
        came_from = browser.url
        await browser.locator(step).first.click()
        await browser.wait_for_url(lambda url, left=came_from: url != left)  # type: ignore[misc]
    assert await browser.inner_text("h1") == ACTIONS[name].title
    assert await click.found(client) == click.before
    for label, text in click.typed.items():
        await browser.get_by_label(label, exact=True).fill(text)
    if ACTIONS[name].open:
        await browser.get_by_role("button", name="Show the effect").click()
        await browser.wait_for_url("**step=confirm**")
    await browser.get_by_label("Why (for the record)").fill(reason)
    await browser.locator("form.ask button[type=submit]").click()
    await browser.wait_for_selector(".told")
    assert browser.url == came_from
    assert await click.found(client) == click.after
    recorded = [one for one in await world.records(client) if (one.by, one.at) == ("ada", client.clock.now())]
    assert [one for one in recorded if (one.reason or "").endswith(reason)]
    assert [fault for fault in faults if "/live/" not in fault] == []  # Streams end with their pages.
