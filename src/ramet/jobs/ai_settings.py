"""Numbers of the model's part."""

from __future__ import annotations

from ramet.jobs.section import Section, setting


class ModelSettings(Section):
    """Which language model helps, and what it may cost. The key is in the environment, never here."""

    base_url: str = setting("", "of an OpenAI-compatible server; empty: OpenAI's own")
    cheap: str = setting("", "model that reads pages and postings; empty: none, rules only")
    expensive: str = setting("", "model that explains and adjusts scores; empty: none")
    key_env: str = setting("OPENAI_API_KEY", "name of the environment variable that has the key")
    price: str = setting("", "of both models, IN:OUT in dollars per million tokens, where the price list has none")
    max_cost: int = setting(1_000_000_000, "that one run may spend on models", "nano-dollars", ge=0)
    adjust_max: float = setting(10, "that a model may add to or take from a score", "points", ge=0, le=100)
    reach: float = setting(15, "a score so far below its threshold is not worth a model's word", "points", ge=0, le=100)
    text_max: int = setting(12_000, "of a page or posting, of which no more is sent", "characters", ge=500, le=200_000)
    output_tokens: int = setting(1_200, "that an answer may have", "tokens", ge=100, le=32_000)
    retries: int = setting(2, "of a call that did not arrive", "retries", ge=0, le=10)
    redact: bool = setting(True, "leave e-mail addresses and phone numbers out of what is sent")

    @property
    def reads(self) -> bool:
        """Whether a model reads pages."""
        return bool(self.cheap)

    @property
    def judges(self) -> bool:
        """Whether a model explains scores."""
        return bool(self.expensive)
