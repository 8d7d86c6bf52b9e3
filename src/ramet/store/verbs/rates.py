"""Buckets that handlers take from, in the database for all workers; the rules are :mod:`ramet.model.flow.shares`.

A bucket belongs to no lineage, so all who take hold one lock and nothing is decided twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ramet.model.flow import resources as rules
from ramet.model.flow import shares
from ramet.model.flow.resources import Resource, ResponseLimits, policy_of, rate_of
from ramet.model.flow.shares import Bucket, BucketCheck, ResourceShare, TakeRequest, TakeResult
from ramet.store.rows.lineages import read_lineages
from ramet.store.rows.retained_slots import FLOW
from ramet.store.rows.tasks import load_standings
from ramet.store.session import Session
from ramet.store.verbs.resources import load, pause_seconds_max, policies, save
from ramet.store.verbs.settle import claim_refusal

_SHARE_LIST = ", ".join(ResourceShare._fields)


def take(session: Session, wanted: Sequence[TakeRequest]) -> list[TakeResult]:
    """Take from the buckets of resources under claims; return the answers in the order asked.

    Each request is all or nothing, and sees what earlier ones took; durable when it returns. Over any window of ``t``
    seconds no bucket gives more than its burst (or the largest amount, if that is more) and its rate times ``t``. Of a
    scarce bucket, lineages get equal shares. A stale claim takes nothing. A resource without a rate gives any amount,
    and nothing is written.
    """
    standings = load_standings(session, {item.seq for item in wanted})
    lineages = read_lineages(session, {standing.tracking_id for standing in standings.values()})
    buckets = _buckets(session, {name for item in wanted for name, _ in item.amounts})
    before = dict(buckets)
    answers = []
    for item in wanted:
        standing = standings.get(item.seq)
        lineage = None if standing is None else lineages[standing.tracking_id]
        why = claim_refusal(session, standing, item.fence, lineage)
        if why is not None or standing is None:
            answers.append(TakeResult(0.0, why))
        else:
            answers.append(_take(buckets, standing.tracking_id, item, session.now))
    _save(session, before, buckets)
    return answers


def _take(buckets: dict[str, Bucket], tracking_id: str, item: TakeRequest, now: float) -> TakeResult:
    """All of one request, or nothing; the buckets are changed in place."""
    amounts = [(name, amount) for name, amount in item.amounts if name in buckets]
    checks = [shares.check_bucket(buckets[name], tracking_id, amount, now) for name, amount in amounts]
    seconds = max((each.seconds for each in checks), default=0.0)
    for (name, amount), each in zip(amounts, checks, strict=True):
        buckets[name] = _after(buckets[name], tracking_id, amount, now, each if seconds else None)
    return TakeResult(seconds)


def _after(bucket: Bucket, tracking_id: str, amount: float, now: float, refusal: BucketCheck | None) -> Bucket:
    if refusal is None:
        return shares.after_grant(bucket, tracking_id, amount, now)
    return shares.after_refusal(bucket, tracking_id, amount, now, refusal)


def _buckets(session: Session, names: set[str]) -> dict[str, Bucket]:
    """Those of the named resources that hold anybody back, under their lock. The others have no bucket."""
    known = policies(session)

    def bounded() -> dict[str, Resource]:
        found = load(session, names)
        return {name: resource for name, resource in found.items() if _bounded(resource)}

    def _bounded(resource: Resource) -> bool:
        paused = resource.opened_at is not None or session.now < resource.paused_until
        return paused or rate_of(resource, policy_of(resource.name, known)) is not None

    if not bounded():
        return {}
    session.lock(FLOW)
    found = bounded()
    stored = _shares(session, found)
    return {name: Bucket(row, policy_of(name, known), stored.get(name, {})) for name, row in found.items()}


def _shares(session: Session, names: Iterable[str]) -> dict[str, dict[str, ResourceShare]]:
    """Return the shares of lineages in resources. One that runs no more is not expected back."""
    listed, values = session.members(sorted(names))
    rows = session.rows(
        "SELECT s.resource, s.tracking_id, s.taken, s.wanted, s.asked_at, s.until FROM ramet_shares s "
        "JOIN ramet_lineages l ON l.tracking_id = s.tracking_id "
        f"WHERE s.resource {listed} AND s.until > ? AND s.asked_at <= ? AND l.state || '' = 'running'",
        (values, session.now, session.now),
    )
    found: dict[str, dict[str, ResourceShare]] = {}
    for name, *fields in rows:
        share = ResourceShare._make(fields)
        found.setdefault(name, {})[share.tracking_id] = share
    return found


def _save(session: Session, before: dict[str, Bucket], after: dict[str, Bucket]) -> None:
    changed = [(before[name], bucket) for name, bucket in after.items() if bucket != before[name]]
    save(session, [new.resource for old, new in changed if new.resource != old.resource])
    rows = [
        (new.resource.name, *share)
        for old, new in changed
        for share in new.shares.values()
        if share != old.shares.get(share.tracking_id)
    ]
    key = ("resource", "tracking_id")
    session.insert(
        "ramet_shares", ("resource", *ResourceShare._fields), sorted(rows), key=key, changes=ResourceShare._fields[1:]
    )


def adapted(session: Session, name: str, limits: ResponseLimits) -> Resource | None:
    """Return the resource as a server's response changes it; None when the response says nothing new."""
    resource = load(session, [name])[name]
    policy = policy_of(name, policies(session))
    if limits.reset_seconds is not None and limits.limit_per_minute is None:
        limits = limits._replace(reset_seconds=min(limits.reset_seconds, pause_seconds_max(session)))
    after = rules.adapted(resource, policy, limits, session.now)
    return None if after in (resource, rules.refilled(resource, policy, session.now)) else after


def adapt(session: Session, name: str, limits: ResponseLimits) -> None:
    """Store what a server's response says about a resource's limits."""
    session.lock(FLOW)
    after = adapted(session, name, limits)
    if after is not None:
        save(session, [after])


def forget_shares(session: Session, limit: int = 1_000) -> None:
    """Drop what lineages took of resources that have refused no request lately."""
    session.run(
        "DELETE FROM ramet_shares WHERE (resource, tracking_id) IN "
        "(SELECT resource, tracking_id FROM ramet_shares WHERE until <= ? LIMIT ?)",
        (session.now, limit),
    )
