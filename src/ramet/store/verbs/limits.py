"""Limits of concurrency and rate: what an app declares, and what a person sets instead (DESIGN §10)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ramet.model.flow.resources import DeclaredFlow, KindLimit, ResourcePolicy, policy_of
from ramet.store.rows.retained_slots import FLOW
from ramet.store.rows.settings import record_audit_entry
from ramet.store.session import Session
from ramet.store.verbs.resources import policies

_FIELDS = ResourcePolicy._fields[1:-1]
_DEFAULTS = ResourcePolicy("")._asdict()
_POLICY_COLUMNS = (*ResourcePolicy._fields, "declared", "told")
_POLICY = (
    f"INSERT INTO ramet_policies ({', '.join(_POLICY_COLUMNS)}) VALUES ({', '.join('?' * len(_POLICY_COLUMNS))}) "
    "ON CONFLICT (pattern) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _POLICY_COLUMNS[1:])
)
_LIMITED = {"queue": "ramet_queues", "kind": "ramet_kinds"}
Words = dict[str, Any]
"""Parts of a policy that a person set, by name of the field."""


def declare(session: Session, declared: DeclaredFlow) -> None:
    """Store what an app declares about its queues, kinds and resources; what an operator set stays."""
    session.lock(FLOW)
    for what, limits in (("queue", declared.queues), ("kind", declared.kinds)):
        table = _LIMITED[what]
        kept = f"CASE WHEN {table}.explicit = 0 THEN excluded.concurrency ELSE {table}.concurrency END"
        session.insert(
            table,
            ("name", "concurrency", "declared"),
            [(name, most, most) for name, most in sorted(limits.items()) if most is not None],
            key=("name",),
            changes=("declared", f"concurrency = {kept}"),
        )
        session.update(
            table,
            ("declared = NULL", "concurrency = CASE WHEN explicit = 0 THEN NULL ELSE concurrency END"),
            ("name",),
            [(name,) for name, most in sorted(limits.items()) if most is None],
        )
    session.insert(
        "ramet_kinds",
        ("name", "limits"),
        [(name, limits) for name, limits in sorted(declared.limits.items()) if limits is not None],
        key=("name",),
        changes=("limits",),
    )
    gone = [(None, name) for name, limits in sorted(declared.limits.items()) if limits is None]
    session.update("ramet_kinds", ("limits",), ("name",), gone)
    for policy in declared.policies:
        found = _words(session, policy.pattern)
        _put(session, policy.pattern, _fields(policy), {} if found is None else found[1])
    _look_again(session)


def _fields(policy: ResourcePolicy) -> Words:
    return {name: getattr(policy, name) for name in _FIELDS}


def _words(session: Session, pattern: str) -> tuple[Words | None, Words] | None:
    """Return the parts of a pattern's policy that an app and people set; None when there are none."""
    for declared, chosen in session.rows("SELECT declared, told FROM ramet_policies WHERE pattern = ?", (pattern,)):
        return None if declared is None else json.loads(declared), json.loads(chosen)
    return None


def _put(session: Session, pattern: str, declared: Words | None, chosen: Words) -> ResourcePolicy:
    """Store both words; of each field the person's holds, then the app's."""
    policy = ResourcePolicy(**{**_DEFAULTS, **(declared or {}), **chosen, "pattern": pattern, "explicit": bool(chosen)})
    stored = None if declared is None else json.dumps(declared, sort_keys=True)
    session.run(_POLICY, (*policy[:-1], int(policy.explicit), stored, json.dumps(chosen, sort_keys=True)))
    return policy


def limit(
    session: Session, what: str, name: str, concurrency: int | None, *, by: str, reason: str | None = None
) -> None:
    """Set how many claims at once a ``queue`` or ``kind`` may have over all workers; None for no limit.

    Counted from live leases when tasks are claimed, never exceeded, and stronger than an app's declaration.
    """
    table = _LIMITED[what]
    session.run(
        f"INSERT INTO {table} (name, concurrency, explicit) VALUES (?, ?, 1) ON CONFLICT (name) DO UPDATE "
        "SET concurrency = excluded.concurrency, explicit = 1",
        (name, concurrency),
    )
    detail = {"concurrency": concurrency}
    record_audit_entry(session, by=by, act=f"limit_{what}", subject=name, reason=reason, detail=detail)
    session.wake()


def limit_resource(session: Session, policy: ResourcePolicy, *, by: str, reason: str | None = None) -> None:
    """Set all limits of a resource, or of all with a prefix; stronger than an app's declaration."""
    change_resource(session, policy.pattern, _fields(policy), by=by, reason=reason)


def change_resource(
    session: Session, pattern: str, changes: Mapping[str, Any], *, by: str, reason: str | None = None
) -> ResourcePolicy:
    """Set some limits of a resource, or of all with a prefix; return the policy that holds now (DESIGN §11).

    All other limits stay as they are.
    """
    session.lock(FLOW)
    found = _words(session, pattern)
    if found is None:
        # The limit in force until now, by a longer or shorter prefix, stays in force.
        base = _fields(policy_of(pattern, policies(session)))
        found = None, {name: value for name, value in base.items() if value != _DEFAULTS[name]}
    policy = _put(session, pattern, found[0], {**found[1], **changes})
    record_audit_entry(session, by=by, act="limit_resource", subject=pattern, reason=reason, detail=dict(changes))
    _look_again(session)
    session.wake()
    return policy


def reset_limit(session: Session, what: str, name: str, *, by: str, reason: str | None = None) -> bool:
    """Remove what operators set for a ``queue``, ``kind`` or ``resource``: the app's declaration holds again.

    Returns False when it does already.
    """
    session.lock(FLOW)
    if what == "resource":
        found = _words(session, name)
        if found is None or not found[1]:
            return False
        if found[0] is None:
            session.run("DELETE FROM ramet_policies WHERE pattern = ?", (name,))
        else:
            _put(session, name, found[0], {})
    elif not session.run(
        f"UPDATE {_LIMITED[what]} SET concurrency = declared, explicit = 0 WHERE name = ? AND explicit = 1", (name,)
    ):
        return False
    record_audit_entry(session, by=by, act=f"limit_{what}", subject=name, reason=reason, detail={"reset": True})
    _look_again(session)
    session.wake()
    return True


def _look_again(session: Session) -> None:
    """Look again at tasks that wait for a limit and may not have to any more."""
    session.run("UPDATE ramet_resources SET ready_at = ? WHERE ready_at > ?", (session.now, session.now))


def root_limits(session: Session, kinds: Sequence[str]) -> dict[str, str]:
    """Return what apps declared about lineages whose root is of one of these kinds: JSON by kind, where declared."""
    listed, values = session.members(kinds)
    return dict(
        session.rows(f"SELECT name, limits FROM ramet_kinds WHERE name {listed} AND limits IS NOT NULL", (values,))
    )


def kind_limits(session: Session) -> Sequence[KindLimit]:
    """Return the limits of kinds, by name."""
    rows = session.rows(
        "SELECT name, concurrency, explicit FROM ramet_kinds WHERE concurrency IS NOT NULL ORDER BY name"
    )
    return [KindLimit(name, concurrency, bool(explicit)) for name, concurrency, explicit in rows]
