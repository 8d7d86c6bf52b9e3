"""What Anthropic's API answered, refused and told in its headers."""

from __future__ import annotations

from typing import Any

import pytest

from ramet.llm.errors import Ambiguous, NotAllowed, NotSent, ProviderError, Refused, TooBusy
from ramet.llm.providers.anthropic_batches import mark_of, name_of, read_name
from ramet.llm.providers.anthropic_client import anthropic_fault, rates_from, read_message, read_result
from ramet.llm.providers.base import AnswerState, RateLimit, TokenUsage
from ramet.llm.providers.openai_errors import Conflict, NotFound

KEY = "0123456789abcdef" * 4
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 7}


def message(*content: object, reason: str | None = "end_turn", **more: object) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": reason,
        "content": list(content) or [{"type": "text", "text": "yes"}], "usage": USAGE,
    } | more  # fmt: skip


def error(kind: str, **details: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": "told so", "details": details or None}}


def test_a_cache_is_counted_as_input_and_told_apart() -> None:
    answer = read_message("k", message())
    assert (answer.state, answer.text, answer.model) == (AnswerState.SUCCEEDED, "yes", "claude-sonnet-4-6")
    assert answer.usage == TokenUsage(input_tokens=28, cached_tokens=20, output_tokens=7, written_tokens=3)


def test_thoughts_are_left_out_and_tool_calls_are_kept() -> None:
    thought, call = {"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "look", "input": {}}
    answer = read_message("k", message(thought, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, call))
    assert (answer.text, answer.raw) == ("ab", {"content": [call]})


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("max_tokens", "max_output_tokens"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window"),
        ("a_new_reason", "a_new_reason"),
    ],
)
def test_what_is_cut_off_is_incomplete_and_billed(reason: str, code: str) -> None:
    answer = read_message("k", message(reason=reason))
    assert (answer.state, answer.code) == (AnswerState.INCOMPLETE, code)
    assert answer.error
    assert answer.usage.output_tokens == 7


@pytest.mark.parametrize("body", [{}, message(reason=None), message(content="text"), message(type="other")])
def test_what_is_no_message_is_unreadable_and_may_have_been_billed(body: dict[str, Any]) -> None:
    answer = read_message("k", body)
    assert (answer.state, answer.code, answer.usage_known) == (AnswerState.FAILED, "unreadable", False)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 1}, {"input_tokens": "1", "output_tokens": 2}])
def test_a_usage_that_is_not_told_is_not_taken_for_nothing(usage: object) -> None:
    assert not read_message("k", message(usage=usage)).usage_known


@pytest.mark.parametrize(
    ("result", "state", "code", "retriable"),
    [
        ({"type": "canceled"}, AnswerState.CANCELLED, "cancelled", False),
        ({"type": "expired"}, AnswerState.EXPIRED, "expired", False),
        ({"type": "errored", "error": error("billing_error")}, AnswerState.FAILED, "billing_error", False),
        ({"type": "errored", "error": error("overloaded_error")}, AnswerState.FAILED, "overloaded_error", True),
        ({"type": "errored", "error": error("api_error")["error"]}, AnswerState.FAILED, "api_error", True),
        ({"type": "errored"}, AnswerState.FAILED, "failed", False),
        ({"type": "new"}, AnswerState.FAILED, "unreadable", True),
        ("nothing", AnswerState.FAILED, "unreadable", True),
    ],
)  # fmt: skip
def test_a_result_of_a_batch_tells_what_became_of_it(
    result: object, state: AnswerState, code: str, retriable: bool
) -> None:
    answer = read_result("k", result)
    assert (answer.key, answer.state, answer.code, answer.retriable) == ("k", state, code, retriable)
    assert answer.error


@pytest.mark.parametrize(
    ("status", "body", "submit", "kind"),
    [
        (429, error("rate_limit_error"), True, TooBusy),
        (529, error("overloaded_error"), True, TooBusy),
        (429, error("rate_limit_error", error_code="enforced_spend_limit_reached"), True, NotAllowed),
        (400, error("invalid_request_error", error_code="organization_on_hold"), True, NotAllowed),
        (400, {"error": {"message": "Your credit balance is too low to use this"}}, True, NotAllowed),
        (400, error("invalid_request_error"), True, Refused),
        (400, error("invalid_request_error"), False, Conflict),
        (401, error("authentication_error"), True, NotAllowed),
        (402, error("billing_error"), True, NotAllowed),
        (404, error("not_found_error"), True, NotAllowed),
        (404, error("not_found_error"), False, NotFound),
        (413, "<html>too large</html>", True, Refused),
        (500, error("api_error"), True, Ambiguous),
        (500, error("api_error"), False, NotSent),
        (504, error("timeout_error"), True, Ambiguous),
    ],
)
def test_a_refusal_tells_what_is_known_about_the_batch(
    status: int, body: object, submit: bool, kind: type[ProviderError]
) -> None:
    fault = anthropic_fault(status, {"retry-after": "130"}, body, host="h", key="k", submit=submit, batch=submit)
    # A time to come back, where one is told, makes a NotSent a TooBusy.
    assert isinstance(fault, kind)
    assert getattr(fault, "seconds", 130.0) == 130.0


def test_no_message_repeats_the_key() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "what is sk-ant-secret?"}}
    fault = anthropic_fault(400, {}, body, host="h", key="sk-ant-secret", submit=True, batch=True)
    assert "sk-ant-secret" not in str(fault)
    assert "what is" in str(fault)


def test_a_reset_is_a_moment_on_the_servers_clock() -> None:
    headers = {"date": "Sun, 22 Nov 2026 12:00:00 GMT"}
    for of, limit, remaining, reset in (("requests", 50, 49, "12:00:01"), ("tokens", 4000, 0, "11:59:00")):
        headers |= {
            f"anthropic-ratelimit-{of}-limit": str(limit),
            f"anthropic-ratelimit-{of}-remaining": str(remaining),
            f"anthropic-ratelimit-{of}-reset": f"2026-11-22T{reset}Z",
        }
    assert rates_from(headers) == (RateLimit("requests", 50, 49, 1.0), RateLimit("tokens", 4000, 0, 0.0))


@pytest.mark.parametrize("reset", ["", "soon", "2026-11-22T12:00:00", "9" * 30])
def test_a_reset_that_is_none_is_left_out(reset: str) -> None:
    headers = {"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-reset": reset}
    assert rates_from(headers) == (RateLimit("requests", 50, None, None),)
    assert rates_from({"anthropic-ratelimit-tokens-limit": "many"}) == ()


def test_a_name_carries_the_key_and_the_mark_in_what_anthropic_allows() -> None:
    name = name_of(KEY, mark_of("job 1, batch 2"))
    assert len(name) == 64
    assert name.replace("-", "").replace("_", "").isalnum()
    assert read_name(name) == (KEY, mark_of("job 1, batch 2"))
    assert mark_of("job 1, batch 2") != mark_of("job 1, batch 3")


@pytest.mark.parametrize("name", [None, 7, "", "somebody-elses", "a" * 63, "ä" * 64, "!" * 64])
def test_a_name_of_somebody_else_is_none_of_ours(name: object) -> None:
    assert read_name(name) is None


@pytest.mark.parametrize("key", ["", "short", "G" * 64, KEY.upper()])
def test_a_key_that_is_no_digest_is_refused(key: str) -> None:
    with pytest.raises(Refused):
        name_of(key, mark_of("s"))
