"""The questions of a client: about tasks, lineages, keys, money and paths. Each looks at a bounded number of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ramet.engine.base.forwarding import of_store
from ramet.engine.client.waiting import ends_of
from ramet.engine.context.task import NOTE
from ramet.engine.explain.key import KeyExplanation, explain_key, first_found, spellings, spellings_of
from ramet.engine.kinds.options import TaskOptions
from ramet.engine.kinds.registry import Handler, Registry
from ramet.model.lineage.guard import Verdict
from ramet.model.lineage.lineage import Lineage
from ramet.model.paths import PathPage, path_of
from ramet.model.task.task import LIVE, Block, Task, TaskState, Wait
from ramet.model.values import on_one_line
from ramet.model.views import BlockPage, TaskCheckpoint, TreeGroup, TreePage
from ramet.store.answers import TaskPage
from ramet.store.requests import TaskQuery
from ramet.store.store import Store

if TYPE_CHECKING:
    from ramet.engine.context.blob import Blob
    from ramet.engine.explain.explain import Explanation


class TreeNode(NamedTuple):
    """A task and its children, as deep as was asked for."""

    task: Task
    children: tuple[TreeNode, ...]
    more: int
    """1 when there are more children than are shown, or children below the depth asked for."""


FREE = (None, Wait.RESOURCE)
"""Waits of a pending task that waits for nothing but a worker and, maybe, its turn at a resource."""


class StateCount(NamedTuple):
    """Number of tasks in a state, and their average depth."""

    state: TaskState
    tasks: int
    mean_depth: float


class Reading:
    """The part of a client that only reads. See :class:`ramet.engine.client.client.Client`."""

    store: Store
    registry: Registry

    # --- tasks

    get = of_store(Store.get, "One task, or None.")
    history = of_store(Store.history, "One task with its attempts, recorded transitions and refused spawns, or None.")

    task_log = of_store(
        Store.task_log,
        """The log lines of a task's newest attempts (at most 20), the newest attempt last.

        Kept where its kind or app says ``log_lines``; those of an attempt whose process died are lost with it.
        """,
    )

    async def tasks(
        self,
        *,
        tracking_id: str | None = None,
        states: Iterable[TaskState | str] = (),
        kind: str | None = None,
        key: str | None = None,
        exact: bool = False,
        min_depth: int | None = None,
        parent_id: str | None = None,
        tag: str | None = None,
        limit: int = 100,
        after: int = 0,
        newest: bool = False,
    ) -> TaskPage:
        """Tasks that match all that is given, a page at a time (at most 1,000): the oldest first, or the newest.

        Args:
            key: in any spelling, see :meth:`spellings`; the first of which there is a task.
            exact: the key is as it is stored, so that no other spelling is looked for.
        """
        wanted = frozenset(TaskState(state) for state in states)
        query = TaskQuery(
            tracking_id=tracking_id, states=wanted, kind=kind, key=key, min_depth=min_depth, parent_id=parent_id,
            limit=limit, after=after, newest=newest, tag=tag,
        )  # fmt: skip
        if key is None or exact:
            return await self.store.tasks(query)
        queries = [query._replace(key=one) for one in self.spellings(kind, key)]
        return await first_found(queries, self.store.tasks, lambda page: page.tasks)

    async def all_tasks(self, **filters: Any) -> AsyncIterator[Task]:
        """Every task that :meth:`tasks` would list, page after page."""
        after: int | None = 0
        while after is not None:
            page = await self.tasks(**filters, limit=1_000, after=after)
            for task in page.tasks:
                yield task
            after = page.next_after

    async def has_live(self, kind: str | Handler, key: str, tracking_id: str | None = None) -> bool:
        """Return True while a task of this kind and key is pending or processing, in one lineage or anywhere.

        Args:
            key: in any spelling, see :meth:`spellings`.
        """
        look = partial(self.store.has_live, self.registry.known(kind).name, tracking_id=tracking_id)
        return await first_found(self.spellings(kind, key), look)

    async def claimable(self, kind: str | Handler, *, queue: str | None = None, limit: int = 1_000) -> list[str]:
        """Ids of tasks that could be claimed or bound now, in the order of a claim; at most 10,000.

        Tasks whose time has come since the last claim or sweep are not among them yet. One past its own deadline is not
        either: it may be claimed once more, but not bound.
        """
        wanted = self.registry.known(kind)
        return await self.store.claimable(wanted.name, queue or wanted.queue, limit=limit)

    async def can_spawn(
        self, parent_id: str, kind: str | Handler, payload: Any = None, **options: Unpack[TaskOptions]
    ) -> Verdict:
        """Return what the spawn guard would answer now to a spawn by this task's handler. Writes nothing.

        Args:
            parent_id: the task that would spawn; its claim counts as current, also before and after it runs.
            options: those of the spawn that change its key, path and the like.

        Returns:
            :class:`ramet.Allowed`, or :class:`ramet.Blocked` with its ``reason``, and in words its ``detail``.

        Raises:
            LookupError: there is no such parent.
            pydantic.ValidationError: the payload does not fit.
        """
        verdict = await self.store.can_spawn(parent_id, self.registry.known(kind).new_task(payload, **options))
        if verdict is None:
            raise LookupError(f"no task {on_one_line(parent_id)}")
        return verdict

    stale = of_store(
        Store.stale,
        """Tasks whose claim outlived its lease (:attr:`Task.lease_until`) and which were not reclaimed yet.

        A worker's next sweep reclaims them, and so does :meth:`Client.reclaim`. At most 1,000.
        """,
    )

    async def checkpoint(self, task_id: str) -> TaskCheckpoint | None:
        """Return a task's state and progress so far, also after its end.

        None when it kept nothing, or there is no such task.
        """
        found = await self.store.checkpoint(task_id)
        if found is None or not isinstance(found.pipeline_state, dict):
            return found
        state = {name: value for name, value in found.pipeline_state.items() if name != NOTE}
        return found._replace(pipeline_state=state or None)

    async def tree(self, task_id: str, *, depth: int = 10, width: int = 100) -> TreeNode | None:
        """Return a task with what grew from it, down to ``depth`` levels of at most ``width`` children each."""
        task = await self.store.get(task_id)
        return None if task is None else await self._node(task, depth, width)

    async def _node(self, task: Task, depth: int, width: int) -> TreeNode:
        page = await self.tasks(parent_id=task.id, limit=width if depth > 0 else 1)
        if depth <= 0:
            return TreeNode(task, (), int(bool(page.tasks)))
        children = [await self._node(child, depth - 1, width) for child in page.tasks]
        return TreeNode(task, tuple(children), int(page.next_after is not None))

    roots = of_store(Store.roots, "The roots of a lineage, oldest first (at most 1,000).")

    async def child_counts(self, task_ids: Iterable[str]) -> dict[str, int]:
        """Return the number of children of each of these tasks; tasks without any are absent."""
        return await self.store.child_counts(list(task_ids))

    joined = of_store(
        Store.join_round,
        """What a task waits for, or has waited for, in one of its joins (:meth:`ramet.Context.join`): a page of it.

        Args:
            round_: number of the join, from 1; by default the last.
            after: :attr:`JoinRound.next` of the page before this one.
            limit: the most tasks (1,000); a page of large results is shorter.

        Returns:
            None for a task that never joined, and where there is no such round.
        """,
    )

    async def waiting_for(self, task_ids: Iterable[str]) -> dict[str, int]:
        """Return the number of tasks that each of these waits for since its last join; those that wait for none are
        absent.
        """
        return await self.store.waiting_for(list(task_ids))

    async def blob(self, reference: Blob | Mapping[str, Any], tracking_id: str) -> Any:
        """Return the value that a blob of a lineage was made of: bytes, text or a JSON value.

        Args:
            reference: the value in a payload, state or result, typed or as JSON: ``{"$blob": "...", "size": n}``.
            tracking_id: the lineage of the task that has it.

        Raises:
            LookupError: the lineage has no such blob (any more).
        """
        from ramet.engine.context.blob import read_blob

        return await read_blob(self.store, tracking_id, reference)

    read = of_store(
        Store.read,
        """Run a SELECT on your own tables; each ``?`` is a parameter.

        Raises:
            StoreError: the statement cannot be run, or the database cannot be read.
        """,
    )

    async def explain(self, task_id: str) -> Explanation | None:
        """Why a task is where it is, from stored rows; None when there is no such task."""
        from ramet.engine.explain.explain import explain

        return await explain(self.store, task_id)

    # --- keys, in any spelling of them (DESIGN §5)

    def spellings(self, kind: str | Handler | None, key: str) -> list[str]:
        """Return the stored keys that every lookup of this key compares, the surest first.

        Those of a kind that this program registers are what its key function makes of the text. Of others, and where
        the key function needs more than a text, they are the text as it is written, and the canonical text, URL, title
        and payload of it.
        """
        return spellings_of(self.registry, kind, key)

    async def tasks_with_key(self, key: str, *, limit: int = 50) -> tuple[Task, ...]:
        """Tasks with this key in any spelling, of any kind in any lineage (at most 1,000; which, where there are more,
        is not said)."""
        return await first_found(spellings(key), partial(self.store.tasks_with_key, limit=limit))

    async def explain_key(self, kind: str, key: str, tracking_id: str | None = None) -> KeyExplanation | None:
        """Explain a kind and key from stored rows: its holder, those that were refused it and why; None when nothing is
        known of it.

        Args:
            key: in any spelling, see :meth:`spellings`.
            tracking_id: look only in this lineage; without it the newest are looked at.
        """
        return await explain_key(self.store, kind, self.spellings(kind, key), tracking_id)

    async def blocks(self, /, tracking_id: str, *, limit: int = 1_000, **filters: str) -> list[Block]:
        """Spawns that the guard refused in a lineage; filter by ``kind``, ``key`` (in any spelling) or ``reason``."""
        if "key" not in filters:
            return await self.store.blocks(tracking_id, limit=limit, **filters)
        wanted = [{**filters, "key": one} for one in self.spellings(filters.get("kind"), filters["key"])]
        return await first_found(wanted, lambda one: self.store.blocks(tracking_id, limit=limit, **one))

    async def block_page(
        self,
        tracking_id: str,
        *,
        kind: str | None = None,
        key: str | None = None,
        reason: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> BlockPage:
        """Spawns that the guard refused in a lineage by kind, key and reason, a page at a time (at most 1,000).

        One page looks at 5,000 of them, so it may have fewer than asked for, or none, and still name where to go on.

        Args:
            key: in any spelling, see :meth:`spellings`.
            after: :attr:`~ramet.BlockPage.next_after` of the page before this one.

        Raises:
            ValueError: ``after`` is not of an earlier page.
        """
        keys = () if key is None else self.spellings(kind, key)
        return await self.store.block_page(tracking_id, kind=kind, keys=keys, reason=reason, limit=limit, after=after)

    block_totals = of_store(
        Store.block_totals,
        "How often spawns of each (kind, reason) were refused in a lineage, beyond stored rows included.",
    )
    parent_block_counts = of_store(
        Store.parent_block_counts,
        """Count refusals beyond the stored rows of lineages: by parent, kind and reason, the most
        frequent first (at most 1,000); of one lineage, or of the newest.""",
    )

    # --- lineages and how far they are

    lineage = of_store(Store.lineage, "One lineage, or None.")
    lineages = of_store(Store.lineages, "Lineages, newest first.")

    lineage_page = of_store(
        Store.lineage_page,
        """Lineages, a page at a time.

        Args:
            states: only lineages in these; empty for all.
            limit: the most lineages (1,000).
            before: :attr:`~ramet.LineagePage.next_before` of the page before this one.
            order: ``newest``; ``fullest``: of the newest 2,000 of each state those that used most of their tasks or
                their money; or ``deadline``: open ones whose time ends first. The last two have one page.
            prefix: only lineages whose tracking id begins so; they come by name, whatever the order.
            outcome: only lineages of this outcome (:attr:`ramet.Lineage.outcome`): ``clean``, ``failures`` or
                ``incomplete``. Of the newest a page passes 10,000 of each state, so it may have fewer than asked for
                although there are more.

        Raises:
            ValueError: ``before`` is not of an earlier page, or there is no such order or outcome.
        """,
    )

    lineage_counts = of_store(
        Store.lineage_counts,
        """The tasks of a lineage by kind and state.

        Live and unsuccessful tasks are looked at first, then successful ones, 20,000 of each at most; where there are
        more, their counts say so. The numbers on the lineage itself are exact (:class:`ramet.Lineage`).
        """,
    )

    deepest = of_store(
        Store.deepest,
        """The largest spawn depth that each of these lineages reached (the first 1,000); those without a task are
        absent. One look at an index for each.""",
    )

    delays = of_store(
        Store.delays,
        """Tasks of a lineage that wait for their time, by kind and what made them wait, the most frequent first.

        20,000 live tasks are looked at; where there are more, every count says so.
        """,
    )

    async def branches(self, *, tracking_id: str | None = None, parent_id: str | None = None) -> tuple[TreeGroup, ...]:
        """Return the roots of a lineage, or the children of a task, by kind and state: what a tree shows of very many.

        The first 5,000 are looked at. When there are more, every count says so.

        Raises:
            ValueError: not one of ``tracking_id`` and ``parent_id`` was given.
        """
        _one_of(tracking_id, parent_id)
        return await self.store.branches(tracking_id=tracking_id, parent_id=parent_id)

    async def twigs(
        self,
        *,
        tracking_id: str | None = None,
        parent_id: str | None = None,
        kind: str,
        state: TaskState | str,
        limit: int = 50,
        after: int = 0,
    ) -> TreePage:
        """Return the tasks of one branch (:meth:`branches`) with how many children each has, a page at a time (at most
        1,000).

        One page looks at 5,000 roots or children, so it may have fewer tasks than asked for, or none, and still name
        where to go on.

        Raises:
            ValueError: not one of ``tracking_id`` and ``parent_id`` was given, or there is no such state.
        """
        _one_of(tracking_id, parent_id)
        return await self.store.twigs(
            tracking_id=tracking_id,
            parent_id=parent_id,
            kind=kind,
            state=TaskState(state).value,
            limit=limit,
            after=after,
        )

    timeline = of_store(
        Store.timeline,
        """Return the spans of the first tasks of a lineage (at most 100, parents first), and their joins.

        Args:
            tracking_id: the lineage.
            parent_id: show what grew from this task of it, instead of its roots.
            only: ``failed`` keeps failed tasks (of the first 5,000) and those that they grew from; ``slow`` the 25 of
                the first 20,000 whose time from creation to end was longest, and those that they grew from.
            after: :attr:`ramet.Timeline.next_after` of the page before this one; not with ``only``.

        Raises:
            ValueError: there is no such filter.
        """,
    )

    async def edges(self, tracking_id: str, task_ids: Iterable[str]) -> dict[str, list[str]]:
        """Ids of the existing tasks that these tasks of a lineage asked for with ``keep_edge``, by asking task."""
        return await self.store.edges(tracking_id, list(task_ids))

    async def ends(self, tracking_id: str) -> list[Lineage]:
        """Return the lineages in which the tasks that ``on_lineage_end`` asked for run: one for each end, oldest first.

        Each has one root, :meth:`Client.roots`. Empty while there is none, and where none was asked for.

        Raises:
            LookupError: there is no such lineage.
        """
        lineage = await self.store.lineage(tracking_id)
        if lineage is None:
            raise LookupError(f"no lineage {on_one_line(tracking_id)}")
        return await ends_of(self.store, lineage)

    # --- all tasks at once, each answer from a bounded number of rows

    counts = of_store(Store.counts, "The distribution of tasks over kinds and states, with mean depths.")

    async def distribution(self, tracking_id: str | None = None) -> list[StateCount]:
        """Tasks by state with their mean depth, most frequent state first; states without a task are left out."""
        tasks: dict[str, int] = defaultdict(int)
        depths: dict[str, float] = defaultdict(float)
        for count in await self.store.counts(tracking_id):
            tasks[count.state] += count.tasks
            depths[count.state] += count.tasks * count.mean_depth
        found = [StateCount(TaskState(state), n, depths[state] / n) for state, n in tasks.items()]
        return sorted(found, key=lambda item: (-item.tasks, item.state))

    async def queue_size(self, tracking_id: str | None = None) -> int:
        """Tasks that could be claimed at once: pending, and waiting for nothing but a worker."""
        counts = await self.store.counts(tracking_id)
        return sum(item.tasks for item in counts if item.state == TaskState.PENDING and item.wait in FREE)

    async def percent_complete(self, tracking_id: str | None = None) -> float:
        """Return the share of existing tasks that has ended, 0 to 100; 100 where there is none.

        Raises:
            LookupError: there is no such lineage.
        """
        if tracking_id is not None:
            lineage = await self.store.lineage(tracking_id)
            if lineage is None:
                raise LookupError(f"no lineage {on_one_line(tracking_id)}")
            total, live = lineage.created, lineage.live
        else:
            counts = await self.store.counts()
            total = sum(item.tasks for item in counts)
            live = sum(item.tasks for item in counts if TaskState(item.state) in LIVE)
        return 100.0 * (total - live) / total if total else 100.0

    tallies = of_store(
        Store.tallies,
        """How many tasks were created, tried and ended, and why: counted in the transactions that did it, so exact
        at every moment, and cheap however many tasks there are. Pruning takes nothing away.

        Args:
            since: None for all time, one tally per kind; else the spans that end after this moment (Unix seconds):
                minutes of the last 3 hours, hours of the 8 days before.
            kinds: False sums over all kinds.
        """,
    )

    stage_counts = of_store(
        Store.stage_counts,
        "How many tasks of a staged kind are at which stage, in which state; in one lineage or in all.",
    )

    bound_counts = of_store(
        Store.bound_counts, "How many tasks of a lineage are bound, by the id of the task that settles them."
    )

    present = of_store(Store.present, "What is live at this moment and what it waits for, each counted up to 10,000.")

    state_counts = of_store(
        Store.state_counts,
        "Count the tasks of all lineages in each state but success, each up to 10,000.",
    )

    problem_counts = of_store(
        Store.problem_counts,
        """Count failures of the last hour, firing alerts, stale claims and open breakers.

        Four bounded counts: cheap enough for every page, however large the database.
        """,
    )

    backlogs = of_store(
        Store.backlogs,
        """What waits in every queue in which something waits, by name.

        Of each up to 10,000 claimable tasks are counted (1,000 where there are more than ten queues), and of tasks that
        wait for anything else the first 2,000 of each sort over all queues.
        """,
    )

    resource_backlogs = of_store(
        Store.resource_backlogs,
        """What waits for each of these resources (the first 200); those for which nothing waits are absent.

        Of each up to 10,000 tasks are counted, 1,000 where more than ten are asked about.
        """,
    )

    in_hand = of_store(
        Store.in_hand,
        "Claims at this moment, those first whose lease ends first (at most 1,000), and how many each worker has.",
    )

    # --- money, in whole nano-dollars

    costs = of_store(
        Store.costs,
        """What was spent and reserved: today, in all, by lineage; of one lineage also by kind and task.

        Kinds and tasks cover the lineage's latest 20,000 calls; :attr:`~ramet.Costs.more` says when there were
        others. Its sums are exact.
        """,
    )

    task_calls = of_store(
        Store.task_calls,
        """What one task reserved and was charged, with its latest calls (at most 1,000); None when there is no such
        task. The first 20,000 calls are summed up.""",
    )

    # --- paths: who holds one, who waits, and for whom

    async def paths(
        self, prefix: Sequence[str] = (), *, queue: str | None = None, tracking_id: str | None = None, limit: int = 50
    ) -> PathPage:
        """Return tasks at or below a path, and those at its prefixes, which conflict with it, in the order of their
        tickets.

        Without a path: those that hold one, the ones with most tasks behind them first (of a thousand). A delayed task
        takes its place when it is due and is not listed before.

        Args:
            prefix: elements of the path.
            queue: a path belongs to a queue; None is ``default``, and without a path every queue.
            tracking_id: for paths of scope ``lineage``: which lineage; without a path, only tasks of this lineage.
            limit: the most tasks (1,000).

        Raises:
            InvalidPath: the path cannot be one.
        """
        return await self.store.paths(path_of(prefix), queue=queue, tracking_id=tracking_id, limit=limit)

    blocked_by = of_store(
        Store.blocked_by,
        """The place of a live task in line, what it waits for, and the chain from there to one that waits for no path.

        None for a task without a path, or that ended. A long chain is cut after ``limit`` steps (at most
        1,000); its end is given all the same.
        """,
    )

    held_back = of_store(
        Store.held_back,
        """How many tasks of other lineages cannot begin before one of this lineage ends, directly or in turn.

        Counted up to ``limit`` (at most 10,000).
        """,
    )


def _one_of(tracking_id: str | None, parent_id: str | None) -> None:
    if (tracking_id is None) == (parent_id is None):
        raise ValueError("give a tracking_id for the roots of a lineage, or a parent_id for the children of a task")
