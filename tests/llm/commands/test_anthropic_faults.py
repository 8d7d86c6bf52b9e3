"""Faults of an account at Anthropic, told over HTTP and in the results of a batch, through the whole pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ramet.llm.commands.work import EXIT_UNFINISHED
from tests.llm.commands.conftest import Place, lines_of
from tests.llm.providers.anthropic_account import batch
from tests.llm.providers.scripted_server import Call, Said, scripted

pytestmark = [pytest.mark.network, pytest.mark.process]

WORDS = "Your credit balance is too low to access the API"
NO_CREDIT = {"type": "error", "error": {"type": "invalid_request_error", "message": WORDS, "details": None}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "yes"}], "usage": {"input_tokens": 5, "output_tokens": 1},
}  # fmt: skip
SUCCEEDED = {"type": "succeeded", "message": MESSAGE}


class Anthropic:
    """An account whose first calls, or first results, tell a fault."""

    def __init__(self, place: str, error: dict[str, Any], status: int, times: int) -> None:
        self.place, self.error, self.status, self.left = place, error, status, times
        self.batches: list[list[str]] = []
        self.asked = 0

    def __call__(self, call: Call) -> Said:
        path = call.path.partition("?")[0]
        if call.method == "POST":
            self.asked += 1
            if self.place == "http" and self.fails():
                return Said(self.status, self.error)
            if path.endswith("/v1/messages"):
                return Said(200, MESSAGE)
            self.batches.append([request["custom_id"] for request in call.body["requests"]])
            return Said(200, batch(f"msgbatch_{len(self.batches)}", state="in_progress"))
        if path.endswith("/results"):
            number = int(path.split("/")[-2].removeprefix("msgbatch_"))
            failing = self.place == "result" and self.fails()
            result = {"type": "errored", "error": self.error} if failing else SUCCEEDED
            found = [json.dumps({"custom_id": name, "result": result}) + "\n" for name in self.batches[number - 1]]
            return Said(200, "".join(found).encode())
        return Said(200, batch(path.split("/")[-1], state="ended"))

    def fails(self) -> bool:
        """Whether this one does."""
        self.left -= 1
        return self.left >= 0


def submit(place: Place, url: str, mode: str) -> Callable[..., Any]:
    rows: list[dict[str, Any] | str] = [{"id": str(n), "prompt": f"question {n}"} for n in range(4)]
    path = place.write(rows)
    words = ("--provider", "anthropic", "--base-url", url, "--mode", mode, "--price", "0", "--job", "mine", "--work")
    return lambda: place.submit(path, *words, server=False)


PLACES = [("chat", "http"), ("batch", "http"), ("batch", "result")]


@pytest.mark.parametrize(("mode", "where"), PLACES)
def test_an_account_without_credit_pauses_the_job_and_loses_no_item(place: Place, mode: str, where: str) -> None:
    account = Anthropic(where, NO_CREDIT, 400, 1)
    with scripted(account) as server:
        result = submit(place, server.url, mode)()
        assert result.exit_code == EXIT_UNFINISHED, result.output
        assert WORDS in " ".join(result.stdout.split())
        assert account.asked == 1
        assert place.run("resume", "mine", "--work").exit_code == 0
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["items"]["succeeded"]) == ("succeeded", 4)


def test_results_that_are_overloaded_are_asked_for_again_and_counted(place: Place) -> None:
    account = Anthropic("result", OVERLOADED, 529, 1)
    with scripted(account) as server:
        result = submit(place, server.url, "batch")()
    assert result.exit_code == 0, result.output
    [status] = lines_of(place.run("status", "mine", "--json"))
    assert (status["state"], status["items"]["succeeded"], status["refused"]) == ("succeeded", 4, 4)
    assert [len(names) for names in account.batches] == [4, 4]
