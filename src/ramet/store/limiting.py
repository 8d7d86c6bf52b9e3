"""Limits of concurrency and rate: what an app declares, and what a person sets instead (DESIGN §10)."""

from __future__ import annotations

from collections.abc import Sequence

from ramet.model.flow import Declared, KindLimit
from ramet.model.resources import Policy
from ramet.store.acts import record_act
from ramet.store.resources import POLICY_LIST
from ramet.store.session import Session

_POLICY = (
    f"INSERT INTO ramet_policies ({POLICY_LIST}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (pattern) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in Policy._fields[1:])
)
_LIMITED = {"queue": "ramet_queues", "kind": "ramet_kinds"}


def declare(session: Session, declared: Declared) -> None:
    """Store what an app says about queues, kinds and resources; what a person set stays."""
    for what, limits in (("queue", declared.queues), ("kind", declared.kinds)):
        table = _LIMITED[what]
        session.run_many(
            f"INSERT INTO {table} (name, concurrency) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            f"SET concurrency = excluded.concurrency WHERE {table}.explicit = 0",
            [(name, most) for name, most in sorted(limits.items()) if most is not None],
        )
        session.run_many(
            f"UPDATE {table} SET concurrency = NULL WHERE name = ? AND explicit = 0",
            [(name,) for name, most in sorted(limits.items()) if most is None],
        )
    session.run_many(
        "INSERT INTO ramet_kinds (name, limits) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET limits = excluded.limits",
        [(name, limits) for name, limits in sorted(declared.limits.items()) if limits is not None],
    )
    session.run_many(
        "UPDATE ramet_kinds SET limits = NULL WHERE name = ?",
        [(name,) for name, limits in sorted(declared.limits.items()) if limits is None],
    )
    session.run_many(
        f"{_POLICY} WHERE ramet_policies.explicit = 0",
        [(*policy[:-1], 0) for policy in declared.policies],
    )
    _look_again(session)


def limit(session: Session, what: str, name: str, *, concurrency: int | None, by: str, reason: str | None) -> None:
    """A person limits a queue or kind, or lifts its limit: from now on an app's declaration changes nothing."""
    table = _LIMITED[what]
    session.run(
        f"INSERT INTO {table} (name, concurrency, explicit) VALUES (?, ?, 1) ON CONFLICT (name) DO UPDATE "
        "SET concurrency = excluded.concurrency, explicit = 1",
        (name, concurrency),
    )
    detail = {"concurrency": concurrency}
    record_act(session, by=by, act=f"limit_{what}", subject=name, reason=reason, detail=detail)
    session.wake()


def limit_resource(session: Session, policy: Policy, by: str, reason: str | None) -> None:
    """A person says what a resource, or all with a prefix, bear."""
    session.run(_POLICY, (*policy[:-1], 1))
    detail = dict(zip(policy._fields[1:-1], policy[1:-1], strict=True))
    record_act(session, by=by, act="limit_resource", subject=policy.pattern, reason=reason, detail=detail)
    _look_again(session)
    session.wake()


def _look_again(session: Session) -> None:
    """What waits for a limit may not have to any more."""
    session.run("UPDATE ramet_resources SET ready_at = ? WHERE ready_at > ?", (session.now, session.now))


def root_limits(session: Session, kinds: Sequence[str]) -> dict[str, str]:
    """What apps declared about lineages whose root is of these kinds."""
    listed, values = session.members(kinds)
    return dict(
        session.rows(f"SELECT name, limits FROM ramet_kinds WHERE name IN {listed} AND limits IS NOT NULL", (values,))
    )


def kind_limits(session: Session) -> Sequence[KindLimit]:
    """Limits of kinds, by name."""
    rows = session.rows(
        "SELECT name, concurrency, explicit FROM ramet_kinds WHERE concurrency IS NOT NULL ORDER BY name"
    )
    return [KindLimit(name, concurrency, bool(explicit)) for name, concurrency, explicit in rows]
