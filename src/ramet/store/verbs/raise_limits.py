"""Raising the limits of a lineage that exists: a person's act, recorded (DESIGN §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ramet.model.keys import allowed_shapes
from ramet.model.lineage.limits import RAISABLE
from ramet.model.lineage.lineage import Lineage, shapes_text
from ramet.model.money import AMOUNT_MAX
from ramet.model.values import SECONDS_MAX
from ramet.store.errors import StoreError
from ramet.store.rows.lineages import extended_deadline, lock_lineages
from ramet.store.rows.settings import record_audit_entry
from ramet.store.schema.columns import live_of_lineage
from ramet.store.session import Session


def raise_limits(
    session: Session,
    tracking_id: str,
    limits: Mapping[str, int],
    *,
    by: str,
    reason: str | None = None,
    extend_seconds: float | None = None,
    allow_shapes: Sequence[str] = (),
    may_lower: bool = False,
) -> Lineage:
    """Raise limits of a lineage, and let it live at least ``extend_seconds`` from now; recorded as an act.

    Args:
        limits: ``max_spawn_depth``, ``max_tasks``, ``max_fan_out``, ``max_shape``, ``retries_per_minute``,
            ``max_cost`` or ``soft_cost`` (nano-dollars).
        may_lower: whether ``max_cost``, the only limit then, may be lowered as well, and with it ``soft_cost``: to what
            is spent and reserved at least, so that nothing at work is cancelled by it.
        allow_shapes: shapes that ``max_shape`` bounds no more (:func:`ramet.model.keys.allowed_shapes`).

    Returns:
        The lineage as it is then. Blocked spawns are created by :meth:`~ramet.store.store.Store.reoffer`, not by this.

    Raises:
        StoreError: there is no such lineage or limit, or a value is under the present one; nothing was changed.
    """
    _refuse_odd(limits, extend_seconds)
    shapes = _shapes(allow_shapes)
    if unknown := sorted(set(limits) - RAISABLE):
        raise StoreError(f"{', '.join(unknown)} cannot be raised for a lineage: give {', '.join(sorted(RAISABLE))}")
    lineage = lock_lineages(session, [tracking_id]).get(tracking_id)
    if lineage is None:
        raise StoreError(f"no lineage {tracking_id}: `ramet status` lists them")
    detail = _changes(lineage, limits, may_lower=may_lower)
    _refuse_soft_above_hard(lineage, {name: raised for name, (_, raised) in detail.items()})
    for name, (_, raised) in detail.items():
        session.run(f"UPDATE ramet_lineages SET {name} = ? WHERE tracking_id = ?", (raised, tracking_id))
    if extend_seconds is not None:
        session.run(
            "UPDATE ramet_lineages SET deadline_at = ? WHERE tracking_id = ?",
            (extended_deadline(session, lineage, extend_seconds), tracking_id),
        )
    allowed = _allow(session, lineage, shapes)
    if allowed:
        detail["allow_shapes"] = allowed
    after = lock_lineages(session, [tracking_id])[tracking_id]
    if after.deadline_at > lineage.deadline_at:
        detail["deadline_at"] = [lineage.deadline_at, after.deadline_at]
        _follow_deadline(session, tracking_id, lineage.deadline_at, after.deadline_at)
    if detail:
        record_audit_entry(
            session,
            by=by,
            act="raise_limits",
            subject=tracking_id,
            tracking_id=tracking_id,
            reason=reason,
            detail=detail,
        )
    return after


def _changes(lineage: Lineage, limits: Mapping[str, int], *, may_lower: bool) -> dict[str, list[Any]]:
    """Return the limits that change, each with its present and its new value."""
    detail: dict[str, list[Any]] = {}
    for name, value in sorted(limits.items()):
        present: int | None = getattr(lineage, name)
        if may_lower and (present is None or value < present):
            detail[name] = [present, max(value, lineage.spent + lineage.reserved)]
            continue
        if present is None or value < present:
            shown = "without bound" if present is None else present
            raise StoreError(
                f"{name} of lineage {lineage.tracking_id} is {shown} already: give more, a limit is only raised"
            )
        if value > present:
            detail[name] = [present, value]
    if may_lower and lineage.soft_cost is not None and "max_cost" in detail:
        detail["soft_cost"] = [lineage.soft_cost, detail["max_cost"][1]]
    return detail


def _shapes(texts: Sequence[str]) -> dict[str, int | None]:
    try:
        return allowed_shapes(texts)
    except ValueError as error:
        raise StoreError(str(error)) from None


def _allow(session: Session, lineage: Lineage, shapes: Mapping[str, int | None]) -> list[str]:
    """Allow these shapes; returns those that had less before, as a person would name them."""
    before = lineage.shapes_allowed
    for shape, most in shapes.items():
        present = before.get(shape, lineage.max_shape)
        if most is not None and (present is None or most < present):
            shown = "any number" if present is None else present
            raise StoreError(
                f"of the shape {shape} {shown} keys are allowed already: give more, a limit is only raised"
            )
    wider = {shape: most for shape, most in shapes.items() if before.get(shape, lineage.max_shape) != most}
    if wider:
        session.run(
            "UPDATE ramet_lineages SET allowed_shapes = ? WHERE tracking_id = ?",
            (shapes_text({**before, **wider}), lineage.tracking_id),
        )
    return [shape if most is None else f"{shape}={most}" for shape, most in sorted(wider.items())]


def _refuse_soft_above_hard(lineage: Lineage, raised: Mapping[str, float]) -> None:
    if "soft_cost" in raised and lineage.max_cost is not None:
        soft, hard = raised["soft_cost"], raised.get("max_cost", lineage.max_cost)
        if soft > hard:
            raise StoreError(f"soft_cost cannot be {soft}: give at most max_cost, which is {hard}")


def _refuse_odd(limits: Mapping[str, int], extend_seconds: float | None) -> None:
    """Values that no lineage can have, or that the database cannot hold."""
    for name, value in limits.items():
        if type(value) is not int or not 0 <= value <= AMOUNT_MAX:
            raise StoreError(f"{name} cannot be {value!r}: give a whole number from 0 to {AMOUNT_MAX:.0e}")
    refuse_odd_extension(extend_seconds)


def refuse_odd_extension(extend_seconds: float | None) -> None:
    """Refuse an extension of a deadline that is not a length of time.

    Raises:
        StoreError: it is not more than 0, or over a century.
    """
    if extend_seconds is not None and not 0 < extend_seconds <= SECONDS_MAX:
        raise StoreError(f"a deadline cannot be put off by {extend_seconds} s: give more than 0 and at most a century")


def _follow_deadline(session: Session, tracking_id: str, before: float, after: float) -> None:
    """Tasks that the old deadline had cut short get the time that is theirs, up to the new one."""
    session.run(
        "UPDATE ramet_live SET deadline_at = CASE WHEN task_seconds IS NULL OR started_at + task_seconds > ? THEN ? "
        f"ELSE started_at + task_seconds END WHERE {live_of_lineage()} AND deadline_at = ? AND ending IS NULL",
        (after, after, tracking_id, before),
    )
