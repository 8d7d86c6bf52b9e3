"""The examples of paths: what they print as they go shows that nothing overlaps that must not, and in which order."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import App, Client, Context, Task, TaskOptions
from ramet.model.paths import conflict
from ramet.testing import FakeClock, drain, fresh_client
from tests.examples.test_loops import run
from tests.examples.test_uses import printed
from tests.invariants.check import violations

pytestmark = pytest.mark.process

NAMES = ["path_documents.py", "path_import.py", "path_review.py", "path_mapreduce.py"]


class Span(NamedTuple):
    """When something ran, as places in what was printed."""

    began: int
    ended: int


def spans_of(lines: Sequence[str]) -> dict[str, list[Span]]:
    """From the lines that an example prints when a handler begins and ends, by what they name."""
    spans: dict[str, list[Span]] = {}
    begun: dict[str, int] = {}
    for at, line in enumerate(lines):
        told = re.fullmatch(r"(begins|ends|fails) +(.+?)(?: \(\d+ edits at once\))?", line)
        if told and told[1] == "begins":
            assert told[2] not in begun, f"{told[2]} runs twice at once"
            begun[told[2]] = at
        elif told:
            spans.setdefault(told[2], []).append(Span(begun.pop(told[2]), at))
    assert begun == {}
    return spans


def overlap(a: Span, b: Span) -> bool:
    return a.began < b.ended and b.began < a.ended


async def check_attempts(client: Client) -> None:
    """As the database tells it: no two claims on conflicting paths at once, and the task that came first was first."""
    assert await violations(client.store) == []
    ran: list[tuple[tuple[str, ...], float, float]] = []
    async for task in client.all_tasks():
        history = await client.history(task.id)
        assert history is not None
        ran += [(task.path, attempt.claimed_at, attempt.ended_at) for attempt in history.attempts]
    pairs = [(one, other) for one, other in combinations(ran, 2) if conflict(one[0], other[0])]
    assert len(pairs) > 3
    assert [pair for pair in pairs if not (pair[0][2] <= pair[1][1] or pair[1][2] <= pair[0][1])] == []


def in_turn(spans: Mapping[str, Sequence[Span]], *names: str) -> bool:
    """True when each of these began after the one before it had ended."""
    each = [spans[name][0] for name in names]
    return all(earlier.ended < later.began for earlier, later in pairwise(each))


async def test_edits_of_a_document_happen_in_order_and_documents_side_by_side(tmp_path: Path) -> None:
    lines = printed("path_documents.py", tmp_path)
    spans = spans_of(lines)
    assert len(spans) == 12
    edits = {
        document: [name for name in sorted(spans, key=lambda name: spans[name]) if name.startswith(document)]
        for document in ("owl.txt", "finch.txt", "gull.txt")
    }
    for names in edits.values():
        assert [name.split()[1] for name in names] == ["ann:", "ben:", "eve:", "joe:"]
        assert in_turn(spans, *names)
    assert any("(3 edits at once)" in line for line in lines)
    assert lines[-4:] == [
        "4 edits on path owl.txt, 4 edits on path finch.txt, 4 edits on path gull.txt",
        "owl.txt: Owls hunt silently nightly",
        "finch.txt: Finches sing loudly daily",
        "gull.txt: Gulls follow ships always",
    ]
    async with App().client(tmp_path / "kept.db", create=False) as client:
        await check_attempts(client)
        assert (await client.counts())[0].tasks == 12


def test_without_paths_the_same_edits_are_lost(tmp_path: Path) -> None:
    done = run("path_documents.py", tmp_path, "kept.db", "--no-paths")
    assert done.returncode == 0, done.stderr
    *log, told, owl, finch, gull = done.stdout.splitlines()
    assert told == "12 edits on path root"
    assert len(spans_of(log)) == 12
    assert sum(len(text.split()[1:]) for text in (owl, finch, gull)) < 12


async def test_a_record_that_fails_skips_its_validation_and_nobody_else(tmp_path: Path) -> None:
    lines = printed("path_import.py", tmp_path)
    revived = lines.index("row 2 is corrected, and its record revived")
    spans = spans_of(lines[:revived])
    records = [f"import-123:record-{number}" for number in (1, 2, 3)]
    finish = "import-123, to finish"
    sound = [records[0], records[2]]
    assert set(spans) == {"import-123", *records, *(f"{record}:validate" for record in sound), finish}
    for record in records:
        assert in_turn(spans, "import-123", record, finish)
    for record in sound:
        assert in_turn(spans, record, f"{record}:validate", finish)
    assert overlap(spans[sound[0]][0], spans[sound[1]][0])
    again = spans_of(lines[revived:])
    assert set(again) == {records[1], f"{records[1]}:validate"}
    assert in_turn(again, records[1], f"{records[1]}:validate")
    assert lines[-1].endswith("{'record success': 2, 'validate success': 2, 'record failed': 1, 'validate skipped': 1}")
    async with App().client(tmp_path / "kept.db", create=False) as client:
        await check_attempts(client)
        tasks = {task.path: task for task in (await client.tasks()).tasks if len(task.path) > 1}
        assert {task.state for task in tasks.values()} == {"success"}
        failed = tasks["import-123", "record-2"]
        assert f"import-123:record-2:validate, validate: skipped, dependency_failed: {failed.id}" in lines
        await check_it_came_back(client, tasks["import-123", "record-2", "validate"])


async def check_it_came_back(client: Client, validation: Task) -> None:
    history = await client.history(validation.id)
    assert history is not None
    told = [transition.name for transition in history.transitions]
    assert told.index("dependency_failed") < told.index("revive")


async def test_reviewers_work_at_the_same_time_and_closing_comes_after_everything(tmp_path: Path) -> None:
    lines = printed("path_review.py", tmp_path)
    spans = spans_of(lines)
    assert len(spans) == 7
    for reviewer in ("REVIEW A", "REVIEW B"):
        assert in_turn(spans, "INIT", "START_REVIEW", reviewer, "CLOSE")
    for branch in ("VALIDATE", "PUBLISH"):
        assert in_turn(spans, "INIT", branch, "CLOSE")
    assert overlap(spans["REVIEW A"][0], spans["REVIEW B"][0])
    assert "doc-123:review:A, REVIEW A: success, 'too long', after hearing 'well said'" in lines
    async with App().client(tmp_path / "kept.db", create=False) as client:
        await check_attempts(client)
        assert {count.state for count in await client.counts()} == {"success"}


async def test_the_total_of_a_fan_out_is_added_up_after_all_parts(tmp_path: Path) -> None:
    lines = printed("path_mapreduce.py", tmp_path)
    spans = spans_of(lines)
    parts = [f"poem:line-{number}, count" for number in (1, 2, 3, 4)]
    for part in parts:
        assert in_turn(spans, "poem, split", part, "poem, total")
    assert all(overlap(spans[one][0], spans[other][0]) for one, other in combinations(parts, 2))
    notes = spans["journal, note"]
    assert len(notes) == 4
    assert not any(overlap(one, other) for one, other in combinations(notes, 2))
    assert [line.split()[0] for line in lines[-4:]] == ["1.", "2.", "3.", "4."]
    assert "poem, total: success, {'the': 2, 'and': 2}" in lines
    async with App().client(tmp_path / "kept.db", create=False) as client:
        await check_attempts(client)


async def test_what_a_part_spawns_comes_after_the_fan_in_which_may_go_behind_it(tmp_path: Path) -> None:
    """As docs/concepts/ordering.md says."""
    app, log = App(), list[str]()

    @app.task("part")
    async def part(ctx: Context, name: str) -> None:
        log.append(name)
        if name == "a":
            ctx.spawn("part", "a, below", path=[*ctx.path, "below"])

    @app.task("collect")
    async def collect(ctx: Context, turn: int) -> None:
        log.append(f"collect {turn}")
        if [task async for task in ctx.client.all_tasks(tracking_id=ctx.tracking_id, kind="part", states=["pending"])]:
            ctx.spawn("collect", turn + 1, path=ctx.path)

    async with fresh_client(app, clock=FakeClock(), folder=tmp_path) as client:
        parts: list[tuple[str, str, TaskOptions]] = [("part", name, {"path": ["all", name]}) for name in "ab"]
        await client.submit_many([*parts, ("collect", 1, {"path": ["all"]})], one_lineage=True)
        await drain(app, client)
    assert log == ["a", "b", "collect 1", "a, below", "collect 2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_no_database_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a folder" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
