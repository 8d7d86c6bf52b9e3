"""Pages and articles as bytes, which go from one stage of an article's task to the next through the database."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from ramet import App, BatchContext, Context, Outcome, Retry, RetryAfter, SyncContext, title_key
from ramet.commands.errors import UserError
from ramet.fetch import host_gate
from ramet.wiki import tables
from ramet.wiki.embedding.base import Vector
from ramet.wiki.embedding.registry import NONE
from ramet.wiki.errors import GraphBusy, GraphError
from ramet.wiki.graphs.base import EmbeddedArticle, GraphStore
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.pages import Article, Markup, Page, Refusal, Section
from ramet.wiki.recorded_links import pack_targets
from ramet.wiki.run_resources import Expansions
from ramet.wiki.runs import (
    ARTICLE,
    EMBEDDING,
    FETCHING,
    LIMITS,
    LOADING,
    PARSING,
    QUEUES,
    ArticlePayload,
    RunSettings,
    run_of,
)
from ramet.wiki.sources.base import TITLES_MAX
from ramet.wiki.tables import WikiState
from ramet.wiki.wikitext.parser import ParseOptions, parse_page
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import key_of

_LENGTHS = struct.Struct("<II")
"""Lengths of the packed article, in bytes, and of each vector, in numbers."""
LEVEL = 1
"""Level of compression: a page is read once more and then gone, so speed counts."""
UNPACKED_BYTES_MAX = 256 * 1024 * 1024


class PackedArticle(NamedTuple):
    """An article on its way to the graph; no vectors before the stage that embeds."""

    article: Article
    vectors: tuple[Vector, ...]


def pack_page(page: Page) -> bytes:
    """Return a page as bytes."""
    return _pack(asdict(page))


def unpack_page(content: bytes) -> Page:
    """Return the page that `pack_page` packed."""
    told = _unpack(content)
    for name in ("aliases", "categories", "links"):
        told[name] = None if told[name] is None else tuple(told[name])
    return Page(**{**told, "markup": Markup(told["markup"])})


def pack_article(article: Article, vectors: Sequence[Vector] = ()) -> bytes:
    """Return an article as bytes, with one vector of 32-bit numbers for each passage, or none."""
    packed = _pack(asdict(article))
    numbers = array("f", [number for vector in vectors for number in vector])
    if sys.byteorder == "big":
        numbers.byteswap()
    return _LENGTHS.pack(len(packed), len(vectors[0]) if vectors else 0) + packed + numbers.tobytes()


def unpack_article(content: bytes) -> PackedArticle:
    """Return the article that `pack_article` packed, and its vectors."""
    length, dimension = _LENGTHS.unpack_from(content)
    told = _unpack(content[_LENGTHS.size : _LENGTHS.size + length])
    told["sections"] = tuple(Section(**section) for section in told["sections"])
    for name in ("categories", "links"):
        told[name] = None if told[name] is None else tuple(told[name])
    article = Article(**told)
    numbers = array("f", content[_LENGTHS.size + length :])
    if sys.byteorder == "big":
        numbers.byteswap()
    vectors = [numbers[start : start + dimension].tolist() for start in range(0, len(numbers), dimension or 1)]
    return PackedArticle(article, tuple(vectors))


def _pack(told: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(), LEVEL)


def _unpack(content: bytes) -> dict[str, Any]:
    # Written by this pipeline, but bounded all the same: a database can be shared with others.
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(content, UNPACKED_BYTES_MAX)
    if not unpacking.eof:
        raise ValueError("a packed page is damaged, or larger than any page may be")
    told = json.loads(text)
    assert isinstance(told, dict)
    return told


SETS = ("interwiki", "disambiguation_templates", "hidden_categories")


class Rules(NamedTuple):
    """Input of a parser beside the page."""

    site: Site
    options: ParseOptions


def options_of(settings: RunSettings) -> ParseOptions:
    """Return a run's options of parsing."""
    return ParseOptions(links=settings.links, disambiguation=settings.disambiguation, links_max=settings.max_links)


def rules_json(rules: Rules) -> str:
    """Return the rules as text; equal rules are equal texts."""
    site = asdict(rules.site)
    for name in SETS:
        site[name] = sorted(site[name])
    return json.dumps({"site": site, "options": asdict(rules.options)}, ensure_ascii=False, sort_keys=True)


def rules_of(content: str) -> Rules:
    """Return the rules that `rules_json` wrote."""
    stored = json.loads(content)
    site = stored["site"]
    for name in SETS:
        site[name] = frozenset(site[name])
    site["redirect_words"] = tuple(site["redirect_words"])
    return Rules(Site(**site), ParseOptions(**stored["options"]))


ARTICLE_ATTEMPTS = 3
"""Attempts of each stage, as the state machine of the seeds draws it."""
FETCH_SECONDS = 0.02
"""Seconds that the first title of a call waits for others."""
PARSE_SECONDS = 20.0
"""Most seconds of parsing a page. The longest real ones take one."""
PARSE_BYTES_MAX = 1024**3
EMBED_BATCH = 16
LOAD_BATCH = 100
BUSY_SECONDS = 5.0
"""Seconds to wait for a graph that another process writes."""
NOT_HERE_SECONDS = 60.0
"""Seconds to wait when this machine lacks what a stage needs: another may have it."""
COOLDOWN_SECONDS = 30.0
"""Seconds that a host that failed several times in a row is left alone. To refuse a title is not a failure."""
ALIAS = "alias"
"""Reason of a redirect's skipped task when the article that it leads to has a task of its own."""
app = App(
    limits=LIMITS,
    retry=Retry.SEED,
    tables=(*tables.DEFINITIONS, *host_gate.DEFINITIONS),
    breadth=QUEUES,
    processes=os.cpu_count() or 1,
)
app.resource("host:*", cooldown_seconds=COOLDOWN_SECONDS)
expansions = Expansions()
app.at_end(expansions.close)

article = app.pipeline(
    ARTICLE,
    task_per_stage=True,
    key=lambda payload: title_key(payload.title),
    cycle_on="key",  # Also where a key is given: it comes from the tables, as text.
    alert_over=None,  # Many articles link to one, and --max-articles sizes a run to just that.
    limits=LIMITS,
    retry=replace(Retry.SEED, attempts=ARTICLE_ATTEMPTS),
)

_rules: dict[str, Rules] = {}
"""Rules of the passes that this process has met. They never change within one."""
_stored: set[str] = set()
"""Passes whose rules are in the database: rows of a task may have been dropped with its attempt."""


@article.stage(
    queue=FETCHING, batch=TITLES_MAX, batch_seconds=FETCH_SECONDS, resource=lambda payload: payload.resource or None
)
async def fetch(batch: BatchContext, payloads: list[ArticlePayload]) -> list[Any]:
    """Get the pages of up to 50 titles in one call of their source."""
    results: list[Any] = [None] * len(batch)
    for places in _by_run(batch):
        members = [(batch[place], payloads[place]) for place in places]
        try:
            found = await _fetch(members)
        except UserError as error:
            found = [ctx.snooze(wait_for(error), str(error)) for ctx, _ in members]
        for place, result in zip(places, found, strict=True):
            results[place] = result
    return results


async def _fetch(members: Sequence[tuple[Context, ArticlePayload]]) -> list[Any]:
    first = members[0][0]
    settings = await expansions.settings(first.client, first.tracking_id)
    source = await expansions.source(first.client, settings)
    with host_gate.through(first.transaction):
        pages = await source.pages([payload.title for _, payload in members])
        if first.tracking_id not in _rules:
            _rules[first.tracking_id] = Rules(await source.site(), options_of(settings))
    if first.tracking_id not in _stored and await first.read(tables.RULES, (run_of(first.tracking_id),)):
        _stored.add(first.tracking_id)
    for ctx, _ in members if first.tracking_id not in _stored else ():  # Any of them may be the first to end well.
        ctx.write(tables.PUT_RULES, (run_of(ctx.tracking_id), rules_json(_rules[ctx.tracking_id])))
    vectors = settings.embedder != NONE
    return [await _fetched(ctx, payload, pages[payload.title], vectors=vectors) for ctx, payload in members]


async def _fetched(ctx: Context, payload: ArticlePayload, found: Page | Refusal | Exception, *, vectors: bool) -> Any:
    """Return the outcome of a title: its page goes on to be parsed, it is another's alias, or it ends here."""
    if isinstance(found, Exception):
        return found
    run_id = run_of(ctx.tracking_id)
    if not payload.refresh:
        seen = (run_id, ctx.key, payload.title, payload.depth, payload.discovered_from, ctx.tracking_id)
        ctx.write(tables.DISCOVER, seen)
    if isinstance(found, Refusal):
        return _refuse(ctx, payload, ctx.key, found)
    if found.key != ctx.key:
        known = await _note_aliases(ctx, payload, found)
        if known:
            return ctx.skip(f"{ALIAS}: of {found.title}")
    ctx.write(tables.CLAIM, (run_id, found.key))
    ctx.write(tables.PUT_PAGE, (run_id, ctx.key, pack_page(found)))
    if not vectors:
        ctx.state["embed"] = None  # Leaves that stage out, and its task.
    return {"article": found.key}


async def _note_aliases(ctx: Context, payload: ArticlePayload, page: Page) -> bool:
    """Note the redirects that led to a page, and the page. True when a task of the page's own loads it, or has."""
    run_id, found_in = run_of(ctx.tracking_id), ctx.tracking_id
    site = _rules[ctx.tracking_id].site
    rows = await ctx.read(tables.ARTICLE, (run_id, page.key))
    redirects = {key_of(title, site): title for title in page.aliases}
    redirects.setdefault(ctx.key, payload.title)
    redirects.pop(page.key, None)
    for key, title in redirects.items():
        if key != ctx.key:
            ctx.write(tables.FIND, (run_id, key, title, payload.depth, ctx.key, found_in))
        ctx.write(tables.ALIAS, (page.key, run_id, key))
    ctx.write(tables.FIND, (run_id, page.key, page.title, payload.depth, ctx.key, found_in))
    states = [(state, own_task) for _, _, _, state, own_task, *_ in rows]
    if payload.refresh:
        forget_links(ctx, run_id, ctx.key)
    return any(
        state in (WikiState.LOADED, WikiState.PROCESSED, WikiState.EXCLUDED)
        or (own_task and state in (WikiState.DISCOVERED, WikiState.CLAIMED))
        for state, own_task in states
    )


def _refuse(ctx: Context | SyncContext, payload: ArticlePayload, key: str, refusal: Refusal) -> Outcome:
    """End a task for good, with the reason in the row of its article."""
    run_id = run_of(ctx.tracking_id)
    ctx.write(tables.VANISH if payload.refresh else tables.FAIL, (str(refusal), run_id, key))
    if payload.refresh:
        forget_links(ctx, run_id, key)
    ctx.write(tables.DROP_PAGE, (run_id, ctx.key))
    return ctx.fail(str(refusal))


@article.stage(
    queue=PARSING,
    process=True,
    memory_bytes_max=PARSE_BYTES_MAX,
    # A page that crashes the parser, or takes it too long, does so every time. A killed worker costs no attempt.
    limits=replace(LIMITS, max_attempts=1, invocation_seconds=PARSE_SECONDS),
)
def parse(ctx: SyncContext, payload: ArticlePayload) -> Outcome | None:
    """Read a page, in a process of its own: its text is not trusted."""
    run_id, key = run_of(ctx.tracking_id), ctx.state["fetch"]["article"]
    if ctx.tracking_id not in _rules:
        [(content,)] = ctx.read(tables.RULES, (run_id,))
        _rules[ctx.tracking_id] = rules_of(content)
    [(packed,)] = ctx.read(tables.PAGE, (run_id, ctx.key))
    rules = _rules[ctx.tracking_id]
    found = parse_page(unpack_page(bytes(packed)), rules.site, rules.options)
    if isinstance(found, Refusal):
        return _refuse(ctx, payload, key, found)
    ctx.write(tables.PUT_PAGE, (run_id, ctx.key, pack_article(found)))
    return None


@article.stage(queue=EMBEDDING, batch=EMBED_BATCH, batch_seconds=0.05)
async def embed(batch: BatchContext, payloads: list[ArticlePayload]) -> list[Any]:
    """Make the vectors of up to 16 articles at once."""
    results: list[Any] = [None] * len(batch)
    for places in _by_run(batch):
        members = [batch[place] for place in places]
        try:
            await _embed(members)
        except RetryAfter:  # An endpoint that names the time: everybody waits for it.
            raise
        except UserError as error:
            for place in places:
                results[place] = batch[place].snooze(wait_for(error), str(error))
    return results


async def _embed(members: Sequence[Context]) -> None:
    first = members[0]
    embedder = await expansions.embedder(await expansions.settings(first.client, first.tracking_id))
    if embedder is None:
        return
    packed = await _articles(members)
    texts = [texts_of(found.article) for found in packed]
    vectors = iter(await asyncio.to_thread(embedder.embed, [text for some in texts for text in some]))
    for ctx, found, some in zip(members, packed, texts, strict=True):
        own = [next(vectors) for _ in some]
        ctx.write(tables.PUT_PAGE, (run_of(ctx.tracking_id), ctx.key, pack_article(found.article, own)))


@article.stage(
    queue=LOADING,
    batch=LOAD_BATCH,
    batch_seconds=0.05,
    probation=False,  # a graph admits one writer, and the common process is it
)
async def load(batch: BatchContext, payloads: list[ArticlePayload]) -> list[Any]:
    """Put up to 100 articles into the graph in one transaction, and record their links."""
    results: list[Any] = [None] * len(batch)
    for places in _by_run(batch):
        members = [batch[place] for place in places]
        try:
            found: list[Any] = list(await _load(members, [payloads[place] for place in places]))
        except UserError as error:
            found = [ctx.snooze(wait_for(error), str(error)) for ctx in members]
        for place, result in zip(places, found, strict=True):
            results[place] = result
    return results


async def _load(members: Sequence[Context], payloads: Sequence[ArticlePayload]) -> list[Exception | None]:
    first = members[0]
    graph = await expansions.graph(await expansions.settings(first.client, first.tracking_id))
    packed = await _articles(members)
    embedded = [
        EmbeddedArticle(found.article, payload.depth, found.vectors)
        for found, payload in zip(packed, payloads, strict=True)
    ]
    results = await asyncio.to_thread(_load_all, graph, embedded)
    now = time.time()
    for ctx, payload, found, result in zip(members, payloads, packed, results, strict=True):
        if result is None:
            await _record(ctx, found.article, now)
            if payload.refresh:
                ctx.write(tables.REDRAW, (run_of(ctx.tracking_id), found.article.key))
    return results


def _load_all(graph: GraphStore, articles: Sequence[EmbeddedArticle]) -> list[Exception | None]:
    """Load a batch; if that fails, each article alone, so that an error reaches the one that caused it."""
    # Redirects to one article, loaded at the same time, hand it in more than once.
    by_key: dict[str, EmbeddedArticle] = {}
    for item in sorted(articles, key=lambda item: item.expansion_depth):
        by_key.setdefault(item.article.key, item)
    try:
        graph.load_articles(list(by_key.values()))
    except GraphError as error:
        if len(by_key) == 1:
            return [error] * len(articles)
        return [_load_all(graph, [item])[0] for item in articles]
    return [None] * len(articles)


async def _record(ctx: Context, found: Article, now: float) -> None:
    """Write the rows of a loaded article, which commit with its task."""
    run_id, key = run_of(ctx.tracking_id), found.key
    links, site = found.links or (), (await _rules_of(ctx)).site
    ctx.write(tables.PUT_LINKS, (run_id, key, pack_targets((key_of(title, site), title) for title in links)))
    ctx.write(tables.LOAD, (found.title, found.revision, len(links), now, run_id, key))
    ctx.write(tables.DROP_PAGE, (run_id, ctx.key))


def forget_links(ctx: Context | SyncContext, run_id: str, key: str) -> None:
    """Forget the links of a title that is not an article any more."""
    for statement in tables.FORGET_LINKS:
        ctx.write(statement, (run_id, key))


async def _rules_of(ctx: Context) -> Rules:
    if ctx.tracking_id not in _rules:
        [(content,)] = await ctx.read(tables.RULES, (run_of(ctx.tracking_id),))
        _rules[ctx.tracking_id] = rules_of(content)
    return _rules[ctx.tracking_id]


async def _articles(members: Sequence[Context]) -> list[PackedArticle]:
    """Return the article that the stage before has stored for each of these tasks of one run."""
    run_id = run_of(members[0].tracking_id)
    keys = [ctx.key for ctx in members]
    rows = await members[0].client.read(tables.pages_of(len(keys)), (run_id, *keys))
    packed = {key: bytes(content) for key, content in rows}
    return [unpack_article(packed[key]) for key in keys]


def wait_for(error: UserError) -> float:
    """Return the seconds to wait when a run's source, model or graph cannot be opened or asked here and now."""
    if isinstance(error, RetryAfter):
        return error.seconds
    return BUSY_SECONDS if isinstance(error, GraphBusy) else NOT_HERE_SECONDS


def _by_run(batch: BatchContext) -> Iterator[list[int]]:
    """Yield the places of a batch's tasks, run by run."""
    places: dict[str, list[int]] = {}
    for place, ctx in enumerate(batch):
        places.setdefault(ctx.tracking_id, []).append(place)
    yield from places.values()
