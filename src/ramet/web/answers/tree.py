"""What grew in a lineage, level by level: by kind and state where it is much, task by task where it is little."""

from __future__ import annotations

from typing import NamedTuple

from ramet import Branch, Client, Twig, TwigPage
from ramet.web.answers.shared import Answer, CountAnswer
from ramet.web.answers.tasks import TaskLine

FEW = 25
"""A level of so many tasks is shown at once."""
BRANCHES_MAX = 4
"""Of so many kinds and states: each costs a look."""


class BranchAnswer(Answer):
    """Roots of a lineage, or children of a task, of one kind in one state."""

    kind: str
    state: str
    tasks: CountAnswer
    depth: int
    with_children: bool


class BranchList(Answer):
    """The branches of one level. The first 5,000 tasks are looked at; when there are more, every count says so."""

    branches: list[BranchAnswer]


class TwigAnswer(Answer):
    """A task of a branch."""

    task: TaskLine
    children: CountAnswer
    below: CountAnswer
    """Everything that grew from it."""


class TwigList(Answer):
    """Tasks of a branch, in the order of their numbers."""

    twigs: list[TwigAnswer]
    next_after: int | None
    """Given as ``after`` it continues behind this page; null at the end."""


class Level(NamedTuple):
    """The roots of a lineage, or the children of a task."""

    of: dict[str, str | None]
    """``tracking_id`` or ``parent_id``: whose. The other one is None."""
    branches: tuple[Branch, ...]
    twigs: tuple[Twig, ...] | None
    """All tasks of the level, where they are few."""


async def level(client: Client, *, tracking_id: str | None = None, parent_id: str | None = None) -> Level:
    """One level of a tree."""
    of = {"tracking_id": tracking_id, "parent_id": parent_id}
    branches = await client.branches(tracking_id=tracking_id, parent_id=parent_id)
    few = sum(branch.tasks.number for branch in branches) <= FEW and len(branches) <= BRANCHES_MAX
    if not few or any(branch.tasks.more for branch in branches):
        return Level(of, branches, None)
    twigs: list[Twig] = []
    for branch in branches:
        page = await client.twigs(
            tracking_id=tracking_id, parent_id=parent_id, kind=branch.kind, state=branch.state, limit=FEW
        )
        twigs += page.twigs
    return Level(of, branches, tuple(twigs))


def branch_list(branches: tuple[Branch, ...]) -> BranchList:
    """The branches for machines."""
    return BranchList(branches=BranchAnswer.each(branches))


def twig_list(page: TwigPage) -> TwigList:
    """A page of a branch for machines."""
    return TwigList(twigs=TwigAnswer.each(page.twigs), next_after=page.next_after)
