"""Our own stand-in: what a test may rely on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from ramet.llm.testing.answers import chat_ask, instance
from ramet.llm.testing.script import Faults, Script, marks_in, script_from, without_marks
from ramet.llm.testing.server import Limiter, StandIn, period
from tests.support.waiting import HANG_SECONDS


def get(url: str, body: dict[str, Any] | None = None) -> Any:
    """What a plain client is answered: it proves that nothing depends on the SDK."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=HANG_SECONDS) as answer:
        return json.load(answer)


@pytest.mark.process
def test_it_runs_as_a_program_and_ends_when_told() -> None:
    command = [sys.executable, "-m", "ramet.llm.testing", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        completion = get(f"{url}/chat/completions", body)
        assert completion["choices"][0]["message"]["content"].endswith("hello")
        assert get(url.removesuffix("v1") + "journal")["totals"]["requests"] == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANG_SECONDS) == 0


@pytest.mark.network
def test_a_new_script_forgets_everything(standin: StandIn) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    get(f"{standin.url}/chat/completions", body)
    root = standin.url.removesuffix("/v1")
    get(f"{root}/script", {"queued_polls": 3})
    assert get(f"{root}/journal") == {
        "entries": [],
        "totals": {"requests": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0},
    }
    assert standin.world.script.queued_polls == 3


def test_a_script_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'polls'"):
        script_from({"polls": 1})


@pytest.mark.network
def test_the_same_prompt_has_the_same_answer_in_every_stand_in(standin: StandIn) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50}
    with StandIn() as other:
        answers = [get(f"{each.url}/chat/completions", body) for each in (standin, other)]
    assert answers[0]["choices"] == answers[1]["choices"]
    assert answers[0]["usage"] == answers[1]["usage"]


def test_marks_are_read_and_taken_out() -> None:
    text = "why [[429 times=2 after=7]] is [[never]] it so"
    assert marks_in(text) == {"429": "times=2 after=7", "never": ""}
    assert without_marks(text) == "why is it so"


def test_a_fault_happens_as_often_as_its_mark_says_for_each_prompt() -> None:
    faults = Faults(Script())
    marks = marks_in("[[429 times=2 after=7]]")
    found = [faults.next("submit", whose, marks) for whose in ("a", "a", "a", "b")]
    assert [fault and fault.status for fault in found] == [429, 429, None, 429]
    assert found[0] is not None
    assert found[0].after == "7"
    assert faults.next("poll", "a", marks) is None, "a mark without a prefix is for the submit"


def test_chances_are_the_same_for_the_same_seed() -> None:
    def drawn(seed: int) -> list[str | None]:
        faults = Faults(Script(chances={"submit": {"500": 0.3}}, seed=seed))
        found = [faults.next("submit", "x", {}) for _ in range(50)]
        return [None if fault is None else fault.kind for fault in found]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 5 < drawn(1).count("500") < 25


def test_the_limiter_names_the_time_until_there_is_room() -> None:
    now = 0.0
    limiter = Limiter(60, None, lambda: now)
    assert [limiter.take(1) for _ in range(60)] == [0.0] * 60
    assert limiter.take(1) == pytest.approx(1.0)
    assert limiter.headers()["x-ratelimit-remaining-requests"] == "0"
    now = 1.0
    assert limiter.take(1) == 0.0


@pytest.mark.parametrize(("seconds", "text"), [(0.02, "20ms"), (1.5, "1.5s"), (360.0, "6m0s"), (61.0, "1m1s")])
def test_periods_are_written_as_the_provider_writes_them(seconds: float, text: str) -> None:
    from ramet.llm.providers.openai_errors import period_seconds

    assert period(seconds) == text
    assert period_seconds(text) == pytest.approx(seconds)


def test_an_instance_fits_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2},
            "inner": {"$ref": "#/$defs/inner"},
            "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "$defs": {"inner": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    assert instance(schema, schema, "w") == {"kind": "a", "sizes": [3, 3], "inner": {"name": "w"}, "maybe": True}


def test_a_request_without_messages_is_refused() -> None:
    with pytest.raises(ValueError, match="no messages"):
        chat_ask({"model": "m", "messages": []})
