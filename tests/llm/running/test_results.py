"""The results of a job: all that was answered and paid, own columns, the prompt and the raw body on request."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from ramet.llm.inputs.prompt_file import Row
from ramet.llm.inputs.spool import questions_of
from ramet.llm.jobs import Job, submit_job
from ramet.llm.output_files import write_rows
from ramet.llm.providers.base import Answer, AnswerState, Mode
from ramet.llm.requests import Request
from ramet.llm.results import columns_of, output_rows
from ramet.llm.settings import BATCH_ITEM, ITEM, PAYLOAD_BYTES_MAX, JobSettings
from tests.llm.fake_provider import USAGE, echo
from tests.llm.running.conftest import DEAR, MODEL, Desk, question

pytestmark = pytest.mark.parametrize("mode", list(Mode))
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


async def submitted(desk: Desk, rows: list[Row], **settings: Any) -> Job:
    made = JobSettings(provider="fake", mode=desk.provider.mode, prices={MODEL: DEAR}, rows=0, items=0, **settings)
    job, _ = await submit_job(desk.client, "job", questions_of(rows), made, max_cost=10**12)
    return job


def row(at: int, asked: str, **columns: Any) -> Row:
    return Row(at, at + 1, f"row{at}", question(asked), columns)


async def found(desk: Desk, job: Job, **wanted: bool) -> list[dict[str, Any]]:
    return [one.as_json() async for one in output_rows(desk.client, job, **wanted)]


async def test_what_is_answered_beside_the_text_is_in_the_results(desk: Desk) -> None:
    def answer(request: Request) -> Answer:
        told = echo(request)
        if told.text == "LONG":
            return told._replace(state=AnswerState.INCOMPLETE, code="refusal", finish_reason="stop", reasoning="hm")
        return told._replace(text=None, tool_calls=(CALL,), finish_reason="tool_calls", body={"id": "x"})

    desk.provider.answer = answer
    job = await submitted(desk, [row(0, "owl"), row(1, "long"), row(2, "owl")], raw=True)
    await desk.run()
    owl, long, again = await found(desk, job)
    assert (owl["text"], owl["tool_calls"], owl["finish_reason"], owl["raw"]) == (
        None,
        [CALL],
        "tool_calls",
        {"id": "x"},
    )
    assert (long["state"], long["code"], long["text"], long["reasoning"]) == ("failed", "refusal", "LONG", "hm")
    assert (again["tool_calls"], again["shared"], again["cost_nanodollars"]) == ([CALL], True, 0)


async def test_own_columns_and_prompts_travel_to_every_form_of_file(desk: Desk, tmp_path: Path) -> None:
    rows = [row(0, "owl", label="b\nird", size=3, text="x"), row(1, "owl", size=2.5), row(2, "finch", tags=["a"])]
    job = await submitted(desk, rows)
    await desk.run()
    more = await columns_of(desk.client, job, prompt=True)
    assert more == {"label": "text", "size": "float", "input.text": "text", "tags": "json", "prompt": "text"}
    for name in ("out.jsonl", "out.csv", "out.parquet"):
        assert await write_rows(output_rows(desk.client, job, prompt=True), tmp_path / name, more=more) == 3
    first, second, third = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["label"], first["size"], first["input.text"], first["text"]) == ("b\nird", 3, "x", "OWL")
    assert (second["size"], second["prompt"], third["tags"]) == (2.5, "owl", ["a"])
    with (tmp_path / "out.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [(one["label"], one["size"], one["tags"]) for one in table] == [
        ("b\nird", "3", ""), ("", "2.5", ""), ("", "", '["a"]'),
    ]  # fmt: skip
    stored = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [one["size"] for one in stored] == [3.0, 2.5, None]


async def test_a_question_that_is_too_large_for_a_payload_is_a_blob(desk: Desk) -> None:
    large = "x" * (PAYLOAD_BYTES_MAX + 1)
    job = await submitted(desk, [row(0, large), row(1, "owl")])
    kind = BATCH_ITEM if desk.provider.mode is Mode.BATCH else ITEM
    payloads = [task.payload async for task in desk.client.all_tasks(kind=kind)]
    assert payloads[0]["messages"] == []
    assert payloads[0]["request"]["size"] > PAYLOAD_BYTES_MAX
    await desk.run()
    one, other = await found(desk, job, prompt=True)
    assert (one["text"], one["prompt"]) == (large.upper(), large)
    assert other["text"] == "OWL"
    assert set(desk.provider.journal.values()) == {1}


async def test_an_answer_that_is_too_large_for_a_result_is_a_blob(desk: Desk) -> None:
    desk.provider.answer = lambda request: Answer(request.key, AnswerState.SUCCEEDED, "y" * 300_000, USAGE)
    job = await submitted(desk, [row(0, "owl")])
    await desk.run()
    (one,) = await found(desk, job)
    assert one["text"] == "y" * 300_000


async def test_json_of_whatever_shape_is_checked(desk: Desk) -> None:
    asked = replace(row(0, "owl"), request=question("owl", parameters={"response_format": {"type": "json_object"}}))
    desk.provider.answer = lambda request: Answer(request.key, AnswerState.SUCCEEDED, '{"name": 1}', USAGE)
    job = await submitted(desk, [asked])
    await desk.run()
    (one,) = await found(desk, job)
    assert one["value"] == {"name": 1}
