"""A reservation is an upper bound of the price, to the nano-dollar, whatever the numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet.llm.pricing.prices import PER_TOKENS, Price, Tier, billed_by, cost_of, price_of, reserve_amount
from ramet.llm.pricing.tokens import estimated_tokens
from ramet.llm.providers.base import TokenUsage
from tests.llm.pricing.sample_requests import asked

AMOUNTS = st.integers(0, 10**15)
DISCOUNTS = st.sampled_from([1.0, 0.5, 0.1, 0.3, 0.25, 1 / 3])
TIERS = st.lists(
    st.builds(Tier, st.integers(0, 400), AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS), max_size=3, unique_by=lambda t: t.start
).map(lambda tiers: tuple(sorted(tiers, key=lambda tier: tier.start)))
PLAIN = st.builds(Price, AMOUNTS, AMOUNTS, AMOUNTS, st.just("test"), written=AMOUNTS, tiers=TIERS, in_batch=st.none())
PRICES = PLAIN | st.builds(
    Price, AMOUNTS, AMOUNTS, AMOUNTS, st.just("test"), written=AMOUNTS, tiers=TIERS, in_batch=PLAIN
)


@settings(deadline=None)
@given(text=st.text(max_size=600), most=st.integers(1, 10**6), price=PRICES, discount=DISCOUNTS, data=st.data())
def test_what_is_within_the_bounds_never_costs_more_than_was_reserved(
    text: str, most: int, price: Price, discount: float, data: st.DataObject
) -> None:
    request = asked(text.encode("utf-8", "replace").decode(), most=most, model="other")
    read = data.draw(st.integers(0, estimated_tokens(request)))
    cached = data.draw(st.integers(0, read + 5))
    written = data.draw(st.integers(0, read + 5))
    usage = TokenUsage(read, cached, data.draw(st.integers(0, most)), written)
    assert 0 <= cost_of(usage, price, discount) <= reserve_amount(request, price, discount)


@settings(deadline=None)
@given(price=PLAIN, discount=DISCOUNTS, read=st.integers(0, 10**7), out=st.integers(0, 10**7), share=st.floats(0, 1))
def test_a_cost_is_the_exact_one_rounded_up_once(
    price: Price, discount: float, read: int, out: int, share: float
) -> None:
    cached = int(read * share)
    rates = price.rates(read)
    exact = Fraction((read - cached) * rates.input + cached * rates.cached + out * rates.output, PER_TOKENS)
    exact *= Fraction(str(discount))
    mine = cost_of(TokenUsage(read, cached, out), price, discount)
    assert type(mine) is int
    assert 0 <= mine - exact < 1


@settings(deadline=None)
@given(price=PLAIN, read=st.integers(0, 10**6), out=st.integers(0, 10**6), more=st.integers(0, 10**6))
def test_more_output_never_costs_less(price: Price, read: int, out: int, more: int) -> None:
    assert cost_of(TokenUsage(read, 0, out), price) <= cost_of(TokenUsage(read, 0, out + more), price)


def test_a_tenth_is_a_tenth() -> None:
    assert cost_of(TokenUsage(PER_TOKENS, 0, 0), Price(30, 0, 0, "test"), 0.1) == 3


def test_sums_of_a_large_job_do_not_drift() -> None:
    price = price_of("gpt-5.2", "openai")
    one = cost_of(TokenUsage(1_234, 0, 321), price)
    assert one == -(-(1_234 * 1_750_000_000 + 321 * 14_000_000_000) // PER_TOKENS)
    assert sum(one for _ in range(100_000)) == 100_000 * one


def test_a_server_that_costs_nothing_reserves_nothing() -> None:
    assert reserve_amount(asked(most=100_000), price_of("llama3", "openai", "0")) == 0


@pytest.mark.parametrize("discount", [-0.5, float("nan"), float("inf")])
def test_a_discount_that_cannot_be_is_refused(discount: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        cost_of(TokenUsage(1, 0, 1), Price(1, 1, 1, "test"), discount)


def test_a_batch_without_prices_of_its_own_takes_the_discount() -> None:
    price = Price(100, 10, 500, "test")
    assert billed_by(price, 0.5) == (price, 0.5)
    own = Price(100, 10, 500, "test", in_batch=Price(40, 10, 200, "batch"))
    assert billed_by(own, 0.5) == (own.in_batch, 1.0)
    assert billed_by(own, 1.0) == (own, 1.0)
