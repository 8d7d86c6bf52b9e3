"""Runs: what one expansion was asked to do, and how it is found again.

The settings travel in the payload of the seeds' tasks, so they become durable in the very transaction that submits
them, and a process that finds the database finds them. The name of a run follows from them: giving the same command
again submits nothing, it continues.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from ramet import Limits
from ramet.pipelines.wiki.errors import RunNotFound
from ramet.pipelines.wiki.sources.article_set import BUNDLED

if TYPE_CHECKING:
    from ramet import Client, Lineage

ARTICLE = "wiki.article"
LEVEL = "wiki.level"
QUEUE = "wiki"
PREFIX = "wiki-"
"""How the tracking_id of every run begins."""

MAX_ARTICLES = 500
MAX_DEPTH = 5
RUN_SECONDS = 7 * 86_400.0
"""Deadline of a run (DESIGN §8)."""
RUNS_LISTED_MAX = 1_000

_OUTSIDE_SLUG = re.compile(r"[^a-z0-9]+")


class RunSettings(BaseModel):
    """What a run was asked to do. Paths are absolute, so that any process understands them."""

    model_config = ConfigDict(frozen=True)

    source: str
    """`BUNDLED`, or the path of a JSON Lines file."""
    data_dir: str
    """Where fetched packages are kept."""
    graph: str
    """The graph file."""
    semantic: bool
    """Whether sections are embedded with the model, or with the stand-in that needs none."""
    max_articles: int
    """Articles of the run, seeds included; never exceeded."""
    max_depth: int
    """Links between a seed and the farthest article."""


class ArticlePayload(BaseModel):
    """Which article a `wiki.article` task loads, and how it was found."""

    title: str
    depth: int = 0
    """Links between it and the nearest seed."""
    discovered_from: str | None = None
    """Canonical title of the article that linked to it first; None for a seed."""
    run: RunSettings | None = None
    """Only seeds carry them."""
    opens: bool = False
    """True for the one seed that starts level 0. One, so that every task has the same ancestors in every run."""


class LevelPayload(BaseModel):
    """Which level a `wiki.level` task closes."""

    level: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run that exists."""

    tracking_id: str
    seeds: tuple[str, ...]
    """Titles as they are displayed, in the order of their keys."""
    settings: RunSettings


def tracking_id_of(seed_keys: Sequence[str], settings: RunSettings) -> str:
    """The name of the run with these seeds (in any order) and settings: readable, and the same every time."""
    told = settings.model_dump_json(exclude={"data_dir"})
    digest = hashlib.sha256("\n".join([*sorted(seed_keys), told]).encode()).hexdigest()[:8]
    slug = _OUTSIDE_SLUG.sub("-", min(seed_keys).lower()).strip("-")[:24]
    return f"{PREFIX}{slug}-{digest}" if slug else f"{PREFIX}{digest}"


def limits_of(settings: RunSettings) -> Limits:
    """The bounds of a run's lineage: its articles and one task per level.

    The depth of an article is domain data; `max_spawn_depth` is only the backstop.
    """
    levels = settings.max_depth + 1
    max_tasks = settings.max_articles + levels
    return Limits(
        max_tasks=max_tasks,
        max_fan_out=max_tasks,
        max_spawn_depth=levels + 2,
        lineage_seconds=RUN_SECONDS,
    )


async def find_run(client: Client, tracking_id: str | None = None) -> Run:
    """The run of this name, or the newest.

    Raises:
        RunNotFound: there is none.
    """
    if tracking_id is None:
        newest = await list_runs(client)
        if not newest:
            raise RunNotFound("this database holds no wiki run yet; start one with `ramet wiki expand SEED...`")
        tracking_id = newest[0].tracking_id
    seeds = [
        ArticlePayload.model_validate(task.payload) for task in await client.roots(tracking_id) if task.kind == ARTICLE
    ]
    settings = next((seed.run for seed in seeds if seed.run is not None), None)
    if settings is None:
        raise RunNotFound(f"no wiki run {tracking_id} in this database; `ramet wiki status` shows the newest")
    return Run(tracking_id, tuple(seed.title for seed in seeds), settings)


async def list_runs(client: Client) -> list[Lineage]:
    """The lineages of all runs (at most `RUNS_LISTED_MAX`), newest first."""
    lineages = await client.lineages(limit=RUNS_LISTED_MAX)
    return [lineage for lineage in lineages if lineage.tracking_id.startswith(PREFIX)]


def command_of(run: Run, database: str) -> str:
    """The command line that continues a run."""
    settings = run.settings
    words = ["ramet", "wiki", "expand", *run.seeds, *database_words(database), "--graph", _short(settings.graph)]
    if settings.source != BUNDLED:
        words += ["--source", _short(settings.source)]
    if settings.max_articles != MAX_ARTICLES:
        words += ["--max-articles", str(settings.max_articles)]
    if settings.max_depth != MAX_DEPTH:
        words += ["--max-depth", str(settings.max_depth)]
    if not settings.semantic:
        words.append("--no-model")
    return shlex.join(words)


def database_words(place: str) -> list[str]:
    """Name a database in a command; one on a server is named in the environment, together with its password."""
    return ["--db", place] if "://" not in place else []


def _short(path: str) -> str:
    """Relative to the current folder, where it lies below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
