"""Bad input is refused before anything is sent or written, in one line that names the one of the file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.llm.commands.conftest import Place, refusal

GOOD: list[dict[str, Any] | str] = [{"id": f"r{number}", "prompt": f"question {number}"} for number in range(1, 17)]


def nothing_happened(place: Place) -> None:
    assert place.files() == set()
    assert not place.standin.world.calls


@pytest.mark.parametrize("work", [(), ("--work",)])
def test_malformed_json_names_its_line(place: Place, work: tuple[str, ...]) -> None:
    path = place.write([*GOOD, '{"id": "r17", "prompt": "cut'])
    assert "line 17: " in refusal(place.submit(path, *work))
    nothing_happened(place)


def test_duplicate_ids_name_both_lines(place: Place) -> None:
    told = refusal(place.submit(place.write([*GOOD, {"id": "r3", "prompt": "again"}])))
    assert "line 17: the id 'r3' is that of line 3 too" in told or ("line 17" in told and "line 3" in told)
    nothing_happened(place)


def test_a_missing_key_is_refused_by_who_works_and_told_to_who_does_not(place: Place) -> None:
    path = place.write(GOOD)
    assert "set OPENAI_API_KEY" in refusal(place.submit(path, "--work", server=False))
    assert "set ANTHROPIC_API_KEY" in refusal(
        place.submit(path, "--work", "--provider", "anthropic", "--model", "claude-haiku-4-5", server=False)
    )
    nothing_happened(place)
    told = place.submit(path, server=False)
    assert told.exit_code == 0
    assert "set OPENAI_API_KEY" in told.stderr


def test_an_unknown_model_names_the_line_that_asks_it(place: Place) -> None:
    told = refusal(place.submit(place.write([*GOOD, {"id": "x", "prompt": "x", "model": "gpt-0"}])))
    assert "line 17: no price is known for model 'gpt-0'" in told
    nothing_happened(place)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--max-cost", "0"), "--max-cost is 0: a ceiling of nothing"),
        (("--max-cost", "-1"), "--max-cost is -1"),
        (("--max-cost", "0.0000000001"), "a ceiling of nothing"),
        (("--max-cost", "nan"), "not an amount of dollars"),
        (("--max-cost", "lots"), "not an amount of dollars"),
        (("--max-cost", "0.000001"), "is too low: a single prompt reserves up to"),
        (("--soft-cost", "2"), "--soft-cost is over the hard ceiling"),
        (("--provider", "gemini"), "gemini is not supported yet"),
        (("--provider", "anthropic", "--model", "claude-haiku-4-5", "--mode", "background"), "no mode background"),
        (("--price", "cheap"), "is not a price"),
        (("--schema", "none.json"), "cannot read a JSON Schema from none.json"),
        (("--check", "nowhere:Model"), "cannot import the model 'nowhere:Model'"),
        (("--check", "a:B", "--schema", "b.json"), "give either --schema or --check"),
        (("--job", "../x"), "a job cannot be called"),
        (("--template", "{nothing}"), "line 1"),
        (("--parameter", "temperature"), "give NAME=VALUE"),
        (("--parameter", "service_tier=best"), "service_tier"),
    ],
)
def test_options_that_cannot_be(place: Place, words: tuple[str, ...], why: str) -> None:
    path = place.write(GOOD)
    assert why in refusal(place.submit(path, *words))
    nothing_happened(place)


def test_a_database_in_a_folder_that_is_not_there(place: Place) -> None:
    place.database = "nowhere/llm.db"
    assert "the folder nowhere does not exist" in refusal(place.submit(place.write(GOOD)))
    nothing_happened(place)


def test_a_job_that_costs_money_needs_a_ceiling(place: Place) -> None:
    path = place.write(GOOD)
    told = refusal(place.run("submit", str(path), "--model", "gpt-5-mini", "--max-output-tokens", "50"))
    assert "--max-cost is missing: this job costs $" in told
    nothing_happened(place)


def test_a_parameter_that_the_provider_refuses_names_the_line(place: Place) -> None:
    path = place.write([*GOOD, {"id": "x", "prompt": "x", "parameters": {"stop": ["."]}}])
    assert "line 17: " in refusal(place.submit(path, "--mode", "background"))
    nothing_happened(place)


def test_no_prompts_and_no_file(place: Place) -> None:
    assert "holds no prompt" in refusal(place.submit(place.write([])))
    assert "cannot read" in refusal(place.submit(place.folder / "missing.jsonl"))
    nothing_happened(place)


def test_another_job_of_the_name(place: Place) -> None:
    assert place.submit(place.write(GOOD), "--job", "mine").exit_code == 0
    told = place.submit(place.write(GOOD[:3], "other.jsonl"), "--job", "mine")
    assert told.exit_code == 2
    assert "job mine exists already and asks something else" in told.stderr


@pytest.mark.parametrize("command", ["status", "watch", "results", "cancel", "resume", "delete"])
def test_a_job_that_is_not_there(place: Place, command: str) -> None:
    assert place.run(command, "nothing").exit_code == 2
    assert place.files() == set()
    assert place.submit(place.write(GOOD)).exit_code == 0
    assert "there is no job nothing" in refusal(place.run(command, "nothing"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--header", "api-key=abc"), "--header api-key=env:VARIABLE"),
        (("--header", "api-key"), "not NAME=VALUE"),
        (("--header", "a b=c"), "not a header"),
        (("--query", "=preview"), "not NAME=VALUE"),
    ],
)
def test_headers_and_queries_that_cannot_be_kept_are_refused(place: Place, words: tuple[str, ...], told: str) -> None:
    path = place.write([{"prompt": "why?"}])
    assert told in refusal(place.submit(path, *words))
    assert place.files() == set()


def test_a_header_from_the_environment_is_sent_and_stored_nowhere(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place.write([{"prompt": "why?"}])
    words = ("--header", "api-key=env:GATEWAY_KEY", "--query", "api-version=preview", "--mode", "chat", "--job", "j")
    assert "set GATEWAY_KEY" in refusal(place.submit(path, *words, "--work"))
    monkeypatch.setenv("GATEWAY_KEY", "very-secret-value")
    assert place.submit(path, *words, "--work").exit_code == 0
    stored = b"".join(file.read_bytes() for file in place.folder.glob("*.db*"))
    assert b"very-secret-value" not in stored
    assert b"env:GATEWAY_KEY" in stored
