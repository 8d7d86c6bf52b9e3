"""Taking from buckets, and equal shares of those that are scarce between lineages (DESIGN §8, §10).

A lineage that was refused is expected back at the moment named in the refusal. Until then, and a little longer, others
leave in the bucket what it asked for, if it has taken less than they have. So a lineage with one caller gets as much as
one with a hundred, and what a lineage does not come to take goes to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ramet.model.flow.resources import TOLERANCE_SECONDS, Resource, ResourcePolicy, half_open_at, rate_of, refilled

GRACE_SECONDS = 5.0
"""Seconds after the moment named in a refusal for which the share of a lineage is kept for it."""
OFF_SECONDS = 300.0
"""Seconds after which to ask again for what only a person switches on."""
KEEP_SECONDS = 60.0
"""Seconds after its last request for which the takings of a lineage count."""


class TakeRequest(NamedTuple):
    """Request of a claim to take from buckets, all or nothing."""

    seq: int
    fence: int
    amounts: tuple[tuple[str, float], ...]
    """Resources and how much of each, in units of its rate."""


class TakeResult(NamedTuple):
    """The answer to a request."""

    seconds: float
    """0.0 when all was taken. Else nothing was: when there may be room."""
    refused: str | None = None
    """``stale``, or what the lineage is: the claim may take nothing any more."""


class ResourceShare(NamedTuple):
    """Share of a lineage in a resource that has refused a request lately."""

    tracking_id: str
    taken: float
    """Units, on a scale that means something only beside the other lineages' values."""
    wanted: float
    """Units that it was refused and is expected back for; 0 for none."""
    asked_at: float
    """Moment of its last request."""
    until: float
    """Moment at which it is forgotten."""

    def waits(self, now: float) -> bool:
        """Return True while it is expected back. A clock that was set back counts for nothing."""
        return self.wanted > 0 and self.asked_at <= now < self.until - KEEP_SECONDS


class Bucket(NamedTuple):
    """A resource as one who takes finds it."""

    resource: Resource
    policy: ResourcePolicy
    shares: Mapping[str, ResourceShare]
    """Shares of the lineages that took or wanted lately, by tracking_id; empty where no request was refused."""


class BucketCheck(NamedTuple):
    """Answer of one bucket to one request."""

    seconds: float
    """0.0 where there is room."""
    queued: bool
    """True when only the rate is in the way: who is refused is expected back."""


_ROOM = BucketCheck(0.0, False)


def check_bucket(bucket: Bucket, tracking_id: str, amount: float, now: float) -> BucketCheck:
    """Whether there is room for so much, and if not, when there may be.

    An amount above the burst needs a full bucket only, and leaves a debt.
    """
    rest = _rest(bucket, now)
    if rest > 0:
        return BucketCheck(rest, False)
    rate = rate_of(bucket.resource, bucket.policy)
    if rate is None:
        return _ROOM
    full = refilled(bucket.resource, bucket.policy, now)
    tokens, since = full.tokens or 0.0, max(now, full.refilled_at)
    ahead = sum(min(share.wanted, rate.burst) for share in _ahead(bucket, tracking_id, now))
    needed = min(amount, rate.burst) + ahead
    # More than the bucket holds where others go first: so long it takes if they come when they are expected.
    missing = needed - tokens
    seconds = since - now + rate.seconds_for(missing, since) if missing > 0 else 0.0
    return _ROOM if seconds <= TOLERANCE_SECONDS else BucketCheck(seconds, True)


def _rest(bucket: Bucket, now: float) -> float:
    """For how long nothing of it is given whatever its rate: a breaker that is open, a pause."""
    resource, policy = bucket.resource, bucket.policy
    if resource.opened_at is not None and policy.cooldown_seconds is None:
        return OFF_SECONDS
    return max(half_open_at(resource, policy) or 0.0, resource.paused_until) - now


def _ahead(bucket: Bucket, tracking_id: str, now: float) -> Iterable[ResourceShare]:
    """Lineages that are expected back and have taken less than this one."""
    if not bucket.shares:
        return ()
    mine = position(bucket, tracking_id, now)
    return [
        share
        for share in bucket.shares.values()
        if share.tracking_id != tracking_id and share.waits(now) and share.taken < mine
    ]


def position(bucket: Bucket, tracking_id: str, now: float) -> float:
    """Return the units that count as taken by a lineage that asks now.

    One that waits, or asked just now, has what it had; how far it may be behind is bounded, so that it does not hold
    off the others for long when it wants more all at once. One that comes, or comes again, gets nothing for the time in
    which it did not ask: it is placed with the first of those that wait, or else behind all.
    """
    mine = bucket.shares.get(tracking_id)
    if mine is not None and mine.waits(now):
        return mine.taken
    others = [share for share in bucket.shares.values() if share.tracking_id != tracking_id]
    waiting = [share.taken for share in others if share.waits(now)]
    least = min(waiting) if waiting else max((share.taken for share in others), default=0.0)
    if mine is None:
        return least
    if now - mine.asked_at > GRACE_SECONDS:
        return max(least, mine.taken)
    rate = rate_of(bucket.resource, bucket.policy)
    behind = 0.0 if rate is None else max(rate.burst, rate.full * GRACE_SECONDS)
    return max(least - behind, mine.taken)


def after_grant(bucket: Bucket, tracking_id: str, amount: float, now: float) -> Bucket:
    """Return the bucket after a grant. Shares are kept only where a request was refused lately."""
    resource, policy, shares = bucket
    if rate_of(resource, policy) is None:
        return bucket
    full = refilled(resource, policy, now)
    left = full._replace(tokens=(full.tokens or 0.0) - amount)
    if not shares:
        return Bucket(left, policy, shares)
    taken = position(bucket, tracking_id, now) + amount
    mine = ResourceShare(tracking_id, taken, 0.0, now, now + KEEP_SECONDS)
    return Bucket(left, policy, {**shares, tracking_id: mine})


def after_refusal(bucket: Bucket, tracking_id: str, amount: float, now: float, answer: BucketCheck) -> Bucket:
    """Return the bucket after a request was refused, here or by another bucket that it wanted at once.

    Room here is not kept for a lineage that another bucket holds back: two could wait for each other.
    """
    taken = position(bucket, tracking_id, now)
    if answer.queued:
        until = now + answer.seconds + GRACE_SECONDS + KEEP_SECONDS
        mine = ResourceShare(tracking_id, taken, amount, now, until)
    elif tracking_id in bucket.shares:
        mine = ResourceShare(tracking_id, taken, 0.0, now, now + KEEP_SECONDS)
    else:
        return bucket
    return bucket._replace(shares={**bucket.shares, tracking_id: mine})
