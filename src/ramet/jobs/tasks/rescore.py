"""New verdicts on stored listings, by the settings and companies of now: without fetching, with old answers of models.

A change that is only looked for (a dry run) and one that is written are found by the same code. Matches that a person
has marked are left as they are.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ramet import Client, Context, Statement, TransactionRefused, new_id
from ramet.commands.options import person
from ramet.jobs import records
from ramet.jobs.app import app, bounds_of, work_here
from ramet.jobs.companies.identity import NAME_PREFIX
from ramet.jobs.declared_settings import settings_in_force
from ramet.jobs.kinds import RESCORE, RESCORING, ListingPayload, RescorePayload
from ramet.jobs.matching.stop_list import stopped
from ramet.jobs.posting import Posting, unpacked, unpacked_part
from ramet.jobs.records import OF_TEXT, TEXT, json_of
from ramet.jobs.settings import JobsSettings
from ramet.jobs.tasks import tiers
from ramet.jobs.tasks.employers import Employer, employer_of, is_named_only
from ramet.jobs.tasks.tiers import Rating, ratings_of
from ramet.jobs.text.company_names import company_name_key
from ramet.jobs.text.posting_text import Reading, read_posting
from ramet.jobs.verdicts import Case, Verdict, match_row, verdict_of

AT_ONCE = 100
"""Listings that are judged and written together."""
TRIES = 3
"""Most tries for listings that another task changes at the same moment."""
LOOK_SECONDS = 2.0
LOOKS_MAX = 30
"""Looks whether listings of a company that are being judged right now have ended."""
REASONS_SHOWN = 3
STOPPED_BEFORE = "a stop list named it: it is read when its board shows it again"

_COLUMNS = (
    f"l.listing_id, l.url, l.source_id, l.company_id, l.company, l.title, l.location, {TEXT}, l.requirements, "
    "l.posted_at, l.facts, l.status, l.reason, l.filter_result, l.score, l.tracking_id, l.task_id, l.first_seen_at, "
    "r.read_at, m.adjustments, m.explanation, m.method, m.saved_at"
)
_NAMES = tuple(name.partition(".")[2] for name in _COLUMNS.replace(TEXT, "l.description").split(", "))
_STORED = f"""
    SELECT {_COLUMNS} FROM jobs_listings l LEFT JOIN jobs_readings r ON r.listing_id = l.listing_id {OF_TEXT}
    LEFT JOIN jobs_matches m ON m.listing_id = l.listing_id
    WHERE l.listing_id > ? AND l.status IN ('matched', 'skipped', 'filtered', 'unscored') AND l.same_as IS NULL
        AND l.closed_at IS NULL AND l.facts IS NOT NULL AND NOT {records.DECIDED.format("l")}"""  # noqa: S608
STORED = f"{_STORED} ORDER BY l.listing_id LIMIT ?"
STORED_OF_COMPANY = f"{_STORED} AND l.company_id IN (?, ?) ORDER BY l.listing_id LIMIT ?"
STORED_COUNT = "SELECT COUNT(*) FROM jobs_listings WHERE status IN ('matched', 'skipped', 'filtered', 'unscored')"
JUDGED_NOW = "SELECT COUNT(*) FROM jobs_listings WHERE company_id = ? AND status = 'analyzing'"


@dataclass(frozen=True, slots=True)
class Change:
    """A listing whose verdict is another now."""

    stored: Mapping[str, Any]
    """Its row, by column."""
    company_id: str | None
    verdict: Verdict

    @property
    def status(self) -> tuple[str, str]:
        """Before and after."""
        return str(self.stored["status"]), self.verdict.status

    @property
    def move(self) -> str:
        """From which status to which, in words."""
        before, after = self.status
        return f"still {after}, scored otherwise" if before == after else f"{before} to {after}"

    @property
    def reasons(self) -> list[str]:
        """Reasons of the difference, in words."""
        before, after = _object(self.stored["score"]), self.verdict.told
        if self.verdict.status in ("filtered", "refused"):
            return [str(self.verdict.reason)]
        told = []
        if before and before.get("threshold") != after.get("threshold"):
            told.append(f"{after['threshold']:g} are needed, not {before['threshold']:g}")
        old, new = _adjustments(before), _adjustments(after)
        told += [f"{points:+g} {reason}" for reason, points in new.items() if old.get(reason) != points]
        told += [f"no more {points:+g} {reason}" for reason, points in old.items() if reason not in new]
        if not before:
            told = ["it passes the filter now" if self.stored["status"] == "filtered" else "there is a profile now"]
        return told or [str(self.verdict.reason or "its score is made otherwise now")]

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON, for programs."""
        before, after = self.status
        score = _object(self.stored["score"])
        return {
            "listing": self.stored["listing_id"], "title": self.stored["title"], "company": self.stored["company"],
            "before": before, "after": after, "score_before": score.get("final"),
            "score_after": self.verdict.points if self.verdict.score is not None else None, "reasons": self.reasons,
        }  # fmt: skip


class Rescoring:
    """Judges stored listings again, some at a time."""

    def __init__(self, client: Client, settings: JobsSettings, company_ids: tuple[str, str] | None = None) -> None:
        """`company_ids`: only listings of a company, by its id and by its name alone."""
        self._client = client
        self._settings = settings
        self._company_ids = company_ids
        self._ratings: dict[str, Rating] | None = None
        """Ratings that differ from the stored ones, by company, written or not."""

    async def ratings(self) -> list[Rating]:
        """Return the companies that are rated otherwise by the settings of now; none for one company's listings."""
        if self._ratings is None:
            found = [] if self._company_ids else await ratings_of(self._client, self._settings)
            self._ratings = {one.company_id: one for one in found}
        return list(self._ratings.values())

    async def next(self, after: str, count: int = AT_ONCE) -> tuple[list[Change], str | None, int]:
        """Judge the listings behind an id.

        Returns:
            Those whose verdict is another now; the id to go on behind, None at the end; how many were judged.
        """
        more = self._company_ids or ()
        await self.ratings()
        rows = await self._client.read(STORED_OF_COMPANY if more else STORED, (after, *more, count))
        stored = [dict(zip(_NAMES, row, strict=True)) for row in rows]
        read = [_read(one) for one in stored]
        employers = [await self._employer_of(one, posting) for one, (posting, _) in zip(stored, read, strict=True)]
        found = await asyncio.to_thread(self._changes, stored, read, employers)
        return found, stored[-1]["listing_id"] if len(stored) == count else None, len(stored)

    async def _employer_of(self, stored: Mapping[str, Any], posting: Posting) -> Employer:
        known = None if is_named_only(stored["company_id"]) else stored["company_id"]
        found = await employer_of(self._client, ListingPayload(url=stored["url"], company_id=known), posting)
        rating = (self._ratings or {}).get(found.known.company_id) if found.known is not None else None
        return found if rating is None or found.known is None else replace(found, known=rating.of(found.known))

    def _changes(
        self,
        stored: Sequence[Mapping[str, Any]],
        read: Sequence[tuple[Posting, Reading]],
        employers: Sequence[Employer],
    ) -> list[Change]:
        changes = (self._change(*one) for one in zip(stored, read, employers, strict=True))
        return [change for change in changes if change is not None]

    def _change(self, stored: Mapping[str, Any], read: tuple[Posting, Reading], employer: Employer) -> Change | None:
        settings = self._settings
        if stored["status"] == "filtered" and stored["filter_result"] is None:
            # It was never read: only its board can show it again.
            stop = stopped(stored["title"] or "", stored["url"], stored["company"], settings.stop)
            return None if stop else Change(stored, None, Verdict("refused", STOPPED_BEFORE, {}))
        score, company = _object(stored["score"]), employer.known
        note = score.get("company_note") if company is None or company.completeness is None else None
        analysis = score.get("analysis") or _old_analysis(stored)
        case = Case(*read, employer.company_id, employer.signals, note, analysis)
        # As old as when it was read: age alone changes no verdict.
        verdict = verdict_of(case, settings, stored["read_at"] or stored["first_seen_at"])
        company_id = stored["company_id"] if verdict.status == "filtered" else employer.company_id
        before = (stored["status"], _object(stored["filter_result"]), score, stored["company_id"])
        after = (verdict.status, _plain(verdict.filter_result), _plain(verdict.told), company_id)
        return None if before == after else Change(stored, company_id, verdict)


def statements_of(change: Change, settings: JobsSettings, replaced_by: str, cause: str, now: float) -> list[Statement]:
    """Return the statements that write a change; refused as a whole where another task has judged the listing since."""
    stored, verdict = change.stored, change.verdict
    listing_id, task_id = stored["listing_id"], stored["task_id"]
    told = json_of(verdict.told) if verdict.told else None
    filtered = json_of(verdict.filter_result) if verdict.filter_result else None
    kept = (now, replaced_by, cause, listing_id, task_id, verdict.status, verdict.reason or "", told or "",
            stored["title"] or "", stored["location"] or "")  # fmt: skip
    written = (change.company_id, verdict.status, verdict.reason, filtered, told, listing_id, task_id, stored["status"])
    if verdict.status == "matched":
        row = match_row(verdict, stored["posted_at"], settings.match)
        saved_at = now if stored["saved_at"] is None else stored["saved_at"]
        match = Statement(
            records.ADD_MATCH, (stored["tracking_id"], stored["source_id"], *row, saved_at, listing_id, task_id)
        )
    else:
        match = Statement(records.DROP_MATCH, (listing_id, task_id))
    return [
        Statement(records.KEEP_VERDICT, kept), Statement(records.RESCORE_LISTING, written, expect_rows=1), match,
    ]  # fmt: skip


@app.task(
    RESCORE, key=lambda payload: f"{payload.company_id or 'all'} {payload.asked_by}", queue=RESCORING, probation=False,
    lineage_limits=bounds_of,
)  # fmt: skip
async def rescore(ctx: Context, payload: RescorePayload) -> Any:
    """Judge again, some listings in each transaction; a crash goes on behind them."""
    settings = await settings_in_force(ctx.client)
    company_ids = await _ids_of(ctx.client, payload.company_id)
    if company_ids is not None and ctx.snoozes < LOOKS_MAX:
        [(busy,)] = await ctx.read(JUDGED_NOW, (company_ids[1],))
        if busy:
            return ctx.snooze(LOOK_SECONDS, f"{busy} listings of {company_ids[1]} are being judged")
    rescoring = Rescoring(ctx.client, settings, company_ids)
    after: str | None = ctx.state.get("after", "")
    done = Counter(ctx.state.get("changed", {}))
    judged = ctx.state.get("judged", 0)
    ratings = await rescoring.ratings()
    for begin in range(0, len(ratings), AT_ONCE):
        await ctx.transaction(list(tiers.statements_of(ratings[begin : begin + AT_ONCE])))
    rated = ctx.state.get("companies", 0) or len(ratings)
    while after is not None:
        changes, reached, count = await rescoring.next(after)
        for _ in range(TRIES):
            if await _written(ctx, changes, settings, payload.cause):
                break
            changes, reached, count = await rescoring.next(after)
        else:
            # One by one, without those that others change all the time: who judges them has the settings of now.
            changes = [one for one in changes if await _written(ctx, [one], settings, payload.cause)]
        done.update(change.move for change in changes)
        judged, after = judged + count, reached
        if after is not None:
            await ctx.checkpoint(
                "rescore", {"after": after, "changed": dict(done), "judged": judged, "companies": rated}
            )
    companies = {"companies": rated} if rated else {}
    return {"judged": judged, "changed": dict(sorted(done.items())), **companies}


async def _written(ctx: Context, changes: Sequence[Change], settings: JobsSettings, cause: str) -> bool:
    statements = [one for change in changes for one in statements_of(change, settings, ctx.id, cause, ctx.now)]
    try:
        if statements:
            await ctx.transaction(statements)
    except TransactionRefused:
        return False
    return True


async def _ids_of(client: Client, company_id: str | None) -> tuple[str, str] | None:
    row = await records.company_by_id(client, company_id) if company_id is not None else None
    if company_id is None:
        return None
    name = company_name_key(row.name) if row is not None else ""
    return company_id, f"{NAME_PREFIX}{name}" if name else company_id


async def rescore_all(client: Client, cause: str) -> dict[str, Any]:
    """Judge all stored listings again, by a task that is worked on here; what came of it.

    Raises:
        JobsError: it could not be written down.
    """
    payload = RescorePayload(cause=f"{cause}, by {person()}", asked_by=new_id())
    task = await work_here(
        client, RESCORE, payload, failed="listings were not judged again", remedy="`ramet retry {id}` goes on"
    )
    assert isinstance(task.result, dict)
    return task.result


def _read(stored: Mapping[str, Any]) -> tuple[Posting, Reading]:
    """Return the posting and what was read of it; read again by the rules where an older version kept less."""
    facts = _object(stored["facts"])
    fields = facts.pop("posting", None) or {}
    posting = Posting(
        url=stored["url"], title=stored["title"] or "", company=stored["company"], location=stored["location"],
        description=unpacked(stored["description"] or ""), posted_at=stored["posted_at"], **fields,
    )  # fmt: skip
    try:
        requirements = unpacked_part(stored["requirements"] or "", posting.description)
        return posting, Reading.from_json({**facts, "requirements": requirements})
    except ValueError:
        return posting, read_posting(posting)


def _old_analysis(stored: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a model's analysis of a match that an older version kept there only; None for none."""
    if not str(stored["method"] or "").startswith("model:"):
        return None
    told = [one for one in json.loads(stored["adjustments"]) if one.get("category") == "model"]
    return {
        "points": sum(one["points"] for one in told), "adjustments": told, "explanation": stored["explanation"],
        "method": stored["method"],
    }  # fmt: skip


def _object(text: str | None) -> dict[str, Any]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value as it comes back from its column."""
    return _object(json_of(value))


def _adjustments(score: Mapping[str, Any]) -> dict[str, float]:
    return {str(one.get("reason")): one.get("points", 0.0) for one in score.get("adjustments", ())}
