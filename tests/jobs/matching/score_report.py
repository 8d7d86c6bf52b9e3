"""Figures of the filter and the score on real listings: ``python -m tests.jobs.matching.score_report``."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from statistics import mean, quantiles

from ramet.jobs.matching.duplicates import text_hash
from ramet.jobs.matching.filter import judge
from ramet.jobs.matching.score import Score, score_of
from ramet.jobs.settings import JobsSettings
from tests.jobs.matching.original_settings import original_settings
from tests.jobs.matching.real_postings import Case, listings, matches

ROUNDS = 20


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's, with equal values at the mean of their ranks."""
    a, b = _ranks(one), _ranks(other)
    mean_a, mean_b = mean(a), mean(b)
    shared = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return float(shared / spread**0.5) if spread else 0.0


def better_share(some: Sequence[float], others: Sequence[float]) -> float:
    """How often one of some is above one of the others; a draw is half."""
    wins = sum((x > y) + (x == y) / 2 for x in some for y in others)
    return wins / (len(some) * len(others))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    counts = Counter(order)
    return [order.index(value) + (counts[value] + 1) / 2 for value in values]


def scores(cases: Sequence[Case], settings: JobsSettings) -> list[Score]:
    """The score of each."""
    return [score_of(case.posting, case.reading, None, settings, case.now) for case in cases]


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")


def _spread(name: str, values: Sequence[float]) -> None:
    low, middle, high = quantiles(values, n=4)
    bars = Counter(min(int(value // 10), 9) for value in values)
    _say(f"  {name:22} n {len(values):3}  quarter {low:5.1f}  half {middle:5.1f}  three quarters {high:5.1f}")
    _say("   ", "  ".join(f"{10 * ten}: {bars[ten]}" for ten in range(10)))


def _filter_figures(settings: JobsSettings) -> None:
    for name, cases in (("matches", matches()), ("listings", listings())):
        results = [judge(case.posting, case.reading, settings, case.now) for case in cases]
        hard = Counter(finding.filter_name for result in results for finding in result.hard_rejections)
        strikes = Counter(result.total_strikes for result in results if not result.hard_rejections)
        rules = Counter(finding.filter_name for result in results for finding in result.strikes)
        filtered = sum(not result.passed and not result.hard_rejections for result in results)
        _say(
            f"filter, {name}: {len(results)}; hard rejections {sum(hard.values())} {dict(hard)}; by strikes {filtered}"
        )
        _say("  strikes:", dict(sorted(strikes.items())), dict(rules))


def _score_figures(settings: JobsSettings) -> None:
    kept, others = scores(matches(), settings), scores(listings(), settings)
    static = [score.static for score in kept]
    originals = [case.original_score or 0.0 for case in matches()]
    _spread("matches, static", static)
    _spread("listings, static", [score.static for score in others])
    _spread("matches, final", [score.final for score in kept])
    _say(f"  match above listing: {better_share(static, [score.static for score in others]):.3f}")
    _say(f"  matches that are matches: {sum(score.is_match for score in kept)} of {len(kept)};",
         f"listings that are: {sum(score.is_match for score in others)} of {len(others)}")  # fmt: skip
    _say(f"  rank correlation with the original: static {rank_correlation(static, originals):.3f},",
         f"final {rank_correlation([score.final for score in kept], originals):.3f}, n {len(kept)}")  # fmt: skip


def _speed(settings: JobsSettings) -> None:
    cases = [*matches(), *listings()]
    size = mean(len(case.posting.description) for case in cases)

    def each_ms(work: object) -> float:
        assert callable(work)
        best = float("inf")
        for _ in range(ROUNDS):
            begin = time.process_time()
            for case in cases:
                work(case)
            best = min(best, time.process_time() - begin)
        return best / len(cases) * 1e3

    filtering = each_ms(lambda case: judge(case.posting, case.reading, settings, case.now))
    scoring = each_ms(lambda case: score_of(case.posting, case.reading, None, settings, case.now))
    hashing = each_ms(lambda case: text_hash(case.posting.description))
    _say(f"speed, of {ROUNDS} rounds the best, {size:.0f} characters: filter {filtering:.3f} ms,",
         f"score {scoring:.3f} ms, text hash {hashing:.3f} ms")  # fmt: skip


def main() -> None:
    """Print all figures."""
    settings = original_settings()
    _filter_figures(settings)
    _say("score, the original's settings as they are")
    _score_figures(settings)
    wishes = {"titles": ["software engineer", "developer", "full stack"], "seniority": ["senior", "staff"]}
    _say("score, with wishes for titles and levels beside", wishes)
    _score_figures(settings.model_copy(update={"profile": settings.profile.model_copy(update=wishes)}))
    _speed(settings)


if __name__ == "__main__":
    main()
