"""Why something is as it is, said once: in words for people, and as a code with facts for programs (promise I8).

A cause is made from stored rows and from nothing else. Where a row that it would need was pruned, it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ramet.model.lineage.guard import BlockReason
from ramet.model.reasons import Fact

Sentence = tuple[str | float, ...]
"""Words, and between them moments (Unix seconds), which the caller formats."""


def sentence_text(sentence: Sentence, when: Callable[[float], str]) -> str:
    """Return the sentence as text; ``when`` writes its moments."""
    return "".join(part if isinstance(part, str) else when(part) for part in sentence)


class CauseSubject(NamedTuple):
    """Subject of a cause: a task, a lineage, a resource."""

    what: str
    """``task``, ``lineage``, ``queue``, ``kind``, ``resource`` or ``worker``."""
    name: str
    """Its id or name. Hostile text: tasks brought it."""


class Cause(NamedTuple):
    """One reason why a task is where it is, why a spawn was refused, or why a retry was not made."""

    code: str
    """A name of :data:`CODES`; it does not change when the words do."""
    words: Sentence
    facts: Mapping[str, Fact]
    """Facts that the words contain, by name: moments in Unix seconds (``*_at``), limits beside their values."""
    about: CauseSubject | None = None
    """The one task, lineage or resource that is in the way, where there is one."""
    remedy: str | None = None
    """Remedy for the operator, as a command or a setting; None where nothing helps or nothing is wrong."""

    def said(self, when: Callable[[float], str] = "{:.0f}".format) -> str:
        """Return the words as text; ``when`` writes moments (Unix seconds) for the reader."""
        return sentence_text(self.words, when)


WAITING: Mapping[str, str] = {
    "ending": "a limit or a person ended it, and its on_end handler is to run once more",
    "lineage_paused": "its lineage is paused",
    "lineage_over": "its lineage ended, and the next sweep ends it too",
    "lineage_deadline_passed": "its lineage's time is over, and the next look ends it",
    "lineage_spent": "nothing more is reserved for calls of its lineage: its money is spent or reserved",
    "tombstone": "it, or a task above it, was cancelled with all below",
    "task_deadline_passed": "its own time is over, and the next sweep ends it",
    "queue_paused": "its queue is paused",
    "path_paused": "its path, or one above it, is paused",
    "queue_full": "its queue has as many claims as it may",
    "kind_full": "its kind has as many claims as it may",
    "scheduled": "its time has not come",
    "retry": "it failed, and is tried again later",
    "put_off": "it failed, and its retry was put off: its lineage has used up the retries of the minute",
    "snoozed": "its handler wants to be called again later",
    "returned": "it was handed back, and is left to others for a while",
    "path": "a task before it on its path has to end first",
    "ticket": "it takes its place on its path later",
    "bound": "another task settles it",
    "tasks": "tasks that it waits for have to end first",
    "breaker": "the breaker of its resource is open, and tries again by itself",
    "source_off": "its resource is switched off until a person closes the breaker",
    "resource_paused": "its resource named the time to come back",
    "rate": "the rate of its resource is used up",
    "resource_full": "its resource has as many claims as it may",
    "unserved": "workers live, and none of them serves its kind on its queue",
    "starved": "every slot in which it can run is held by a handler that waits inside for another task",
    "no_worker": "no worker lives",
    "pulled": "only an invocation or a program takes tasks of its kind",
    "free": "nothing holds it back: the next free worker takes it",
    "looked_at_soon": "what held it back is over, and it is looked at again in a moment",
}
"""Words for the waits of pending tasks."""

RUNNING: Mapping[str, str] = {
    "running": "a worker has it under a lease",
    "stale": "its lease expired, and the next sweep reclaims it",
    "waits_inside": "its handler waits for another task, and holds its slot meanwhile",
}
"""Words for processing tasks."""

ENDED: Mapping[str, str] = {
    "ended": "it is over: the next cause says why",
    "success": "its handler returned",
    "chain_depth": "it continued itself as often as it may",
    "no_progress": "it wanted to continue without having done anything",
    "declared": "its handler chose this end",
    "permanent_error": "the error is permanent: another try gives the same",
    "spawn_refused": "a spawn that its handler requires was refused",
    "repeated_error": "the same error ended this work before",
    "attempts_exhausted": "that was the last attempt",
    "task_deadline": "the time of the task was over",
    "lineage_deadline": "the time of the lineage was over",
    "poison": "it took its worker down too often",
    "cost": "more was spent than a hard ceiling allows while its call was in flight",
    "dependency_failed": "a task that it waited for, or one before it on its path, did not succeed",
    "wait_cycle": "a task that it joined with waits for it",
    "source_disabled": "its resource is switched off until a person closes the breaker",
    "cancelled": "a person cancelled it or its lineage",
    "cancel_tree": "a person cancelled a task above it, with all below",
    "excluded": "a person took it out for good",
    "imported": "it had ended before it was imported",
    "settled": "the task that it was bound to settled it",
    "on_end": "what went wrong with its on_end handler",
    "given": "no more is stored than the reason itself",
}
"""Words for the reasons of ended tasks, and for failed ones why no retry was made."""

REFUSED: Mapping[str, str] = {
    "refused_cancelled": "the lineage, or a task above, was cancelled",
    "refused_ended": "the lineage had ended",
    "refused_stale": "the claim of the spawning task was not current",
    "refused_depth": "the child would have been too deep",
    "refused_cycle": "an ancestor works on the same key",
    "refused_in_flight": "a task of this lineage has this identity and lives",
    "refused_done": "a task of this lineage has this identity and ended",
    "refused_elsewhere": "a task of another lineage holds this unique key",
    "refused_branch_budget": "the branch that it would be in had no room, or no time",
    "refused_budget": "the lineage had created as many tasks as it may",
    "refused_fan_out": "the parent had created as many children as it may",
    "refused_deadline": "the lineage's time was over",
    "refused_cost": "the lineage's money was spent",
    "refused_stop_list": "the stop list covers it",
    "refused_trap": "the lineage has too many keys of one shape",
    "refused_wait_cycle": "it was to come after a task that waits for it",
    "refused_dependency": "it was to come after a task that is not in this lineage",
    "refused_reserve": "a ceiling left no room for the money that the task asked for",
}
"""Words for refused spawns, by :class:`ramet.model.lineage.guard.BlockReason`."""

CODES: Mapping[str, str] = {**WAITING, **RUNNING, **ENDED, **REFUSED}
"""Every code of a cause and what it means. The table is complete: tests hold it against the engine's own words."""


class LimitSource(NamedTuple):
    """The limit behind a reason."""

    limit_name: str
    """Field of :class:`ramet.model.lineage.limits.Limits` and of a lineage's row."""
    option: str
    """Option of ``ramet lineage raise``, with a placeholder for its value."""


BOUNDS: Mapping[BlockReason, LimitSource] = {
    BlockReason.DEPTH: LimitSource("max_spawn_depth", "--max-depth N"),
    BlockReason.BUDGET: LimitSource("max_tasks", "--max-tasks N"),
    BlockReason.FAN_OUT: LimitSource("max_fan_out", "--max-fan-out N"),
    BlockReason.DEADLINE: LimitSource("lineage_seconds", "--extend SECONDS"),
    BlockReason.COST: LimitSource("max_cost", "--max-cost DOLLARS"),
    BlockReason.TRAP: LimitSource("max_shape", "--max-shape N"),
    BlockReason.RESERVE: LimitSource("max_cost", "--max-cost DOLLARS"),
}
