"""Numbers of the model's part."""

from __future__ import annotations

from ramet.pipelines.jobs.section import Section, setting


class ModelSettings(Section):
    """Which language model helps, and what it may cost. The key is in the environment, never here."""

    base_url: str = setting("", "of an OpenAI-compatible server; empty and no model: rules only")
    cheap: str = setting("", "model for extraction; empty: none")
    expensive: str = setting("", "model for analysis; empty: none")
    key_env: str = setting("OPENAI_API_KEY", "name of the environment variable that has the key")
    adjust_max: float = setting(10, "points that a model may add to or take from a score", "points", ge=0, le=100)
    max_cost: int = setting(1_000_000_000, "that one run may spend on models", "nano-dollars", ge=0)
