"""Every example ends, and does exactly what examples/README.md says: tasks, attempts and refusals to the last one."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ramet import App, Client
from tests.support.waiting import HANG_SECONDS

pytestmark = pytest.mark.process

EXAMPLES = Path(__file__).parents[2] / "examples"

Tasks = dict[tuple[str, str], int]
"""How many tasks of a kind are in a state."""
Blocks = dict[tuple[str, str], int]
"""How often a spawn of a kind was refused for a reason."""


def run(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder of its own."""
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


Ended = Callable[[str], tuple[Path, str]]
"""From an example's name: the database that it left, and what it printed."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Runs each example once, when it is first asked for."""
    runs: dict[str, tuple[Path, str]] = {}

    def once(name: str) -> tuple[Path, str]:
        if name not in runs:
            folder = tmp_path_factory.mktemp("example")
            done = run(name, folder, "loop.db")
            assert done.returncode == 0, done.stderr
            runs[name] = (folder / "loop.db", done.stdout)
        return runs[name]

    return once


async def tasks_of(client: Client) -> Tasks:
    return {(count.kind, count.state): count.tasks for count in await client.counts()}


async def blocks_of(client: Client) -> Blocks:
    found: Counter[tuple[str, str]] = Counter()
    for lineage in await client.lineages():
        for block in await client.blocks(lineage.tracking_id):
            found[block.kind, block.reason] += block.count
    return dict(found)


async def attempts_of(client: Client) -> Counter[str]:
    """Attempts by outcome, over all tasks."""
    outcomes: Counter[str] = Counter()
    async for task in client.all_tasks():
        history = await client.history(task.id)
        assert history is not None
        assert task.attempts == len(history.attempts)
        outcomes.update(attempt.outcome for attempt in history.attempts)
    return outcomes


CASES: list[tuple[str, Tasks, Blocks, dict[str, int]]] = [
    (
        "loop_direct.py",
        {("job", "success"): 1, ("company", "failed"): 1},
        {("job", "cycle"): 1},
        {"success": 1, "error": 1},
    ),
    (
        "loop_circular.py",
        {("job", "success"): 1, ("company", "success"): 1, ("source_discovery", "success"): 1},
        {("company", "cycle"): 1},
        {"success": 3},
    ),
    (
        "loop_duplicates.py",
        {("job", "success"): 4, ("company", "success"): 1, ("source_discovery", "success"): 1},
        {("company", "in_flight"): 2, ("company", "done"): 1},
        {"success": 6},
    ),
    (
        "loop_retry_storm.py",
        {("job", "failed"): 1, ("sly_job", "failed"): 11},
        {("job", "cycle"): 8, ("sly_job", "depth"): 1},
        {"error": 4 + 11},
    ),
]


@pytest.mark.process
@pytest.mark.parametrize(("name", "tasks", "blocks", "attempts"), CASES, ids=[case[0] for case in CASES])
async def test_a_loop_ends_with_these_tasks_attempts_and_refusals(
    name: str, tasks: Tasks, blocks: Blocks, attempts: dict[str, int], ended: Ended
) -> None:
    database, printed = ended(name)
    async with App().client(database, create=False) as client:
        assert await tasks_of(client) == tasks
        assert await blocks_of(client) == blocks
        assert await attempts_of(client) == attempts
        for lineage in await client.lineages():
            assert (lineage.state, lineage.live) == ("finished", 0)
            assert f"{lineage.tasks} tasks created, 0 live" in printed
    for (kind, reason), count in blocks.items():
        assert f"blocked {count} x {kind} " in printed
        assert f", {reason}: " in printed


async def test_the_storm_is_one_task_whose_attempts_run_out_and_a_chain_that_depth_ends(ended: Ended) -> None:
    async with App().client(ended("loop_retry_storm.py")[0], create=False) as client:
        [job] = (await client.tasks(kind="job")).tasks
        assert (job.reason, job.attempts) == ("attempts_exhausted: 4", 4)
        chain = (await client.tasks(kind="sly_job")).tasks
        assert [task.spawn_depth for task in chain] == list(range(11))
        [block] = await client.blocks(chain[0].tracking_id)
        assert block.first_parent == chain[-1].id


async def test_the_duplicates_name_the_one_company_that_was_created(ended: Ended) -> None:
    async with App().client(ended("loop_duplicates.py")[0], create=False) as client:
        [company] = (await client.tasks(kind="company")).tasks
        blocks = await client.blocks(company.tracking_id)
        assert {block.winner for block in blocks} == {company.id}
        jobs = {task.key: task.id for task in (await client.tasks(kind="job")).tasks}
        parents = {block.reason: (block.first_parent, block.last_parent) for block in blocks}
        assert company.parent_id == jobs["https://board.example/jobs/1"]
        assert parents == {
            "in_flight": (jobs["https://board.example/jobs/2"], jobs["https://board.example/jobs/3"]),
            "done": (jobs["https://board.example/jobs/4"], jobs["https://board.example/jobs/4"]),
        }


@pytest.mark.process
async def test_the_quickstart_visits_each_page_once_and_prints_every_refusal(tmp_path: Path) -> None:
    done = run("quickstart.py", tmp_path)
    assert done.returncode == 0, done.stderr
    async with App().client(tmp_path / "quickstart.db", create=False) as client:
        pages = (await client.tasks()).tasks
        assert [(page.key, page.spawn_depth, page.state, page.result) for page in pages] == [
            ("home", 0, "success", 2),
            ("news", 1, "success", 3),
            ("about", 1, "success", 1),
            ("archive", 2, "success", 1),
        ]
        blocks = await client.blocks(pages[0].tracking_id)
        assert {(block.key, block.reason): block.count for block in blocks} == {
            ("home", "cycle"): 2,
            ("about", "in_flight"): 1,
            ("news", "cycle"): 1,
        }
    for block in blocks:
        assert f"blocked {block.count} x '{block.key}', {block.reason}: {block.detail}" in done.stdout
    assert done.stdout.count("\n") == 4 + 3


@pytest.mark.process
def test_an_example_without_a_path_leaves_nothing_behind(tmp_path: Path) -> None:
    assert run("loop_direct.py", tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_path_that_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    for case in CASES:
        done = run(case[0], tmp_path, str(tmp_path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "is a folder" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr


def test_every_example_is_in_the_list_of_examples() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in EXAMPLES.glob("*.py"))
    assert {case[0] for case in CASES} == {path.name for path in EXAMPLES.glob("loop_*.py")}
