"""Resources in the database: who waits for which, what a claim may take, what a settlement tells about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ramet.model.flow import resources as rules
from ramet.model.flow.resources import LOOK_SECONDS, ClaimUsage, Resource, ResourcePolicy, policy_of
from ramet.model.lineage.limits import RESOURCE_PAUSE_SECONDS_MAX, RESOURCE_PAUSE_SETTING
from ramet.model.reasons import Reason
from ramet.model.task import events as ev
from ramet.model.task.lifecycle import decide
from ramet.model.task.ordering import PULLED_RANK
from ramet.model.task.retry import ErrorClass
from ramet.model.task.task import Standing, Wait
from ramet.model.task.transitions import ERROR, FAIL, Change
from ramet.store.requests import Settlement
from ramet.store.rows.retained_slots import FLOW
from ramet.store.rows.settings import record_audit_entry
from ramet.store.rows.tasks import read_pending, take_live
from ramet.store.session import Session
from ramet.store.state.apply import apply
from ramet.store.verbs.reclaim import reclaim

RESOURCE_LIST = ", ".join(Resource._fields)
POLICY_LIST = ", ".join(ResourcePolicy._fields)
LOOKS_MAX = 100
"""Resources that one claim looks at; those that it leaves are first at the next."""


def in_use(session: Session) -> ClaimUsage:
    """Return the claims that are held now, by queue, kind and resource.

    Counts live leases, and slots held after an end from outside. Derived from rows, never counted along, so that no
    crash can leak a slot (DESIGN §10).
    """
    return _counted(session, "AND lease_until > ?", (session.now,))


RECLAIMED_MAX = 500
"""Stale claims that a claim takes back before it counts; those beyond go on counting until the next."""


def locked_usage(session: Session) -> ClaimUsage:
    """Count what is held, for a claim that relies on it; until it ends no other transaction counts.

    A lease that ran out by this clock may be extended at this moment by a heartbeat that was in time by its own. So
    stale claims are taken back first, and whatever is still held then counts, whatever its lease says. Those of tasks
    with paths are left to maintenance: a claim never waits, and the transaction that has the slot of a path may take
    long.
    """
    reclaim(session, RECLAIMED_MAX, {}, pathless=True)
    session.lock(FLOW)
    return _counted(session, "", ())


def _counted(session: Session, leased: str, values: Sequence[float]) -> ClaimUsage:
    used: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    claims = session.rows(
        "SELECT queue, kind, resource, COUNT(*) FROM ramet_live INDEXED BY ramet_live_by_depth "
        f"WHERE state = 'processing' {leased} GROUP BY queue, kind, resource",
        values,
    )
    claims += session.rows(
        "SELECT queue, kind, resource, COUNT(*) FROM ramet_holds WHERE lease_until > ? GROUP BY queue, kind, resource",
        (session.now,),
    )
    for *names, count in claims:
        for counter, name in zip(used, names, strict=True):
            if name is not None:
                counter[name] += count
    return ClaimUsage(*used)


def policies(session: Session) -> list[ResourcePolicy]:
    """Return the policies of resources, by pattern."""
    rows = session.rows(f"SELECT {POLICY_LIST} FROM ramet_policies ORDER BY pattern")
    return [ResourcePolicy._make(row)._replace(explicit=bool(row[-1])) for row in rows]


def load(session: Session, names: Iterable[str]) -> dict[str, Resource]:
    """Return the named resources; one that was not used yet is at the beginning."""
    wanted = sorted(set(names))
    listed, values = session.members(wanted)
    found = session.rows(f"SELECT {RESOURCE_LIST} FROM ramet_resources WHERE name {listed}", (values,))
    stored = {row[0]: Resource._make(row) for row in found}
    return {name: stored.get(name, Resource(name)) for name in wanted}


def save(session: Session, resources: Iterable[Resource]) -> None:
    """Write resources, known or new."""
    fields = Resource._fields
    session.insert("ramet_resources", fields, list(resources), key=("name",), changes=fields[1:])


# --- claiming ---------------------------------------------------------------------------------------------------


class ReadyTasks(NamedTuple):
    """Tasks that the resources that are due for a look let a claim have."""

    candidates: list[Standing]
    looked_at: dict[str, Resource]
    policies: list[ResourcePolicy]


NOTHING_READY = ReadyTasks([], {}, [])


_BELOW = (
    "EXISTS (SELECT 1 FROM ramet_paths p JOIN ramet_path_tickets k ON k.ticket = p.ticket AND k.exact IN (0, 1) "
    "AND k.node {} WHERE p.seq = ramet_live.seq)"
)


def ready(
    session: Session,
    queues: Sequence[str],
    kinds: Sequence[str],
    limit: int,
    used: ClaimUsage | None,
    *,
    pulled: bool,
    nodes: Sequence[int] = (),
) -> ReadyTasks:
    """Return tasks that wait for resources with room, each resource's in order; nothing is spent yet.

    ``nodes``: only tasks at or below one of these paths, by their numbers; empty for any.
    """
    if not session.rows("SELECT 1 FROM ramet_resources WHERE ready_at <= ? LIMIT 1", (session.now,)):
        return NOTHING_READY
    used = locked_usage(session) if used is None else used
    found = session.rows(
        f"SELECT {RESOURCE_LIST} FROM ramet_resources WHERE ready_at <= ? ORDER BY ready_at LIMIT ?",
        (session.now, LOOKS_MAX),
    )
    known = policies(session)
    in_queues, queue_values = session.members(queues)
    in_kinds, kind_values = session.members(kinds)
    beside = "" if pulled else f"AND rank < {PULLED_RANK} "
    in_nodes, node_values = session.members(nodes)
    below = f"AND {_BELOW.format(in_nodes)} " if nodes else ""
    values = [queue_values, kind_values, *([node_values] if nodes else [])]
    candidates: list[Standing] = []
    looked_at: dict[str, Resource] = {}
    for resource in map(Resource._make, found):
        space = rules.room(resource, policy_of(resource.name, known), session.now, used.resources.get(resource.name, 0))
        if space.claims == 0:
            until = session.now + LOOK_SECONDS if space.until is None else space.until
            looked_at[resource.name] = resource._replace(ready_at=until)
            continue
        rows = read_pending(
            session,
            "INDEXED BY ramet_live_by_resource WHERE resource = ? AND wait = 'resource' AND state = 'pending' "
            f"AND queue {in_queues} AND kind {in_kinds} {below}{beside}"
            f"ORDER BY rank, turn, seq LIMIT ?{session.skip_locked}",
            (resource.name, *values, limit if space.claims is None else min(limit, space.claims)),
        )
        candidates += rows
        looked_at[resource.name] = resource._replace(ready_at=session.now if rows else _later(session, resource.name))
    return ReadyTasks(candidates, looked_at, known)


def _later(session: Session, name: str) -> float | None:
    """When to look again at a resource of which there was nothing for this worker; None when nothing waits at all."""
    waiting = session.rows(
        "SELECT 1 FROM ramet_live INDEXED BY ramet_live_by_resource "
        "WHERE resource = ? AND wait = 'resource' AND state = 'pending' LIMIT 1",
        (name,),
    )
    return session.now if waiting else None


def spend(session: Session, looked: ReadyTasks, taken: Sequence[Standing]) -> None:
    """Book what a claim took, and when to look at each resource again."""
    # A task that is ending goes past its resource, and its last handler costs no token.
    claims = Counter(standing.resource for standing in taken if standing.wait == Wait.RESOURCE)
    save(
        session,
        [
            rules.spend(resource, policy_of(name, looked.policies), session.now, claims[name])
            if claims[name]
            else resource
            for name, resource in looked.looked_at.items()
        ],
    )


# --- settling ---------------------------------------------------------------------------------------------------


def pause_seconds_max(session: Session) -> float:
    """For how long a server's word pauses a resource at most: the setting, read where it decides."""
    rows = session.rows(
        "SELECT value FROM ramet_settings WHERE key = ? AND value_type IN ('float', 'int')", (RESOURCE_PAUSE_SETTING,)
    )
    return float(rows[0][0]) if rows else RESOURCE_PAUSE_SECONDS_MAX


def capped(
    session: Session, accepted: Sequence[tuple[int, Settlement, Standing]]
) -> Sequence[tuple[int, Settlement, Standing]]:
    """Settlements of which no server's word puts a task, and what it shares, off for longer than the setting allows."""
    if not any(type(item.event) is ev.Snooze and item.event.resource is not None for _, item, _ in accepted):
        return accepted
    most = pause_seconds_max(session)
    return [(at, item._replace(event=_within(item.event, most)), standing) for at, item, standing in accepted]


def _within(event: ev.Event, most: float) -> ev.Event:
    if type(event) is ev.Snooze and event.resource is not None and not event.seconds <= most:
        return replace(event, seconds=most)
    return event


class ResourceOutcome(NamedTuple):
    """Statement of a settlement about resources."""

    change: Change
    """Change of the task."""
    event: ev.Event
    """Event that the worker sent."""
    switch_off: str | None = None
    """Reason why the handler wants the task's own resource switched off."""


class ResourceSuccess(NamedTuple):
    """A task of this resource succeeded, by a lane (:mod:`ramet.store.state.lanes`)."""

    name: str


def settled(session: Session, statements: Sequence[ResourceOutcome | ResourceSuccess]) -> None:
    """Store what settlements say about resources, in order, in the transaction that settles (DESIGN §6)."""
    outcomes = [each for each in statements if isinstance(each, ResourceOutcome)]
    wanted = {each.name for each in statements if isinstance(each, ResourceSuccess)}
    wanted |= {name for each in outcomes for name in (_named(each.change, each.event), _switched_off(each)) if name}
    if not wanted:
        return
    session.lock(FLOW)
    known, stand = policies(session), load(session, wanted)
    of = {name: policy_of(name, known) for name in wanted}
    for each in statements:
        if isinstance(each, ResourceSuccess):
            stand[each.name] = _succeeded(stand[each.name], of[each.name])
            continue
        change, event, why = each
        name, own = _named(change, event), _switched_off(each)
        before = None if own is None else stand[own]
        if name is not None:
            stand[name] = _after(stand[name], of[name], change, event, session.now)
        if own is not None and before is not None and why is not None:
            stand[own] = rules.switched_off(before, stand[own], of[own], session.now, why)
    save(session, [resource._replace(ready_at=_earlier(resource, session.now)) for resource in stand.values()])


def _switched_off(outcome: ResourceOutcome) -> str | None:
    return None if outcome.switch_off is None else outcome.change.before.resource


def _succeeded(resource: Resource, policy: ResourcePolicy) -> Resource:
    """Close breakers that have a cool-down, after successful attempts; one that a person closes stays open."""
    return rules.succeeded(resource) if policy.cooldown_seconds is not None or resource.opened_at is None else resource


def _earlier(resource: Resource, now: float) -> float:
    return now if resource.ready_at is None else min(resource.ready_at, now)


def _named(change: Change, event: ev.Event) -> str | None:
    """Return the resource that a settlement is about: the one that a server's word named, else the task's own."""
    if isinstance(event, ev.Snooze) and event.resource:
        return event.resource
    return change.before.resource


def _after(resource: Resource, policy: ResourcePolicy, change: Change, event: ev.Event, now: float) -> Resource:
    if isinstance(event, ev.HandBack):
        return resource if change.before.ending is not None else rules.give_back(resource, policy, 1)
    if isinstance(event, ev.Snooze):
        if event.resource is None:
            return resource
        slower = rules.cut(resource, policy, now)
        return rules.paused(slower, now + event.seconds, event.reason or "asked to come back later")
    if change.before.ending is not None:
        return resource
    by_attempt = policy.cooldown_seconds is not None
    if _is_failure(change, by_attempt):
        return rules.failed(resource, policy, now, change.error or change.reason or "no reason")
    return _succeeded(resource, policy) if change.outcome == "success" else resource


def _is_failure(change: Change, by_attempt: bool) -> bool:
    """With a cool-down attempts count, unless the resource answered (a permanent error); without, tasks that failed."""
    if change.transition not in (ERROR, FAIL):
        return False
    if by_attempt:
        return change.transition is ERROR and change.error_class != ErrorClass.PERMANENT
    return change.after.state == "failed"


# --- switched off -----------------------------------------------------------------------------------------------


def skip_disabled(session: Session, limit: int) -> int:
    """Skip what waits for resources that only a person switches on again, batch by batch (DESIGN §6)."""
    rows = session.rows(
        f"SELECT {RESOURCE_LIST} FROM ramet_resources WHERE opened_at IS NOT NULL AND ready_at IS NOT NULL LIMIT 1000"
    )
    known = policies(session) if rows else []
    skipped = 0
    for resource in map(Resource._make, rows):
        if policy_of(resource.name, known).cooldown_seconds is not None:
            continue
        where = "WHERE resource = ? AND wait = 'resource' AND state = 'pending' ORDER BY rank, turn, seq"
        found = take_live(session, where, (resource.name,), limit)
        event = ev.SourceDisabled(
            Reason("source_disabled", resource=resource.name, text=resource.opened_reason or "by a person")
        )
        changes = [decide(standing, event, session.now) for standing in found]
        skipped += len(changes) - len(apply(session, [c for c in changes if isinstance(c, Change)]).lost)
        if len(found) < limit:
            _stop_looking(session, resource.name)
    return skipped


def _stop_looking(session: Session, name: str) -> None:
    """No claim looks at a resource for which nothing waits; what comes while we look waits for this lock."""
    session.lock(FLOW)
    if _later(session, name) is None:
        session.run("UPDATE ramet_resources SET ready_at = NULL WHERE name = ?", (name,))


IDLE_SECONDS = 86_400.0


def idle_names(session: Session, limit: int) -> list[str]:
    """Return resources of which nothing waits, that are neither switched off nor paused, and that were not used for a
    day.
    """
    rows = session.rows(
        "SELECT name FROM ramet_resources WHERE ready_at IS NULL AND opened_at IS NULL AND failures = 0 "
        "AND paused_until <= ? AND refilled_at <= ? LIMIT ?",
        (session.now, session.now - IDLE_SECONDS, limit),
    )
    return [name for (name,) in rows]


def forget_idle(session: Session, limit: int = 100) -> int:
    """Delete idle resources, of which nothing waits and nothing is remembered: creating one again gives the same
    state.
    """
    if not idle_names(session, 1):
        return 0
    session.lock(FLOW)
    names = idle_names(session, limit)
    known, stand = policies(session), load(session, names)
    full = [name for name, resource in stand.items() if rules.is_full(resource, policy_of(name, known), session.now)]
    return session.delete("ramet_resources", ("name",), [(name,) for name in full])


def open_breaker(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Open a resource's breaker; return False when it is open already."""
    resource = load(session, [name])[name]
    if resource.opened_at is not None:
        return False
    waiting = _later(session, name)
    save(session, [resource._replace(opened_at=session.now, opened_by=by, opened_reason=reason, ready_at=waiting)])
    record_audit_entry(session, by=by, act="open_breaker", subject=name, reason=reason)
    return True


def close_breaker(session: Session, name: str, *, by: str = "client", reason: str | None = None) -> bool:
    """Close a resource's breaker and end its pause; return False when there was neither."""
    resource = load(session, [name])[name]
    if resource.opened_at is None and resource.paused_until <= session.now:
        return False
    closed = rules.succeeded(resource)._replace(paused_until=0.0, paused_reason=None, ready_at=session.now)
    save(session, [closed])
    record_audit_entry(session, by=by, act="close_breaker", subject=name, reason=reason)
    session.wake()
    return True


def resources(session: Session, name: str | None = None, *, limit: int = 100) -> list[Resource]:
    """Return the resource of this name, or the first of all: open breakers, those that tasks wait for, then by name.

    Three walks of an index: a crawl has a resource for every host.
    """
    if name is not None:
        rows = session.rows(f"SELECT {RESOURCE_LIST} FROM ramet_resources WHERE name = ?", (name,))
        return [Resource._make(row) for row in rows]
    found: dict[str, Resource] = {}
    for walk in (
        "WHERE opened_at IS NOT NULL ORDER BY opened_at",
        "WHERE ready_at IS NOT NULL ORDER BY ready_at DESC",
        "ORDER BY name",
    ):
        if len(found) < limit:
            rows = session.rows(f"SELECT {RESOURCE_LIST} FROM ramet_resources {walk} LIMIT ?", (limit,))
            found |= {resource.name: resource for resource in map(Resource._make, rows)}
    first = list(found.values())[:limit]
    return sorted(first, key=lambda one: (one.opened_at is None, -one.paused_until, one.name))
