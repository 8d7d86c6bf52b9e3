"""What is wrong with a key, an account or an address is found by one call, and every command says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ramet.llm.commands.work import EXIT_PARTLY, EXIT_UNFINISHED
from ramet.llm.testing.script import Script
from tests.llm.commands.conftest import Place, lines_of, refusal

pytestmark = [pytest.mark.network, pytest.mark.process]

FAULTS = {"401": "invalid_api_key", "429": "insufficient_quota", "404": "model_not_found"}


def refused_prompts(place: Place, status: str, times: int = 1) -> Path:
    mark = f"[[{status} code={FAULTS[status]} times={times}]]"
    rows: list[dict[str, Any] | str] = [{"id": str(n), "prompt": f"{n} {mark}"} for n in range(9)]
    return place.write(rows)


@pytest.mark.parametrize("status", sorted(FAULTS))
@pytest.mark.parametrize("mode", ["chat", "background"])
def test_work_ends_with_what_to_do_after_one_call(place: Place, status: str, mode: str) -> None:
    path = refused_prompts(place, status)
    result = place.submit(path, "--mode", mode, "--job", "mine", "--work")
    assert result.exit_code == EXIT_UNFINISHED, result.output
    assert f"({status}): the script says {status}" in " ".join(result.stdout.split())
    assert "ramet llm resume mine" in result.stdout
    assert "None" not in result.stdout
    posts = [call for call in place.standin.world.calls if call["method"] == "POST"]
    assert len(posts) == 1
    again = place.submit(path, "--mode", mode, "--job", "mine")
    assert "is there already: paused" in again.stdout
    assert "ramet llm resume mine" in again.stdout
    place.standin.begin(Script(queued_polls=0, running_polls=0))
    clean: list[dict[str, Any] | str] = [{"id": str(n), "prompt": f"{n}"} for n in range(2)]
    assert place.submit(place.write(clean, "clean.jsonl"), "--mode", mode, "--work").exit_code == 0


@pytest.mark.parametrize("words", [("watch", "mine"), ("work", "--until-ended", "mine")])
def test_following_a_paused_job_ends_and_says_so(place: Place, words: tuple[str, ...]) -> None:
    place.submit(refused_prompts(place, "401"), "--mode", "chat", "--job", "mine", "--work")
    result = place.run(*words)
    assert result.exit_code == EXIT_UNFINISHED, result.output
    assert "ramet llm resume mine" in result.output
    assert "the script says 401" in " ".join(result.output.split())


def test_a_resumed_job_goes_on_where_it_was(place: Place) -> None:
    place.submit(refused_prompts(place, "429"), "--mode", "chat", "--job", "mine", "--work")
    # Each prompt is refused once, so that the next ones pause it again.
    for _ in range(20):
        result = place.run("resume", "mine", "--work")
        if result.exit_code == 0:
            break
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["items"]["succeeded"]) == ("succeeded", 9)


def test_a_job_of_which_some_failed_is_partly_done_and_its_exit_status_says_so(place: Place) -> None:
    path = place.write([{"prompt": "one"}, {"prompt": "two [[failed invalid_prompt]]"}])
    result = place.submit(path, "--mode", "chat", "--job", "mine", "--work")
    assert result.exit_code == EXIT_PARTLY, result.output
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert status["state"] == "partly"
    assert place.run("watch", "mine").exit_code == EXIT_PARTLY


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("localhost:8000/v1", "give an address such as http://localhost:8000/v1"),
        ("ftp://localhost/v1", "no scheme http or https"),
        ("https://x.example/v1/?api-version=preview", "a query"),
        ("https://key@x.example/v1", "leave that out"),
    ],
)
def test_an_address_that_no_call_can_go_to_is_refused_at_once(place: Place, address: str, words: str) -> None:
    path = place.write([{"prompt": "one"}])
    result = place.submit(path, "--mode", "chat", "--base-url", address, server=False)
    assert words in refusal(result)
    assert place.files() == set()


def test_a_batch_is_sent_again_whole_while_the_queue_is_full(place: Place) -> None:
    place.standin.begin(Script(batch_polls=0, batch_failures=1))
    path = place.write([{"id": str(n), "prompt": f"question {n}"} for n in range(8)])
    result = place.submit(path, "--mode", "batch", "--job", "mine", "--work", "--json")
    assert result.exit_code == 0, result.output
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["items"]["succeeded"], status["refused"]) == ("succeeded", 8, 8)
    batches = [call for call in place.standin.world.calls if call["path"] == "/v1/batches" and call["method"] == "POST"]
    assert len(batches) == 2


def test_lines_that_say_that_there_is_no_money_pause_the_job(place: Place) -> None:
    place.standin.begin(Script(batch_polls=0))
    path = place.write([{"id": str(n), "prompt": f"{n} [[failed insufficient_quota times=1]]"} for n in range(8)])
    result = place.submit(path, "--mode", "batch", "--job", "mine", "--work")
    assert result.exit_code == EXIT_UNFINISHED, result.output
    assert "insufficient_quota" in result.stdout
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["items"]["failed"], status["refused"]) == ("paused", 0, 8)
    assert place.run("resume", "mine", "--work").exit_code == 0
    rows = [json.loads(line) for line in place.run("results", "mine").stdout.splitlines()]
    assert {row["state"] for row in rows} == {"succeeded"}
