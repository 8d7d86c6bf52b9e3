"""A fault means the same wherever a provider says it: over HTTP, of a batch, in a line of it, in a result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ramet.llm.errors import NotAllowed, ProviderError, Refused, TooBusy
from ramet.llm.providers.anthropic_client import anthropic_fault, read_result
from ramet.llm.providers.openai_answers import read_chat
from ramet.llm.providers.openai_batch_lines import problem_of, read_line
from ramet.llm.providers.openai_errors import fault_of
from ramet.llm.refusals import Meaning, fault_text, meaning_of

KEY = "0123456789abcdef" * 4

OF_OPENAI = [
    (429, {"code": "insufficient_quota", "type": "insufficient_quota"}, Meaning.ACCOUNT),
    (429, {"code": None, "type": "insufficient_quota"}, Meaning.ACCOUNT),
    (400, {"code": "billing_hard_limit_reached", "type": "invalid_request_error"}, Meaning.ACCOUNT),
    (429, {"code": "billing_not_active", "type": "billing_not_active"}, Meaning.ACCOUNT),
    (401, {"code": "invalid_api_key", "type": "invalid_request_error"}, Meaning.ACCOUNT),
    (403, {"code": "unsupported_country_region_territory", "type": "request_forbidden"}, Meaning.ACCOUNT),
    (404, {"code": "model_not_found", "type": "invalid_request_error"}, Meaning.ACCOUNT),
    (404, {"code": "DeploymentNotFound"}, Meaning.ACCOUNT),
    (429, {"code": "rate_limit_exceeded", "type": "tokens"}, Meaning.BUSY),
    (429, {"code": 429, "status": "RESOURCE_EXHAUSTED"}, Meaning.BUSY),
    (429, {"code": "token_limit_exceeded"}, Meaning.BUSY),
    (503, {"code": None, "type": "service_unavailable"}, Meaning.BUSY),
    (503, {"code": None, "type": "server_error"}, Meaning.BUSY),
    (400, {"code": "content_policy_violation", "type": "invalid_request_error"}, Meaning.REQUEST),
    (403, {"code": "content_filter", "type": "forbidden_content"}, Meaning.REQUEST),
]
OF_ANTHROPIC = [
    (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to access it"}, Meaning.ACCOUNT),
    (400, {"type": "invalid_request_error", "details": {"error_code": "organization_on_hold"}}, Meaning.ACCOUNT),
    (429, {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}, Meaning.ACCOUNT),
    (401, {"type": "authentication_error"}, Meaning.ACCOUNT),
    (402, {"type": "billing_error"}, Meaning.ACCOUNT),
    (403, {"type": "permission_error"}, Meaning.ACCOUNT),
    (404, {"type": "not_found_error"}, Meaning.ACCOUNT),
    (429, {"type": "rate_limit_error"}, Meaning.BUSY),
    (429, {"type": "rate_limit_error", "details": {"error_code": "ramp_limit_exceeded"}}, Meaning.BUSY),
    (529, {"type": "overloaded_error"}, Meaning.BUSY),
    (413, {"type": "request_too_large"}, Meaning.REQUEST),
]
RAISED = {Meaning.ACCOUNT: NotAllowed, Meaning.BUSY: TooBusy, Meaning.REQUEST: Refused}


def error(told: dict[str, Any]) -> dict[str, Any]:
    return {"message": "it is told so", **told}


def line(told: dict[str, Any], status: int | None) -> bytes:
    """A line of a batch's error file: with the answer to its request, or with an error of the batch."""
    if status is None:
        return json.dumps({"custom_id": KEY, "response": None, "error": error(told)}).encode()
    return json.dumps({"custom_id": KEY, "response": {"status_code": status, "body": {"error": error(told)}}}).encode()


@pytest.mark.parametrize(("status", "told", "meaning"), OF_OPENAI)
@pytest.mark.parametrize("batch", [False, True])
def test_openai_says_it_over_http(status: int, told: dict[str, Any], meaning: Meaning, batch: bool) -> None:
    fault = fault_of(status, {}, error(told), host="h", key=None, submit=True, batch=batch)
    assert type(fault) is RAISED[meaning]
    assert "it is told so" in str(fault)


@pytest.mark.parametrize(("status", "told", "meaning"), OF_OPENAI)
def test_openai_says_it_in_a_line(status: int, told: dict[str, Any], meaning: Meaning) -> None:
    answer = read_line(line(told, status))
    assert answer is not None
    assert (answer.meaning, answer.retriable) == (meaning, meaning is Meaning.BUSY)
    assert answer.error == "it is told so"


@pytest.mark.parametrize(("status", "told", "meaning"), OF_OPENAI)
def test_openai_says_it_in_a_line_without_a_status_and_in_an_answer_with_status_200(
    status: int, told: dict[str, Any], meaning: Meaning
) -> None:
    # Without a status only its codes can say so.
    by_code = meaning_of(told)
    answer = read_line(line(told, None))
    assert answer is not None
    assert answer.meaning == by_code == read_chat(KEY, {"error": error(told)}).meaning
    assert by_code in (meaning, Meaning.AGAIN if told.get("type") == "server_error" else None)


@pytest.mark.parametrize(("status", "told", "meaning"), OF_OPENAI)
def test_openai_says_it_of_a_batch(status: int, told: dict[str, Any], meaning: Meaning) -> None:
    words, found = problem_of({"errors": {"data": [error(told)]}})
    assert words.endswith(": it is told so")
    assert found in (meaning, meaning_of(told))


@pytest.mark.parametrize(("status", "told", "meaning"), OF_ANTHROPIC)
def test_anthropic_says_it_over_http(status: int, told: dict[str, Any], meaning: Meaning) -> None:
    body = {"type": "error", "error": error(told)}
    fault = anthropic_fault(status, {}, body, host="h", key=None, submit=True, batch=True)
    assert type(fault) is RAISED[meaning]


@pytest.mark.parametrize(("status", "told", "meaning"), OF_ANTHROPIC)
@pytest.mark.parametrize("nested", [False, True])
def test_anthropic_says_it_in_a_result(status: int, told: dict[str, Any], meaning: Meaning, nested: bool) -> None:
    found = {"type": "error", "error": error(told)} if nested else error(told)
    answer = read_result(KEY, {"type": "errored", "error": found})
    assert (answer.meaning, answer.retriable) == (meaning, meaning is Meaning.BUSY)


@pytest.mark.parametrize(
    ("told", "meaning"),
    [
        ({"code": "token_limit_exceeded", "line": None}, Meaning.BUSY),
        ({"code": "invalid_json_line", "line": 7}, Meaning.BATCH),
        ({"code": "a_code_of_tomorrow", "line": 7}, Meaning.BATCH),
        ({"code": "a_code_of_tomorrow", "line": None}, None),
        ({"code": "too_many_tasks"}, Meaning.BATCH),
        ({"code": "server_error"}, Meaning.AGAIN),
        ({}, None),
    ],
)
def test_a_batch_is_halved_only_where_it_is_at_fault_itself(told: dict[str, Any], meaning: Meaning | None) -> None:
    assert problem_of({"errors": {"data": [error(told)]}})[1] is meaning
    assert problem_of({"errors": {"data": []}})[1] is None


@pytest.mark.parametrize(
    ("status", "told", "meaning"),
    [
        (400, {"code": "token_limit_exceeded"}, Meaning.REQUEST),
        (413, {"code": "rate_limit_exceeded", "type": "tokens"}, Meaning.REQUEST),
        (404, {"type": "api_error"}, Meaning.ACCOUNT),
        (400, {"type": "api_error"}, Meaning.REQUEST),
        (500, {"type": "server_error"}, Meaning.AGAIN),
        (409, {}, Meaning.AGAIN),
        (418, {"code": "teapot"}, Meaning.REQUEST),
        (None, {"code": "teapot"}, None),
    ],
)
def test_a_status_decides_where_codes_are_wide_or_unknown(
    status: int | None, told: dict[str, Any], meaning: Meaning | None
) -> None:
    assert meaning_of(told, status) is meaning


def test_google_wraps_its_errors_in_a_list() -> None:
    body = [{"error": error({"code": 401, "status": "UNAUTHENTICATED"})}]
    fault: ProviderError = fault_of(400, {}, body, host="h", key=None, submit=True)
    assert isinstance(fault, NotAllowed)
    assert "it is told so" in str(fault)


def test_a_negative_retry_after_is_absent() -> None:
    fault = fault_of(429, {"retry-after": "-5"}, {}, host="h", key=None, submit=True)
    assert isinstance(fault, TooBusy)
    assert fault.seconds is None


@pytest.mark.parametrize(
    ("key", "words", "shown"),
    [
        ("x", "max_tokens is too large for x", "max_tokens is too large for ***"),
        ("ma", "the maximum is ma-1 or ma", "the maximum is ma-1 or ***"),
        ("sk-123456789", "what is sk-123456789?", "what is ***?"),
        ("sk-123456789", "Incorrect API key: sk-12****6789. See there", "Incorrect API key: *** See there"),
        (None, "no key is known", "no key is known"),
    ],
)
def test_a_key_is_struck_out_of_words_and_nothing_else(key: str | None, words: str, shown: str) -> None:
    assert fault_text({"message": words}, key) == shown
