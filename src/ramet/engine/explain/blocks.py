"""Why spawns were refused: the guard's words, its numbers, who won, and what would let them through (promise I8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote

from ramet.model.causes import BOUNDS, Cause, CauseSubject
from ramet.model.keys import display_key
from ramet.model.lineage.guard import REOFFERABLE, BlockReason
from ramet.model.lineage.lineage import Lineage
from ramet.model.money import as_usd
from ramet.model.reasons import Fact
from ramet.model.task.task import Block, Task, TaskState
from ramet.store.store import Store

EXPLAINED_MAX = 20
"""Most refusals of one task that are explained with their winners; its history lists more."""


async def refusals(store: Store, blocks: Iterable[Block], lineages: Mapping[str, Lineage]) -> tuple[Cause, ...]:
    """Return the causes of stored refusals, in their order."""
    winners: dict[str, Task | None] = {}
    causes = []
    for block in blocks:
        if block.winner is not None and block.winner not in winners:
            winners[block.winner] = await store.get(block.winner)
        winner = winners.get(block.winner or "")
        causes.append(refusal(block, winner, lineages.get(block.tracking_id)))
    return tuple(causes)


def refusal(block: Block, winner: Task | None, lineage: Lineage | None) -> Cause:
    """Return the cause of one stored refusal.

    Args:
        winner: the task that holds the identity, or closes the cycle; None where there is none, and where it was
            pruned.
        lineage: in which it was refused; None where that was pruned.
    """
    reason = BlockReason(block.reason)
    facts: dict[str, Fact] = {
        "reason": block.reason, "kind": block.kind, "key": block.key, "count": block.count,
        "first_at": block.first_at, "last_at": block.last_at, **_facts(reason, block.facts),
    }  # fmt: skip
    facts |= _limit_now(reason, lineage)
    words = f"{block.kind} {display_key(block.key)} was refused, {block.reason}: {block.detail}"
    about = None
    if block.winner is not None:
        about = CauseSubject("task", block.winner)
        facts |= {"winner": block.winner, "winner_pruned": winner is None}
        if winner is None:
            words += "; that task was pruned"
        else:
            words += f"; task {winner.id} is {winner.state}"
            facts |= {"winner_state": winner.state.value, "winner_tracking_id": winner.tracking_id,
                      "winner_kind": winner.kind}  # fmt: skip
    elif reason in BOUNDS and lineage is not None:
        about = CauseSubject("lineage", lineage.tracking_id)
    if block.reoffered_at is not None:
        facts |= {"reoffered_at": block.reoffered_at, "reoffered_by": block.reoffered_by}
        return Cause(f"refused_{reason}", (f"{words}; offered again ", block.reoffered_at), facts, about)
    return Cause(f"refused_{reason}", (words,), facts, about, _remedy(reason, block, winner))


def _facts(reason: BlockReason, stored: Mapping[str, Fact]) -> Mapping[str, Fact]:
    """Return the stored facts as they are shown: what a lineage has spent of its ceiling as text in dollars."""
    if reason is not BlockReason.COST:
        return stored
    return {name: as_usd(value) for name, value in stored.items() if isinstance(value, int)}


def _limit_now(reason: BlockReason, lineage: Lineage | None) -> dict[str, Fact]:
    """Return the present limit: a person may have raised it since, a handler lowered it."""
    if reason not in BOUNDS:
        return {}
    name = BOUNDS[reason].limit_name
    if lineage is None:
        return {"limit_name": name}
    if reason is BlockReason.DEADLINE:
        return {"limit_name": name, "deadline_at": lineage.deadline_at}
    now: dict[str, Fact] = {"limit_name": name, "limit_now": getattr(lineage, name)}
    if reason in (BlockReason.COST, BlockReason.RESERVE):
        now |= {"spent_now": lineage.spent, "reserved_now": lineage.reserved}
    return now


def _remedy(reason: BlockReason, block: Block, winner: Task | None) -> str | None:
    """Return the setting or flag that would allow it, where one would."""
    tracking_id = quote(block.tracking_id)
    again = f"ramet blocks reoffer {tracking_id} --blocked-by {reason}"
    shape = block.facts.get("shape")
    if shape is not None:
        named = quote(str(shape))
        return f"ramet lineage raise {tracking_id} --allow-shape {named}, then {again} --shape {named}"
    if reason in BOUNDS:
        raised = f"ramet lineage raise {tracking_id} {BOUNDS[reason].option}"
        return f"{raised}, then {again}" if reason in REOFFERABLE else raised
    match reason:
        case BlockReason.BRANCH_BUDGET | BlockReason.DEPENDENCY:
            return again
        case BlockReason.STOP_LIST:
            return f"ramet deny-list remove, then {again}"
        case BlockReason.CYCLE if winner is not None and winner.kind != block.kind:
            return f"register {block.kind!r} with cycle_on='kind+key', where only its own kind closes a cycle"
        case BlockReason.DONE | BlockReason.ELSEWHERE if winner is not None and _revivable(winner):
            return f"ramet retry {quote(winner.id)}"
        case BlockReason.CANCELLED:
            return f"ramet retry {quote(block.first_parent)}"
    return None


def _revivable(task: Task) -> bool:
    return task.state.terminal and task.state is not TaskState.SUCCESS
