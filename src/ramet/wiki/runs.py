"""Runs: the settings of an expansion, and how it is found again.

A run is what a person started and continues; its name follows from its seeds, its source and its graph, so the same
command finds it again. It works in passes, each a lineage of the engine: the first expands the seeds, a later one goes
on with larger limits, or compares what was loaded with its source. The settings travel in the payload of a pass's first
task, so they become durable in the very transaction that submits it, and a process that finds the database finds them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from ramet import Limits, TaskState
from ramet.wiki.errors import RunNotFound

if TYPE_CHECKING:
    from ramet import Client, Lineage

ARTICLE = "wiki.article"
FETCH, PARSE, EMBED, LOAD = STAGES = tuple(f"{ARTICLE}.{stage}" for stage in ("fetch", "parse", "embed", "load"))
LEVEL = "wiki.level"
REFRESH = "wiki.refresh"
RETRY = "wiki.retry"
FIRST_TASKS = (LEVEL, REFRESH)
"""Kinds whose root tasks carry the settings of a pass."""
ENDED_BADLY = tuple(state for state in TaskState if state.terminal and state is not TaskState.SUCCESS)
QUEUES = FETCHING, PARSING, EMBEDDING, LOADING = ("wiki.fetch", "wiki.parse", "wiki.embed", "wiki.load")

PREFIX = "wiki-"
"""Beginning of the name of every run."""

MAX_ARTICLES = 500
MAX_DEPTH = 5
ROUNDS_MAX = 30
"""Most rounds of a level. All are needed only where nearly no linked title is an article."""
OTHERS_MIN, OTHERS_PER_ARTICLE = 200, 4
"""Most titles of a pass that may turn out not to be articles: the least room, and the room for each article."""
MAX_LINKS = 5_000
"""Most links of one page that are followed and drawn; the rest of a longer page is left out."""
RUN_SECONDS = 7 * 86_400.0
"""Seconds until the deadline of a pass (DESIGN §8)."""
RUNS_LISTED_MAX = 1_000

_OUTSIDE_SLUG = re.compile(r"[^a-z0-9]+")


class RunSettings(BaseModel):
    """Settings of a run. Paths are absolute, so that any process understands them."""

    model_config = ConfigDict(frozen=True)

    source: str
    """Source, as `ramet.wiki.sources.registry.open_source` takes it."""
    data_dir: str
    """Folder of fetched packages and of indexes of sources."""
    graph: str
    """The graph file."""
    embedder: str = "onnx"
    """Embedder, as `ramet.wiki.embedding.registry.open_embedder` takes it."""
    links: Literal["body", "all"] = "body"
    """`body`: links that a page's own text has; `all`: those that templates bring in as well."""
    disambiguation: Literal["fail", "links"] = "fail"
    """`fail`: such a page is not an article; `links`: it is loaded and its links are followed."""
    user_agent: str = ""
    """Contact of the person who runs this, for the source's operators."""
    private: bool = False
    """Whether the source may be on a private network: the person named it so."""
    requests_per_second: float | None = None
    """Most requests a second to the source, over all workers; None: as fast as three at a time answer."""
    max_articles: int = MAX_ARTICLES
    """Most articles that the run loads, seeds included; never exceeded."""
    max_depth: int = MAX_DEPTH
    """Most links between a seed and the farthest article."""
    max_links: int = MAX_LINKS
    text: Literal["wikitext", "rendered"] = "wikitext"
    """`wikitext`: texts are read from what people write; `rendered`: from what the wiki shows, one request each."""
    closed: bool = False
    """Whether links to titles that the run has not looked up are left out of the graph."""
    skip: tuple[str, ...] = ()
    """Patterns (`*`, `?`, `[...]`) of canonical titles that are not looked up, however often they are linked."""
    language: str = ""
    """Code of the texts' language, as the source states it."""


LEFT_OUT_OF_NAMES = {
    "data_dir", "language", "user_agent", "private", "requests_per_second", "max_articles", "max_depth"
}  # fmt: skip
ADDED = ("closed", "skip", "text")
"""Settings that came later: they are no part of a name while they have their default, so that runs keep theirs."""


class ArticlePayload(BaseModel):
    """Article that a `wiki.article` task loads, and how it was found."""

    title: str
    depth: int = 0
    """Links between it and the nearest seed."""
    discovered_from: str | None = None
    """Canonical title of the article that linked to it first; None for a seed."""
    resource: str = ""
    """Resource of the source's requests; empty for a local source."""
    refresh: bool = False
    """Whether the run has the article already, and its source a newer one."""


class LevelPayload(BaseModel):
    """Level that a `wiki.level` task closes."""

    level: int
    round: int = 0
    """Round of the level, from 0: another follows while titles turn out not to be articles, and there is room."""
    after: tuple[str, int] | None = None
    """The linking article, and the place, of the last link that earlier rounds offered."""
    run: RunSettings | None = None
    """Settings of the run; only the first task of a pass carries them."""
    seeds: tuple[str, ...] = ()
    """Display titles of the run's seeds, in the order of their keys; with the first task of a pass."""
    resource: str = ""
    """Resource of the source's requests; empty for a local source. The closing of a level need not have the source."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that exists."""

    run_id: str
    seeds: tuple[str, ...]
    """Titles as they are displayed, in the order of their keys."""
    settings: RunSettings
    """Settings of its newest pass."""
    passes: tuple[Lineage, ...]
    """Its lineages, oldest first."""
    resource: str
    """Resource of its source's requests; empty for a local source."""

    @property
    def newest(self) -> Lineage:
        """The lineage of the pass that was begun last."""
        return self.passes[-1]

    @property
    def live(self) -> tuple[Lineage, ...]:
        """The passes that have not ended, oldest first: the newest, or one of which something was revived."""
        return tuple(one for one in self.passes if one.ended_at is None)

    @property
    def next_tracking_id(self) -> str:
        """Tracking id of the pass after the newest."""
        return tracking_id_of(self.run_id, number_of(self.newest.tracking_id) + 1)


def run_id_of(seed_keys: Sequence[str], settings: RunSettings) -> str:
    """Return the name of the run with these seeds (in any order) and settings: readable, and the same every time."""
    digest = hashlib.sha256("\n".join([*sorted(seed_keys), naming_text(settings)]).encode()).hexdigest()[:8]
    slug = _OUTSIDE_SLUG.sub("-", min(seed_keys).lower()).strip("-")[:24]
    return f"{PREFIX}{slug}-{digest}" if slug else f"{PREFIX}{digest}"


def naming_text(settings: RunSettings) -> str:
    """Return those of the settings that name a run, as text."""
    unused = {name for name in ADDED if getattr(settings, name) == RunSettings.model_fields[name].default}
    return settings.model_dump_json(exclude=LEFT_OUT_OF_NAMES | unused)


def tracking_id_of(run_id: str, number: int) -> str:
    """Return the lineage of a pass; the first is called like its run."""
    return run_id if number == 1 else f"{run_id}.{number}"


def run_of(tracking_id: str) -> str:
    """Return the run that a lineage is a pass of."""
    return tracking_id.partition(".")[0]


def number_of(tracking_id: str) -> int:
    """Return the number of a lineage's pass in its run, from 1."""
    return int(tracking_id.partition(".")[2] or 1)


def sizes_of(max_articles: int, max_depth: int, more_tasks: int = 0) -> dict[str, Any]:
    """Return the limits of a pass by name.

    A task for each stage of its articles, for each round of each level, and for titles that turn out to be none.
    """
    levels = max_depth + 1 + ROUNDS_MAX
    max_tasks = len(STAGES) * max_articles + levels + OTHERS_MIN + OTHERS_PER_ARTICLE * max_articles + more_tasks
    return {
        "max_tasks": max_tasks, "max_fan_out": max_tasks, "max_spawn_depth": levels + 2, "lineage_seconds": RUN_SECONDS,
    }  # fmt: skip


LIMITS = Limits(task_seconds=None, **sizes_of(MAX_ARTICLES, MAX_DEPTH))
"""Limits of lineages that begin with one of the pipeline's kinds and are not runs that a person sized."""


def limits_of(settings: RunSettings, *, held: int = 0, more_tasks: int = 0) -> dict[str, Any]:
    """Return the bounds of a pass, as a person sized it.

    The depth of an article is domain data; `max_spawn_depth` is only the backstop.

    Args:
        settings: of the pass.
        held: articles that earlier passes loaded.
        more_tasks: number of other tasks that get room.
    """
    return sizes_of(max(0, settings.max_articles - held), settings.max_depth, more_tasks)


async def find_run(client: Client, run_id: str | None = None) -> Run:
    """Return the run of this name (or of one of its passes), or the newest.

    Raises:
        RunNotFound: there is none.
    """
    runs = await list_runs(client)
    if run_id is None:
        if not runs:
            raise RunNotFound("this database holds no wiki run yet; start one with `ramet wiki expand SEED...`")
        run_id = next(iter(runs))
    run_id = run_of(run_id)
    passes = runs.get(run_id) or await _passes(client, run_id)
    found = None if not passes else await settings_of(client, passes[-1].tracking_id)
    if found is None:
        raise RunNotFound(f"no wiki run {run_id} in this database; `ramet wiki status` shows the newest")
    return Run(run_id, found.seeds, found.run or _missing(run_id), tuple(passes), found.resource)


async def settings_of(client: Client, tracking_id: str) -> LevelPayload | None:
    """Return the payload of a pass's first task; None if the lineage is not a pass of a run."""
    # By kind, and not among the roots: a run may have thousands of seeds.
    for kind in FIRST_TASKS:
        async for task in client.all_tasks(tracking_id=tracking_id, kind=kind):
            if task.parent_id is None:
                return LevelPayload.model_validate(task.payload)
    return None


async def is_refresh(client: Client, tracking_id: str) -> bool:
    """Return whether a pass compares what was loaded with its source."""
    return bool((await client.tasks(tracking_id=tracking_id, kind=REFRESH, limit=1)).tasks)


async def list_runs(client: Client) -> dict[str, list[Lineage]]:
    """Return the lineages, oldest first, of each run, newest first; of the newest `RUNS_LISTED_MAX` lineages."""
    runs: dict[str, list[Lineage]] = {}
    for lineage in await client.lineages(limit=RUNS_LISTED_MAX):
        if lineage.tracking_id.startswith(PREFIX):
            runs.setdefault(run_of(lineage.tracking_id), []).append(lineage)
    return {run_id: sorted(passes, key=lambda one: number_of(one.tracking_id)) for run_id, passes in runs.items()}


async def _passes(client: Client, run_id: str) -> list[Lineage]:
    """Return the lineages of a run that is too old to be listed."""
    passes: list[Lineage] = []
    while (lineage := await client.lineage(tracking_id_of(run_id, len(passes) + 1))) is not None:
        passes.append(lineage)
    return passes


def _missing(run_id: str) -> RunSettings:
    raise RunNotFound(f"the first task of {run_id} carries no settings: it was made by another release")
