"""Spawns that a level asks of the guard: a pure function of the recorded links.

An article's links are offered when all articles of its level have ended, in the order of (depth, canonical title of
the linking article, place of the link). So the first to link to an article, the articles that still fit under the
cap, and the reason of every refusal do not depend on which article happened to be loaded first.

The cap is on articles in the graph, and some titles turn out to be none (missing, redirects, lists of meanings). So a
level offers as many new titles as there is room for, waits until they have ended, and goes on with the next link in
another round of the same level, until there is no room left or no link; only then are the links that are left refused.
"""

from __future__ import annotations

import asyncio
import fnmatch
import re
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ramet import Context, Outcome, TaskState
from ramet.commands.errors import UserError
from ramet.wiki import tables
from ramet.wiki.errors import WikiError
from ramet.wiki.graphs.base import GraphAlias, GraphLink, GraphStore
from ramet.wiki.recorded_links import SOURCES_PER_READ, links_of
from ramet.wiki.runs import (
    ARTICLE,
    ENDED_BADLY,
    FETCH,
    LEVEL,
    LIMITS,
    LOADING,
    PARSE,
    ROUNDS_MAX,
    RUN_SECONDS,
    STAGES,
    ArticlePayload,
    LevelPayload,
    RunSettings,
    run_of,
)
from ramet.wiki.sources.base import ArticleSource
from ramet.wiki.tables import IN_GRAPH, WikiState
from ramet.wiki.tasks.article import app, expansions, wait_for

OFFERS_PER_ROUND_MAX = 4_000
"""Most links offered in one transaction; five times as many take 100 MB more memory and no less time. In a larger
level the reason of a duplicate may read `in_flight` in one run and `done` in another; the articles never differ."""


class Link(NamedTuple):
    """A recorded link. Links sort in the order in which they are offered."""

    source_depth: int
    source_key: str
    position: int
    target_key: str
    target_title: str


class KnownTitles(NamedTuple):
    """The titles that a run knows before a level offers anything."""

    here: Collection[str]
    """Keys of those whose task is in this pass: the guard refuses them, and says why."""
    elsewhere: Collection[str]
    """Keys of those that an earlier pass looked up, or that are known through a redirect: they are not offered."""
    unwanted: Collection[str] = frozenset()
    """Keys of those that the source does not have, or that the run skips: they are not offered."""


class LevelPlan(NamedTuple):
    """Plan of a level's spawns."""

    grants: int
    """Number of titles that it will add."""
    binds: bool
    """Whether the cap leaves titles out."""
    last: Link | None
    """The last link that is offered before the titles that it adds have ended; None: all are."""


class Planner:
    """Count of the titles that a level would add, until they are more than there is room for."""

    def __init__(self, seen: KnownTitles, room: int) -> None:
        """Count from 0; `room`: articles that the run may still load."""
        self._seen = seen
        self._room = max(0, room)
        self._wanted: set[str] = set()
        self._last: Link | None = None
        self._binds = False

    def add(self, links: Iterable[Link]) -> bool:
        """Look at some of the level's links, in their order; True when no more need be looked at."""
        for link in links:
            if not self._binds and self._is_new(link):
                if len(self._wanted) == self._room:
                    self._binds = True
                    return True
                self._wanted.add(link.target_key)
            self._last = link
        return self._binds

    def _is_new(self, link: Link) -> bool:
        key, seen = link.target_key, self._seen
        return not (key in self._wanted or key in seen.here or key in seen.elsewhere or key in seen.unwanted)

    @property
    def plan(self) -> LevelPlan:
        """Plan that follows from the links that were looked at."""
        return LevelPlan(len(self._wanted), self._binds, self._last if self._binds and self._wanted else None)


def offered(links: Iterable[Link], seen: KnownTitles) -> tuple[Link, ...]:
    """Return the links of a level that are offered to the guard, which grants or refuses each with a reason."""
    return tuple(
        link for link in links if link.target_key not in seen.elsewhere and link.target_key not in seen.unwanted
    )


def within(links: Iterable[Link], seen: KnownTitles) -> tuple[Link, ...]:
    """Return the links of the last level to titles of this pass: they are duplicates, not too deep."""
    return tuple(link for link in links if link.target_key in seen.here)


def links_past_last_level(links: Iterable[Link], seen: KnownTitles) -> tuple[Link, ...]:
    """Return the last level's links to titles that were not looked up: the guard refuses them by depth."""
    return tuple(link for link in offered(links, seen) if link.target_key not in seen.here)


LEVEL_ATTEMPTS = 10
"""Attempts of a level that cannot read or draw (a full disk, say): about a quarter of an hour."""
WAIT_SECONDS = 1.0
"""Seconds that a level waits for its articles at a stretch; then it gives its place to others for as long."""
LOOK_SECONDS = (0.02, 0.5)
"""Shortest and longest pause, in seconds, between two looks at whether its articles have ended."""
SNOOZE_SECONDS = 1.0

EXCLUDED = "excluded"
"""The engine's reason for a task that a person took out."""
OFFERING, OFFERED = "offering", "offered"
KEYS_PER_READ = 2_000


class KnownTitle(NamedTuple):
    """A title of the run."""

    expansion_depth: int
    state: str
    found_in: str
    alias_of: str | None


@app.task(
    LEVEL,
    key=lambda payload: f"level-{payload.level}" + (f".{payload.round}" if payload.round else ""),
    queue=LOADING,
    limits=replace(LIMITS, max_attempts=LEVEL_ATTEMPTS, invocation_seconds=RUN_SECONDS),
    probation=False,
    alert_over=None,
)
async def level(ctx: Context, payload: LevelPayload) -> Outcome | dict[str, int]:
    """Close a level: offer the links of its articles, draw what can be drawn, and open the next level."""
    settings = await expansions.settings(ctx.client, ctx.tracking_id)
    if ctx.stage is None and not await all_ended(ctx):
        return ctx.snooze(SNOOZE_SECONDS, f"level {payload.level} is still being loaded")
    try:
        graph = await expansions.graph(settings)
    except UserError as error:
        return ctx.snooze(wait_for(error), str(error))
    if ctx.stage != OFFERED:
        await _settle_failures(ctx)
        try:
            await _offer(ctx, payload, settings)
        except WikiError as error:
            return ctx.snooze(wait_for(error), str(error))
    follows = bool((await ctx.client.tasks(parent_id=ctx.id, kind=LEVEL, limit=1)).tasks)
    drawn = await _draw(ctx, graph, payload.level - 1 if follows else payload.level, closed=settings.closed)
    return {"drawn": drawn}


async def all_ended(ctx: Context) -> bool:
    """Wait for a while until this task is the last live one of its lineage; False when others are live still.

    Raises:
        AssertionError: the lineage is gone, while one of its tasks runs.
    """
    pause, longest = LOOK_SECONDS
    give_up_at = time.monotonic() + WAIT_SECONDS
    while True:
        lineage = await ctx.client.lineage(ctx.tracking_id)
        assert lineage is not None, "a running task has a lineage"
        if lineage.live == 1:
            return True
        if time.monotonic() >= give_up_at:
            return False
        await asyncio.sleep(min(pause, longest))
        pause *= 1.2


async def known_among(ctx: Context, keys: Collection[str]) -> dict[str, KnownTitle]:
    """Return those of these titles that the run knows, and the articles that they redirect to, by key."""
    known = await _titles(ctx, sorted(keys))
    targets = {one.alias_of for one in known.values() if one.alias_of is not None}
    return known | await _titles(ctx, sorted(targets - known.keys()))


async def _titles(ctx: Context, keys: Sequence[str]) -> dict[str, KnownTitle]:
    known: dict[str, KnownTitle] = {}
    for start in range(0, len(keys), KEYS_PER_READ):
        some = keys[start : start + KEYS_PER_READ]
        rows = await ctx.read(tables.titles_of(len(some)), (run_of(ctx.tracking_id), *some))
        known.update((key, KnownTitle(*rest)) for key, *rest in rows)
    return known


async def _settle_failures(ctx: Context) -> None:
    """Fail the titles whose last attempt ended in an exception or from outside, and could not fail them itself."""
    run_id = run_of(ctx.tracking_id)
    unsettled = {key for (key,) in await ctx.client.read(tables.UNSETTLED, (run_id,))}
    if not unsettled:
        return
    async for task in ctx.client.all_tasks(tracking_id=ctx.tracking_id, states=ENDED_BADLY):
        one = (await known_among(ctx, [task.key])).get(task.key) if task.key not in unsettled else None
        subject = task.key if one is None or one.alias_of is None else one.alias_of
        if subject not in unsettled:
            continue
        if task.state == TaskState.SKIPPED and task.reason_code == EXCLUDED:
            ctx.write(tables.EXCLUDE, (task.reason, None, run_id, subject))
        elif task.state != TaskState.SKIPPED:
            error = task.error or task.reason or task.state.value
            ctx.write(tables.FAIL, (f"unparsable: {error}" if task.kind == PARSE else error, run_id, subject))


class LevelOffer(NamedTuple):
    """Offer of a level to the guard."""

    payload: LevelPayload
    sources: Sequence[tuple[int, str]]
    """(depth, key) of the articles whose links are offered, in the order in which they are."""
    seen: KnownTitles
    sieve: Sieve
    room: int
    """Articles that the run may still load."""
    levels_left: int
    """Number of levels that may still follow; at 0, titles farther away than these are too far."""
    deeper_levels: int
    """Number of levels beyond this one that have titles; the links of their articles are to be offered."""


async def _offer(ctx: Context, payload: LevelPayload, settings: RunSettings) -> None:
    """Offer the level's links, round by round; after a crash, the rounds that are left."""
    offer = await _prepare(ctx, payload, settings)
    plan = await _plan(ctx, offer)
    done, place = int(ctx.state.get("rounds", 0)), 0
    async for part, past in _rounds(ctx, offer, plan.last):
        if place >= done:
            if place == 0:
                await _open_next(ctx, offer, plan)
            if past:
                ctx.lower(max_spawn_depth=ctx.spawn_depth)
            await _offer_round(ctx, part, payload.resource, {"rounds": place + 1, "room": offer.room})
        place += 1
    if place == 0:  # No article here has links, but loaded ones farther away may.
        await _open_next(ctx, offer, plan)
    for depth, key in offer.sources:
        if plan.last is None or (depth, key) < (plan.last.source_depth, plan.last.source_key):
            ctx.write(tables.OFFER, (ctx.tracking_id, run_of(ctx.tracking_id), key))
    await ctx.checkpoint(OFFERED)


async def _prepare(ctx: Context, payload: LevelPayload, settings: RunSettings) -> LevelOffer:
    run_id, number = run_of(ctx.tracking_id), payload.level
    own = await _asked_for(ctx) if ctx.state.get("rounds") else frozenset[str]()
    here, elsewhere = set[str](), set[str]()
    loaded, deepest = 0, 0
    for key, depth, state, own_task, found_in, source in await ctx.client.read(tables.SEEN, (run_id,)):
        # Titles that this level's own rounds brought, before a crash, were not known when they were planned.
        if key in own or (source in own and not own_task and found_in == ctx.tracking_id):
            continue
        loaded, deepest = loaded + (state in IN_GRAPH), max(deepest, depth)
        (here if own_task and found_in == ctx.tracking_id else elsewhere).add(key)
    # A source that is a server is not asked first: the fetch asks it for the page at once.
    source = None if payload.resource else await expansions.source(ctx.client, settings)
    sieve = Sieve(here | elsewhere, settings.skip, source)
    rows = await ctx.read(tables.TO_OFFER, (run_id, number, ctx.tracking_id))
    return LevelOffer(
        payload,
        sorted((depth, key) for key, depth in rows),
        KnownTitles(here, elsewhere, sieve.unwanted),
        sieve,
        int(ctx.state.get("room", settings.max_articles - loaded)),
        settings.max_depth - number,
        max(0, deepest - number),
    )


async def _asked_for(ctx: Context) -> frozenset[str]:
    """Return the keys of the articles that this level has been granted."""
    return frozenset([task.key async for task in ctx.client.all_tasks(parent_id=ctx.id, kind=FETCH)])


class Sieve:
    """Filter of linked titles that are not to be looked up: those that the run skips, or its source does not have."""

    def __init__(self, seen: Collection[str], skip: Sequence[str], source: ArticleSource | None) -> None:
        """Filter titles; `seen`: keys of those that need no look; `source`: one that can tell without a request."""
        self.unwanted: set[str] = set()
        self._looked_at = set(seen)
        self._skipped = re.compile("|".join(map(fnmatch.translate, skip))) if skip else None
        self._source = source

    async def look(self, keys: Iterable[str]) -> None:
        """Add those of these titles to :attr:`unwanted`."""
        new = [key for key in {*keys} if key not in self._looked_at]
        self._looked_at.update(new)
        if self._skipped is not None:
            self.unwanted.update(filter(self._skipped.match, new))
        if self._source is not None:
            self.unwanted.update(await self._source.absent(new))


async def _plan(ctx: Context, offer: LevelOffer) -> LevelPlan:
    planner = Planner(offer.seen, offer.room)
    if offer.levels_left > 0:
        async for part in _links(ctx, offer.sources, offer.payload.after):
            await offer.sieve.look(link.target_key for link in part)
            if planner.add(part):
                break
    plan = planner.plan
    return plan if offer.payload.round < ROUNDS_MAX else plan._replace(last=None)


async def _rounds(ctx: Context, offer: LevelOffer, last: Link | None) -> AsyncIterator[tuple[tuple[Link, ...], bool]]:
    """Yield the links that are offered together, and whether they lead past the last level; always the same ones."""
    after = offer.payload.after
    if offer.levels_left > 0:
        async for part in _links(ctx, offer.sources, after):
            await offer.sieve.look(link.target_key for link in part)
            yield offered(part if last is None else [link for link in part if link <= last], offer.seen), False
            if last is not None and part[-1] >= last:
                return
        return
    async for part in _links(ctx, offer.sources, after):
        await offer.sieve.look(link.target_key for link in part)
        yield within(part, offer.seen), False
    async for part in _links(ctx, offer.sources, after):
        yield links_past_last_level(part, offer.seen), True


async def _links(
    ctx: Context, sources: Sequence[tuple[int, str]], after: tuple[str, int] | None
) -> AsyncIterator[list[Link]]:
    """Yield the recorded links of these articles, in the order in which they are offered, in parts.

    `after`: key of an article, and the place of the last of its links that was offered already.
    """
    offered_key, offered_place = after or ("", -1)
    part: list[Link] = []
    for start in range(0, len(sources), SOURCES_PER_READ):
        depths = {key: depth for depth, key in sources[start : start + SOURCES_PER_READ]}
        part += sorted(
            Link(depths[key], key, place, *target)
            for key, place, *target in await links_of(ctx.read, run_of(ctx.tracking_id), depths)
            if key != offered_key or place > offered_place
        )
        while len(part) >= OFFERS_PER_ROUND_MAX:
            yield part[:OFFERS_PER_ROUND_MAX]
            part = part[OFFERS_PER_ROUND_MAX:]
    if part:
        yield part


async def _open_next(ctx: Context, offer: LevelOffer, plan: LevelPlan) -> None:
    """Spawn the next round or level before its articles, so that no budget can strand them."""
    payload = offer.payload
    if plan.last is not None:
        after = (plan.last.source_key, plan.last.position)
        ctx.spawn(LEVEL, LevelPayload(
            level=payload.level, round=payload.round + 1, after=after, resource=payload.resource
        ))  # fmt: skip
        return
    if offer.levels_left <= 0:
        return
    levels = min(offer.levels_left, max(int(plan.grants > 0), offer.deeper_levels))
    if plan.binds:
        lineage = await ctx.client.lineage(ctx.tracking_id)
        assert lineage is not None, "a running task has a lineage"
        # Deeper levels add no title any more, but each is a task.
        ctx.lower(max_tasks=lineage.tasks + len(STAGES) * plan.grants + levels)
        if levels >= len(STAGES):  # An article more would fit into the room of these.
            ctx.lower(max_fan_out=plan.grants + 1)
    if levels:
        ctx.spawn(LEVEL, LevelPayload(level=payload.level + 1, resource=payload.resource))


async def _offer_round(ctx: Context, part: Sequence[Link], resource: str, state: dict[str, int]) -> None:
    """Offer some links, and announce what was granted: a title that is looked up first announces itself as well."""
    for link in part:
        depth = link.source_depth + 1
        wanted = ArticlePayload(
            title=link.target_title, depth=depth, discovered_from=link.source_key, resource=resource
        )
        ctx.spawn(ARTICLE, wanted, key=link.target_key)
    answers = await ctx.checkpoint(OFFERING, state=state)
    granted = {answer.key for answer in answers if answer.reason is None and answer.kind != LEVEL}
    run_id = run_of(ctx.tracking_id)
    for link in part:
        if link.target_key in granted:
            granted.discard(link.target_key)
            row = (run_id, link.target_key, link.target_title, link.source_depth + 1, link.source_key)
            ctx.write(tables.DISCOVER, (*row, ctx.tracking_id))


async def _draw(ctx: Context, graph: GraphStore, depth: int, *, closed: bool) -> int:
    """Draw redirects, and the links of articles down to this depth; return how many links."""
    run_id, now = run_of(ctx.tracking_id), time.time()
    await draw_excluded(ctx, graph)
    aliases = await ctx.read(tables.NEW_ALIASES, (run_id,))
    if aliases:
        await asyncio.to_thread(graph.add_aliases, [GraphAlias(*row) for row in sorted(aliases)])
        for key, *_ in aliases:
            ctx.write(tables.PROCESS, (now, ctx.tracking_id, run_id, key))
    rows = {key: rest for key, *rest in await ctx.read(tables.TO_DRAW, (run_id, depth, ctx.tracking_id))}
    drawn, keys = 0, sorted(rows)
    for start in range(0, len(keys), SOURCES_PER_READ):
        some = keys[start : start + SOURCES_PER_READ]
        # Links of earlier passes are there; of a closed graph, all but those to titles that only this pass knows.
        fresh = {key for key in some if rows[key][0] == WikiState.LOADED}
        outgoing = sorted(await links_of(ctx.read, run_id, some if closed else fresh))
        known = await known_among(ctx, {target for _, _, target, _ in outgoing})
        links = to_draw(
            ((rows[source][1], source, target) for source, _, target, _ in outgoing
             if source in fresh or (target in known and known[target].found_in == ctx.tracking_id)),
            known, closed=closed,
        )  # fmt: skip
        await asyncio.to_thread(graph.add_links, links)
        drawn += len(links)
        for key in some:
            ctx.write(tables.PROCESS, (now, ctx.tracking_id, run_id, key))
        await ctx.checkpoint(OFFERED)
    return drawn


async def draw_excluded(ctx: Context, graph: GraphStore) -> None:
    """Take out of the graph what a person took out of the run while this process was its writer."""
    keys = sorted(key for (key,) in await ctx.read(tables.UNDRAWN_EXCLUDED, (run_of(ctx.tracking_id),)))
    if keys:
        await asyncio.to_thread(graph.exclude_articles, keys)
        for key in keys:
            ctx.write(tables.DRAW, (ctx.tracking_id, run_of(ctx.tracking_id), key))


def to_draw(links: Iterable[tuple[int, str, str]], known: Mapping[str, KnownTitle], *, closed: bool) -> list[GraphLink]:
    """Return links as the graph has them: redirects followed, each once, none to itself, none to what is excluded.

    Args:
        links: depth and key of the linking article, and key of the title that it links to.
        known: what the run knows of these titles.
        closed: links to titles that the run does not know are left out.
    """
    found: dict[tuple[str, str], GraphLink] = {}
    for depth, source, wanted in links:
        one = known.get(wanted)
        target = wanted if one is None or one.alias_of is None else one.alias_of
        one = known.get(target)
        if target == source or (closed if one is None else one.state == WikiState.EXCLUDED):
            continue
        target_depth = depth + 1 if one is None else one.expansion_depth
        found.setdefault((source, target), GraphLink(source, target, target, target_depth))
    return list(found.values())
