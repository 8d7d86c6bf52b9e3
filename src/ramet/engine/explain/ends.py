"""Why a task ended as it did, and why no other try was made (promise I8, DESIGN §4, §6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from shlex import quote

from ramet.model.causes import ENDED, Cause, CauseSubject, Sentence
from ramet.model.keys import display_key
from ramet.model.paths import conflict
from ramet.model.reasons import Fact, facts_of, outer, rest_of
from ramet.model.task.task import Task, TaskHistory, TaskState
from ramet.store.store import Store

NO_RETRY = frozenset(
    {
        "permanent_error", "spawn_refused", "repeated_error", "attempts_exhausted", "task_deadline", "lineage_deadline",
        "poison", "cost",
    }
)  # fmt: skip
"""Codes that say why an error, or a lost claim, was the last of its task."""


def ended(task: Task) -> Cause:
    """Return how it ended, in the words of its row."""
    reason = f": {task.reason}" if task.reason else ""
    error = f" ({task.error})" if task.error and task.error != task.reason else ""
    facts: dict[str, Fact] = {"state": task.state.value, "reason": task.reason, "error": task.error}
    return Cause("ended", (f"it ended as {task.state}{reason}{error}",), facts)


CHAIN_MAX = 20
"""Skipped tasks that are named, from one that was skipped for another to the one that did not succeed."""


async def why_ended(store: Store, history: TaskHistory) -> list[Cause]:
    """Explain the reason of an end; for a failed task why no retry was made."""
    task = history.task
    settler = await _settler(store, history)
    if settler is not None:
        facts: dict[str, Fact] = {"task": settler.id, "kind": settler.kind, "reason": task.reason}
        words = f"task {settler.id} ({settler.kind}), which it was bound to, settled it"
        found = Cause("settled", (words,), facts, CauseSubject("task", settler.id), _retry(task))
    else:
        found = await _FOUND.get(end_code(history), _stored_reason)(store, history, rest_of(task.reason))
    wrong = None if _chosen(history) else facts_of(task.reason).get("on_end")
    if wrong is None:
        return [found]
    on_end = outer(wrong)
    return [found, Cause("on_end", (f"its on_end handler: {on_end}",), {"on_end": on_end})]


def end_code(history: TaskHistory) -> str:
    """Return the code of an end, one of :data:`ramet.model.causes.ENDED`."""
    task, code = history.task, history.task.reason_code
    if _chosen(history):
        return "declared"
    if task.reason is None:
        return "success" if task.state is TaskState.SUCCESS else "given"
    return code if code is not None and code in ENDED else "given"


def _chosen(history: TaskHistory) -> bool:
    """Whether the last handler said so itself: a failure without class, or an end that only handlers choose."""
    task = history.task
    if not history.attempts or task.reason is None:
        return False
    last = history.attempts[-1]
    if last.reason != task.reason or last.ended_at < (task.finished_at or 0.0):
        return False
    if last.outcome == "error":
        return last.error_class is None and last.error == task.reason
    return last.outcome in ("filtered", "skipped")


async def _settler(store: Store, history: TaskHistory) -> Task | None:
    """Return the task that settled this one: the attempt of a bound task names it in the place of a worker."""
    last = history.attempts[-1] if history.attempts else None
    if last is None or last.worker is None or last.ended_at < (history.task.finished_at or 0.0):
        return None
    return await store.get(last.worker)


def _retry(task: Task, more: str = "") -> str | None:
    revivable = task.state.terminal and task.state is not TaskState.SUCCESS
    return f"ramet retry {quote(task.id)}{more}" if revivable else None


# --- what the database knows beyond the reason


async def _stored_reason(store: Store, history: TaskHistory, rest: str) -> Cause:
    task, code = history.task, end_code(history)
    facts: dict[str, Fact] = {"reason": task.reason, "attempts": task.attempts, "max_attempts": task.max_attempts}
    return Cause(code, (ENDED[code],), facts, remedy=_retry(task))


async def _permanent(store: Store, history: TaskHistory, rest: str) -> Cause:
    task, last = history.task, history.attempts[-1] if history.attempts else None
    facts: dict[str, Fact] = {
        "error": task.error,
        "error_class": None if last is None else last.error_class,
        "fingerprint": None if last is None else last.fingerprint,
        "attempts": task.attempts,
        "max_attempts": task.max_attempts,
    }
    return Cause("permanent_error", (ENDED["permanent_error"],), facts, remedy=_retry(task))


async def _required(store: Store, history: TaskHistory, rest: str) -> Cause:
    """Explain which rule refused the spawn; the child and the values are in the task's error and among its refused
    spawns.
    """
    task = history.task
    facts: dict[str, Fact] = {"refused": rest, "error": task.error, "attempts": task.attempts}
    return Cause("spawn_refused", (f"{ENDED['spawn_refused']} ({rest})",), facts, remedy=_retry(task))


async def _repeated(store: Store, history: TaskHistory, rest: str) -> Cause:
    """Return the earlier failure: of the same task before a revive, or of an ancestor."""
    task, other_id = history.task, facts_of(history.task.reason)["task"]
    about, said = CauseSubject("task", other_id), ENDED["repeated_error"]
    facts: dict[str, Fact] = {"task": other_id, "error": task.error, "attempts": task.attempts}
    if other_id == task.id:
        revived = [change for change in history.transitions if change.name == "revive"]
        words: Sentence = (f"{said} (as task {other_id}: this one, before it was revived",)
        if revived:
            facts["revived_at"] = revived[-1].at
            words = (*words, " ", revived[-1].at)
        return Cause("repeated_error", (*words, ")"), facts, about, _retry(task))
    other = await store.get(other_id)
    if other is None:
        return Cause("repeated_error", (f"{said} (as task {other_id})",), facts, about, _retry(task))
    facts |= {"kind": other.kind, "key": other.key, "failed_at": other.finished_at, "state": other.state.value}
    words = (f"{said} (as task {other_id}, an ancestor",)
    if other.finished_at is not None:
        words = (*words, f", which ended as {other.state} ", other.finished_at)
    return Cause("repeated_error", (*words, ")"), facts, about, _retry(task))


async def _exhausted(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    facts: dict[str, Fact] = {"value": task.attempts, "limit": task.max_attempts, "limit_name": "max_attempts"}
    return Cause(
        "attempts_exhausted", (f"{ENDED['attempts_exhausted']} ({rest})",), {**facts, "error": task.error},
        remedy=_retry(task),
    )  # fmt: skip


async def _task_time(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    words: Sentence = (ENDED["task_deadline"],)
    if task.deadline_at is not None:
        words = (*words, " ", task.deadline_at)
    facts: dict[str, Fact] = {"deadline_at": task.deadline_at, "attempts": task.attempts, "limit_name": "task_seconds"}
    return Cause("task_deadline", (*words, f" ({rest})") if rest else words, facts, remedy=_retry(task))


async def _lineage_time(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    lineage = await store.lineage(task.tracking_id)
    deadline_at = None if lineage is None else lineage.deadline_at
    words: Sentence = (
        (ENDED["lineage_deadline"],) if deadline_at is None else (ENDED["lineage_deadline"], " ", deadline_at)
    )
    facts: dict[str, Fact] = {"deadline_at": deadline_at, "limit_name": "lineage_seconds"}
    return Cause(
        "lineage_deadline", words, facts, CauseSubject("lineage", task.tracking_id), _retry(task, " --extend SECONDS")
    )


async def _poison(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    workers = tuple(dict.fromkeys(str(one.worker) for one in history.attempts if one.outcome == "lost"))
    facts: dict[str, Fact] = {"losses": task.losses, "workers": workers[:20], "reason": task.reason}
    return Cause("poison", (f"{ENDED['poison']} ({rest})",), facts, remedy=_retry(task))


async def _cost(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    lineage = await store.lineage(task.tracking_id)
    facts: dict[str, Fact] = {"reason": task.reason}
    if lineage is not None:
        facts |= {"spent": lineage.spent, "limit": lineage.max_cost, "limit_name": "max_cost"}
    return Cause("cost", (f"{ENDED['cost']} ({rest})",), facts, CauseSubject("lineage", task.tracking_id), _retry(task))


async def _cancelled(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    # A sweep ends the tasks of a lineage that a person cancelled, in the words of that person's act.
    facts: dict[str, Fact] = {"reason": task.reason, "by": facts_of(task.reason)["by"]}
    facts["at"] = task.finished_at
    return Cause("cancelled", (ENDED["cancelled"],), facts, remedy=_retry(task))


async def _by_another(store: Store, history: TaskHistory, rest: str) -> Cause:
    """Explain ends that another task brought: a cancelled tree above, one that it waited for and that did not
    succeed.
    """
    task = history.task
    code, other_id = end_code(history), rest
    other = await store.get(other_id)
    facts: dict[str, Fact] = {"task": other_id, "pruned": other is None}
    words = f"{ENDED[code]} (task {other_id}" + (", which was pruned)" if other is None else f" is {other.state})")
    if other is not None:
        facts |= {"kind": other.kind, "key": other.key, "state": other.state.value, "reason": other.reason}
    whom = other_id if other is not None and other.state.terminal else task.id
    return Cause(code, (words,), facts, CauseSubject("task", other_id), f"ramet retry {quote(whom)}")


async def _dependency(store: Store, history: TaskHistory, rest: str) -> Cause:
    """Explain that a task before it on its path, or one that it waited for, did not succeed: down to the one that began
    it.
    """
    task, chain = history.task, [rest]
    other = await store.get(rest)
    on_path = task.path and (other is None or (len(other.path) < len(task.path) and conflict(other.path, task.path)))
    while other is not None and other.reason_code == "dependency_failed" and len(chain) < CHAIN_MAX:
        chain.append(str(facts_of(other.reason)["task"]))
        other = await store.get(chain[-1])
    cause = await _by_another(store, history, chain[-1])
    which, more = ("before it on its path", "") if on_path else ("that it waited for", "")
    if not on_path and other is not None and other.why is not None:
        more = f", {other.kind} {display_key(other.key)!r}: {other.why}"
    is_now = ", which was pruned" if other is None else f" is {other.state}{more}"
    words = f"a task {which} did not succeed (task {' is skipped, for task '.join(chain)}{is_now})"
    facts = {**cause.facts, "chain": tuple(chain)} if len(chain) > 1 else cause.facts
    return cause._replace(words=(words,), facts=facts)


async def _circle(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    other_id = str(facts_of(task.reason)["task"])
    facts: dict[str, Fact] = {"task": other_id}
    return Cause(
        "wait_cycle", (f"{ENDED['wait_cycle']} (task {other_id})",), facts, CauseSubject("task", other_id), _retry(task)
    )


async def _source(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    name = task.resource or facts_of(task.reason)["resource"]
    found = await store.resources(name)
    facts: dict[str, Fact] = {"resource": name, "reason": task.reason, "open": False}
    if found:
        facts |= {"open": found[0].opened_at is not None, "opened_at": found[0].opened_at, "by": found[0].opened_by}
    remedy = f"ramet resource close {quote(name)}, then {_retry(task)}"
    return Cause(
        "source_disabled", (f"{ENDED['source_disabled']} ({rest})",), facts, CauseSubject("resource", name), remedy
    )


async def _excluded(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    record = next((change for change in reversed(history.transitions) if change.name == "exclude"), None)
    facts: dict[str, Fact] = {"by": None if record is None else record.by, "at": None if record is None else record.at}
    by = f" (by {record.by})" if record is not None and record.by else ""
    return Cause("excluded", (f"{ENDED['excluded']}{by}",), {**facts, "reason": rest or None}, remedy=_retry(task))


async def _chain(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    facts: dict[str, Fact] = {"value": task.chain_depth, "limit_name": "max_chain_depth"}
    return Cause("chain_depth", (f"{ENDED['chain_depth']} ({rest} times)",), facts)


async def _declared(store: Store, history: TaskHistory, rest: str) -> Cause:
    task = history.task
    words = "the handler declared it failed" if task.state is TaskState.FAILED else ENDED["declared"]
    return Cause("declared", (words,), {"reason": task.reason}, remedy=_retry(task))


_Finder = Callable[[Store, TaskHistory, str], Awaitable[Cause]]
_FOUND: Mapping[str, _Finder] = {
    "permanent_error": _permanent,
    "spawn_refused": _required,
    "repeated_error": _repeated,
    "attempts_exhausted": _exhausted,
    "task_deadline": _task_time,
    "lineage_deadline": _lineage_time,
    "poison": _poison,
    "cost": _cost,
    "cancelled": _cancelled,
    "cancel_tree": _by_another,
    "dependency_failed": _dependency,
    "wait_cycle": _circle,
    "source_disabled": _source,
    "excluded": _excluded,
    "chain_depth": _chain,
    "declared": _declared,
}
