"""The pipeline's domain tables: what the engine's own rows do not tell about answers, submits and jobs.

The definitions and statements are in the part of SQL that SQLite and PostgreSQL share. Every write is made through
``ctx.write``, so that it commits with the settlement of the task that made it or not at all, and can be repeated
without effect. All money is in nano-dollars.
"""

from __future__ import annotations

from dataclasses import replace

from ramet import App, Limits, Retry
from ramet.llm.settings import BATCH_SECONDS

DEFINITIONS = (
    # One row for each answer that a provider gave: tokens and cost, and the words where the task keeps none.
    """
    CREATE TABLE IF NOT EXISTS llm_answers (
        job_id        TEXT NOT NULL,
        task_id       TEXT NOT NULL,
        submit_key    TEXT NOT NULL,
        state         TEXT NOT NULL,
        late          INTEGER NOT NULL,
        input_tokens  BIGINT NOT NULL,
        cached_tokens BIGINT NOT NULL,
        output_tokens BIGINT NOT NULL,
        cost          BIGINT NOT NULL,
        code          TEXT,
        error         TEXT,
        answer        TEXT,
        answered_at   DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (task_id, submit_key)
    )""",
    "CREATE INDEX IF NOT EXISTS llm_answers_by_job ON llm_answers (job_id, late)",
    # Submits of which it was unknown whether the provider accepted them, and what looking for them found.
    """
    CREATE TABLE IF NOT EXISTS llm_ambiguous (
        submit_key TEXT PRIMARY KEY,
        job_id     TEXT NOT NULL,
        task_id    TEXT NOT NULL,
        items      INTEGER NOT NULL,
        amount     BIGINT NOT NULL,
        why        TEXT NOT NULL,
        outcome    TEXT NOT NULL,
        remote_id  TEXT,
        noticed_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS llm_ambiguous_by_job ON llm_ambiguous (job_id)",
    # Submits that the provider refused for now, and lines of a batch that it did not get to: each is sent again.
    """
    CREATE TABLE IF NOT EXISTS llm_refusals (
        submit_key TEXT PRIMARY KEY,
        job_id     TEXT NOT NULL,
        task_id    TEXT NOT NULL,
        items      INTEGER NOT NULL,
        why        TEXT NOT NULL,
        refused_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS llm_refusals_by_job ON llm_refusals (job_id, refused_at)",
    # Answers that are there for equal questions: of one job, or of all of them (scope '').
    """
    CREATE TABLE IF NOT EXISTS llm_cache (
        scope   TEXT NOT NULL,
        key     TEXT NOT NULL,
        result  TEXT NOT NULL,
        made_at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (scope, key)
    )""",
    # How jobs ended; a job that lives has no row, its lineage is the truth.
    """
    CREATE TABLE IF NOT EXISTS llm_jobs (
        job_id     TEXT PRIMARY KEY,
        state      TEXT NOT NULL,
        succeeded  INTEGER NOT NULL,
        failed     INTEGER NOT NULL,
        reason     TEXT,
        ended_at   DOUBLE PRECISION NOT NULL,
        deleted_at DOUBLE PRECISION
    )""",
)

_ANSWER_COLUMNS = (
    "job_id, task_id, submit_key, state, late, input_tokens, cached_tokens, output_tokens, cost, code, error, answer, "
    "answered_at"
)
_ANSWER_ROW = "(" + ", ".join("?" * 13) + ")"
_ADD = f"INSERT INTO llm_answers ({_ANSWER_COLUMNS}) VALUES"
ANSWERS_AT_ONCE = 50
"""Rows of one statement."""


def add_answers(rows: int) -> str:
    """Return the statement that stores ``count`` answers."""
    values = ", ".join([_ANSWER_ROW] * rows)
    return f"{_ADD} {values} ON CONFLICT (task_id, submit_key) DO NOTHING"


ADD_AMBIGUOUS = (
    "INSERT INTO llm_ambiguous (submit_key, job_id, task_id, items, amount, why, outcome, remote_id, noticed_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (submit_key) DO UPDATE SET outcome = excluded.outcome, "
    "remote_id = excluded.remote_id"
)
ADD_REFUSAL = (
    "INSERT INTO llm_refusals (submit_key, job_id, task_id, items, why, refused_at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (submit_key) DO UPDATE SET items = excluded.items, why = excluded.why"
)
ADD_JOB = (
    "INSERT INTO llm_jobs (job_id, state, succeeded, failed, reason, ended_at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (job_id) DO UPDATE SET state = excluded.state, succeeded = excluded.succeeded, "
    "failed = excluded.failed, reason = excluded.reason, ended_at = excluded.ended_at"
)
DELETE_JOB = (
    "INSERT INTO llm_jobs (job_id, state, succeeded, failed, reason, ended_at, deleted_at) "
    "VALUES (?, ?, 0, 0, ?, ?, ?) ON CONFLICT (job_id) DO UPDATE SET deleted_at = excluded.deleted_at"
)


NO_CEILING = 1_000_000_000
"""Ceiling of a job that costs nothing: what fails by time needs one."""

LIMITS = Limits(payload_bytes_max=1_048_576, max_cost=NO_CEILING)
"""Limits of every task. A prompt may have a megabyte; images go by their address. A job gets the ceiling that a person
named; any other lineage of these kinds has this one."""

ITEM_LIMITS = replace(LIMITS, max_attempts=None, task_seconds=BATCH_SECONDS)
"""Items and batches fail by time and money, never by count. A job gives its items a stricter deadline."""

LANE_LIMITS = replace(LIMITS, max_attempts=None, task_seconds=30 * 86_400.0)
"""A lane sends one batch after the other, so what ends it is the end of its job."""

BATCH_ITEM_LIMITS = replace(LIMITS, task_seconds=BATCH_SECONDS)
"""Limits of items that lanes bind and settle. No worker claims them, so no attempt counts."""

POLL_LIMITS = replace(LIMITS, lineage_seconds=7_200.0)
"""A slot that hangs holds the next ones up for so long at most."""

app = App(limits=LIMITS, retry=Retry.SEED, tables=DEFINITIONS)
