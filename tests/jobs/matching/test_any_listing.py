"""Whatever a listing and a profile say: the filter has a reason, the score is explained, the same comes out again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ramet.jobs.matching.caps import ceiling_of
from ramet.jobs.matching.duplicates import fingerprint, listing_key, text_hash
from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import CompanySignals, score_of
from ramet.jobs.matching.stop_list import stopped, title_refusal
from ramet.jobs.posting import Posting
from ramet.jobs.settings import JobsSettings
from ramet.jobs.text.posting_text import read_posting
from tests.jobs.matching.sample_listings import DAY, NOW

WORDS = (
    "senior staff engineer python java C# .NET go sales role hiring remote hybrid on-site Portland OR ME India Oslo "
    "$120k 401k - € 5+ years no not security clearance none : ; ¶ \n \t | ( ) ' ’ \u00ad \ud800 \x00 ß İ 営業 नमस्ते "
    "\u202e e\u0301 co-op must relocate this the level commission only a"
).split(" ")
LISTS = (
    "excluded_job_types",
    "excluded_seniority",
    "excluded_keywords",
    "excluded_places",
    "buzzwords",
    "hiring_words",
)


def _text(dice: random.Random, most: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randrange(most)))


def _settings(dice: random.Random) -> JobsSettings:
    some = [_text(dice, 3) for _ in range(4)]
    rules: dict[str, Any] = {name: dice.sample(some, 2) for name in LISTS if dice.random() < 0.4}
    rules |= {"salary_floor": dice.choice([None, 1, 10**9]), "reject_days": dice.choice([None, 0, 30])}
    rules |= {"allow_onsite": dice.random() < 0.5, "unsure_rules": dice.choice([[], ["phrase", "place"]])}
    profile: dict[str, Any] = {
        "name": dice.choice(["", "Ana"]),
        "technologies": {word: dice.choice(["required", "ok", "strike", "fail"]) for word in dice.sample(WORDS, 5)},
        "titles": dice.sample(WORDS, dice.randrange(3)),
        "seniority": dice.sample(["junior", "senior", "principal"], dice.randrange(3)),
        "arrangements": dice.sample(["remote", "hybrid", "onsite"], dice.randrange(3)),
        "preferred_city": dice.choice(["", "Portland", "¶"]),
        "salary_wanted": dice.choice([None, 0, 1, 200_000]),
        "utc_offset": dice.choice([None, -14, 14]),
        "country": dice.choice(["", "US", "India", "Norway"]),
        "region": dice.choice(["", "OR", "¶"]),
        "permits": dice.choice([[], ["EU", "us"]]),
        "relocate": dice.random() < 0.5,
    }
    match = {"base": dice.choice([0, 3, 50, 97, 100]), "skill_doubt": dice.choice([0, 4])}
    stop = {"companies": some[:1], "domains": some[1:2], "keywords": some[2:3]}
    return JobsSettings.model_validate({"filter": rules, "profile": profile, "match": match, "stop": stop})


def _posting(dice: random.Random) -> Posting:
    return Posting(
        url=f"https://example.org/{_text(dice, 3)}",
        title=_text(dice, 8),
        company=dice.choice([None, _text(dice, 3)]),
        location=dice.choice([None, _text(dice, 6)]),
        description=_text(dice, 120),
        salary=dice.choice([None, _text(dice, 3)]),
        posted_at=dice.choice([None, NOW, NOW - 40 * DAY, NOW + DAY]),
        workplace=dice.choice([None, "remote", "hybrid", "onsite"]),
    )


@pytest.mark.parametrize("seed", range(300))
def test_any_listing_is_judged_and_explained(seed: int) -> None:
    dice = random.Random(seed)
    settings, case = _settings(dice), _posting(dice)
    reading = read_posting(case)
    result = judge(case, reading, settings, NOW)
    assert result == judge(case, reading, settings, NOW)
    assert result.passed == (not result.hard_rejections and result.total_strikes < result.strike_threshold)
    assert result.passed == (result.rejection_summary == "")
    assert result.total_strikes == sum(finding.points for finding in result.strikes)
    early = stopped(case.title, case.url, case.company, settings.stop) or title_refusal(case, settings)
    assert early is None or early == result.rejection_summary
    company = dice.choice([None, CompanySignals("large", "S", (_text(dice, 2), "python"))])
    score = score_of(case, reading, company, settings, NOW)
    *listed, age = score.adjustments
    assert score.static == round(score.base + sum(part["points"] for part in listed), 1)
    assert score.final == min(100, max(0, round(score.static + age["points"], 1)))
    assert score.final <= ceiling_of(score.adjustments)
    assert score.is_match <= (score.final >= score.threshold)
    assert listing_key(case.url) == listing_key(listing_key(case.url))
    assert len(fingerprint(case.company, case.title, case.location)) in (0, 32)
    assert -(1 << 63) <= text_hash(case.description) < 1 << 63
