"""An estimate: its worst is what is reserved, its likely lies between, and the ceiling is judged by both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.llm.errors import UnknownModel
from ramet.llm.pricing.estimate import CALL_SECONDS, Estimate, estimate, fit, in_time, lines
from ramet.llm.pricing.prices import Price, given_price, price_of, reserve_amount
from ramet.llm.providers.base import Mode
from tests.llm.pricing.sample_requests import asked
from tests.llm.pricing.test_mode_choice import ALL, LOCAL

DOLLAR = 1_000_000_000


def listed(model: str) -> Price:
    return price_of(model, "openai")


def test_the_worst_is_what_is_reserved_in_the_mode_that_is_chosen() -> None:
    requests = [asked(f"question {number}", most=1_000) for number in range(700)]
    few = estimate(requests[:500], listed, ALL, requests_per_second=1.0)
    many = estimate(requests, listed, ALL, requests_per_second=1.0)
    assert (few.choice.mode, many.choice.mode) == (Mode.BACKGROUND, Mode.BATCH)
    price = listed("gpt-5.2")
    assert few.costs.worst == sum(reserve_amount(request, price, 1.0) for request in requests[:500])
    assert many.costs.worst == sum(reserve_amount(request, price, 0.5) for request in requests)
    assert many.costs.largest == max(reserve_amount(request, price, 0.5) for request in requests)


def test_the_same_question_is_counted_and_paid_for_once() -> None:
    found = estimate([asked("same")] * 1_000 + [asked("other")], listed, ALL, requests_per_second=1.0)
    assert (found.rows, found.questions) == (1_001, 2)
    assert found.costs == estimate([asked("same"), asked("other")], listed, ALL, requests_per_second=1.0).costs
    assert "1,001 rows, 2 different" in lines(found)[0]


def test_each_model_has_its_own_price_asked_for_once() -> None:
    seen: list[str] = []

    def price_for(model: str) -> Price:
        seen.append(model)
        return given_price("1:2") if model == "mine" else price_of(model, "openai")

    models = ("gpt-5.2", "gpt-4o-mini", "mine")
    found = estimate([asked(str(number), model=models[number % 3]) for number in range(9)], price_for, ALL,
                     requests_per_second=1.0)  # fmt: skip
    assert seen == list(models)
    assert [(part.model, part.questions) for part in found.models] == [(model, 3) for model in models]
    assert found.costs.worst == sum(part.costs[found.choice.mode].worst for part in found.models)
    assert "given with --price" in "\n".join(lines(found))


def test_a_model_without_a_price_stops_the_estimate() -> None:
    with pytest.raises(UnknownModel, match="--price"):
        estimate([asked(model="llama3")], listed, ALL, requests_per_second=1.0)


def test_answers_that_are_paid_for_again_make_the_worst_worse_and_nothing_else() -> None:
    one = estimate([asked()], listed, ALL, requests_per_second=1.0).costs
    three = estimate([asked()], listed, ALL, requests_per_second=1.0, answers_max=3).costs
    assert three == replace(one, worst=3 * one.worst)


def test_how_long_answers_are_can_be_said() -> None:
    def likely(tokens: int | None) -> int:
        return estimate([asked(most=4_000)], listed, ALL, requests_per_second=1.0, answer_tokens=tokens).costs.likely

    assert likely(None) == likely(1_000)
    assert likely(1) < likely(1_000) < likely(4_000) == likely(10**9)


def test_a_server_that_costs_nothing_costs_nothing() -> None:
    found = estimate([asked(model="mine")], lambda model: given_price("0"), LOCAL, requests_per_second=1.0, ceiling=0)
    assert (found.costs.worst, found.choice.mode) == (0, Mode.CHAT)
    assert fit(found).startswith("fits")


def told(ceiling: Callable[[Estimate], int | None]) -> str:
    requests = [asked(f"question {number}", most=1_000) for number in range(100)]
    found = estimate(requests, listed, ALL, requests_per_second=1.0)
    return fit(replace(found, ceiling=ceiling(found)))


def test_the_ceiling_is_judged_by_the_worst_the_likely_and_the_largest() -> None:
    assert told(lambda found: None) == "no ceiling is set"
    assert told(lambda found: found.costs.worst).startswith("fits: even at worst")
    assert told(lambda found: found.costs.worst - 1).startswith("likely to fit")
    assert "reserves for about 99 prompts at once" in told(lambda found: found.costs.worst - 1)
    half = told(lambda found: found.costs.likely // 2)
    assert "likely to stop after about 49 of 100 prompts" in half or "after about 50 of 100" in half
    assert "a single prompt reserves" in told(lambda found: found.costs.largest - 1)


def test_the_calls_take_at_least_what_the_rate_allows() -> None:
    requests = [asked(str(number)) for number in range(1_200)]
    alone = estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.BACKGROUND)
    assert alone.seconds == 1_200.0, "sent, and asked about once"
    assert estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.CHAT).seconds == 600.0
    assert estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.BATCH).seconds == 1.0


def test_a_job_that_ends_before_it_is_done_is_told() -> None:
    requests = [asked(str(number)) for number in range(1_200)]
    found = estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.BACKGROUND, job_seconds=600.0)
    assert in_time(found).endswith("Too long: the job ends after 10 min, when about 600 are asked")
    assert "Too long" not in in_time(replace(found, job_seconds=1_200.0))
    assert found.as_json()["job_seconds"] == 600.0
    assert estimate([], listed, ALL, requests_per_second=1.0).job_seconds == 48 * 3_600.0


def test_an_estimate_is_json_and_lines() -> None:
    found = estimate([asked(), asked("b")], listed, ALL, requests_per_second=1.0, ceiling=DOLLAR)
    value = json.loads(json.dumps(found.as_json()))
    assert (value["questions"], value["mode"], value["fits"]) == (2, "background", True)
    assert (value["worst"], value["models"][0]["worst"]) == (found.costs.worst, found.costs.worst)
    assert all("\n" not in line for line in lines(found))
    assert "genai-prices" in lines(found)[1]


def test_nothing_to_ask_costs_nothing() -> None:
    found = estimate([], listed, ALL, requests_per_second=1.0, ceiling=0)
    assert (found.rows, found.costs.worst, found.seconds) == (0, 0, 0.0)
    assert lines(found)


@settings(deadline=None)
@given(
    texts=st.lists(st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace").decode()), max_size=8),
    most=st.integers(1, 5_000),
    mode=st.sampled_from(list(Mode)),
    model=st.sampled_from(["gpt-5.2", "gpt-4.1", "gpt-6-astra"]),
    answer=st.none() | st.integers(0, 10_000),
)
def test_lowest_likely_and_worst_are_in_order(
    texts: list[str], most: int, mode: Mode, model: str, answer: int | None
) -> None:
    requests = [asked(text, most=most, model=model) for text in texts]
    costs = estimate(requests, listed, ALL, requests_per_second=1.0, answer_tokens=answer, given=mode).costs
    assert 0 <= costs.lowest <= costs.likely <= costs.worst
    assert costs.largest <= costs.worst


def test_a_job_whose_calls_answer_at_once_takes_as_long_as_so_many_at_a_time_take() -> None:
    requests = [asked(f"question {number}") for number in range(1_000)]
    found = estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.CHAT).at_once(50, None)
    assert found.seconds == 1_000 * CALL_SECONDS / 50
    assert in_time(found) == "the calls take 40 s if each takes 2 s, 50 at a time"
    assert found.at_once(50, 60.0).seconds == 1_000.0
    later = estimate(requests, listed, ALL, requests_per_second=2.0, given=Mode.BATCH)
    assert later.at_once(50, None) == later
