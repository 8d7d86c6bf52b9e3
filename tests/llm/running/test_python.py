"""Jobs from Python: rows, templates, adding, and a handler whose writes commit with the item that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet import App, Client
from ramet.llm import job
from ramet.llm.errors import InputError, UnknownModel
from ramet.llm.job import Job, SyncJob
from ramet.llm.providers.base import Mode
from tests.llm.running import answer_handlers
from tests.llm.running.conftest import Desk

MODES = pytest.mark.parametrize("mode", list(Mode))
OPTIONS: dict[str, Any] = {
    "provider": "openai", "model": "small", "max_output_tokens": 20, "price": "1:2", "max_cost": 1,
    "base_url": "http://localhost:1/v1",
}  # fmt: skip
ROWS = [{"id": "1", "text": "owl", "kind": "bird"}, {"id": "2", "text": "cat"}, {"id": "3", "text": "owl"}]


@pytest.fixture(autouse=True)
def unwoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slots of the desk are the poller; one that is woken rests until the next thing is due, by the real clock."""

    async def wake(client: Client) -> None:
        del client

    monkeypatch.setattr(job, "wake", wake)


@pytest.fixture
async def labelled(desk: Desk, backend: str | None, tmp_path: Path) -> Desk:
    """A desk whose database has the handler's table."""
    async with App(tables=(answer_handlers.TABLE,)).client(backend or tmp_path / "ramet.db"):
        return desk


async def submitted(desk: Desk, rows: Any, **options: Any) -> Job:
    return await Job.submit(rows, client=desk.client, mode=str(desk.provider.mode), **OPTIONS | options)


async def labels(desk: Desk) -> list[tuple[Any, ...]]:
    return sorted(await desk.client.read("SELECT id, label FROM labels"))


async def results_of(job: Job) -> dict[str, Any]:
    return {row["id"]: row["text"] or row["error"] async for row in job.results()}


@MODES
async def test_rows_are_asked_by_a_template_and_their_columns_come_back(desk: Desk) -> None:
    job = await submitted(desk, iter(ROWS), prompt="a {{ text }}{% if kind %} ({{ kind }}){% endif %}", cache="none")
    again = await submitted(desk, ROWS, prompt="a {{ text }}{% if kind %} ({{ kind }}){% endif %}", cache="none")
    assert job.name == again.name
    await desk.run()
    rows = [row async for row in job.results(prompt=True)]
    assert [row["prompt"] for row in rows] == ["a owl (bird)", "a cat", "a owl"]
    assert (rows[0]["text"], rows[0]["kind"], rows[0]["input.text"]) == ("A OWL (BIRD)", "bird", "owl")
    assert (await job.status()).state == "succeeded"


@MODES
@pytest.mark.parametrize("handler", [answer_handlers.keep, answer_handlers.keep_later])
async def test_what_a_handler_writes_is_there_once_for_each_row(labelled: Desk, handler: Any) -> None:
    job = await submitted(labelled, ROWS, prompt="{text}", on_answer=handler)
    await labelled.run()
    assert await labels(labelled) == [("1", "bird:OWL"), ("2", "None:CAT"), ("3", "None:OWL")]
    assert await results_of(job) == {"1": "OWL", "2": "CAT", "3": "OWL"}


@pytest.mark.parametrize("mode", [Mode.BACKGROUND, Mode.BATCH])
async def test_an_equal_row_finds_the_answer_in_the_jobs_cache(labelled: Desk) -> None:
    job = await submitted(labelled, ROWS[:1], prompt="{text}", on_answer=answer_handlers.keep)
    await labelled.slot()
    assert await job.add([{"id": "4", "text": "owl"}]) == 1
    await labelled.run()
    costs = {row["id"]: row["cost_nanodollars"] async for row in job.results()}
    assert sorted(row[0] for row in await labels(labelled)) == ["1", "4"]
    if len(labelled.provider.journal) == 1:
        assert costs["4"] == 0
    else:  # The second was on its way before the first was answered.
        assert costs["4"] == costs["1"]


@MODES
@pytest.mark.parametrize("handler", [answer_handlers.stumble, answer_handlers.write_nonsense])
async def test_a_handler_that_fails_fails_its_item_and_keeps_the_answer(labelled: Desk, handler: Any) -> None:
    job = await submitted(labelled, ROWS, prompt="{text}", on_answer=handler)
    await labelled.run()
    assert await labels(labelled) == [("2", "None:CAT"), ("3", "None:OWL")]
    told = await results_of(job)
    assert told["2"] == "CAT"
    [failed] = [row async for row in job.results() if row["state"] == "failed"]
    assert failed["id"] == "1"
    assert failed["code"] in ("on_answer", "a write of its settlement failed")
    kept = await labelled.client.read("SELECT answer FROM llm_answers WHERE answer IS NOT NULL")
    assert len(kept) == 3, "what was paid is kept"
    assert set(labelled.provider.journal.values()) == {1}, "and asked for once"


@MODES
async def test_rows_are_added_while_it_runs(desk: Desk) -> None:
    job = await submitted(desk, ["owl", "cat"])
    assert await job.add(["finch"]) == 1
    assert await job.add([{"id": "1", "prompt": "owl"}]) == 0, "it is there"
    with pytest.raises(InputError, match="row 1: the id '1' is that of another row"):
        await job.add([{"id": "1", "prompt": "gull"}])
    with pytest.raises(UnknownModel, match="not priced for the model other"):
        await job.add([{"prompt": "gull", "model": "other"}])
    await desk.run()
    assert await results_of(job) == {"1": "OWL", "2": "CAT", "3": "FINCH"}
    with pytest.raises(InputError, match="takes no more rows"):
        await job.add(["gull"])


@MODES
async def test_answers_are_shared_by_jobs_that_ask_for_it(desk: Desk) -> None:
    first = await submitted(desk, ["owl", "cat"], cache="all", name="first")
    await desk.run()
    second = await submitted(
        desk, [{"id": "x", "prompt": "owl"}, {"id": "y", "prompt": "gull"}], cache="all", name="second"
    )
    third = await submitted(desk, ["owl"], name="third")
    await desk.run()
    assert await results_of(first) == {"1": "OWL", "2": "CAT"}
    assert await results_of(second) == {"x": "OWL", "y": "GULL"}
    assert await results_of(third) == {"1": "OWL"}
    assert sorted(desk.provider.journal.values()) == [1, 1, 2]
    assert {row["id"]: row["shared"] async for row in second.results()} == {"x": True, "y": False}
    assert (await second.status()).job.lineage.spent < (await first.status()).job.lineage.spent


@pytest.mark.parametrize("mode", [Mode.CHAT])
@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ("a text", {}, "a str is one row"),
        (3, {}, "gives no rows"),
        ([3], {}, "row 1: a row must be a mapping or a text, not a int"),
        (["a"], {"on_answer": lambda ctx, row, answer: None}, "no lambda, no closure"),
        (["a"], {"on_answer": "no.such:thing"}, "cannot import on_answer"),
        (
            [{"text": "a"}],
            {"prompt": "{{ txt }}"},
            "row 1: the template wants unknown column 'txt'; did you",
        ),
        ([{"text": ""}], {"prompt": "{{ text }}"}, "row 1: the template wants 'text', which is empty"),
        (["a"], {"prompt": "{{ text.__class__.mro() }}"}, "the template has a 'call' in line 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_taken_is_said_and_nothing_is_stored(
    desk: Desk, rows: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        await submitted(desk, rows, **options)
    assert [one async for one in desk.client.all_tasks()] == []


class Frame:
    """As pandas has it, as far as is used: moments, numbers of its own, and what is missing."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def iloc(self) -> Frame:
        return self

    def __getitem__(self, part: slice) -> Frame:
        return Frame(self._rows[part])

    def to_dict(self, form: str) -> list[dict[str, Any]]:
        assert form == "records"
        return self._rows


class Polars:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def iter_rows(self, *, named: bool) -> Iterator[dict[str, Any]]:
        assert named
        return iter(self._rows)


@pytest.mark.parametrize("mode", [Mode.CHAT])
@pytest.mark.parametrize("kind", [Frame, Polars])
async def test_tables_in_memory_are_rows(desk: Desk, kind: Any) -> None:
    job = await submitted(desk, kind([{"prompt": "owl", "size": float("nan")}, {"prompt": "cat", "size": 2.5}]))
    await desk.run()
    assert [(row["text"], row.get("size")) async for row in job.results()] == [("OWL", None), ("CAT", 2.5)]


def test_the_same_without_an_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = SyncJob.submit(["owl"], database=tmp_path / "llm.db", **OPTIONS)
    assert job.add(["cat"]) == 1
    assert job.status().state == "queued"
    assert [row["state"] for row in job.results()] == ["queued", "queued"]
    assert SyncJob(job.name, tmp_path / "llm.db").status().total == 2
