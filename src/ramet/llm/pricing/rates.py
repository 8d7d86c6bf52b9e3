"""What a price is: whole nano-dollars per million tokens, and exact arithmetic with them that rounds up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ramet.llm.providers.base import Usage

PER_TOKENS = 1_000_000
"""Prices are told for so many tokens."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Prices of a call with more input tokens than ``start``, for all of its tokens."""

    start: int
    input: int
    cached: int
    output: int
    written: int


@dataclass(frozen=True, slots=True)
class Price:
    """Nano-dollars per million tokens of a model."""

    input: int
    cached: int
    """Of input that the provider had in its cache."""
    output: int
    source: str
    """Who told it, for people: ``genai-prices 0.2.3, openai gpt-5.2``."""
    written: int = 0
    """Of input that the provider writes to its cache; 0 when that costs no more than other input."""
    tiers: tuple[Tier, ...] = ()
    """By ascending start: what longer calls cost."""
    in_batch: Price | None = None
    """The provider's own prices of batches, where they are known; else the general discount is taken."""

    @property
    def free(self) -> bool:
        """Nothing costs anything, as on a server of one's own."""
        return not any((self.input, self.cached, self.output, self.written, *self.tiers))

    def rates(self, input_tokens: int) -> Tier:
        """The tier that a call of so much input is billed by."""
        for tier in reversed(self.tiers):
            if input_tokens > tier.start:
                return tier
        return Tier(0, self.input, self.cached, self.output, self.written)

    def dearest(self, input_tokens: int) -> tuple[int, int]:
        """The highest price of input and of output that a call of at most so much input can be billed by."""
        within = [self.rates(0), *(tier for tier in self.tiers if input_tokens > tier.start)]
        return max(max(t.input, t.cached, t.written) for t in within), max(t.output for t in within)

    def as_json(self) -> dict[str, Any]:
        """JSON values, for a payload; :meth:`from_json` takes them back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Price:
        """The price that :meth:`as_json` told."""
        given = dict(value)
        tiers = tuple(Tier(**tier) for tier in given.pop("tiers", ()))
        batch = given.pop("in_batch", None)
        return cls(**given, tiers=tiers, in_batch=None if batch is None else cls.from_json(batch))


def billed_by(price: Price, discount: float) -> tuple[Price, float]:
    """The price and factor of a call: a batch has the provider's own batch prices where those are known."""
    return (price.in_batch, 1.0) if discount < 1.0 and price.in_batch is not None else (price, discount)


@lru_cache(maxsize=64)
def _factor(discount: float) -> tuple[int, int]:
    """The factor as it is written: 0.1 is a tenth, not the binary number nearest to it."""
    exact = Fraction(str(discount))
    if exact < 0:
        raise ValueError(f"a discount of {discount}: give the factor on the price, 0 to 1")
    return exact.numerator, exact.denominator


def amount(micro: int, discount: float) -> int:
    """Nano-dollars of tokens times prices per million, rounded up."""
    above, below = _factor(discount)
    return -(-micro * above // (PER_TOKENS * below))


def cost_of(usage: Usage, price: Price, discount: float = 1.0) -> int:
    """What a call cost, nano-dollars: exact, and rounded up once at the end.

    Args:
        usage: as the provider counted it.
        discount: factor on the price, :attr:`Caps.discount`.
    """
    held, factor = billed_by(price, discount)
    rates = held.rates(usage.input_tokens)
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.written_tokens, usage.input_tokens - cached)
    fresh = usage.input_tokens - cached - written
    micro = fresh * rates.input + cached * rates.cached + usage.output_tokens * rates.output
    return amount(micro + written * max(rates.input, rates.written), factor)


def bound(input_tokens: int, output_tokens: int, price: Price, discount: float = 1.0) -> int:
    """The most that a call of at most so many tokens can cost, nano-dollars."""
    held, factor = billed_by(price, discount)
    dearest_input, dearest_output = held.dearest(input_tokens)
    return amount(input_tokens * dearest_input + output_tokens * dearest_output, factor)
