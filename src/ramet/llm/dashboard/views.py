"""Read the pages about jobs. The pipeline is imported at the first request."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ramet.commands.pages import PageMissing, PageVisit, ProductPage, ProductPages

if TYPE_CHECKING:
    from ramet.llm.jobs import Job

JOBS_MAX = 25
PAGE = 25
"""Answers of one page."""
FAILURES_LOOKED_AT = 1_000
NAME_CHARACTERS = 200
STATES = {"succeeded": "success", "failed": "failed", "skipped": "skipped", "cancelled": "cancelled",
          "processing": "processing", "queued": "pending"}  # fmt: skip
"""State of an item as shown -> state of its task."""


def pages() -> ProductPages:
    """Return the entry point ``ramet.pages`` of the package."""
    return ProductPages(
        label="Models",
        package="ramet.llm.dashboard",
        tables="llm_",
        app="ramet.llm.pipeline:app",
        pages=(
            ProductPage("", "jobs", "jobs.html", jobs_page),
            ProductPage("/job", "job", "job.html", job_page),
            ProductPage("/answer", "answer", "answer.html", answer_page),
        ),
    )


async def jobs_page(visit: PageVisit) -> dict[str, Any]:
    """Jobs, the newest first: how far each is, what failed, and what it cost."""
    from ramet.llm.status import list_jobs, status_of

    jobs = await list_jobs(visit.client, limit=JOBS_MAX)
    return {"found": [await status_of(visit.client, one, now=visit.now) for one in jobs], "most": JOBS_MAX}


async def _job(visit: PageVisit) -> Job:
    from ramet.llm.calls import JobGone
    from ramet.llm.errors import LlmError
    from ramet.llm.jobs import find_job

    try:
        return await find_job(visit.client, visit.text("name", NAME_CHARACTERS) or "")
    except (LlmError, JobGone) as error:
        raise PageMissing(str(error)) from error


async def job_page(visit: PageVisit) -> dict[str, Any]:
    """One job: its items, its money, its errors by kind, and a page of answers beside their prompts."""
    from ramet.llm.results import item_kind, item_page
    from ramet.llm.status import status_of

    job, state = await _job(visit), visit.word("state", STATES)
    after = visit.number("after", 0, 0, 2**62)
    rows, next_after = await item_page(
        visit.client, job, states=[] if state is None else [STATES[state]], limit=PAGE, after=after
    )
    failed = await visit.client.tasks(
        tracking_id=job.job_id, kind=item_kind(job), states=["failed"], limit=FAILURES_LOOKED_AT
    )
    errors = Counter(_kind_of(str(task.reason or task.error or "unknown")) for task in failed.tasks)
    return {
        "job": job, "status": await status_of(visit.client, job, now=visit.now), "rows": rows, "state": state,
        "states": [*STATES], "next_after": next_after, "errors": errors.most_common(), "looked_at": len(failed.tasks),
        "more_errors": failed.next_after is not None,
    }  # fmt: skip


def _kind_of(reason: str) -> str:
    """Return the class of a failure: its code and subject, without the rest of the sentence."""
    return ":".join(reason.split(":")[:2])[:200]


async def answer_page(visit: PageVisit) -> dict[str, Any]:
    """One answer beside its prompt."""
    from ramet.llm.results import item_of

    job, task_id = await _job(visit), visit.text("task", NAME_CHARACTERS) or ""
    found = await item_of(visit.client, job, task_id)
    if found is None:
        raise PageMissing(f"job {job.name} has no item {task_id}: its page lists those that it has")
    task, row = found
    value = None if row.value is None else json.dumps(row.value, indent=2, ensure_ascii=False, default=str)
    return {"job": job, "task": task, "row": row, "value": value}
