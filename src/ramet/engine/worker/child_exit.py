"""Outcomes of the claims of a handler process that ended, by itself or by its supervisor."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ramet.engine.base.observe import observer
from ramet.engine.kinds.registry import Registry
from ramet.engine.running.slot import limit_seconds, timed_out
from ramet.engine.worker.handlers import ClaimId, Supervisor
from ramet.store.processes.running_notes import RunningNote


class ChildExit(NamedTuple):
    """End of a handler process, as far as it is known."""

    how: str | None = None
    """It died, in words; None where its supervisor ended it."""
    where: Mapping[ClaimId, str | None] = MappingProxyType({})
    """Places of plain handlers when their time was over, as it reported itself."""


NOTHING = ChildExit()


def overdue(
    supervisor: Supervisor, registry: Registry, running: Iterable[RunningNote], now: float, grace_seconds: float
) -> set[ClaimId]:
    """Claims whose handlers run although their invocation limit passed so long ago."""
    found = set()
    for seq, fence, started_at in running:
        work = supervisor.work((seq, fence))
        if work is not None and now > started_at + limit_seconds(registry.known(work.kind), work) + grace_seconds:
            found.add((seq, fence))
    return found.intersection(supervisor.unsettled()) if found else found


def conclude(
    supervisor: Supervisor,
    registry: Registry,
    rng: random.Random,
    *,
    ran: Collection[RunningNote],
    given: Collection[ClaimId],
    late: Collection[ClaimId],
    stopped: Collection[ClaimId],
    crashed: bool,
    alone: bool = False,
    known: ChildExit = NOTHING,
) -> list[ClaimId]:
    """Report the outcomes of the claims that a process was given to the supervisor; return those that it never began.

    Args:
        ran: what was in its slots.
        given: all claims that it was given and that may still be held.
        late: those whose invocation limit has passed: their attempt ends as that error.
        stopped: those that were cancelled: nothing is asked about them but whether they still run.
        crashed: it ended by itself, so what ran is lost; else its supervisor ended it because of ``late`` or
            ``stopped``, and what else ran goes back with its attempt.
        alone: it ran nothing but these (DESIGN §10).
        known: what is known of its end and of its handlers: kept with the attempts.
    """
    began = {(run.seq, run.fence) for run in ran}
    open_claims = (began | set(given)).difference(stopped).intersection(supervisor.unsettled())
    errors = []
    for claim in sorted(open_claims & set(late)):
        work = supervisor.work(claim)
        assert work is not None
        errors.append(timed_out(registry.known(work.kind), work, rng.random(), known.where.get(claim)))
    if errors:
        supervisor.outcomes(errors)
    _tell(supervisor, [run for run in ran if (run.seq, run.fence) in open_claims], late, crashed=crashed)
    cut_short = sorted((open_claims & began) - set(late))
    if cut_short and crashed:
        supervisor.lost(cut_short, alone=alone, how=known.how)
    elif cut_short:
        supervisor.hand_back(cut_short)
    if stopped:
        supervisor.stopped(sorted(stopped))
    return sorted(open_claims - began)


def _tell(supervisor: Supervisor, ran: Iterable[RunningNote], late: Collection[ClaimId], *, crashed: bool) -> None:
    """Report what the process itself would have reported of these calls, had it not ended."""
    watching = observer()
    if watching is None:
        return
    for run in ran:
        work, is_late = supervisor.work((run.seq, run.fence)), (run.seq, run.fence) in late
        if work is not None:
            outcome = "error" if is_late else "lost" if crashed else "returned"
            reason = "the handler ran past its limit, and its process was ended" if is_late else "its process ended"
            watching.cut_short(work, max(0.0, time.monotonic() - run.started_at), outcome, reason)
