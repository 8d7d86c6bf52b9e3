"""The pipeline's domain tables. They live in the engine's database and are written with the tasks (``ctx.write``).

The definitions and statements are in the part of SQL that SQLite and PostgreSQL share. Times are Unix seconds, texts
with lists or objects in them are JSON. A record exists from the start with its identifiers and a status; what takes
analysis is filled in later.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ramet import App, Client, Limits, Retry, Task, Worker, llm, new_id
from ramet.fetch.client import WebClient
from ramet.fetch.fetcher import Fetcher, LoopFetchers
from ramet.fetch.host_map import HostMap
from ramet.fetch.host_pace import HostPace
from ramet.jobs.declared_settings import SETTINGS, latest
from ramet.jobs.errors import JOBS_EXTRA, JobsError
from ramet.jobs.kinds import COMPANY, HOST_RESOURCE, LISTING, SCRAPE, SCRAPE_SOURCE, SOURCE_DISCOVERY, SOURCE_RESOURCE
from ramet.jobs.settings import FetchSettings

DEFINITIONS = (
    """
    CREATE TABLE IF NOT EXISTS jobs_companies (
        company_id        TEXT PRIMARY KEY,
        name              TEXT NOT NULL,
        name_key          TEXT NOT NULL,
        website           TEXT,
        status            TEXT NOT NULL,
        analysis_status   TEXT,
        about             TEXT,
        culture           TEXT,
        mission           TEXT,
        size              TEXT,
        company_size_category TEXT,
        headquarters_location TEXT,
        industry          TEXT,
        founded           TEXT,
        tech_stack        TEXT,
        remote_first      INTEGER,
        tier              TEXT,
        priority_score    DOUBLE PRECISION,
        score_reasons     TEXT,
        completeness      TEXT,
        methods           TEXT,
        job_board_url     TEXT,
        job_board_kind    TEXT,
        board_confidence  TEXT,
        note              TEXT,
        tracking_id       TEXT NOT NULL,
        task_id           TEXT NOT NULL,
        parent_item_id    TEXT,
        spawn_depth       INTEGER NOT NULL,
        created_at        DOUBLE PRECISION NOT NULL,
        updated_at        DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS jobs_companies_by_name ON jobs_companies (name_key)",
    # Facts on which a company's tier depends beside its row, as JSON: a change of the profile rates it again.
    """
    CREATE TABLE IF NOT EXISTS jobs_company_signals (
        company_id        TEXT PRIMARY KEY,
        signals           TEXT NOT NULL
    )""",
    """
    CREATE TABLE IF NOT EXISTS jobs_sources (
        source_id         TEXT PRIMARY KEY,
        name              TEXT NOT NULL,
        source_type       TEXT NOT NULL,
        url               TEXT NOT NULL,
        instruction       TEXT,
        company_id        TEXT,
        company_name      TEXT,
        status            TEXT NOT NULL,
        confidence        TEXT,
        discovered_via    TEXT,
        discovered_at     DOUBLE PRECISION NOT NULL,
        tested_at         DOUBLE PRECISION,
        allow_empty       INTEGER NOT NULL,
        validators        TEXT,
        last_scraped_at   DOUBLE PRECISION,
        last_status       TEXT,
        last_count        INTEGER,
        most_listings     INTEGER NOT NULL,
        suspect           INTEGER NOT NULL,
        note              TEXT,
        tracking_id       TEXT NOT NULL,
        task_id           TEXT NOT NULL,
        parent_item_id    TEXT,
        spawn_depth       INTEGER NOT NULL,
        updated_at        DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS jobs_sources_by_company ON jobs_sources (company_id)",
    """
    CREATE TABLE IF NOT EXISTS jobs_listings (
        listing_id        TEXT PRIMARY KEY,
        url               TEXT NOT NULL,
        source_id         TEXT,
        external_id       TEXT,
        company_id        TEXT,
        company           TEXT,
        title             TEXT,
        location          TEXT,
        description       TEXT,
        requirements      TEXT,
        posted_at         DOUBLE PRECISION,
        salary_min        BIGINT,
        salary_max        BIGINT,
        salary_currency   TEXT,
        facts             TEXT,
        methods           TEXT,
        status            TEXT NOT NULL,
        quality           TEXT,
        filter_result     TEXT,
        reason            TEXT,
        score             TEXT,
        same_as           TEXT,
        fingerprint       TEXT,
        text_hash         BIGINT,
        first_seen_at     DOUBLE PRECISION NOT NULL,
        last_seen_at      DOUBLE PRECISION NOT NULL,
        closed_at         DOUBLE PRECISION,
        tracking_id       TEXT NOT NULL,
        task_id           TEXT NOT NULL,
        parent_item_id    TEXT,
        spawn_depth       INTEGER NOT NULL
    )""",
    "CREATE UNIQUE INDEX IF NOT EXISTS jobs_listings_by_source ON jobs_listings (source_id, external_id)",
    "CREATE INDEX IF NOT EXISTS jobs_listings_by_fingerprint ON jobs_listings (fingerprint)",
    "CREATE INDEX IF NOT EXISTS jobs_listings_by_text ON jobs_listings (text_hash)",
    "CREATE INDEX IF NOT EXISTS jobs_listings_by_lineage ON jobs_listings (tracking_id, status)",
    "CREATE INDEX IF NOT EXISTS jobs_listings_by_company ON jobs_listings (company_id)",
    # Texts as boards show them, from the moment that a listing's task is asked for: neither its payload nor its row
    # has the text once more.
    """
    CREATE TABLE IF NOT EXISTS jobs_texts (
        listing_id        TEXT NOT NULL,
        mark              TEXT NOT NULL,
        text              TEXT NOT NULL,
        PRIMARY KEY (listing_id, mark)
    )""",
    # How often a listing was read, and what its board showed then.
    """
    CREATE TABLE IF NOT EXISTS jobs_readings (
        listing_id        TEXT PRIMARY KEY,
        number            INTEGER NOT NULL,
        shown             TEXT,
        failed            INTEGER NOT NULL,
        runs_left         INTEGER NOT NULL,
        read_at           DOUBLE PRECISION
    )""",
    # Verdicts that another one has replaced.
    """
    CREATE TABLE IF NOT EXISTS jobs_verdicts (
        listing_id        TEXT NOT NULL,
        replaced_at       DOUBLE PRECISION NOT NULL,
        replaced_by       TEXT NOT NULL,
        cause             TEXT NOT NULL,
        status            TEXT NOT NULL,
        reason            TEXT,
        match_score       DOUBLE PRECISION,
        title             TEXT,
        location          TEXT,
        salary_min        BIGINT,
        salary_max        BIGINT,
        salary_currency   TEXT,
        PRIMARY KEY (listing_id, replaced_at, replaced_by)
    )""",
    """
    CREATE TABLE IF NOT EXISTS jobs_matches (
        listing_id        TEXT PRIMARY KEY,
        tracking_id       TEXT NOT NULL,
        source_id         TEXT,
        match_score       DOUBLE PRECISION NOT NULL,
        static_score      DOUBLE PRECISION NOT NULL,
        application_priority TEXT NOT NULL,
        adjustments       TEXT NOT NULL,
        matched_skills    TEXT NOT NULL,
        missing_skills    TEXT NOT NULL,
        intake            TEXT,
        explanation       TEXT,
        method            TEXT NOT NULL,
        posted_at         DOUBLE PRECISION,
        saved_at          DOUBLE PRECISION NOT NULL
    )""",
    # Marks by persons, and marks that a match was shown; the newest counts.
    """
    CREATE TABLE IF NOT EXISTS jobs_match_marks (
        listing_id        TEXT NOT NULL,
        mark_id           TEXT NOT NULL,
        status            TEXT NOT NULL,
        note              TEXT,
        marked_by         TEXT,
        marked_at         DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (listing_id, mark_id)
    )""",
    # Digests of new matches, from their transaction on; sent_at: the channels have it.
    """
    CREATE TABLE IF NOT EXISTS jobs_digests (
        digest_id         TEXT PRIMARY KEY,
        message           TEXT NOT NULL,
        made_at           DOUBLE PRECISION NOT NULL,
        sent_at           DOUBLE PRECISION
    )""",
    "CREATE INDEX IF NOT EXISTS jobs_matches_by_lineage ON jobs_matches (tracking_id)",
    "CREATE INDEX IF NOT EXISTS jobs_matches_by_score ON jobs_matches (match_score)",
)
"""Statements that create the tables."""


LINEAGE_SECONDS = 6 * 3_600.0
FAILED_RUNS_MAX = 5
"""Failed runs in a row that switch a source off until a person looks at it."""
LIMITS = Limits(lineage_seconds=LINEAGE_SECONDS)
"""Depth 10 and three retries are the engine's own."""

IMPORTED = {
    "JOB": LISTING, "JOB_LISTING": LISTING, "COMPANY": COMPANY, "SOURCE_DISCOVERY": SOURCE_DISCOVERY,
    "SCRAPE_SOURCE": SCRAPE_SOURCE, "SCRAPE": SCRAPE,
}  # fmt: skip
"""Their type of a row to our kind. A company's sub-tasks are rows of the company, and one task here."""

READ_THERE = ("title", "company", "company_website", "location", "description", "salary")
"""Texts of a posting, in the ``job_data`` of their ``pipeline_state``."""


def _read_there(stage: str | None, state: dict[str, Any]) -> tuple[None, dict[str, Any]] | None:
    """Return the posting that was read there, which is not fetched again; results are made again, in our words."""
    read = state.get("job_data")
    read = read if isinstance(read, dict) else {}
    told = {name: read[name].strip() for name in READ_THERE if isinstance(read.get(name), str)}
    return (None, {"posting": told}) if told.get("title") and told.get("description") else None


CONNECT_VARIABLE = "RAMET_JOBS_CONNECT"
"""Leads names of hosts elsewhere, to a proxy of one's own or a server of tests: ``HOST[:PORT]=ADDRESS:PORT``, several
with commas between them."""
CONNECTIONS_MAX = 100
"""Most connections of one process, over all hosts: servers that hang must not keep the others waiting."""


def open_fetcher() -> Fetcher:
    """Open a fetcher as the environment says.

    Raises:
        UserError: the variable is invalid, or the extra is not installed.
    """
    mapped = HostMap.parse(os.environ.get(CONNECT_VARIABLE, ""), CONNECT_VARIABLE)
    settings = FetchSettings()
    client = WebClient(user_agent=settings.user_agent, extra=JOBS_EXTRA, connections_max=CONNECTIONS_MAX, mapped=mapped)
    return Fetcher(client, settings)


fetchers = LoopFetchers(open_fetcher)
hosts = HostPace(fetchers, HOST_RESOURCE)
app = App(
    limits=LIMITS,
    retry=Retry.SEED,
    tables=DEFINITIONS,
    settings=SETTINGS,
    import_kinds={word: kind for word, kind in IMPORTED.items() for word in (word, word.lower())},
    import_states={LISTING: _read_there},
    # A company's row does not have the facts of its pages, which each of its listings needs: it is looked at again.
    import_held_seconds={COMPANY: 0.0},
)
llm.declare_models(app)
app.resource(f"{SOURCE_RESOURCE}*", breaker_failures=FAILED_RUNS_MAX)
hosts.declare(app)


def bounds_of(stored: Mapping[str, Any]) -> Limits:
    """Return the limits of a lineage, the same for each kind of its root; the kinds declare it.

    A board of ten thousand openings is usual: the fan-out is raised where a lineage begins, since no task can. Money
    bounds only who has a model to spend it on.
    """
    settings = latest.of(stored)
    run, model = settings.run, settings.model
    max_cost = model.max_cost if model.cheap or model.expensive else None
    return replace(LIMITS, max_fan_out=run.max_fan_out, max_tasks=run.max_tasks, max_cost=max_cost)


async def work_here(client: Client, kind: str, payload: Any, *, failed: str, remedy: str = "try again") -> Task:
    """Submit a task in a lineage of its own, work on it in this process, and return it when it has succeeded.

    Args:
        client: a client of :data:`app`.
        kind: kind of the task, whose queue is its own: nothing else is worked on.
        payload: payload of the task.
        failed: beginning of the error's message: the effect that is missing where the task fails.
        remedy: advice for that case; ``{id}`` is replaced by the task's id.

    Raises:
        JobsError: it did not succeed.
    """
    submitted = await client.submit(kind, payload, tracking_id=f"{kind}-{new_id()}")
    await Worker(app, client, kinds=[kind], until_ended=submitted.tracking_id).run()
    task = await client.get(submitted.id)
    if task is None or task.state != "success":
        raise JobsError(f"{failed}: {task and task.why}; {remedy.replace('{id}', submitted.id)}")
    return task
