"""What a submit says about rates changes these and nothing else that people said of a model's buckets."""

from __future__ import annotations

from ramet import ResourcePolicy
from ramet.llm.job import limit_rates
from ramet.llm.pipeline import app
from ramet.llm.pricing.prices import Price
from ramet.llm.providers.base import Mode
from ramet.llm.settings import JobSettings
from ramet.testing import fresh_client


async def test_a_submit_keeps_what_a_person_said_of_the_bucket() -> None:
    settings = JobSettings(
        provider="fake",
        mode=Mode.CHAT,
        prices={"small": Price(0, 0, 0, "test")},
        rows=0,
        items=0,
        requests_per_minute=120.0,
    )
    bucket = settings.resource("small", "requests")
    async with fresh_client(app) as client:
        await client.change_resource(bucket, concurrency=3, cooldown_seconds=60.0, by="ada")
        await limit_rates(client, settings)
        [found] = [policy for policy in await client.policies() if policy.pattern == bucket]
    assert found == ResourcePolicy(bucket, 3, 2.0, 2.0, breaker_failures=0, cooldown_seconds=60.0, explicit=True)
