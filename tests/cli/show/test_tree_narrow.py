"""The tree in a narrow terminal: every line fits, ids stay whole, and what is below still hangs on its guide."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from ramet import App, TreeNode
from ramet.cli import tree as command
from ramet.cli.output import unicode_out
from ramet.testing import fresh_client

KEY = "https://example.com/a/rather/long/address/of/a/page"


async def grown(folder: Path) -> TreeNode:
    """A task on a path, dressed as a root with two children of which the first has one."""
    app = App()
    app.task("page")(lambda ctx, text: None)
    async with fresh_client(app, folder=folder) as client:
        await client.submit("page", KEY, key=KEY, tracking_id="line")
        [task] = await client.roots("line")
        return TreeNode(task, (TreeNode(task, (TreeNode(task, (), 0),), 0), TreeNode(task, (), 0)), 0)


def printed(node: TreeNode, width: int, *, terminal: bool = True, waits: bool = False) -> list[str]:
    screen = Console(file=StringIO(), width=width, force_terminal=terminal, color_system=None)
    lines = command._lines(
        screen, node, command.LineageTrees([node], 0, {}, {}, {node.task.id: 3} if waits else {}), "", ""
    )
    return [line.plain for line in lines]


@pytest.mark.parametrize("width", [48, 60, 80, 120])
async def test_every_line_fits_and_has_its_id_whole(tmp_path: Path, width: int) -> None:
    node = await grown(tmp_path)
    lines = printed(node, width)
    assert max(map(cell_len, lines)) <= width
    assert sum(node.task.id in line for line in lines) == 4
    assert sum("pending page" in line for line in lines) == 4
    assert len(lines) == (8 if width <= 60 else 4)


async def test_an_id_on_a_line_of_its_own_hangs_on_the_guide_of_its_task(tmp_path: Path) -> None:
    node = await grown(tmp_path)
    lines = printed(node, 48)
    where = [line.partition(node.task.id)[0] for line in lines[1::2]]
    fork, corner, bar = command.GUIDES[unicode_out()]
    assert where == [bar, bar + bar, bar + "      ", "      "]
    assert [lines[at].startswith(guide) for at, guide in ((2, fork), (4, bar + corner), (6, corner))] == [True] * 3


async def test_what_is_no_terminal_gets_a_line_for_each_task(tmp_path: Path) -> None:
    node = await grown(tmp_path)
    lines = printed(node, 48, terminal=False)
    assert [line.endswith(f"{KEY}  {node.task.id}") for line in lines] == [True] * 4


async def test_a_task_that_waits_for_others_says_for_how_many_in_the_place_of_its_state(tmp_path: Path) -> None:
    node = await grown(tmp_path)
    lines = printed(TreeNode(node.task, (), 0), 120, waits=True)
    assert [line.startswith("waiting for 3 tasks page ") for line in lines] == [True]
