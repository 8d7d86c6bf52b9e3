"""Prices: whole nano-dollars per million tokens, and exact arithmetic with them that rounds up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ramet import NANO_DOLLARS
from ramet.commands.extras import import_extra
from ramet.llm.errors import LLM_EXTRA, LlmError, UnknownModel
from ramet.llm.pricing.tokens import estimated_tokens
from ramet.llm.providers.base import TokenUsage
from ramet.llm.requests import Request

PER_TOKENS = 1_000_000
"""Tokens to which a price applies."""


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
    """Price of input that the provider had in its cache."""
    output: int
    source: str
    """Source of the price, for people: ``genai-prices 0.2.3, openai gpt-5.2``."""
    written: int = 0
    """Price of input that the provider writes to its cache; 0 when that costs no more than other input."""
    tiers: tuple[Tier, ...] = ()
    """Prices of longer calls, by ascending start."""
    in_batch: Price | None = None
    """The provider's own prices of batches, where they are known; else the general discount is taken."""
    audio: int = 0
    """Price of input that is sound; 0 when that costs no more than other input."""
    of_tier: Mapping[str, Price] = field(default_factory=dict)
    """Price by service tier, ``flex`` or ``priority``, where the list has it."""

    def of(self, request: Request) -> Price:
        """Return the price of a request: of its service tier."""
        return self.of_tier.get(str(request.parameters.get("service_tier")), self)

    @property
    def free(self) -> bool:
        """Nothing costs anything, as on a server of one's own."""
        return not any((self.input, self.cached, self.output, self.written, *self.tiers))

    def rates(self, input_tokens: int) -> Tier:
        """Return the tier that a call of so much input is billed by."""
        for tier in reversed(self.tiers):
            if input_tokens > tier.start:
                return tier
        return Tier(0, self.input, self.cached, self.output, self.written)

    def highest(self, input_tokens: int) -> tuple[int, int]:
        """Return the highest price of input and of output that a call of at most so much input can be billed by."""
        if not self.tiers:
            return max(self.input, self.cached, self.written), self.output
        within = [self.rates(0), *(tier for tier in self.tiers if input_tokens > tier.start)]
        return max(max(t.input, t.cached, t.written) for t in within), max(t.output for t in within)

    def as_json(self) -> dict[str, Any]:
        """JSON values, for a payload; :meth:`from_json` takes them back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Price:
        """Return the price that :meth:`as_json` wrote."""
        given = dict(value)
        tiers = tuple(Tier(**tier) for tier in given.pop("tiers", ()))
        batch = given.pop("in_batch", None)
        of_tier = {name: cls.from_json(price) for name, price in given.pop("of_tier", {}).items()}
        return cls(**given, tiers=tiers, in_batch=None if batch is None else cls.from_json(batch), of_tier=of_tier)


def billed_by(price: Price, discount: float) -> tuple[Price, float]:
    """Return the price and factor of a call: a batch has the provider's own batch prices where those are known."""
    return (price.in_batch, 1.0) if discount < 1.0 and price.in_batch is not None else (price, discount)


@lru_cache(maxsize=64)
def _factor(discount: float) -> tuple[int, int]:
    """Return the factor as it is written: 0.1 is a tenth, not the binary number nearest to it."""
    exact = Fraction(str(discount))
    if exact < 0:
        raise ValueError(f"a discount of {discount}: give the factor on the price, 0 to 1")
    return exact.numerator, exact.denominator


def amount(micro: int, discount: float) -> int:
    """Nano-dollars of tokens times prices per million, rounded up."""
    above, below = _factor(discount)
    return -(-micro * above // (PER_TOKENS * below))


def cost_of(usage: TokenUsage, price: Price, discount: float = 1.0) -> int:
    """Return the cost of a call, nano-dollars: exact, and rounded up once at the end.

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
    micro += min(usage.audio_tokens, fresh) * max(0, held.audio - rates.input)
    return amount(micro + written * max(rates.input, rates.written), factor)


def bound(input_tokens: int, output_tokens: int, price: Price, discount: float = 1.0) -> int:
    """Return the most that a call of at most these tokens can cost, nano-dollars."""
    held, factor = billed_by(price, discount)
    highest_input, highest_output = held.highest(input_tokens)
    return amount(input_tokens * highest_input + output_tokens * highest_output, factor)


DOLLARS_MAX = 1_000_000
"""Per million tokens: a dollar a token."""
GIVEN = "given with --price"
HOURS_AHEAD = 48
"""A job's longest life: the highest price that the list has for any hour of it is taken."""
FORM = "give IN:OUT or IN:OUT:CACHED, dollars per million tokens, or 0 for a server that costs nothing"
BY_OTHER_UNITS = ("requests_kcount", "input_mchars", "input_text_messages_kcount")
"""Prices of the list that no number of tokens bounds."""


def reserve_amount(request: Request, price: Price, discount: float = 1.0) -> int:
    """Return the most that asking once can cost, nano-dollars: all input and the longest answer, at the highest price.

    Not less than :func:`cost_of` for any usage within :func:`estimated_tokens` and ``max_output_tokens``.
    """
    return bound(estimated_tokens(request), request.max_output_tokens * request.answers, price.of(request), discount)


def price_of(
    model: str, provider: str, given: str | None = None, *, base_url: str | None = None, now: datetime | None = None
) -> Price:
    """Return the price of a model.

    Args:
        provider: ``openai``, ``anthropic``, ...
        given: what the user says it costs; it wins.
        base_url: where the provider is asked; a vendor that the list knows by its address has its own prices.
        now: when the job begins, UTC.

    Raises:
        UnknownModel: no price is known; the message says how to give one.
        LlmError: ``given`` is not a valid price.
    """
    if given is not None:
        return given_price(given)
    prices = import_extra("genai_prices.data_snapshot", LLM_EXTRA).get_snapshot()
    vendor = _vendor(prices, model, provider, base_url)
    found = vendor.find_model(model, all_providers=prices.providers) if vendor is not None and model else None
    if vendor is None or found is None:
        raise UnknownModel(_unknown(vendor, model, provider))
    begin = now or datetime.now(UTC)
    source = f"genai-prices {import_extra('genai_prices', LLM_EXTRA).__version__}, {vendor.id} {found.id}"
    plain = _price(_listed(found, begin, None), source, embeds="embed" in found.id)
    if plain is None:
        raise UnknownModel(f"the price list has no price per token for {model!r} of {vendor.id}: {FORM} with --price")
    in_batch = None
    if any(variant.when == {"processing": "batch"} for variant in found.price_variants or ()):
        in_batch = _price(_listed(found, begin, {"processing": "batch"}), f"{source}, batch")
    of_tier: dict[str, Price] = {}
    for tier in ("flex", "priority"):
        if any(variant.when == {"service_tier": tier} for variant in found.price_variants or ()):
            price = _price(_listed(found, begin, {"service_tier": tier}), f"{source}, {tier}")
            of_tier |= {} if price is None else {tier: price}
    return replace(plain, in_batch=in_batch, of_tier=of_tier)


def given_price(text: str) -> Price:
    """Return the price that a user typed: ``IN:OUT[:CACHED]``, dollars per million tokens; ``0`` for none.

    Raises:
        LlmError: it is none.
    """
    parts = text.strip().split(":")
    if len(parts) == 1 and re.fullmatch(r"0+(\.0*)?", parts[0], re.ASCII):
        parts = ["0", "0"]
    if len(parts) not in (2, 3) or not all(re.fullmatch(r"\d+(\.\d*)?|\.\d+", part, re.ASCII) for part in parts):
        raise LlmError(f"--price {text!r} is not a price: {FORM}")
    amounts = [Decimal(part) for part in parts]
    if max(amounts) > DOLLARS_MAX:
        raise LlmError(f"--price {text!r} is too much: at most {DOLLARS_MAX:,} dollars per million tokens")
    nano = [_nano(item) for item in amounts]
    return Price(nano[0], nano[2] if len(nano) == 3 else nano[0], nano[1], GIVEN)


def _nano(dollars: Decimal) -> int:
    """Nano-dollars; exact, and up where there is a fraction of one."""
    return int((dollars * NANO_DOLLARS).to_integral_value(ROUND_CEILING))


def _vendor(prices: Any, model: str, provider: str, base_url: str | None) -> Any | None:
    """Return the vendor whose prices hold: the one at the address, else the one of the name."""
    for vendor in prices.providers if base_url else ():
        if re.match(vendor.api_pattern, base_url or ""):
            return vendor
    try:
        return prices.find_provider(model, provider, None)
    except LookupError:
        return None


def _unknown(vendor: Any | None, model: str, provider: str) -> str:
    names = [] if vendor is None else [item.id for item in vendor.models]
    near = get_close_matches(model.lower(), names, 2, 0.7)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    return f"no price is known for model {model!r} of {provider}{hint}: {FORM} with --price"


def _listed(found: Any, begin: datetime, context: dict[str, str] | None) -> list[Any]:
    """All prices of the list that hold within the longest life of a job, without doubles."""
    if not isinstance(found.prices, list) and context is None:
        return [found.prices]
    different: list[Any] = []
    for hour in range(HOURS_AHEAD + 1):
        item = found.get_prices(begin + timedelta(hours=hour), context)
        if item not in different:
            different.append(item)
    return different


def _price(listed: Sequence[Any], source: str, *, embeds: bool = False) -> Price | None:
    """Return the highest of them at every length; None when one is not given per token."""
    for item in listed:
        # Embeddings have no output that could cost anything.
        if (
            item.input_mtok is None
            or (item.output_mtok is None and not embeds)
            or any(getattr(item, name) for name in BY_OTHER_UNITS)
        ):
            return None
    starts = sorted({tier.start for item in listed for value in vars(item).values() for tier in _tiers(value)})
    first, *others = [_highest(listed, start) for start in (None, *starts)]
    audio = max((_nano(_at(item.input_audio_mtok, None)) for item in listed if item.input_audio_mtok), default=0)
    return Price(first.input, first.cached, first.output, source, first.written, tuple(others), audio=audio)


def _tiers(value: Any) -> Sequence[Any]:
    return getattr(value, "tiers", ())


def _highest(listed: Sequence[Any], start: int | None) -> Tier:
    """Return the highest prices of calls above a start, each kind of token for itself."""

    def most(*names: str) -> int:
        return max((_nano(_at(getattr(item, name), start)) for item in listed for name in names
                    if getattr(item, name) is not None), default=0)  # fmt: skip

    plain = most("input_mtok")
    told = all(item.cache_read_mtok is not None for item in listed)
    cached = most("cache_read_mtok") if told else plain
    return Tier(start or 0, plain, cached, most("output_mtok", "output_reasoning_mtok"), most("cache_write_mtok"))


def _at(value: Any, start: int | None) -> Decimal:
    """Return a price of the list for calls of more than ``start`` input tokens."""
    tiers = [tier for tier in _tiers(value) if start is not None and tier.start <= start]
    found: Decimal = max(tiers, key=lambda tier: tier.start).price if tiers else getattr(value, "base", value)
    return found
