"""Random lineages with joins, edges, failures, excludes, revives, lost claims and cancels (of tasks, trees, lineages),
some until their deadline, beside a plain model.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import pytest

from ramet.model.task import events as ev
from ramet.model.task.lifecycle import IDLE_ROUNDS_MAX
from ramet.model.task.task import After, NewTask
from ramet.store.answers import ClaimedTask
from tests.support.world import LEASE_SECONDS, World, failing, hand_back, settlement

WALKS = int(os.environ.get("RAMET_JOIN_WALKS", "25"))
STEPS = 40
TASKS_MAX = 60
EXTEND_SECONDS = 86_400.0
"""From a revival to the deadline of its lineage: longer than a history."""


@dataclass(eq=False)
class Node:
    """A task, as the model has it."""

    id: str
    parent: Node | None
    state: str = "pending"
    children: list[Node] = field(default_factory=list)
    joined: int = 0
    """So many of its children belong to earlier rounds."""
    rounds: int = 0
    waits_for: list[Node] | None = None
    ended_waiting: list[Node] | None = None
    """What it waited for when it ended."""
    branch: bool = False
    skips: bool = False
    failed: Node | None = None
    """The one because of which it is to be skipped, or was."""
    for_dependency: bool = False
    """It was skipped for one that it waited for."""
    idle_rounds: int = 0

    @property
    def live(self) -> bool:
        return self.state in ("pending", "processing")

    @property
    def unsuccessful(self) -> bool:
        return self.state in ("failed", "cancelled") or (self.state == "skipped" and self.for_dependency)

    def below(self) -> list[Node]:
        return [each for child in self.children for each in (child, *child.below())]

    def ancestors(self) -> list[Node]:
        return [] if self.parent is None else [self.parent, *self.parent.ancestors()]


class Model:
    """What joins mean, with no thought of how they are stored."""

    def __init__(self, root: str) -> None:
        self.nodes = [Node(root, None)]
        self.revived: list[Node] = []
        """Those because of which others were skipped that are to come back."""

    def of(self, task_id: str) -> Node:
        return next(node for node in self.nodes if node.id == task_id)

    def first_failed(self, among: list[Node]) -> Node | None:
        return next((node for node in self.nodes if node in among and node.unsuccessful), None)

    def waiting_for(self, *nodes: Node) -> list[Node]:
        """Those that wait for one of these, or for one that does."""
        found = [each for each in self.nodes if each.waits_for is not None and {*nodes} & {*each.waits_for}]
        new = [each for each in found if each not in nodes]
        return [*nodes] if not new else self.waiting_for(*nodes, *new)

    def circle(self, parent: Node, after: list[Node]) -> bool:
        """Whether a child of this one cannot come after these."""
        above = [parent, *parent.ancestors()]
        branches = [each for each in above if each.waits_for is not None and each.branch]
        return bool({*above, *self.waiting_for(*branches)} & {*after})

    def spawn(self, parent: Node, task_id: str, after: list[Node], *, skips: bool) -> None:
        node = Node(task_id, parent)
        self.nodes.append(node)
        parent.children.append(node)
        if after:
            node.waits_for, node.skips = [*after], skips
            node.failed = self.first_failed(after) if skips else None
        for above in node.ancestors():
            if above.waits_for is not None and above.branch:
                above.waits_for.append(node)

    def join(self, node: Node, *, branch: bool, skips: bool) -> None:
        wanted = node.children[node.joined :]
        if branch:
            wanted = [each for child in wanted for each in (child, *child.below())]
        node.joined, node.rounds = len(node.children), node.rounds + 1
        node.branch, node.skips, node.state = branch, skips, "pending"
        node.failed = self.first_failed(wanted) if skips else None
        if any(each.live and each in self.waiting_for(node) for each in wanted):
            self.end(node, "failed")
            return
        if node.failed or any(each.live for each in wanted):
            node.waits_for, node.idle_rounds = wanted, 0
            return
        node.idle_rounds += 1
        if node.idle_rounds >= IDLE_ROUNDS_MAX:
            self.end(node, "failed")

    def end(self, node: Node, state: str, *, because: bool = False) -> None:
        if node.waits_for is not None:
            node.ended_waiting = node.waits_for
        node.state, node.waits_for, node.for_dependency = state, None, because
        if node.unsuccessful:
            for other in self.nodes:
                if other.waits_for is not None and node in other.waits_for and other.skips:
                    other.failed = other.failed or node

    def revive(self, node: Node) -> None:
        node.state, node.for_dependency = "pending", False
        node.waits_for, node.ended_waiting = node.ended_waiting, None
        for other in self.nodes:
            if other.waits_for is not None and (node in other.waits_for or other is node):
                other.failed = self.first_failed(other.waits_for) if other.skips else None
        if any(other.ended_waiting is not None and other.failed is node for other in self.nodes):
            self.revived.append(node)

    def bring_back(self) -> int:
        """What a claim does before all else, for one that was revived; returns how many it was about."""
        self.revived.sort(key=self.nodes.index)
        for cause in self.revived[:1]:
            self.revived.remove(cause)
            for node in self.nodes:
                if node.failed is cause and node.ended_waiting is not None and node.state == "skipped":
                    self.revive(node)
            return 1
        return 0

    def let_go_on(self) -> int:
        """What a claim does first; returns how many it was about."""
        back = self.bring_back()
        over = [
            node
            for node in self.nodes
            if node.waits_for is not None and (node.failed or not any(each.live for each in node.waits_for))
        ]
        for node in over:
            if node.failed:
                self.end(node, "skipped", because=True)
            else:
                node.waits_for = None
        return back + len(over)

    def claimable(self) -> set[str]:
        return {node.id for node in self.nodes if node.state == "pending" and node.waits_for is None}


class Walk:
    """One history, on a store and in the model."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.in_hand: dict[str, ClaimedTask] = {}
        self.edges = rng.random() < 0.7

    async def run(self) -> None:
        [root] = await self.world.submit(self.world.task(max_attempts=50))
        self.model = Model(root)
        for _ in range(STEPS):
            await self.step()
            await self.compare()
        await self.finish()

    async def compare(self) -> None:
        for node in self.model.nodes:
            task = await self.world.get(node.id)
            waits = task.wait == "tasks"
            assert (task.state.value, waits) == (node.state, node.waits_for is not None), node.id

    async def step(self) -> None:
        act = self.rng.choice(("claim", "claim", "end", "end", "end", "act", "lose"))
        if self.rng.random() < 0.03:
            await self.end_all()
        elif self.rng.random() < 0.03:
            await self.cancel_tree(self.rng.choice(self.model.nodes))
        elif act == "claim" or not self.in_hand:
            await self.claim()
        elif act == "end":
            await self.end(self.in_hand.pop(self.rng.choice(sorted(self.in_hand))))
        elif act == "act":
            await self.act()
        else:
            self.world.clock.advance(LEASE_SECONDS + 1.0)
            await self.world.sweep()
            while self.model.let_go_on():
                pass
            for task_id in self.in_hand:
                self.model.of(task_id).state = "pending"
            self.in_hand.clear()

    async def cancel_tree(self, node: Node) -> None:
        """A task and all below it; of a root it would be the lineage."""
        await self.sweep()
        if node.parent is None or not any(each.live for each in (node, *node.below())):
            return
        assert await self.world.store.cancel(node.id, tree=True, by="me")
        await self.end_these([node, *node.below()], "cancelled")

    async def end_all(self) -> None:
        """The whole lineage ends, by a person or by its deadline, whoever waits for whom."""
        await self.sweep()
        if not any(node.live for node in self.model.nodes):
            return
        by_person = self.rng.random() < 0.5
        if by_person:
            assert await self.world.store.cancel_lineage("line", by="me")
        else:
            lineage = await self.world.store.lineage("line")
            assert lineage is not None
            self.world.clock.advance(max(0.0, lineage.deadline_at - self.world.clock.now) + 1.0)
        await self.end_these(self.model.nodes, "cancelled" if by_person else "failed")

    async def sweep(self) -> None:
        """Maintenance, until it finds nothing more to do."""
        await self.world.sweep()
        while self.model.let_go_on():
            pass

    async def end_these(self, nodes: list[Node], state: str) -> None:
        """All of them end, one after the other: some are skipped for the others before their turn comes."""
        await self.world.sweep()
        skipped: dict[str, str] = dict(await self.world.store.read(
            "SELECT t.id, f.id FROM ramet_waits w JOIN ramet_tasks t ON t.seq = w.seq JOIN ramet_tasks f "
            "ON f.seq = w.failed WHERE t.state = 'skipped'"
        ))  # fmt: skip
        for node in [each for each in nodes if each.live]:
            self.in_hand.pop(node.id, None)
            if node.id in skipped and node.skips and node.waits_for is not None:
                node.failed = self.model.of(skipped[node.id])
                assert node.failed in node.waits_for
                self.model.end(node, "skipped", because=True)
            else:
                self.model.end(node, state)
        await self.sweep()

    async def claim(self) -> None:
        self.model.let_go_on()
        taken = await self.world.claim(1_000)
        assert {claimed.id for claimed in taken} == self.model.claimable()
        for claimed in taken:
            assert claimed.round == self.model.of(claimed.id).rounds
            if claimed.round and self.rng.random() < 0.2:
                await self.compare_round(claimed)
        self.rng.shuffle(taken)
        keep = taken[: self.rng.randint(0, 3)]
        await self.world.store.settle([settlement(each, hand_back(each)) for each in taken if each not in keep])
        for claimed in keep:
            self.in_hand[claimed.id] = claimed
            self.model.of(claimed.id).state = "processing"

    async def compare_round(self, claimed: ClaimedTask) -> None:
        node = self.model.of(claimed.id)
        page = await self.world.store.join_page(claimed.standing.seq, claimed.round)
        found = {self.model.of(str(row.id)): row.state for row in page.rows if row.refused is None}
        assert all(node in each.ancestors() for each in found)
        # Of live ones it is not said whether they are in hand: those of this claim are, here.
        ended = {each.id: state for each, state in found.items() if state not in ("pending", "processing")}
        assert ended == {each.id: each.state for each in found if not each.live}

    async def end(self, claimed: ClaimedTask) -> None:
        node = self.model.of(claimed.id)
        room = TASKS_MAX - len(self.model.nodes)
        wanted = [self.wanted() for _ in range(min(room, self.rng.choice((0, 0, 1, 2, 3))))]
        fence = claimed.standing.fence
        how = self.rng.choice(("success", "join", "join", "join", "failed", "snooze"))
        branch, skips = self.rng.random() < 0.3, self.rng.random() < 0.3
        event: ev.Event = ev.Complete(fence)
        if how == "join":
            event = ev.Join(fence, branch, skips)
        elif how == "snooze":
            event = ev.Snooze(fence, 1.0)
        elif how == "failed":
            event, wanted = failing(claimed), []
        answer = await self.world.settle(claimed, event, spawns=[new for new, _ in wanted])
        assert answer.refused is None
        for told, (new, after) in zip(answer.spawns, wanted, strict=True):
            if self.model.circle(node, after):
                assert told.reason == "wait_cycle"
            else:
                assert told.id is not None, told
                self.model.spawn(node, told.id, after, skips=new.after is not None and new.after.skips)
        if how == "join":
            self.model.join(node, branch=branch, skips=skips)
        elif how == "snooze":
            node.state = "pending"
            self.world.clock.advance(1.0)
        else:
            self.model.end(node, how)

    def wanted(self) -> tuple[NewTask, list[Node]]:
        """A task, and what it comes after."""
        count = self.rng.choice((0, 0, 1, 2)) if self.edges else 0
        after = self.rng.sample(self.model.nodes, min(count, len(self.model.nodes)))
        rule = After(tuple((node.id,) for node in after), self.rng.random() < 0.6) if after else None
        return self.world.task(max_attempts=50, after=rule), after

    async def act(self) -> None:
        node = self.rng.choice(self.model.nodes)
        match self.rng.choice(("cancel", "exclude", "revive", "revive")):
            case "cancel" if node.live:
                assert await self.world.store.cancel(node.id, by="me")
                self.in_hand.pop(node.id, None)
                self.model.end(node, "cancelled")
            case "exclude" if node.state == "pending":
                assert await self.world.store.exclude([node.id], by="me") == [node.id]
                self.model.end(node, "skipped")
            case "revive" if node.state in ("failed", "cancelled", "skipped"):
                assert await self.world.store.revive([node.id], by="me", extend_seconds=EXTEND_SECONDS) == [node.id]
                self.model.revive(node)
            case _:
                pass

    async def finish(self) -> None:
        """Nobody waits for ever: what is left ends when everything in hand does."""
        for claimed in self.in_hand.values():
            await self.world.settle(claimed)
            self.model.end(self.model.of(claimed.id), "success")
        for _ in range(2 * TASKS_MAX):
            self.model.let_go_on()
            taken = await self.world.claim(1_000)
            assert {claimed.id for claimed in taken} == self.model.claimable()
            for claimed in taken:
                await self.world.settle(claimed)
                self.model.end(self.model.of(claimed.id), "success")
        assert not any(node.live for node in self.model.nodes)
        await self.compare()


@pytest.mark.parametrize("seed", range(WALKS))
async def test_joins_are_as_the_plain_model_has_them(world: World, seed: int) -> None:
    await Walk(world, random.Random(seed)).run()
