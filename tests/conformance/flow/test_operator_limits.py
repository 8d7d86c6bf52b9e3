"""What a person says of a limit changes that and nothing else, and the app's word comes back when it is taken back."""

from __future__ import annotations

import pytest

from ramet.model.flow.resources import DeclaredFlow, ResourcePolicy
from ramet.store.store import Store

APP = ResourcePolicy("host:*", 2, 5.0, 2.0, 7, 30.0)
DECLARED = DeclaredFlow({"default": 5}, {"page": 4}, [APP])


async def policy(store: Store, pattern: str = "host:*") -> ResourcePolicy | None:
    return next((one for one in await store.policies() if one.pattern == pattern), None)


async def test_one_number_changes_and_the_rest_of_the_apps_word_stays(store: Store) -> None:
    await store.declare(DECLARED)
    told = await store.change_resource("host:*", {"rate_per_second": 2.0}, by="ada")
    assert told == APP._replace(rate_per_second=2.0, explicit=True)
    assert await policy(store) == told
    again = await store.change_resource("host:*", {"concurrency": None}, by="ada")
    assert again == told._replace(concurrency=None)


async def test_what_was_not_told_follows_the_app(store: Store) -> None:
    await store.declare(DECLARED)
    await store.change_resource("host:*", {"rate_per_second": 2.0}, by="ada")
    await store.declare(DeclaredFlow({}, {}, [APP._replace(rate_per_second=9.0, cooldown_seconds=60.0)]))
    assert await policy(store) == APP._replace(rate_per_second=2.0, cooldown_seconds=60.0, explicit=True)


async def test_a_name_under_a_prefix_keeps_what_the_prefix_says(store: Store) -> None:
    await store.declare(DECLARED)
    told = await store.change_resource("host:a", {"rate_per_second": 1.0}, by="ada")
    assert told == APP._replace(pattern="host:a", rate_per_second=1.0, explicit=True)


async def test_taken_back_the_apps_word_holds_as_it_is_now(store: Store) -> None:
    await store.declare(DECLARED)
    assert not await store.reset_limit("resource", "host:*", by="ada")
    await store.change_resource("host:*", {"rate_per_second": 2.0}, by="ada")
    later = APP._replace(rate_per_second=9.0)
    await store.declare(DeclaredFlow({}, {}, [later]))
    assert await store.reset_limit("resource", "host:*", by="ada", reason="enough")
    assert await policy(store) == later
    await store.change_resource("host:a", {"rate_per_second": 1.0}, by="ada")
    assert await store.reset_limit("resource", "host:a", by="ada")
    assert await policy(store, "host:a") is None


@pytest.mark.parametrize(("what", "name", "most"), [("queue", "default", 5), ("kind", "page", 4)])
async def test_the_limit_of_a_queue_or_kind_comes_back(store: Store, what: str, name: str, most: int) -> None:
    async def now() -> int | None:
        rows = await (store.queues if what == "queue" else store.kind_limits)()
        return next((row.concurrency for row in rows if row.name == name), None)

    await store.declare(DECLARED)
    assert not await store.reset_limit(what, name, by="ada")
    await store.limit(what, name, 1, by="ada")
    await store.declare(DECLARED)
    assert await now() == 1
    assert await store.reset_limit(what, name, by="ada")
    assert await now() == most
    await store.limit(what, name, None, by="ada")
    await store.declare(DeclaredFlow({"default": None}, {"page": None}, []))
    assert await store.reset_limit(what, name, by="ada")
    assert await now() is None
