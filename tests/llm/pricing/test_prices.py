"""Prices: from the list, as given, converted exactly; what is not known is refused."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage as ListUsage
from genai_prices import calc_price
from genai_prices.data_snapshot import get_snapshot

from ramet.llm.errors import LlmError, UnknownModel
from ramet.llm.pricing.prices import Price, Tier, cost_of, given_price, price_of
from ramet.llm.providers.base import TokenUsage

DOLLAR = 1_000_000_000
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a price list is no reason to call anybody")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_known_model_has_the_prices_of_the_list_in_nano_dollars() -> None:
    price = price_of("gpt-5.2", "openai", now=NOW)
    assert (price.input, price.cached, price.output) == (1_750_000_000, 175_000_000, 14 * DOLLAR)
    assert "gpt-5.2" in price.source
    assert "genai-prices" in price.source


@pytest.mark.parametrize("model", ["gpt-5.2", "gpt-6-astra", "gpt-4o-mini", "gpt-4.1", "o3"])
@pytest.mark.parametrize("tokens", [(1, 0, 1), (1_000, 400, 77), (272_000, 0, 10), (272_001, 271_000, 128_000)])
def test_what_is_booked_is_what_the_list_computes_rounded_up_to_a_nano_dollar(
    model: str, tokens: tuple[int, int, int]
) -> None:
    read, cached, written = tokens
    used = ListUsage(input_tokens=read, cache_read_tokens=cached, output_tokens=written)
    told = calc_price(used, model, provider_id="openai", genai_request_timestamp=NOW).total_price * DOLLAR
    mine = cost_of(TokenUsage(read, cached, written), price_of(model, "openai", now=NOW))
    assert 0 <= mine - told < 1


@pytest.mark.parametrize("model", ["gpt-5.2", "gpt-4.1", "gpt-3.5-turbo-1106"])
def test_a_batch_costs_what_the_list_says_of_batches(model: str) -> None:
    used = ListUsage(input_tokens=1_000, cache_read_tokens=400, output_tokens=77)
    told = calc_price(used, model, provider_id="openai", genai_request_timestamp=NOW,
                      price_context={"processing": "batch"}).total_price * DOLLAR  # fmt: skip
    mine = cost_of(TokenUsage(1_000, 400, 77), price_of(model, "openai", now=NOW), 0.5)
    assert 0 <= mine - told < 1


def test_a_model_with_tiers_is_billed_by_the_length_of_its_input() -> None:
    price = price_of("claude-sonnet-4-5", "anthropic", now=NOW)
    assert price.rates(200_000).input == price.input == 3 * DOLLAR
    assert price.rates(200_001).input == 6 * DOLLAR
    assert price.written == 3_750_000_000
    assert cost_of(TokenUsage(1_000_000, 0, 0), price) == 6 * DOLLAR
    assert cost_of(TokenUsage(200_000, 0, 0), price) == 600_000_000


def test_input_written_to_a_cache_costs_what_that_costs() -> None:
    price = Price(100, 10, 500, "test", written=125)
    assert cost_of(TokenUsage(3_000_000, 1_000_000, 0, 1_000_000), price) == 100 + 10 + 125


def test_a_price_that_changes_within_the_day_is_taken_at_its_highest() -> None:
    times = [item for vendor in get_snapshot().providers for item in vendor.models
             if vendor.id == "deepseek" and isinstance(item.prices, list)]  # fmt: skip
    assert times, "the list has no model with prices by the hour any more"
    for model in times:
        price = price_of(model.id, "deepseek", now=NOW)
        for hour in range(24):
            used = ListUsage(input_tokens=1_000_000, output_tokens=1_000)
            told = calc_price(used, model.id, provider_id="deepseek", genai_request_timestamp=NOW.replace(hour=hour))
            assert cost_of(TokenUsage(1_000_000, 0, 1_000), price) >= told.total_price * DOLLAR


@pytest.mark.parametrize(
    ("model", "provider", "said"),
    [
        ("llama3", "openai", "no price is known for model 'llama3' of openai"),
        ("gpt-5.22", "openai", "did you mean gpt-5.2"),
        ("gpt-5.2", "nobody-at-all", "no price is known"),
        ("", "openai", "no price is known"),
        ("whisper-1", "openai", "no price per token"),
    ],
)
def test_a_model_without_a_price_is_refused_with_what_to_do(model: str, provider: str, said: str) -> None:
    with pytest.raises(UnknownModel, match="--price") as caught:
        price_of(model, provider, now=NOW)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_vendor_known_by_its_address_has_its_own_prices() -> None:
    there = price_of("llama-3.3-70b-versatile", "openai", base_url="https://api.groq.com/openai/v1", now=NOW)
    assert "groq" in there.source
    with pytest.raises(UnknownModel):
        price_of("llama-3.3-70b-versatile", "openai", base_url="http://127.0.0.1:8000/v1", now=NOW)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("0", (0, 0, 0)),
        ("0.0", (0, 0, 0)),
        ("1:2", (DOLLAR, DOLLAR, 2 * DOLLAR)),
        (" 1.75:14:0.175 ", (1_750_000_000, 175_000_000, 14 * DOLLAR)),
        (".5:1.", (500_000_000, 500_000_000, DOLLAR)),
        ("0.0000000001:0", (1, 1, 0)),
    ],
)
def test_a_given_price_is_read_exactly_and_a_fraction_of_a_nano_dollar_rounds_up(
    text: str, amounts: tuple[int, int, int]
) -> None:
    price = given_price(text)
    assert (price.input, price.cached, price.output) == amounts
    assert price.free == (amounts == (0, 0, 0))
    assert price_of("whatever", "openai", text) == price


@pytest.mark.parametrize(
    "text",
    ["", "1", "-1:2", "nan:1", "inf:1", "1:2:3:4", "1,5:2", "1e3:2", "a:b", "1:", ":", "٣:1", "1:2\n3", "1000001:1"],
)
def test_what_is_no_price_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(LlmError) as caught:
        given_price(text)
    assert "\n" not in str(caught.value)
    assert "--price" in str(caught.value)


def test_a_price_travels_as_json() -> None:
    for price in (price_of("claude-sonnet-4-5", "anthropic", now=NOW), given_price("1:2:0.5")):
        assert Price.from_json(json.loads(json.dumps(price.as_json()))) == price


def test_every_priced_model_of_the_list_converts_without_loss() -> None:
    seen = 0
    for vendor in get_snapshot().providers:
        if vendor.id not in ("openai", "anthropic", "google", "mistral", "deepseek"):
            continue
        for model in vendor.models:
            listed = model.get_prices(NOW)
            if not (isinstance(listed.input_mtok, Decimal) and isinstance(listed.output_mtok, Decimal)):
                continue
            try:
                price = price_of(model.id, vendor.id, now=NOW)
            except UnknownModel:
                continue
            seen += 1
            assert price.input >= listed.input_mtok * DOLLAR
            assert price.output >= listed.output_mtok * DOLLAR
            if not isinstance(model.prices, list):
                assert price.input - listed.input_mtok * DOLLAR < 1
    assert seen > 100


def test_the_highest_tier_within_reach_bounds() -> None:
    price = Price(100, 10, 500, "test", tiers=(Tier(1_000, 50, 60, 700, 0), Tier(9_000, 900, 90, 900, 1_000)))
    assert price.highest(1_000) == (100, 500)
    assert price.highest(1_001) == (100, 700)
    assert price.highest(9_001) == (1_000, 900)
