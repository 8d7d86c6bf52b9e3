"""Hosts, domains and patterns that nothing is created for."""

from __future__ import annotations

import pytest

from ramet.model.lineage.deny_list import InvalidEntry, StopEntry
from ramet.model.values import InvalidText
from ramet.store.errors import StopListed
from tests.support.world import World, settlement

SITE = "https://www.example.com/a"


async def blocked(world: World, key: str, **fields: object) -> str | None:
    """What the guard says to a spawn of this key, in a lineage of its own."""
    await world.submit(world.task(kind="image"), tracking_id=f"asks for {key}")
    claimed = await world.claim_one(kinds=("image",))
    new = world.task(key)._replace(**fields)  # type: ignore[arg-type]
    [told] = (await world.settle(claimed, spawns=[new])).spawns
    assert told.reason in (None, "stop_list")
    return told.detail if told.reason else None


COVERED = [
    ("host", "www.example.com", SITE, True),
    ("host", "example.com", SITE, False),
    ("host", "example.com", "https://example.com:8443/", True),
    ("domain", "example.com", SITE, True),
    ("domain", "example.com", "https://a.b.example.com/x?y", True),
    ("domain", "example.com", "https://example.com/", True),
    ("domain", "example.com", "https://notexample.com/", False),
    ("domain", "www.example.com", "https://example.com/", False),
    ("host", "10.0.0.1", "http://10.0.0.1:8000/x", True),
    ("host", "[2001:db8::1]", "http://[2001:db8::1]/x", True),
    ("pattern", "*/print/*", "https://example.com/print/1", True),
    ("pattern", "*/print/*", "https://example.com/prints/1", False),
    ("pattern", "Talk:*", "Talk:Ants", True),
    ("pattern", "Talk:*", "talk:Ants", False),
    ("pattern", "*?page=??", "https://example.com/a?page=12", True),
    ("pattern", "a[bc]", "ab", False),
    ("pattern", "a[bc]", "a[bc]", True),
]


@pytest.mark.parametrize(("entry_type", "value", "key", "covered"), COVERED)
async def test_an_entry_covers_what_it_says_and_nothing_else(
    *, world: World, entry_type: str, value: str, key: str, covered: bool
) -> None:
    await world.store.stop(entry_type, value, by="ann", reason="they asked")
    told = await blocked(world, key)
    assert told == (f"{entry_type} {value} (they asked) is on the stop list" if covered else None)


@pytest.mark.parametrize(
    ("entry_type", "given", "stored"),
    [
        ("host", "WWW.Example.COM.", "www.example.com"),
        ("domain", "*.example.com", "example.com"),
        ("domain", "Bücher.example", "xn--bcher-kva.example"),
        ("host", "localhost", "localhost"),
        ("host", "[2001:DB8:0::1]", "[2001:db8::1]"),
    ],
)
async def test_an_entry_is_stored_as_keys_spell_it(world: World, entry_type: str, given: str, stored: str) -> None:
    entry, new = await world.store.stop(entry_type, given, by="ann")
    assert (entry, new) == (StopEntry(entry_type, stored, None, "ann", world.clock.now), True)


@pytest.mark.parametrize(
    ("entry_type", "value"),
    [("site", "example.com"), ("host", ""), ("host", "https://example.com/"), ("host", "example.com/a"),
     ("host", "a@b.example"), ("host", "example.com:80"), ("host", "*.example.com"), ("domain", "com"),
     ("domain", "10.0.0.1"), ("host", "exa mple.com"), ("pattern", ""), ("pattern", "*"), ("pattern", "**?"),
     ("pattern", "a\x00b"), ("pattern", "x" * 513)],
)  # fmt: skip
async def test_what_is_no_entry_is_refused_in_one_line(world: World, entry_type: str, value: str) -> None:
    with pytest.raises((InvalidEntry, InvalidText)) as told:
        await world.store.stop(entry_type, value, by="ann")
    assert "\n" not in str(told.value)
    assert await world.store.stop_list() == []


async def test_the_payloads_url_counts_where_the_key_is_none(world: World) -> None:
    await world.store.stop("domain", "example.com", by="ann")
    assert await blocked(world, "Stripe", url=SITE) is not None
    assert await blocked(world, "Adyen", url="https://example.org/") is None
    assert await blocked(world, SITE, url="https://example.org/") is None, "the url speaks for the key"


async def test_the_nearest_entry_is_named(world: World) -> None:
    for entry_type, value in (("pattern", "*a*"), ("domain", "example.com"), ("domain", "www.example.com")):
        await world.store.stop(entry_type, value, by="ann")
    assert await blocked(world, SITE) == "domain www.example.com is on the stop list"
    await world.store.stop("host", "www.example.com", by="ann")
    assert await blocked(world, SITE + "b") == "host www.example.com is on the stop list"
    assert await blocked(world, "banana") == "pattern *a* is on the stop list"


async def test_what_was_removed_stops_nothing_and_can_be_offered_again(world: World) -> None:
    await world.store.stop("domain", "example.com", by="ann")
    assert await blocked(world, SITE) is not None
    assert await world.store.unstop("domain", "EXAMPLE.com", by="bob", reason="a mistake")
    assert not await world.store.unstop("domain", "example.com", by="bob")
    assert await world.store.stop_list() == []
    assert len((await world.store.reoffer(f"asks for {SITE}", by="bob")).created) == 1
    acts = [(act.act, act.by, act.subject, act.reason) for act in await world.store.acts()]
    assert acts[1:] == [
        ("stop_list_remove", "bob", "domain example.com", "a mistake"),
        ("stop_list_add", "ann", "domain example.com", None),
    ]


async def test_an_entry_is_added_once_and_keeps_its_first_reason(world: World) -> None:
    first, _ = await world.store.stop("host", "a.example", by="ann", reason="first")
    world.clock.advance(5.0)
    assert await world.store.stop("host", "a.example", by="bob", reason="second") == (first, False)
    assert len(await world.store.acts()) == 1
    await world.store.unstop("host", "a.example", by="ann")
    assert await blocked(world, "https://a.example/") is None, "the list is empty again"
    assert await world.store.read("SELECT value FROM ramet_counters WHERE name = 'stop_list'") == [(0,)]


async def test_a_submit_is_refused_whole_with_one_line(world: World) -> None:
    await world.store.stop("domain", "example.com", by="ann", reason="robots")
    with pytest.raises(StopListed, match=r"domain example\.com \(robots\) is on the stop list: .*deny-list remove"):
        await world.submit(world.task("https://example.org/"), world.task(SITE))
    assert await world.store.lineages() == []


async def test_a_repeated_submit_is_answered_although_its_key_is_stopped_by_now(world: World) -> None:
    root = world.task(SITE)
    await world.submit(root)
    await world.store.stop("domain", "example.com", by="ann")
    assert await world.submit(root) == [root.id]


async def test_tasks_that_exist_are_not_touched(world: World) -> None:
    await world.submit(world.task(SITE))
    await world.store.stop("domain", "example.com", by="ann")
    claimed = await world.claim_one()
    answers = await world.store.settle([settlement(claimed, spawns=[world.task(SITE + "/b")])])
    assert [told.reason for told in answers[0].spawns] == ["stop_list"]
    assert answers[0].state == "success"
