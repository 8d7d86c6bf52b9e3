"""The links of loaded articles as a run records them: one row an article, its targets in their order.

Runs of earlier releases have a row a link, in `wiki_links`; these are read where an article has no row of the newer
table, which it gets when it is loaded again.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ramet.wiki import tables

SOURCES_PER_READ = 500

Read = Callable[[str, Sequence[Any]], Awaitable[list[Any]]]
"""Function that reads rows of the database: `Context.read` or `Client.read`."""


class RecordedLink(NamedTuple):
    """A link of an article; `position` is its place among them, from 0. Sorts in that order."""

    source_key: str
    position: int
    target_key: str
    target_title: str


def pack_targets(targets: Iterable[tuple[str, str]]) -> str:
    """Return the targets of an article, (key, title) in their order, as its row has them."""
    # Most titles are their own keys, and are written once.
    return json.dumps(
        [title if key == title else [key, title] for key, title in targets], ensure_ascii=False, separators=(",", ":")
    )


def unpack_targets(text: str) -> list[tuple[str, str]]:
    """Return the targets that `pack_targets` packed."""
    return [(one, one) if isinstance(one, str) else (one[0], one[1]) for one in json.loads(text)]


async def links_of(read: Read, run_id: str, keys: Collection[str]) -> list[RecordedLink]:
    """Return the recorded links of articles, in any order."""
    found: list[RecordedLink] = []
    for some in _portions(keys):
        missing = set(some)
        for source, targets in await read(tables.outlinks_of(len(some)), (run_id, *some)):
            missing.discard(source)
            found += [RecordedLink(source, place, *target) for place, target in enumerate(unpack_targets(targets))]
        if missing:
            rows = await read(tables.links_of(len(missing)), (run_id, *sorted(missing)))
            found += [RecordedLink(*row) for row in rows]
    return found


async def linking_to(read: Read, run_id: str, targets: Collection[str]) -> list[str]:
    """Return the articles in the graph that link to one of these titles, by key. Looks at every link of the run."""
    wanted, found = set(targets), set[str]()
    loaded = [key for (key,) in await read(tables.LOADED, (run_id,))]
    for some in _portions(loaded):
        found.update(link.source_key for link in await links_of(read, run_id, some) if link.target_key in wanted)
    return sorted(found)


async def frontier(read: Read, run_id: str, max_depth: int) -> AsyncIterator[set[str]]:
    """Yield titles that the run has not seen and some article short of that depth links to, in parts; some again."""
    rows = await read(tables.SEEN, (run_id,))
    seen = {key for key, *_ in rows}
    sources = [key for key, depth, state, *_ in rows if depth < max_depth and state in tables.IN_GRAPH]
    for some in _portions(sources):
        new = {link.target_key for link in await links_of(read, run_id, some)} - seen
        if new:
            yield new


def _portions(keys: Collection[str]) -> Iterable[list[str]]:
    listed = list(keys)
    return (listed[start : start + SOURCES_PER_READ] for start in range(0, len(listed), SOURCES_PER_READ))
