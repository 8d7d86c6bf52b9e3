"""The comparison of scores with a ranking by hand, on listings that the test makes; the public pools are not needed."""

from __future__ import annotations

import pytest

from ramet.jobs.posting import Posting
from tests.jobs.sampled.evaluation import load_labels
from tests.jobs.sampled.pools import FIRST, SECOND, Item, Sample
from tests.jobs.sampled.ranking import VERDICTS, Scored, load_ranking, score, settings_for, summary, table

TEXT = "We are looking for a Senior Software Engineer. You know Python, Kubernetes and AWS. " * 12


def item(location: str) -> Item:
    posting = Posting(
        url="https://example.com/1",
        title="Senior Software Engineer",
        company="Acme",
        location=location,
        description=TEXT,
    )
    return Item("owner/name:1.json", posting)


def scored(grade: float, verdict: str, points: float, *, is_match: bool = False) -> Scored:
    return Scored(f"listing of {grade:g}", grade, verdict, points, is_match, "base 50")


def test_a_listing_is_scored_and_one_that_the_filter_refuses_has_nothing() -> None:
    settings = settings_for("us")
    remote, office = item("Remote, United States"), item("Denver, CO (On-site)")
    ranked = {"path": remote.path, "sha256": remote.sha256, "grade": 9, "verdict": "apply"}
    good, refused = score(remote, ranked, settings), score(office, ranked, settings)
    assert good.score > 60
    assert "skills" in good.said
    assert (refused.score, refused.is_match) == (0.0, False)
    assert refused.said.startswith("refused: ")


def test_a_listing_of_another_text_is_refused() -> None:
    one = item("Remote")
    with pytest.raises(ValueError, match="not the listing that was ranked"):
        score(one, {"path": one.path, "sha256": "0" * 64, "grade": 1, "verdict": "never"}, settings_for("eu"))


def test_figures_of_a_ranking() -> None:
    lines = summary([
        scored(9, "apply", 80, is_match=True), scored(5, "perhaps", 70), scored(1, "never", 85, is_match=True),
        scored(0, "never", 80), scored(0, "never", 0),
    ])  # fmt: skip
    assert lines == [
        "Spearman 0.237 of 5 listings: 1 apply, 1 perhaps, 3 never",
        "pairs in which a never is not below an apply: 2 of 3",
        "matches: 2 (1 apply, 0 perhaps, 1 never)",
    ]


def test_the_table_begins_with_the_best_grade() -> None:
    lines = table([scored(1, "never", 85), scored(9, "apply", 80, is_match=True)])
    assert lines[2:] == [
        "| 9 | apply | 80 (match) | listing of 9 | base 50 |",
        "| 1 | never | 85 | listing of 1 | base 50 |",
    ]


@pytest.mark.parametrize("sample", [FIRST, SECOND], ids=["first", "second"])
def test_the_ranking_is_whole_and_apart_from_the_sample_of_texts(sample: Sample) -> None:
    labelled = {label["path"] for label in load_labels(sample)}
    ranking = load_ranking(sample)
    assert ranking.keys() == sample.listings.keys()
    for profile, ranked in ranking.items():
        assert settings_for(profile).profile.given
        assert len({one["path"] for one in ranked} - labelled) == 30
        for one in ranked:
            assert one["verdict"] in VERDICTS
            assert 0 <= one["grade"] <= 10
            assert one["reason"]
        grades = {verdict: [one["grade"] for one in ranked if one["verdict"] == verdict] for verdict in VERDICTS}
        assert min(grades["apply"]) > max(grades["perhaps"])
        assert min(grades["perhaps"]) > max(grades["never"])
