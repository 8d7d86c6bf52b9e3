"""A job from its file to its answers, by commands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ramet.llm.commands.work import EXIT_PARTLY
from ramet.llm.jobs import find_job
from ramet.llm.pipeline import app
from tests.llm.commands.conftest import Place, lines_of

pytestmark = [pytest.mark.network, pytest.mark.process]

ROWS: list[dict[str, Any] | str] = [
    {"id": "a", "prompt": "one [[answer first]]"},
    {"id": "b", "prompt": "two [[incomplete]]"},
    {"id": "c", "prompt": "one [[answer first]]"},
    {"id": "d", "prompt": "three [[failed invalid_prompt]]"},
]


@pytest.mark.parametrize("mode", ["chat", "background"])
def test_submit_work_status_and_results(place: Place, mode: str) -> None:
    path = place.write(ROWS)
    result = place.submit(path, "--mode", mode, "--job", "mine", "--work")
    assert result.exit_code == EXIT_PARTLY, result.output
    [status] = [lines_of(place.run("status", "mine", "--json"))[0]]
    assert (status["state"], status["done"], status["total"]) == ("partly", 3, 3)
    assert status["items"]["succeeded"] + status["items"]["failed"] == 3
    rows = lines_of(place.run("results", "mine"))
    assert [row["id"] for row in rows] == ["a", "b", "c", "d"]
    assert [row["text"] for row in rows][::2] == ["first", "first"]
    assert [row["shared"] for row in rows] == [False, False, True, False]
    assert rows[1]["state"] == "failed"
    assert rows[1]["code"] == "max_output_tokens"
    assert rows[1]["text"]
    assert sum(row["cost_nanodollars"] for row in rows) == status["spent"] > 0
    assert lines_of(place.run("status", "--json"))[0][0]["job"] == "mine"  # type: ignore[index]


def test_the_same_command_finds_the_same_job_and_pays_once(place: Place) -> None:
    path = place.write(ROWS[:1])
    [first] = lines_of(place.submit(path, "--json"))
    [second] = lines_of(place.submit(path, "--json"))
    assert (first["new"], second["new"]) == (True, False)
    assert first["job"] == second["job"]
    assert "is there already" in place.submit(path).stdout


def test_results_at_any_time(place: Place) -> None:
    place.submit(place.write(ROWS), "--job", "mine")
    assert [row["state"] for row in lines_of(place.run("results", "mine"))] == ["queued"] * 4


def test_a_job_is_cancelled_and_deleted(place: Place) -> None:
    place.submit(place.write(ROWS), "--job", "mine")
    assert "cancelled job mine" in place.run("cancel", "mine").stdout
    assert lines_of(place.run("status", "mine", "--json"))[0]["state"] == "cancelled"
    assert place.run("delete", "mine").exit_code == 0
    assert json.loads(place.run("status", "--json").stdout) == []
    assert "was deleted" in place.run("results", "mine").stderr
    assert "was deleted" in place.submit(place.write(ROWS), "--job", "mine").stderr


def test_estimate_writes_and_sends_nothing(place: Place) -> None:
    path = place.write(ROWS)
    words = ("--model", "gpt-5-mini", "--max-output-tokens", "50", "--json")
    [told] = lines_of(place.run("estimate", str(path), *words, database=False))
    assert (told["rows"], told["questions"], told["mode"]) == (4, 3, "background")
    assert 0 < told["lowest"] <= told["likely"] <= told["worst"]
    assert place.files() == set()
    assert not place.standin.world.calls


def test_a_server_that_costs_nothing_needs_no_ceiling(place: Place) -> None:
    path = place.write(ROWS[:1])
    words = ("--model", "local", "--price", "0", "--max-output-tokens", "50", "--base-url", place.standin.url)
    result = place.run("submit", str(path), *words, "--job", "free", "--work")
    assert result.exit_code == 0, result.output
    assert lines_of(place.run("status", "free", "--json"))[0]["mode"] == "chat"


def test_a_cancelled_job_is_asked_again(place: Place) -> None:
    place.submit(place.write(ROWS[:1]), "--mode", "chat", "--job", "mine")
    place.run("cancel", "mine")
    result = place.run("resume", "mine", "--retry-failed", "--max-cost", "2", "--work")
    assert result.exit_code == 0, result.output
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["max_cost"]) == ("succeeded", 2_000_000_000)


def test_what_failed_in_a_batch_is_asked_again_with_its_lane(place: Place) -> None:
    assert place.submit(place.write(ROWS), "--mode", "batch", "--job", "mine", "--work").exit_code == 3, "some failed"
    told = place.run("resume", "mine", "--retry-failed")
    assert told.exit_code == 0
    assert "2 items of job mine will be asked again" in told.output
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert status["items"]["queued"] == 2


def test_items_for_which_there_was_no_money_say_how_to_go_on(place: Place) -> None:
    path = place.write([{"prompt": f"question {number} [[answer yes]]"} for number in range(8)])
    told = place.submit(path, "--mode", "chat", "--max-cost", "0.00011", "--job", "mine", "--work").stdout
    assert "failed, the first as cost: the ceiling of the lineage is $0.00011" in told
    assert "`ramet llm resume mine --max-cost DOLLARS --retry-failed` raises the ceiling" in told
    assert place.run("resume", "mine", "--max-cost", "1", "--retry-failed", "--work").exit_code == 0
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["items"]["succeeded"], status["first_failure"]) == (8, None)


@pytest.mark.parametrize("mode", ["chat", "batch"])
def test_items_that_were_refused_say_where_the_reasons_are(place: Place, mode: str) -> None:
    place.submit(place.write(ROWS), "--mode", mode, "--job", "mine", "--work")
    told = place.run("status", "mine").stdout
    assert "2 failed, the first as " in told
    assert "`ramet llm results mine` says why each failed" in told


@pytest.mark.parametrize(("words", "calls"), [((), 64), (("--preset", "aggressive"), 256), (("--concurrency", "7"), 7)])
def test_a_job_knows_how_many_calls_a_process_has_in_flight(place: Place, words: tuple[str, ...], calls: int) -> None:
    lines_of(place.submit(place.write(ROWS), "--mode", "chat", "--job", "mine", "--json", *words))

    async def known() -> int:
        async with app.client(place.database) as client:
            return (await find_job(client, "mine")).settings.concurrency

    assert asyncio.run(known()) == calls


def test_a_persons_run_is_not_bound_by_what_a_poller_may_claim_in_a_slot(place: Place) -> None:
    async def allow_one() -> None:
        async with app.client(place.database) as client:
            await client.settings.set("limits.invocation_items", 1)

    asyncio.run(allow_one())
    path = place.write([{"prompt": f"how high is hill {number}?"} for number in range(20)])
    end = lines_of(place.submit(path, "--mode", "chat", "--job", "mine", "--json", "--work"))[-1]
    assert (end["state"], end["items"]["succeeded"]) == ("succeeded", 20)
